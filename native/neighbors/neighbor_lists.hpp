// The k nearest neighbors of each row found so far.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <vector>

#include "neighbors/index.hpp"

namespace lowd::search {

// Lists are sorted, so that limits are sharp and the order of insertion does not matter. New
// entries of a short list are inserted at once, by whole vectors. Those of a long one are pending
// in a short buffer behind it and are merged together; the limit lags by few of them (the 90
// nearest of 70000 rows: 2.0 s instead of 2.9; with a longer buffer stale limits let too many pairs
// through). Lists are in the order of the packed rows: near rows share pages.
class NeighborLists {
    static constexpr int64_t MAX_PENDING = 32;
    static constexpr int64_t MAX_SORTED_K = 32;  // lists up to this length are kept sorted

public:
    NeighborLists(const PackedRows& rows, const FilterBounds& bounds, Metric metric, int64_t k,
                  Job& job)
        : rows_(rows),
          bounds_(bounds),
          metric_(metric),
          to_filter_(bounds.scale / metric.unit * (bounds.scale / metric.unit)),
          plain_root_(metric.root && metric.factor > 0
                          ? bounds.scale / metric.factor * (1 + 0x1p-46)
                          : HUGE_VAL),
          k_(k),
          pending_capacity_(k <= MAX_SORTED_K ? 0 : std::min<int64_t>(k / 4, MAX_PENDING)),
          front_(k <= MAX_SORTED_K ? list_front(k) : 0),
          stride_(front_ + k + pending_capacity_),
          all_ids_(rows.count * stride_),
          all_distances_(rows.count * stride_),
          pending_(rows.count),
          limit_(rows.blocks * BLOCK),
          difference_limit_(rows.blocks * BLOCK),
          last_duplicate_(rows.blocks * BLOCK),
          block_limit_(size_t(rows.blocks)),
          any_duplicates_(size_t(rows.blocks), 0),
          locks_(size_t(rows.blocks)) {
        job.parallel(
            rows.blocks,
            [&](int64_t b, int) {
                std::fill_n(&limit_[b * BLOCK], BLOCK, NO_LIMIT);
                std::fill_n(&difference_limit_[b * BLOCK], BLOCK, -1.0f);
                std::fill_n(&last_duplicate_[b * BLOCK], BLOCK, INT32_MAX);
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++) {
                    std::fill_n(ids(r) - front_, stride_, -1);
                    std::fill_n(distances(r) - front_, front_, -HUGE_VAL);
                    std::fill_n(distances(r), stride_ - front_, HUGE_VAL);
                    pending_[r] = 0;
                    difference_limit_[r] = NO_LIMIT;
                    limit_[r] = -NO_LIMIT;
                }
                update_block_limit(b);
            },
            0);
    }

    void finish(Job& job) {
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++) finish(r);
                update_block_limit(b);
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
    // To be read when nothing is pending.
    int32_t* ids(int64_t r) const { return &all_ids_[r * stride_ + front_]; }
    double* distances(int64_t r) const { return &all_distances_[r * stride_ + front_]; }
    int64_t k() const { return k_; }

    std::mutex& lock(int64_t b) { return locks_[size_t(b)]; }
    float block_limit(int64_t b) const {
        return block_limit_[size_t(b)].load(std::memory_order_relaxed);
    }
    void update_block_limit(int64_t b) {
        block_limit_[size_t(b)].store(
            *std::max_element(&difference_limit_[b * BLOCK], &difference_limit_[b * BLOCK] + BLOCK),
            std::memory_order_relaxed);
    }
    // Limits for rows whose partners have indices from `least` on. A list full of duplicates takes
    // no higher index: without this, all equal rows would be compared with each other.
    void copy_limits(int64_t b, int64_t first, int64_t count, int32_t least, float* limit,
                     float* difference_limit) const {
        std::copy_n(&limit_[first], count, limit);
        std::copy_n(&difference_limit_[first], count, difference_limit);
        if (any_duplicates_[size_t(b)])
            for (int64_t r = 0; r < count; r++)
                if (last_duplicate_[first + r] < least) {
                    limit[r] = NO_LIMIT;
                    difference_limit[r] = -1;
                }
    }
    float difference_limit(int64_t r) const { return difference_limit_[r]; }
    double to_filter() const { return to_filter_; }
    const Metric& metric() const { return metric_; }

    // Valid as long as the list is not full: k rows within this distance of row r are known.
    void set_limit(int64_t r, double distance) {
        double root = distance * plain_root_, square = root * root;
        if (!(1e-100 < root && root < 1e100)) {  // this also excludes what is not a root
            square = metric_.square(distance) * to_filter_;
            root = std::sqrt(square);
        }
        set_filter_limit(r, root, square);
    }
    // The same in units of the filter.
    void set_filter_limit(int64_t r, double root, double square) {
        difference_limit_[r] = bounds_.difference_limit(root, rows_.slack[r]);
        limit_[r] = bounds_.differences ? -difference_limit_[r] : bounds_.product_limit(square);
    }
    // Returns false if it is not among the k nearest, is pending, or is in the list already.
    bool insert(int64_t r, double distance, int32_t id) {
        const int64_t k = k_;
        double* const d = distances(r);
        int32_t* const n = ids(r);
        if (distance > d[k - 1] || (distance == d[k - 1] && id > n[k - 1] && n[k - 1] >= 0))
            return false;
        if (pending_capacity_) {
            const int64_t at = k + pending_[r]++;
            d[at] = distance;
            n[at] = id;
            if (pending_[r] == pending_capacity_) merge(r);
            return true;
        }
        if (!search_kernels().insert_sorted(d, n, k, distance, id)) return false;
        refresh(r);
        return true;
    }
    void finish(int64_t r) {
        if (pending_[r]) merge(r);
    }

private:
    // Merges the pending entries into the list, each once. Distances are compared by their
    // bits: of numbers that are not negative the order is the same.
    void merge(int64_t r) {
        thread_local std::vector<int64_t> old_d;
        thread_local std::vector<int32_t> old_n;
        double* const d = distances(r);
        int32_t* const n = ids(r);
        int64_t fresh_d[MAX_PENDING + 1];
        int32_t fresh_n[MAX_PENDING + 1];
        const int64_t count = pending_[r];
        pending_[r] = 0;
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
                // The entry at `count` ends the fresh ones, and no other has its distance.
                // NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult)
                if (*na == *nb) b++, nb++;
                second = *b == *a && uint32_t(*nb) < uint32_t(*na);
                // NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult)
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
        if (last < 0) return;
        const double distance = distances(r)[k_ - 1];
        set_limit(r, distance);
        if (distance == 0) {
            last_duplicate_[r] = last;
            any_duplicates_[size_t(r / BLOCK)] = 1;
        }
    }

    const PackedRows& rows_;
    const FilterBounds& bounds_;
    const Metric metric_;
    const double to_filter_;  // converts squares in the metric's unit to squares of the filter
    const double plain_root_;  // converts distances that are roots to distances of the filter
    const int64_t k_, pending_capacity_;  // space for pending entries behind each list
    const int64_t front_, stride_;  // lanes before each list, and its total number of entries
    Buffer<int32_t> all_ids_;
    Buffer<double> all_distances_;
    Buffer<uint8_t> pending_;
    Buffer<float> limit_, difference_limit_;
    Buffer<int32_t> last_duplicate_;
    std::vector<std::atomic<float>> block_limit_;
    std::vector<char> any_duplicates_;
    std::vector<std::mutex> locks_;
};

}  // namespace lowd::search
