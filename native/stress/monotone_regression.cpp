// Nonmetric scaling: pairs are sorted once, and disparities are pooled in each step.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/matrix.hpp"
#include "base/levels.hpp"
#include "base/memory.hpp"
#include "stress/stress.hpp"

namespace lowd {

// Bucket sort of all pairs by their dissimilarity, ties by their indices: the order is unique,
// whatever the threads.
namespace {

struct Entry {
    double value;
    PointPair pair;
    bool operator<(const Entry& other) const {
        if (value != other.value) return value < other.value;
        return pair.first != other.pair.first ? pair.first < other.pair.first
                                              : pair.second < other.pair.second;
    }
};

// Buckets of equal width between two values. A larger value is never in a lower one: products that
// are NaN, of 0 or infinite widths, come from the largest values, or all from one bucket.
class Buckets {
public:
    Buckets(double low, double high, int64_t count)
        : count_(count), low_(low), scale_(double(count) / (high - low)) {}
    int64_t count() const { return count_; }
    int64_t of(double value) const {
        const double at = (value - low_) * scale_;
        return at < double(count_) ? int64_t(at) : count_ - 1;
    }

private:
    int64_t count_;
    double low_, scale_;
};

constexpr int64_t MAX_INSERTION_SORT = 24;  // entries up to which insertion sort is used

// Sorts entries, of which equal ones are in order already. Distances are distributed evenly enough
// that a bucket holds few of them; where they are not, buckets are divided again. 500,000 entries
// take a third of the time of std::sort.
void sort_entries(Entry* entries, int64_t count, Entry* scratch, int depth = 4) {
    if (count <= MAX_INSERTION_SORT) {
        for (int64_t a = 1; a < count; a++) {
            const Entry entry = entries[a];
            int64_t b = a;
            for (; b > 0 && entry < entries[b - 1]; b--) entries[b] = entries[b - 1];
            entries[b] = entry;
        }
        return;
    }
    if (depth == 0) return std::sort(entries, entries + count);
    double low = entries[0].value, high = low;
    for (int64_t e = 1; e < count; e++) {
        low = std::min(low, entries[e].value);
        high = std::max(high, entries[e].value);
    }
    if (low == high) return;
    const Buckets buckets(low, high, count / 4);
    std::vector<int64_t> ends(size_t(buckets.count()) + 1);
    for (int64_t e = 0; e < count; e++) ends[size_t(buckets.of(entries[e].value)) + 1]++;
    for (size_t s = 1; s < ends.size(); s++) ends[s] += ends[s - 1];
    for (int64_t e = 0; e < count; e++)
        scratch[ends[size_t(buckets.of(entries[e].value))]++] = entries[e];
    std::memcpy(entries, scratch, size_t(count) * sizeof(Entry));
    int64_t begin = 0;
    for (int64_t s = 0; s < buckets.count(); begin = ends[size_t(s)], s++)
        sort_entries(entries + begin, ends[size_t(s)] - begin, scratch, depth - 1);
}

}  // namespace

template <class T>
SortedPairs sort_pairs(Matrix<const T> D, const Matrix<const T>* W, Job& job) {
    const int64_t n = D.rows, blocks = std::clamp<int64_t>(n / 8, 1, 64);
    // use(value, pair) for the known pairs of a block of rows; blocks have about equally many.
    const auto each = [&](int64_t block, auto use) {
        const auto edge = [&](int64_t b) {
            return n - int64_t(std::sqrt(double(blocks - b) / double(blocks)) * double(n));
        };
        for (int64_t i = edge(block); i < edge(block + 1); i++) {
            const T* const d = D.row(i);
            const T* const w = W ? W->row(i) : nullptr;
            for (int64_t j = i + 1; j < n; j++)
                if (d[j] == d[j] && (!W || w[j] > 0))
                    use(double(d[j]), PointPair{int32_t(i), int32_t(j)});
        }
    };
    struct Range {
        int64_t count = 0;
        double low = std::numeric_limits<double>::infinity(), high = -low;
    };
    std::vector<Range> ranges(static_cast<size_t>(blocks));
    job.parallel(
        blocks,
        [&](int64_t b, int) {
            Range range;
            each(b, [&](double value, PointPair) {
                range.count++;
                range.low = std::min(range.low, value);
                range.high = std::max(range.high, value);
            });
            ranges[size_t(b)] = range;
        },
        0);
    Range whole;
    for (const Range& range : ranges)
        whole = {whole.count + range.count, std::min(whole.low, range.low),
                 std::max(whole.high, range.high)};

    const Buckets buckets(whole.low, whole.high, std::clamp<int64_t>(whole.count / 1024, 1, 2048));
    const auto wide = size_t(buckets.count());
    std::vector<int64_t> at(size_t(blocks) * wide);  // [block][bucket]
    job.parallel(
        blocks,
        [&](int64_t b, int) {
            int64_t* const counts = &at[size_t(b) * wide];
            each(b, [&](double value, PointPair) { counts[buckets.of(value)]++; });
        },
        0);
    std::vector<int64_t> starts(wide + 1);
    int64_t sum = 0, most = 0;
    for (size_t s = 0; s < wide; s++) {
        starts[s] = sum;
        for (size_t b = 0; b < size_t(blocks); b++) sum += std::exchange(at[b * wide + s], sum);
        most = std::max(most, sum - starts[s]);
    }
    starts[wide] = sum;
    const Buffer<Entry> entries(sum);
    job.parallel(
        blocks,
        [&](int64_t b, int) {
            int64_t* const to = &at[size_t(b) * wide];
            each(b, [&](double value, PointPair pair) {
                entries[to[buckets.of(value)]++] = {value, pair};
            });
        },
        0);

    SortedPairs out{sum, Buffer<PointPair>(sum), W ? Buffer<double>(sum) : Buffer<double>(),
                    Buffer<uint8_t>(sum)};
    std::vector<uint8_t> has_ties(wide);
    Scratch<Entry> scratch(job, most);
    job.expect(int64_t(wide));
    job.parallel(int64_t(wide), [&](int64_t s, int worker) {
        const int64_t begin = starts[size_t(s)], end = starts[size_t(s) + 1];
        sort_entries(&entries[begin], end - begin, scratch[worker]);
        for (int64_t e = begin; e < end; e++) {
            const PointPair pair = out.pairs[e] = entries[e].pair;
            if (W) out.weights[e] = double(W->row(pair.first)[pair.second]);
            out.tied[e] = e > begin && entries[e].value == entries[e - 1].value;
            has_ties[size_t(s)] |= out.tied[e];
        }
    });
    if (std::ranges::find(has_ties, 1) == has_ties.end()) out.tied = Buffer<uint8_t>();
    return out;
}
#define INSTANTIATE(T) \
    template SortedPairs sort_pairs(Matrix<const T>, const Matrix<const T>*, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

namespace {

constexpr int64_t PART_SIZE = 4096;  // pairs whose distances and sums stay in a core's caches

// Coordinates in the layout of the kernels.
Buffer<double> padded_rows(Matrix<const double> Y) {
    const int64_t width = padded_width(Y.cols);
    Buffer<double> rows(Y.rows * width, 0.0);
    for (int64_t i = 0; i < Y.rows; i++) std::copy_n(Y.row(i), Y.cols, &rows[i * width]);
    return rows;
}

bool earlier(double a, PointPair at_a, double b, PointPair at_b) {
    if (a != b) return a < b;
    return at_a.first != at_b.first ? at_a.first < at_b.first : at_a.second < at_b.second;
}
struct TiedPair {
    double distance;
    PointPair pair;
    double weight;
    bool operator<(const TiedPair& other) const {
        return earlier(distance, pair, other.distance, other.pair);
    }
};

}  // namespace

// A worker's scratch memory for one part.
struct MonotoneRegression::Workspace {
    std::vector<double> distances, sums, weights, scratch;
    std::vector<int64_t> ends;
    std::vector<Pool> pools;
    std::vector<TiedPair> group;
};

void MonotoneRegression::split_into_parts() {
    for (int64_t at = 0; at < all_.count; at += PART_SIZE) {
        while (all_.tied && at < all_.count && all_.tied[at]) at++;
        if (at < all_.count) edges_.push_back(at);
    }
    edges_.push_back(all_.count);
    pooled_.resize(edges_.size() - 1);
}

// Tied pairs are mostly in order since the last step, so insertion sort is used until it takes too
// long.
void MonotoneRegression::sort_ties(int64_t begin, int64_t end, double* distances,
                                   Workspace& space) {
    PointPair* const pairs = &all_.pairs[begin];
    double* const weights = all_.weights ? &all_.weights[begin] : nullptr;
    const uint8_t* const tied = &all_.tied[begin];
    int64_t first = 0, budget = 0;
    for (int64_t p = 1; p < end - begin; p++) {
        if (!tied[p]) continue;
        if (!tied[p - 1]) first = p - 1, budget = 0;
        int64_t to = p;
        for (; to > first && earlier(distances[to], pairs[to], distances[to - 1], pairs[to - 1]);
             to--) {
            std::swap(distances[to], distances[to - 1]);
            std::swap(pairs[to], pairs[to - 1]);
            if (weights) std::swap(weights[to], weights[to - 1]);
        }
        budget += 8 - (p - to);
        if (budget >= 0) continue;
        while (p < end - begin && tied[p]) p++;
        space.group.clear();
        for (int64_t q = first; q < p; q++)
            space.group.push_back({distances[q], pairs[q], weights ? weights[q] : 1});
        std::sort(space.group.begin(), space.group.end());
        for (int64_t q = first; q < p; q++) {
            const TiedPair& one = space.group[size_t(q - first)];
            distances[q] = one.distance;
            pairs[q] = one.pair;
            if (weights) weights[q] = one.weight;
        }
    }
}

// Isotonic regression of one part; the ends of its pools count all pairs.
void MonotoneRegression::pool(int64_t part, const double* y, int k, Workspace& space) {
    const int64_t begin = edges_[size_t(part)], end = edges_[size_t(part) + 1], size = end - begin;
    const auto& kernel = level().stress;
    space.distances.resize(size_t(size));
    kernel.pair_distances(&all_.pairs[begin], size, y, k, space.distances.data());
    if (all_.tied && break_ties_) sort_ties(begin, end, space.distances.data(), space);
    const bool shared = all_.tied && !break_ties_;
    const double *sums = space.distances.data(), *weights = nullptr;
    int64_t items = size;
    if (shared || all_.weights) {
        space.sums.clear(), space.weights.clear(), space.ends.clear();
        for (int64_t p = begin; p < end; p++) {
            const double w = all_.weights ? all_.weights[p] : 1, distance = sums[p - begin];
            if (shared && all_.tied[p]) {
                space.sums.back() += w * distance;
                space.weights.back() += w;
                space.ends.back()++;
            } else {
                space.sums.push_back(w * distance);
                space.weights.push_back(w);
                space.ends.push_back(p + 1);
            }
        }
        sums = space.sums.data(), weights = space.weights.data();
        items = std::ssize(space.sums);
    }
    space.scratch.resize(size_t(pool_scratch(items)));
    space.pools.resize(size_t(pool_capacity(items)));
    const int64_t found = kernel.pool_adjacent_violators(sums, weights, items, space.scratch.data(),
                                                         space.pools.data());
    auto& to = pooled_[size_t(part)];
    to.assign(space.pools.begin(), space.pools.begin() + found);
    for (Pool& one : to) one.end = weights ? space.ends[size_t(one.end - 1)] : begin + one.end;
}

// Parts are pooled on their own, then their pools together, which gives the same fit.
std::vector<DisparityRun> MonotoneRegression::fit(const Buffer<double>& y, int k, Job& job) {
    std::vector<Workspace> spaces(static_cast<size_t>(job.threads()));
    job.parallel(
        int64_t(pooled_.size()),
        [&](int64_t part, int worker) { pool(part, y.get(), k, spaces[size_t(worker)]); }, 0);
    std::vector<Pool> pools;
    for (const auto& part : pooled_)
        for (Pool next : part) {
            for (; !pools.empty(); pools.pop_back()) {
                const Pool& last = pools.back();
                if (last.sum * next.weight < next.sum * last.weight) break;
                next.sum += last.sum;
                next.weight += last.weight;
            }
            pools.push_back(next);
        }
    double total = 0, squares = 0;
    for (const Pool& one : pools) {
        total += one.weight;
        squares += one.sum / one.weight * one.sum;
    }
    const double scale = squares > 0 ? std::sqrt(total / squares) : 0;
    std::vector<DisparityRun> runs;
    runs.reserve(pools.size());
    for (const Pool& one : pools) runs.push_back({scale * (one.sum / one.weight), one.end});
    return runs;
}

Stress MonotoneRegression::step(Matrix<const double> Y, Matrix<double> moved, Job& job) {
    const int k = int(Y.cols);
    const int64_t n = Y.rows, count = all_.count, row = padded_width(k),
                  width = round_up(n * row, 8);
    const Buffer<double> y = padded_rows(Y);
    const std::vector<DisparityRun> runs = fit(y, k, job);
    // There are as many blocks as memory allows, since each has its own sums.
    const int64_t blocks = std::clamp<int64_t>(count / (4 * width), 1, 32);
    const Buffer<double> sums(blocks * width);
    std::vector<double> totals(size_t(3 * blocks));
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int) {
        const int64_t begin = count * b / blocks, end = count * (b + 1) / blocks;
        const auto run = std::ranges::upper_bound(runs, begin, {}, &DisparityRun::end);
        std::fill_n(&sums[b * width], width, 0.0);
        level().stress.guttman_pairs(all_.pairs.get(), all_.weights ? all_.weights.get() : nullptr,
                                     begin, end, std::to_address(run), y.get(), k, &sums[b * width],
                                     &totals[size_t(3 * b)]);
    });
    for (int64_t b = 1; b < blocks; b++)
        for (int64_t e = 0; e < width; e++) sums[e] += sums[b * width + e];
    for (int64_t i = 0; i < n; i++) std::copy_n(&sums[i * row], k, moved.row(i));
    Stress all;
    for (int64_t b = 0; b < blocks; b++) {
        all.stress += totals[size_t(3 * b)];
        all.size += totals[size_t(3 * b) + 1];
        all.cross += totals[size_t(3 * b) + 2];
    }
    return all;
}

std::vector<MonotoneRegression::Corner> MonotoneRegression::disparity_function(
    Matrix<const double> Y, Job& job) {
    const std::vector<DisparityRun> runs = fit(padded_rows(Y), int(Y.cols), job);
    std::vector<Corner> corners;
    // Adds the disparity of the tied pairs from `first` on. Inside of a constant run there is no
    // corner.
    const auto add_corner = [&](int64_t first, double disparity) {
        const size_t held = corners.size();
        if (held >= 2 && corners[held - 1].disparity == disparity &&
            corners[held - 2].disparity == disparity)
            corners.pop_back();
        corners.push_back({all_.pairs[first], disparity});
    };
    auto run = runs.begin();
    for (int64_t first = 0, last; first < all_.count; first = last) {
        if (!all_.tied) {  // from end to end of a run
            add_corner(first, run->disparity);
            last = std::max(first + 1, run->end - 1);
            run += last == run->end;
            continue;
        }
        for (last = first + 1; last < all_.count && all_.tied[last];) last++;
        if (last <= run->end) {
            add_corner(first, run->disparity);
            run += last == run->end;
            continue;
        }
        double sum = 0, weight = 0;
        for (int64_t p = first; p < last; p++) {
            const double w = all_.weights ? all_.weights[p] : 1;
            sum += w * run->disparity, weight += w;
            run += p + 1 == run->end;
        }
        add_corner(first, sum / weight);
    }
    return corners;
}

}  // namespace lowd
