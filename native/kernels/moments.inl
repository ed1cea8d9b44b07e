// Sums over rows: column sums, scatter matrices, and a scatter matrix times a few vectors.

template <class T>
T column_sums(const T* x, int64_t stride, int64_t rows, int64_t cols, const double* weights,
              double* out) {
    // Rows per visit: the float64 sums are read and written once for eight rows.
    constexpr int ROWS = 8;
    Vec<T> largest = {};
    for (int64_t i = 0; i < rows; i += ROWS) {
        const int n = int(least<int64_t>(ROWS, rows - i));
        for (int64_t j = 0; j < cols; j += W<T>) {
            const int64_t count = cols - j;
            Wide part[PARTS<T>] = {};
            for (int r = 0; r < n; r++) {
                const Vec<T> v = load_part(x + (i + r) * stride + j, count);
                const double w = weights ? weights[i + r] : 1.0;
                largest = larger(largest, magnitude<T>(v));
                part[0] += widen<0>(v) * w;
                if constexpr (PARTS<T> == 2) part[1] += widen<1>(v) * w;
            }
            for (int p = 0; p < PARTS<T>; p++) {
                double* const sums = out + j + p * W<double>;
                const int64_t here = count - p * W<double>;
                if (here > 0) store_part(sums, load_part(sums, here) + part[p], here);
            }
        }
    }
    T most = largest[0];
    for (int l = 1; l < W<T>; l++) most = largest[l] > most ? largest[l] : most;
    return most;
}

template <class T>
void pack_columns(const T* x, int64_t stride, int64_t rows, int64_t cols, Shift<T> shift,
                  const T* factor, T* panels, int64_t panel_stride) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j += PANEL<T>) {
            T* const to = panels + j / PANEL<T> * panel_stride + i * PANEL<T>;
#pragma GCC unroll 8
            for (int l = 0; l < PANEL<T>; l += W<T>) {
                const int64_t left = cols - j - l;
                store(to + l, left > 0 ? subtract_shift(load_part(x + i * stride + j + l, left),
                                                        shift, j + l) *
                                             factor[i]
                                       : Vec<T>{});
            }
        }
}

template <class T, int N>
inline INLINE void scatter_micro(const T* a, const T* b, int rows, double* c) {
    Vec<T> sum[MR][N] = {};
    micro<Product, N, 1, PANEL<T>>(a, b, rows, sum);
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 2
        for (int v = 0; v < N; v++) add_to<T>(c + i * PANEL<T> + v * W<T>, sum[i][v]);
}
template <class T>
void scatter_tile(const T* a, const T* b, int rows, int lanes_a, int lanes_b, bool diagonal,
                  double* c) {
    for (int k = 0; k < rows; k += SUM_ROWS, a += SUM_ROWS * PANEL<T>, b += SUM_ROWS * PANEL<T>) {
        const int count = least(SUM_ROWS, rows - k);
        for (int i = 0; i < lanes_a; i += MR) {
            int j = diagonal ? i / W<T> * W<T> : 0;
            for (; j + W<T> < lanes_b; j += NV * W<T>)
                scatter_micro<T, NV>(a + i, b + j, count, c + i * PANEL<T> + j);
            if (j < lanes_b) scatter_micro<T, 1>(a + i, b + j, count, c + i * PANEL<T> + j);
        }
    }
}

// sums (GROUP, ld) += X^T z for one or two vectors of features: the rows run, the sums stay in
// registers.
template <int K, class T>
inline INLINE void outer(const Block<T>& x, const T* z, int64_t j, int64_t ld, double* out,
                         const T* next) {
    Vec<T> sum[GROUP][K] = {};
    const T* const first = x.at(0, j);
    const T* const second = x.at(0, j + (K - 1) * W<T>);
    for (int r = 0; r < x.rows; r++, next += LINE<T>) {
        __builtin_prefetch(next, 0, 2);
        const Vec<T> entries[2] = {load(first + r * LINE<T>), load(second + r * LINE<T>)};
#pragma GCC unroll 8
        for (int c = 0; c < GROUP; c++) {
            const Vec<T> factor = spread(z[r * GROUP + c]);
#pragma GCC unroll 2
            for (int k = 0; k < K; k++) sum[c][k] += entries[k] * factor;
        }
    }
#pragma GCC unroll 8
    for (int c = 0; c < GROUP; c++)
#pragma GCC unroll 2
        for (int k = 0; k < K; k++) add_to<T>(out + c * ld + j + k * W<T>, sum[c][k]);
}

template <class T>
double scatter_matmul(const T* x, int64_t stride, int rows, int64_t cols, Shift<T> shift, T scale,
                      const double* weights, const T* v, int groups, int64_t ld, T* scratch,
                      double* z, double* out) {
    const Block<T> block{scratch, rows};
    T* const factors = scratch + rows * ld;
    double* const squares = z + int64_t(groups) * rows * GROUP;
    for (int r = 0; r < rows; r++) {
        squares[r] = 0;
        // Beyond the features.
        for (int64_t k = cols / LINE<T> * LINE<T>; k < ld; k += W<T>)
            store(block.at(r, k), Vec<T>{});
    }
    skinny_product<GROUP>(CenteredStored<T>{{{x, stride}, shift}, scale, block}, block, rows, cols,
                          v, groups, ld, z, squares);
    double total = 0;
    for (int r = 0; r < rows; r++) total += squares[r] * (weights ? weights[r] : 1.0);
    for (int g = 0; g < groups; g++)
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < GROUP; c++) {
                const int64_t at = (int64_t(g) * rows + r) * GROUP + c;
                factors[at] = T(weights ? z[at] * weights[r] : z[at]);
            }
    constexpr int K = MANY_REGISTERS ? 2 : 1;
    for (int g = 0; g < groups; g++)
        for (int64_t j = 0; j < ld; j += K * W<T>)
            outer<K>(block, factors + int64_t(g) * rows * GROUP, j, ld,
                     out + int64_t(g) * GROUP * ld,
                     x + (rows + rows / 2) * stride + j / (K * W<T>)*rows * LINE<T>);
    return total;
}

template <class T>
constexpr void fill_moments(MomentKernels<T>& table) {
    table.column_sums = column_sums<T>;
    table.pack_columns = pack_columns<T>;
    table.scatter_tile = scatter_tile<T>;
    table.scatter_matmul = scatter_matmul<T>;
}
