// The k best neighbors of each row so far.
#pragma once

#include <bit>
#include <mutex>

#include "packed.hpp"

namespace lowd::search {

// ---- The lists of the k best so far ----
// Sorted, so that limits are sharp and the order of insertion does not matter. New entries of a
// short list take their place at once, by whole vectors. Those of a long one wait in a short room
// behind it and are merged into it together; the limit is late by few of them
// (the 90 nearest of 70000 rows: 2.0 s instead of 2.9; with a longer room stale limits let too many
// pairs through). Lists lie in the order of the rows while they are worked on: near rows share
// pages.

class Lists {
    static constexpr int64_t MOST_WAIT = 32;

    static constexpr int64_t SHORT = 32;  // lists that are kept sorted at every step

public:
    Lists(const Packed& rows, const Bounds& bounds, Metric metric, int64_t k, Job& job)
        : rows_(rows),
          bounds_(bounds),
          metric_(metric),
          to_filter_(bounds.scale / metric.unit * (bounds.scale / metric.unit)),
          plain_root_(metric.root && metric.factor > 0
                          ? bounds.scale / metric.factor * (1 + 0x1p-46)
                          : HUGE_VAL),
          k_(k),
          room_(k <= SHORT ? 0 : std::min<int64_t>(k / 4, MOST_WAIT)),
          front_(k <= SHORT ? list_front(k) : 0),
          stride_(front_ + k + room_),
          all_ids_(rows.count * stride_),
          all_distances_(rows.count * stride_),
          waiting_(rows.count),
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
                    std::fill_n(ids(r) - front_, stride_, -1);
                    std::fill_n(distances(r) - front_, front_, -HUGE_VAL);
                    std::fill_n(distances(r), stride_ - front_, HUGE_VAL);
                    waiting_[r] = 0;
                    refresh(r);
                }
                loosen(b);
            },
            0);
    }

    void finish(Job& job) {
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++) finish(r);
                loosen(b);
            },
            0);
    }
    void copy_to(Matrix<int32_t> to_ids, Matrix<double> to_distances, Job& job) {
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++) {
                    finish(r);
                    std::copy_n(ids(r), k_, to_ids.row(rows_.order[r]));
                    std::copy_n(distances(r), k_, to_distances.row(rows_.order[r]));
                }
            },
            0);
    }
    // To be read when nothing waits.
    int32_t* ids(int64_t r) const { return &all_ids_[r * stride_ + front_]; }
    double* distances(int64_t r) const {
        return &all_distances_[r * stride_ + front_];
    }
    int64_t k() const { return k_; }

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

    // False: it is not among the nearest, or it is known to be there.
    bool insert(int64_t r, double distance, int32_t id) {
        const int64_t k = k_;
        double* const d = distances(r);
        int32_t* const n = ids(r);
        if (distance > d[k - 1] || (distance == d[k - 1] && id > n[k - 1] && n[k - 1] >= 0))
            return false;
        if (room_) {
            const int64_t at = k + waiting_[r]++;
            d[at] = distance;
            n[at] = id;
            if (waiting_[r] == room_) merge(r);
            return true;
        }
        if (!kit().place(d, n, k, distance, id)) return false;
        refresh(r);
        return true;
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
        double* const d = distances(r);
        int32_t* const n = ids(r);
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
        const int32_t last = ids(r)[k_ - 1];
        if (last < 0) {
            near_[r] = FAR;
            limit_[r] = -FAR;
            return;
        }
        const double distance = distances(r)[k_ - 1];
        double root = distance * plain_root_, square = root * root;
        if (!(1e-100 < root && root < 1e100)) {  // or it is no root
            square = metric_.square(distance) * to_filter_;
            root = std::sqrt(square);
        }
        near_[r] = bounds_.near_limit(root, rows_.reach[r]);
        limit_[r] = bounds_.differences ? -near_[r] : bounds_.product_limit(square);
        if (distance == 0) {
            settled_[r] = last;
            any_settled_[size_t(r / BLOCK)] = 1;
        }
    }

    const Packed& rows_;
    const Bounds& bounds_;
    const Metric metric_;
    const double to_filter_;  // from squares in the metric's unit to those of the filter
    const double plain_root_;  // from distances that are roots to those of the filter
    const int64_t k_, room_;  // room for entries that wait behind each list
    const int64_t front_, stride_;  // lanes in front of each list, and all that it takes
    Buffer<int32_t> all_ids_;
    Buffer<double> all_distances_;
    Buffer<uint8_t> waiting_;
    Buffer<float> limit_, near_;
    Buffer<int32_t> settled_;
    std::vector<std::atomic<float>> loosest_;
    std::vector<char> any_settled_;
    std::vector<std::mutex> locks_;
};

}  // namespace lowd::search
