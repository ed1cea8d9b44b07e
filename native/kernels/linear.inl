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
void project(const T* x, int64_t stride, int rows, int64_t cols, Shift<T> shift, const T* panels,
             const T* w, int64_t w_stride, int64_t panelled, const T* tail, const T* last,
             int tail_columns, int64_t ld, const double* bias, T* scratch, T* out,
             int64_t out_stride) {
    T *const a = scratch, *const c = a + PROJECT_ROWS * PROJECT_LD<T>;
    const Centered<T> source{{x, stride}, shift};
    if (panelled && panels) project_panels(source, rows, cols, panels, panelled, a, c);
    if (panelled && !panels) project_few(source, rows, cols, w, w_stride, panelled, a, c);
    for (int i = 0; i < rows; i++)
        for (int64_t p = 0; p < panelled; p += W<T>) {
            const Vec<T> v =
                load(c + p / PANEL<T> * PANEL<T> * PROJECT_ROWS + i * PANEL<T> + p % PANEL<T>);
            Wide w[PARTS<T>];
            w[0] = widen<0>(v) + load(bias + p);
            if constexpr (PARTS<T> == 2) w[1] = widen<1>(v) + load(bias + p + W<double>);
            Vec<T> y;
            narrow(w, y);
            store_part(out + i * out_stride + p, y, panelled - p);
        }
    double* const z = reinterpret_cast<double*>(c + PROJECT_ROWS * round_up(panelled, PANEL<T>));
    const auto project_group = [&](auto kernel, const T* from, int64_t first, int columns) {
        kernel(source, rows, cols, from, columns, ld, bias + first, z, out + first, out_stride);
    };
    const int remaining = tail_columns % GROUP, grouped = tail_columns - remaining;
    if (grouped) project_group(project_tail<T, GROUP>, tail, panelled, grouped);
    if (remaining)
        project_group(last_width(remaining) == 2   ? project_tail<T, 2>
                      : last_width(remaining) == 4 ? project_tail<T, 4>
                                                   : project_tail<T, GROUP>,
                      last, panelled + grouped, remaining);
}

template <class T>
constexpr void fill_linear(LinearKernels<T>& table) {
    table.tail_columns = tail_columns<T>;
    table.project = project<T>;
    table.project_scratch = project_scratch<T>;
    table.matmul = matmul<T>;
}
