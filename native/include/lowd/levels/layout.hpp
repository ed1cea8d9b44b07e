// Table of kernels of UMAP; see memberships.inl, force_law.inl, layout_forces.inl,
// layout_density.inl and layout_points.inl.
#pragma once

#include <cstdint>

#include "lowd/force_law.hpp"
#include "lowd/levels/forces.hpp"
#include "lowd/potential.hpp"

namespace lowd {

// The packed edges of a graph: weights of point i are in units of unit[i].
struct PackedView {
    const int64_t* indptr;
    const PackedEdges* edges;
    const float* unit;
};

// Points that others are repelled by: a column of `stride` entries per dimension, and a column of
// weights, those of padding 0.
template <class T>
struct RepellingPoints {
    const T *columns, *weights;
    int64_t stride, count;  // count is a multiple of the lanes
};

// The longest density force along an edge, in units of P_ij.
inline constexpr double MAX_DENSITY_FORCE = 4;
// The parts of a point's density term; see layout_density.inl.
struct DensityFactors {
    float by_square, by_slope;
};

// The training embedding that is held fixed while new points of UMAP are optimized.
struct FixedLayout {
    ForceLaw law;
    int k;
    double share;  // share of the step to the fixed point
    int steps;
    const double* rows;
    PotentialView potential;  // the potential of all its points, if there is one
    RepellingPoints<double> repelling;  // otherwise some of its points
    double repulsion;  // strength of the repulsion
};
static constexpr int64_t layout_scratch(int64_t k, int64_t count) {
    return (k + 1) * (count + 8) + 2 * k + 64 + 8 * (k + 1);
}

struct LayoutKernels {
    // sigma with the sum of exp(-gap / sigma) = target, by bisection from a start. gaps: padded to
    // whole vectors by infinity.
    double (*bandwidth)(const double* gaps, int64_t count, double target, double sigma);
    void (*memberships)(const double* gaps, int64_t count, double sigma, double* out);
    // f = the attractive forces on points first .. last - 1, whose rows have `width` entries.
    void (*attract)(const ForceLaw& law, const PackedView& graph, const float* y, int k, int width,
                    int64_t first, int64_t last, float* f);
    // f = the sum of p g_a (y_j - y_i) over the listed pairs of point i, y by rows.
    void (*attract64)(const ForceLaw& law, const double* y, int k, int64_t i, const int32_t* ends,
                      const double* p, int64_t count, double* f);
    // f += scale times the weighted sum of repulsive forces on the point y.
    void (*repel32)(const ForceLaw& law, const RepellingPoints<float>& points, const float* y,
                    int k, float scale, float* f);
    void (*repel64)(const ForceLaw& law, const RepellingPoints<double>& points, const double* y,
                    int k, double scale, double* f);
    // The sums of phi s and of phi over the edges of points.
    void (*density_sums)(const ForceLaw& law, const PackedView& graph, const float* y, int k,
                         int64_t first, int64_t last, float* squares, float* similarity);
    // f += the density term.
    void (*density)(const ForceLaw& law, const PackedView& graph, const float* y, int k, int width,
                    const DensityFactors* factors, const float* strength, int64_t first,
                    int64_t last, float* f);
    // v = momentum v + rate f, shortened to the longest step, y += v; returns the sum of |v|^2.
    double (*momentum_step)(int64_t points, int width, float momentum, float rate,
                            const float* force, float* y, float* velocity);
    // The sum of p log(1 + a s^b) over the listed pairs of point i.
    double (*attractive_loss)(const ForceLaw& law, const double* y, int64_t stride, int k,
                              int64_t i, const int32_t* ends, const double* p, int64_t count);
    void (*new_point)(const FixedLayout& fixed, const int32_t* near, const double* p, int64_t count,
                      double* y, double* work);
};

}  // namespace lowd
