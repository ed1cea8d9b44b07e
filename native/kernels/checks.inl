// Checks of entries: finite, symmetric.

// x - x is 0 for a finite x and NaN for all others; NaN stays in a sum.
template <class T>
bool finite(const T* x, int64_t count) {
    Vec<T> bad[4] = {};
    int64_t i = 0;
    for (; i + 4 * W<T> <= count; i += 4 * W<T>)
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++) {
            const Vec<T> v = load(x + i + u * W<T>);
            bad[u] += v - v;
        }
    for (; i < count; i += W<T>) {
        const Vec<T> v = load_part(x + i, count - i);
        bad[0] += v - v;
    }
    return total_of<T>((bad[0] + bad[1]) + (bad[2] + bad[3])) == 0;
}

template <class T>
Extremes<T> symmetry(const T* a, const T* b, int64_t stride, int rows, int cols) {
    Vec<T> asymmetry = {}, largest = {}, smallest = spread(a[0]), bad = {};
    const auto inspect = [&](const Vec<T>& v) {
        largest = larger(largest, magnitude<T>(v));
        smallest = smaller(smallest, v);
        bad += v - v;
    };
    Vec<T> u[W<T>], v[W<T>];
    for (int i = 0; i < rows; i += W<T>)
        for (int j = 0; j < cols; j += W<T>) {
            const int m = least(W<T>, rows - i), n = least(W<T>, cols - j);
            // The same entries of the next block are fetched: runs are too short for the hardware
            // prefetcher.
            for (int k = 0; k < W<T>; k++) {
                __builtin_prefetch(a + (i + k) * stride + cols + j, 0, 2);
                __builtin_prefetch(b + (cols + j + k) * stride + i, 0, 2);
            }
            if (m == W<T> && n == W<T>) {
#pragma GCC unroll 16
                for (int k = 0; k < W<T>; k++) {
                    v[k] = load(b + (j + k) * stride + i);
                    inspect(v[k]);
                }
            } else {  // lanes outside the matrix repeat an entry, so that they change nothing
                for (int k = 0; k < W<T>; k++) {
                    u[k] = v[k] = spread(a[i * stride + j]);
                    if (k < m)
                        for (int l = 0; l < n; l++) u[k][l] = a[(i + k) * stride + j + l];
                    if (k < n)
                        for (int l = 0; l < m; l++) v[k][l] = b[(j + k) * stride + i + l];
                    inspect(u[k]);
                    inspect(v[k]);
                }
                for (int k = 0; k < m; k++)
                    for (int l = 0; l < n; l++) {
                        const T gap = u[k][l] - v[l][k];
                        asymmetry[0] = gap > asymmetry[0]    ? gap
                                       : -gap > asymmetry[0] ? -gap
                                                             : asymmetry[0];
                    }
                continue;
            }
            transpose<T>(v);
#pragma GCC unroll 16
            for (int k = 0; k < W<T>; k++) {
                const Vec<T> w = load(a + (i + k) * stride + j);
                inspect(w);
                asymmetry = larger(asymmetry, magnitude<T>(w - v[k]));
            }
        }
    Extremes<T> e{asymmetry[0], largest[0], smallest[0], total_of<T>(bad) == 0};
    for (int k = 1; k < W<T>; k++) {
        if (asymmetry[k] > e.asymmetry) e.asymmetry = asymmetry[k];
        if (largest[k] > e.largest) e.largest = largest[k];
        if (smallest[k] < e.smallest) e.smallest = smallest[k];
    }
    return e;
}

template <class T>
constexpr void fill_checks(CheckKernels<T>& table) {
    table.finite = finite<T>;
    table.symmetry = symmetry<T>;
}
