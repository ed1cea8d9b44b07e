// Squared distances from differences, in float64.

// The sum over the lanes, the halves of a vector first: so 16 sums are added in the same order
// whatever the size of a vector.
template <int H>
inline INLINE double fold_lanes(Wide v) {
    if constexpr (H > 0) {
        v += swap_lanes<H>(v, v, std::make_index_sequence<W<double>>());
        return fold_lanes<H / 2>(v);
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
    constexpr int64_t CHECK_EVERY = 128;
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
        return fold_lanes<W<double> / 2>(s[0]);
    };
    int64_t k = 0;
    for (; k + LANES <= cols; k += LANES) {
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) add(load(x + k + v * W<T>), load(y + k + v * W<T>), v);
        if ((k + LANES) % CHECK_EVERY == 0)
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

template <class T>
constexpr void fill_distances(DistanceKernels<T>& table) {
    table.difference_square = difference_square<T>;
    table.centered_square = centered_square<T>;
}
