// Tables of the kernels of this folder; see the files *.inl.
#pragma once

#include <cstdint>

#include "linear/linear.hpp"

namespace lowd {

// The shift that is subtracted from a row.

// A float32 shift comes in two parts, high = float32(shift) and low = shift - high: (x - high) is
// exact where it matters (x near a large shift), so (x - high) - low is the true difference,
// rounded once more. That makes corrections after the sums needless. Both parts are padded with
// zeros to a whole panel.
template <class T>
struct Shift {
    const T *high, *low;
};

// Table of kernels of column sums and scatter matrices; see moments.inl.

// A block of rows X_c = (x - shift) scale, and vectors: v is (groups, ld / LINE, GROUP, LINE).
template <class T>
struct ScatterRows {
    const T* x;
    int64_t stride;
    int rows;
    int64_t cols;
    Shift<T> shift;  // its low part is multiplied by the scale
    T scale;
    const double* weights;  // of the rows; may be null
    const T* v;
    int groups;
    int64_t ld;
};

template <class T>
struct MomentKernels {
    // sums[j] += sum_i w_i x_ij (weights may be null); returns the largest |x_ij|. hashes[i] =
    // sum_j multipliers_j mix(x_ij), unless multipliers, of which there are whole panels, are null.
    T (*column_sums)(const T* x, int64_t stride, int64_t rows, int64_t cols, const double* weights,
                     double* sums, const uint64_t* multipliers, uint64_t* hashes);
    // Panels of columns: panel p, row i, lane l = (x_i,pP+l - shift) factor_i.
    void (*pack_columns)(const T* x, int64_t stride, int64_t rows, int64_t cols, Shift<T> shift,
                         const T* factor, T* panels, int64_t panel_stride);
    // c (PANEL x PANEL) += a^T b over packed rows; of a diagonal tile only the upper triangle is
    // promised.
    void (*scatter_tile)(const T* a, const T* b, int rows, int lanes_a, int lanes_b, bool diagonal,
                         double* c);
    // sums (groups, GROUP, ld) += Xc^T W Xc V for a block of rows; returns sum_i w_i |xc_i|^2.
    // scratch: rows * (ld + groups * GROUP) of T; z: rows * (groups * GROUP + 1).
    double (*scatter_matmul)(const ScatterRows<T>& rows, T* scratch, double* z, double* sums);
};

// Table of kernels of matrix products; see products.inl and shortest_paths.inl.

// Columns that products with few columns treat together, and rows of X in one block of `project`
// and `scatter_matmul`.
inline constexpr int GROUP = 8, PROJECT_ROWS = 64;
// A tile of `geodesic_products`, which stays in L2.
inline constexpr int HALF_ROWS = 32, HALF_COLUMNS = 512;
// Columns of the tail of `project`: whole groups, and a last one for the few that remain.
static constexpr int last_width(int columns) {
    return columns % GROUP == 0 ? 0 : columns % GROUP <= 2 ? 2 : columns % GROUP <= 4 ? 4 : GROUP;
}

// out = (x - shift) W + bias for at most PROJECT_ROWS rows.
template <class T>
struct ProjectedRows {
    const T* x;
    int64_t stride;
    int rows;
    int64_t cols;
    Shift<T> shift;
    // The first columns of W: panels (p, cols, PANEL), or null to read W itself.
    int64_t panelled;
    const T *panels, *w;
    int64_t w_stride;
    // The other columns: tail (groups, ld / LINE, GROUP, LINE), and last (ld / LINE, last_width,
    // LINE).
    int tail_columns;
    const T *tail, *last;
    int64_t ld;
    const double* bias;
    T* scratch;  // project_scratch(panelled)
    T* out;
    int64_t out_stride;
};

// At most HALF_ROWS rows of a stored half in `geodesic_products`: row r holds `size` entries from
// column r + 1 on. v as in `matmul`, own (groups, rows, GROUP): V at these rows.
template <class T>
struct HalfRows {
    const T* a;
    int64_t stride;
    int rows;
    int64_t size;
    const T* v;
    int groups;
    int64_t ld;
    const T* own;
};

template <class T>
struct LinearKernels {
    // How many of k columns `project` reads from `tail` instead of from panels.
    int (*tail_columns)(int64_t k);
    void (*project)(const ProjectedRows<T>& rows);
    int64_t (*project_scratch)(int64_t panelled);
    // z (groups, rows, GROUP) = A V or (-1/2 A o A) V; v (groups, ld / LINE, GROUP, LINE).
    void (*matmul)(const T* a, int64_t stride, int rows, int64_t cols, bool half_square, const T* v,
                   int groups, int64_t ld, double* z);

    // z (groups, rows, GROUP) = the products of rows of a stored half; sums (groups, GROUP, span)
    // += those of the columns. scratch: HALF_ROWS * HALF_COLUMNS.
    void (*geodesic_products)(const HalfRows<T>& half, T* scratch, double* z, double* sums,
                              int64_t span);
};

// Table of kernels of sparse float64 matrices; see products.inl.

// out = a A V + b V + c U, A in CSR form; V, U (may be null) and out have rows of this width.
template <class I>
struct SparseProduct {
    const I *indptr, *columns;
    const double *values, *v;
    int64_t width;
    double a, b;
    const double* u;
    double c;
    double* out;
};

struct SparseKernels {
    // Rows first .. last of a product.
    void (*matmul32)(const SparseProduct<int32_t>& product, int64_t first, int64_t last);
    void (*matmul64)(const SparseProduct<int64_t>& product, int64_t first, int64_t last);
};

// Table of kernels of pairwise distances and similarities; see pairwise.inl.
template <class T>
struct PairwiseKernels {
    // A panel of at most PANEL rows: panel[k PANEL + lane]; truth: 0 or 1 instead of the value.
    // norms: squares in float64.
    void (*pack_rows)(const T* x, int64_t stride, int rows, int64_t cols, Shift<T> shift,
                      bool truth, T* panel, double* norms);
    // tile (PANEL x PANEL) = the sums over features of the terms of a measure.
    void (*pair_tile)(Measure measure, double power, const T* a, const T* b, int64_t cols,
                      double* tile);
    // Dot products to squared distances; true if some entry lost digits: it is not above max(2^-7
    // (na + nb), floor), or the product overflowed.
    bool (*squares)(double* tile, const double* na, const double* nb, double floor);
    // |q - x|^2 from the differences, in float64.
    double (*squared_distance)(const T* q, const T* x, int64_t cols);
    void (*pair_finish)(Measure measure, const double* params, const double* tile, const double* na,
                        const double* nb, int64_t cols, T* out);
    void (*transpose_tile)(const T* tile, T* transposed);
};

// Table of kernels of Walsh-Hadamard transforms; see hadamard.inl.

// Rows whose transforms are wanted at k places; see `hadamard`.
template <class T>
struct HadamardRows {
    const T* x;
    int64_t stride;
    int rows;
    int64_t cols;
    const T* signs;
    const int64_t* picks;
    int64_t k, padded;
    T scale;
    T* out;
    int64_t out_stride;
};

template <class T>
struct HadamardKernels {
    void (*hadamard)(const HadamardRows<T>& rows, T* scratch);  // of `padded` entries
};

}  // namespace lowd
