// Neighbor graphs: shortest paths, and small fits to the neighbors of each point.
#pragma once

#include "base/matrix.hpp"
#include "base/threads.hpp"

namespace lowd {

// Shortest paths in a neighbor graph: geodesic distances.

// out (sources x nodes) = lengths of shortest paths; infinite where there is none. A source is a
// list of nodes with the length of a first step to each (null: 0). Edge lengths are not negative;
// those of one path are summed in T from the source on.
template <class T>
void shortest_paths(Ragged graph, const T* lengths, Ragged sources, const T* steps, Matrix<T> out,
                    Job& job);

// The same between all n nodes, each pair once: with the nodes on a circle, row i of out holds the
// distances to the n / 2 nodes that follow i. (If n is even, the second of two opposite nodes holds
// a 0.)
template <class T>
void geodesic_half(Ragged graph, const T* lengths, Matrix<T> out, Job& job);

// out = (-1/2 G o G) V for the symmetric G of which `half` is stored in that way.
template <class T>
void geodesic_products(Matrix<const T> half, Matrix<const T> V, Matrix<double> out, Job& job);

// out_i = the least of lengths_e + from_{near_e} over row i of `near`, entry by entry; of no
// neighbors: infinite.
template <class T>
void min_plus(Ragged near, const T* lengths, Matrix<const T> from, Matrix<T> out, Job& job);

// Small local fits: barycentric weights, and alignment matrices of tangent spaces.

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
