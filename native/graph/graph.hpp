// Shortest paths in a neighbor graph: geodesic distances.
#pragma once

#include "base/matrix.hpp"
#include "base/threads.hpp"

namespace lowd {

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

}  // namespace lowd
