// Dense matrix products.
#pragma once

#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// out = (X - shift) W + bias; shift and bias may be null.
template <class T>
void project(Matrix<const T> X, const double* shift, Matrix<const T> W, const double* bias,
             Matrix<T> out, Job& job);

// out = A V, or (-1/2 A o A) V.
template <class T>
void matmul(Matrix<const T> A, Matrix<const T> V, bool half_square, Matrix<double> out, Job& job);

}  // namespace lowd
