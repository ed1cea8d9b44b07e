// Exact repulsive forces and the attractive loss of UMAP, and its new points.
#include <algorithm>
#include <numeric>
#include <vector>

#include "blocks.hpp"
#include "lowd/buffer.hpp"
#include "lowd/layout.hpp"
#include "lowd/levels.hpp"
#include "repelling_points.hpp"
#include "scratch.hpp"

namespace lowd {

namespace {

// Sums POINTS_PER_SUM terms at a time in T, then in float64.
template <class T>
void sum_repulsion(Matrix<const double> Y, const ForceLaw& law, std::span<const int64_t> rows,
                   Matrix<double> out, Job& job) {
    constexpr int64_t POINTS_PER_SUM = 1024, ROWS_PER_BLOCK = 4;
    const int k = int(Y.cols);
    const RepellingColumns<T> all(Y);
    const auto m = int64_t(rows.size());
    Scratch<T> scratch(job, 2 * k);
    job.expect(ceil_div(m, ROWS_PER_BLOCK));
    parallel_blocks(job, m, ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int worker) {
        T *const y = scratch[worker], *const part = y + k;
        for (int64_t i = first; i < last; i++) {
            for (int c = 0; c < k; c++) y[c] = T(Y.row(rows[size_t(i)])[c]);
            std::fill_n(out.row(i), k, 0.0);
            for (int64_t j = 0; j < all.padded(); j += POINTS_PER_SUM) {
                std::fill_n(part, k, T(0));
                const auto some = all.view(j, std::min(POINTS_PER_SUM, all.padded() - j));
                if constexpr (sizeof(T) == 8)
                    level().layout.repel64(law, some, y, k, 0.5, part);
                else
                    level().layout.repel32(law, some, y, k, 0.5f, part);
                for (int c = 0; c < k; c++) out.row(i)[c] += double(part[c]);
            }
        }
    });
}

}  // namespace

void layout_repulsion(Matrix<const double> Y, const ForceLaw& law, bool exact,
                      std::span<const int64_t> rows, Matrix<double> out, Job& job) {
    (exact ? sum_repulsion<double> : sum_repulsion<float>)(Y, law, rows, out, job);
}

double attractive_loss(Ragged W, const double* values, Matrix<const double> Y, const ForceLaw& law,
                       Job& job) {
    constexpr int64_t ROWS_PER_BLOCK = 256;
    const int64_t n = W.count(), blocks = ceil_div(n, ROWS_PER_BLOCK);
    std::vector<double> sums(size_t(blocks), 0.0);
    job.expect(blocks);
    parallel_blocks(job, n, ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int) {
        double& sum = sums[size_t(first / ROWS_PER_BLOCK)];
        for (int64_t i = first; i < last; i++) {
            const double* const w = values + W.indptr[size_t(i)];
            const double degree = std::accumulate(w, w + W.size(i), 0.0);
            if (degree > 0)
                sum += level().layout.attractive_loss(law, Y.data, Y.stride, int(Y.cols), i,
                                                      W.row(i), w, W.size(i)) /
                       degree;
        }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0) / double(n);
}

void optimize_layout_points(Ragged near, const double* weights, Matrix<const double> Y,
                            const ForceLaw& law, const LayoutRepulsion& repulsion, double share,
                            int steps, Matrix<double> out, Job& job) {
    constexpr int64_t POINTS_PER_BLOCK = 8;
    const int k = int(Y.cols);
    Buffer<double> rows(Y.rows * k);
    for (int64_t i = 0; i < Y.rows; i++) std::copy_n(Y.row(i), k, rows.get() + i * k);
    RepellingColumns<double> some(int64_t(repulsion.rows.size()), k);
    for (size_t i = 0; i < repulsion.rows.size(); i++)
        some.set(int64_t(i), Y.row(repulsion.rows[i]));
    const FixedLayout fixed{
        law, k, share, steps, rows.get(), repulsion.potential, some.view(), repulsion.strength};
    Scratch<double> scratch(job, layout_scratch(k, near.longest()));
    job.expect(ceil_div(near.count(), POINTS_PER_BLOCK));
    parallel_blocks(
        job, near.count(), POINTS_PER_BLOCK, [&](int64_t first, int64_t last, int worker) {
            for (int64_t i = first; i < last; i++)
                level().layout.new_point(fixed, near.row(i), weights + near.indptr[size_t(i)],
                                         near.size(i), out.row(i), scratch[worker]);
        });
}

}  // namespace lowd
