// Column sums and scatter matrices. Weights may be null, else they are not negative.
#pragma once

#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// out = sum_i w_i x_i; returns the largest |x_ij|.
template <class T>
double column_sums(Matrix<const T> X, const double* weights, double* out, Job& job);

// out = sum_i w_i u_i u_i^T, u_i = (x_i - mean) scale. Products are summed in T over 256 rows, then
// in float64.
template <class T>
void scatter(Matrix<const T> X, const double* weights, const double* mean, double scale,
             Matrix<double> out, Job& job);

// out = U^T W (U V) in one pass over X; returns sum_i w_i |u_i|^2.
template <class T>
double scatter_matmul(Matrix<const T> X, const double* weights, const double* mean, double scale,
                      Matrix<const T> V, Matrix<double> out, Job& job);

}  // namespace lowd
