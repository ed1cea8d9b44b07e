#include "lowd/graphs.hpp"

#include "drive.hpp"

namespace lowd {

template <class T>
void relax(Lists near, const T* lengths, Matrix<const T> from, Matrix<T> out, Job& job) {
    job.expect(near.count());
    job.parallel(near.count(), [&](int64_t i, int) {
        kernels<T>().relax(from.data, from.stride, from.cols, near.list(i),
                           lengths + near.starts[i], near.size(i), out.row(i));
    });
}

template <class T>
void ring_times(Matrix<const T> ring, Matrix<const T> V, Matrix<double> out, Job& job) {
    const auto& kernel = kernels<T>();
    const int64_t n = ring.rows, size = ring.cols, b = V.cols;
    const int groups = int(ceil_div(b, GROUP));
    // Each slab of rows adds to its own sums for the columns that it reaches.
    const int64_t slab = round_up(ceil_div(n, 16), RING_ROWS), slabs = ceil_div(n, slab);
    const int64_t reach = slab + size, span = round_up(reach, RING_COLUMNS) + RING_COLUMNS;
    const int64_t ld = round_up(n + span, PANEL<T>), area = groups * GROUP * span;
    Buffer<T> around(ld * b);  // the ring once more, so that no strip has to turn back
    for (int64_t k = 0; k < ld; k++) std::copy_n(V.row(k % n), b, &around[k * b]);
    const Buffer<T> columns = interleaved<T>({around.get(), ld, b, b}, 0, GROUP, ld);
    const Buffer<double> sums(slabs * area, 0.0);
    Scratch<T> scratch(job, RING_ROWS * (RING_COLUMNS + groups * GROUP));
    Scratch<double> products(job, RING_ROWS * groups * GROUP);
    job.expect(slabs);
    job.parallel(slabs, [&](int64_t s, int worker) {
        const int64_t end = std::min(n, (s + 1) * slab);
        for (int64_t i = s * slab; i < end; i += RING_ROWS) {
            const int rows = int(std::min<int64_t>(RING_ROWS, end - i));
            T* const own = scratch[worker] + RING_ROWS * RING_COLUMNS;
            double* const z = products[worker];
            std::fill_n(own, RING_ROWS * groups * GROUP, T(0));
            for (int r = 0; r < rows; r++)
                for (int64_t c = 0; c < b; c++)
                    own[(c / GROUP * rows + r) * GROUP + c % GROUP] = V.row(i + r)[c];
            kernel.ring_times(ring.row(i), ring.stride, rows, size, &columns[i * GROUP], groups, ld,
                              own, scratch[worker], z, &sums[s * area + i - s * slab], span);
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
                    for (int64_t q = (j - s * slab + n) % n; q < reach; q += n)
                        for (int64_t c = 0; c < b; c++)
                            out.row(j)[c] += sums[s * area + c * span + q];
        },
        0);
}

template <class I>
void sparse_times(int64_t rows, const I* starts, const I* columns, const double* values,
                  Matrix<const double> V, double a, double b, const double* U, double c,
                  double* out, Job& job) {
    constexpr int64_t ROWS = 512;
    const auto product = [&] {
        if constexpr (sizeof(I) == 4)
            return level().sparse.times32;
        else
            return level().sparse.times64;
    }();
    const int64_t blocks = ceil_div(rows, ROWS);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t block, int) {
        const int64_t first = block * ROWS, last = std::min(rows, first + ROWS);
        product(starts, columns, values, first, last, V.data, V.cols, a, b, U, c, out);
    });
}

#define INSTANTIATE(T)                                                              \
    template void relax(Lists, const T*, Matrix<const T>, Matrix<T>, Job&);         \
    template void ring_times(Matrix<const T>, Matrix<const T>, Matrix<double>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)
template void sparse_times(int64_t, const int32_t*, const int32_t*, const double*,
                           Matrix<const double>, double, double, const double*, double, double*,
                           Job&);
template void sparse_times(int64_t, const int64_t*, const int64_t*, const double*,
                           Matrix<const double>, double, double, const double*, double, double*,
                           Job&);

}  // namespace lowd
