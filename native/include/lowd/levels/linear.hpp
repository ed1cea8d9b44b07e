// Table of kernels of matrix products; see linear.inl and geodesic_products.inl.
#pragma once

#include <cstdint>

#include "lowd/levels/shift.hpp"

namespace lowd {

// Columns that products with few columns treat together, and rows of X in one block of `project`
// and `scatter_matmul`.
inline constexpr int GROUP = 8, PROJECT_ROWS = 64;
// A tile of `geodesic_products`, which stays in L2.
inline constexpr int HALF_ROWS = 32, HALF_COLUMNS = 512;
// Columns of the tail of `project`: whole groups, and a last one for the few that remain.
static constexpr int last_width(int columns) {
    return columns % GROUP == 0 ? 0 : columns % GROUP <= 2 ? 2 : columns % GROUP <= 4 ? 4 : GROUP;
}

template <class T>
struct LinearKernels {
    // How many of k columns `project` reads from `tail` instead of from panels.
    int (*tail_columns)(int64_t k);
    // out = (x - shift) W + bias for at most PROJECT_ROWS rows; panels (p, cols, PANEL), or null to
    // read W itself; tail (groups, ld / LINE, GROUP, LINE) and last (ld / LINE, last_width, LINE).
    // scratch: project_scratch(panelled columns).
    void (*project)(const T* x, int64_t stride, int rows, int64_t cols, Shift<T> shift,
                    const T* panels, const T* w, int64_t w_stride, int64_t panelled, const T* tail,
                    const T* last, int tail_columns, int64_t ld, const double* bias, T* scratch,
                    T* out, int64_t out_stride);
    int64_t (*project_scratch)(int64_t panelled);
    // z (groups, rows, GROUP) = A V or (-1/2 A o A) V; v (groups, ld / LINE, GROUP, LINE).
    void (*matmul)(const T* a, int64_t stride, int rows, int64_t cols, bool half_square, const T* v,
                   int groups, int64_t ld, double* z);

    // The share of at most HALF_ROWS rows of a stored half in geodesic_products; columns count from
    // their first row. v as above, own (groups, rows, GROUP): V at these rows; z (groups, rows,
    // GROUP) = the products of the rows; sums (groups, GROUP, span) += those of the columns.
    // scratch: HALF_ROWS * HALF_COLUMNS.
    void (*geodesic_products)(const T* a, int64_t stride, int rows, int64_t size, const T* v,
                              int groups, int64_t ld, const T* own, T* scratch, double* z,
                              double* sums, int64_t span);
};

}  // namespace lowd
