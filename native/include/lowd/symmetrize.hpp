// Symmetric sparse matrices from directed ones: joint probabilities, fuzzy unions.
#pragma once

#include <optional>
#include <vector>

#include "lowd/buffer.hpp"
#include "lowd/ragged.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// A sparse matrix in CSR form that owns its arrays.
struct SymmetricMatrix {
    std::vector<int64_t> indptr;
    Buffer<int32_t> indices;
    Buffer<double> values;
};
// (A + A') / 2n of n rows; or, with the share s of a union, s (A + A' - A o A') + (1 - s) A o A',
// less its zeros. The entries of A come in their order, then those of A' alone.
SymmetricMatrix symmetrize(Ragged A, const double* values, std::optional<double> union_share,
                           Job& job);

}  // namespace lowd
