#include <algorithm>
#include <cmath>
#include <vector>

#include "base/counter_random.hpp"
#include "base/matrix.hpp"
#include "base/levels.hpp"
#include "base/memory.hpp"
#include "linear/linear.hpp"
#include "linear/operands.hpp"

namespace lowd {

template <class T>
double column_sums(Matrix<const T> X, const double* weights, double* out,
                   const RowPriorities* priorities, Job& job) {
    // Slabs of rows, each with its own sums, by strips of columns: both few rows and few columns
    // have enough blocks. A hash is of a whole row.
    const int64_t strip = priorities ? std::max<int64_t>(1, X.cols) : 4096;
    const auto& kernel = kernels<T>();
    const int64_t slab = std::max(
        {int64_t(64), round_up(ceil_div(X.rows, 64), 8), (1 << 16) / std::max<int64_t>(1, X.cols)});
    const int64_t slabs = ceil_div(X.rows, slab), strips = ceil_div(X.cols, strip);
    Buffer<double> sums(slabs * X.cols, 0.0);
    Buffer<T> largest(slabs * strips, T(0));
    Buffer<uint64_t> multipliers(priorities ? round_up(X.cols, PANEL<T>) : 0, uint64_t(0));
    if (priorities) std::copy_n(priorities->multipliers, X.cols, multipliers.get());
    job.expect(slabs * strips);
    job.parallel(slabs * strips, [&](int64_t block, int) {
        const int64_t i = block / strips * slab, j = block % strips * strip,
                      rows = std::min(slab, X.rows - i);
        uint64_t* const bits = priorities ? priorities->out + i : nullptr;
        largest[block] =
            kernel.column_sums(X.row(i) + j, X.stride, rows, std::min(strip, X.cols - j),
                               weights ? weights + i : nullptr, &sums[block / strips * X.cols + j],
                               priorities ? multipliers.get() : nullptr, bits);
        for (int64_t r = 0; bits && r < rows; r++) bits[r] = random_bits(priorities->key, bits[r]);
    });
    std::fill_n(out, X.cols, 0.0);
    for (int64_t s = 0; s < slabs; s++)
        for (int64_t j = 0; j < X.cols; j++) out[j] += sums[s * X.cols + j];
    T most = 0;
    for (int64_t b = 0; b < slabs * strips; b++) most = std::max(most, largest[b]);
    return double(most);
}

namespace {

struct Tile {
    int i, j;
};
std::vector<Tile> upper_triangle(int64_t panels) {
    std::vector<Tile> tiles;
    for (int i = 0; i < panels; i++)
        for (int j = i; j < panels; j++) tiles.push_back({i, j});
    return tiles;
}

}  // namespace

template <class T>
void scatter(Matrix<const T> X, const double* weights, const double* mean, double scale,
             Matrix<double> out, Job& job) {
    constexpr int P = PANEL<T>, AREA = P * P, PACK = 64;
    const auto& kernel = kernels<T>();
    const int64_t n = X.rows, d = X.cols, panels = ceil_div(d, P);
    const SplitShift<T> shift(mean, d);
    const std::vector<Tile> tiles = upper_triangle(panels);
    const int64_t count = int64_t(tiles.size());

    // Many features: the tiles of a chunk of rows share the threads. Few: slabs of rows do, each
    // with its own sums (the inner calls are nested then, and run in their slab's thread).
    const int64_t slabs = d <= 256 ? std::clamp<int64_t>(n / 4096, 1, 64) : 1;
    const int64_t slab = round_up(ceil_div(std::max<int64_t>(n, 1), slabs), PACK),
                  chunk = std::min<int64_t>(slab, d <= 256 ? 256 : 1024);
    const int64_t stride = chunk * P + P;  // one line more, so that panels do not share cache sets
    Buffer<double> sums(slabs * count * AREA, 0.0);
    job.expect(ceil_div(n, chunk) * count);
    job.parallel(
        slabs,
        [&](int64_t s, int) {
            const Buffer<T> packed(panels * stride), factor(chunk);
            const int64_t end = std::min(n, (s + 1) * slab);
            for (int64_t begin = s * slab; begin < end; begin += chunk) {
                const int64_t rows = std::min(chunk, end - begin);
                job.parallel(
                    ceil_div(rows, PACK),
                    [&](int64_t b, int) {
                        const int64_t i = b * PACK, m = std::min<int64_t>(PACK, rows - i);
                        for (int64_t r = i; r < i + m; r++)
                            factor[r] = T(weights ? scale * std::sqrt(weights[begin + r]) : scale);
                        kernel.pack_columns(X.row(begin + i), X.stride, m, d, shift, &factor[i],
                                            &packed[i * P], stride);
                    },
                    0);
                job.parallel(count, [&](int64_t t, int) {
                    const auto lanes = [&](int panel) {
                        return int(std::min<int64_t>(P, d - panel * P));
                    };
                    const auto [i, j] = tiles[t];
                    kernel.scatter_tile(&packed[i * stride], &packed[j * stride], int(rows),
                                        lanes(i), lanes(j), i == j, &sums[(s * count + t) * AREA]);
                });
            }
        },
        0);
    job.parallel(
        count,
        [&](int64_t t, int) {
            const auto [pi, pj] = tiles[t];
            for (int64_t i = pi * P; i < std::min<int64_t>(d, (pi + 1) * P); i++)
                for (int64_t j = std::max<int64_t>(i, pj * P);
                     j < std::min<int64_t>(d, (pj + 1) * P); j++) {
                    double total = 0;
                    for (int64_t s = 0; s < slabs; s++)
                        total += sums[(s * count + t) * AREA + (i - pi * P) * P + (j - pj * P)];
                    out.row(i)[j] = out.row(j)[i] = total;
                }
        },
        0);
}

template <class T>
double scatter_matmul(Matrix<const T> X, const double* weights, const double* mean, double scale,
                      Matrix<const T> V, Matrix<double> out, Job& job) {
    const auto& kernel = kernels<T>();
    const int64_t n = X.rows, d = X.cols, b = V.cols, ld = round_up(d, PANEL<T>);
    const int groups = int(ceil_div(b, GROUP));
    // A centered block fits into L2.
    const int64_t rows = std::clamp<int64_t>((1 << 17) / ld, 8, 128);
    const int64_t area = groups * GROUP * ld;
    const int64_t most = std::clamp<int64_t>((1 << 24) / area, 2, 32);
    const int64_t slab = round_up(std::max<int64_t>(ceil_div(n, most), 2 * rows), rows),
                  slabs = ceil_div(n, slab);
    const SplitShift<T> shift(mean, d, scale);
    const Buffer<T> columns = interleave_columns(V, GROUP, ld);
    Buffer<double> sums(slabs * area), totals(slabs, 0.0);
    Scratch<T> scratch(job, rows * (ld + groups * GROUP));
    Scratch<double> products(job, rows * (groups * GROUP + 1));
    job.expect(slabs);
    job.parallel(slabs, [&](int64_t s, int worker) {
        std::fill_n(&sums[s * area], area, 0.0);
        const int64_t end = std::min(n, (s + 1) * slab);
        for (int64_t i = s * slab; i < end; i += rows)
            totals[s] += kernel.scatter_matmul(
                {X.row(i), X.stride, int(std::min(rows, end - i)), d, shift, T(scale),
                 weights ? weights + i : nullptr, columns.get(), groups, ld},
                scratch[worker], products[worker], &sums[s * area]);
    });
    constexpr int64_t STRIP = 512;
    job.parallel(
        ceil_div(d, STRIP),
        [&](int64_t block, int) {
            const int64_t begin = block * STRIP, end = std::min(d, begin + STRIP);
            for (int64_t s = 1; s < slabs; s++)
                for (int64_t c = 0; c < b; c++)
                    for (int64_t k = begin; k < end; k++)
                        sums[c * ld + k] += sums[s * area + c * ld + k];
            for (int64_t k = begin; k < end; k++)
                for (int64_t c = 0; c < b; c++) out.row(k)[c] = slabs ? sums[c * ld + k] : 0;
        },
        0);
    double total = 0;
    for (int64_t s = 0; s < slabs; s++) total += totals[s];
    return total;
}

#define INSTANTIATE(T)                                                                           \
    template double column_sums(Matrix<const T>, const double*, double*, const RowPriorities*,   \
                                Job&);                                                           \
    template void scatter(Matrix<const T>, const double*, const double*, double, Matrix<double>, \
                          Job&);                                                                 \
    template double scatter_matmul(Matrix<const T>, const double*, const double*, double,        \
                                   Matrix<const T>, Matrix<double>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
