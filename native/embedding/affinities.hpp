// Affinities of neighbors: conditional probabilities, fuzzy memberships, and symmetric matrices of
// them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"

namespace lowd {

// Conditional probabilities of SNE and t-SNE.

// Conditional probabilities p ~ exp(-beta d^2) over each row of squared distances, with
// exp(entropy) = target.
void conditional_probabilities(std::span<const int64_t> indptr, const double* squares,
                               double target, double* p, double* beta, Job& job);

// Fuzzy memberships of neighbors, as UMAP defines them.

// exp(-max(0, d - rho) / sigma) over each list of distances, nearest first and without the point
// itself. rho is the distance of the `connectivity`-th neighbor at a positive distance,
// interpolated. sigma makes the sum log2(count + 1), but is at least 1e-3 times the mean distance
// of the list, or of all lists (`mean_distance`, if given) where rho is 0. Means count the point
// itself. An empty list has rho 0 and sigma 1.
void fuzzy_memberships(std::span<const int64_t> indptr, const double* distances,
                       double connectivity, std::optional<double> mean_distance,
                       double* memberships, double* rho, double* sigma, Job& job);

// Symmetric sparse matrices from directed ones: joint probabilities, fuzzy unions.

// A sparse matrix in CSR form that owns its arrays.
struct SymmetricMatrix {
    std::vector<int64_t> indptr;
    Buffer<int32_t> indices;
    Buffer<double> values;
};
// (A + A') / 2n of n rows; or, with the share s of a union, s (A + A' - A o A') + (1 - s) A o A',
// less its zeros. The entries of A come in their order, then those of A' alone.
SymmetricMatrix symmetrize(Ragged A, const double* values, std::optional<double> union_share,
                           Job& job);

}  // namespace lowd
