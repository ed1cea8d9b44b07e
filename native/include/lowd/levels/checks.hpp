// Table of kernels that check the entries of a matrix; see checks.inl.
#pragma once

#include <cstdint>

namespace lowd {

template <class T>
struct Extremes {
    T asymmetry, largest, smallest;
    bool finite;
};

template <class T>
struct CheckKernels {
    bool (*finite)(const T* x, int64_t count);
    // The block a (rows x cols) against the mirrored block b (cols x rows) of one matrix.
    Extremes<T> (*symmetry)(const T* a, const T* b, int64_t stride, int rows, int cols);
};

}  // namespace lowd
