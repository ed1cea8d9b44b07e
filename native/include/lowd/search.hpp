// Kernels of the search for neighbors: what one CPU level offers to neighbors.cpp.
#pragma once

#include <cstdint>

namespace lowd {

// Rows of a block, the unit of work, and the most check points on the way through the features.
inline constexpr int SEARCH_BLOCK = 384, CHECKS = 16;

// A short list of neighbors is kept in whole vectors: lanes in front of it, at least one, hold -inf.
inline constexpr int64_t LIST_LANES = 8;
static constexpr int64_t list_front(int64_t k) { return LIST_LANES - k % LIST_LANES; }

// One panel of rows (a) against the panels of a block (b), both packed feature by feature.
//
// A pair starts at -half_a - half_b and collects products of coordinates (or, with `differences`,
// minus the squares of their differences). At a check point the sum plus rest_a rest_b is an upper
// bound of what the pair can reach; below both rows' limits the pair is dead. A pair exactly at a
// limit lives: it may still win by its number.
struct Strip {
    const float *a, *b;
    const float *half_a, *half_b, *limit_a, *limit_b;
    const float *rest_a[CHECKS], *rest_b[CHECKS];
    int at[CHECKS];  // check points: so many features, increasing
    int checks;
    int64_t features;  // of a packed row
    uint32_t live;  // panels of b to look at, one bit each
    bool differences;
};

// A pair of a strip is (row of a) << 16 | (row of b).
struct Search {
    // Writes the pairs alive at the last check point; returns how many.
    int (*strip)(const Strip& s, uint32_t* pairs);
    // Adds, per check point, how many tiles and how many pairs are alive there.
    void (*census)(const Strip& s, int64_t* tiles, int64_t* pairs);
    int tile_rows, tile_columns;
    // Keeps the pairs with |a_i - b_j|^2 + gap^2 <= max(limit_a_i, limit_b_j), gap between the
    // intervals [low, high] of i and j; returns how many.
    int (*refine)(const float* a, const float* b, int64_t features, const float* const low[2],
                  const float* const high[2], const float* limit_a, const float* limit_b,
                  uint32_t* pairs, int count);
    // |a - b|^2 scale^2; above `limit` it may be a part of the sum.
    float (*gap)(const float* a, const float* b, int64_t features, float scale, float limit);
    // Puts (distance, id) at its place in a list of k sorted by both; the last one falls out. False:
    // it is there already, or beyond the last. See list_front.
    bool (*place)(double* distances, int32_t* ids, int64_t k, double distance, int32_t id);
    // out_r = <z_rows[r], v>; v is padded with zeros to whole vectors of 64 bytes.
    void (*along)(const float* z, int64_t stride, const int32_t* rows, int64_t count, int features,
                  const float* v, float* out);
};

}  // namespace lowd
