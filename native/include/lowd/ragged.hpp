// Lists of indices of different lengths, in CSR form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace lowd {

// Row i is indices[indptr[i]] .. indices[indptr[i + 1] - 1]. Indices are trusted to be in range.
struct Ragged {
    std::span<const int64_t> indptr;
    std::span<const int32_t> indices;

    int64_t count() const { return int64_t(indptr.size()) - 1; }
    int64_t size(int64_t i) const { return indptr[i + 1] - indptr[i]; }
    const int32_t* row(int64_t i) const { return indices.data() + indptr[i]; }
    int64_t longest() const {
        int64_t most = 0;
        for (int64_t i = 0; i < count(); i++) most = std::max(most, size(i));
        return most;
    }
};

}  // namespace lowd
