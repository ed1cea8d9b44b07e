// The k best neighbors of each row so far.
#pragma once

#include <mutex>

#include "packed.hpp"

namespace lowd::search {

// ---- The lists of the k best so far ----
// Always sorted, so that limits are always sharp and the order of insertion does not matter. (To
// collect and select later is cheaper per entry, but stale limits let more pairs through.) They lie
// in the order of the rows while they are worked on: near rows share pages.

class Lists {
public:
    Lists(const Packed& rows, const Bounds& bounds, Metric metric, Matrix<int32_t> ids,
          Matrix<double> distances, Job& job)
        : rows_(rows),
          bounds_(bounds),
          metric_(metric),
          to_filter_(bounds.scale / metric.unit * (bounds.scale / metric.unit)),
          k_(ids.cols),
          ids_(rows.count * k_),
          distances_(rows.count * k_),
          limit_(rows.blocks * BLOCK),
          near_(rows.blocks * BLOCK),
          settled_(rows.blocks * BLOCK),
          loosest_(size_t(rows.blocks)),
          any_settled_(size_t(rows.blocks), 0),
          locks_(size_t(rows.blocks)) {
        job.parallel(
            rows.blocks,
            [&](int64_t b, int) {
                std::fill_n(&limit_[b * BLOCK], BLOCK, FAR);
                std::fill_n(&near_[b * BLOCK], BLOCK, -1.0f);
                std::fill_n(&settled_[b * BLOCK], BLOCK, INT32_MAX);
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++) {
                    std::copy_n(ids.row(rows.order[r]), k_, &ids_[r * k_]);
                    std::copy_n(distances.row(rows.order[r]), k_, &distances_[r * k_]);
                    refresh(r);
                }
                loosen(b);
            },
            0);
    }

    void copy_to(Matrix<int32_t> ids, Matrix<double> distances, Job& job) const {
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++) {
                    std::copy_n(&ids_[r * k_], k_, ids.row(rows_.order[r]));
                    std::copy_n(&distances_[r * k_], k_, distances.row(rows_.order[r]));
                }
            },
            0);
    }
    const int32_t* ids(int64_t r) const { return &ids_[r * k_]; }
    double distance(int64_t edge) const { return distances_[edge]; }  // r k + its number in row r

    std::mutex& lock(int64_t b) { return locks_[size_t(b)]; }
    float loosest(int64_t b) const { return loosest_[size_t(b)].load(std::memory_order_relaxed); }
    void loosen(int64_t b) {
        loosest_[size_t(b)].store(*std::max_element(&near_[b * BLOCK], &near_[b * BLOCK] + BLOCK),
                                  std::memory_order_relaxed);
    }
    // Limits for rows whose partners are numbered from `least` on. A full list of copies wants
    // nothing from higher numbers: without this, equal rows would all be compared with each other.
    void copy_limits(int64_t b, int64_t first, int64_t count, int32_t least, float* limit,
                     float* near) const {
        std::copy_n(&limit_[first], count, limit);
        std::copy_n(&near_[first], count, near);
        if (any_settled_[size_t(b)])
            for (int64_t r = 0; r < count; r++)
                if (settled_[first + r] < least) {
                    limit[r] = FAR;
                    near[r] = -1;
                }
    }
    float near(int64_t r) const { return near_[r]; }
    double to_filter() const { return to_filter_; }
    const Metric& metric() const { return metric_; }

    void insert(int64_t r, double distance, int32_t id) {
        const int64_t k = k_;
        double* const d = &distances_[r * k];
        int32_t* const n = &ids_[r * k];
        if (distance > d[k - 1] || (distance == d[k - 1] && id > n[k - 1] && n[k - 1] >= 0)) return;
        int64_t at = std::lower_bound(d, d + k, distance) - d;
        while (at < k && d[at] == distance && n[at] < id && n[at] >= 0) at++;
        if (at == k || (d[at] == distance && n[at] == id)) return;
        std::memmove(d + at + 1, d + at, size_t(k - 1 - at) * sizeof *d);
        std::memmove(n + at + 1, n + at, size_t(k - 1 - at) * sizeof *n);
        d[at] = distance;
        n[at] = id;
        refresh(r);
    }

private:
    void refresh(int64_t r) {
        const int64_t last = r * k_ + k_ - 1;
        if (ids_[last] < 0) {
            near_[r] = FAR;
            limit_[r] = -FAR;
            return;
        }
        const double distance = distances_[last];
        const double square = metric_.square(distance) * to_filter_;
        near_[r] = bounds_.near_limit(square, rows_.reach[r]);
        limit_[r] = bounds_.differences ? -near_[r] : bounds_.product_limit(square);
        if (distance == 0) {
            settled_[r] = ids_[last];
            any_settled_[size_t(r / BLOCK)] = 1;
        }
    }

    const Packed& rows_;
    const Bounds& bounds_;
    const Metric metric_;
    const double to_filter_;  // from squares in the metric's unit to those of the filter
    const int64_t k_;
    Buffer<int32_t> ids_;
    Buffer<double> distances_;
    Buffer<float> limit_, near_;
    Buffer<int32_t> settled_;
    std::vector<std::atomic<float>> loosest_;
    std::vector<char> any_settled_;
    std::vector<std::mutex> locks_;
};

}  // namespace lowd::search
