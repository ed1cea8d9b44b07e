// Views of matrices whose rows are contiguous, and of lists of different lengths; the width of
// packed panels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace lowd {

// A matrix whose rows are contiguous but may lie apart: a slice of a NumPy array needs no copy.
template <class T>
struct Matrix {
    T* data;
    int64_t rows, cols, stride;
    T* row(int64_t i) const { return data + i * stride; }
};

// Lanes of a packed panel. 128 bytes on every CPU level, so that drivers need not know the level.
template <class T>
inline constexpr int PANEL = 128 / sizeof(T);

// static: every CPU level has its own copy (the linker must not pick the one of a higher level).
static constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// Lists of indices of different lengths, in CSR form.

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

// Explicit instantiation of a template for both types of entries.
#define LOWD_FOR_FLOATS(INSTANTIATE) INSTANTIATE(float) INSTANTIATE(double)
