// The Guttman transform, in float64 and for many float32 disparities.

// 1 / sqrt(v), and 0 where v is 0.
inline INLINE Wide inverse_root(Wide v) {
#if defined(__AVX512F__)
    // 14 bits, doubled twice by Newton steps: a fifth of the time of a root and a division.
    const __mmask8 live = _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_GT_OQ);
    Wide x = _mm512_maskz_rsqrt14_pd(live, v);
    const Wide half = 0.5 * v;
    x = x * (1.5 - half * x * x);
    return x * (1.5 - half * x * x);
#else
    Wide root;
    for (int l = 0; l < W<double>; l++) root[l] = __builtin_sqrt(v[l]);
    return v > 0.0 ? 1.0 / root : Wide{};
#endif
}

inline INLINE Wide wide_part(const double* p, int64_t count) { return load_part(p, count); }
inline INLINE Wide wide_part(const float* p, int64_t count) {
    HalfFloat v = {};
    if (count >= W<double>)
        __builtin_memcpy(&v, p, sizeof v);
    else
        __builtin_memcpy(&v, p, size_t(count) * sizeof(float));
    return to_double(v);
}

// The sums of one point over points j < count (columns of y, ld apart, from y on): total_c += sum_j
// b_j (own_c - y_cj), b = w t / d. With BOTH, the others get the opposite: others_cj -= ....
template <int K, bool BOTH, class T>
inline INLINE void point_sums_in(const double* own, const double* y, int64_t ld, const T* t,
                                 const T* w, int64_t count, double* total, double* others,
                                 Wide* sums) {
    Wide at[K], sum[K] = {};
#pragma GCC unroll 4
    for (int c = 0; c < K; c++) at[c] = spread(own[c]);
    Wide stress = sums[0], size = sums[1], cross = sums[2];
    const auto part = [&](int64_t j, int64_t left) INLINE {
        Wide gap[K], d2 = {};
#pragma GCC unroll 4
        for (int c = 0; c < K; c++) {
            gap[c] = at[c] - load_part(y + c * ld + j, left);
            d2 += gap[c] * gap[c];
        }
        const Wide inverse = inverse_root(d2), d = d2 * inverse;
        const Wide t_j = wide_part(t + j, left);
        Wide weight = w ? wide_part(w + j, left) : spread(1.0);
        Wide given = t_j == t_j ? t_j : Wide{};
        weight = t_j == t_j ? weight : Wide{};
        if (left < W<double>)
            for (int l = int(left); l < W<double>; l++) weight[l] = 0;
        const Wide residual = given - d, weighted = weight * given;
        stress += weight * residual * residual;
        size += weight * d2;
        cross += weighted * d;
        const Wide b = weighted * inverse;
#pragma GCC unroll 4
        for (int c = 0; c < K; c++) {
            const Wide force = b * gap[c];
            sum[c] += force;
            if constexpr (BOTH) {
                double* const to = others + c * ld + j;
                store_part(to, load_part(to, left) - force, left);
            }
        }
    };
    int64_t j = 0;
    for (; j + W<double> <= count; j += W<double>) part(j, W<double>);
    if (j < count) part(j, count - j);
    sums[0] = stress, sums[1] = size, sums[2] = cross;
#pragma GCC unroll 4
    for (int c = 0; c < K; c++) total[c] += total_of<double>(sum[c]);
}

// The same for any number of coordinates: b first, then the coordinates one by one.
template <bool BOTH, class T>
void point_sums_any(const double* own, const double* y, int64_t ld, int k, const T* t, const T* w,
                    int64_t count, double* total, double* others, Wide* sums) {
    constexpr int CHUNK = 256;
    alignas(64) double b[CHUNK];
    for (int64_t begin = 0; begin < count; begin += CHUNK) {
        const int64_t size = least<int64_t>(CHUNK, count - begin);
        for (int64_t j = 0; j < size; j += W<double>) {
            const int64_t left = size - j;
            Wide d2 = {};
            for (int c = 0; c < k; c++) {
                const Wide gap = own[c] - load_part(y + c * ld + begin + j, left);
                d2 += gap * gap;
            }
            const Wide inverse = inverse_root(d2), d = d2 * inverse;
            const Wide t_j = wide_part(t + begin + j, left);
            Wide weight = w ? wide_part(w + begin + j, left) : spread(1.0);
            const Wide given = t_j == t_j ? t_j : Wide{};
            weight = t_j == t_j ? weight : Wide{};
            if (left < W<double>)
                for (int l = int(left); l < W<double>; l++) weight[l] = 0;
            const Wide residual = given - d;
            sums[0] += weight * residual * residual;
            sums[1] += weight * d2;
            sums[2] += weight * given * d;
            store(b + j, weight * given * inverse);
        }
        for (int c = 0; c < k; c++) {
            const double* const from = y + c * ld + begin;
            Wide sum = {};
            for (int64_t j = 0; j < size; j += W<double>) {
                const int64_t left = size - j;
                const Wide force = load(b + j) * (own[c] - load_part(from + j, left));
                sum += force;  // b is 0 beyond the end
                if constexpr (BOTH) {
                    double* const to = others + c * ld + begin + j;
                    store_part(to, load_part(to, left) - force, left);
                }
            }
            total[c] += total_of<double>(sum);
        }
    }
}

template <bool BOTH, class T>
inline INLINE void point_sums(const double* own, const double* y, int64_t ld, int k, const T* t,
                              const T* w, int64_t count, double* total, double* others,
                              Wide* sums) {
    switch (k) {
        case 1: return point_sums_in<1, BOTH>(own, y, ld, t, w, count, total, others, sums);
        case 2: return point_sums_in<2, BOTH>(own, y, ld, t, w, count, total, others, sums);
        case 3: return point_sums_in<3, BOTH>(own, y, ld, t, w, count, total, others, sums);
        default: return point_sums_any<BOTH>(own, y, ld, k, t, w, count, total, others, sums);
    }
}

template <class T>
void guttman(const StressTerms<T>& given, int64_t first, int64_t last, double* own, double* moved,
             double* sums) {
    const auto [disparities, stride, weights, weight_stride, n, y, ld, k] = given;
    Wide parts[3] = {};
    double* const total = own + k;
    for (int64_t i = first; i < last; i++) {
        for (int c = 0; c < k; c++) own[c] = y[c * ld + i], total[c] = 0;
        point_sums<true>(own, y + i + 1, ld, k, disparities + i * stride + i + 1,
                         weights ? weights + i * weight_stride + i + 1 : nullptr, n - i - 1, total,
                         moved + i + 1, parts);
        for (int c = 0; c < k; c++) moved[c * ld + i] += total[c];
    }
    for (int s = 0; s < 3; s++) sums[s] = total_of<double>(parts[s]);
}

// Majorization of the stress of one point, the others held fixed.
double multilaterate_point(const double* dissimilarities, const double* weights, int64_t n,
                           const double* fixed, int64_t ld, int k, int max_iter, double tol,
                           double* scratch, double* y) {
    double* const centroid = scratch;
    double* const sum = scratch + k;
    Wide total_parts = {}, square_parts = {};
    const auto weight_of = [&](int64_t j, int64_t left) INLINE {
        const Wide t = load_part(dissimilarities + j, left);
        Wide weight = weights ? load_part(weights + j, left) : spread(1.0);
        weight = t == t ? weight : Wide{};
        if (left < W<double>)
            for (int l = int(left); l < W<double>; l++) weight[l] = 0;
        return weight;
    };
    for (int64_t j = 0; j < n; j += W<double>) {
        const Wide weight = weight_of(j, n - j), t = load_part(dissimilarities + j, n - j);
        total_parts += weight;
        square_parts += weight * (t == t ? t * t : Wide{});
    }
    const double total = total_of<double>(total_parts);
    if (!(total > 0)) return 0;
    for (int c = 0; c < k; c++) {
        Wide part = {};
        for (int64_t j = 0; j < n; j += W<double>)
            part += weight_of(j, n - j) * load_part(fixed + c * ld + j, n - j);
        centroid[c] = total_of<double>(part) / total;
    }
    const double least_move = tol * tol * total_of<double>(square_parts) / total;
    for (int step = 0; step < max_iter; step++) {
        Wide sums[3] = {};
        for (int c = 0; c < k; c++) sum[c] = 0;
        point_sums<false>(y, fixed, ld, k, dissimilarities, weights, n, sum, nullptr, sums);
        double move = 0;
        for (int c = 0; c < k; c++) {
            const double next = centroid[c] + sum[c] / total;
            move += (next - y[c]) * (next - y[c]);
            y[c] = next;
        }
        if (!(move > least_move)) break;
    }
    Wide sums[3] = {};
    point_sums<false>(y, fixed, ld, k, dissimilarities, weights, n, sum, nullptr, sums);
    return total_of<double>(sums[0]);
}

template <class T>
constexpr void fill_guttman(GuttmanKernels<T>& table) {
    table.guttman = guttman<T>;
}

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
