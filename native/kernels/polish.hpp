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
// of each. Rows are named by their place in the order of the search. What a row did not know in the
// round before is fresh: only a path with a fresh step leads to a stranger.
class Acquaintances {
public:
    Acquaintances(const Packed& rows, int64_t listed)
        : rows_(rows),
          k_(std::min<int64_t>(listed, SOME)),
          place_(rows.count),
          known_(rows.count * 2 * k_, NOBODY),
          fresh_(rows.count) {
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
        const int32_t *const mine = begin(r), new_ones = fresh_[r];
        for (int64_t a = 0; a < 2 * k_ && mine[a] != NOBODY; a++) {
            if (met.add(row(mine[a])) && a < new_ones && !listed(mine[a])) f(row(mine[a]));
            __builtin_prefetch(begin(row(mine[a])));
            __builtin_prefetch(begin(row(mine[a])) + 2 * k_ - 1);
        }
        for (int64_t a = 0; a < 2 * k_ && mine[a] != NOBODY; a++) {
            const int32_t* const theirs = begin(row(mine[a]));
            const int64_t some = a < new_ones ? 2 * k_ : fresh_[row(mine[a])];
            for (int64_t c = 0; c < some && theirs[c] != NOBODY; c++)
                if (met.add(row(theirs[c]))) f(row(theirs[c]));
        }
    }
    Met meeting() const { return Met((2 * k_ + 1) * (2 * k_ + 1)); }

private:
    const int32_t* begin(int64_t r) const { return &known_[2 * k_ * r]; }

    static int32_t row(int32_t entry) { return entry & ~LISTED; }
    static bool listed(int32_t entry) { return entry & LISTED; }
    static constexpr int32_t NOBODY = -1, LISTED = 1 << 30;
    static constexpr int64_t SOME = 24;  // a round looks at the square of twice as many

    // For each row the edges r k + q, by which row r has it among its nearest.
    void admirers(const Lists& lists, Job& job) {
        const int64_t edges = rows_.count * k_;
        if (!to_.get()) to_ = Buffer<int32_t>(edges), by_ = Buffer<int64_t>(edges);
        first_.assign(size_t(rows_.count + 2), 0);  // begins move to ends while they are used
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
        // Every worker reads all edges and keeps those to its own rows: so they stay in order.
        const auto each_edge = [&](auto&& body) {
            constexpr int64_t RANGES = 4;
            job.parallel(
                RANGES,
                [&](int64_t range, int) {
                    const int64_t low = rows_.count * range / RANGES,
                                  size = rows_.count * (range + 1) / RANGES - low;
                    for (int64_t e = 0; e < edges; e++)
                        if (uint64_t(to_[e] - low) < uint64_t(size)) body(e, size_t(to_[e]));
                },
                0);
        };
        each_edge([&](int64_t, size_t to) { first_[to + 2]++; });
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        each_edge([&](int64_t e, size_t to) { by_[first_[to + 1]++] = e; });
    }

    // What row r knows now, what is new first; how much that is.
    int64_t renew(int64_t r, const Lists& lists, int32_t* now, int32_t* before) {
        int32_t* const known = &known_[2 * k_ * r];
        for (int64_t q = 0; q < 2 * k_; q++)
            before[q] = known[q] == NOBODY ? NOBODY : row(known[q]);
        int64_t* const first = &by_[first_[size_t(r)]];
        const int64_t admirers = first_[size_t(r) + 1] - first_[size_t(r)],
                      many = std::min(k_, admirers);
        if (many < admirers)
            std::nth_element(first, first + many, first + admirers, [&](int64_t a, int64_t b) {
                return std::pair(length(lists, a), a) < std::pair(length(lists, b), b);
            });
        int64_t own = 0;
        while (own < k_ && to_[r * k_ + own] != NOBODY) now[own] = to_[r * k_ + own], own++;
        int64_t count = own;
        for (int64_t e = 0; e < many; e++) {
            const auto other = int32_t(first[e] / k_);
            if (!among(other, now, own)) now[count++] = other;
        }
        int64_t at = 0;
        for (int64_t q = 0; q < count; q++) {
            const bool is_new = !among(now[q], before, 2 * k_);
            now[q] |= q < own ? LISTED : 0;
            if (is_new) known[at++] = now[q], now[q] = NOBODY;
        }
        const int64_t fresh = at;
        for (int64_t q = 0; q < count; q++)
            if (now[q] != NOBODY) known[at++] = now[q];
        std::fill_n(known + at, 2 * k_ - at, NOBODY);
        fresh_[r] = int32_t(fresh);
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
    Buffer<int32_t> place_, known_, fresh_, to_;
    Buffer<int64_t> by_;
    std::vector<int64_t> first_;
};

}  // namespace lowd::search
