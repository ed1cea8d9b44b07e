// Pairwise distances and kernels.
#pragma once

#include <span>

#include "lowd/matrix.hpp"
#include "lowd/measure.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// out_ij = measure(q_i, x_j). `symmetric`: Q is X, and half of the pairs are computed. center (may
// be null) is near the middle of the data: squared distances come from centered rows, and from the
// differences where that would lose digits. `dot` is the product of centered rows.
template <class T>
void pairwise(Matrix<const T> Q, Matrix<const T> X, Measure measure, std::span<const double> params,
              const double* center, bool symmetric, Matrix<T> out, Job& job);

}  // namespace lowd
