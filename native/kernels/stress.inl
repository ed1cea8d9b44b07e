// Distances from one point to many, and what they pull: the inner loop of scaling.

// 1 / sqrt(v), and 0 where v is 0.
inline INLINE Wide inverse_root(Wide v) {
#if defined(__AVX512F__)
    // 14 bits, doubled twice: a fifth of the time of a root and a division.
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

// What one point feels of points j < count (columns of y, ld apart, from y on): pulled_c += sum_j
// b_j (own_c - y_cj), b = w t / d. With PUSH, the others feel the opposite: push_cj -= ....
template <int K, bool PUSH, class T>
inline INLINE void feel(const double* own, const double* y, int64_t ld, const T* t, const T* w,
                        int64_t count, double* pulled, double* push, Wide* sums) {
    Wide at[K], pull[K] = {};
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
        const Wide target = wide_part(t + j, left);
        Wide weight = w ? wide_part(w + j, left) : spread(1.0);
        Wide given = target == target ? target : Wide{};
        weight = target == target ? weight : Wide{};
        if (left < W<double>)
            for (int l = int(left); l < W<double>; l++) weight[l] = 0;
        const Wide rest = given - d, pulls = weight * given;
        stress += weight * rest * rest;
        size += weight * d2;
        cross += pulls * d;
        const Wide b = pulls * inverse;
#pragma GCC unroll 4
        for (int c = 0; c < K; c++) {
            const Wide force = b * gap[c];
            pull[c] += force;
            if constexpr (PUSH) {
                double* const to = push + c * ld + j;
                store_part(to, load_part(to, left) - force, left);
            }
        }
    };
    int64_t j = 0;
    for (; j + W<double> <= count; j += W<double>) part(j, W<double>);
    if (j < count) part(j, count - j);
    sums[0] = stress, sums[1] = size, sums[2] = cross;
#pragma GCC unroll 4
    for (int c = 0; c < K; c++) pulled[c] += total_of<double>(pull[c]);
}

// The same for any number of coordinates: pulls first, then the coordinates one by one.
template <bool PUSH, class T>
void feel_many(const double* own, const double* y, int64_t ld, int k, const T* t, const T* w,
               int64_t count, double* pulled, double* push, Wide* sums) {
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
            const Wide target = wide_part(t + begin + j, left);
            Wide weight = w ? wide_part(w + begin + j, left) : spread(1.0);
            const Wide given = target == target ? target : Wide{};
            weight = target == target ? weight : Wide{};
            if (left < W<double>)
                for (int l = int(left); l < W<double>; l++) weight[l] = 0;
            const Wide rest = given - d;
            sums[0] += weight * rest * rest;
            sums[1] += weight * d2;
            sums[2] += weight * given * d;
            store(b + j, weight * given * inverse);
        }
        for (int c = 0; c < k; c++) {
            const double* const from = y + c * ld + begin;
            Wide pull = {};
            for (int64_t j = 0; j < size; j += W<double>) {
                const int64_t left = size - j;
                const Wide force = load(b + j) * (own[c] - load_part(from + j, left));
                pull += force;  // b is 0 beyond the end
                if constexpr (PUSH) {
                    double* const to = push + c * ld + begin + j;
                    store_part(to, load_part(to, left) - force, left);
                }
            }
            pulled[c] += total_of<double>(pull);
        }
    }
}

template <bool PUSH, class T>
inline INLINE void felt(const double* own, const double* y, int64_t ld, int k, const T* t,
                        const T* w, int64_t count, double* pulled, double* push, Wide* sums) {
    switch (k) {
        case 1: return feel<1, PUSH>(own, y, ld, t, w, count, pulled, push, sums);
        case 2: return feel<2, PUSH>(own, y, ld, t, w, count, pulled, push, sums);
        case 3: return feel<3, PUSH>(own, y, ld, t, w, count, pulled, push, sums);
        default: return feel_many<PUSH>(own, y, ld, k, t, w, count, pulled, push, sums);
    }
}

template <class T>
void guttman(const T* targets, int64_t stride, const T* weights, int64_t weight_stride,
             int64_t first, int64_t last, int64_t n, const double* y, int64_t ld, int k,
             double* own, double* moved, double* sums) {
    Wide parts[3] = {};
    double* const pulled = own + k;
    for (int64_t i = first; i < last; i++) {
        for (int c = 0; c < k; c++) own[c] = y[c * ld + i], pulled[c] = 0;
        felt<true>(own, y + i + 1, ld, k, targets + i * stride + i + 1,
                   weights ? weights + i * weight_stride + i + 1 : nullptr, n - i - 1, pulled,
                   moved + i + 1, parts);
        for (int c = 0; c < k; c++) moved[c * ld + i] += pulled[c];
    }
    for (int s = 0; s < 3; s++) sums[s] = total_of<double>(parts[s]);
}

// ---- Many float32 targets ----

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

// R rows from i on feel the later ones, which feel the opposite. Places are sums of two float32
// numbers, so that a gap is as right as float32 can be; what is summed over more than some dozens
// of pairs is summed in float64.
template <int K, int R>
inline INLINE void feel_each_other(const float* t, int64_t stride, float scale, int64_t i,
                                   int64_t n, const float* y, int64_t ld, double* moved,
                                   Wide* sums) {
    constexpr int L = W<float>, SOME = 16;
    typedef typename Simd<float>::I Lanes;
    Lanes lane;
    for (int l = 0; l < L; l++) lane[l] = l;
    const float* const rest = y + K * ld;
    Wide pulled[R][K] = {};
    Vec<float> pull[R][K], stress, size, cross;
    const auto part = [&]<bool WHOLE>(int64_t j, std::bool_constant<WHOLE>) INLINE {
        const int64_t left = WHOLE ? L : n - j;
        const bool first = !WHOLE && j == i + 1;  // where a row meets itself and those before it
        Vec<float> head[K], tail[K], push[K] = {};
#pragma GCC unroll 4
        for (int c = 0; c < K; c++) {
            head[c] = load_part(y + c * ld + j, left);
            tail[c] = load_part(rest + c * ld + j, left);
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            Vec<float> gap[K], d2 = {};
#pragma GCC unroll 4
            for (int c = 0; c < K; c++) {
                gap[c] = (y[c * ld + i + r] - head[c]) + (rest[c * ld + i + r] - tail[c]);
                d2 += gap[c] * gap[c];
            }
            Vec<float> target = load_part(t + r * stride + j, left);
            if constexpr (!WHOLE) {
                target = lane < int32_t(left) ? target : spread(__builtin_nanf(""));
                if (first) target = lane >= r ? target : spread(__builtin_nanf(""));
            }
            const auto known = target == target;  // NaN is a missing pair
            const Vec<float> given = known ? target * scale : Vec<float>{};
            const Vec<float> inverse = inverse_root(d2), d = d2 * inverse;
            const Vec<float> away = known ? given - d : Vec<float>{};
            stress += away * away;
            size += known ? d2 : Vec<float>{};
            cross += given * d;
            const Vec<float> b = given * inverse;
#pragma GCC unroll 4
            for (int c = 0; c < K; c++) {
                pull[r][c] += b * gap[c];
                push[c] += b * gap[c];
            }
        }
#pragma GCC unroll 4
        for (int c = 0; c < K; c++) {
            double* const to = moved + c * ld + j;  // padded to whole vectors
            store(to, load(to) - widen<0>(push[c]));
            store(to + W<double>, load(to + W<double>) - widen<1>(push[c]));
        }
    };
    const auto both = [](Vec<float> v) INLINE { return widen<0>(v) + widen<1>(v); };
    for (int64_t j = i + 1; j < n;) {
        stress = size = cross = Vec<float>{};
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
            for (int c = 0; c < K; c++) pull[r][c] = Vec<float>{};
        const int64_t end = j + SOME * L;
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
            for (int c = 0; c < K; c++) pulled[r][c] += both(pull[r][c]);
    }
    for (int r = 0; r < R; r++)
        for (int c = 0; c < K; c++) moved[c * ld + i + r] += total_of<double>(pulled[r][c]);
}

template <int K>
inline INLINE void narrow_guttman_in(const float* targets, int64_t stride, float scale,
                                     int64_t first, int64_t last, int64_t n, const float* y,
                                     int64_t ld, double* moved, double* sums) {
    constexpr int R = MANY_REGISTERS ? 4 : 2;
    Wide parts[3] = {};
    int64_t i = first;
    for (; i + R <= last; i += R)
        feel_each_other<K, R>(targets + i * stride, stride, scale, i, n, y, ld, moved, parts);
    for (; i < last; i++)
        feel_each_other<K, 1>(targets + i * stride, stride, scale, i, n, y, ld, moved, parts);
    for (int s = 0; s < 3; s++) sums[s] = total_of<double>(parts[s]);
}
void narrow_guttman(const float* targets, int64_t stride, float scale, int64_t first, int64_t last,
                    int64_t n, const float* y, int64_t ld, int k, double* moved, double* sums) {
    (k == 1   ? narrow_guttman_in<1>
     : k == 2 ? narrow_guttman_in<2>
              : narrow_guttman_in<3>)(targets, stride, scale, first, last, n, y, ld, moved, sums);
}

double locate(const double* targets, const double* weights, int64_t n, const double* anchors,
              int64_t ld, int k, int most, double tol, double* scratch, double* y) {
    double* const middle = scratch;
    double* const pulled = scratch + k;
    Wide total_parts = {}, square_parts = {};
    const auto weight_of = [&](int64_t j, int64_t left) INLINE {
        const Wide t = load_part(targets + j, left);
        Wide weight = weights ? load_part(weights + j, left) : spread(1.0);
        weight = t == t ? weight : Wide{};
        if (left < W<double>)
            for (int l = int(left); l < W<double>; l++) weight[l] = 0;
        return weight;
    };
    for (int64_t j = 0; j < n; j += W<double>) {
        const Wide weight = weight_of(j, n - j), t = load_part(targets + j, n - j);
        total_parts += weight;
        square_parts += weight * (t == t ? t * t : Wide{});
    }
    const double total = total_of<double>(total_parts);
    if (!(total > 0)) return 0;
    for (int c = 0; c < k; c++) {
        Wide sum = {};
        for (int64_t j = 0; j < n; j += W<double>)
            sum += weight_of(j, n - j) * load_part(anchors + c * ld + j, n - j);
        middle[c] = total_of<double>(sum) / total;
    }
    const double least_move = tol * tol * total_of<double>(square_parts) / total;
    for (int step = 0; step < most; step++) {
        Wide sums[3] = {};
        for (int c = 0; c < k; c++) pulled[c] = 0;
        felt<false>(y, anchors, ld, k, targets, weights, n, pulled, nullptr, sums);
        double move = 0;
        for (int c = 0; c < k; c++) {
            const double place = middle[c] + pulled[c] / total;
            move += (place - y[c]) * (place - y[c]);
            y[c] = place;
        }
        if (!(move > least_move)) break;
    }
    Wide sums[3] = {};
    felt<false>(y, anchors, ld, k, targets, weights, n, pulled, nullptr, sums);
    return total_of<double>(sums[0]);
}
