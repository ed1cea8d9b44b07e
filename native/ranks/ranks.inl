// Counting closer rows: tiles of half squared distances, compared with a row's thresholds.

// tile (PANEL x PANEL) -= <a, b> over some features; it begins as half_a + half_b, if they are
// given.
inline void half_squares(const float* a, const float* b, const float* half_a, const float* half_b,
                         int64_t features, float* tile) {
    constexpr int P = PANEL<float>;
    for (int i = 0; i < P; i += MR)
        for (int j = 0; j < P; j += TILE_COLUMNS) {
            Vec<float> sum[MR][NV] = {};
            micro<Product, NV, 1, P>(a + i, b + j, features, sum);
#pragma GCC unroll 8
            for (int r = 0; r < MR; r++)
#pragma GCC unroll 2
                for (int v = 0; v < NV; v++) {
                    const int at = j + v * W<float>;
                    float* const to = tile + (i + r) * P + at;
                    const Vec<float> before =
                        half_a ? spread(half_a[i + r]) + load(half_b + at) : load(to);
                    store(to, before - sum[r][v]);
                }
        }
}

typedef Simd<float>::I Tally;
// One more in the lanes where a < b.
inline INLINE Tally tally(Tally count, Vec<float> a, Vec<float> b) {
#if defined(__AVX512F__)
    return (Tally)_mm512_mask_add_epi32((__m512i)count, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ),
                                        (__m512i)count, _mm512_set1_epi32(1));
#else
    return count - (Tally)(a < b);
#endif
}
inline INLINE int32_t sum_of_tally(Tally t) {
    return int32_t(total_of<float>(__builtin_convertvector(t, Vec<float>)));
}

// Of a row's values in `tiles` tiles: how many are below low[q], and how many below high[q].
// Thresholds increase, so one with nothing below it ends the counting.
inline void count_below(const float* row, int tiles, const float* low, const float* high,
                        int thresholds, int32_t* sure, int32_t* perhaps) {
    constexpr int P = PANEL<float>;
    for (int q = thresholds - 1; q >= 0; q--) {
        Tally surely = {}, maybe = {};
        const Vec<float> lo = spread(low[q]), hi = spread(high[q]);
        for (int t = 0; t < tiles; t++)
            for (int j = 0; j < P; j += W<float>) {
                const Vec<float> v = load(row + t * P * P + j);
                surely = tally(surely, v, lo);
                maybe = tally(maybe, v, hi);
            }
        sure[q] = sum_of_tally(surely);
        perhaps[q] = sum_of_tally(maybe);
        if (perhaps[q]) continue;
        for (int lower = 0; lower < q; lower++) sure[lower] = perhaps[lower] = 0;
        return;
    }
}

// The columns of a row of tiles with values from low to below high; returns how many.
inline int between(const float* row, int tiles, float low, float high, int32_t* columns) {
    constexpr int P = PANEL<float>;
    const Vec<float> lo = spread(low), hi = spread(high);
    int found = 0;
    for (int t = 0; t < tiles; t++)
        for (int j = 0; j < P; j += W<float>) {
            const Vec<float> v = load(row + t * P * P + j);
            for (uint32_t bits = at_least(v, lo) & ~at_least(v, hi); bits; bits &= bits - 1)
                columns[found++] = t * P + j + __builtin_ctz(bits);
        }
    return found;
}

constexpr void fill_ranks(RankKernels& table) {
    table.half_squares = half_squares;
    table.count_below = count_below;
    table.between = between;
}
