// The Guttman transform for many float32 disparities: pairs in float32, sums in float64.

inline INLINE Vec<float> inverse_root(Vec<float> v) {
#if defined(__AVX512F__)
    const __mmask16 live = _mm512_cmp_ps_mask(v, _mm512_set1_ps(0x1p-126f), _CMP_GE_OQ);
    const Vec<float> x = _mm512_maskz_rsqrt14_ps(live, v);
    return x * (1.5f - (0.5f * v) * x * x);
#else
    Vec<float> root;
    for (int l = 0; l < W<float>; l++) root[l] = __builtin_sqrtf(v[l]);
    return v >= 0x1p-126f ? 1.0f / root : Vec<float>{};
#endif
}

// The sums of R rows from i on over the later ones, which get the opposite. Coordinates are sums of
// two float32 numbers, so that a difference is as exact as float32 can be; what is summed over more
// than some dozens of pairs is summed in float64.
template <int K, int R>
inline INLINE void mutual_sums(const float* t, int64_t stride, float scale, int64_t i, int64_t n,
                               const float* y, int64_t ld, double* moved, Wide* sums) {
    constexpr int L = W<float>, VECTORS_PER_SUM = 16;
    typedef typename Simd<float>::I Lanes;
    Lanes lane;
    for (int l = 0; l < L; l++) lane[l] = l;
    const float* const low = y + K * ld;
    Wide total[R][K] = {};
    Vec<float> sum[R][K], stress, size, cross;
    const auto part = [&]<bool WHOLE>(int64_t j, std::bool_constant<WHOLE>) INLINE {
        const int64_t left = WHOLE ? L : n - j;
        const bool first = !WHOLE && j == i + 1;  // where a row is paired with itself
        Vec<float> other_high[K], other_low[K], others[K] = {};
#pragma GCC unroll 4
        for (int c = 0; c < K; c++) {
            other_high[c] = load_part(y + c * ld + j, left);
            other_low[c] = load_part(low + c * ld + j, left);
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            Vec<float> gap[K], d2 = {};
#pragma GCC unroll 4
            for (int c = 0; c < K; c++) {
                gap[c] = (y[c * ld + i + r] - other_high[c]) + (low[c * ld + i + r] - other_low[c]);
                d2 += gap[c] * gap[c];
            }
            Vec<float> t_j = load_part(t + r * stride + j, left);
            if constexpr (!WHOLE) {
                t_j = lane < int32_t(left) ? t_j : spread(__builtin_nanf(""));
                if (first) t_j = lane >= r ? t_j : spread(__builtin_nanf(""));
            }
            const auto known = t_j == t_j;  // NaN marks a missing pair
            const Vec<float> given = known ? t_j * scale : Vec<float>{};
            const Vec<float> inverse = inverse_root(d2), d = d2 * inverse;
            const Vec<float> residual = known ? given - d : Vec<float>{};
            stress += residual * residual;
            size += known ? d2 : Vec<float>{};
            cross += given * d;
            const Vec<float> b = given * inverse;
#pragma GCC unroll 4
            for (int c = 0; c < K; c++) {
                sum[r][c] += b * gap[c];
                others[c] += b * gap[c];
            }
        }
#pragma GCC unroll 4
        for (int c = 0; c < K; c++) {
            double* const to = moved + c * ld + j;  // padded to whole vectors
            store(to, load(to) - widen<0>(others[c]));
            store(to + W<double>, load(to + W<double>) - widen<1>(others[c]));
        }
    };
    const auto both = [](Vec<float> v) INLINE { return widen<0>(v) + widen<1>(v); };
    for (int64_t j = i + 1; j < n;) {
        stress = size = cross = Vec<float>{};
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
            for (int c = 0; c < K; c++) sum[r][c] = Vec<float>{};
        const int64_t end = j + VECTORS_PER_SUM * L;
        if (j == i + 1) {
            part(j, std::false_type());
            j += L;
        }
        for (; j < end && j + L <= n; j += L) part(j, std::true_type());
        if (j < end && j < n) {
            part(j, std::false_type());
            j = n;
        }
        sums[0] += both(stress), sums[1] += both(size), sums[2] += both(cross);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
            for (int c = 0; c < K; c++) total[r][c] += both(sum[r][c]);
    }
    for (int r = 0; r < R; r++)
        for (int c = 0; c < K; c++) moved[c * ld + i + r] += total_of<double>(total[r][c]);
}

template <int K>
inline INLINE void guttman_float32_in(const float* disparities, int64_t stride, float scale,
                                      int64_t first, int64_t last, int64_t n, const float* y,
                                      int64_t ld, double* moved, double* sums) {
    constexpr int R = MANY_REGISTERS ? 4 : 2;
    Wide parts[3] = {};
    int64_t i = first;
    for (; i + R <= last; i += R)
        mutual_sums<K, R>(disparities + i * stride, stride, scale, i, n, y, ld, moved, parts);
    for (; i < last; i++)
        mutual_sums<K, 1>(disparities + i * stride, stride, scale, i, n, y, ld, moved, parts);
    for (int s = 0; s < 3; s++) sums[s] = total_of<double>(parts[s]);
}
void guttman_float32(const float* disparities, int64_t stride, float scale, int64_t first,
                     int64_t last, int64_t n, const float* y, int64_t ld, int k, double* moved,
                     double* sums) {
    (k == 1 ? guttman_float32_in<1>
     : k == 2
         ? guttman_float32_in<2>
         : guttman_float32_in<3>)(disparities, stride, scale, first, last, n, y, ld, moved, sums);
}
