// Short-range forces of P3M: sums over pairs of points within a cutoff, in two or three dimensions.
#pragma once

#include <cstdint>

#include "lowd/threads.hpp"

namespace lowd {

// What the smooth kernel of a Convolver lacks within the cutoff: forces on the n points y (two or
// four entries each; from `low` on, `span` wide), and the sum of similarities over all ordered
// pairs and the points themselves.
double short_range_forces(const float* y, int64_t n, int k, const float* low, float span,
                          float cutoff, float* forces, Job& job);

}  // namespace lowd
