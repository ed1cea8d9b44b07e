// The potential on an interpolation grid, from and to NumPy arrays.
#pragma once

#include <array>
#include <tuple>
#include <utility>

#include "bind.hpp"
#include "lowd/potential.hpp"

namespace lowd::python {

inline PotentialView potential_of(const std::optional<Array1<const float>>& phi, int k,
                                  std::array<int64_t, 2> nodes, std::array<double, 2> origin,
                                  double spacing) {
    if (!phi) return {};
    require(k <= 2 && nodes[0] >= 5 && (k == 1 || nodes[1] >= 5), "too small a grid");
    const int64_t cells = k == 2 ? nodes[0] * nodes[1] : nodes[0];
    return {k,
            view(*phi, cells, "one entry per node"),
            {nodes[0], nodes[1]},
            {origin[0], origin[1]},
            spacing};
}

// Returns phi, nodes, origin and spacing.
inline auto grid_of(PotentialGrid&& grid) {
    auto* const found = new PotentialGrid(std::move(grid));
    const nb::capsule owner(found, [](void* p) noexcept { delete static_cast<PotentialGrid*>(p); });
    nb::ndarray<nb::numpy, float, nb::ndim<1>> phi(found->phi.data(), {found->phi.size()}, owner);
    return std::tuple(phi, found->nodes, found->origin, found->spacing);
}

}  // namespace lowd::python
