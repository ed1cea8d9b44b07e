// Column sums and scatter matrices. Weights may be null, else they are not negative.
#pragma once

#include <cstdint>

#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// Random bits from the content of rows: those of a stream (its key) for the hash sum_j
// multipliers_j mix(x_ij) modulo 2^64, with x_ij in float64 and -0 as 0. `out` receives one number
// per row.
struct RowPriorities {
    const uint64_t* multipliers;
    uint64_t key;
    uint64_t* out;
};

// out = sum_i w_i x_i; returns the largest |x_ij|. Also computes the priorities of rows, unless
// null.
template <class T>
double column_sums(Matrix<const T> X, const double* weights, double* out,
                   const RowPriorities* priorities, Job& job);

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
