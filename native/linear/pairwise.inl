// Tiles of PANEL x PANEL pairs from panels of rows.

template <class T>
void pack_rows(const T* x, int64_t stride, int rows, int64_t cols, Shift<T> shift, bool truth,
               T* panel, double* norms) {
    Vec<T> v[W<T>];
    for (int64_t k = 0; k < cols; k += W<T>) {
        const int64_t count = least<int64_t>(W<T>, cols - k);
        for (int r = 0; r < PANEL<T>; r += W<T>) {
#pragma GCC unroll 16
            for (int i = 0; i < W<T>; i++) {
                v[i] = Vec<T>{};
                if (r + i >= rows) continue;
                const Vec<T> entry = load_part(x + (r + i) * stride + k, count);
                v[i] = truth ? (entry != 0 ? spread(T(1)) : Vec<T>{})
                             : subtract_shift(entry, shift, k);
            }
            transpose<T>(v);
#pragma GCC unroll 16
            for (int i = 0; i < W<T>; i++)
                if (i < count) store(panel + (k + i) * PANEL<T> + r, v[i]);
        }
    }
    for (int r = 0; r < PANEL<T>; r += W<double>) {
        Wide square = {};
        for (int64_t k = 0; k < cols; k++) {
            Wide w;
            for (int l = 0; l < W<double>; l++) w[l] = panel[k * PANEL<T> + r + l];
            square += w * w;
        }
        store(norms + r, square);
    }
}

struct Manhattan {
    template <class V>
    static void step(V& sum, const V& a, const V& b) {
        sum += magnitude_of(a - b);
    }
    static Vec<float> magnitude_of(Vec<float> v) { return magnitude<float>(v); }
    static Vec<double> magnitude_of(Vec<double> v) { return magnitude<double>(v); }
};
struct Chebyshev {
    template <class V>
    static void step(V& sum, const V& a, const V& b) {
        sum = larger(sum, Manhattan::magnitude_of(a - b));
    }
};
struct Hamming {
    template <class V>
    static void step(V& sum, const V& a, const V& b) {
        sum += a != b ? V{} + 1 : V{};
    }
};
struct WholePower {  // |a - b|^p for a small whole number p
    int p;
    template <class V>
    void step(V& sum, const V& a, const V& b) const {
        const V base = Manhattan::magnitude_of(a - b);
        V term = base;
        for (int i = 1; i < p; i++) term *= base;
        sum += term;
    }
};
struct AnyPower {
    double p;
    void step(Vec<double>& sum, const Vec<double>& a, const Vec<double>& b) const {
        sum += pow(magnitude<double>(a - b), p);
    }
    void step(Vec<float>& sum, const Vec<float>& a, const Vec<float>& b) const {
        const Vec<float> base = magnitude<float>(a - b);
        const Wide w[2] = {pow(widen<0>(base), p), pow(widen<1>(base), p)};
        Vec<float> term;
        narrow(w, term);
        sum += term;
    }
};

template <class T, class Step>
void tile_of(const T* a, const T* b, int64_t cols, const Step& step, double* tile) {
    for (int64_t k = 0; k < cols || k == 0; k += SUM_ROWS)
        for (int i = 0; i < PANEL<T>; i += MR)
            for (int j = 0; j < PANEL<T>; j += NV * W<T>) {
                Vec<T> sum[MR][NV] = {};
                micro<Step, NV, 1, PANEL<T>>(a + k * PANEL<T> + i, b + k * PANEL<T> + j,
                                             least<int64_t>(SUM_ROWS, cols - k), sum, step);
#pragma GCC unroll 8
                for (int r = 0; r < MR; r++)
#pragma GCC unroll 2
                    for (int v = 0; v < NV; v++) {
                        Wide w[2];
                        w[0] = widen<0>(sum[r][v]);
                        if constexpr (PARTS<T> == 2) w[1] = widen<1>(sum[r][v]);
#pragma GCC unroll 2
                        for (int p = 0; p < PARTS<T>; p++) {
                            double* const to =
                                tile + (i + r) * PANEL<T> + j + v * W<T> + p * W<double>;
                            if constexpr (std::is_same_v<Step, Chebyshev>)
                                store(to, k ? larger(load(to), w[p]) : w[p]);
                            else
                                store(to, k ? load(to) + w[p] : w[p]);
                        }
                    }
            }
}

template <class T>
void pair_tile(Measure measure, double order, const T* a, const T* b, int64_t cols, double* tile) {
    switch (measure) {
        case Measure::manhattan:
        case Measure::laplacian: return tile_of(a, b, cols, Manhattan{}, tile);
        case Measure::chebyshev: return tile_of(a, b, cols, Chebyshev{}, tile);
        case Measure::hamming: return tile_of(a, b, cols, Hamming{}, tile);
        case Measure::minkowski:
            if (order >= 1 && order <= 16 && order == int(order))
                return tile_of(a, b, cols, WholePower{int(order)}, tile);
            return tile_of(a, b, cols, AnyPower{order}, tile);
        default: return tile_of(a, b, cols, Product{}, tile);
    }
}

template <class T>
bool squares(double* tile, const double* na, const double* nb, double floor) {
    Whole lost = {};
    for (int i = 0; i < PANEL<T>; i++)
        for (int j = 0; j < PANEL<T>; j += W<double>) {
            const Wide norms = na[i] + load(nb + j),
                       d2 = norms - 2.0 * load(tile + i * PANEL<T> + j);
            store(tile + i * PANEL<T> + j, d2);
            // The product overflowed to NaN or infinity.
            lost |= ~(Whole)((d2 > norms * 0x1p-7) & (d2 > floor) & (d2 < norms * 4.0));
        }
    for (int l = 1; l < W<double>; l++) lost[0] |= lost[l];
    return lost[0] != 0;
}

template <class T>
double squared_distance(const T* q, const T* x, int64_t cols) {
    Wide square[2] = {};
    for (int64_t k = 0; k < cols; k += W<T>) {
        const Vec<T> a = load_part(q + k, cols - k), b = load_part(x + k, cols - k);
        const Wide u = widen<0>(a) - widen<0>(b);
        square[0] += u * u;
        if constexpr (PARTS<T> == 2) {
            const Wide v = widen<1>(a) - widen<1>(b);
            square[1] += v * v;
        }
    }
    return total_of<double>(square[0] + square[1]);
}

inline INLINE Wide square_root(Wide v) {
    for (int l = 0; l < W<double>; l++) v[l] = __builtin_sqrt(v[l]);
    return v;
}
inline INLINE Wide power(Wide v, double p) {
    if (p >= 0 && p <= 64 && p == int(p)) {
        Wide result = spread(1.0);
        for (int n = int(p); n; n >>= 1, v *= v)
            if (n & 1) result *= v;
        return result;
    }
    for (int l = 0; l < W<double>; l++) v[l] = __builtin_pow(v[l], p);
    return v;
}

template <class T, class F>
inline INLINE void each(const double* tile, T* out, F f) {
    for (int i = 0; i < PANEL<T>; i++)
        for (int j = 0; j < PANEL<T>; j += W<T>) {
            Wide w[PARTS<T>];
#pragma GCC unroll 2
            for (int p = 0; p < PARTS<T>; p++)
                w[p] = f(load(tile + i * PANEL<T> + j + p * W<double>), i, j + p * W<double>);
            Vec<T> v;
            narrow(w, v);
            store(out + i * PANEL<T> + j, v);
        }
}

template <class T>
void pair_finish(Measure measure, const double* p, const double* tile, const double* na,
                 const double* nb, int64_t cols, T* out) {
    const double p0 = p[0], p1 = p[1], p2 = p[2];
    switch (measure) {
        case Measure::dot:
        case Measure::sqeuclidean: return each(tile, out, [=](Wide t, int, int) { return p0 * t; });
        case Measure::poly:
            return each(tile, out, [=](Wide t, int, int) { return power(p0 * t + p1, p2); });
        case Measure::sigmoid:
            return each(tile, out, [=](Wide t, int, int) { return tanh<T>(p0 * t + p1); });
        case Measure::euclidean:
            return each(tile, out, [=](Wide t, int, int) { return p0 * square_root(t); });
        case Measure::rbf:
        case Measure::laplacian:
            return each(tile, out, [=](Wide t, int, int) { return exp<T>(-p0 * t); });
        case Measure::rbfm1:
            return each(tile, out, [=](Wide t, int, int) { return expm1<T>(-p0 * t); });
        case Measure::manhattan:
        case Measure::chebyshev: return each(tile, out, [](Wide t, int, int) { return t; });
        case Measure::minkowski:
            return each(tile, out, [=](Wide t, int, int) { return power(t, 1 / p0); });
        case Measure::hamming:
            return each(tile, out, [=](Wide t, int, int) { return t / double(cols); });
        case Measure::jaccard:
            return each(tile, out, [=](Wide both, int i, int j) {
                const Wide either = na[i] + load(nb + j) - both;
                return either > 0.0 ? (either - both) / either : Wide{};
            });
    }
}

template <class T>
void transpose_tile(const T* tile, T* transposed) {
    Vec<T> v[W<T>];
    for (int i = 0; i < PANEL<T>; i += W<T>)
        for (int j = 0; j < PANEL<T>; j += W<T>) {
#pragma GCC unroll 16
            for (int k = 0; k < W<T>; k++) v[k] = load(tile + (i + k) * PANEL<T> + j);
            transpose<T>(v);
#pragma GCC unroll 16
            for (int k = 0; k < W<T>; k++) store(transposed + (j + k) * PANEL<T> + i, v[k]);
        }
}

template <class T>
constexpr void fill_pairwise(PairwiseKernels<T>& table) {
    table.pack_rows = pack_rows<T>;
    table.pair_tile = pair_tile<T>;
    table.squares = squares<T>;
    table.squared_distance = squared_distance<T>;
    table.pair_finish = pair_finish<T>;
    table.transpose_tile = transpose_tile<T>;
}
