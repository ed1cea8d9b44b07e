// One CPU level: defines lowd::level_<LOWD_LEVEL>. Compiled once per level, with that level's
// flags (LOWD_LEVEL names the level).

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/levels.hpp"
#include "base/matrix.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef LOWD_LEVEL
#define LOWD_LEVEL base
#endif

namespace lowd {
namespace {

#include "base/simd.inl"
#include "linear/products.inl"
#include "linear/moments.inl"
#include "linear/pairwise.inl"
#include "linear/hadamard.inl"
#include "graph/shortest_paths.inl"
#include "neighbors/neighbors.inl"
#include "ranks/ranks.inl"
#include "stress/stress.inl"
#include "stress/monotone_regression.inl"
#include "embedding/affinities.inl"
#include "embedding/descent.inl"
#include "embedding/new_points.inl"
#include "embedding/layout.inl"
#include "embedding/fft.inl"
#include "embedding/particle_mesh.inl"

template <class T>
constexpr void fill_kernels(Kernels<T>& table) {
    fill_moments(table);
    fill_linear(table);
    fill_geodesic_products(table);
    fill_pairwise(table);
    fill_hadamard(table);
    fill_shortest_paths(table);
    fill_distances(table);
    fill_guttman(table);
}

constexpr Level make_level(const char* name) {
    Level level{};
    level.name = name;
    fill_kernels(level.float32);
    fill_kernels(level.float64);
    fill_sparse(level.sparse);
    fill_search(level.search);
    fill_ranks(level.ranks);
    fill_stress(level.stress);
    fill_forces(level.forces);
    fill_new_points(level.forces);
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
