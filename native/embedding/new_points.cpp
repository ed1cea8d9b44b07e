// Weighted medians of neighbors, and new points that start from them.

#include <algorithm>
#include <cmath>

#include "base/levels.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"
#include "embedding/descent.hpp"
#include "embedding/points.hpp"

namespace lowd {

namespace {

// A step shorter than this, relative to the embedding's size, ends the optimization.
constexpr double MIN_STEP = 1e-12;
constexpr double MARGIN = 5;  // how far outside the embedding a new point may lie

struct Entry {
    double value, weight;
};

// The least value such that the values up to it have half of the weight. Entries are reordered.
double weighted_median(Entry* first, Entry* last, double* work) {
    // Slightly less than one half, because with equal weights rounding would decide.
    constexpr double JUST_BELOW_HALF = 0.5 * (1 - 1e-12);
    double left = 0;
    for (const Entry* e = first; e < last; e++) left += e->weight;
    left *= JUST_BELOW_HALF;
    while (last - first > MAX_MEDIAN) {  // keep the half that contains the median
        Entry* const middle = first + (last - first) / 2;
        std::nth_element(first, middle, last,
                         [](const Entry& a, const Entry& b) { return a.value < b.value; });
        double below = 0;
        for (const Entry* e = first; e < middle; e++) below += e->weight;
        if (below >= left) {
            last = middle;
        } else {
            left -= below;
            first = middle;
        }
    }
    const int64_t count = last - first;
    for (int64_t e = 0; e < count; e++) {
        work[e] = first[e].value;
        work[MAX_MEDIAN + e] = first[e].weight;
    }
    return level().forces.weighted_median(work, work + MAX_MEDIAN, count, left);
}

}  // namespace

void optimize_new_points(Ragged near, const double* p, Matrix<const double> Y,
                         Similarity similarity, const PotentialView& potential, bool from_medians,
                         Matrix<double> coordinates, Job& job) {
    const PointColumns columns(potential.phi ? Matrix<const double>{Y.data, 0, Y.cols, Y.stride}
                                             : Y);
    const int k = int(Y.cols);
    Buffer<double> rows(Y.rows * k), low(k, FAR_AWAY), high(k, -FAR_AWAY);
    double size = 1;
    for (int64_t i = 0; i < Y.rows; i++)
        for (int c = 0; c < k; c++) {
            const double v = rows[i * k + c] = Y.row(i)[c];
            low[c] = std::min(low[c], v - MARGIN);
            high[c] = std::max(high[c], v + MARGIN);
            size = std::max(size, std::abs(v));
        }
    const bool heavy = similarity == Similarity::student;
    const FixedEmbedding fixed{
        k,         heavy,     rows.get(), columns.get(),   columns.stride(),
        potential, low.get(), high.get(), MIN_STEP * size, heavy && from_medians};
    Scratch<double> scratch(job, new_point_scratch(k, near.longest()) + 2 * MAX_MEDIAN);
    Scratch<Entry> entries(job, near.longest());
    job.expect(ceil_div(near.count(), 8));
    parallel_blocks(job, near.count(), 8, [&](int64_t first, int64_t last, int worker) {
        for (int64_t i = first; i < last; i++) {
            Entry* const listed = entries[worker];
            for (int c = 0; c < k && from_medians; c++) {
                for (int64_t e = 0; e < near.size(i); e++)
                    listed[e] = {rows[near.row(i)[e] * k + c], p[near.indptr[size_t(i)] + e]};
                coordinates.row(i)[c] =
                    weighted_median(listed, listed + near.size(i), scratch[worker]);
            }
            level().forces.optimize_new_point(fixed, near.row(i), p + near.indptr[i], near.size(i),
                                              coordinates.row(i), scratch[worker]);
        }
    });
}

}  // namespace lowd
