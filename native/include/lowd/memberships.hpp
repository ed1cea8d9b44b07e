// Fuzzy memberships of neighbors, as UMAP defines them.
#pragma once

#include <optional>
#include <span>

#include "lowd/threads.hpp"

namespace lowd {

// exp(-max(0, d - rho) / sigma) over each list of distances, nearest first and without the point
// itself. rho is the distance of the `connectivity`-th neighbor at a positive distance,
// interpolated. sigma makes the sum log2(count + 1), but is at least 1e-3 times the mean distance
// of the list, or of all lists (`mean_distance`, if given) where rho is 0. Means count the point
// itself. An empty list has rho 0 and sigma 1.
void fuzzy_memberships(std::span<const int64_t> indptr, const double* distances,
                       double connectivity, std::optional<double> mean_distance,
                       double* memberships, double* rho, double* sigma, Job& job);

}  // namespace lowd
