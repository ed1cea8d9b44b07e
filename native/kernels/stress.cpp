#include "lowd/stress.hpp"

#include <cmath>
#include <numeric>

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

namespace {

// Isotonic regression by pooling adjacent violators, in one pass: `values` become the fit.
class Pools {
public:
    explicit Pools(int64_t most) : means_(most), weights_(most), ends_(most) {}

    void add(double value, double weight, int64_t end) {
        while (count_ && means_[count_ - 1] >= value) {
            count_--;
            const double all = weight + weights_[count_];
            value = (value * weight + means_[count_] * weights_[count_]) / all;
            weight = all;
        }
        means_[count_] = value, weights_[count_] = weight, ends_[count_] = end;
        count_++;
    }
    // f(begin, end, mean) for every pool.
    template <class F>
    void each(F f) const {
        int64_t begin = 0;
        for (int64_t b = 0; b < count_; begin = ends_[b], b++) f(begin, ends_[b], means_[b]);
    }

private:
    Buffer<double> means_, weights_;
    Buffer<int64_t> ends_;
    int64_t count_ = 0;
};

// Places of the pairs by their lengths, within each group.
std::vector<int64_t> by_length(std::span<const int64_t> groups, const double* lengths, Job& job) {
    const int64_t count = int64_t(groups.size()) - 1;
    std::vector<int64_t> order(size_t(groups.back()));
    std::iota(order.begin(), order.end(), int64_t(0));
    constexpr int64_t TOGETHER = 4096;
    job.parallel(
        ceil_div(count, TOGETHER),
        [&](int64_t block, int) {
            for (int64_t g = block * TOGETHER; g < std::min(count, (block + 1) * TOGETHER); g++)
                std::sort(order.begin() + groups[size_t(g)], order.begin() + groups[size_t(g) + 1],
                          [&](int64_t a, int64_t b) {
                              return lengths[a] < lengths[b] || (lengths[a] == lengths[b] && a < b);
                          });
        },
        0);
    return order;
}

void isotonic(const OrderedPairs& pairs, bool split, const double* lengths, double* fitted,
              Job& job) {
    const int64_t count = int64_t(pairs.first.size());
    const auto weight = [&](int64_t p) { return pairs.weights ? pairs.weights[p] : 1.0; };
    const bool tied = !pairs.groups.empty();
    Pools pools(count);
    if (!tied) {
        for (int64_t p = 0; p < count; p++) pools.add(lengths[p], weight(p), p + 1);
        pools.each([&](int64_t begin, int64_t end, double mean) {
            std::fill(fitted + begin, fitted + end, mean);
        });
    } else if (split) {
        const std::vector<int64_t> order = by_length(pairs.groups, lengths, job);
        for (int64_t q = 0; q < count; q++) {
            const int64_t p = order[size_t(q)];
            pools.add(lengths[p], weight(p), q + 1);
        }
        pools.each([&](int64_t begin, int64_t end, double mean) {
            for (int64_t q = begin; q < end; q++) fitted[order[size_t(q)]] = mean;
        });
    } else {
        for (size_t g = 0; g + 1 < pairs.groups.size(); g++) {
            double sum = 0, all = 0;
            for (int64_t p = pairs.groups[g]; p < pairs.groups[g + 1]; p++)
                sum += weight(p) * lengths[p], all += weight(p);
            pools.add(sum / all, all, pairs.groups[g + 1]);
        }
        pools.each([&](int64_t begin, int64_t end, double mean) {
            std::fill(fitted + begin, fitted + end, mean);
        });
    }
}

}  // namespace

Stress monotone(const OrderedPairs& pairs, bool split, Matrix<const double> Y, double* lengths,
                double* fitted, Matrix<double> moved, Job& job) {
    const int64_t count = int64_t(pairs.first.size()), n = Y.rows;
    const int k = int(Y.cols);
    const int64_t width = round_up(n * k, 8);
    const int64_t blocks = std::clamp<int64_t>(count / (4 * width), 1, 32);
    const auto begin = [&](int64_t b) { return count * b / blocks; };
    Buffer<double> y(n * k), sums(blocks * width);
    for (int64_t i = 0; i < n; i++) std::copy_n(Y.row(i), k, &y[i * k]);
    const auto& kernel = level().scaling;
    job.parallel(blocks, [&](int64_t b, int) {
        const int64_t at = begin(b);
        kernel.pair_lengths(&pairs.first[size_t(at)], &pairs.second[size_t(at)], begin(b + 1) - at,
                            y.get(), k, lengths + at);
    });
    isotonic(pairs, split, lengths, fitted, job);
    double total = 0, squares = 0;
    for (int64_t p = 0; p < count; p++) {
        const double w = pairs.weights ? pairs.weights[p] : 1;
        total += w;
        squares += w * fitted[p] * fitted[p];
    }
    const double scale = squares > 0 ? std::sqrt(total / squares) : 0;
    std::vector<double> totals(size_t(3 * blocks));
    job.parallel(blocks, [&](int64_t b, int) {
        const int64_t at = begin(b);
        std::fill_n(&sums[b * width], width, 0.0);
        kernel.pair_moves(&pairs.first[size_t(at)], &pairs.second[size_t(at)],
                          pairs.weights ? pairs.weights + at : nullptr, begin(b + 1) - at,
                          lengths + at, fitted + at, scale, y.get(), k, &sums[b * width],
                          &totals[size_t(3 * b)]);
    });
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < k; c++) {
            double sum = 0;
            for (int64_t b = 0; b < blocks; b++) sum += sums[b * width + i * k + c];
            moved.row(i)[c] = sum;
        }
    return added(totals);
}

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
