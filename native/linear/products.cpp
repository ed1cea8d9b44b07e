// Products with a dense or a sparse matrix.

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "base/matrix.hpp"
#include "base/levels.hpp"
#include "base/memory.hpp"
#include "linear/linear.hpp"
#include "linear/operands.hpp"

namespace lowd {

template <class T>
void project(Matrix<const T> X, const double* shift, Matrix<const T> W, const double* bias,
             Matrix<T> out, Job& job) {
    constexpr int P = PANEL<T>;
    constexpr int64_t MAX_UNPACKED_ROWS = 4;  // for this few rows packing W takes longer
    const auto& kernel = kernels<T>();
    const int64_t n = X.rows, d = X.cols, k = W.cols, ld = round_up(d, PANEL<T>);
    const int tail = kernel.tail_columns(k);
    const int64_t panelled = k - tail, panels = n <= MAX_UNPACKED_ROWS ? 0 : ceil_div(panelled, P);
    const SplitShift<T> shifts(shift, d);
    const Buffer<double> added(round_up(k, P), 0.0);
    if (bias) std::copy_n(bias, k, added.get());
    const int64_t grouped = tail - tail % GROUP;
    const auto columns = [&](int64_t first, int64_t count) {
        return Matrix<const T>{W.data + first, d, count, W.stride};
    };
    const Buffer<T> groups = interleave_columns(columns(panelled, grouped), GROUP, ld),
                    last = interleave_columns(columns(panelled + grouped, tail % GROUP),
                                              last_width(tail), ld),
                    packed(panels * d * P);
    job.parallel(
        panels,
        [&](int64_t p, int) {
            const int64_t lanes = std::min<int64_t>(P, panelled - p * P);
            for (int64_t i = 0; i < d; i++) {
                T* const to = &packed[(p * d + i) * P];
                std::fill(std::copy_n(W.row(i) + p * P, lanes, to), to + P, T(0));
            }
        },
        0);
    Scratch<T> scratch(job, kernel.project_scratch(panelled));
    job.parallel_runs(ceil_div(n, PROJECT_ROWS), [&](int64_t block, int worker) {
        const int64_t i = block * PROJECT_ROWS;
        kernel.project({.x = X.row(i),
                        .stride = X.stride,
                        .rows = int(std::min<int64_t>(PROJECT_ROWS, n - i)),
                        .cols = d,
                        .shift = shifts,
                        .panelled = panelled,
                        .panels = panels ? packed.get() : nullptr,
                        .w = W.row(0),
                        .w_stride = W.stride,
                        .tail_columns = tail,
                        .tail = groups.get(),
                        .last = last.get(),
                        .ld = ld,
                        .bias = added.get(),
                        .scratch = scratch[worker],
                        .out = out.row(i),
                        .out_stride = out.stride});
    });
}

template <class T>
void matmul(Matrix<const T> A, Matrix<const T> V, bool half_square, Matrix<double> out, Job& job) {
    constexpr int64_t ROWS = 32;
    const auto& kernel = kernels<T>();
    const int64_t m = A.rows, b = V.cols, ld = round_up(A.cols, PANEL<T>);
    const int groups = int(ceil_div(b, GROUP));
    const Buffer<T> columns = interleave_columns(V, GROUP, ld);
    Scratch<double> products(job, ROWS * groups * GROUP);
    job.expect(ceil_div(m, ROWS));
    job.parallel(ceil_div(m, ROWS), [&](int64_t block, int worker) {
        const int64_t i = block * ROWS;
        const int rows = int(std::min(ROWS, m - i));
        double* const z = products[worker];
        kernel.matmul(A.row(i), A.stride, rows, A.cols, half_square, columns.get(), groups, ld, z);
        for (int r = 0; r < rows; r++)
            for (int64_t c = 0; c < b; c++)
                out.row(i + r)[c] = z[(c / GROUP * rows + r) * GROUP + c % GROUP];
    });
}

#define INSTANTIATE(T)                                                                    \
    template void project(Matrix<const T>, const double*, Matrix<const T>, const double*, \
                          Matrix<T>, Job&);                                               \
    template void matmul(Matrix<const T>, Matrix<const T>, bool, Matrix<double>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

namespace {

// Rows first .. last - 1 are read again from the cache right afterwards, so this check is almost
// free.
template <class I>
void check_rows(const I* indptr, const I* columns, int64_t first, int64_t last, I total,
                int64_t cols) {
    using Unsigned = std::make_unsigned_t<I>;
    if (indptr[first] < 0 || indptr[last] > total ||
        !std::is_sorted(indptr + first, indptr + last + 1))
        throw std::invalid_argument("indptr must rise from 0 to the number of indices");
    Unsigned largest = 0;  // a negative index becomes large as well
    for (I e = indptr[first]; e < indptr[last]; e++)
        largest = std::max(largest, Unsigned(columns[e]));
    if (indptr[first] < indptr[last] && uint64_t(largest) >= uint64_t(cols))
        throw std::invalid_argument("column indices must lie below the number of columns");
}

}  // namespace

template <class I>
void sparse_matmul(int64_t rows, const I* indptr, const I* columns, const double* values,
                   Matrix<const double> V, double a, double b, const double* U, double c,
                   double* out, Job& job) {
    constexpr int64_t ROWS = 512;
    const auto product = [&] {
        if constexpr (sizeof(I) == 4)
            return level().sparse.matmul32;
        else
            return level().sparse.matmul64;
    }();
    const int64_t blocks = ceil_div(rows, ROWS);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t block, int) {
        const int64_t first = block * ROWS, last = std::min(rows, first + ROWS);
        check_rows(indptr, columns, first, last, indptr[rows], V.rows);
        product({indptr, columns, values, V.data, V.cols, a, b, U, c, out}, first, last);
    });
}

template void sparse_matmul(int64_t, const int32_t*, const int32_t*, const double*,
                            Matrix<const double>, double, double, const double*, double, double*,
                            Job&);
template void sparse_matmul(int64_t, const int64_t*, const int64_t*, const double*,
                            Matrix<const double>, double, double, const double*, double, double*,
                            Job&);

}  // namespace lowd
