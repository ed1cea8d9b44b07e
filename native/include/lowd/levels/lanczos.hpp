// Table of kernels of block Lanczos, in float64; see lanczos.inl.
#pragma once

#include <cstdint>

namespace lowd {

inline constexpr int LANCZOS_GROUP = 4;  // vectors that are treated together

struct LanczosKernels {
    void (*matmul)(const double* a, int64_t stride, int rows, int64_t cols, bool half_square,
                   const double* v, int groups, int64_t ld, double* z);
    void (*subtract)(const double* q, int64_t stride, int count, int64_t n, const double* s,
                     int groups, double* x, int64_t ld);
    int (*orthonormalize)(double* x, int64_t ld, int count, double floor, double* factor);
};

}  // namespace lowd
