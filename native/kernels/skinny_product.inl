// Tall and skinny products, X V with few columns in V: vectors run along the features, and every
// row keeps N columns of sums in registers.
//
// v is cut into lines of LINE features, v[(k / LINE) N LINE + c LINE + k % LINE]: one pointer walks
// over all columns. A source of rows gives line_at(k), what all rows share at feature k, and
// entry(r, k, count, shared), W entries of row r.

struct NoLine {};
template <class T>
struct Plain {
    const T* x;
    int64_t stride;
    INLINE NoLine line_at(int64_t) const { return {}; }
    INLINE Vec<T> entry(int r, int64_t k, int64_t count, NoLine) const {
        return load_part(x + r * stride + k, count);
    }
    // Runs of rows are too short for the hardware prefetcher, so a later row is fetched.
    INLINE void prefetch(int r, int64_t k) const { __builtin_prefetch(x + (r + 2) * stride + k); }
};
template <class T>
struct HalfSquare : Plain<T> {  // -x^2 / 2
    INLINE Vec<T> entry(int r, int64_t k, int64_t count, NoLine shared) const {
        const Vec<T> v = Plain<T>::entry(r, k, count, shared);
        return v * v * T(-0.5);
    }
};
template <class T>
struct Centered : Plain<T> {
    Shift<T> shift;
    struct Line {
        Vec<T> high, low;
    };
    INLINE Line line_at(int64_t k) const {
        Vec<T> high = load(shift.high + k), low = load(shift.low + k);
        pin(high), pin(low);
        return {high, low};
    }
    INLINE Vec<T> entry(int r, int64_t k, int64_t count, const Line& line) const {
        return (Plain<T>::entry(r, k, count, {}) - line.high) - line.low;
    }
};
// A centered block of rows stored for a second use, a line of all rows after the other: both uses
// read it in order.
template <class T>
struct Block {
    T* lines;
    int rows;
    INLINE T* at(int r, int64_t k) const {
        return lines + (k / LINE<T> * rows + r) * LINE<T> + k % LINE<T>;
    }
    INLINE NoLine line_at(int64_t) const { return {}; }
    INLINE Vec<T> entry(int r, int64_t k, int64_t, NoLine) const { return load(at(r, k)); }
    INLINE void prefetch(int, int64_t) const {}
};
template <class T>
struct CenteredStored : Centered<T> {  // the low part is already multiplied by scale
    T scale;
    Block<T> block;
    // Half of the next block is prefetched into L2 now, half while `outer` runs: memory is busy all
    // the time.
    INLINE void prefetch(int r, int64_t k) const {
        __builtin_prefetch(this->x + (block.rows + r / 2) * this->stride + k, 0, 2);
    }
    INLINE Vec<T> entry(int r, int64_t k, int64_t count,
                        const typename Centered<T>::Line& line) const {
        const Vec<T> v = (Plain<T>::entry(r, k, count, {}) - line.high) * scale - line.low;
        store(block.at(r, k), v);
        return v;
    }
};

// Features summed in T (in W lanes) before they go to float64: their part of v (16 KB) stays in L1.
constexpr int SUM_COLUMNS = 512;

// z[r N + c] += x_r . v_c over features k .. k + count, for R rows; squares[r] += |x_r|^2 for
// stored rows.
template <int R, int N, class T, class Rows>
inline INLINE void dots(const Rows& x, int row, int64_t k, int64_t count, const T* v, double* z,
                        double* squares) {
    Vec<T> sum[R * N] = {}, square[R] = {};
    const auto step = [&](int64_t j, int64_t left) INLINE {
        Vec<T> rows[R];
        const auto shared = x.line_at(j);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            rows[r] = x.entry(row + r, j, left, shared);
            if constexpr (std::is_same_v<Rows, CenteredStored<T>>) square[r] += rows[r] * rows[r];
        }
        const T* const line = v + j / LINE<T> * (N * LINE<T>)+j % LINE<T>;
#pragma GCC unroll 8
        for (int c = 0; c < N; c++) {
            Vec<T> column = load(line + c * LINE<T>);
            pin(column);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) sum[r * N + c] += rows[r] * column;
        }
    };
    const int64_t lines = (k + count) / LINE<T>;  // k is the start of a line
    for (int64_t l = k / LINE<T>; l < lines; l++) {
#pragma GCC unroll 8
        for (int r = 0; r < (std::is_same_v<Rows, CenteredStored<T>> ? 1 : R); r++)
            x.prefetch(row + r, l * LINE<T>);
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
            if constexpr (M > W<double>)
                store(z + s + W<double>, load(z + s + W<double>) + widen<1>(total));
        } else {
            for (int l = 0; l < M; l++) z[s + l] += double(total[l]);
        }
    }
    if constexpr (std::is_same_v<Rows, CenteredStored<T>>)
        for (int r = 0; r < R; r++) squares[row + r] += double(total_of<T>(square[r]));
}
template <int N, class T, class Rows>
inline INLINE void all_dots(const Rows& x, int rows, int64_t k, int64_t count, const T* v,
                            double* z, double* squares) {
    constexpr int R = (MANY_REGISTERS ? 16 : 8) / N;
    int r = 0;
    for (; r + R <= rows; r += R) dots<R, N>(x, r, k, count, v, z + r * N, squares);
    for (; r < rows; r++) dots<1, N>(x, r, k, count, v, z + r * N, squares);
}
// z (groups, rows, N) = X V, v (groups, lines, N, LINE) of ld features. The first group may read
// another source than the others.
template <int N, class T, class First, class Others>
void skinny_product(const First& first, const Others& others, int rows, int64_t cols, const T* v,
                    int groups, int64_t ld, double* z, double* squares = nullptr) {
    for (int64_t i = 0; i < int64_t(groups) * rows * N; i++) z[i] = 0;
    for (int64_t k = 0; k < cols; k += SUM_COLUMNS) {
        const int64_t count = least<int64_t>(SUM_COLUMNS, cols - k);
        all_dots<N>(first, rows, k, count, v, z, squares);
        for (int g = 1; g < groups; g++)
            all_dots<N>(others, rows, k, count, v + g * N * ld, z + g * rows * N, squares);
    }
}
