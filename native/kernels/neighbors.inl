// The filter on pairs, tile by tile, and squared distances from differences.

// One bit per lane: a >= b.
inline INLINE uint32_t at_least(Vec<float> a, Vec<float> b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
#elif defined(__AVX2__)
    return uint32_t(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ)));
#elif defined(__x86_64__)
    return uint32_t(_mm_movemask_ps(_mm_cmpge_ps(a, b)));
#else
    uint32_t bits = 0;
    for (int l = 0; l < W<float>; l++) bits |= uint32_t(a[l] >= b[l]) << l;
    return bits;
#endif
}

struct MinusSquare {
    template <class V>
    static void step(V& sum, const V& a, const V& b) {
        const V gap = a - b;
        sum -= gap * gap;
    }
};

constexpr int TILE_COLUMNS = NV * W<float>;

// Where rows i .. of panel a meet columns j .. of the strip; b points at those columns.
struct Corner {
    const float *a, *b;
    int i, j;
};

inline INLINE void start(const Strip& s, Corner at, Vec<float> (&sum)[MR][NV]) {
#pragma GCC unroll 2
    for (int v = 0; v < NV; v++) {
        const Vec<float> half = load(s.half_b + at.j + v * W<float>);
#pragma GCC unroll 8
        for (int r = 0; r < MR; r++) sum[r][v] = spread(-s.half_a[at.i + r]) - half;
    }
}

// Is any pair alive? The largest bound per column against the loosest limit of the rows.
inline INLINE bool alive(const Strip& s, int c, Corner at, float loosest,
                         const Vec<float> (&sum)[MR][NV]) {
    uint32_t any = 0;
#pragma GCC unroll 2
    for (int v = 0; v < NV; v++) {
        const int j = at.j + v * W<float>;
        const Vec<float> rest = load(s.rest_b[c] + j);
        Vec<float> most = spread(s.rest_a[c][at.i]) * rest + sum[0][v];
#pragma GCC unroll 8
        for (int r = 1; r < MR; r++)
            most = larger(most, spread(s.rest_a[c][at.i + r]) * rest + sum[r][v]);
        any |= at_least(most, smaller(spread(loosest), load(s.limit_b + j)));
    }
    return any != 0;
}

// One bit per pair.
inline INLINE bool survivors(const Strip& s, int c, Corner at, const Vec<float> (&sum)[MR][NV],
                             uint32_t* bits) {
    uint32_t any = 0;
#pragma GCC unroll 8
    for (int r = 0; r < MR; r++) bits[r] = 0;
#pragma GCC unroll 2
    for (int v = 0; v < NV; v++) {
        const int j = at.j + v * W<float>;
        const Vec<float> rest = load(s.rest_b[c] + j), limit = load(s.limit_b + j);
#pragma GCC unroll 8
        for (int r = 0; r < MR; r++) {
            const Vec<float> bound = spread(s.rest_a[c][at.i + r]) * rest + sum[r][v];
            bits[r] |= at_least(bound, smaller(spread(s.limit_a[at.i + r]), limit)) << v * W<float>;
            any |= bits[r];
        }
    }
    return any != 0;
}

template <class Step>
inline INLINE void advance(Corner& at, int features, Vec<float> (&sum)[MR][NV]) {
    micro<Step, NV, 1, PANEL<float>>(at.a, at.b, features, sum);
    at.a += features * PANEL<float>;
    at.b += features * PANEL<float>;
}

template <class Step>
inline INLINE bool tile(const Strip& s, Corner at, float loosest, uint32_t* bits) {
    Vec<float> sum[MR][NV];
    start(s, at, sum);
    int done = 0;
    for (int c = 0; c + 1 < s.checks; c++) {
        advance<Step>(at, s.at[c] - done, sum);
        done = s.at[c];
        if (!alive(s, c, at, loosest, sum)) return false;
    }
    advance<Step>(at, s.at[s.checks - 1] - done, sum);
    return survivors(s, s.checks - 1, at, sum, bits);
}

template <class F>
inline INLINE void each_tile(const Strip& s, F f) {
    float loosest[PANEL<float> / MR];
    for (int i = 0; i < PANEL<float>; i += MR) {
        loosest[i / MR] = s.limit_a[i];
        for (int r = 1; r < MR; r++)
            loosest[i / MR] = least(loosest[i / MR], s.limit_a[i + r]);
    }
    for (uint32_t live = s.live; live; live &= live - 1) {
        const int p = __builtin_ctz(live);
        const float* const b = s.b + p * s.features * PANEL<float>;
        for (int j = 0; j < PANEL<float>; j += TILE_COLUMNS)
            for (int i = 0; i < PANEL<float>; i += MR)
                f(Corner{s.a + i, b + j, i, p * PANEL<float> + j}, loosest[i / MR]);
    }
}

template <class Step>
int strip_of(const Strip& s, uint32_t* pairs) {
    uint32_t* end = pairs;
    each_tile(s, [&](Corner at, float loosest) INLINE {
        uint32_t bits[MR];
        if (!tile<Step>(s, at, loosest, bits)) return;
        for (int r = 0; r < MR; r++)
            for (uint32_t b = bits[r]; b; b &= b - 1)
                *end++ = uint32_t(at.i + r) << 16 | uint32_t(at.j + __builtin_ctz(b));
    });
    return int(end - pairs);
}
inline int strip(const Strip& s, uint32_t* pairs) {
    return s.differences ? strip_of<MinusSquare>(s, pairs) : strip_of<Product>(s, pairs);
}

template <class Step>
void census_of(const Strip& s, int64_t* tiles, int64_t* pairs) {
    each_tile(s, [&](Corner at, float) INLINE {
        Vec<float> sum[MR][NV];
        uint32_t bits[MR];
        start(s, at, sum);
        for (int c = 0, done = 0; c < s.checks; done = s.at[c++]) {
            advance<Step>(at, s.at[c] - done, sum);
            if (!survivors(s, c, at, sum, bits)) return;
            tiles[c]++;
            for (int r = 0; r < MR; r++) pairs[c] += __builtin_popcount(bits[r]);
        }
    });
}
inline void census(const Strip& s, int64_t* tiles, int64_t* pairs) {
    s.differences ? census_of<MinusSquare>(s, tiles, pairs) : census_of<Product>(s, tiles, pairs);
}

// known + |a - b|^2 scale^2; `limit` ends it early (with a number above the limit).
inline INLINE float gap_within(const float* a, const float* b, int64_t features, float scale,
                               float known, float limit) {
    constexpr int64_t CHUNK = 128;
    for (int64_t k = 0; k < features && known <= limit; k += CHUNK) {
        const int64_t end = least(features, k + CHUNK);
        Vec<float> sum[2] = {};
        int64_t q = k;
        for (; q + 2 * W<float> <= end; q += 2 * W<float>) {
            const Vec<float> u = (load(a + q) - load(b + q)) * scale,
                             v = (load(a + q + W<float>) - load(b + q + W<float>)) * scale;
            sum[0] += u * u;
            sum[1] += v * v;
        }
        for (; q < end; q += W<float>) {
            const Vec<float> u =
                (load_part(a + q, end - q) - load_part(b + q, end - q)) * scale;
            sum[0] += u * u;
        }
        known += total_of<float>(sum[0] + sum[1]);
    }
    return known;
}
inline float gap(const float* a, const float* b, int64_t features, float scale, float limit) {
    return gap_within(a, b, features, scale, 0, limit);
}

inline int refine(const float* a, const float* b, int64_t features, const float* const low[2],
                  const float* const high[2], const float* limit_a, const float* limit_b,
                  uint32_t* pairs, int count) {
    constexpr int AHEAD = 4;
    int kept = 0;
    for (int p = 0; p < count; p++) {
        if (p + AHEAD < count) {
            const float *const x = a + (pairs[p + AHEAD] >> 16) * features,
                        *const y = b + (pairs[p + AHEAD] & 0xffff) * features;
            for (int l = 0; l < 64; l += 16) {
                __builtin_prefetch(x + l);
                __builtin_prefetch(y + l);
            }
        }
        const uint32_t i = pairs[p] >> 16, j = pairs[p] & 0xffff;
        const float limit = limit_a[i] > limit_b[j] ? limit_a[i] : limit_b[j];
        const float above = low[0][i] - high[1][j], below = low[1][j] - high[0][i];
        const float apart = above > below ? above : below;
        const float known = apart > 0 ? apart * apart : 0;
        if (gap_within(a + i * features, b + j * features, features, 1, known, limit) <= limit)
            pairs[kept++] = pairs[p];
    }
    return kept;
}

inline void along(const float* z, int64_t stride, const int32_t* rows, int64_t count, int features,
                  const float* v, float* out) {
    for (int64_t r = 0; r < count; r++) {
        const float* const row = z + rows[r] * stride;
        if (r + 8 < count) __builtin_prefetch(z + rows[r + 8] * stride);
        Vec<float> sum = {};
        for (int k = 0; k < features; k += W<float>)
            sum += load_part(row + k, features - k) * load(v + k);
        out[r] = total_of<float>(sum);
    }
}

// The sum over the lanes, the halves of a vector first: so 16 sums are added in the same order
// whatever the size of a vector.
template <int H>
inline INLINE double folded(Wide v) {
    if constexpr (H > 0) {
        v += crossed<H>(v, v, std::make_index_sequence<W<double>>());
        return folded<H / 2>(v);
    } else {
        return v[0];
    }
}

// The square of |x - y| unit in float64: 16 sums in a fixed order and no fused multiply-add, so the
// bits are the same on every CPU level. Sums of squares only grow, rounded or not: a part above
// `limit` ends it early.
template <class T>
double difference_square(const T* x, const T* y, int64_t cols, double unit, double limit) {
    constexpr int LANES = 16, VECTORS = LANES / W<T>, SUMS = LANES / W<double>;
    constexpr int64_t LOOK = 128;
    Wide sum[SUMS] = {};
    const auto add = [&](Vec<T> a, Vec<T> b, int v) INLINE {
        Wide u = (widen<0>(a) - widen<0>(b)) * unit;
        u *= u;
        pin(u);
        sum[v * PARTS<T>] += u;
        if constexpr (PARTS<T> == 2) {
            Wide w = (widen<1>(a) - widen<1>(b)) * unit;
            w *= w;
            pin(w);
            sum[v * PARTS<T> + 1] += w;
        }
    };
    const auto total = [&]() INLINE {
        Wide s[SUMS];
#pragma GCC unroll 8
        for (int v = 0; v < SUMS; v++) s[v] = sum[v];
#pragma GCC unroll 4
        for (int half = SUMS / 2; half; half /= 2)
#pragma GCC unroll 8
            for (int v = 0; v < half; v++) s[v] += s[v + half];
        return folded<W<double> / 2>(s[0]);
    };
    int64_t k = 0;
    for (; k + LANES <= cols; k += LANES) {
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) add(load(x + k + v * W<T>), load(y + k + v * W<T>), v);
        if ((k + LANES) % LOOK == 0)
            if (const double part = total(); part > limit) return part;
    }
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; v++) {
        const int64_t from = k + v * W<T>;
        if (from < cols) add(load_part(x + from, cols - from), load_part(y + from, cols - from), v);
    }
    return total();
}

// |x - center|^2 in float64.
template <class T>
double centered_square(const T* x, const double* center, int64_t cols) {
    Wide sum = {};
    int64_t k = 0;
    for (; k + W<T> <= cols; k += W<T>) {
        const Vec<T> v = load(x + k);
        const Wide u = widen<0>(v) - load(center + k);
        sum += u * u;
        if constexpr (PARTS<T> == 2) {
            const Wide w = widen<1>(v) - load(center + k + W<double>);
            sum += w * w;
        }
    }
    double total = total_of<double>(sum);
    for (; k < cols; k++) total += (double(x[k]) - center[k]) * (double(x[k]) - center[k]);
    return total;
}

// One bit per lane that is set.
inline INLINE uint32_t bits_of(Whole lanes) {
#if defined(__AVX512F__)
    return _mm512_movepi64_mask((__m512i)lanes);
#elif defined(__AVX2__)
    return uint32_t(_mm256_movemask_pd((__m256d)lanes));
#elif defined(__x86_64__)
    return uint32_t(_mm_movemask_pd((__m128d)lanes));
#else
    uint32_t bits = 0;
    for (int l = 0; l < W<double>; l++) bits |= uint32_t(lanes[l] != 0) << l;
    return bits;
#endif
}

// Lane l = v[l - 1], and lane 0 stays.
template <class V, size_t... L>
inline INLINE V lagged(V v, std::index_sequence<L...>) {
    return __builtin_shufflevector(v, v, int(L ? L - 1 : 0)...);
}

// Without ties: new_i = min(d_i, max(d_{i-1}, distance)), from the end to the front.
inline bool place(double* d, int32_t* n, int64_t k, double distance, int32_t id) {
    typedef int32_t Numbers __attribute__((vector_size(BYTES / 2)));
    constexpr int64_t LANES = W<double>;
    constexpr auto lanes = std::make_index_sequence<LANES>();
    const auto numbers = [&](int64_t i) INLINE {
        Numbers v;
        __builtin_memcpy(&v, n + i, sizeof v);
        return v;
    };
    const Wide own = spread(distance);
    Whole tied = {};
    for (int64_t i = k - LANES; i > -LANES; i -= LANES) tied |= load(d + i) == own;
    if (bits_of(tied)) {
        int64_t at = k;
        while (at && (d[at - 1] > distance ||
                      (d[at - 1] == distance && uint32_t(n[at - 1]) > uint32_t(id))))
            at--;
        if (at == k || (at && d[at - 1] == distance && n[at - 1] == id)) return false;
        for (int64_t i = k - 1; i > at; i--) d[i] = d[i - 1], n[i] = n[i - 1];
        d[at] = distance;
        n[at] = id;
        return true;
    }
    for (int64_t i = k - LANES; i > -LANES; i -= LANES) {
        const Wide here = load(d + i), before = i < 0 ? lagged(here, lanes) : load(d + i - 1);
        const Whole beyond = here > own, moved = before > own;
        if (!bits_of(beyond)) return i < k - LANES;
        const Numbers here_n = numbers(i),
                      before_n = i < 0 ? lagged(here_n, lanes) : numbers(i - 1),
                      gone = __builtin_convertvector(beyond, Numbers),
                      later = __builtin_convertvector(moved, Numbers),
                      new_n = gone ? (later ? before_n : id - Numbers{}) : here_n;
        store(d + i, smaller(here, larger(before, own)));
        __builtin_memcpy(n + i, &new_n, sizeof new_n);
    }
    return true;
}

constexpr Search search_table() {
    Search t{};
    t.strip = strip;
    t.census = census;
    t.tile_rows = MR;
    t.tile_columns = TILE_COLUMNS;
    t.refine = refine;
    t.gap = gap;
    t.place = place;
    t.along = along;
    return t;
}
