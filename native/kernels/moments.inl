// Sums over rows: column sums, scatter matrices, and a scatter matrix times a few vectors.

template <class T>
T column_sums(const T* x, int64_t stride, int64_t rows, int64_t cols, const double* weights, double* out) {
    constexpr int ROWS = 8;   // rows per visit: the float64 sums are read and written once for eight rows
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
void pack_columns(const T* x, int64_t stride, int64_t rows, int64_t cols, Shift<T> shift, const T* factor, T* panels,
                  int64_t panel_stride) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j += PANEL<T>) {
            T* const to = panels + j / PANEL<T> * panel_stride + i * PANEL<T>;
#pragma GCC unroll 8
            for (int l = 0; l < PANEL<T>; l += W<T>) {
                const int64_t left = cols - j - l;
                store(to + l, left > 0 ? shifted(load_part(x + i * stride + j + l, left), shift, j + l) * factor[i] : Vec<T>{});
            }
        }
}

// ---- The micro-tile: MR rows by NV vectors of sums, held in registers while k runs ----
constexpr int MR = MANY_REGISTERS ? 8 : 4, NV = 2;

struct Product {
    template <class V>
    static void step(V& sum, const V& a, const V& b) { sum += a * b; }
};
// a[i A + k K] against b[k PANEL + lanes].
template <class Step, int N, int A, int K, class T>
inline INLINE void micro(const T* a, const T* b, int64_t count, Vec<T> (&sum)[MR][N], const Step& op = {}) {
    for (int64_t k = 0; k < count; k++, a += K, b += PANEL<T>) {
        Vec<T> lanes[N];
#pragma GCC unroll 2
        for (int v = 0; v < N; v++) lanes[v] = load(b + v * W<T>);
#pragma GCC unroll 8
        for (int i = 0; i < MR; i++) {
            const Vec<T> entry = spread(a[i * A]);
#pragma GCC unroll 2
            for (int v = 0; v < N; v++) op.step(sum[i][v], entry, lanes[v]);
        }
    }
}

constexpr int SUM_ROWS = 256;   // products summed in T before they go to float64

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
void scatter_tile(const T* a, const T* b, int rows, int lanes_a, int lanes_b, bool diagonal, double* c) {
    for (int k = 0; k < rows; k += SUM_ROWS, a += SUM_ROWS * PANEL<T>, b += SUM_ROWS * PANEL<T>) {
        const int count = least(SUM_ROWS, rows - k);
        for (int i = 0; i < lanes_a; i += MR) {
            int j = diagonal ? i / W<T> * W<T> : 0;
            for (; j + W<T> < lanes_b; j += NV * W<T>) scatter_micro<T, NV>(a + i, b + j, count, c + i * PANEL<T> + j);
            if (j < lanes_b) scatter_micro<T, 1>(a + i, b + j, count, c + i * PANEL<T> + j);
        }
    }
}

// ---- Few columns: vectors run along the features, every row keeps N columns of sums in registers ----
// v is cut into lines of LINE features, v[(k / LINE) N LINE + c LINE + k % LINE]: one pointer walks over all columns.
// A source of rows gives line_at(k), what all rows share at feature k, and entry(r, k, count, shared), W entries of row r.
struct Nothing {};
template <class T>
struct Plain {
    const T* x;
    int64_t stride;
    INLINE Nothing line_at(int64_t) const { return {}; }
    INLINE Vec<T> entry(int r, int64_t k, int64_t count, Nothing) const { return load_part(x + r * stride + k, count); }
    // Rows come from memory in runs too short for the hardware to guess the next one: fetch a later row.
    INLINE void ahead(int r, int64_t k) const { __builtin_prefetch(x + (r + 2) * stride + k); }
};
template <class T>
struct HalfSquare : Plain<T> {   // -x^2 / 2
    INLINE Vec<T> entry(int r, int64_t k, int64_t count, Nothing shared) const {
        const Vec<T> v = Plain<T>::entry(r, k, count, shared);
        return v * v * T(-0.5);
    }
};
template <class T>
struct Centered : Plain<T> {
    Shift<T> shift;
    struct Line {
        Vec<T> head, rest;
    };
    INLINE Line line_at(int64_t k) const {
        Vec<T> head = load(shift.head + k), rest = load(shift.rest + k);
        pin(head), pin(rest);
        return {head, rest};
    }
    INLINE Vec<T> entry(int r, int64_t k, int64_t count, const Line& line) const {
        return (Plain<T>::entry(r, k, count, {}) - line.head) - line.rest;
    }
};
// A centered block of rows kept for a second use, a line of all rows after the other: both uses run through it in order.
template <class T>
struct Block {
    T* lines;
    int rows;
    INLINE T* at(int r, int64_t k) const { return lines + (k / LINE<T> * rows + r) * LINE<T> + k % LINE<T>; }
    INLINE Nothing line_at(int64_t) const { return {}; }
    INLINE Vec<T> entry(int r, int64_t k, int64_t, Nothing) const { return load(at(r, k)); }
    INLINE void ahead(int, int64_t) const {}
};
template <class T>
struct Kept : Centered<T> {   // rest comes multiplied by scale
    T scale;
    Block<T> block;
    // The next block is fetched into L2, half of it now, half while `outer` runs: memory is never idle, never in the way.
    INLINE void ahead(int r, int64_t k) const { __builtin_prefetch(this->x + (block.rows + r / 2) * this->stride + k, 0, 2); }
    INLINE Vec<T> entry(int r, int64_t k, int64_t count, const typename Centered<T>::Line& line) const {
        const Vec<T> v = (Plain<T>::entry(r, k, count, {}) - line.head) * scale - line.rest;
        store(block.at(r, k), v);
        return v;
    }
};

constexpr int SUM_COLUMNS = 512;   // features summed in T (in W lanes) before they go to float64: v's share (16 KB) stays in L1

// z[r N + c] += x_r . v_c over features k .. k + count, for R rows; squares[r] += |x_r|^2 if asked for.
template <int R, int N, class T, class Rows>
inline INLINE void dots(const Rows& x, int row, int64_t k, int64_t count, const T* v, double* z, double* squares) {
    Vec<T> sum[R * N] = {}, square[R] = {};
    const auto step = [&](int64_t j, int64_t left) INLINE {
        Vec<T> rows[R];
        const auto shared = x.line_at(j);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            rows[r] = x.entry(row + r, j, left, shared);
            if constexpr (std::is_same_v<Rows, Kept<T>>) square[r] += rows[r] * rows[r];
        }
        const T* const line = v + j / LINE<T> * (N * LINE<T>) + j % LINE<T>;
#pragma GCC unroll 8
        for (int c = 0; c < N; c++) {
            Vec<T> column = load(line + c * LINE<T>);
            pin(column);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) sum[r * N + c] += rows[r] * column;
        }
    };
    const int64_t lines = (k + count) / LINE<T>;   // k is the start of a line
    for (int64_t l = k / LINE<T>; l < lines; l++) {
#pragma GCC unroll 8
        for (int r = 0; r < (std::is_same_v<Rows, Kept<T>> ? 1 : R); r++) x.ahead(row + r, l * LINE<T>);
#pragma GCC unroll 4
        for (int u = 0; u < LINE<T>; u += W<T>) step(l * LINE<T> + u, W<T>);
    }
    for (int64_t j = lines * LINE<T>; j < k + count; j += W<T>) step(j, k + count - j);
    constexpr int M = least(W<T>, R * N);
#pragma GCC unroll 8
    for (int s = 0; s < R * N; s += M) {
        const Vec<T> total = sums<T, M>(sum + s);
        if constexpr (M >= W<double>) {
            store(z + s, load(z + s) + widen<0>(total));
            if constexpr (M > W<double>) store(z + s + W<double>, load(z + s + W<double>) + widen<1>(total));
        } else {
            for (int l = 0; l < M; l++) z[s + l] += double(total[l]);
        }
    }
    if constexpr (std::is_same_v<Rows, Kept<T>>)
        for (int r = 0; r < R; r++) squares[row + r] += double(total_of<T>(square[r]));
}
template <int N, class T, class Rows>
inline INLINE void all_dots(const Rows& x, int rows, int64_t k, int64_t count, const T* v, double* z, double* squares) {
    constexpr int R = (MANY_REGISTERS ? 16 : 8) / N;
    int r = 0;
    for (; r + R <= rows; r += R) dots<R, N>(x, r, k, count, v, z + r * N, squares);
    for (; r < rows; r++) dots<1, N>(x, r, k, count, v, z + r * N, squares);
}
// z (groups, rows, N) = X V, v (groups, lines, N, LINE) of ld features. The first group may read another source than the rest.
template <int N, class T, class First, class Rest>
void thin(const First& first, const Rest& rest, int rows, int64_t cols, const T* v, int groups, int64_t ld, double* z,
          double* squares = nullptr) {
    for (int64_t i = 0; i < int64_t(groups) * rows * N; i++) z[i] = 0;
    for (int64_t k = 0; k < cols; k += SUM_COLUMNS) {
        const int64_t count = least<int64_t>(SUM_COLUMNS, cols - k);
        all_dots<N>(first, rows, k, count, v, z, squares);
        for (int g = 1; g < groups; g++) all_dots<N>(rest, rows, k, count, v + g * N * ld, z + g * rows * N, squares);
    }
}

template <class T>
void times(const T* a, int64_t stride, int rows, int64_t cols, bool half_square, const T* v, int groups, int64_t ld, double* z) {
    const Plain<T> plain{a, stride};
    const HalfSquare<T> squares{plain};
    if (half_square)
        thin<GROUP>(squares, squares, rows, cols, v, groups, ld, z);
    else
        thin<GROUP>(plain, plain, rows, cols, v, groups, ld, z);
}

// sums (GROUP, ld) += X^T z for one or two vectors of features: the rows run, the sums stay in registers.
template <int K, class T>
inline INLINE void outer(const Block<T>& x, const T* z, int64_t j, int64_t ld, double* out, const T* next) {
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
double scatter_times(const T* x, int64_t stride, int rows, int64_t cols, Shift<T> shift, T scale, const double* weights,
                     const T* v, int groups, int64_t ld, T* scratch, double* z, double* out) {
    const Block<T> block{scratch, rows};
    T* const factors = scratch + rows * ld;
    double* const squares = z + int64_t(groups) * rows * GROUP;
    for (int r = 0; r < rows; r++) {
        squares[r] = 0;
        for (int64_t k = cols / LINE<T> * LINE<T>; k < ld; k += W<T>) store(block.at(r, k), Vec<T>{});   // beyond the features
    }
    thin<GROUP>(Kept<T>{{{x, stride}, shift}, scale, block}, block, rows, cols, v, groups, ld, z, squares);
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
            outer<K>(block, factors + int64_t(g) * rows * GROUP, j, ld, out + int64_t(g) * GROUP * ld,
                     x + (rows + rows / 2) * stride + j / (K * W<T>) * rows * LINE<T>);
    return total;
}
