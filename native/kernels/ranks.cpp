#include "lowd/ranks.hpp"

#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "drive.hpp"

namespace lowd {

namespace {

constexpr int P = PANEL<float>, PANELS = 8, SIDE = P * PANELS;  // rows of a block
constexpr int64_t RUN = 128;  // features: a panel's run fits into half of L1
constexpr float FAR = 1e38f;

// A listed row: in the order of distances it parts those that are closer from those that are not.
struct Threshold {
    double distance;
    float half;  // half the squared distance, as the filter sees it
    int32_t id, place;

    bool operator<(const Threshold& other) const {
        return distance < other.distance || (distance == other.distance && id < other.id);
    }
};

// Some rows as the filter sees them: centered, scaled, packed feature by feature.
struct Blocks {
    int64_t count, blocks, features;
    const int64_t* numbers;  // of the rows; null: all
    Buffer<float> panels, half;
    std::vector<float> largest;  // half of a block

    template <class T>
    Blocks(Matrix<const T> X, const double* center, double scale, const int64_t* rows,
           int64_t number, Job& job)
        : count(number),
          blocks(ceil_div(number, SIDE)),
          features(X.cols),
          numbers(rows),
          panels(blocks * SIDE * X.cols),
          half(blocks * SIDE),
          largest(size_t(blocks)) {
        job.parallel(blocks, [&](int64_t b, int) { pack(b, X, center, scale); }, 0);
    }

    int64_t number(int64_t r) const { return numbers ? numbers[r] : r; }
    int64_t size(int64_t b) const { return std::min<int64_t>(SIDE, count - b * SIDE); }
    const float* panel(int64_t b, int p) const { return &panels[(b * SIDE + p * P) * features]; }
    const float* halves(int64_t b, int p) const { return &half[b * SIDE + p * P]; }

private:
    template <class T>
    void pack(int64_t b, Matrix<const T> X, const double* center, double scale) {
        const int64_t first = b * SIDE;
        std::fill_n(&panels[first * features], SIDE * features, 0.0f);
        std::fill_n(&half[first], SIDE, FAR);
        float most = 0;
        for (int64_t r = 0; r < size(b); r++) {
            const T* const x = X.row(number(first + r));
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
class Counting {
public:
    Counting(Matrix<const T> X, double scale, Metric metric, Matrix<const int32_t> ids,
             const Blocks& asked, const Blocks& all, Job& job)
        : X_(X),
          metric_(metric),
          to_filter_(0.5 * (scale / metric.unit) * (scale / metric.unit)),
          // Rounding of the rows, of a run of products, of the sums of runs, of halves and
          // thresholds: each relative to the halves of both rows.
          error_((double(std::min(X.cols, RUN)) + 2 * (double(X.cols) / double(RUN) + 1) + 20) *
                 0x1p-24 * 1.05),
          k_(ids.cols),
          asked_(asked),
          all_(all),
          thresholds_(asked.count * k_),
          sizes_(asked.count),
          counts_(asked.count * k_, 0),
          locks_(size_t(asked.blocks)) {
        job.parallel(
            asked.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * SIDE; r < b * SIDE + asked.size(b); r++) prepare(r, ids.row(r));
            },
            0);
    }

    // Rows of block i of those asked against block j of all; `mirror`: and the other way round.
    void meet(int64_t i, int64_t j, bool mirror, float* tiles, float* turned) {
        const Ranking& kernel = level().ranking;
        for (int64_t k = 0; k < X_.cols; k += RUN)
            for (int q = 0; q < PANELS; q++)
                for (int p = 0; p < PANELS; p++)
                    kernel.half_squares(asked_.panel(i, p) + k * P, all_.panel(j, q) + k * P,
                                        k ? nullptr : asked_.halves(i, p), all_.halves(j, q),
                                        std::min(RUN, X_.cols - k), tile(tiles, p, q));
        for (int64_t r = 0; r < asked_.size(i); r++) {  // no row is closer to itself
            const int64_t own = asked_.number(i * SIDE + r) - j * SIDE;
            if (0 <= own && own < SIDE)
                tile(tiles, int(r / P), int(own / P))[r % P * P + own % P] = FAR;
        }
        count(i, j, tiles);
        if (!mirror) return;
        for (int p = 0; p < PANELS; p++)
            for (int q = 0; q < PANELS; q++)
                kernels<float>().flip(tile(tiles, p, q), tile(turned, q, p));
        count(j, i, turned);
    }

    void write(Matrix<const int32_t> ids, Matrix<int32_t> out) const {
        for (int64_t r = 0; r < asked_.count; r++) {
            std::fill_n(out.row(r), ids.cols, 0);
            for (int q = 0; q < sizes_[r]; q++)
                out.row(r)[thresholds_[r * k_ + q].place] = 1 + counts_[r * k_ + q];
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
            const double s = square(asked_.number(r), listed[q]);
            own[size++] = {metric_.distance(s), float(s * to_filter_), listed[q], q};
        }
        std::sort(own, own + size);
        sizes_[r] = size;
    }

    // Block i of rows, whose values toward block j are in rows of tiles.
    void count(int64_t i, int64_t j, const float* tiles) {
        std::vector<int32_t> found(size_t(asked_.size(i) * k_), 0), perhaps(static_cast<size_t>(k_));
        std::vector<float> low(static_cast<size_t>(k_)), high(static_cast<size_t>(k_));
        for (int64_t r = 0; r < asked_.size(i); r++) {
            const int64_t row = i * SIDE + r;
            const int size = sizes_[row];
            if (!size) continue;
            const auto margin = float(
                error_ * (double(asked_.half[row]) + double(all_.largest[size_t(j)])) + 1e-30);
            for (int q = 0; q < size; q++) {
                low[size_t(q)] = thresholds_[row * k_ + q].half - margin;
                high[size_t(q)] = thresholds_[row * k_ + q].half + margin;
            }
            const float* const values = tiles + r / P * PANELS * P * P + r % P * P;
            int32_t* const sure = &found[size_t(r * k_)];
            level().ranking.count_below(values, PANELS, low.data(), high.data(), size, sure,
                                        perhaps.data());
            for (int q = 0; q < size; q++)
                if (perhaps[size_t(q)] != sure[q])
                    sure[q] += settled(row, j, values, low[size_t(q)], high[size_t(q)],
                                       thresholds_[row * k_ + q]);
        }
        const std::lock_guard<std::mutex> hold(locks_[size_t(i)]);
        for (size_t e = 0; e < found.size(); e++) counts_[i * SIDE * k_ + int64_t(e)] += found[e];
    }

    // Of the pairs that float32 leaves in doubt: how many are closer.
    int32_t settled(int64_t row, int64_t j, const float* values, float low, float high,
                    const Threshold& limit) const {
        int32_t columns[SIDE], closer = 0;
        const int doubts = level().ranking.between(values, PANELS, low, high, columns);
        for (int c = 0; c < doubts; c++) {
            const auto other = int32_t(j * SIDE + columns[c]);
            if (other == limit.id) continue;
            const double distance = metric_.distance(square(asked_.number(row), other));
            closer += Threshold{distance, 0, other, 0} < limit;
        }
        return closer;
    }

    const Matrix<const T> X_;
    const Metric metric_;
    const double to_filter_, error_;
    const int64_t k_;
    const Blocks &asked_, &all_;
    Buffer<Threshold> thresholds_;
    Buffer<int32_t> sizes_, counts_;
    std::vector<std::mutex> locks_;
};

// The order of a row by counting digits of a whole number that grows with the value. Values that
// share it are sorted by themselves.
template <class T>
class Order {
public:
    explicit Order(int64_t n) : items_(n), other_(n) {}

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
        for (int pass = 0; pass < passes; pass++) by_digit(size, 31 + pass * BITS);
        for (int64_t i = 0; i < size;) {
            int64_t end = i + 1;
            while (end < size && items_[end] >> 31 == items_[i] >> 31) end++;
            if (std::any_of(&items_[i], &items_[i] + (end - i),
                            [&](uint64_t a) { return row[number(a)] != row[number(items_[i])]; }))
                std::sort(&items_[i], &items_[i] + (end - i), [&](uint64_t a, uint64_t b) {
                    const T x = row[number(a)], y = row[number(b)];
                    return x < y || (x == y && number(a) < number(b));
                });
            i = end;
        }
        if (0 <= own && own < n) out[own] = 0;
        for (int64_t i = 0; i < size; i++) out[number(items_[i])] = int32_t(i + 1);
    }

private:
    static constexpr int BITS = 11;
    static int64_t number(uint64_t item) { return int64_t(item & 0x7fffffff); }

    void by_digit(int64_t size, int shift) {
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
void ranks(Matrix<const T> X, const double* center, double scale, const int64_t* rows,
           Metric metric, Matrix<const int32_t> ids, Matrix<int32_t> out, Job& job) {
    if (!ids.rows || !ids.cols) return;
    const Blocks all(X, center, scale, nullptr, X.rows, job);
    std::unique_ptr<Blocks> some;
    if (rows) some = std::make_unique<Blocks>(X, center, scale, rows, ids.rows, job);
    const Blocks& asked = rows ? *some : all;
    Counting<T> counting(X, scale, metric, ids, asked, all, job);
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t i = 0; i < asked.blocks; i++)
        for (int64_t j = rows ? 0 : i; j < all.blocks; j++) pairs.emplace_back(i, j);
    Scratch<float> scratch(job, 2 * SIDE * SIDE);
    job.expect(int64_t(pairs.size()));
    job.parallel(int64_t(pairs.size()), [&](int64_t p, int worker) {
        const auto [i, j] = pairs[size_t(p)];
        float* const tiles = scratch[worker];
        counting.meet(i, j, !rows && i != j, tiles, tiles + SIDE * SIDE);
    });
    counting.write(ids, out);
}

template <class T>
void rank_rows(Matrix<const T> D, const int64_t* own, Matrix<int32_t> out, Job& job) {
    std::vector<std::unique_ptr<Order<T>>> orders(static_cast<size_t>(job.threads()));
    job.expect(D.rows);
    job.parallel(D.rows, [&](int64_t i, int worker) {
        auto& order = orders[size_t(worker)];
        if (!order) order = std::make_unique<Order<T>>(D.cols);
        (*order)(D.row(i), D.cols, own[i], out.row(i));
    });
}

#define INSTANTIATE(T)                                                                         \
    template void ranks(Matrix<const T>, const double*, double, const int64_t*, Metric,        \
                        Matrix<const int32_t>, Matrix<int32_t>, Job&);                         \
    template void rank_rows(Matrix<const T>, const int64_t*, Matrix<int32_t>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
