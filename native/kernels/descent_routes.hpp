// The two implementations of a descent.
#pragma once

#include <memory>

#include "lowd/descent.hpp"

namespace lowd {

// By all pairs in float64.
std::unique_ptr<Descent> exact_descent(Ragged P, const double* values, int k,
                                       Similarity similarity);
// In float32, for heavy tails and k <= 3: by all pairs, or by an interpolation grid.
std::unique_ptr<Descent> grid_descent(Ragged P, const double* values, int k, bool all_pairs);

}  // namespace lowd
