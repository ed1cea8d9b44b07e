// One CPU level: defines lowd::level_<LOWD_LEVEL>. Compiled once per level, with that level's
// flags.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "lowd/levels.hpp"
#include "lowd/matrix.hpp"

namespace lowd {
namespace {

#include "simd.inl"
#include "checks.inl"
#include "micro_kernel.inl"
#include "skinny_product.inl"
#include "moments.inl"
#include "linear.inl"
#include "geodesic_products.inl"
#include "pairwise.inl"
#include "sketch.inl"
#include "shortest_paths.inl"
#include "sparse.inl"
#include "symmetric_eigen.inl"
#include "patches.inl"
#include "barycentric_weights.inl"
#include "alignment.inl"
#include "insert_sorted.inl"
#include "distances.inl"
#include "neighbors.inl"
#include "ranks.inl"
#include "stress.inl"
#include "stress_float32.inl"
#include "monotone_regression.inl"
#include "perplexity.inl"
#include "forces.inl"
#include "gradient_step.inl"
#include "weighted_median.inl"
#include "new_point_loss.inl"
#include "new_points.inl"
#include "all_pairs.inl"
#include "packed_edges.inl"
#include "memberships.inl"
#include "force_law.inl"
#include "layout_forces.inl"
#include "layout_step.inl"
#include "layout_density.inl"
#include "layout_points.inl"
#include "fft.inl"
#include "grid_fft.inl"
#include "short_range.inl"
#include "particle_mesh.inl"

template <class T>
constexpr void fill_kernels(Kernels<T>& table) {
    fill_checks(table);
    fill_moments(table);
    fill_linear(table);
    fill_geodesic_products(table);
    fill_pairwise(table);
    fill_sketch(table);
    fill_shortest_paths(table);
    fill_patches(table);
    fill_distances(table);
    fill_guttman(table);
}

constexpr Level make_level(const char* name) {
    Level level{};
    level.name = name;
    fill_kernels(level.float32);
    fill_kernels(level.float64);
    fill_sparse(level.sparse);
    fill_alignment(level.sparse);
    fill_search(level.search);
    fill_ranks(level.ranks);
    fill_stress(level.stress);
    fill_forces(level.forces);
    fill_grid(level.grid);
    fill_layout(level.layout);
    return level;
}

}  // namespace

#define LOWD_JOIN(a, b) a##b
#define LOWD_NAME(level) LOWD_JOIN(level_, level)
#define LOWD_QUOTE(x) #x
#define LOWD_STRING(x) LOWD_QUOTE(x)
extern const Level LOWD_NAME(LOWD_LEVEL);
constexpr Level LOWD_NAME(LOWD_LEVEL) = make_level(LOWD_STRING(LOWD_LEVEL));

}  // namespace lowd
