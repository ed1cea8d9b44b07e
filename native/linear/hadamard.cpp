#include <algorithm>

#include "base/matrix.hpp"
#include "base/levels.hpp"
#include "base/memory.hpp"
#include "linear/linear.hpp"

namespace lowd {

template <class T>
void hadamard(Matrix<const T> X, const T* signs, std::span<const int64_t> picks, int64_t padded,
              double scale, Matrix<T> out, Job& job) {
    const int64_t rows = std::clamp<int64_t>((1 << 17) / padded, 1, 256),
                  blocks = ceil_div(X.rows, rows);
    Scratch<T> scratch(job, padded);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t block, int worker) {
        const int64_t i = block * rows;
        kernels<T>().hadamard(
            {X.row(i), X.stride, int(std::min(rows, X.rows - i)), X.cols, signs, picks.data(),
             int64_t(picks.size()), padded, T(scale), out.row(i), out.stride},
            scratch[worker]);
    });
}

#define INSTANTIATE(T)                                                                           \
    template void hadamard(Matrix<const T>, const T*, std::span<const int64_t>, int64_t, double, \
                           Matrix<T>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
