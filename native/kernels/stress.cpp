#include "lowd/stress.hpp"

#include <cmath>
#include <optional>

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

// work(first, last, worker, moved, sums) for blocks of rows with equally many later ones. moved: k
// columns, `ld` apart, that it adds to; they are zeros from `first` on.
template <class F>
Stress in_blocks(Matrix<double> moved, int64_t ld, Job& job, F&& work) {
    const int64_t n = moved.rows, k = moved.cols, width = k * ld;
    // As many blocks as have room: each has its own sums of what its rows do to later ones.
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
    constexpr int64_t SOME = 256;  // rows whose sums are added together, in the order of blocks
    job.parallel(
        ceil_div(n, SOME),
        [&](int64_t group, int) {
            const int64_t begin = group * SOME, end = std::min(n, begin + SOME);
            double sum[SOME];
            for (int64_t c = 0; c < k; c++) {
                std::fill_n(sum, SOME, 0.0);
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

// Pairs of float32 targets in float32, sums in float64. The map is brought to a size of 1 by a power
// of two. Nothing where float32 has no room for that, or for the squares of the targets.
std::optional<Stress> narrow(Matrix<const float> targets, Matrix<const double> Y,
                             Matrix<double> moved, Job& job) {
    const int64_t n = Y.rows, k = Y.cols, ld = round_up(n, 16) + 16;
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) most = std::max(most, std::abs(Y.row(i)[c]));
    if (!(most > 0x1p-100 && most < 0x1p100)) return {};
    const double scale = std::exp2(-std::ilogb(most));
    Buffer<float> y(2 * k * ld, 0.0f);  // heads, and what they leave
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) {
            const double place = Y.row(i)[c] * scale;
            y[c * ld + i] = float(place);
            y[(k + c) * ld + i] = float(place - double(float(place)));
        }
    Stress found = in_blocks(moved, ld, job, [&](int64_t first, int64_t last, int, double* part,
                                                 double* sums) {
        level().scaling.narrow_guttman(targets.data, targets.stride, float(scale), first, last, n,
                                       y.get(), ld, int(k), part, sums);
    });
    if (!std::isfinite(found.stress)) return {};
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) moved.row(i)[c] /= scale;
    const double unit = 1 / (scale * scale);
    return Stress{found.stress * unit, found.size * unit, found.cross * unit};
}

}  // namespace

template <class T>
Stress guttman(Matrix<const T> targets, const Matrix<const T>* weights, Matrix<const double> Y,
               Matrix<double> moved, Job& job) {
    constexpr int64_t MANY = 1000;  // fewer take no time worth a digit
    const int k = int(Y.cols);
    if constexpr (sizeof(T) == 4)
        if (!weights && k <= 3 && Y.rows > MANY)
            if (const auto found = narrow(targets, Y, moved, job)) return *found;
    const int64_t n = Y.rows, ld = round_up(n, 8);
    const Buffer<double> y = columns_of(Y, ld);
    Scratch<double> own(job, 2 * k);
    return in_blocks(moved, ld, job, [&](int64_t first, int64_t last, int worker, double* part,
                                         double* sums) {
        kernels<T>().guttman(targets.data, targets.stride, weights ? weights->data : nullptr,
                             weights ? weights->stride : 0, first, last, n, y.get(), ld, k,
                             own[worker], part, sums);
    });
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
