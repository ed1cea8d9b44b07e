// Affinities of neighbors: conditional probabilities, fuzzy memberships, and symmetric matrices of
// them.

#include "embedding/affinities.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/levels.hpp"
#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"

namespace lowd {

// Conditional probabilities of each row.
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

// Smallest sigma as a share of the mean: lists of equal distances have no root.
constexpr double MIN_SHARE_OF_MEAN = 1e-3;
constexpr double MIN_FRACTION = 1e-5;  // smaller fractions of the connectivity are not interpolated
constexpr int64_t ROWS_PER_BLOCK = 256;

// The distance of the neighbor number `connectivity` of those at a positive distance.
double nearest_distance(std::span<const double> distances, double connectivity) {
    const auto first = std::upper_bound(distances.begin(), distances.end(), 0.0);
    const auto positive = int64_t(distances.end() - first);
    if (positive == 0) return 0;
    if (double(positive) < connectivity) return distances.back();
    const auto whole = int64_t(connectivity);
    const double fraction = connectivity - double(whole);
    if (whole == 0) return fraction * first[0];
    const double at = first[whole - 1];
    return fraction > MIN_FRACTION && whole < positive ? at + fraction * (first[whole] - at) : at;
}

double sum_of(const Ragged& rows, const double* distances, Job& job) {
    const int64_t blocks = ceil_div(rows.count(), ROWS_PER_BLOCK);
    std::vector<double> sums(static_cast<size_t>(blocks));
    parallel_blocks(job, rows.count(), ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int) {
        sums[size_t(first / ROWS_PER_BLOCK)] = std::accumulate(
            distances + rows.indptr[size_t(first)], distances + rows.indptr[size_t(last)], 0.0);
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

void fuzzy_memberships(std::span<const int64_t> indptr, const double* distances,
                       double connectivity, std::optional<double> mean_distance,
                       double* memberships, double* rho, double* sigma, Job& job) {
    const Ragged rows{indptr, {}};
    const int64_t n = rows.count();
    const double mean = mean_distance ? *mean_distance
                                      : sum_of(rows, distances, job) /
                                            double(std::max<int64_t>(indptr[size_t(n)] + n, 1));
    Scratch<double> scratch(job, round_up(rows.longest(), 8));
    job.expect(ceil_div(n, ROWS_PER_BLOCK));
    parallel_blocks(job, n, ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int worker) {
        double* const gaps = scratch[worker];
        for (int64_t i = first; i < last; i++) {
            const int64_t begin = indptr[size_t(i)], count = rows.size(i);
            const std::span row(distances + begin, size_t(count));
            rho[i] = 0;
            sigma[i] = 1;
            if (count == 0) continue;
            rho[i] = nearest_distance(row, connectivity);
            for (int64_t j = 0; j < round_up(count, 8); j++)
                gaps[j] = j < count ? std::max(row[size_t(j)] - rho[i], 0.0)
                                    : std::numeric_limits<double>::infinity();
            const double own_mean =
                std::accumulate(row.begin(), row.end(), 0.0) / double(count + 1);
            // A power of two near the distances gives the same numbers as 1 would, for any unit.
            const double start = own_mean > 0 ? std::exp2(std::floor(std::log2(own_mean))) : 1;
            const double found =
                level().layout.bandwidth(gaps, count, std::log2(double(count + 1)), start);
            const double least = MIN_SHARE_OF_MEAN * (rho[i] > 0 ? own_mean : mean);
            if (std::max(found, least) > 0) sigma[i] = std::max(found, least);
            level().layout.memberships(gaps, count, sigma[i], memberships + begin);
        }
    });
}

namespace {

// The entries of each column, by their rows. Every worker reads all entries and keeps those of its
// own columns: so they are written close together, and in their order.
struct Transposed {
    std::vector<int64_t> indptr;
    Buffer<int32_t> rows;
    Buffer<double> values;

    Transposed(Ragged A, const double* entries, Job& job)
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
                values[to] = entries[e];
            });
    }
};

// Entries of the result from a_ij = x and a_ji = y, where a missing entry is 0.
struct Mean {
    static constexpr bool KEEPS_ZEROS = true;
    double share;
    double operator()(double x, double y) const { return share * x + share * y; }
};
struct FuzzyUnion {
    static constexpr bool KEEPS_ZEROS = false;
    double share;
    double operator()(double x, double y) const {
        return share * (x + y - x * y) + (1 - share) * (x * y);
    }
};

// Row i of the result: the entries of A, then those of A' alone.
struct Row {
    std::vector<int32_t> indices, mark;  // mark[j]: the position of column j in row i of A, or -1
    std::vector<double> values, reverse;

    template <class F>
    void build(Ragged A, const double* entries, const Transposed& transposed, int64_t i,
               F combine) {
        const int64_t count = A.size(i);
        const double* const own = entries + A.indptr[size_t(i)];
        indices.clear();
        values.clear();
        reverse.assign(size_t(count), 0.0);
        mark.resize(size_t(A.count()), -1);
        for (int64_t e = 0; e < count; e++) mark[size_t(A.row(i)[e])] = int32_t(e);
        const int64_t begin = transposed.indptr[size_t(i)], end = transposed.indptr[size_t(i) + 1];
        for (int64_t b = begin; b < end; b++)
            if (const int32_t at = mark[size_t(transposed.rows[b])]; at >= 0)
                reverse[size_t(at)] = transposed.values[b];
        const auto add = [&](int32_t j, double value) {
            if (!F::KEEPS_ZEROS && value == 0) return;
            indices.push_back(j);
            values.push_back(value);
        };
        for (int64_t e = 0; e < count; e++) add(A.row(i)[e], combine(own[e], reverse[size_t(e)]));
        for (int64_t b = begin; b < end; b++)
            if (mark[size_t(transposed.rows[b])] < 0)
                add(transposed.rows[b], combine(0, transposed.values[b]));
        for (int64_t e = 0; e < count; e++) mark[size_t(A.row(i)[e])] = -1;
    }
};

template <class F>
SymmetricMatrix symmetrize_by(Ragged A, const double* entries, F combine, Job& job) {
    const int64_t n = A.count();
    const Transposed transposed(A, entries, job);
    std::vector<Row> rows(static_cast<size_t>(job.threads()));
    SymmetricMatrix out;
    out.indptr.assign(size_t(n) + 1, 0);
    const auto for_each_row = [&](auto&& body) {
        job.parallel(ceil_div(n, ROWS_PER_BLOCK), [&](int64_t b, int worker) {
            Row& row = rows[size_t(worker)];
            for (int64_t i = b * ROWS_PER_BLOCK; i < std::min(n, (b + 1) * ROWS_PER_BLOCK); i++) {
                row.build(A, entries, transposed, i, combine);
                body(size_t(i), row);
            }
        });
    };
    // Every row is built twice, to count and to write: keeping the first result would double the
    // memory.
    for_each_row(
        [&](size_t i, const Row& row) { out.indptr[i + 1] = int64_t(row.indices.size()); });
    std::partial_sum(out.indptr.begin(), out.indptr.end(), out.indptr.begin());
    out.indices = Buffer<int32_t>(out.indptr.back());
    out.values = Buffer<double>(out.indptr.back());
    for_each_row([&](size_t i, const Row& row) {
        std::copy(row.indices.begin(), row.indices.end(), out.indices.get() + out.indptr[i]);
        std::copy(row.values.begin(), row.values.end(), out.values.get() + out.indptr[i]);
    });
    return out;
}

}  // namespace

SymmetricMatrix symmetrize(Ragged A, const double* values, std::optional<double> union_share,
                           Job& job) {
    if (union_share) return symmetrize_by(A, values, FuzzyUnion{*union_share}, job);
    return symmetrize_by(A, values, Mean{1 / double(2 * A.count())}, job);
}

}  // namespace lowd
