// Table of kernels of the neighbor search: see neighbors.inl.
#pragma once

#include <cstdint>

#include "base/matrix.hpp"

namespace lowd {

// Rows of a block, the unit of work, and the most check points along the features.
inline constexpr int SEARCH_BLOCK = 384, MAX_CHECKS = 16;
// Leading features that bounding boxes have, and panels of a block, rounded up to whole vectors.
inline constexpr int BOX_FEATURES = 8, BOX_LANES = 16;

// A short list of neighbors is kept in whole vectors: lanes in front of it, at least one, hold
// -inf.
inline constexpr int64_t LIST_LANES = 8;
static constexpr int64_t list_front(int64_t k) { return LIST_LANES - k % LIST_LANES; }

// One panel of rows (a) against the panels of a block (b), both packed feature by feature.
//
// A pair starts at -half_a - half_b and adds products of coordinates (or, with `differences`,
// subtracts the squares of their differences). At a check point the sum plus tail_a tail_b is an
// upper bound of its final value; a pair below the limits of both rows is pruned. A pair exactly at
// a limit stays: a tie is decided by the index.
struct Strip {
    const float *a, *b;
    const float *half_a, *half_b, *limit_a, *limit_b;
    const float *tail_a[MAX_CHECKS], *tail_b[MAX_CHECKS];
    int at[MAX_CHECKS];  // check points: so many features, increasing
    int checks;
    int64_t features;  // of a packed row
    int group;  // rows of a that are pruned at once by their bounding box: a panel, or one
    uint32_t live[PANEL<float>];  // panels of b, one bit each, per group of a
    bool differences;
};

// The bounding boxes of the groups of a panel (a: [group][low, high][side]) and of the panels of a
// block (b: [low, high][side][panel]), with the limits of their rows (limit_b may be null).
struct Boxes {
    const float *a, *b, *limit_a, *limit_b;
    int group;
};

// A pair of a strip is (row of a) << 16 | (row of b).
struct SearchKernels {
    // Per group of a, the panels of b whose boxes are no farther than the limits: one bit each.
    void (*near_boxes)(const Boxes& boxes, uint32_t* live);
    // Writes the pairs that survive the last check point; returns how many.
    int (*strip)(const Strip& s, uint32_t* pairs);
    // Adds, per check point, how many tiles and how many pairs survive there.
    void (*count_survivors)(const Strip& s, int64_t* tiles, int64_t* pairs);
    int tile_rows, tile_columns;
    // Keeps the pairs with |a_i - b_j|^2 + gap^2 <= max(limit_a_i, limit_b_j), gap between the
    // intervals [low, high] of i and j; returns how many.
    int (*refine)(const float* a, const float* b, int64_t features, const float* const low[2],
                  const float* const high[2], const float* limit_a, const float* limit_b,
                  uint32_t* pairs, int count);
    // |a - b|^2 scale^2; above `limit` it may be a part of the sum.
    float (*gap)(const float* a, const float* b, int64_t features, float scale, float limit);
    // |z - b|^2 for the rows b of a packed panel.
    void (*panel_gaps)(const float* z, const float* panel, int64_t features, float* out);
    // The k-th smallest of some numbers that are not negative, or a little more; their count is a
    // multiple of PANEL.
    float (*bound_of_smallest)(const float* x, int64_t count, int64_t k);
    // Inserts (distance, id) into a list of k sorted by both; the last entry is dropped. False: it
    // is there already, or beyond the last. See list_front.
    bool (*insert_sorted)(double* distances, int32_t* ids, int64_t k, double distance, int32_t id);
    // out_r = <z_rows[r], v>; v is padded with zeros to whole vectors of 64 bytes.
    void (*project_on)(const float* z, int64_t stride, const int32_t* rows, int64_t count,
                       int features, const float* v, float* out);
};

// Squared distances, in float64.
template <class T>
struct DistanceKernels {
    // |x - y|^2 unit^2, from the differences: the same bits on every level. Above `limit` it may be
    // a part of the sum.
    double (*difference_square)(const T* x, const T* y, int64_t cols, double unit, double limit);
    double (*centered_square)(const T* x, const double* center, int64_t cols);  // |x - center|^2
};

}  // namespace lowd
