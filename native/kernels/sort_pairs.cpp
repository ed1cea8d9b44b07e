// Bucket sort of all pairs by their dissimilarity, ties by their indices: the order is unique,
// whatever the threads.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "instantiate.hpp"
#include "lowd/monotone_regression.hpp"
#include "scratch.hpp"

namespace lowd {

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

}  // namespace lowd
