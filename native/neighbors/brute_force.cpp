// The k smallest of many entries, and nearest neighbors by brute force.

#include <algorithm>
#include <limits>
#include <utility>

#include "base/matrix.hpp"
#include "base/levels.hpp"
#include "base/memory.hpp"
#include "neighbors/neighbors.hpp"

namespace lowd {

namespace {

// Candidates are collected in a buffer; when it is full, all but the k best are dropped. A later
// entry that ties with the worst of the k loses by its index, so `<` decides.
template <class T>
class TopK {
public:
    explicit TopK(int64_t k)
        : k_(k), capacity_(std::max<int64_t>(2 * k, k + 64)), candidates_(capacity_) {}

    void operator()(const T* row, int64_t count, int64_t own, int32_t* ids, double* values) {
        size_ = 0;
        limit_ = std::numeric_limits<T>::infinity();
        full_ = false;
        constexpr int64_t CHUNK = 64;
        for (int64_t from = 0; from < count; from += CHUNK) {
            const int64_t to = std::min(count, from + CHUNK);
            if (full_) {
                int hits = 0;
                for (int64_t j = from; j < to; j++) hits += row[j] < limit_;
                if (!hits) continue;
            }
            for (int64_t j = from; j < to; j++)
                if ((!full_ || row[j] < limit_) && j != own) push(row[j], int32_t(j));
        }
        shrink();
        std::sort(candidates_.get(), candidates_.get() + size_);
        for (int64_t q = 0; q < k_; q++) {
            ids[q] = candidates_[q].second;
            values[q] = double(candidates_[q].first);
        }
    }

private:
    void push(T value, int32_t column) {
        candidates_[size_++] = {value, column};
        if (size_ == capacity_) shrink();
    }
    void shrink() {
        if (size_ <= k_) return;
        std::nth_element(candidates_.get(), candidates_.get() + k_ - 1, candidates_.get() + size_);
        size_ = k_;
        limit_ = candidates_[k_ - 1].first;
        full_ = true;
    }

    const int64_t k_, capacity_;
    Buffer<std::pair<T, int32_t>> candidates_;
    int64_t size_ = 0;
    T limit_ = 0;
    bool full_ = false;
};

}  // namespace

template <class T>
void select(Matrix<const T> D, const int64_t* own, Matrix<int32_t> ids, Matrix<double> values,
            Job& job) {
    constexpr int64_t ROWS = 16;
    if (ids.cols == 0) return;
    const int64_t blocks = ceil_div(D.rows, ROWS);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int) {
        TopK<T> top_k(ids.cols);
        for (int64_t i = b * ROWS; i < std::min(D.rows, (b + 1) * ROWS); i++)
            top_k(D.row(i), D.cols, own ? own[i] : -1, ids.row(i), values.row(i));
    });
}

template <class T>
void nearest(Matrix<const T> Q, Matrix<const T> X, bool among, Metric metric, Matrix<int32_t> ids,
             Matrix<double> distances, Job& job) {
    if (ids.cols == 0) return;
    const auto measure = [&](const T* q, int64_t from, int64_t to, double* out) {
        const auto square = kernels<T>().difference_square;
        for (int64_t j = from; j < to; j++)
            out[j] =
                square(q, X.row(j), X.cols, metric.unit, std::numeric_limits<double>::infinity());
        for (int64_t j = from; j < to; j++) out[j] = metric.distance(out[j]);
    };
    constexpr int64_t ROWS = 4, CHUNK = 512;
    const int64_t chunks = ceil_div(X.rows, CHUNK);
    if (Q.rows < ROWS * job.threads()) {  // with few rows X is split instead
        Buffer<double> all(X.rows);
        job.expect(Q.rows * chunks);
        for (int64_t i = 0; i < Q.rows; i++) {
            job.parallel(chunks, [&](int64_t c, int) {
                measure(Q.row(i), c * CHUNK, std::min(X.rows, (c + 1) * CHUNK), all.get());
            });
            TopK<double> top_k(ids.cols);
            top_k(all.get(), X.rows, among ? i : -1, ids.row(i), distances.row(i));
        }
        return;
    }
    const int64_t blocks = ceil_div(Q.rows, ROWS);
    Scratch<double> scratch(job, ROWS * X.rows);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int worker) {
        const int64_t first = b * ROWS, rows = std::min(ROWS, Q.rows - first);
        double* const all = scratch[worker];
        for (int64_t c = 0; c < chunks; c++)
            for (int64_t i = 0; i < rows; i++)
                measure(Q.row(first + i), c * CHUNK, std::min(X.rows, (c + 1) * CHUNK),
                        all + i * X.rows);
        TopK<double> top_k(ids.cols);
        for (int64_t i = 0; i < rows; i++)
            top_k(all + i * X.rows, X.rows, among ? first + i : -1, ids.row(first + i),
                  distances.row(first + i));
    });
}

#define INSTANTIATE(T)                                                                            \
    template void select(Matrix<const T>, const int64_t*, Matrix<int32_t>, Matrix<double>, Job&); \
    template void nearest(Matrix<const T>, Matrix<const T>, bool, Metric, Matrix<int32_t>,        \
                          Matrix<double>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
