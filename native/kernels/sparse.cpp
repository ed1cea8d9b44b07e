#include "lowd/sparse.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "lowd/levels.hpp"

namespace lowd {

namespace {

// Rows first .. last - 1 are read again from the cache right afterwards, so this check is almost
// free.
template <class I>
void check_rows(const I* indptr, const I* columns, int64_t first, int64_t last, I total,
                int64_t cols) {
    using Unsigned = std::make_unsigned_t<I>;
    if (indptr[first] < 0 || indptr[last] > total ||
        !std::is_sorted(indptr + first, indptr + last + 1))
        throw std::invalid_argument("indptr must rise from 0 to the number of indices");
    Unsigned largest = 0;  // a negative index becomes large as well
    for (I e = indptr[first]; e < indptr[last]; e++)
        largest = std::max(largest, Unsigned(columns[e]));
    if (indptr[first] < indptr[last] && uint64_t(largest) >= uint64_t(cols))
        throw std::invalid_argument("column indices must lie below the number of columns");
}

}  // namespace

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
        check_rows(indptr, columns, first, last, indptr[rows], V.rows);
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
