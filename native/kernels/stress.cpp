#include "lowd/stress.hpp"

#include <cmath>

#include "drive.hpp"

namespace lowd {

namespace {

// Coordinates as columns, `ld` apart.
Buffer<double> columns_of(Matrix<const double> Y, int64_t ld) {
    Buffer<double> columns(Y.cols * ld, 0.0);
    for (int64_t i = 0; i < Y.rows; i++)
        for (int64_t c = 0; c < Y.cols; c++) columns[c * ld + i] = Y.row(i)[c];
    return columns;
}

// Sums of three numbers in blocks, added in the order of the blocks.
Stress added(const std::vector<double>& sums) {
    Stress all;
    for (size_t b = 0; b < sums.size(); b += 3) {
        all.stress += sums[b];
        all.size += sums[b + 1];
        all.cross += sums[b + 2];
    }
    return all;
}

}  // namespace

template <class T>
Stress guttman(Matrix<const T> targets, const Matrix<const T>* weights, Matrix<const double> Y,
               Matrix<double> moved, Job& job) {
    const int64_t n = Y.rows, ld = round_up(n, 8), width = Y.cols * ld;
    const int k = int(Y.cols);
    // As many blocks as have room: each has its own sums of what its rows do to later ones.
    const int64_t blocks = std::clamp<int64_t>(n / (8 * k), 1, 64);
    std::vector<int64_t> edges(size_t(blocks) + 1, n);
    for (int64_t b = 0; b < blocks; b++)  // equally many pairs
        edges[size_t(b)] = n - int64_t(std::sqrt(double(blocks - b) / double(blocks)) * double(n));
    edges[0] = 0;
    const Buffer<double> y = columns_of(Y, ld), sums(blocks * width);
    Scratch<double> own(job, 2 * k);
    std::vector<double> totals(size_t(3 * blocks));
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int worker) {
        const int64_t first = edges[size_t(b)], last = edges[size_t(b) + 1];
        for (int c = 0; c < k; c++)
            std::fill(&sums[b * width + c * ld + first], &sums[b * width + c * ld] + ld, 0.0);
        kernels<T>().guttman(targets.data, targets.stride, weights ? weights->data : nullptr,
                             weights ? weights->stride : 0, first, last, n, y.get(), ld, k,
                             own[worker], &sums[b * width], &totals[size_t(3 * b)]);
    });
    for (int64_t i = 0; i < n; i++) std::fill_n(moved.row(i), k, 0.0);
    for (int64_t b = 0; b < blocks; b++)
        for (int c = 0; c < k; c++)
            for (int64_t i = edges[size_t(b)]; i < n; i++)
                moved.row(i)[c] += sums[b * width + c * ld + i];
    return added(totals);
}
#define INSTANTIATE(T)                                                              \
    template Stress guttman(Matrix<const T>, const Matrix<const T>*, Matrix<const double>, \
                            Matrix<double>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

void locate(Matrix<const double> targets, const Matrix<const double>* weights,
            Matrix<const double> A, int most, double tol, Matrix<double> Y, double* stress,
            Job& job) {
    const int64_t ld = round_up(A.rows, 8);
    const int k = int(A.cols);
    const Buffer<double> anchors = columns_of(A, ld);
    constexpr int64_t TOGETHER = 4;
    const int64_t blocks = ceil_div(Y.rows, TOGETHER);
    Scratch<double> scratch(job, 2 * k);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int worker) {
        for (int64_t i = b * TOGETHER; i < std::min(Y.rows, (b + 1) * TOGETHER); i++)
            stress[i] = level().scaling.locate(targets.row(i), weights ? weights->row(i) : nullptr,
                                               A.rows, anchors.get(), ld, k, most, tol,
                                               scratch[worker], Y.row(i));
    });
}

}  // namespace lowd
