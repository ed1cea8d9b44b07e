// The forces of UMAP between two points of the embedding, as functions of the squared distance s.
#pragma once

namespace lowd {

// Similarity phi = 1 / (1 + a s^b). The attractive force is g_a = 2 a b s^(b - 1) phi times the
// difference of the points, the repulsive one g_r = 2 b phi / (softening + s). The softening bounds
// the repulsion of near points, as clipping does in UMAP's first implementation.
struct ForceLaw {
    double a, b, softening;
};

}  // namespace lowd
