#include "stress/stress.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/matrix.hpp"
#include "base/levels.hpp"
#include "base/memory.hpp"

namespace lowd {

namespace {

// Coordinates as columns, `ld` apart.
Buffer<double> columns_of(Matrix<const double> Y, int64_t ld) {
    Buffer<double> columns(Y.cols * ld, 0.0);
    for (int64_t i = 0; i < Y.rows; i++)
        for (int64_t c = 0; c < Y.cols; c++) columns[c * ld + i] = Y.row(i)[c];
    return columns;
}

// work(first, last, worker, moved, sums) for blocks of rows with equally many later ones. moved: k
// columns, `ld` apart, that it adds to; they are zeros from `first` on.
template <class F>
Stress sum_over_blocks(Matrix<double> moved, int64_t ld, Job& job, F&& work) {
    const int64_t n = moved.rows, k = moved.cols, width = k * ld;
    // There are as many blocks as memory allows: each has its own sums for its rows and later ones.
    const int64_t blocks = std::clamp<int64_t>(n / (8 * k), 1, 64);
    std::vector<int64_t> edges(size_t(blocks) + 1, n);
    for (int64_t b = 0; b < blocks; b++)
        edges[size_t(b)] = n - int64_t(std::sqrt(double(blocks - b) / double(blocks)) * double(n));
    edges[0] = 0;
    const Buffer<double> parts(blocks * width);
    std::vector<Stress> sums(static_cast<size_t>(blocks));
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int worker) {
        const int64_t first = edges[size_t(b)], last = edges[size_t(b) + 1];
        double* const part = &parts[b * width];
        for (int64_t c = 0; c < k; c++) std::fill(part + c * ld + first, part + (c + 1) * ld, 0.0);
        double found[3];
        work(first, last, worker, part, found);
        sums[size_t(b)] = {found[0], found[1], found[2]};
    });
    constexpr int64_t ROWS_PER_GROUP =
        256;  // rows whose sums are added together, in the order of blocks
    job.parallel(
        ceil_div(n, ROWS_PER_GROUP),
        [&](int64_t group, int) {
            const int64_t begin = group * ROWS_PER_GROUP, end = std::min(n, begin + ROWS_PER_GROUP);
            double sum[ROWS_PER_GROUP];
            for (int64_t c = 0; c < k; c++) {
                std::fill_n(sum, ROWS_PER_GROUP, 0.0);
                for (int64_t b = 0; b < blocks && edges[size_t(b)] < end; b++) {
                    const int64_t from = std::max(begin, edges[size_t(b)]);
                    const double* const part = &parts[b * width + c * ld];
                    for (int64_t i = from; i < end; i++) sum[i - begin] += part[i];
                }
                for (int64_t i = begin; i < end; i++) moved.row(i)[c] = sum[i - begin];
            }
        },
        0);
    Stress all;
    for (const Stress& one : sums) {
        all.stress += one.stress;
        all.size += one.size;
        all.cross += one.cross;
    }
    return all;
}

// Sums pairs of float32 disparities in float32, and totals in float64. The embedding is scaled to a
// size of 1 by a power of two. Returns nothing if that, or the squares of the disparities, exceed
// the range of float32.
std::optional<Stress> guttman_float32(Matrix<const float> disparities, Matrix<const double> Y,
                                      Matrix<double> moved, Job& job) {
    const int64_t n = Y.rows, k = Y.cols, ld = round_up(n, 16) + 16;
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) most = std::max(most, std::abs(Y.row(i)[c]));
    if (!(most > 0x1p-100 && most < 0x1p100)) return {};
    const double scale = std::exp2(-std::ilogb(most));
    Buffer<float> y(2 * k * ld, 0.0f);  // high and low parts
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) {
            const double v = Y.row(i)[c] * scale;
            y[c * ld + i] = float(v);
            y[(k + c) * ld + i] = float(v - double(float(v)));
        }
    Stress found = sum_over_blocks(
        moved, ld, job, [&](int64_t first, int64_t last, int, double* part, double* sums) {
            level().stress.guttman_float32(disparities.data, disparities.stride, float(scale),
                                           first, last, n, y.get(), ld, int(k), part, sums);
        });
    if (!std::isfinite(found.stress)) return {};
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) moved.row(i)[c] /= scale;
    const double unit = 1 / (scale * scale);
    return Stress{found.stress * unit, found.size * unit, found.cross * unit};
}

}  // namespace

template <class T>
Stress guttman(Matrix<const T> disparities, const Matrix<const T>* weights, Matrix<const double> Y,
               Matrix<double> moved, Job& job) {
    constexpr int64_t MAX_FLOAT64_ROWS = 1000;  // up to here float64 takes hardly any time
    const int k = int(Y.cols);
    if constexpr (sizeof(T) == 4)
        if (!weights && k <= 3 && Y.rows > MAX_FLOAT64_ROWS)
            if (const auto found = guttman_float32(disparities, Y, moved, job)) return *found;
    const int64_t n = Y.rows, ld = round_up(n, 8);
    const Buffer<double> y = columns_of(Y, ld);
    Scratch<double> own(job, 2 * k);
    return sum_over_blocks(
        moved, ld, job, [&](int64_t first, int64_t last, int worker, double* part, double* sums) {
            kernels<T>().guttman(
                {disparities.data, disparities.stride, weights ? weights->data : nullptr,
                 weights ? weights->stride : 0, n, y.get(), ld, k},
                first, last, own[worker], part, sums);
        });
}
#define INSTANTIATE(T)                                                                     \
    template Stress guttman(Matrix<const T>, const Matrix<const T>*, Matrix<const double>, \
                            Matrix<double>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

void multilaterate(Matrix<const double> dissimilarities, const Matrix<const double>* weights,
                   Matrix<const double> A, int max_iter, double tol, Matrix<double> Y,
                   double* stress, Job& job) {
    const int64_t ld = round_up(A.rows, 8);
    const int k = int(A.cols);
    const Buffer<double> fixed = columns_of(A, ld);
    constexpr int64_t BLOCK = 4;
    const int64_t blocks = ceil_div(Y.rows, BLOCK);
    Scratch<double> scratch(job, 2 * k);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int worker) {
        for (int64_t i = b * BLOCK; i < std::min(Y.rows, (b + 1) * BLOCK); i++)
            stress[i] = level().stress.multilaterate_point(
                dissimilarities.row(i), weights ? weights->row(i) : nullptr, A.rows, fixed.get(),
                ld, k, max_iter, tol, scratch[worker], Y.row(i));
    });
}

}  // namespace lowd
