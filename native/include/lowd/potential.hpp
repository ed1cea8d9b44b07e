// The potential of an embedding on an interpolation grid: the sum of 1 / (1 + d^2) over its points.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace lowd {

// Coefficients of cubic B-splines, axes in the order of coordinates.
struct PotentialGrid {
    std::vector<float> phi;
    std::array<int64_t, 2> nodes{0, 0};
    std::array<double, 2> origin{0, 0};
    double spacing = 1;
};

// The same for reading; without phi there is no grid.
struct PotentialView {
    int k = 0;
    const float* phi = nullptr;
    int64_t nodes[2] = {0, 0};
    double origin[2] = {0, 0}, spacing = 1;
};

}  // namespace lowd
