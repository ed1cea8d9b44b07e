// Distances from one point to many and the sums of the Guttman transform: the inner loop of SMACOF.

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
void guttman(const T* disparities, int64_t stride, const T* weights, int64_t weight_stride,
             int64_t first, int64_t last, int64_t n, const double* y, int64_t ld, int k,
             double* own, double* moved, double* sums) {
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
