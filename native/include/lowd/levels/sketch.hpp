// Table of kernels of fast random projections; see sketch.inl.
#pragma once

#include <cstdint>

namespace lowd {

template <class T>
struct SketchKernels {
    void (*hadamard)(const T* x, int64_t stride, int rows, int64_t cols, const T* signs,
                     const int64_t* picks, int64_t k, int64_t padded, T scale, T* scratch, T* out,
                     int64_t out_stride);
    // At most sparse_rows rows; scratch: (cols + 64) * sparse_rows.
    void (*sparse_project)(const T* x, int64_t stride, int rows, int64_t cols,
                           const int64_t* indptr, const int32_t* indices, const T* values,
                           int64_t k, T* scratch, T* out, int64_t out_stride);
    int sparse_rows;
};

}  // namespace lowd
