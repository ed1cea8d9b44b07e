// Fuzzy memberships of neighbors, as UMAP defines them.
#pragma once

#include <optional>
#include <span>

#include "lowd/threads.hpp"

namespace lowd {

// exp(-max(0, d - rho) / sigma) over each list of distances, nearest first, the point itself left
// out. rho: the distance of the `connectivity`-th neighbor at a positive distance, interpolated;
// sigma: so that the sum is log2(count + 1), but at least 1e-3 times the mean distance of the list,
// or of all of them (`mean_distance`, if it is given) where rho is 0. A mean counts the point
// itself. Of an empty list: rho 0, sigma 1.
void fuzzy_memberships(std::span<const int64_t> indptr, const double* distances,
                       double connectivity, std::optional<double> mean_distance,
                       double* memberships, double* rho, double* sigma, Job& job);

}  // namespace lowd
