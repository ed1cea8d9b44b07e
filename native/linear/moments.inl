// Sums over rows: column sums, scatter matrices, and a scatter matrix times a few vectors.

typedef uint64_t Words __attribute__((vector_size(BYTES)));

// The bits of float64 numbers, with the high half, all that round numbers have, mixed into the low.
inline INLINE Words mix_words(Wide v) {
    const Words words = (Words)(v + 0.0);  // -0 is 0
    return words ^ (words >> 32);
}

template <int STEP, size_t... L>
inline INLINE Words rotate_lanes(Words v, std::index_sequence<L...>) {
    return shuffle<int((L + STEP) % sizeof...(L))...>(v, v);
}
inline INLINE uint64_t total_of_words(Words v) {
    constexpr std::make_index_sequence<W<double>> lanes{};
    if constexpr (W<double> == 8) v += rotate_lanes<4>(v, lanes);
    if constexpr (W<double> >= 4) v += rotate_lanes<2>(v, lanes);
    v += rotate_lanes<1>(v, lanes);
    return v[0];
}

template <class T, bool HASH>
inline INLINE T sum_columns(const T* x, int64_t stride, int64_t rows, int64_t cols,
                            const double* weights, double* out, const uint64_t* multipliers,
                            uint64_t* hashes) {
    // Rows per visit: the float64 sums are read and written once for eight rows.
    constexpr int ROWS = 8;
    Vec<T> largest = {};
    const auto visit = [&](int64_t i, auto n) INLINE {
        Words hash[ROWS] = {};
        for (int64_t j = 0; j < cols; j += W<T>) {
            const int64_t count = cols - j;
            Wide part[PARTS<T>] = {};
            Words factors[PARTS<T>];
            if constexpr (HASH) __builtin_memcpy(factors, multipliers + j, sizeof factors);
#pragma GCC unroll 8
            for (int r = 0; r < n; r++) {
                const Vec<T> v = load_part(x + (i + r) * stride + j, count);
                const double w = weights ? weights[i + r] : 1.0;
                largest = larger(largest, magnitude<T>(v));
                const Wide low = widen<0>(v);
                part[0] += low * w;
                if constexpr (HASH) hash[r] += mix_words(low) * factors[0];
                if constexpr (PARTS<T> == 2) {
                    const Wide high = widen<1>(v);
                    part[1] += high * w;
                    if constexpr (HASH) hash[r] += mix_words(high) * factors[1];
                }
            }
            for (int p = 0; p < PARTS<T>; p++) {
                double* const sums = out + j + p * W<double>;
                const int64_t here = count - p * W<double>;
                if (here > 0) store_part(sums, load_part(sums, here) + part[p], here);
            }
        }
        if constexpr (HASH)
#pragma GCC unroll 8
            for (int r = 0; r < n; r++) hashes[i + r] = total_of_words(hash[r]);
    };
    int64_t i = 0;
    for (; i + ROWS <= rows; i += ROWS) visit(i, std::integral_constant<int, ROWS>{});
    if (i < rows) visit(i, int(rows - i));
    T most = largest[0];
    for (int l = 1; l < W<T>; l++) most = largest[l] > most ? largest[l] : most;
    return most;
}

template <class T>
T column_sums(const T* x, int64_t stride, int64_t rows, int64_t cols, const double* weights,
              double* out, const uint64_t* multipliers, uint64_t* hashes) {
    return (multipliers ? sum_columns<T, true> : sum_columns<T, false>)(x, stride, rows, cols,
                                                                        weights, out, multipliers,
                                                                        hashes);
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
// The same with the roles of a and b exchanged, for M lanes of b that would leave most of a vector
// empty: the products are the same, and so are the bits.
template <class T, int M>
inline INLINE void scatter_narrow(const T* a, const T* b, int rows, int lanes_a, double* c) {
    for (int i = 0; i < lanes_a; i += NV * W<T>) {
        Vec<T> sum[M][NV] = {};
        micro<Product, NV, 1, PANEL<T>>(b, a + i, rows, sum);
        for (int l = 0; l < NV * W<T>; l++)
#pragma GCC unroll 4
            for (int m = 0; m < M; m++)
                c[(i + l) * PANEL<T> + m] += double(sum[m][l / W<T>][l % W<T>]);
    }
}
template <class T>
void scatter_tile(const T* a, const T* b, int rows, int lanes_a, int lanes_b, bool diagonal,
                  double* c) {
    const int over = lanes_b % W<T>, narrow = over <= MR / 2 ? over : 0, wide = lanes_b - narrow;
    for (int k = 0; k < rows; k += SUM_ROWS, a += SUM_ROWS * PANEL<T>, b += SUM_ROWS * PANEL<T>) {
        const int count = least(SUM_ROWS, rows - k);
        for (int i = 0; i < lanes_a; i += MR) {
            int j = diagonal ? i / W<T> * W<T> : 0;
            for (; j + W<T> < wide; j += NV * W<T>)
                scatter_micro<T, NV>(a + i, b + j, count, c + i * PANEL<T> + j);
            if (j < wide) scatter_micro<T, 1>(a + i, b + j, count, c + i * PANEL<T> + j);
        }
        if (narrow > 2)
            scatter_narrow<T, 4>(a, b + wide, count, lanes_a, c + wide);
        else if (narrow)
            scatter_narrow<T, 2>(a, b + wide, count, lanes_a, c + wide);
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
double scatter_matmul(const ScatterRows<T>& given, T* scratch, double* z, double* out) {
    const auto [x, stride, rows, cols, shift, scale, weights, v, groups, ld] = given;
    const Block<T> block{scratch, rows};
    T* const factors = scratch + rows * ld;
    double* const squares = z + int64_t(groups) * rows * GROUP;
    for (int r = 0; r < rows; r++) {
        squares[r] = 0;
        // Entries beyond the features.
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
