// Products with a half-stored matrix of geodesic distances.
#include <algorithm>

#include "instantiate.hpp"
#include "lowd/buffer.hpp"
#include "lowd/levels.hpp"
#include "lowd/shortest_paths.hpp"
#include "operands.hpp"
#include "scratch.hpp"

namespace lowd {

template <class T>
void geodesic_products(Matrix<const T> half, Matrix<const T> V, Matrix<double> out, Job& job) {
    const auto& kernel = kernels<T>();
    const int64_t n = half.rows, size = half.cols, b = V.cols;
    const int groups = int(ceil_div(b, GROUP));
    // Each slab of rows adds to its own sums for the columns that it covers.
    const int64_t slab = round_up(ceil_div(n, 16), HALF_ROWS), slabs = ceil_div(n, slab);
    const int64_t covered = slab + size, span = round_up(covered, HALF_COLUMNS) + HALF_COLUMNS;
    const int64_t ld = round_up(n + span, PANEL<T>), area = groups * GROUP * span;
    Buffer<T> cyclic(ld * b);  // V twice, so that no strip wraps around
    for (int64_t k = 0; k < ld; k++) std::copy_n(V.row(k % n), b, &cyclic[k * b]);
    const Buffer<T> columns = interleave_columns<T>({cyclic.get(), ld, b, b}, GROUP, ld);
    const Buffer<double> sums(slabs * area, 0.0);
    Scratch<T> scratch(job, HALF_ROWS * (HALF_COLUMNS + groups * GROUP));
    Scratch<double> products(job, HALF_ROWS * groups * GROUP);
    job.expect(slabs);
    job.parallel(slabs, [&](int64_t s, int worker) {
        const int64_t end = std::min(n, (s + 1) * slab);
        for (int64_t i = s * slab; i < end; i += HALF_ROWS) {
            const int rows = int(std::min<int64_t>(HALF_ROWS, end - i));
            T* const own = scratch[worker] + HALF_ROWS * HALF_COLUMNS;
            double* const z = products[worker];
            std::fill_n(own, HALF_ROWS * groups * GROUP, T(0));
            for (int r = 0; r < rows; r++)
                for (int64_t c = 0; c < b; c++)
                    own[(c / GROUP * rows + r) * GROUP + c % GROUP] = V.row(i + r)[c];
            kernel.geodesic_products(half.row(i), half.stride, rows, size, &columns[i * GROUP],
                                     groups, ld, own, scratch[worker], z,
                                     &sums[s * area + i - s * slab], span);
            for (int r = 0; r < rows; r++)
                for (int64_t c = 0; c < b; c++)
                    out.row(i + r)[c] = z[(c / GROUP * rows + r) * GROUP + c % GROUP];
        }
    });
    constexpr int64_t BLOCK = 512;
    job.parallel(
        ceil_div(n, BLOCK),
        [&](int64_t block, int) {
            const int64_t end = std::min(n, (block + 1) * BLOCK);
            for (int64_t s = 0; s < slabs; s++)
                for (int64_t j = block * BLOCK; j < end; j++)
                    for (int64_t q = (j - s * slab + n) % n; q < covered; q += n)
                        for (int64_t c = 0; c < b; c++)
                            out.row(j)[c] += sums[s * area + c * span + q];
        },
        0);
}

#define INSTANTIATE(T) \
    template void geodesic_products(Matrix<const T>, Matrix<const T>, Matrix<double>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
