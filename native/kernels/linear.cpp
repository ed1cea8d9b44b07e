#include "lowd/linear.hpp"

#include <algorithm>

#include "instantiate.hpp"
#include "lowd/levels.hpp"
#include "operands.hpp"
#include "scratch.hpp"

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
        kernel.project(X.row(i), X.stride, int(std::min<int64_t>(PROJECT_ROWS, n - i)), d, shifts,
                       panels ? packed.get() : nullptr, W.row(0), W.stride, panelled, groups.get(),
                       last.get(), tail, ld, added.get(), scratch[worker], out.row(i), out.stride);
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

}  // namespace lowd
