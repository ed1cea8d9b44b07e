// The kernels of one CPU level, as a table of functions. Each level is the same source compiled
// with other flags.
//
// Kernels are coarse (thousands of operations), take plain pointers, and treat every row by itself:
// the bits of a row depend neither on its place in a block nor on the other rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lowd/search.hpp"

namespace lowd {

// From the dot product; from the squared distance; from the differences; from truth values.
// clang-format off
enum class Measure {
    dot, poly, sigmoid,
    sqeuclidean, euclidean, rbf, rbfm1,
    manhattan, laplacian, chebyshev, minkowski, hamming,
    jaccard
};
// clang-format on

// What is subtracted from a row. A float32 shift comes in two parts, head = float32(shift) and rest
// = shift - head: (x - head) is exact where it matters (x near a large shift), so (x - head) - rest
// is the true difference, rounded once more. That makes corrections after the sums needless. Both
// parts are padded with zeros to a whole panel.
template <class T>
struct Shift {
    const T *head, *rest;
};

template <class T>
struct Extremes {
    T asymmetry, largest, smallest;
    bool finite;
};

// Columns that `times` and friends treat together, and rows of X in one block of `project` and
// `scatter_times`.
inline constexpr int GROUP = 8, PROJECT_ROWS = 64;
// A tile of `ring_times`, which stays in L2.
inline constexpr int RING_ROWS = 32, RING_COLUMNS = 512;
// Columns of the tail of `project` that are treated together.
static constexpr int tail_width(int columns) { return columns <= 2 ? 2 : columns <= 4 ? 4 : GROUP; }

// A graph by its edges: node i has those from starts[i] to starts[i + 1].
template <class T>
struct Edges {
    int64_t nodes;
    const int64_t* starts;
    const int32_t* ends;
    const T* lengths;
};
// The nodes of a graph in an order of classes: class c is nodes[starts[c]] .. .
inline constexpr int PATH_CLASSES = 4096;
struct PathOrder {
    int32_t* nodes;
    uint16_t* classes;  // of each node
    int32_t* starts;  // PATH_CLASSES + 1
};

// A sum over patches of mass (identity I - or + sum_l f_l f_l'), each on its members: see
// `alignment`.
struct Home {
    int32_t patch, place;
};
struct Patches {
    const int64_t* starts;  // members[starts[i]] .. are those of patch i
    const int32_t* members;
    const int64_t* home_starts;  // homes[home_starts[r]] ..: where row r is a member
    const Home* homes;
    const int64_t* offsets;  // of the first factor of each patch, which are padded vectors
    const double *factors, *mass;
    int plus;  // so many factors are added, the others are taken away
    double identity;  // times the identity
    int without;  // so many last members have no part in the identity
};
// Entries of the scratch memory that a patch of p rows with d entries needs.
static constexpr int64_t patch_scratch(int64_t p, int64_t d) {
    const int64_t wide = (p + 7) / 8 * 8, cols = (d + 7) / 8 * 8;
    return p * cols + 2 * wide * wide + 5 * wide + cols;
}

template <class T>
struct Kernels {
    bool (*finite)(const T* x, int64_t count);
    // The block a (rows x cols) against the mirrored block b (cols x rows) of one matrix.
    Extremes<T> (*symmetry)(const T* a, const T* b, int64_t stride, int rows, int cols);

    // sums[j] += sum_i w_i x_ij (weights may be null); returns the largest |x_ij|.
    T (*column_sums)(const T* x, int64_t stride, int64_t rows, int64_t cols, const double* weights,
                     double* sums);
    // Panels of columns: panel p, row i, lane l = (x_i,pP+l - shift) factor_i.
    void (*pack_columns)(const T* x, int64_t stride, int64_t rows, int64_t cols, Shift<T> shift,
                         const T* factor, T* panels, int64_t panel_stride);
    // c (PANEL x PANEL) += a^T b over packed rows; of a diagonal tile only the upper triangle is
    // promised.
    void (*scatter_tile)(const T* a, const T* b, int rows, int lanes_a, int lanes_b, bool diagonal,
                         double* c);
    // sums (groups, GROUP, ld) += Xc^T W Xc V for a block of rows; v is (groups, ld / LINE, GROUP,
    // LINE); returns sum_i w_i |xc_i|^2. shift.rest is multiplied by scale. scratch: rows * (ld +
    // groups * GROUP) of T; z: rows * (groups * GROUP + 1).
    double (*scatter_times)(const T* x, int64_t stride, int rows, int64_t cols, Shift<T> shift,
                            T scale, const double* weights, const T* v, int groups, int64_t ld,
                            T* scratch, double* z, double* sums);

    // How many of k columns `project` wants in `tail` instead of in panels.
    int (*tail_columns)(int64_t k);
    // out = (x - shift) W + bias for at most PROJECT_ROWS rows; panels (p, cols, PANEL), or null to
    // read W itself; tail as v above, tail_width at a time. scratch: project_scratch(panelled
    // columns).
    void (*project)(const T* x, int64_t stride, int rows, int64_t cols, Shift<T> shift,
                    const T* panels, const T* w, int64_t w_stride, int64_t panelled, const T* tail,
                    int tail_columns, int64_t ld, const double* bias, T* scratch, T* out,
                    int64_t out_stride);
    int64_t (*project_scratch)(int64_t panelled);
    // z (groups, rows, GROUP) = A V or (-1/2 A o A) V; v as above.
    void (*times)(const T* a, int64_t stride, int rows, int64_t cols, bool half_square, const T* v,
                  int groups, int64_t ld, double* z);

    // The share of at most RING_ROWS rows of a ring in ring_times; columns count from their first
    // row. v as above, own (groups, rows, GROUP): V at these rows; z (groups, rows, GROUP) = the
    // rows' products; sums (groups, GROUP, span) += those of the columns. scratch: RING_ROWS *
    // RING_COLUMNS.
    void (*ring_times)(const T* a, int64_t stride, int rows, int64_t size, const T* v, int groups,
                       int64_t ld, const T* own, T* scratch, double* z, double* sums, int64_t span);

    // A panel of at most PANEL rows: panel[k PANEL + lane]; truth: 0 or 1 instead of the value.
    // norms: squares in float64.
    void (*pack_rows)(const T* x, int64_t stride, int rows, int64_t cols, Shift<T> shift,
                      bool truth, T* panel, double* norms);
    // tile (PANEL x PANEL) = the sums over features of the measure's terms.
    void (*pair_tile)(Measure measure, double power, const T* a, const T* b, int64_t cols,
                      double* tile);
    // Dot products to squared distances; true if some entry lost digits: it is not above max(2^-7
    // (na + nb), floor), or the product overflowed.
    bool (*squares)(double* tile, const double* na, const double* nb, double floor);
    // |q - x|^2 from the differences, in float64.
    double (*squared_distance)(const T* q, const T* x, int64_t cols);
    void (*pair_finish)(Measure measure, const double* params, const double* tile, const double* na,
                        const double* nb, int64_t cols, T* out);
    void (*flip)(const T* tile, T* flipped);

    void (*hadamard)(const T* x, int64_t stride, int rows, int64_t cols, const T* signs,
                     const int64_t* picks, int64_t k, int64_t padded, T scale, T* scratch, T* out,
                     int64_t out_stride);
    // At most sparse_rows rows; scratch: (cols + 64) * sparse_rows.
    void (*sparse_project)(const T* x, int64_t stride, int rows, int64_t cols,
                           const int64_t* indptr, const int32_t* indices, const T* values,
                           int64_t k, T* scratch, T* out, int64_t out_stride);
    int sparse_rows;

    // Makes an order by the distances of one lane; returns the largest finite one.
    T (*nearest_first)(const T* lines, int64_t nodes, int lane, PathOrder& order);
    // lines (nodes, 64 bytes) = distances from at most 64 / sizeof(T) sources, source s being a step
    // of length steps[e] away from node begins[e], starts[s] <= e < starts[s + 1]; order and window
    // are a matter of speed only. fell: one per node.
    void (*paths)(const Edges<T>& graph, const int32_t* starts, const int32_t* begins,
                  const T* steps, int count, const PathOrder& order, int64_t window, uint8_t* fell,
                  T* lines);
    void (*rows_of_lines)(const T* lines, const int32_t* places, int64_t nodes, T* const* rows,
                          int count);
    void (*relax)(const T* from, int64_t stride, int64_t cols, const int32_t* near,
                  const T* lengths, int64_t count, T* out);

    // Of one patch; scratch: patch_scratch(count, cols), factors: vectors of round_up(count, 8).
    void (*barycenter)(const T* q, const T* x, int64_t stride, int64_t cols, const int32_t* near,
                       int count, double reg, double* scratch, double* weights);
    int (*patch_values)(const T* x, int64_t stride, int64_t cols, const int32_t* members, int count,
                        double* scratch, double* values);
    void (*patch_ltsa)(const T* x, int64_t stride, int64_t cols, const int32_t* members, int count,
                       int k, double* scratch, double* factors);
    // basis: 1 + k + k (k + 1) / 2 vectors; the factors are the last of them, then (if rest > 0)
    // the first.
    void (*patch_hessian)(const T* x, int64_t stride, int64_t cols, const int32_t* members,
                          int count, int k, double rest, double* scratch, double* basis,
                          double* factors);
    void (*patch_modified)(const T* x, int64_t stride, int64_t cols, const int32_t* members,
                           int count, int taken, double reg, double* scratch, double* factors);

    // |x - y|^2 unit^2, from the differences: the same bits on every level. Above `limit` it may be
    // a part of the sum.
    double (*difference_square)(const T* x, const T* y, int64_t cols, double unit, double limit);
    double (*centered_square)(const T* x, const double* center, int64_t cols);  // |x - center|^2

    // Pairs (i, j) with first <= i < last and i < j < n: see `guttman` in stress.hpp. y and moved
    // (added to) are columns, ld apart; own: 2 k entries of scratch, sums: stress, size, cross.
    void (*guttman)(const T* targets, int64_t stride, const T* weights, int64_t weight_stride,
                    int64_t first, int64_t last, int64_t n, const double* y, int64_t ld, int k,
                    double* own, double* moved, double* sums);
};

// Kernels of float64 matrices with few entries.
struct Sparse {
    void (*times32)(const int32_t* starts, const int32_t* columns, const double* values,
                    int64_t first, int64_t last, const double* v, int64_t width, double a, double b,
                    const double* u, double c, double* out);
    void (*times64)(const int64_t* starts, const int64_t* columns, const double* values,
                    int64_t first, int64_t last, const double* v, int64_t width, double a, double b,
                    const double* u, double c, double* out);
    // Rows first .. last of the sum over patches. line: one entry per member of the largest patch,
    // padded; sum: one per row, zero.
    void (*assemble)(const Patches& patches, int64_t first, int64_t last, const int64_t* starts,
                     const int32_t* columns, double* values, double* line, double* sum);
};

// Kernels of `lanczos`, for so many vectors at a time; see lanczos.inl.
inline constexpr int LANCZOS_GROUP = 4;
struct Lanczos {
    void (*times)(const double* a, int64_t stride, int rows, int64_t cols, bool half_square,
                  const double* v, int groups, int64_t ld, double* z);
    void (*subtract)(const double* q, int64_t stride, int count, int64_t n, const double* s,
                     int groups, double* x, int64_t ld);
    int (*orthonormal)(double* x, int64_t ld, int count, double floor, double* factor);
};

// Kernels of ranks; see ranks.inl.
struct Ranking {
    // tile (PANEL x PANEL) -= <a, b>, from packed panels; first, if half_a is given, it is half_a +
    // half_b.
    void (*half_squares)(const float* a, const float* b, const float* half_a, const float* half_b,
                         int64_t features, float* tile);
    // Of a row of such tiles: how many values are below each low and each high. They increase.
    void (*count_below)(const float* row, int tiles, const float* low, const float* high,
                        int thresholds, int32_t* sure, int32_t* perhaps);
    // The columns of such a row with values from low to below high; returns how many.
    int (*between)(const float* row, int tiles, float low, float high, int32_t* columns);
};

// A pair of rows; a run of pairs with one mean distance (or of tied ones); a run with one target.
struct Link {
    int32_t first, second;
};
struct Pool {
    double sum, weight;
    int64_t end;
};
struct Stair {
    double target;
    int64_t end;
};
// Points of k coordinates as rows of so many entries, padded by zeros.
static constexpr int64_t link_width(int64_t k) { return k <= 2 ? k : (k + 3) / 4 * 4; }
// Entries of the scratch memory of `pools`, and room for its result.
static constexpr int64_t pool_scratch(int64_t count) { return 3 * count + 128; }
static constexpr int64_t pool_room(int64_t count) { return count + count / 32 + 1; }

// Kernels of scaling, in float64 but for one; see stress.inl and monotone.inl.
struct Scaling {
    // As Kernels<float>::guttman without weights, k <= 3, for targets times `scale`. y: k columns and
    // k more of what float32 leaves of them; moved has 16 entries more than rows in a column.
    void (*narrow_guttman)(const float* targets, int64_t stride, float scale, int64_t first,
                           int64_t last, int64_t n, const float* y, int64_t ld, int k,
                           double* moved, double* sums);
    // One row of `locate`; anchors are columns, scratch: 2 k entries. Returns the stress.
    double (*locate)(const double* targets, const double* weights, int64_t n,
                     const double* anchors, int64_t ld, int k, int most, double tol,
                     double* scratch, double* y);
    void (*pair_lengths)(const Link* pairs, int64_t count, const double* y, int k,
                         double* lengths);
    // Isotonic regression of items with sums s = w x (weights null: 1). Returns how many pools
    // there are; their ends count items.
    int64_t (*pools)(const double* sums, const double* weights, int64_t count, double* scratch,
                     Pool* out);
    // Pairs begin .. end of all, where *stair is the first that ends behind `begin`; moved is added
    // to.
    void (*pair_moves)(const Link* pairs, const double* weights, int64_t begin, int64_t end,
                       const Stair* stair, const double* y, int k, double* moved, double* sums);
};

// Sines and cosines of the whole turn in `size` steps, and how `size` is factored: into 8, 5, 4, 3
// and 2, first 8 or 4.
template <class T>
struct Waves {
    int size, passes;
    const int* radix;
    const T *cos, *sin;
};
inline constexpr int TRANSFORM_GAP = 5;  // vectors between the two halves of the scratch
// Of a transform, in entries.
static constexpr int64_t transform_scratch(int64_t size, int64_t lanes) {
    return 4 * (size + TRANSFORM_GAP) * lanes;
}
// A potential on a grid by its spline coefficients, for reading; axes as in the arrays of Python.
struct MeshView {
    int k = 0;
    const float* phi = nullptr;
    int64_t nodes[2] = {0, 0};
    double origin[2] = {0, 0}, spacing = 1;
};
// The same inside a descent: the first coordinate runs along rows, the third from plane to plane.
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
// Points that lie side by side: first .. last - 1.
struct Run {
    int64_t first, last;
};
// The most entries whose median is found by comparing all of them with each other.
inline constexpr int64_t MEDIAN_OF = 512;
// Points that stay while another comes to rest among them.
struct Anchors {
    int k;
    bool heavy;
    const double *rows, *columns;  // the same points; columns are padded by points far out
    int64_t stride;
    MeshView mesh;  // instead of sums over columns, if there is one
    const double *low, *high;  // no place is beyond
    double rest;  // a step so short is none
    bool choose;  // start from a listed place where its pull is less than at the given start
};
static constexpr int64_t settle_scratch(int64_t k, int64_t count) {
    return 16 * k + 3 * k * k + 64 + 8 * (1 + k + k * k) + (k + 1) * (count + 8) + 16;
}

// Some ties of a point: to whom, and how strong in 65535ths of its strongest. What is read per tie
// is what a step costs.
struct Ties {
    static constexpr int COUNT = 16;
    int32_t ends[COUNT];
    uint16_t shares[COUNT];
};

// A block of points that meets others, each pair once; see pairs.inl. Blocks lie on a circle.
inline constexpr int PAIR_BLOCK = 32;
template <class T>
struct PairStrip {
    int64_t n, stride;
    int k;
    int64_t block, blocks;
    const T* y;  // a column of `stride` entries per dimension, padded by points far out
    const T* ties;  // of each block that is met, row by row; may be null
    T* out;  // for each block that is met (itself first), a line per force
};
static constexpr int64_t pair_tiles(int64_t block, int64_t blocks) {
    return blocks % 2 == 0 && block >= blocks / 2 ? blocks / 2 : blocks / 2 + 1;
}

// Kernels of neighbor embedding; see embed.inl, pairs.inl, waves.inl and mesh.inl.
struct Embed {
    double (*perplexity)(const double* squares, int64_t count, double target, double* gaps,
                         double* there, double* p);
    void (*pair_sums)(const double* y, int64_t stride, int k, bool heavy, const double* scale,
                      int64_t i, double* z, double* r);
    void (*attraction)(const double* y, int k, bool heavy, int64_t i, const int32_t* ends,
                       const double* p, int64_t count, double* a);
    double (*surprise)(const double* y, int64_t stride, int k, bool heavy, int64_t i,
                       const int32_t* ends, const double* p, int64_t count);
    // Returns the sum of 1 / (1 + d^2), over pairs in both orders.
    double (*pair_strip64)(const PairStrip<double>& strip);
    double (*pair_strip32)(const PairStrip<float>& strip);
    // The forces on a block: the sums of its own strip less what it is in those of others.
    void (*pair_gather64)(const double* out, int64_t block, int64_t blocks, int64_t lines,
                          double* sums);
    void (*pair_gather32)(const float* out, int64_t block, int64_t blocks, int64_t lines,
                          float* sums);
    double (*advance64)(int64_t points, int k, double momentum, double rate, const double* force,
                        double* y, double* velocity, double* gain);
    double (*advance32)(int64_t points, int k, float momentum, float rate, const float* force,
                        float* y, float* velocity, float* gain);
    // The least x[i] with the sum of the weights of all x[j] <= x[i] at least `share`, or the
    // largest. x has room for whole vectors, four at a time.
    double (*median)(double* x, const double* w, int64_t count, double share);
    void (*settle)(const Anchors& all, const int32_t* near, const double* p, int64_t count,
                   double* y, double* work);

    int lanes;  // of float32
    // Scratch of the transforms: see transform_scratch.
    void (*even_lines)(const Waves<double>& waves, const double* in, int64_t in_step,
                       int64_t in_width, double* out, int64_t out_step, int64_t out_width,
                       int lines, double* scratch);
    void (*columns_forward)(const Waves<float>& waves, const float* grid, int64_t stride, float* re,
                            float* im, float* scratch);
    void (*lines_through)(const Waves<float>& waves, const float* kernel, int64_t pitch, float* re,
                          float* im, int64_t stride, float* scratch);
    void (*columns_back)(const Waves<float>& waves, const float* re, const float* im,
                         int64_t stride, float* grid, float* scratch);
    void (*plane_forward)(const Waves<float>& waves, const float* re, const float* im,
                          int64_t stride, float* to_re, float* to_im, float* scratch);
    void (*plane_back)(const Waves<float>& waves, const float* re, const float* im, int64_t stride,
                       float* to_re, float* to_im, float* scratch);
    void (*line_through)(const Waves<float>& waves, const float* kernel, const float* in,
                         float* out, float* scratch);
    void (*spread)(const GridView& grid, const float* y, int64_t count, const TileView& tile);
    void (*read)(const GridView& grid, const float* y, int64_t count, float scale, float* f);
    void (*attract)(const float* y, int k, int64_t first, int64_t last, const int64_t* starts,
                    const Ties* ties, const float* unit, float scale, float* f);
    double (*later_pairs)(const float* y, int64_t stride, int k, int64_t n, int64_t i, int count);
    double (*near_pairs)(const float* y, int64_t stride, int k, int64_t first, int64_t last,
                         const Run* runs, int count, float reach, float* push);
    void (*add)(float* to, const float* from, int64_t count);
    double (*inner)(const float* a, const float* b, int64_t count);
    void (*extent)(const float* y, int64_t count, int k, float* low, float* high);
};

struct Level {
    const char* name;
    Kernels<float> single;
    Kernels<double> twice;
    Sparse sparse;
    Search search;
    Ranking ranking;
    Scaling scaling;
    Embed embed;
    Lanczos lanczos;
};

// The level in use: the highest supported one, or the one that the environment variable
// LOWD_CPU_LEVEL names.
const Level& level();
std::vector<std::string> levels();  // supported, lowest first

template <class T>
const Kernels<T>& kernels();

}  // namespace lowd
