// Neighbor ranks: by counting the closer rows, or of whole rows of distances.
#pragma once

#include "neighbors/neighbors.hpp"

namespace lowd {

// out_iq = the rank of row ids_iq (-1: none, rank 0) among all others, seen from row rows[i] (or
// i, if rows is null), in the order of `nearest`: by (distance, index), from 1.
//
// Nothing is sorted: a pair of rows is compared with the few thresholds of a row, in float32 with a
// bound on its error, and in float64 only if that is not decisive. center is near the middle of the
// data; scale is a power of two that keeps squares of float32 in range.
template <class T>
void ranks(Matrix<const T> X, const double* center, double scale, const int64_t* rows,
           Metric metric, Matrix<const int32_t> ids, Matrix<int32_t> out, Job& job);

// out_ij = the rank of d_ij in its row by (value, column), from 1; column own[i] is left out and
// has rank 0.
template <class T>
void rank_rows(Matrix<const T> D, const int64_t* own, Matrix<int32_t> out, Job& job);

}  // namespace lowd
