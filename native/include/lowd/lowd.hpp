// The functions of the library. T is float or double; outputs are given by the caller.
//
// For one CPU level the bits of a result depend on the input only: not on threads, and where a row
// of the output belongs to a row of the input (project, pairwise, times, hadamard, sparse_project)
// not on the other rows either.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "lowd/levels.hpp"
#include "lowd/threads.hpp"
#include "lowd/view.hpp"

namespace lowd {

struct Place {
    int64_t row = -1, col = -1;
};

// ---- Checks ----

// The first entry in row-major order that is not finite, or (-1, -1).
template <class T>
Place scan(Matrix<const T> X, Job& job);

// Places are the first in the order of blocks. If `bad` is a place (the first entry that is not
// finite), the rest is void.
struct Symmetry {
    // Max |a_ij - a_ji|, max |a_ij|, min a_ij, max |a_ii|.
    double asymmetry = 0, largest = 0, smallest = 0, diagonal = 0;
    Place asymmetry_at, smallest_at, bad;
    int64_t diagonal_at = -1;
};
template <class T>
Symmetry symmetry(Matrix<const T> A, Job& job);

// ---- Moments ----
// Weights may be null, else they are not negative.

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
double scatter_times(Matrix<const T> X, const double* weights, const double* mean, double scale,
                     Matrix<const T> V, Matrix<double> out, Job& job);

// ---- Products ----

// out = (X - shift) W + bias; shift and bias may be null.
template <class T>
void project(Matrix<const T> X, const double* shift, Matrix<const T> W, const double* bias,
             Matrix<T> out, Job& job);

// out = A V, or (-1/2 A o A) V.
template <class T>
void times(Matrix<const T> A, Matrix<const T> V, bool half_square, Matrix<double> out, Job& job);

// Rows of an orthonormal basis; the last `fresh` of them are not multiplied yet. `left`: rows of T
// that describe what the last product left.
struct Basis {
    int size, fresh, left;
};
// Passes of block Lanczos with the symmetric A (or -1/2 A o A), on vectors without a part of the
// unit vector `null`. Each multiplies the fresh rows of Q, T gets Q A Q' as far as it is known, and
// what the product has beyond Q becomes fresh rows. Rows of T beyond those multiplied: of what is
// beyond Q, in any orthonormal basis. Q and T have room for all passes.
Basis lanczos(Matrix<const double> A, bool half_square, const double* null, Matrix<double> Q,
              Matrix<double> T, Basis basis, int passes, Job& job);

// ---- Pairs ----

std::optional<Measure> measure_named(std::string_view name);

// out_ij = measure(q_i, x_j). `symmetric`: Q is X, and half of the pairs are computed. center (may
// be null) is near the middle of the data: squared distances come from centered rows, and from the
// differences where that would lose digits. `dot` is the product of centered rows.
template <class T>
void pairwise(Matrix<const T> Q, Matrix<const T> X, Measure measure, std::span<const double> params,
              const double* center, bool symmetric, Matrix<T> out, Job& job);

// ---- Sketches ----

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
