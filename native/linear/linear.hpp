// Dense and sparse matrices: sums over rows, products, pairwise measures and fast
// random projections.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/matrix.hpp"
#include "base/threads.hpp"

namespace lowd {

// Column sums and scatter matrices. Weights may be null, else they are not negative.

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

// Dense matrix products.

// out = (X - shift) W + bias; shift and bias may be null.
template <class T>
void project(Matrix<const T> X, const double* shift, Matrix<const T> W, const double* bias,
             Matrix<T> out, Job& job);

// out = A V, or (-1/2 A o A) V.
template <class T>
void matmul(Matrix<const T> A, Matrix<const T> V, bool half_square, Matrix<double> out, Job& job);

// Products with a sparse matrix.

// out = a A V + b V + c U for contiguous V, U (may be null) and out; A has `rows` rows, in CSR
// form. Indices that do not fit are refused.
template <class I>
void sparse_matmul(int64_t rows, const I* indptr, const I* columns, const double* values,
                   Matrix<const double> V, double a, double b, const double* U, double c,
                   double* out, Job& job);

// The kernels and distances that `pairwise` computes.

// From the dot product; from the squared distance; from the differences; from truth values.
// clang-format off
enum class Measure {
    dot, poly, sigmoid,
    sqeuclidean, euclidean, rbf, rbfm1,
    manhattan, laplacian, chebyshev, minkowski, hamming,
    jaccard
};
// clang-format on

std::optional<Measure> measure_named(std::string_view name);

// Pairwise distances and kernels.

// out_ij = measure(q_i, x_j). `symmetric`: Q is X, and half of the pairs are computed. center (may
// be null) is near the middle of the data: squared distances come from centered rows, and from the
// differences where that would lose digits. `dot` is the product of centered rows.
template <class T>
void pairwise(Matrix<const T> Q, Matrix<const T> X, Measure measure, std::span<const double> params,
              const double* center, bool symmetric, Matrix<T> out, Job& job);

// out_i = scale (H pad(signs o x_i))[picks], H the Walsh-Hadamard matrix of order `padded` (a power
// of two) in natural order.
template <class T>
void hadamard(Matrix<const T> X, const T* signs, std::span<const int64_t> picks, int64_t padded,
              double scale, Matrix<T> out, Job& job);

}  // namespace lowd
