// Layouts of UMAP for tests, and its forces between two points by the definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "embeddings.hpp"
#include "embedding/layout.hpp"

namespace lowd::test {

inline const ForceLaw LAW{1.5769, 0.8951, 0.02};

inline double attraction_at(const ForceLaw& law, double s) {
    s = std::max(s, 1e-12);
    return 2 * law.a * law.b * std::pow(s, law.b - 1) / (1 + law.a * std::pow(s, law.b));
}
inline double repulsion_at(const ForceLaw& law, double s) {
    return 2 * law.b / ((law.softening + s) * (1 + law.a * std::pow(s, law.b)));
}

inline std::unique_ptr<Layout> layout_of(const CircleGraph& graph, int64_t k, bool exact, Job& job,
                                         uint64_t seed = 0, const std::vector<double>& radii = {},
                                         const ForceLaw& law = LAW) {
    return layout(graph.ragged(), graph.values.data(), int(k), law, exact, seed, {radii, 0.1}, job);
}

inline std::vector<double> standard_radii(int64_t n) {
    std::vector<double> radii;
    for (int64_t i = 0; i < n; i++) radii.push_back((i * 7 % 11 - 5) / std::sqrt(10.0));
    return radii;
}

}  // namespace lowd::test
