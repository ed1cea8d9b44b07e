#include <algorithm>
#include <vector>

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
        kernels<T>().hadamard(X.row(i), X.stride, int(std::min(rows, X.rows - i)), X.cols, signs,
                              picks.data(), int64_t(picks.size()), padded, T(scale),
                              scratch[worker], out.row(i), out.stride);
    });
}

template <class T>
void sparse_project(Matrix<const T> X, std::span<const int64_t> indptr,
                    std::span<const int64_t> indices, const T* values, Matrix<T> out, Job& job) {
    constexpr int64_t MAX_BYTES = 1 << 20;  // size of a block of transposed rows
    const auto& kernel = kernels<T>();
    const int64_t k = int64_t(indptr.size()) - 1, scratch_size = (X.cols + 64) * kernel.sparse_rows;
    // Only the width decides, so that a row's bits do not depend on the batch.
    const bool wide = scratch_size * int64_t(sizeof(T)) > MAX_BYTES;
    const int64_t rows = wide ? 1 : kernel.sparse_rows, blocks = ceil_div(X.rows, rows);
    const std::vector<int32_t> narrow(indices.begin(), wide ? indices.begin() : indices.end());
    Scratch<T> scratch(job, scratch_size);
    job.parallel_runs(blocks, [&](int64_t block, int worker) {
        const int64_t i = block * rows;
        if (!wide)
            return kernel.sparse_project(X.row(i), X.stride, int(std::min(rows, X.rows - i)),
                                         X.cols, indptr.data(), narrow.data(), values, k,
                                         scratch[worker], out.row(i), out.stride);
        for (int64_t c = 0; c < k; c++) {
            T total = 0;
            for (int64_t e = indptr[c]; e < indptr[c + 1]; e++)
                total += X.row(i)[indices[e]] * values[e];
            out.row(i)[c] = total;
        }
    });
}

#define INSTANTIATE(T)                                                                           \
    template void hadamard(Matrix<const T>, const T*, std::span<const int64_t>, int64_t, double, \
                           Matrix<T>, Job&);                                                     \
    template void sparse_project(Matrix<const T>, std::span<const int64_t>,                      \
                                 std::span<const int64_t>, const T*, Matrix<T>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
