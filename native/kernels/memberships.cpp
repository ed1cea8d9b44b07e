#include "lowd/memberships.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "blocks.hpp"
#include "lowd/levels.hpp"
#include "lowd/ragged.hpp"
#include "scratch.hpp"

namespace lowd {

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

}  // namespace lowd
