// Neighbor graphs: shortest paths, products with sparse matrices, local weights and patches.
//
// As everywhere, bits depend on the input only. Row numbers are trusted to be in range.
#pragma once

#include "lowd/lowd.hpp"

namespace lowd {

// List i is members[starts[i]] .. members[starts[i + 1] - 1].
struct Lists {
    std::span<const int64_t> starts;
    std::span<const int32_t> members;

    int64_t count() const { return int64_t(starts.size()) - 1; }
    int64_t size(int64_t i) const { return starts[i + 1] - starts[i]; }
    const int32_t* list(int64_t i) const { return members.data() + starts[i]; }
    int64_t longest() const {
        int64_t most = 0;
        for (int64_t i = 0; i < count(); i++) most = std::max(most, size(i));
        return most;
    }
};

// out (sources x nodes) = lengths of shortest paths; infinite where there is none. A source is a list
// of nodes with the length of a first step to each (null: 0). Lengths are not negative; those of one
// path are summed in T from the source on.
template <class T>
void paths(Lists graph, const T* lengths, Lists from, const T* steps, Matrix<T> out, Job& job);

// The same between all n nodes, each pair once: with the nodes in a ring, row i of out holds the
// n / 2 nodes that follow i. (If n is even, the second of two that face each other holds a 0.)
template <class T>
void ring(Lists graph, const T* lengths, Matrix<T> out, Job& job);

// out = (-1/2 G o G) V for the symmetric G that a ring holds.
template <class T>
void ring_times(Matrix<const T> ring, Matrix<const T> V, Matrix<double> out, Job& job);

// out_i = the least of lengths_e + from_{near_e} over list i, entry by entry; of no list: infinite.
template <class T>
void relax(Lists near, const T* lengths, Matrix<const T> from, Matrix<T> out, Job& job);

// out = a A V + b V + c U for contiguous V, U (may be null) and out; A has `rows` rows, in CSR
// form.
template <class I>
void sparse_times(int64_t rows, const I* starts, const I* columns, const double* values,
                  Matrix<const double> V, double a, double b, const double* U, double c,
                  double* out, Job& job);

// For each row of Q the weights of its listed rows of X, which sum to 1 and rebuild it best, as
// least squares with reg times the trace added to the diagonal; reg = 0 is the limit.
template <class T>
void barycenters(Matrix<const T> Q, Matrix<const T> X, Lists near, double reg, double* weights,
                 Job& job);

// How the error of a patch is measured. ltsa: I - G G', G = constants and k tangent coordinates;
// hessian: H H', H = the products of tangent coordinates, made orthogonal to G, plus reg (at most 1)
// times the projector on what neither G nor H spans; modified: F F', F = several weight vectors of
// the patch's last member.
enum class Alignment { ltsa, hessian, modified };

// The sum over patches (lists of rows, none twice in one) is a symmetric matrix with
// alignment_starts(...)[rows] entries; columns of a row rise.
void alignment_starts(Lists patches, int64_t rows, int64_t* starts, Job& job);
template <class T>
void alignment(Matrix<const T> X, Lists patches, Alignment kind, int k, double reg,
               const double* mass, const int64_t* starts, int32_t* columns, double* values,
               Job& job);

}  // namespace lowd
