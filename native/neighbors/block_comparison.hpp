// The comparison of two blocks of rows, and the check points of its filter. README.md explains the
// terms.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <vector>

#include "neighbors/index.hpp"
#include "neighbors/neighbor_lists.hpp"

namespace lowd::search {

// The check points of the filter: after how many features pairs are pruned.
struct Schedule {
    int checks = 0;
    std::array<int, MAX_CHECKS> step{};  // steps of the ladder
};

// How many tiles and pairs of a sample survive each step of the ladder.
struct SurvivorCounts {
    int64_t compared = 0;
    std::array<int64_t, MAX_CHECKS> tiles{}, pairs{};
};

// Rows of a tile of products: as many as registers hold, or one where each is pruned by itself.
inline int tile_rows(int group) { return group == 1 ? 1 : search_kernels().tile_rows; }
// Tiles of a group of rows and a panel.
inline int tiles_of(int group) {
    return group == 1 ? 1 : P / search_kernels().tile_rows * (P / search_kernels().tile_columns);
}

// Finds the check points that cost least on the sample. Costs are in cycles: a tile costs tile_rows
// x 2 vectors of multiply-adds per feature; a check costs about as much as three features, or as
// eight for single rows, whose sums are stored there.
inline Schedule cheapest_schedule(const FilterBounds& bounds, const SurvivorCounts& counts,
                                  int group, bool refined) {
    const int steps = int(bounds.ladder.size());
    const double per_feature = tile_rows(group) * 2.0 * (bounds.differences ? 2 : 1),
                 check = group == 1 ? 16.0 : tile_rows(group) * 6.0,
                 exact = 60 + 0.4 * double(bounds.cols),
                 refine = 30 + 0.12 * double(bounds.features);
    // [s + 1]: the cost of everything before surviving step s.
    std::array<double, MAX_CHECKS + 1> cost_to{};
    std::array<int, MAX_CHECKS + 1> from{};
    double best = HUGE_VAL;
    int last = steps - 1;
    cost_to[0] = 0;
    for (int s = 0; s < steps; s++) {
        double least = HUGE_VAL;
        for (int p = -1; p < s; p++) {
            const double survivors = double(p < 0 ? counts.compared : counts.tiles[p]);
            const int features = bounds.ladder[s] - (p < 0 ? 0 : bounds.ladder[p]);
            const double cost = cost_to[p + 1] + survivors * (features * per_feature + check);
            if (cost < least) {
                least = cost;
                from[s + 1] = p;
            }
        }
        cost_to[s + 1] = least;
        const double after = refined && s + 1 < steps ? double(counts.pairs[s]) * refine +
                                                            double(counts.pairs[steps - 1]) * exact
                                                      : double(counts.pairs[s]) * exact;
        if (least + after < best) {
            best = least + after;
            last = s;
        }
    }
    Schedule schedule;
    for (int s = last; s >= 0; s = from[s + 1]) schedule.step[schedule.checks++] = s;
    std::reverse(schedule.step.begin(), schedule.step.begin() + schedule.checks);
    return schedule;
}

// The comparison of two blocks of rows: float32 bounds prune nearly all pairs, the others are
// measured in float64.

// The workspace of a thread.
struct Workspace {
    std::vector<uint32_t> pairs = std::vector<uint32_t>(size_t(P) * BLOCK);
    std::vector<double> square = std::vector<double>(size_t(P) * BLOCK);
    alignas(64) float limit_a[P], difference_limit_a[P], limit_b[BLOCK], difference_limit_b[BLOCK];

    Workspace() {  // for rows that need no neighbors
        std::fill_n(limit_b, BLOCK, NO_LIMIT);
        std::fill_n(difference_limit_b, BLOCK, -1.0f);
    }
};

using Masks = std::array<uint16_t, PANELS>;  // one bit per panel of the other block
constexpr uint16_t ALL_PANELS = (1u << PANELS) - 1;
constexpr Masks all_masks() {
    Masks masks{};
    masks.fill(ALL_PANELS);
    return masks;
}

template <class T>
struct Side {
    const OriginalRows<T>& X;
    const PackedRows& rows;
    NeighborLists* lists;  // null if these rows need no neighbors
};

template <class T>
class BlockComparison {
public:
    BlockComparison(const FilterBounds& bounds, Side<T> a, Side<T> b, bool refined)
        : bounds_(bounds), a_(a), b_(b), same_(&a.rows == &b.rows), refined_(refined) {}

    // Whether bounding boxes prune all pairs of two blocks.
    bool is_pruned(int64_t i, int64_t j) const {
        const float limit =
            std::max(a_.lists->block_limit(i), b_.lists ? b_.lists->block_limit(j) : -1);
        return block_gap(a_.rows, i, b_.rows, j) > limit;
    }

    // `panels` holds those of block j that each panel of block i is compared with.
    void compare(int64_t i, int64_t j, const Masks& panels, const Schedule& schedule,
                 Workspace& space) const {
        // Each pair once; a panel meets itself first, so that all have limits.
        if (same_ && i == j) {
            for (int apart = 0; apart < PANELS; apart++)
                for (int p = 0; p + apart < PANELS; p++)
                    strip(i, p, j, 1u << (p + apart), schedule, space);
        } else {
            if (is_pruned(i, j)) return;
            for (int p = 0; p < PANELS; p++)
                if (panels[size_t(p)]) strip(i, p, j, panels[size_t(p)], schedule, space);
        }
        update_limit(a_, i);
        if (b_.lists && i != j) update_limit(b_, j);
    }

    // Compares panel p of block i with some panels of block j.
    void strip(int64_t i, int p, int64_t j, uint32_t panels, const Schedule& schedule,
               Workspace& space) const {
        const Strip s = make_strip(i, p, j, panels, schedule, space);
        if (std::all_of(s.live, s.live + P / s.group, [](uint32_t near) { return near == 0; }))
            return;
        const int64_t row = i * BLOCK + p * P, col = j * BLOCK, m = bounds_.features;
        uint32_t* const pairs = space.pairs.data();
        int count = search_kernels().strip(s, pairs);
        if (same_ && i == j)  // a panel and itself: each pair twice, and rows themselves
            count = int(std::remove_if(
                            pairs, pairs + count,
                            [&](uint32_t e) { return int(e & 0xffff) <= p * P + int(e >> 16); }) -
                        pairs);
        if (refined_ && s.at[s.checks - 1] < m && count) {
            const float *const low[2] = {&a_.rows.low[row], &b_.rows.low[col]},
                               *const high[2] = {&a_.rows.high[row], &b_.rows.high[col]};
            count = search_kernels().refine(&a_.rows.rows[row * m], &b_.rows.rows[col * m], m, low,
                                            high, space.difference_limit_a,
                                            space.difference_limit_b, pairs, count);
        }
        count = measure(row, col, count, s.at[s.checks - 1] < m, space);
        if (count) insert(i, row, j, col, count, space);
    }

    void count(int64_t i, int p, int64_t j, uint32_t panels, SurvivorCounts& counts,
               Workspace& space) const {
        Schedule all;
        while (all.checks < int(bounds_.ladder.size())) {
            all.step[all.checks] = all.checks;
            all.checks++;
        }
        const Strip s = make_strip(i, p, j, panels, all, space);
        const int tiles = tiles_of(s.group);
        for (int g = 0; g < P / s.group; g++)
            counts.compared += int64_t(__builtin_popcount(s.live[g])) * tiles;
        search_kernels().count_survivors(s, counts.tiles.data(), counts.pairs.data());
    }

private:
    static void update_limit(const Side<T>& side, int64_t block) {
        const std::scoped_lock lock(side.lists->lock(block));
        side.lists->update_block_limit(block);
    }

    // Compares panel p of block i with panels of block j, using the present limits.
    Strip make_strip(int64_t i, int p, int64_t j, uint32_t panels, const Schedule& schedule,
                     Workspace& space) const {
        const int64_t row = i * BLOCK + p * P, col = j * BLOCK, m = bounds_.features;
        {
            const std::scoped_lock lock(a_.lists->lock(i));
            a_.lists->copy_limits(i, row, P, b_.rows.least[size_t(j)], space.limit_a,
                                  space.difference_limit_a);
        }
        if (b_.lists) {
            const std::scoped_lock lock(b_.lists->lock(j));
            b_.lists->copy_limits(j, col, BLOCK, a_.rows.least[size_t(i)], space.limit_b,
                                  space.difference_limit_b);
        }
        Strip s{};
        s.a = a_.rows.panel(row, m), s.b = b_.rows.panel(col, m);
        s.half_a = &a_.rows.half[row], s.half_b = &b_.rows.half[col];
        s.limit_a = space.limit_a, s.limit_b = space.limit_b;
        for (s.checks = 0; s.checks < schedule.checks; s.checks++) {
            const auto step = size_t(schedule.step[size_t(s.checks)]);
            s.at[s.checks] = bounds_.ladder[step];
            s.tail_a[s.checks] = &a_.rows.tail[step][row];
            s.tail_b[s.checks] = &b_.rows.tail[step][col];
        }
        s.features = m;
        s.group = int(a_.rows.group);
        search_kernels().near_boxes(
            {&a_.rows.group_box[row / s.group * 2 * BOX_FEATURES],
             &b_.rows.box[j * 2 * BOX_FEATURES * BOX_LANES], space.difference_limit_a,
             b_.lists ? space.difference_limit_b : nullptr, s.group},
            s.live);
        for (int g = 0; g < P / s.group; g++) s.live[g] &= panels;
        s.differences = bounds_.differences;
        return s;
    }

    // Float64 squares of the pairs that are left; those above both limits are dropped. A filter by
    // a `part` of the features leaves many such pairs: float32 finds most of them.
    int measure(int64_t row, int64_t col, int count, bool part, Workspace& space) const {
        constexpr int PREFETCH_DISTANCE = 3;
        const Metric& metric = a_.lists->metric();
        const double back = 1 / a_.lists->to_filter();
        int kept = 0;
        for (int q = 0; q < count; q++) {
            if (q + PREFETCH_DISTANCE < count) {
                const uint32_t e = space.pairs[size_t(q + PREFETCH_DISTANCE)];
                __builtin_prefetch(a_.X[row + (e >> 16)]);
                __builtin_prefetch(b_.X[col + (e & 0xffff)]);
            }
            const uint32_t e = space.pairs[size_t(q)], i = e >> 16, j = e & 0xffff;
            const float difference_limit =
                std::max(space.difference_limit_a[i], space.difference_limit_b[j]);
            const T *const x = a_.X[row + i], *const y = b_.X[col + j];
            if (part && surely_farther(x, y, bounds_, difference_limit)) continue;
            const double limit = double(difference_limit) * back;
            const double square =
                kernels<T>().difference_square(x, y, bounds_.cols, metric.unit, limit);
            if (square > limit) continue;
            space.square[size_t(kept)] = square;
            space.pairs[size_t(kept++)] = e;
        }
        return kept;
    }

    void insert(int64_t i, int64_t row, int64_t j, int64_t col, int count, Workspace& space) const {
        std::unique_lock mine(a_.lists->lock(i), std::defer_lock);
        std::unique_lock<std::mutex> other;
        if (b_.lists && !(same_ && i == j)) {
            other = std::unique_lock(b_.lists->lock(j), std::defer_lock);
            std::lock(mine, other);
        } else {
            mine.lock();
        }
        const Metric& metric = a_.lists->metric();
        for (int q = 0; q < count; q++) {
            const int64_t x = row + (space.pairs[size_t(q)] >> 16),
                          y = col + (space.pairs[size_t(q)] & 0xffff);
            const double distance = metric.distance(space.square[size_t(q)]);
            a_.lists->insert(x, distance, b_.rows.order[y]);
            if (b_.lists) b_.lists->insert(y, distance, a_.rows.order[x]);
        }
    }

    const FilterBounds& bounds_;
    const Side<T> a_, b_;
    const bool same_, refined_;
};

// Ranks where the check points are chosen again: near pairs survive longer.
constexpr std::array<int64_t, 6> STAGES{0, 1, 4, 12, 48, INT64_MAX};

}  // namespace lowd::search
