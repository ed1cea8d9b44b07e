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
#include "lowd/view.hpp"

namespace lowd {
namespace {

#include "simd.inl"
#include "checks.inl"
#include "micro.inl"
#include "thin.inl"
#include "moments.inl"
#include "linear.inl"
#include "lanczos.inl"
#include "pairwise.inl"
#include "sketch.inl"
#include "graphs.inl"
#include "patches.inl"
#include "neighbors.inl"
#include "ranks.inl"
#include "stress.inl"
#include "monotone.inl"
#include "embed.inl"
#include "pairs.inl"
#include "transform.inl"
#include "waves.inl"
#include "mesh.inl"

template <class T>
constexpr Kernels<T> table() {
    Kernels<T> t{};
    t.finite = finite<T>;
    t.symmetry = symmetry<T>;
    t.column_sums = column_sums<T>;
    t.pack_columns = pack_columns<T>;
    t.scatter_tile = scatter_tile<T>;
    t.scatter_times = scatter_times<T>;
    t.tail_columns = tail_columns<T>;
    t.project = project<T>;
    t.project_scratch = project_scratch<T>;
    t.times = times<T>;
    t.ring_times = ring_times<T>;
    t.pack_rows = pack_rows<T>;
    t.pair_tile = pair_tile<T>;
    t.squares = squares<T>;
    t.squared_distance = squared_distance<T>;
    t.pair_finish = pair_finish<T>;
    t.flip = flip<T>;
    t.hadamard = hadamard<T>;
    t.sparse_project = sparse_project<T>;
    t.sparse_rows = LINE<T>;
    t.nearest_first = nearest_first<T>;
    t.paths = paths<T>;
    t.rows_of_lines = rows_of_lines<T>;
    t.relax = relax<T>;
    t.barycenter = barycenter<T>;
    t.patch_values = patch_values<T>;
    t.patch_ltsa = patch_ltsa<T>;
    t.patch_hessian = patch_hessian<T>;
    t.patch_modified = patch_modified<T>;
    t.difference_square = difference_square<T>;
    t.centered_square = centered_square<T>;
    t.guttman = guttman<T>;
    return t;
}
constexpr Lanczos krylov{lanczos_times, lanczos_subtract, lanczos_orthonormal};
constexpr Scaling scaling{narrow_guttman, locate, pair_lengths, pools, pair_moves};
constexpr Sparse sparse{sparse_times<int32_t>, sparse_times<int64_t>, assemble};

constexpr Embed embed{perplexity,    pair_sums,     attraction,   surprise,
                      pair_strip<double>, pair_strip<float>, pair_gather<double>, pair_gather<float>,
                      advance<double>, advance<float>,
                      median,        settle,        W<float>,      even_lines,   columns_forward, lines_through,
                      columns_back,  plane_forward, plane_back, line_through,  spread_charges, read_slopes,   attract_all,
                      later_pairs,   near_pairs,    add_line,      inner,        extent};

}  // namespace

#define LOWD_JOIN(a, b) a##b
#define LOWD_NAME(level) LOWD_JOIN(level_, level)
#define LOWD_QUOTE(x) #x
#define LOWD_STRING(x) LOWD_QUOTE(x)
extern const Level LOWD_NAME(LOWD_LEVEL);
constexpr Level LOWD_NAME(LOWD_LEVEL){LOWD_STRING(LOWD_LEVEL), table<float>(), table<double>(),
                                      sparse, search_table(), ranking, scaling, embed, krylov};

}  // namespace lowd
