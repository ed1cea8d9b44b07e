// Small local fits: barycentric weights, and alignment matrices of tangent spaces.
#pragma once

#include "lowd/matrix.hpp"
#include "lowd/ragged.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// Barycentric weights: those of the listed rows of X that sum to 1 and reconstruct a row of Q best,
// as least squares with reg times the trace added to the diagonal; reg = 0 is the limit.
template <class T>
void barycentric_weights(Matrix<const T> Q, Matrix<const T> X, Ragged near, double reg,
                         double* weights, Job& job);

// How the error of a patch (neighborhood) is measured. ltsa: I - G G', G = constants and k tangent
// coordinates; hessian: H H', H = the products of tangent coordinates, made orthogonal to G, plus
// reg (at most 1) times the projector on the orthogonal complement of G and H; modified: F F', F =
// several weight vectors of the patch's last member.
enum class Alignment { ltsa, hessian, modified };

// The alignment matrix, the sum over patches (lists of rows, none twice in one) times their counts,
// is symmetric with alignment_indptr(...)[rows] entries; the columns of a row increase.
void alignment_indptr(Ragged patches, int64_t rows, int64_t* indptr, Job& job);
template <class T>
void alignment_matrix(Matrix<const T> X, Ragged patches, Alignment kind, int k, double reg,
                      const double* counts, const int64_t* indptr, int32_t* columns, double* values,
                      Job& job);

}  // namespace lowd
