// The k best neighbors of each row so far.
#pragma once

#include <bit>
#include <mutex>

#include "packed.hpp"

namespace lowd::search {

// ---- The lists of the k best so far ----
// Sorted, so that limits are sharp and the order of insertion does not matter. New entries wait in
// a short room behind a long list and are merged into it together; the limit is late by few of them
// (the 90 nearest of 70000 rows: 2.0 s instead of 2.9; with a longer room stale limits let too many
// pairs through). Lists lie in the order of the rows while they are worked on: near rows share
// pages.

class Lists {
    static constexpr int64_t MOST_WAIT = 32;

public:
    Lists(const Packed& rows, const Bounds& bounds, Metric metric, Matrix<int32_t> ids,
          Matrix<double> distances, Job& job)
        : rows_(rows),
          bounds_(bounds),
          metric_(metric),
          to_filter_(bounds.scale / metric.unit * (bounds.scale / metric.unit)),
          k_(ids.cols),
          room_(k_ / 4 < 3 ? 0 : std::min<int64_t>(k_ / 4, MOST_WAIT)),
          stride_(k_ + room_),
          ids_(rows.count * stride_),
          distances_(rows.count * stride_),
          waiting_(rows.count, uint8_t(0)),
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
                    std::copy_n(ids.row(rows.order[r]), k_, &ids_[r * stride_]);
                    std::copy_n(distances.row(rows.order[r]), k_, &distances_[r * stride_]);
                    refresh(r);
                }
                loosen(b);
            },
            0);
    }

    void copy_to(Matrix<int32_t> ids, Matrix<double> distances, Job& job) {
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++) {
                    finish(r);
                    std::copy_n(&ids_[r * stride_], k_, ids.row(rows_.order[r]));
                    std::copy_n(&distances_[r * stride_], k_, distances.row(rows_.order[r]));
                }
            },
            0);
    }
    // To be read when nothing waits.
    const int32_t* ids(int64_t r) const { return &ids_[r * stride_]; }
    const double* distances(int64_t r) const { return &distances_[r * stride_]; }

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
        double* const d = &distances_[r * stride_];
        int32_t* const n = &ids_[r * stride_];
        if (distance > d[k - 1] || (distance == d[k - 1] && id > n[k - 1] && n[k - 1] >= 0)) return;
        if (room_) {
            const int64_t at = k + waiting_[r]++;
            d[at] = distance;
            n[at] = id;
            if (waiting_[r] == room_) merge(r);
            return;
        }
        int64_t at = std::lower_bound(d, d + k, distance) - d;
        while (at < k && d[at] == distance && n[at] < id && n[at] >= 0) at++;
        if (at == k || (d[at] == distance && n[at] == id)) return;
        std::memmove(d + at + 1, d + at, size_t(k - 1 - at) * sizeof *d);
        std::memmove(n + at + 1, n + at, size_t(k - 1 - at) * sizeof *n);
        d[at] = distance;
        n[at] = id;
        refresh(r);
    }
    void finish(int64_t r) {
        if (waiting_[r]) merge(r);
    }

private:
    // The entries that wait take their places in the list; one that is there already does not.
    // Distances are compared by their bits: where they are not below 0 the order is the same.
    void merge(int64_t r) {
        thread_local std::vector<int64_t> old_d;
        thread_local std::vector<int32_t> old_n;
        double* const d = &distances_[r * stride_];
        int32_t* const n = &ids_[r * stride_];
        int64_t fresh_d[MOST_WAIT + 1];
        int32_t fresh_n[MOST_WAIT + 1];
        const int64_t count = waiting_[r];
        waiting_[r] = 0;
        for (int64_t w = 0; w < count; w++) {
            const auto distance = std::bit_cast<int64_t>(d[k_ + w]);
            const int32_t id = n[k_ + w];
            int64_t at = w;
            for (; at && (distance < fresh_d[at - 1] ||
                          (distance == fresh_d[at - 1] && id < fresh_n[at - 1]));
                 at--) {
                fresh_d[at] = fresh_d[at - 1];
                fresh_n[at] = fresh_n[at - 1];
            }
            fresh_d[at] = distance;
            fresh_n[at] = id;
        }
        fresh_d[count] = INT64_MAX;
        fresh_n[count] = -1;
        const int64_t from = std::lower_bound(d, d + k_, std::bit_cast<double>(fresh_d[0])) - d;
        old_d.resize(size_t(k_ - from));
        old_n.resize(size_t(k_ - from));
        std::memcpy(old_d.data(), d + from, size_t(k_ - from) * sizeof *d);
        std::memcpy(old_n.data(), n + from, size_t(k_ - from) * sizeof *n);
        const int64_t *a = old_d.data(), *b = fresh_d;
        const int32_t *na = old_n.data(), *nb = fresh_n;
        for (int64_t at = from; at < k_; at++) {
            bool second = *b < *a;
            if (*a == *b) [[unlikely]] {
                if (*na == *nb) b++, nb++;
                second = *b == *a && uint32_t(*nb) < uint32_t(*na);
            }
            d[at] = std::bit_cast<double>(second ? *b : *a);
            n[at] = second ? *nb : *na;
            b += second, nb += second;
            a += !second, na += !second;
        }
        refresh(r);
    }

    void refresh(int64_t r) {
        const int64_t last = r * stride_ + k_ - 1;
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
    const int64_t k_, room_, stride_;  // room for entries that wait behind each list
    Buffer<int32_t> ids_;
    Buffer<double> distances_;
    Buffer<uint8_t> waiting_;
    Buffer<float> limit_, near_;
    Buffer<int32_t> settled_;
    std::vector<std::atomic<float>> loosest_;
    std::vector<char> any_settled_;
    std::vector<std::mutex> locks_;
};

}  // namespace lowd::search
