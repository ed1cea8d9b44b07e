// NN-descent (Dong, Moses and Li, 2011): the neighbors of neighbors are candidates, and their own
// neighbors as long as they are nearer.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "compared_groups.hpp"
#include "neighbor_lists.hpp"
#include "original_rows.hpp"
#include "row_set.hpp"
#include "scratch.hpp"

namespace lowd::search {

// Pruning of a pair of rows: by their projections if they are stored, or by the rows themselves.
template <class T>
struct PairFilter {
    const FilterBounds& bounds;
    const OriginalRows<T>& originals;
    const PackedRows& rows;
    const bool refined;

    void prefetch(int64_t r) const {
        refined ? prefetch(&rows.rows[r * bounds.features], bounds.features)
                : prefetch(originals[r], bounds.cols);
    }
    bool surely_farther(int64_t a, int64_t b, float limit) const {
        const int64_t m = bounds.features;
        return refined ? gap(&rows.rows[a * m], &rows.rows[b * m], m, 1, limit) > limit
                       : search::surely_farther(originals[a], originals[b], bounds, limit);
    }

private:
    template <class F>
    static void prefetch(const F* row, int64_t size) {
        constexpr int64_t LINE = 64 / sizeof(F), LINES = 4;
        for (int64_t l = 0; l < std::min(size, LINES * LINE); l += LINE)
            __builtin_prefetch(row + l);
    }
};

// Forward and reverse neighbors of each row: its nearest so far, and the nearest of those that have
// it among theirs; some of each. Rows are given by their position in the order of the search.
// Neighbors that a row did not have in the round before are fresh: only a path with a fresh edge
// leads to a new candidate.
class NeighborGraph {
public:
    NeighborGraph(const PackedRows& rows, int64_t k, Job& job)
        : rows_(rows),
          k_(std::min<int64_t>(k, MAX_NEIGHBORS)),
          position_(rows.count),
          neighbors_(rows.count * 2 * k_),
          fresh_(rows.count) {
        job.parallel(
            rows.blocks,
            [&](int64_t b, int) {
                std::fill_n(&neighbors_[b * BLOCK * 2 * k_], rows.size(b) * 2 * k_, NONE);
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++)
                    position_[rows.order[r]] = int32_t(r);
            },
            0);
    }

    // Takes the present lists.
    void update(const NeighborLists& lists, Job& job) {
        find_reverse_neighbors(lists, job);
        Scratch<int32_t> scratch(job, 4 * k_);
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int worker) {
                int32_t *const now = scratch[worker], *const before = now + 2 * k_;
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++)
                    update_row(r, lists, now, before);
            },
            0);
    }

    // Rows that have not been compared with r: fresh reverse neighbors, and neighbors of neighbors
    // where one of the two edges is fresh. Rows of groups that `compared` holds are left out.
    template <class F>
    void candidates(int64_t r, const ComparedGroups::Mask& compared, RowSet& seen, F&& f) const {
        seen.clear();
        seen.add(int32_t(r));
        const int32_t *const mine = begin(r), fresh = fresh_[r];
        for (int64_t a = 0; a < 2 * k_ && mine[a] != NONE; a++) {
            if (seen.add(row(mine[a])) && a < fresh && !forward(mine[a]) &&
                !compared.holds(row(mine[a])))
                f(row(mine[a]));
            __builtin_prefetch(begin(row(mine[a])));
            __builtin_prefetch(begin(row(mine[a])) + 2 * k_ - 1);
        }
        for (int64_t a = 0; a < 2 * k_ && mine[a] != NONE; a++)
            some_neighbors(row(mine[a]), a < fresh ? 2 * k_ : fresh_[row(mine[a])], compared, seen,
                           f);
    }
    // The neighbors of r that are not in `seen`.
    template <class F>
    void neighbors(int64_t r, const ComparedGroups::Mask& compared, RowSet& seen, F&& f) const {
        some_neighbors(r, 2 * k_, compared, seen, f);
    }

private:
    const int32_t* begin(int64_t r) const { return &neighbors_[2 * k_ * r]; }
    template <class F>
    void some_neighbors(int64_t r, int64_t count, const ComparedGroups::Mask& compared,
                        RowSet& seen, F&& f) const {
        const int32_t* const neighbors = begin(r);
        for (int64_t c = 0; c < count && neighbors[c] != NONE; c++)
            if (!compared.holds(row(neighbors[c])) && seen.add(row(neighbors[c])))
                f(row(neighbors[c]));
    }

    static int32_t row(int32_t entry) { return entry & ~FORWARD; }
    static bool forward(int32_t entry) { return entry & FORWARD; }
    static constexpr int32_t NONE = -1, FORWARD = 1 << 30;
    static constexpr int64_t MAX_NEIGHBORS = 24;  // a round has up to (2 * 24)^2 candidates per row

    // For each row the edges r k + q, by which it is neighbor q of row r.
    void find_reverse_neighbors(const NeighborLists& lists, Job& job) {
        const int64_t edges = rows_.count * k_;
        if (!to_.get()) to_ = Buffer<int32_t>(edges), by_ = Buffer<int64_t>(edges);
        first_.assign(size_t(rows_.count + 2), 0);  // begins move to ends while they are used
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++)
                    for (int64_t q = 0; q < k_; q++) {
                        const int32_t id = lists.ids(r)[q];
                        to_[r * k_ + q] = id < 0 ? NONE : position_[id];
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

    // The neighbors of row r now, fresh ones first.
    void update_row(int64_t r, const NeighborLists& lists, int32_t* now, int32_t* before) {
        int32_t* const neighbors = &neighbors_[2 * k_ * r];
        for (int64_t q = 0; q < 2 * k_; q++)
            before[q] = neighbors[q] == NONE ? NONE : row(neighbors[q]);
        int64_t* const first = &by_[first_[size_t(r)]];
        const int64_t reverse = first_[size_t(r) + 1] - first_[size_t(r)],
                      many = std::min(k_, reverse);
        if (many < reverse)
            std::nth_element(first, first + many, first + reverse, [&](int64_t a, int64_t b) {
                return std::pair(length(lists, a), a) < std::pair(length(lists, b), b);
            });
        int64_t own = 0;
        while (own < k_ && to_[r * k_ + own] != NONE) now[own] = to_[r * k_ + own], own++;
        int64_t count = own;
        for (int64_t e = 0; e < many; e++) {
            const auto other = int32_t(first[e] / k_);
            if (!among(other, now, own)) now[count++] = other;
        }
        int64_t at = 0;
        for (int64_t q = 0; q < count; q++) {
            const bool is_new = !among(now[q], before, 2 * k_);
            now[q] |= q < own ? FORWARD : 0;
            if (is_new) neighbors[at++] = now[q], now[q] = NONE;
        }
        fresh_[r] = int32_t(at);
        for (int64_t q = 0; q < count; q++)
            if (now[q] != NONE) neighbors[at++] = now[q];
        std::fill_n(neighbors + at, 2 * k_ - at, NONE);
    }

    double length(const NeighborLists& lists, int64_t edge) const {
        return lists.distances(edge / k_)[edge % k_];
    }
    static bool among(int32_t row, const int32_t* rows, int64_t count) {
        int found = 0;
        for (int64_t q = 0; q < count; q++) found |= rows[q] == row;
        return found;
    }

    const PackedRows& rows_;
    const int64_t k_;
    Buffer<int32_t> position_, neighbors_, fresh_, to_;
    Buffer<int64_t> by_;
    std::vector<int64_t> first_;
};

}  // namespace lowd::search
