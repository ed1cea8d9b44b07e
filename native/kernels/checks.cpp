#include "lowd/checks.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "instantiate.hpp"
#include "lowd/levels.hpp"

namespace lowd {

constexpr int64_t BLOCK_ENTRIES = 1 << 17;  // entries that a thread takes at a time

template <class T>
Position find_nonfinite(Matrix<const T> X, Job& job) {
    if (!X.rows || !X.cols) return {};
    const auto& kernel = kernels<T>();
    const int64_t rows = std::max<int64_t>(1, BLOCK_ENTRIES / X.cols),
                  blocks = ceil_div(X.rows, rows);
    // Lowest block with such an entry: later blocks need not be checked.
    std::atomic<int64_t> first{blocks};
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t block, int) {
        if (block > first) return;
        const int64_t begin = block * rows, end = std::min(X.rows, begin + rows);
        bool finite = true;
        if (X.stride == X.cols)
            finite = kernel.finite(X.row(begin), (end - begin) * X.cols);
        else
            for (int64_t i = begin; i < end && finite; i++)
                finite = kernel.finite(X.row(i), X.cols);
        for (int64_t seen = first;
             !finite && block < seen && !first.compare_exchange_weak(seen, block);) {
        }
    });
    for (int64_t i = first * rows; i < X.rows; i++)
        for (int64_t j = 0; j < X.cols; j++)
            if (!std::isfinite(X.row(i)[j])) return {i, j};
    return {};
}

template <class T>
Symmetry symmetry(Matrix<const T> A, Job& job) {
    // A block and its mirror image fit into L2; blocks of a run follow one another.
    constexpr int64_t SIDE = 128, RUN = 8;
    const auto& kernel = kernels<T>();
    Symmetry result;
    if (!A.rows) return result;
    struct Block {
        int64_t i, j;
        Extremes<T> found{};
    };
    std::vector<Block> blocks;
    std::vector<size_t> runs;
    for (int64_t i = 0; i < A.rows; i += SIDE)
        for (int64_t j = i; j < A.rows; j += SIDE) {
            if ((j - i) % (RUN * SIDE) == 0) runs.push_back(blocks.size());
            blocks.push_back({i, j});
        }
    runs.push_back(blocks.size());
    const auto size = [&](int64_t begin) { return int(std::min(SIDE, A.rows - begin)); };
    job.expect(int64_t(runs.size()) - 1);
    job.parallel(int64_t(runs.size()) - 1, [&](int64_t run, int) {
        for (size_t b = runs[run]; b < runs[run + 1]; b++) {
            auto& [i, j, found] = blocks[b];
            found = kernel.symmetry(A.row(i) + j, A.row(j) + i, A.stride, size(i), size(j));
        }
    });

    const Block *uneven = &blocks[0], *low = &blocks[0];
    bool finite = true;
    for (const Block& b : blocks) {
        finite &= b.found.finite;
        if (b.found.asymmetry > uneven->found.asymmetry) uneven = &b;
        if (b.found.smallest < low->found.smallest) low = &b;
        result.largest = std::max(result.largest, double(b.found.largest));
    }
    if (!finite) {
        result.nonfinite_at = find_nonfinite(A, job);
        return result;
    }
    // Blocks report values only; the position is found in a second pass over the block that has it.
    const auto find_in = [&](const Block& b, bool mirrored, auto holds) -> Position {
        for (int64_t i = b.i; i < b.i + size(b.i); i++)
            for (int64_t j = b.j; j < b.j + size(b.j); j++) {
                if (holds(A.row(i)[j], A.row(j)[i])) return {i, j};
                if (mirrored && holds(A.row(j)[i], A.row(i)[j])) return {j, i};
            }
        return {};
    };
    result.asymmetry = double(uneven->found.asymmetry);
    result.asymmetry_at = find_in(
        *uneven, false, [&](T a, T b) { return std::abs(a - b) == uneven->found.asymmetry; });
    result.smallest = double(low->found.smallest);
    result.smallest_at = find_in(*low, true, [&](T a, T) { return a == low->found.smallest; });
    result.diagonal = -1;
    for (int64_t i = 0; i < A.rows; i++)
        if (const double size = std::abs(double(A.row(i)[i])); size > result.diagonal)
            result.diagonal = size, result.diagonal_at = i;
    return result;
}

#define INSTANTIATE(T)                                       \
    template Position find_nonfinite(Matrix<const T>, Job&); \
    template Symmetry symmetry(Matrix<const T>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
