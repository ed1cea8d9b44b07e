// Fast random projections: subsampled Hadamard transform, sparse matrices.
#pragma once

#include <span>

#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// out_i = scale (H pad(signs o x_i))[picks], H the Walsh-Hadamard matrix of order `padded` (a power
// of two) in natural order.
template <class T>
void hadamard(Matrix<const T> X, const T* signs, std::span<const int64_t> picks, int64_t padded,
              double scale, Matrix<T> out, Job& job);

// out = X C^T, C in CSR form.
template <class T>
void sparse_project(Matrix<const T> X, std::span<const int64_t> indptr,
                    std::span<const int64_t> indices, const T* values, Matrix<T> out, Job& job);

}  // namespace lowd
