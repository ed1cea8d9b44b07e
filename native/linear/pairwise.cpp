#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/matrix.hpp"
#include "base/levels.hpp"
#include "base/memory.hpp"
#include "linear/linear.hpp"
#include "linear/operands.hpp"

namespace lowd {

std::optional<Measure> measure_named(std::string_view name) {
    static constexpr std::pair<std::string_view, Measure> NAMES[] = {
        {"dot", Measure::dot},
        {"poly", Measure::poly},
        {"sigmoid", Measure::sigmoid},
        {"sqeuclidean", Measure::sqeuclidean},
        {"euclidean", Measure::euclidean},
        {"rbf", Measure::rbf},
        {"rbfm1", Measure::rbfm1},
        {"manhattan", Measure::manhattan},
        {"laplacian", Measure::laplacian},
        {"chebyshev", Measure::chebyshev},
        {"minkowski", Measure::minkowski},
        {"hamming", Measure::hamming},
        {"jaccard", Measure::jaccard}};
    for (const auto& [known, measure] : NAMES)
        if (known == name) return measure;
    return {};
}

namespace {

// All rows of a matrix as panels, with their squared norms.
template <class T>
struct Panels {
    Matrix<const T> rows;
    int64_t count;
    Buffer<T> entries;
    Buffer<double> norms;

    Panels(Matrix<const T> X, Shift<T> shift, bool truth, Job& job)
        : rows(X),
          count(ceil_div(X.rows, PANEL<T>)),
          entries(count * PANEL<T> * X.cols),
          norms(count * PANEL<T>) {
        job.parallel(
            count,
            [&](int64_t p, int) {
                kernels<T>().pack_rows(X.row(p * PANEL<T>), X.stride, lanes(p), X.cols, shift,
                                       truth, panel(p), norm(p));
            },
            0);
    }
    T* panel(int64_t p) const { return &entries[p * PANEL<T> * rows.cols]; }
    double* norm(int64_t p) const { return &norms[p * PANEL<T>]; }
    int lanes(int64_t p) const {
        return int(std::min<int64_t>(PANEL<T>, rows.rows - p * PANEL<T>));
    }
};

bool is_square(Measure m) { return m >= Measure::sqeuclidean && m <= Measure::rbfm1; }

template <class T>
class Pairs {
public:
    Pairs(const Panels<T>& q, const Panels<T>& x, Measure measure, std::span<const double> params,
          Matrix<T> out)
        : q_(q), x_(x), measure_(measure), out_(out) {
        std::copy_n(params.begin(), std::min(params.size(), params_.size()), params_.begin());
    }

    void tile(int64_t i, int64_t j, bool mirror) const {
        constexpr int P = PANEL<T>;
        alignas(64) double tile[P * P];
        alignas(64) T result[P * P], transposed[P * P];
        kernel_.pair_tile(measure_, params_[0], q_.panel(i), x_.panel(j), q_.rows.cols, tile);
        if (is_square(measure_) && kernel_.squares(tile, q_.norm(i), x_.norm(j), floor_))
            repair(i, j, tile);
        kernel_.pair_finish(measure_, params_.data(), tile, q_.norm(i), x_.norm(j), q_.rows.cols,
                            result);
        write(result, i, q_.lanes(i), j, x_.lanes(j));
        if (!mirror) return;
        kernel_.transpose_tile(result, transposed);
        write(transposed, j, x_.lanes(j), i, q_.lanes(i));
    }

private:
    // Recomputes close pairs from the differences: equal rows have distance 0, near rows lose no
    // digits.
    void repair(int64_t i, int64_t j, double* tile) const {
        constexpr int P = PANEL<T>;
        for (int a = 0; a < q_.lanes(i); a++)
            for (int b = 0; b < x_.lanes(j); b++) {
                double& d2 = tile[a * P + b];
                const double norms = q_.norm(i)[a] + x_.norm(j)[b];
                // As in the kernel `squares`.
                if (!(d2 > norms * 0x1p-7 && d2 > floor_ && d2 < norms * 4))
                    d2 = kernel_.squared_distance(q_.rows.row(i * P + a), x_.rows.row(j * P + b),
                                                  q_.rows.cols);
            }
    }
    void write(const T* tile, int64_t i, int rows, int64_t j, int cols) const {
        for (int r = 0; r < rows; r++)
            std::memcpy(out_.row(i * PANEL<T> + r) + j * PANEL<T>, tile + r * PANEL<T>,
                        size_t(cols) * sizeof(T));
    }

    const Kernels<T>& kernel_ = kernels<T>();
    const Panels<T>&q_, &x_;
    const Measure measure_;
    const Matrix<T> out_;
    std::array<double, 3> params_{1, 0, 1};
    // Below this, products of T may have underflowed.
    const double floor_ = double(q_.rows.cols) * (sizeof(T) == 4 ? 0x1p-118 : 0x1p-960);
};

}  // namespace

template <class T>
void pairwise(Matrix<const T> Q, Matrix<const T> X, Measure measure, std::span<const double> params,
              const double* center, bool symmetric, Matrix<T> out, Job& job) {
    // Panels per side of a block, whose rows fit into L2 together.
    constexpr int64_t SIDE = 8;
    constexpr int64_t STRIP = SIDE * PANEL<T>;  // rows of Q that are packed together
    const bool truth = measure == Measure::jaccard;
    const bool centered = is_square(measure) || measure == Measure::dot;
    const SplitShift<T> shift(centered ? center : nullptr, X.cols);
    const Panels<T> x(X, shift, truth, job);

    // If there are many rows, each strip is packed by the thread that uses it: no copy of Q is
    // made.
    if (!symmetric && Q.rows > 16 * STRIP) {
        const int64_t strips = ceil_div(Q.rows, STRIP);
        job.expect(strips);
        job.parallel(strips, [&](int64_t s, int) {
            const int64_t first = s * STRIP, rows = std::min(STRIP, Q.rows - first);
            const Panels<T> q({Q.row(first), rows, Q.cols, Q.stride}, shift, truth, job);
            const Pairs<T> pairs(q, x, measure, params,
                                 {out.row(first), rows, out.cols, out.stride});
            for (int64_t j = 0; j < x.count; j++)
                for (int64_t i = 0; i < q.count; i++) pairs.tile(i, j, false);
        });
        return;
    }

    std::optional<Panels<T>> other;
    if (!symmetric) other.emplace(Q, shift, truth, job);
    const Panels<T>& q = symmetric ? x : *other;
    const Pairs<T> pairs(q, x, measure, params, out);
    std::vector<std::pair<int64_t, int64_t>> blocks;
    for (int64_t i = 0; i < q.count; i += SIDE)
        for (int64_t j = symmetric ? i : 0; j < x.count; j += SIDE) blocks.emplace_back(i, j);
    job.expect(int64_t(blocks.size()));
    job.parallel(int64_t(blocks.size()), [&](int64_t b, int) {
        const auto [i0, j0] = blocks[b];
        for (int64_t i = i0; i < std::min(q.count, i0 + SIDE); i++)
            for (int64_t j = symmetric ? std::max(i, j0) : j0; j < std::min(x.count, j0 + SIDE);
                 j++)
                pairs.tile(i, j, symmetric && i != j);
    });
}

#define INSTANTIATE(T)                                                                         \
    template void pairwise(Matrix<const T>, Matrix<const T>, Measure, std::span<const double>, \
                           const double*, bool, Matrix<T>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
