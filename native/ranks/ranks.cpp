// Neighbor ranks.

#include "ranks/ranks.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/matrix.hpp"
#include "base/levels.hpp"
#include "base/memory.hpp"

namespace lowd {

// Neighbor ranks by counting the closer rows.
namespace {

constexpr int P = PANEL<float>, PANELS = 8, SIDE = P * PANELS;  // rows of a block
constexpr int64_t RUN = 128;  // features: those of a panel fit into half of L1
constexpr float NEVER_CLOSER = 1e38f;  // half a squared distance above all thresholds

// A listed row: rows before it in the order of (distance, index) are closer.
struct Threshold {
    double distance;
    float half;  // half the squared distance, scaled
    int32_t id, column;

    bool operator<(const Threshold& other) const {
        return distance < other.distance || (distance == other.distance && id < other.id);
    }
};

// Some rows in float32: centered, scaled, packed feature by feature.
struct Blocks {
    int64_t count, blocks, features;
    const int64_t* indices;  // of the rows; null: all
    Buffer<float> panels, half;
    std::vector<float> largest;  // half norm in a block

    template <class T>
    Blocks(Matrix<const T> X, const double* center, double scale, const int64_t* rows, int64_t n,
           Job& job)
        : count(n),
          blocks(ceil_div(n, SIDE)),
          features(X.cols),
          indices(rows),
          panels(blocks * SIDE * X.cols),
          half(blocks * SIDE),
          largest(size_t(blocks)) {
        job.parallel(blocks, [&](int64_t b, int) { pack(b, X, center, scale); }, 0);
    }

    int64_t index(int64_t r) const { return indices ? indices[r] : r; }
    int64_t size(int64_t b) const { return std::min<int64_t>(SIDE, count - b * SIDE); }
    const float* panel(int64_t b, int p) const { return &panels[(b * SIDE + p * P) * features]; }
    const float* halves(int64_t b, int p) const { return &half[b * SIDE + p * P]; }

private:
    template <class T>
    void pack(int64_t b, Matrix<const T> X, const double* center, double scale) {
        const int64_t first = b * SIDE;
        std::fill_n(&panels[first * features], SIDE * features, 0.0f);
        std::fill_n(&half[first], SIDE, NEVER_CLOSER);
        float most = 0;
        for (int64_t r = 0; r < size(b); r++) {
            const T* const x = X.row(index(first + r));
            float* const to = &panels[(first + r / P * P) * features + r % P];
            double square = 0;
            for (int64_t k = 0; k < features; k++) {
                const float z = float((double(x[k]) - center[k]) * scale);
                to[k * P] = z;
                square += double(z) * z;
            }
            half[first + r] = float(0.5 * square);
            most = std::max(most, half[first + r]);
        }
        largest[size_t(b)] = most;
    }
};

template <class T>
class RankCounter {
public:
    RankCounter(Matrix<const T> X, double scale, Metric metric, Matrix<const int32_t> ids,
                const Blocks& queries, const Blocks& all, Job& job)
        : X_(X),
          metric_(metric),
          to_filter_(0.5 * (scale / metric.unit) * (scale / metric.unit)),
          // Rounding of the rows, of a run of products, of the sums of runs, of halves and
          // thresholds: each relative to the halves of both rows.
          error_((double(std::min(X.cols, RUN)) + 2 * (double(X.cols) / double(RUN) + 1) + 20) *
                 0x1p-24 * 1.05),
          k_(ids.cols),
          queries_(queries),
          all_(all),
          thresholds_(queries.count * k_),
          sizes_(queries.count),
          counts_(queries.count * k_, 0),
          locks_(size_t(queries.blocks)) {
        job.parallel(
            queries.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * SIDE; r < b * SIDE + queries.size(b); r++)
                    prepare(r, ids.row(r));
            },
            0);
    }

    // Rows of block i of the queries against block j of all; `mirror`: and vice versa.
    void compare(int64_t i, int64_t j, bool mirror, float* tiles, float* transposed) {
        const RankKernels& kernel = level().ranks;
        for (int64_t k = 0; k < X_.cols; k += RUN)
            for (int q = 0; q < PANELS; q++)
                for (int p = 0; p < PANELS; p++)
                    kernel.half_squares(queries_.panel(i, p) + k * P, all_.panel(j, q) + k * P,
                                        k ? nullptr : queries_.halves(i, p), all_.halves(j, q),
                                        std::min(RUN, X_.cols - k), tile(tiles, p, q));
        for (int64_t r = 0; r < queries_.size(i); r++) {  // no row is closer to itself
            const int64_t own = queries_.index(i * SIDE + r) - j * SIDE;
            if (0 <= own && own < SIDE)
                tile(tiles, int(r / P), int(own / P))[r % P * P + own % P] = NEVER_CLOSER;
        }
        count(i, j, tiles);
        if (!mirror) return;
        for (int p = 0; p < PANELS; p++)
            for (int q = 0; q < PANELS; q++)
                kernels<float>().transpose_tile(tile(tiles, p, q), tile(transposed, q, p));
        count(j, i, transposed);
    }

    void write(Matrix<const int32_t> ids, Matrix<int32_t> out) const {
        for (int64_t r = 0; r < queries_.count; r++) {
            std::fill_n(out.row(r), ids.cols, 0);
            for (int q = 0; q < sizes_[r]; q++)
                out.row(r)[thresholds_[r * k_ + q].column] = 1 + counts_[r * k_ + q];
        }
    }

private:
    static float* tile(float* tiles, int p, int q) { return tiles + (p * PANELS + q) * P * P; }

    double square(int64_t a, int64_t b) const {
        return kernels<T>().difference_square(X_.row(a), X_.row(b), X_.cols, metric_.unit,
                                              std::numeric_limits<double>::infinity());
    }
    void prepare(int64_t r, const int32_t* listed) {
        Threshold* const own = &thresholds_[r * k_];
        int size = 0;
        for (int32_t q = 0; q < k_; q++) {
            if (listed[q] < 0) continue;
            const double s = square(queries_.index(r), listed[q]);
            own[size++] = {metric_.distance(s), float(s * to_filter_), listed[q], q};
        }
        std::sort(own, own + size);
        sizes_[r] = size;
    }

    // Block i of rows, whose values toward block j are in rows of tiles.
    void count(int64_t i, int64_t j, const float* tiles) {
        std::vector<int32_t> found(size_t(queries_.size(i) * k_), 0),
            perhaps(static_cast<size_t>(k_));
        std::vector<float> low(static_cast<size_t>(k_)), high(static_cast<size_t>(k_));
        for (int64_t r = 0; r < queries_.size(i); r++) {
            const int64_t row = i * SIDE + r;
            const int size = sizes_[row];
            if (!size) continue;
            const auto margin = float(
                error_ * (double(queries_.half[row]) + double(all_.largest[size_t(j)])) + 1e-30);
            for (int q = 0; q < size; q++) {
                low[size_t(q)] = thresholds_[row * k_ + q].half - margin;
                high[size_t(q)] = thresholds_[row * k_ + q].half + margin;
            }
            const float* const values = tiles + r / P * PANELS * P * P + r % P * P;
            int32_t* const sure = &found[size_t(r * k_)];
            level().ranks.count_below(values, PANELS, low.data(), high.data(), size, sure,
                                      perhaps.data());
            for (int q = 0; q < size; q++)
                if (perhaps[size_t(q)] != sure[q])
                    sure[q] += count_exactly(row, j, values, low[size_t(q)], high[size_t(q)],
                                             thresholds_[row * k_ + q]);
        }
        const std::lock_guard<std::mutex> hold(locks_[size_t(i)]);
        for (size_t e = 0; e < found.size(); e++) counts_[i * SIDE * k_ + int64_t(e)] += found[e];
    }

    // Of the pairs that float32 does not decide: how many are closer.
    int32_t count_exactly(int64_t row, int64_t j, const float* values, float low, float high,
                          const Threshold& limit) const {
        int32_t columns[SIDE], closer = 0;
        const int undecided = level().ranks.between(values, PANELS, low, high, columns);
        for (int c = 0; c < undecided; c++) {
            const auto other = int32_t(j * SIDE + columns[c]);
            if (other == limit.id) continue;
            const double distance = metric_.distance(square(queries_.index(row), other));
            closer += Threshold{distance, 0, other, 0} < limit;
        }
        return closer;
    }

    const Matrix<const T> X_;
    const Metric metric_;
    const double to_filter_, error_;
    const int64_t k_;
    const Blocks &queries_, &all_;
    Buffer<Threshold> thresholds_;
    Buffer<int32_t> sizes_, counts_;
    std::vector<std::mutex> locks_;
};

}  // namespace

template <class T>
void ranks(Matrix<const T> X, const double* center, double scale, const int64_t* rows,
           Metric metric, Matrix<const int32_t> ids, Matrix<int32_t> out, Job& job) {
    if (!ids.rows || !ids.cols) return;
    const Blocks all(X, center, scale, nullptr, X.rows, job);
    std::unique_ptr<Blocks> some;
    if (rows) some = std::make_unique<Blocks>(X, center, scale, rows, ids.rows, job);
    const Blocks& queries = rows ? *some : all;
    RankCounter<T> counter(X, scale, metric, ids, queries, all, job);
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t i = 0; i < queries.blocks; i++)
        for (int64_t j = rows ? 0 : i; j < all.blocks; j++) pairs.emplace_back(i, j);
    Scratch<float> scratch(job, 2 * SIDE * SIDE);
    job.expect(int64_t(pairs.size()));
    job.parallel(int64_t(pairs.size()), [&](int64_t p, int worker) {
        const auto [i, j] = pairs[size_t(p)];
        float* const tiles = scratch[worker];
        counter.compare(i, j, !rows && i != j, tiles, tiles + SIDE * SIDE);
    });
    counter.write(ids, out);
}

// Ranks of the entries of each row, by radix sort.
namespace {

// Radix sort of a row by an integer key that increases with the value. Values that share a key are
// sorted by themselves.
template <class T>
class RowRanker {
public:
    explicit RowRanker(int64_t n) : items_(n), other_(n) {}

    void operator()(const T* row, int64_t n, int64_t own, int32_t* out) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (int64_t j = 0; j < n; j++)
            if (j != own) {
                low = std::min(low, double(row[j]));
                high = std::max(high, double(row[j]));
            }
        int passes = 2;
        while (passes < 3 && n >> (passes * BITS - 8)) passes++;
        const double most = double((int64_t(1) << passes * BITS) - 1),
                     factor = high > low ? std::min(most / (high - low), 1e300) : 0;
        int64_t size = 0;
        for (int64_t j = 0; j < n; j++)
            if (j != own)
                items_[size++] =
                    uint64_t(std::min((double(row[j]) - low) * factor, most)) << 31 | uint64_t(j);
        for (int pass = 0; pass < passes; pass++) sort_by_digit(size, 31 + pass * BITS);
        for (int64_t i = 0; i < size;) {
            int64_t end = i + 1;
            while (end < size && items_[end] >> 31 == items_[i] >> 31) end++;
            if (std::any_of(&items_[i], &items_[i] + (end - i),
                            [&](uint64_t a) { return row[column(a)] != row[column(items_[i])]; }))
                std::sort(&items_[i], &items_[i] + (end - i), [&](uint64_t a, uint64_t b) {
                    const T x = row[column(a)], y = row[column(b)];
                    return x < y || (x == y && column(a) < column(b));
                });
            i = end;
        }
        if (0 <= own && own < n) out[own] = 0;
        for (int64_t i = 0; i < size; i++) out[column(items_[i])] = int32_t(i + 1);
    }

private:
    static constexpr int BITS = 11;
    static int64_t column(uint64_t item) { return int64_t(item & 0x7fffffff); }

    void sort_by_digit(int64_t size, int shift) {
        constexpr int DIGITS = 1 << BITS;
        int64_t starts[DIGITS] = {};
        for (int64_t i = 0; i < size; i++) starts[items_[i] >> shift & (DIGITS - 1)]++;
        int64_t sum = 0;
        for (int64_t& start : starts) sum += std::exchange(start, sum);
        for (int64_t i = 0; i < size; i++)
            other_[starts[items_[i] >> shift & (DIGITS - 1)]++] = items_[i];
        std::swap(items_, other_);
    }

    Buffer<uint64_t> items_, other_;
};

}  // namespace

template <class T>
void rank_rows(Matrix<const T> D, const int64_t* own, Matrix<int32_t> out, Job& job) {
    std::vector<std::unique_ptr<RowRanker<T>>> rankers(static_cast<size_t>(job.threads()));
    job.expect(D.rows);
    job.parallel(D.rows, [&](int64_t i, int worker) {
        auto& ranker = rankers[size_t(worker)];
        if (!ranker) ranker = std::make_unique<RowRanker<T>>(D.cols);
        (*ranker)(D.row(i), D.cols, own[i], out.row(i));
    });
}

#define INSTANTIATE(T)                                                                  \
    template void ranks(Matrix<const T>, const double*, double, const int64_t*, Metric, \
                        Matrix<const int32_t>, Matrix<int32_t>, Job&);                  \
    template void rank_rows(Matrix<const T>, const int64_t*, Matrix<int32_t>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
