// Conditional probabilities of each row, and their symmetrization.
#include "lowd/probabilities.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "blocks.hpp"
#include "lowd/levels.hpp"
#include "lowd/matrix.hpp"
#include "scratch.hpp"

namespace lowd {

void conditional_probabilities(std::span<const int64_t> indptr, const double* squares,
                               double target, double* p, double* beta, Job& job) {
    const Ragged rows{indptr, {}};
    const int64_t n = rows.count(), longest = round_up(rows.longest(), 8);
    job.expect(ceil_div(n, 64));
    Scratch<double> scratch(job, 2 * longest);
    const double entropy = std::log(target);
    parallel_blocks(job, n, 64, [&](int64_t first, int64_t last, int worker) {
        double* const work = scratch[worker];
        for (int64_t i = first; i < last; i++)
            beta[i] = rows.size(i) == 0
                          ? 0
                          : level().forces.perplexity(squares + indptr[i], rows.size(i), entropy,
                                                      work, work + longest, p + indptr[i]);
    });
}

namespace {

constexpr int64_t ROWS_PER_BLOCK = 256;

// The entries of each column, by their rows. Every worker reads all entries and keeps those of its
// own columns: so they are written close together, and in their order.
struct Transposed {
    std::vector<int64_t> indptr;
    Buffer<int32_t> rows;
    Buffer<double> values;

    Transposed(Ragged A, const double* p, Job& job)
        : indptr(A.indptr.size() + 1, 0),
          rows(int64_t(A.indices.size())),
          values(int64_t(A.indices.size())) {
        const int64_t n = A.count(), ranges = std::clamp<int64_t>(n / 4096, 1, 16);
        const auto for_each_entry = [&](auto&& body) {
            job.parallel(ranges, [&](int64_t r, int) {
                const int64_t low = n * r / ranges, count = n * (r + 1) / ranges - low;
                for (int64_t i = 0; i < n; i++)
                    for (int64_t e = A.indptr[i]; e < A.indptr[i + 1]; e++)
                        if (uint64_t(A.indices[e] - low) < uint64_t(count))
                            body(i, e, size_t(A.indices[e]));
            });
        };
        for_each_entry([&](int64_t, int64_t, size_t j) { indptr[j + 2]++; });
        std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
        for_each_entry(
            [&](int64_t i, int64_t e, size_t j) {  // begins of columns move to their ends
                const int64_t to = indptr[j + 1]++;
                rows[to] = int32_t(i);
                values[to] = p[e];
            });
    }
};

}  // namespace

JointProbabilities symmetrize_probabilities(Ragged A, const double* p, Job& job) {
    const int64_t n = A.count();
    const Transposed transposed(A, p, job);
    JointProbabilities out;
    out.indptr.assign(size_t(n) + 1, 0);
    std::vector<std::vector<int32_t>> marks(static_cast<size_t>(job.threads()));
    // body(i, mark): mark[j] is where row i holds column j, or -1.
    const auto for_each_row = [&](auto&& body) {
        job.parallel(ceil_div(n, ROWS_PER_BLOCK), [&](int64_t block, int worker) {
            std::vector<int32_t>& mark = marks[size_t(worker)];
            mark.resize(size_t(n), -1);
            for (int64_t i = block * ROWS_PER_BLOCK; i < std::min(n, (block + 1) * ROWS_PER_BLOCK);
                 i++) {
                for (int64_t e = 0; e < A.size(i); e++) mark[size_t(A.row(i)[e])] = int32_t(e);
                body(i, mark.data());
                for (int64_t e = 0; e < A.size(i); e++) mark[size_t(A.row(i)[e])] = -1;
            }
        });
    };
    for_each_row([&](int64_t i, const int32_t* mark) {
        int64_t count = A.size(i);
        for (int64_t b = transposed.indptr[size_t(i)]; b < transposed.indptr[size_t(i) + 1]; b++)
            count += mark[transposed.rows[b]] < 0;
        out.indptr[size_t(i) + 1] = count;
    });
    std::partial_sum(out.indptr.begin(), out.indptr.end(), out.indptr.begin());
    out.indices = Buffer<int32_t>(out.indptr.back());
    out.values = Buffer<double>(out.indptr.back());
    const double share = 1 / double(2 * n);
    for_each_row([&](int64_t i, const int32_t* mark) {
        int32_t* const indices = out.indices.get() + out.indptr[size_t(i)];
        double* const values = out.values.get() + out.indptr[size_t(i)];
        int64_t count = A.size(i);
        std::copy_n(A.row(i), count, indices);
        for (int64_t e = 0; e < count; e++) values[e] = share * p[A.indptr[i] + e];
        for (int64_t b = transposed.indptr[size_t(i)]; b < transposed.indptr[size_t(i) + 1]; b++) {
            const int32_t from = transposed.rows[b], at = mark[from];
            const double value = share * transposed.values[b];
            if (at >= 0) {
                values[at] += value;
            } else {
                indices[count] = from;
                values[count++] = value;
            }
        }
    });
    return out;
}

}  // namespace lowd
