#include "lowd/layout.hpp"

#include "layout_routes.hpp"

namespace lowd {

std::unique_ptr<Layout> layout(Ragged W, const double* values, int k, const ForceLaw& law,
                               bool exact, uint64_t seed, const Radii& radii, Job& job) {
    if (exact) return exact_layout(W, values, k, law, radii);
    return float32_layout(W, values, k, law, seed, radii, job);
}

}  // namespace lowd
