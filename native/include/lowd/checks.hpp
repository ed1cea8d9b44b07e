// Validation of entries: finite, symmetric.
#pragma once

#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"

namespace lowd {

struct Position {
    int64_t row = -1, col = -1;
};

// The first entry in row-major order that is not finite, or (-1, -1).
template <class T>
Position find_nonfinite(Matrix<const T> X, Job& job);

// Positions are the first in the order of blocks. If `nonfinite_at` is a position (the first entry
// that is not finite), all other fields are void.
struct Symmetry {
    // Max |a_ij - a_ji|, max |a_ij|, min a_ij, max |a_ii|.
    double asymmetry = 0, largest = 0, smallest = 0, diagonal = 0;
    Position asymmetry_at, smallest_at, nonfinite_at;
    int64_t diagonal_at = -1;
};
template <class T>
Symmetry symmetry(Matrix<const T> A, Job& job);

}  // namespace lowd
