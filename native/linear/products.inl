// Products of matrices: the micro-kernel of wide ones, tall and skinny ones, and sparse ones.

// The micro-kernel of all wide products: MR rows by NV vectors of sums, held in registers while k
// runs. 8 x 32 float32 on AVX-512: 16 multiply-adds for 10 loads.
constexpr int MR = MANY_REGISTERS ? 8 : 4, NV = 2;

struct Product {
    template <class V>
    static void step(V& sum, const V& a, const V& b) {
        sum += a * b;
    }
};
// a[i A + k K] against b[k PANEL + lanes].
template <class Step, int N, int A, int K, class T, int M>
inline INLINE void micro(const T* a, const T* b, int64_t count, Vec<T> (&sum)[M][N],
                         const Step& op = {}) {
    for (int64_t k = 0; k < count; k++, a += K, b += PANEL<T>) {
        Vec<T> lanes[N];
#pragma GCC unroll 2
        for (int v = 0; v < N; v++) lanes[v] = load(b + v * W<T>);
#pragma GCC unroll 8
        for (int i = 0; i < M; i++) {
            const Vec<T> entry = spread(a[i * A]);
#pragma GCC unroll 2
            for (int v = 0; v < N; v++) op.step(sum[i][v], entry, lanes[v]);
        }
    }
}

constexpr int SUM_ROWS = 256;  // products summed in T before they are added to float64

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

// Dense products: (X - shift) W + bias, and A V.
template <class T>
void matmul(const T* a, int64_t stride, int rows, int64_t cols, bool half_square, const T* v,
            int groups, int64_t ld, double* z) {
    const Plain<T> plain{a, stride};
    const HalfSquare<T> squares{plain};
    if (half_square)
        skinny_product<GROUP>(squares, squares, rows, cols, v, groups, ld, z);
    else
        skinny_product<GROUP>(plain, plain, rows, cols, v, groups, ld, z);
}

// Features per visit: their part of one panel of W (16 KB) stays in L1.
constexpr int PROJECT_COLUMNS = 128;
template <class T>
// Keeps rows from sharing cache sets.
constexpr int PROJECT_LD = PROJECT_COLUMNS + 64 / int(sizeof(T));

// Whole vectors of columns go to panels; a short remainder is cheaper with vectors along the
// features.
template <class T>
int tail_columns(int64_t k) {
    const int remainder = int(k % W<T>);
    return k <= 16 ? int(k) : remainder <= W<T> / 4 ? remainder : 0;
}

template <class T>
int64_t project_scratch(int64_t panelled) {
    return int64_t(PROJECT_ROWS) * (PROJECT_LD<T> + round_up(panelled, PANEL<T>)) +
           2 * PROJECT_ROWS * GROUP * PARTS<T>;
}

// During the first panel the same rows of the next visit (at `next`) are prefetched.
template <class T, int N, bool FETCH>
inline INLINE void project_micro(const T* a, const T* b, int count, bool first, T* c,
                                 const T* next = nullptr, int64_t stride = 0) {
    Vec<T> sum[MR][N] = {};
    int k = 0;
    if constexpr (FETCH) {
        constexpr int FEATURES_PER_PREFETCH = LINE<T> / MR;
        for (int i = 0; i < MR; i++)
            // At the ends rows are not aligned.
            for (int l = LINE<T> - 1; l < count && k + FEATURES_PER_PREFETCH <= count;
                 l += LINE<T>, k += FEATURES_PER_PREFETCH) {
                __builtin_prefetch(next + i * stride + l, 0, 2);
                micro<Product, N, PROJECT_LD<T>, 1>(a + k, b + k * PANEL<T>, FEATURES_PER_PREFETCH,
                                                    sum);
            }
    }
    micro<Product, N, PROJECT_LD<T>, 1>(a + k, b + k * PANEL<T>, count - k, sum);
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 2
        for (int v = 0; v < N; v++) {
            T* const to = c + i * PANEL<T> + v * W<T>;
            store(to, first ? sum[i][v] : load(to) + sum[i][v]);
        }
}

// c (panels, PROJECT_ROWS, PANEL) = (x - shift) W, a visit of some features after the other; a: the
// centered entries of a visit.
template <class T>
inline INLINE void project_panels(const Centered<T>& x, int rows, int64_t cols, const T* panels,
                                  int64_t panelled, T* a, T* c) {
    const int padded = int(round_up(rows, MR));
    const int64_t visits = ceil_div(cols, PROJECT_COLUMNS),
                  width = visits ? round_up(ceil_div(cols, visits), LINE<T>) : 0;
    for (int64_t k = 0; k < cols; k += width) {
        const int count = int(least(width, cols - k));
        // Rows beyond the block repeat the last one: computed, never stored.
        for (int i = 0; i < padded; i++)
            for (int j = 0; j < count; j += W<T>)
                store(a + i * PROJECT_LD<T> + j,
                      x.entry(least(i, rows - 1), k + j, count - j, x.line_at(k + j)));
        const T* const next = k + width < cols ? x.x + k + width : x.x + PROJECT_ROWS * x.stride;
        for (int64_t p = 0; p < panelled; p += PANEL<T>) {
            const int lanes = int(least<int64_t>(PANEL<T>, panelled - p));
            for (int v = 0; v < lanes; v += NV * W<T>) {
                const T* const b = panels + p * cols + k * PANEL<T> + v;
                for (int i = 0; i < padded; i += MR) {
                    const T* const from = a + i * PROJECT_LD<T>;
                    T* const to = c + p * PROJECT_ROWS + i * PANEL<T> + v;
                    if (v + W<T> >= lanes)
                        project_micro<T, 1, false>(from, b, count, k == 0, to);
                    else if (p + v > 0)
                        project_micro<T, NV, false>(from, b, count, k == 0, to);
                    else
                        project_micro<T, NV, true>(from, b, count, k == 0, to, next + i * x.stride,
                                                   x.stride);
                }
            }
        }
    }
}

// Columns first .. of one row's visit, with W not packed: the sums of `micro`, in the same order.
template <class T, int N>
inline INLINE void row_micro(const T* a, const T* w, int64_t stride, int count, int64_t left,
                             bool first, int64_t column, T* c) {
    Vec<T> sum[N] = {};
    for (int k = 0; k < count; k++, w += stride) {
        const Vec<T> entry = spread(a[k]);
#pragma GCC unroll 8
        for (int v = 0; v < N; v++)
            Product::step(sum[v], entry, N > 1 ? load(w + v * W<T>) : load_part(w, left));
    }
#pragma GCC unroll 8
    for (int v = 0; v < N; v++) {
        const int64_t p = column + v * W<T>;
        T* const to = c + p / PANEL<T> * PANEL<T> * PROJECT_ROWS + p % PANEL<T>;
        store(to, first ? sum[v] : load(to) + sum[v]);
    }
}

// c as above for few rows, for which W is not worth packing.
template <class T>
inline INLINE void project_few(const Centered<T>& x, int rows, int64_t cols, const T* w,
                               int64_t stride, int64_t panelled, T* a, T* c) {
    constexpr int N = MANY_REGISTERS ? 8 : 4;
    const int64_t visits = ceil_div(cols, PROJECT_COLUMNS),
                  width = visits ? round_up(ceil_div(cols, visits), LINE<T>) : 0;
    for (int i = 0; i < rows; i++)
        for (int64_t k = 0; k < cols; k += width) {
            const int count = int(least(width, cols - k));
            for (int j = 0; j < count; j += W<T>)
                store(a + j, x.entry(i, k + j, count - j, x.line_at(k + j)));
            const T* const from = w + k * stride;
            T* const to = c + i * PANEL<T>;
            int64_t p = 0;
            for (; p + N * W<T> <= panelled; p += N * W<T>)
                row_micro<T, N>(a, from + p, stride, count, 0, k == 0, p, to);
            for (; p + 2 * W<T> <= panelled; p += 2 * W<T>)
                row_micro<T, 2>(a, from + p, stride, count, 0, k == 0, p, to);
            for (; p < panelled; p += W<T>)
                row_micro<T, 1>(a, from + p, stride, count, panelled - p, k == 0, p, to);
        }
}

template <class T, int N>
void project_tail(const Centered<T>& x, int rows, int64_t cols, const T* tail, int columns,
                  int64_t ld, const double* bias, double* z, T* out, int64_t out_stride) {
    skinny_product<N>(x, x, rows, cols, tail, (columns + N - 1) / N, ld, z);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            out[i * out_stride + j] = T(z[(j / N * rows + i) * N + j % N] + bias[j]);
}

template <class T>
void project(const ProjectedRows<T>& given) {
    const ProjectedRows<T> s = given;
    T *const a = s.scratch, *const c = a + PROJECT_ROWS * PROJECT_LD<T>;
    const Centered<T> source{{s.x, s.stride}, s.shift};
    if (s.panelled && s.panels) project_panels(source, s.rows, s.cols, s.panels, s.panelled, a, c);
    if (s.panelled && !s.panels)
        project_few(source, s.rows, s.cols, s.w, s.w_stride, s.panelled, a, c);
    for (int i = 0; i < s.rows; i++)
        for (int64_t p = 0; p < s.panelled; p += W<T>) {
            const Vec<T> v =
                load(c + p / PANEL<T> * PANEL<T> * PROJECT_ROWS + i * PANEL<T> + p % PANEL<T>);
            Wide w[PARTS<T>];
            w[0] = widen<0>(v) + load(s.bias + p);
            if constexpr (PARTS<T> == 2) w[1] = widen<1>(v) + load(s.bias + p + W<double>);
            Vec<T> y;
            narrow(w, y);
            store_part(s.out + i * s.out_stride + p, y, s.panelled - p);
        }
    double* const z = reinterpret_cast<double*>(c + PROJECT_ROWS * round_up(s.panelled, PANEL<T>));
    const auto project_group = [&](auto kernel, const T* from, int64_t first, int columns) {
        kernel(source, s.rows, s.cols, from, columns, s.ld, s.bias + first, z, s.out + first,
               s.out_stride);
    };
    const int remaining = s.tail_columns % GROUP, grouped = s.tail_columns - remaining;
    if (grouped) project_group(project_tail<T, GROUP>, s.tail, s.panelled, grouped);
    if (remaining)
        project_group(last_width(remaining) == 2   ? project_tail<T, 2>
                      : last_width(remaining) == 4 ? project_tail<T, 4>
                                                   : project_tail<T, GROUP>,
                      s.last, s.panelled + grouped, remaining);
}

template <class T>
constexpr void fill_linear(LinearKernels<T>& table) {
    table.tail_columns = tail_columns<T>;
    table.project = project<T>;
    table.project_scratch = project_scratch<T>;
    table.matmul = matmul<T>;
}

// Products with a sparse matrix in CSR form.

// N columns of a row of a A V + b V + c U; the sum runs over the row's entries in their order.
template <int N, class I>
inline INLINE void sparse_row(const I* columns, const double* values, int64_t count,
                              const double* v, int64_t width, double a, double b, const double* own,
                              double c, const double* u, double* out) {
    constexpr int L = W<double>, WHOLE = N / L, REMAINDER = N % L;
    // Otherwise the remainder is summed one by one.
    constexpr bool MASKED = MANY_REGISTERS && REMAINDER;
    constexpr int VECTORS = WHOLE + MASKED, SINGLE = MASKED ? 0 : REMAINDER;
    const auto part = [](const double* p, int k) INLINE {
        return k < WHOLE ? load(p + k * L) : Wide(load_some(p + WHOLE * L, REMAINDER));
    };
    Wide sum[VECTORS + 1] = {};
    double single[SINGLE + 1] = {};
    for (int64_t e = 0; e < count; e++) {
        const double* const row = v + int64_t(columns[e]) * width;
        const Wide value = spread(values[e]);
#pragma GCC unroll 8
        for (int k = 0; k < VECTORS; k++) sum[k] += value * part(row, k);
#pragma GCC unroll 8
        for (int k = 0; k < SINGLE; k++) single[k] += values[e] * row[WHOLE * L + k];
    }
#pragma GCC unroll 8
    for (int k = 0; k < VECTORS; k++) {
        Wide s = a * sum[k];
        if (own) s += b * part(own, k);
        if (u) s += c * part(u, k);
        if (k < WHOLE)
            store(out + k * L, s);
        else
            store_some(out + k * L, s, REMAINDER);
    }
#pragma GCC unroll 8
    for (int k = 0; k < SINGLE; k++) {
        const int at = WHOLE * L + k;
        double s = a * single[k];
        if (own) s += b * own[at];
        if (u) s += c * u[at];
        out[at] = s;
    }
}

template <class I>
void sparse_matmul(const SparseProduct<I>& given, int64_t first, int64_t last) {
    const SparseProduct<I> s = given;
    const int64_t width = s.width;
    for (int64_t i = first; i < last; i++) {
        const int64_t begin = s.indptr[i], count = s.indptr[i + 1] - begin;
        const auto part = [&](auto size, int64_t j) INLINE {
            constexpr int N = decltype(size)::value;
            const int64_t at = i * width + j;
            sparse_row<N>(s.columns + begin, s.values + begin, count, s.v + j, width, s.a, s.b,
                          s.b != 0 ? s.v + at : nullptr, s.c, s.u ? s.u + at : nullptr, s.out + at);
        };
        int64_t j = 0;
        for (; j + 16 <= width; j += 16) part(std::integral_constant<int, 16>(), j);
        if (j + 8 <= width) part(std::integral_constant<int, 8>(), j), j += 8;
        switch (width - j) {
            case 1: part(std::integral_constant<int, 1>(), j); break;
            case 2: part(std::integral_constant<int, 2>(), j); break;
            case 3: part(std::integral_constant<int, 3>(), j); break;
            case 4: part(std::integral_constant<int, 4>(), j); break;
            case 5: part(std::integral_constant<int, 5>(), j); break;
            case 6: part(std::integral_constant<int, 6>(), j); break;
            case 7: part(std::integral_constant<int, 7>(), j); break;
            default: break;
        }
    }
}

constexpr void fill_sparse(SparseKernels& table) {
    table.matmul32 = sparse_matmul<int32_t>;
    table.matmul64 = sparse_matmul<int64_t>;
}
