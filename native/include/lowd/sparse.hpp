// Products with a sparse matrix.
#pragma once

#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// out = a A V + b V + c U for contiguous V, U (may be null) and out; A has `rows` rows, in CSR
// form. Indices that do not fit are refused.
template <class I>
void sparse_matmul(int64_t rows, const I* indptr, const I* columns, const double* values,
                   Matrix<const double> V, double a, double b, const double* U, double c,
                   double* out, Job& job);

}  // namespace lowd
