// Lists of neighbors bettered by the neighbors of neighbors (Dong, Moses and Li, 2011).
#pragma once

#include "best.hpp"
#include "meeting.hpp"

namespace lowd::search {

// Rows met so far. Small enough to stay in the nearest cache.
class Met {
public:
    explicit Met(int64_t most) {
        while (mask_ < 3 * most / 2) mask_ = 2 * mask_ + 1;
        table_.resize(size_t(mask_ + 1));
    }
    void clear() { std::fill(table_.begin(), table_.end(), NOBODY); }
    bool add(int32_t row) {
        auto at = size_t(uint32_t(row) * 0x9e3779b1u >> 8 & uint32_t(mask_));
        for (; table_[at] != NOBODY; at = (at + 1) & size_t(mask_))
            if (table_[at] == row) return false;
        table_[at] = row;
        return true;
    }

private:
    static constexpr int32_t NOBODY = -1;
    int64_t mask_ = 63;
    std::vector<int32_t> table_;
};

// Whom each row knows: its nearest so far, and the nearest of those that have it among theirs; some
// of each. Rows are named by their place in the order of the search.
class Acquaintances {
public:
    Acquaintances(const Packed& rows, int64_t listed)
        : rows_(rows),
          k_(std::min<int64_t>(listed, SOME)),
          place_(rows.count),
          known_(rows.count * 2 * k_, NOBODY) {
        for (int64_t r = 0; r < rows.count; r++) place_[rows.order[r]] = int32_t(r);
    }

    // Takes the lists as they are now; the share of entries that are fresh.
    double update(const Lists& lists, Job& job) {
        admirers(lists, job);
        std::vector<int64_t> fresh(size_t(rows_.blocks));
        Scratch<int32_t> scratch(job, 4 * k_);
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int worker) {
                int32_t *const now = scratch[worker], *const before = now + 2 * k_;
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++)
                    fresh[size_t(b)] += renew(r, lists, now, before);
            },
            0);
        const auto all = std::accumulate(fresh.begin(), fresh.end(), int64_t(0));
        return double(all) / double(2 * k_ * rows_.count);
    }

    // The rows that r has not met: fresh admirers, and whom those that it knows know, where one of
    // the two steps is fresh.
    template <class F>
    void strangers(int64_t r, Met& met, F&& f) const {
        met.clear();
        met.add(int32_t(r));
        const int32_t *const mine = begin(r), *const last = mine + 2 * k_;
        for (const int32_t* a = mine; a < last; a++) {
            if (*a == NOBODY) continue;
            if (met.add(row(*a)) && a >= mine + k_ && fresh(*a)) f(row(*a));
            __builtin_prefetch(begin(row(*a)));
            __builtin_prefetch(begin(row(*a)) + 2 * k_ - 1);
        }
        for (const int32_t* a = mine; a < last; a++) {
            if (*a == NOBODY) continue;
            const int32_t *const theirs = begin(row(*a)), either = *a & FRESH;
            for (int64_t q = 0; q < 2 * k_; q++)
                if (const int32_t c = theirs[q];
                    c != NOBODY && ((c | either) & FRESH) && met.add(row(c)))
                    f(row(c));
        }
    }
    Met meeting() const { return Met((2 * k_ + 1) * (2 * k_ + 1)); }

private:
    const int32_t* begin(int64_t r) const { return &known_[2 * k_ * r]; }

    static int32_t row(int32_t entry) { return entry & ~FRESH; }
    // Not known to this row in the round before: only a path with a new step leads to a new row.
    static bool fresh(int32_t entry) { return entry & FRESH; }
    static constexpr int32_t NOBODY = -1;
    static constexpr int32_t FRESH = 1 << 30;
    static constexpr int64_t SOME = 24;  // a round looks at the square of twice as many

    // For each row the edges r k + q, by which row r has it among its nearest.
    void admirers(const Lists& lists, Job& job) {
        const int64_t edges = rows_.count * k_;
        if (!to_.get()) to_ = Buffer<int32_t>(edges), by_ = Buffer<int64_t>(edges);
        first_.assign(size_t(rows_.count + 1), 0);
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++)
                    for (int64_t q = 0; q < k_; q++) {
                        const int32_t id = lists.ids(r)[q];
                        to_[r * k_ + q] = id < 0 ? NOBODY : place_[id];
                    }
            },
            0);
        for (int64_t e = 0; e < edges; e++)
            if (to_[e] >= 0) first_[size_t(to_[e]) + 1]++;
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        std::vector<int64_t> next(first_.begin(), first_.end() - 1);
        for (int64_t e = 0; e < edges; e++)
            if (to_[e] >= 0) by_[next[size_t(to_[e])]++] = e;
    }

    int64_t renew(int64_t r, const Lists& lists, int32_t* now, int32_t* before) {
        int32_t* const known = &known_[2 * k_ * r];
        for (int64_t q = 0; q < 2 * k_; q++)
            before[q] = known[q] == NOBODY ? NOBODY : row(known[q]);
        std::copy_n(&to_[r * k_], k_, now);
        std::fill_n(now + k_, k_, NOBODY);
        int64_t *const first = &by_[first_[size_t(r)]], *const last = &by_[first_[size_t(r) + 1]];
        const int64_t many = std::min<int64_t>(k_, last - first);
        if (many < last - first)
            std::nth_element(first, first + many, last, [&](int64_t a, int64_t b) {
                return std::pair(length(lists, a), a) < std::pair(length(lists, b), b);
            });
        int64_t count = k_;
        for (int64_t e = 0; e < many; e++) {
            const auto other = int32_t(first[e] / k_);
            if (!among(other, now, k_)) now[count++] = other;
        }
        int64_t fresh = 0;
        for (int64_t q = 0; q < 2 * k_; q++) {
            const bool is_new = now[q] != NOBODY && !among(now[q], before, 2 * k_);
            known[q] = is_new ? now[q] | FRESH : now[q];
            fresh += is_new;
        }
        return fresh;
    }

    double length(const Lists& lists, int64_t edge) const {
        return lists.distances(edge / k_)[edge % k_];
    }
    static bool among(int32_t row, const int32_t* rows, int64_t count) {
        int found = 0;
        for (int64_t q = 0; q < count; q++) found |= rows[q] == row;
        return found;
    }

    const Packed& rows_;
    const int64_t k_;
    Buffer<int32_t> place_, known_, to_;
    Buffer<int64_t> by_;
    std::vector<int64_t> first_;
};

}  // namespace lowd::search
