// What repels points: the law of UMAP's forces, and potentials on an interpolation grid.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace lowd {

// The forces of UMAP between two points of the embedding, as functions of the squared distance s.

// Similarity phi = 1 / (1 + a s^b). The attractive force is g_a = 2 a b s^(b - 1) phi times the
// difference of the points, the repulsive one g_r = 2 b phi / (softening + s). The softening bounds
// the repulsion of near points, as clipping does in UMAP's first implementation.
struct ForceLaw {
    double a, b, softening;
};

// The potential of an embedding on an interpolation grid: the sum of 1 / (1 + d^2) over its points.

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
