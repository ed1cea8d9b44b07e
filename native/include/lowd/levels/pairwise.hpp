// Table of kernels of pairwise distances and similarities; see pairwise.inl.
#pragma once

#include <cstdint>

#include "lowd/levels/shift.hpp"
#include "lowd/measure.hpp"

namespace lowd {

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

}  // namespace lowd
