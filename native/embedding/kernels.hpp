// Tables of the kernels of this folder; see the files *.inl.
#pragma once

#include <cstdint>

#include "embedding/potential.hpp"

namespace lowd {

// Table of kernels of t-SNE and SNE that sum over pairs; see affinities.inl, descent.inl and
// new_points.inl.

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

// A block of points against others, each pair once; see descent.inl. Blocks lie on a circle.
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

// Table of kernels of the interpolation grid (particle mesh) of t-SNE; see fft.inl and
// particle_mesh.inl.

// Twiddle factors, cosines and sines of the whole turn in `size` steps, and how `size` is factored:
// into 8, 5, 4, 3 and 2, first 8 or 4.
template <class T>
struct FftPlan {
    int size, passes;
    const int* radix;
    const T *cos, *sin;
};
inline constexpr int FFT_GAP = 5;  // vectors between the two halves of the scratch
// Scratch memory of a transform, in entries.
static constexpr int64_t fft_scratch(int64_t size, int64_t lanes) {
    return 4 * (size + FFT_GAP) * lanes;
}

// The potential inside a descent: the first coordinate runs along rows, the third from plane to
// plane.
struct GridView {
    int k;
    float origin[3], inverse;
    int64_t stride, plane;
    const float* phi;
};
// A part of such a grid: its first node and how many there are, by coordinates.
struct TileView {
    int64_t first[3], count[3];
    float* cells;
};
// Points first .. last - 1, which are adjacent in memory.
struct Run {
    int64_t first, last;
};

struct GridKernels {
    int lanes;  // lanes of float32
    // Scratch of the transforms: see fft_scratch.
    void (*fft_even_lines)(const FftPlan<double>& plan, const double* in, int64_t in_step,
                           int64_t in_width, double* out, int64_t out_step, int64_t out_width,
                           int lines, double* scratch);
    void (*fft_columns)(const FftPlan<float>& plan, const float* grid, int64_t stride, float* re,
                        float* im, float* scratch);
    void (*convolve_lines)(const FftPlan<float>& plan, const float* kernel, int64_t pitch,
                           float* re, float* im, int64_t stride, float* scratch);
    void (*inverse_fft_columns)(const FftPlan<float>& plan, const float* re, const float* im,
                                int64_t stride, float* grid, float* scratch);
    void (*fft_plane)(const FftPlan<float>& plan, const float* re, const float* im, int64_t stride,
                      float* to_re, float* to_im, float* scratch);
    void (*inverse_fft_plane)(const FftPlan<float>& plan, const float* re, const float* im,
                              int64_t stride, float* to_re, float* to_im, float* scratch);
    void (*convolve_line)(const FftPlan<float>& plan, const float* kernel, const float* in,
                          float* out, float* scratch);
    void (*spread_charges)(const GridView& grid, const float* y, int64_t count,
                           const TileView& tile);
    void (*interpolate_gradient)(const GridView& grid, const float* y, int64_t count, float scale,
                                 float* f);
    double (*short_range)(const float* y, int64_t stride, int k, int64_t first, int64_t last,
                          const Run* runs, int count, float cutoff, float* forces);
    void (*add_line)(float* to, const float* from, int64_t count);
    double (*inner_product)(const float* a, const float* b, int64_t count);
    void (*bounding_box)(const float* y, int64_t count, int k, float* low, float* high);
};

// Table of kernels of UMAP; see affinities.inl and layout.inl.

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
// The parts of a point's density term; see layout.inl.
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
