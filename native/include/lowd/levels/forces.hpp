// Table of kernels of t-SNE and SNE that sum over pairs; see perplexity.inl, forces.inl,
// all_pairs.inl, packed_edges.inl, weighted_median.inl and new_points.inl.
#pragma once

#include <cstdint>

#include "lowd/potential.hpp"

namespace lowd {

// Largest number of entries whose weighted median is found by comparing all of them.
inline constexpr int64_t MAX_MEDIAN = 512;

// The embedding that is held fixed while new points are optimized.
struct FixedEmbedding {
    int k;
    bool heavy;
    const double *rows, *columns;  // the same points; columns are padded by points far out
    int64_t stride;
    PotentialView potential;  // replaces sums over columns, if present
    const double *low, *high;  // bounds of the coordinates
    double min_step;  // a shorter step ends the optimization
    // Whether to start from a neighbor whose attraction is less than at the given start.
    bool choose_start;
};
static constexpr int64_t new_point_scratch(int64_t k, int64_t count) {
    return 16 * k + 3 * k * k + 64 + 8 * (1 + k + k * k) + (k + 1) * (count + 8) + 16;
}

// Sixteen edges of a point: the other ends, and weights in 65535ths of the point's largest. The
// bytes read per edge are what a step costs.
struct PackedEdges {
    static constexpr int COUNT = 16;
    int32_t ends[COUNT];
    uint16_t weights[COUNT];
};

// A block of points against others, each pair once; see all_pairs.inl. Blocks lie on a circle.
inline constexpr int PAIR_BLOCK = 32;
template <class T>
struct PairStrip {
    int64_t n, stride;
    int k;
    int64_t block, blocks;
    const T* y;  // a column of `stride` entries per dimension, padded by points far out
    const T* p;  // p_ij of each tile, row by row; may be null
    T* out;  // for each tile (the block itself first), a line per force
};
static constexpr int64_t pair_tiles(int64_t block, int64_t blocks) {
    return blocks % 2 == 0 && block >= blocks / 2 ? blocks / 2 : blocks / 2 + 1;
}

struct ForceKernels {
    double (*perplexity)(const double* squares, int64_t count, double target, double* gaps,
                         double* present, double* p);
    void (*pair_sums)(const double* y, int64_t stride, int k, bool heavy, const double* scale,
                      int64_t i, double* z, double* r);
    void (*attraction)(const double* y, int k, bool heavy, int64_t i, const int32_t* ends,
                       const double* p, int64_t count, double* a);
    double (*cross_term)(const double* y, int64_t stride, int k, bool heavy, int64_t i,
                         const int32_t* ends, const double* p, int64_t count);
    // Returns the sum of 1 / (1 + d^2), over pairs in both orders.
    double (*pair_strip64)(const PairStrip<double>& strip);
    double (*pair_strip32)(const PairStrip<float>& strip);
    // The forces on a block: the sums of its own strip less its share in those of others.
    void (*pair_gather64)(const double* out, int64_t block, int64_t blocks, int64_t lines,
                          double* sums);
    void (*pair_gather32)(const float* out, int64_t block, int64_t blocks, int64_t lines,
                          float* sums);
    double (*advance64)(int64_t points, int k, double momentum, double rate, const double* force,
                        double* y, double* velocity, double* gain);
    double (*advance32)(int64_t points, int k, float momentum, float rate, const float* force,
                        float* y, float* velocity, float* gain);
    void (*attract)(const float* y, int k, int64_t first, int64_t last, const int64_t* indptr,
                    const PackedEdges* edges, const float* unit, float scale, float* f);
    // The sum of 1 / (1 + d^2) over pairs of one of points i .. i + count with a later one.
    double (*similarity_sum)(const float* y, int64_t stride, int k, int64_t n, int64_t i,
                             int count);
    // The least x[i] with the sum of the weights of all x[j] <= x[i] at least `share`, or the
    // largest. x has room for whole vectors, four at a time.
    double (*weighted_median)(double* x, const double* w, int64_t count, double share);
    void (*optimize_new_point)(const FixedEmbedding& fixed, const int32_t* near, const double* p,
                               int64_t count, double* y, double* work);
};

}  // namespace lowd
