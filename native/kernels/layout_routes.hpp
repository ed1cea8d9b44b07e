// The two implementations of UMAP's descent, and what they share.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "lowd/layout.hpp"

namespace lowd {

// By all pairs in float64.
std::unique_ptr<Layout> exact_layout(Ragged W, const double* values, int k, const ForceLaw& law,
                                     const Radii& radii);
// In float32: by an interpolation grid, or by samples.
std::unique_ptr<Layout> float32_layout(Ragged W, const double* values, int k, const ForceLaw& law,
                                       uint64_t seed, const Radii& radii, Job& job);

inline constexpr double LAYOUT_MOMENTUM = 0.8;

inline std::vector<double> degrees_of(Ragged W, const double* values) {
    std::vector<double> degrees(static_cast<size_t>(W.count()));
    for (int64_t i = 0; i < W.count(); i++)
        degrees[size_t(i)] =
            std::accumulate(values + W.indptr[size_t(i)], values + W.indptr[size_t(i) + 1], 0.0);
    return degrees;
}

}  // namespace lowd
