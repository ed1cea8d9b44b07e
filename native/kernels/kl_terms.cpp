// Terms of the KL divergence of SNE and t-SNE that need no gradient.
#include <algorithm>
#include <numeric>
#include <vector>

#include "blocks.hpp"
#include "lowd/buffer.hpp"
#include "lowd/descent.hpp"
#include "lowd/levels.hpp"
#include "point_columns.hpp"

namespace lowd {

void pair_sums(Matrix<const double> Y, Similarity similarity, std::span<const int64_t> rows,
               double* z, Matrix<double> r, Job& job) {
    const PointColumns y(Y);
    const auto m = int64_t(rows.size());
    job.expect(ceil_div(m, 16));
    parallel_blocks(job, m, 16, [&](int64_t first, int64_t last, int) {
        for (int64_t i = first; i < last; i++)
            level().forces.pair_sums(y.get(), y.stride(), int(Y.cols),
                                     similarity == Similarity::student, nullptr, rows[i], z + i,
                                     r.row(i));
    });
}

double partition_function(Matrix<const double> Y, Job& job) {
    constexpr int ROWS_PER_BLOCK = 32;
    const int64_t n = Y.rows, padded = round_up(n, 16);
    Buffer<float> y(Y.cols * padded, 1e18f);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < Y.cols; c++) y[c * padded + i] = float(Y.row(i)[c]);
    const int64_t count = ceil_div(n, ROWS_PER_BLOCK);
    std::vector<double> sums(static_cast<size_t>(count));
    job.expect(count);
    job.parallel(count, [&](int64_t b, int) {
        sums[size_t(b)] = level().forces.similarity_sum(
            y.get(), padded, int(Y.cols), n, b * ROWS_PER_BLOCK,
            int(std::min<int64_t>(ROWS_PER_BLOCK, n - b * ROWS_PER_BLOCK)));
    });
    double sum = 0;
    for (double part : sums) sum += part;
    return 2 * sum;
}

double cross_term(Ragged P, const double* values, Matrix<const double> Y, Similarity similarity,
                  Job& job) {
    constexpr int64_t ROWS_PER_BLOCK = 256;
    const int64_t n = P.count(), blocks = ceil_div(n, ROWS_PER_BLOCK);
    std::vector<double> sums(size_t(blocks), 0.0);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int) {
        for (int64_t i = b * ROWS_PER_BLOCK; i < std::min(n, (b + 1) * ROWS_PER_BLOCK); i++)
            sums[size_t(b)] += level().forces.cross_term(Y.data, Y.stride, int(Y.cols),
                                                         similarity == Similarity::student, i,
                                                         P.row(i), values + P.indptr[i], P.size(i));
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace lowd
