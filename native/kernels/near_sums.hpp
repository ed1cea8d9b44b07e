// Sums over the pairs of points of the plane or of space that are near each other.
#pragma once

#include "drive.hpp"

namespace lowd {

// What the smooth kernel of a Convolver lacks within `reach`: pushes on the n points y (two or
// four entries each; from `low` on, `span` wide), and their sum over all ordered pairs and the points themselves.
double near_sums(const float* y, int64_t n, int k, const float* low, float span, float reach,
                 float* pushes, Job& job);

}  // namespace lowd
