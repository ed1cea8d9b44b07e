// Table of kernels of local fits (barycentric weights, tangent spaces); see patches.inl.
#pragma once

#include <cstdint>

namespace lowd {

// Entries of the scratch memory that a patch of p rows with d entries needs.
static constexpr int64_t patch_scratch(int64_t p, int64_t d) {
    const int64_t wide = (p + 7) / 8 * 8, cols = (d + 7) / 8 * 8;
    return p * cols + 2 * wide * wide + 5 * wide + cols;
}

// For one patch; scratch: patch_scratch(count, cols), factors: vectors of round_up(count, 8).
template <class T>
struct PatchKernels {
    void (*barycenter)(const T* q, const T* x, int64_t stride, int64_t cols, const int32_t* near,
                       int count, double reg, double* scratch, double* weights);
    int (*patch_eigenvalues)(const T* x, int64_t stride, int64_t cols, const int32_t* members,
                             int count, double* scratch, double* values);
    void (*patch_ltsa)(const T* x, int64_t stride, int64_t cols, const int32_t* members, int count,
                       int k, double* scratch, double* factors);
    // basis: 1 + k + k (k + 1) / 2 vectors; the factors are the last of them, then (if remainder >
    // 0) the first.
    void (*patch_hessian)(const T* x, int64_t stride, int64_t cols, const int32_t* members,
                          int count, int k, double remainder, double* scratch, double* basis,
                          double* factors);
    void (*patch_modified)(const T* x, int64_t stride, int64_t cols, const int32_t* members,
                           int count, int taken, double reg, double* scratch, double* factors);
};

}  // namespace lowd
