// Lists of indices in CSR form, from two NumPy arrays.
#pragma once

#include <algorithm>
#include <span>

#include "bind.hpp"
#include "lowd/ragged.hpp"

namespace lowd::python {

using Indptr = Array1<const int64_t>;
using Indices = Array1<const int32_t>;

inline constexpr const char* PER_INDEX = "there must be one entry per index";

inline std::span<const int64_t> indptr_of(const Indptr& indptr, int64_t total) {
    const std::span found(view(indptr, int64_t(indptr.shape(0)), ""), indptr.shape(0));
    require(!found.empty() && found.front() == 0 && found.back() == total &&
                std::ranges::is_sorted(found),
            "indptr must rise from 0 to the number of indices");
    return found;
}

// All indices must be below `bound`.
inline Ragged ragged_of(const Indptr& indptr, const Indices& indices, int64_t bound) {
    require_numbered(bound, "points");
    const auto total = int64_t(indices.shape(0));
    const Ragged found{indptr_of(indptr, total), {view(indices, total, ""), indices.shape(0)}};
    require(std::ranges::all_of(found.indices, [&](int64_t i) { return 0 <= i && i < bound; }),
            "indices must be row indices");
    return found;
}

}  // namespace lowd::python
