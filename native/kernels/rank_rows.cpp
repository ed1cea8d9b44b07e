// Ranks of the entries of each row, by radix sort.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "instantiate.hpp"
#include "lowd/buffer.hpp"
#include "lowd/ranks.hpp"

namespace lowd {

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

#define INSTANTIATE(T) \
    template void rank_rows(Matrix<const T>, const int64_t*, Matrix<int32_t>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
