// Out-of-sample extension of SNE and t-SNE.
#pragma once

#include "lowd/descent.hpp"

namespace lowd {

// Optimizes each new point by itself, with the embedding Y held fixed; `potential` may have no
// nodes. The start is `coordinates`, or the weighted median of the neighbors, column by column.
void optimize_new_points(Ragged near, const double* p, Matrix<const double> Y,
                         Similarity similarity, const PotentialView& potential, bool from_medians,
                         Matrix<double> coordinates, Job& job);

}  // namespace lowd
