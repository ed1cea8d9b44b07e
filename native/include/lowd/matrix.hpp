// A view of a matrix whose rows are contiguous, and the width of packed panels.
#pragma once

#include <cstdint>

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

}  // namespace lowd
