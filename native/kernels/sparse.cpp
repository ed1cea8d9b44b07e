#include "lowd/sparse.hpp"

#include <algorithm>

#include "lowd/levels.hpp"

namespace lowd {

template <class I>
void sparse_matmul(int64_t rows, const I* indptr, const I* columns, const double* values,
                   Matrix<const double> V, double a, double b, const double* U, double c,
                   double* out, Job& job) {
    constexpr int64_t ROWS = 512;
    const auto product = [&] {
        if constexpr (sizeof(I) == 4)
            return level().sparse.matmul32;
        else
            return level().sparse.matmul64;
    }();
    const int64_t blocks = ceil_div(rows, ROWS);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t block, int) {
        const int64_t first = block * ROWS, last = std::min(rows, first + ROWS);
        product(indptr, columns, values, first, last, V.data, V.cols, a, b, U, c, out);
    });
}

template void sparse_matmul(int64_t, const int32_t*, const int32_t*, const double*,
                            Matrix<const double>, double, double, const double*, double, double*,
                            Job&);
template void sparse_matmul(int64_t, const int64_t*, const int64_t*, const double*,
                            Matrix<const double>, double, double, const double*, double, double*,
                            Job&);

}  // namespace lowd
