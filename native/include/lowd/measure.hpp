// The kernels and distances that `pairwise` computes.
#pragma once

#include <optional>
#include <string_view>

namespace lowd {

// From the dot product; from the squared distance; from the differences; from truth values.
// clang-format off
enum class Measure {
    dot, poly, sigmoid,
    sqeuclidean, euclidean, rbf, rbfm1,
    manhattan, laplacian, chebyshev, minkowski, hamming,
    jaccard
};
// clang-format on

std::optional<Measure> measure_named(std::string_view name);

}  // namespace lowd
