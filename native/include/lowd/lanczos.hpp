// Block Lanczos iterations on a dense symmetric matrix.
#pragma once

#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// Rows of an orthonormal basis; the last `fresh` of them are not multiplied yet. `left`: rows of T
// that describe the remainder of the last product.
struct Basis {
    int size, fresh, left;
};
// Passes of block Lanczos with the symmetric A (or -1/2 A o A), on vectors orthogonal to the unit
// vector `null`. Each multiplies the fresh rows of Q, T gets Q A Q' as far as it is known, and the
// part of the product outside the span of Q becomes fresh rows. Rows of T beyond those multiplied
// describe that part, in any orthonormal basis. Q and T have room for all passes.
Basis lanczos(Matrix<const double> A, bool half_square, const double* null, Matrix<double> Q,
              Matrix<double> T, Basis basis, int passes, Job& job);

}  // namespace lowd
