// The check points of the filter: after how many features pairs are pruned.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "filter_bounds.hpp"

namespace lowd::search {

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

}  // namespace lowd::search
