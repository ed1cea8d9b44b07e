#include "lowd/stress.hpp"

#include <array>
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

namespace {

// Isotonic regression by pooling adjacent violators. Means are compared by products: divisions would
// take most of the time.
struct Pool {
    double sum, weight;
    int64_t end;
};
class Pools {
public:
    void clear() { pools_.clear(); }
    void add(Pool next) {
        while (!pools_.empty() && pools_.back().sum * next.weight >= next.sum * pools_.back().weight) {
            next.sum += pools_.back().sum;
            next.weight += pools_.back().weight;
            pools_.pop_back();
        }
        pools_.push_back(next);
    }
    std::span<const Pool> all() const { return pools_; }

private:
    std::vector<Pool> pools_;
};

// Pools of a few thousand items. Every comparison of the plain algorithm is a coin toss, which CPUs
// guess wrong. In terms of running sums, pools end where the greatest convex minorant touches them,
// which is never above the minorant of a few of the sums. So that comes first, and only items below
// it are pooled one by one: a few in a hundred.
class Part {
public:
    static constexpr int64_t MOST = 4096;

    // values(i) -> Pool of item i < count.
    template <class F>
    std::span<const Pool> pooled(int64_t count, F values) {
        double sum = 0, weight = 0;
        for (int64_t i = 0; i < count; i++) {
            const Pool item = values(i);
            each_[size_t(i)] = item.sum, mass_[size_t(i)] = item.weight;
            ends_[size_t(i)] = item.end;
            sums_[size_t(i) + 1] = sum += item.sum;
            weights_[size_t(i) + 1] = weight += item.weight;
        }
        coarse_.clear();
        for (int64_t i = 0; i < count; i += COARSE)
            coarse_.add(between(i, std::min(i + COARSE, count)));
        fine_.clear();
        int64_t begin = 0, last = 0;
        for (const Pool& pool : coarse_.all()) {
            const double slope = pool.sum / pool.weight;
            const double level = sums_[size_t(begin)] - slope * weights_[size_t(begin)];
            int64_t found = 0;
            for (int64_t i = begin + 1; i < pool.end; i++) {
                below_[size_t(found)] = i;
                found += sums_[size_t(i)] - slope * weights_[size_t(i)] < level;
            }
            for (int64_t f = 0; f < found; last = below_[size_t(f)], f++)
                fine_.add(between(last, below_[size_t(f)]));
            fine_.add(between(last, pool.end));
            begin = last = pool.end;
        }
        // Sums of the pools again, from their items: running sums have lost digits.
        exact_.clear();
        int64_t i = 0;
        for (const Pool& pool : fine_.all()) {
            double all = 0, masses = 0;
            for (; i < pool.end; i++) all += each_[size_t(i)], masses += mass_[size_t(i)];
            exact_.add({all, masses, ends_[size_t(i) - 1]});
        }
        return exact_.all();
    }

private:
    static constexpr int64_t COARSE = 32;
    Pool between(int64_t a, int64_t b) const {
        return {sums_[size_t(b)] - sums_[size_t(a)], weights_[size_t(b)] - weights_[size_t(a)], b};
    }
    std::array<double, MOST> each_, mass_;
    std::array<int64_t, MOST> ends_, below_;
    std::array<double, MOST + 1> sums_{}, weights_{};
    Pools coarse_, fine_, exact_;
};

// Sorts (length, pair) keys that are mostly in order: by insertion, until that takes too long.
struct Key {
    double length;
    int32_t pair;
    bool operator<(const Key& other) const {
        return length < other.length || (length == other.length && pair < other.pair);
    }
};
void sort_keys(Key* keys, int64_t count) {
    int64_t budget = 8 * count;
    for (int64_t a = 1; a < count; a++) {
        const Key key = keys[a];
        int64_t b = a;
        for (; b > 0 && key < keys[b - 1]; b--) keys[b] = keys[b - 1];
        keys[b] = key;
        budget -= a - b;
        if (budget < 0) return std::sort(keys, keys + count);
    }
}

// Sorts the pairs of each group by length: order (in and out) names them, sorted are the lengths.
void sort_groups(std::span<const int64_t> groups, const double* lengths, int32_t* order,
                 double* sorted, Job& job) {
    const int64_t count = int64_t(groups.size()) - 1, parts = std::clamp<int64_t>(count / 16, 1, 64);
    job.parallel(
        parts,
        [&](int64_t part, int) {
            std::vector<Key> keys;
            for (int64_t g = count * part / parts; g < count * (part + 1) / parts; g++) {
                const int64_t begin = groups[size_t(g)], size = groups[size_t(g) + 1] - begin;
                keys.resize(size_t(size));
                for (int64_t q = 0; q < size; q++)
                    keys[size_t(q)] = {lengths[order[begin + q]], order[begin + q]};
                sort_keys(keys.data(), size);
                for (int64_t q = 0; q < size; q++) {
                    order[begin + q] = keys[size_t(q)].pair;
                    sorted[begin + q] = keys[size_t(q)].length;
                }
            }
        },
        0);
}

// fitted = the isotonic regression of the lengths; returns the factor that makes its weighted mean
// square 1.
double isotonic(const OrderedPairs& pairs, bool split, const double* lengths, int32_t* order,
                double* fitted, Job& job) {
    const int64_t count = int64_t(pairs.first.size());
    const bool grouped = !pairs.groups.empty();
    const bool sorting = grouped && split, sharing = grouped && !split;
    if (sorting) sort_groups(pairs.groups, lengths, order, fitted, job);
    const double* const values = sorting ? fitted : lengths;
    const auto pool_of = [&](int64_t q) -> Pool {
        const double w = pairs.weights ? pairs.weights[sorting ? order[q] : q] : 1;
        return {w * values[q], w, q + 1};
    };
    const auto shared_by = [&](int64_t g) {
        Pool one{0, 0, pairs.groups[size_t(g) + 1]};
        for (int64_t q = pairs.groups[size_t(g)]; q < one.end; q++) {
            const Pool next = pool_of(q);
            one.sum += next.sum, one.weight += next.weight;
        }
        return one;
    };
    // Parts are pooled on their own, then their pools together: the same fit.
    const int64_t items = sharing ? int64_t(pairs.groups.size()) - 1 : count;
    std::vector<std::vector<Pool>> pooled(size_t(ceil_div(items, Part::MOST)));
    std::vector<Part> rooms(size_t(job.threads()));
    job.parallel(
        int64_t(pooled.size()),
        [&](int64_t part, int worker) {
            const int64_t begin = part * Part::MOST, size = std::min(items - begin, Part::MOST);
            Part& room = rooms[size_t(worker)];
            const auto found =
                sharing ? room.pooled(size, [&](int64_t i) { return shared_by(begin + i); })
                        : room.pooled(size, [&](int64_t i) { return pool_of(begin + i); });
            pooled[size_t(part)].assign(found.begin(), found.end());
        },
        0);
    Pools pools;
    for (const auto& part : pooled)
        for (const Pool& pool : part) pools.add(pool);
    double total = 0, squares = 0;
    int64_t q = 0;
    for (const Pool& pool : pools.all()) {
        const double mean = pool.sum / pool.weight;
        total += pool.weight;
        squares += pool.weight * mean * mean;
        if (sorting)
            for (; q < pool.end; q++) fitted[order[q]] = mean;
        else
            std::fill(fitted + q, fitted + pool.end, mean), q = pool.end;
    }
    return squares > 0 ? std::sqrt(total / squares) : 0;
}

}  // namespace

Stress monotone(const OrderedPairs& pairs, bool split, Matrix<const double> Y, int32_t* order,
                double* lengths, double* fitted, Matrix<double> moved, Job& job) {
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
    const double scale = isotonic(pairs, split, lengths, order, fitted, job);
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
