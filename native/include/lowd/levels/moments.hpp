// Table of kernels of column sums and scatter matrices; see moments.inl.
#pragma once

#include <cstdint>

#include "lowd/levels/shift.hpp"

namespace lowd {

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
    // sums (groups, GROUP, ld) += Xc^T W Xc V for a block of rows; v is (groups, ld / LINE, GROUP,
    // LINE); returns sum_i w_i |xc_i|^2. shift.low is multiplied by scale. scratch: rows * (ld +
    // groups * GROUP) of T; z: rows * (groups * GROUP + 1).
    double (*scatter_matmul)(const T* x, int64_t stride, int rows, int64_t cols, Shift<T> shift,
                             T scale, const double* weights, const T* v, int groups, int64_t ld,
                             T* scratch, double* z, double* sums);
};

}  // namespace lowd
