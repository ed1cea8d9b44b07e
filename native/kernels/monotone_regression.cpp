#include "lowd/monotone_regression.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "lowd/levels.hpp"

namespace lowd {

namespace {

constexpr int64_t PART_SIZE = 4096;  // pairs whose distances and sums stay in a core's caches

// Coordinates in the layout of the kernels.
Buffer<double> padded_rows(Matrix<const double> Y) {
    const int64_t width = padded_width(Y.cols);
    Buffer<double> rows(Y.rows * width, 0.0);
    for (int64_t i = 0; i < Y.rows; i++) std::copy_n(Y.row(i), Y.cols, &rows[i * width]);
    return rows;
}

bool earlier(double a, PointPair at_a, double b, PointPair at_b) {
    if (a != b) return a < b;
    return at_a.first != at_b.first ? at_a.first < at_b.first : at_a.second < at_b.second;
}
struct TiedPair {
    double distance;
    PointPair pair;
    double weight;
    bool operator<(const TiedPair& other) const {
        return earlier(distance, pair, other.distance, other.pair);
    }
};

}  // namespace

// A worker's scratch memory for one part.
struct MonotoneRegression::Workspace {
    std::vector<double> distances, sums, weights, scratch;
    std::vector<int64_t> ends;
    std::vector<Pool> pools;
    std::vector<TiedPair> group;
};

void MonotoneRegression::split_into_parts() {
    for (int64_t at = 0; at < all_.count; at += PART_SIZE) {
        while (all_.tied && at < all_.count && all_.tied[at]) at++;
        if (at < all_.count) edges_.push_back(at);
    }
    edges_.push_back(all_.count);
    pooled_.resize(edges_.size() - 1);
}

// Tied pairs are mostly in order since the last step, so insertion sort is used until it takes too
// long.
void MonotoneRegression::sort_ties(int64_t begin, int64_t end, double* distances,
                                   Workspace& space) {
    PointPair* const pairs = &all_.pairs[begin];
    double* const weights = all_.weights ? &all_.weights[begin] : nullptr;
    const uint8_t* const tied = &all_.tied[begin];
    int64_t first = 0, budget = 0;
    for (int64_t p = 1; p < end - begin; p++) {
        if (!tied[p]) continue;
        if (!tied[p - 1]) first = p - 1, budget = 0;
        int64_t to = p;
        for (; to > first && earlier(distances[to], pairs[to], distances[to - 1], pairs[to - 1]);
             to--) {
            std::swap(distances[to], distances[to - 1]);
            std::swap(pairs[to], pairs[to - 1]);
            if (weights) std::swap(weights[to], weights[to - 1]);
        }
        budget += 8 - (p - to);
        if (budget >= 0) continue;
        while (p < end - begin && tied[p]) p++;
        space.group.clear();
        for (int64_t q = first; q < p; q++)
            space.group.push_back({distances[q], pairs[q], weights ? weights[q] : 1});
        std::sort(space.group.begin(), space.group.end());
        for (int64_t q = first; q < p; q++) {
            const TiedPair& one = space.group[size_t(q - first)];
            distances[q] = one.distance;
            pairs[q] = one.pair;
            if (weights) weights[q] = one.weight;
        }
    }
}

// Isotonic regression of one part; the ends of its pools count all pairs.
void MonotoneRegression::pool(int64_t part, const double* y, int k, Workspace& space) {
    const int64_t begin = edges_[size_t(part)], end = edges_[size_t(part) + 1], size = end - begin;
    const auto& kernel = level().stress;
    space.distances.resize(size_t(size));
    kernel.pair_distances(&all_.pairs[begin], size, y, k, space.distances.data());
    if (all_.tied && break_ties_) sort_ties(begin, end, space.distances.data(), space);
    const bool shared = all_.tied && !break_ties_;
    const double *sums = space.distances.data(), *weights = nullptr;
    int64_t items = size;
    if (shared || all_.weights) {
        space.sums.clear(), space.weights.clear(), space.ends.clear();
        for (int64_t p = begin; p < end; p++) {
            const double w = all_.weights ? all_.weights[p] : 1, distance = sums[p - begin];
            if (shared && all_.tied[p]) {
                space.sums.back() += w * distance;
                space.weights.back() += w;
                space.ends.back()++;
            } else {
                space.sums.push_back(w * distance);
                space.weights.push_back(w);
                space.ends.push_back(p + 1);
            }
        }
        sums = space.sums.data(), weights = space.weights.data();
        items = std::ssize(space.sums);
    }
    space.scratch.resize(size_t(pool_scratch(items)));
    space.pools.resize(size_t(pool_capacity(items)));
    const int64_t found = kernel.pool_adjacent_violators(sums, weights, items, space.scratch.data(),
                                                         space.pools.data());
    auto& to = pooled_[size_t(part)];
    to.assign(space.pools.begin(), space.pools.begin() + found);
    for (Pool& one : to) one.end = weights ? space.ends[size_t(one.end - 1)] : begin + one.end;
}

// Parts are pooled on their own, then their pools together, which gives the same fit.
std::vector<DisparityRun> MonotoneRegression::fit(const Buffer<double>& y, int k, Job& job) {
    std::vector<Workspace> spaces(static_cast<size_t>(job.threads()));
    job.parallel(
        int64_t(pooled_.size()),
        [&](int64_t part, int worker) { pool(part, y.get(), k, spaces[size_t(worker)]); }, 0);
    std::vector<Pool> pools;
    for (const auto& part : pooled_)
        for (Pool next : part) {
            for (; !pools.empty(); pools.pop_back()) {
                const Pool& last = pools.back();
                if (last.sum * next.weight < next.sum * last.weight) break;
                next.sum += last.sum;
                next.weight += last.weight;
            }
            pools.push_back(next);
        }
    double total = 0, squares = 0;
    for (const Pool& one : pools) {
        total += one.weight;
        squares += one.sum / one.weight * one.sum;
    }
    const double scale = squares > 0 ? std::sqrt(total / squares) : 0;
    std::vector<DisparityRun> runs;
    runs.reserve(pools.size());
    for (const Pool& one : pools) runs.push_back({scale * (one.sum / one.weight), one.end});
    return runs;
}

Stress MonotoneRegression::step(Matrix<const double> Y, Matrix<double> moved, Job& job) {
    const int k = int(Y.cols);
    const int64_t n = Y.rows, count = all_.count, row = padded_width(k),
                  width = round_up(n * row, 8);
    const Buffer<double> y = padded_rows(Y);
    const std::vector<DisparityRun> runs = fit(y, k, job);
    // There are as many blocks as memory allows, since each has its own sums.
    const int64_t blocks = std::clamp<int64_t>(count / (4 * width), 1, 32);
    const Buffer<double> sums(blocks * width);
    std::vector<double> totals(size_t(3 * blocks));
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int) {
        const int64_t begin = count * b / blocks, end = count * (b + 1) / blocks;
        const auto run = std::ranges::upper_bound(runs, begin, {}, &DisparityRun::end);
        std::fill_n(&sums[b * width], width, 0.0);
        level().stress.guttman_pairs(all_.pairs.get(), all_.weights ? all_.weights.get() : nullptr,
                                     begin, end, std::to_address(run), y.get(), k, &sums[b * width],
                                     &totals[size_t(3 * b)]);
    });
    for (int64_t b = 1; b < blocks; b++)
        for (int64_t e = 0; e < width; e++) sums[e] += sums[b * width + e];
    for (int64_t i = 0; i < n; i++) std::copy_n(&sums[i * row], k, moved.row(i));
    Stress all;
    for (int64_t b = 0; b < blocks; b++) {
        all.stress += totals[size_t(3 * b)];
        all.size += totals[size_t(3 * b) + 1];
        all.cross += totals[size_t(3 * b) + 2];
    }
    return all;
}

std::vector<MonotoneRegression::Corner> MonotoneRegression::disparity_function(
    Matrix<const double> Y, Job& job) {
    const std::vector<DisparityRun> runs = fit(padded_rows(Y), int(Y.cols), job);
    std::vector<Corner> corners;
    // Adds the disparity of the tied pairs from `first` on. Inside of a constant run there is no
    // corner.
    const auto add_corner = [&](int64_t first, double disparity) {
        const size_t held = corners.size();
        if (held >= 2 && corners[held - 1].disparity == disparity &&
            corners[held - 2].disparity == disparity)
            corners.pop_back();
        corners.push_back({all_.pairs[first], disparity});
    };
    auto run = runs.begin();
    for (int64_t first = 0, last; first < all_.count; first = last) {
        if (!all_.tied) {  // from end to end of a run
            add_corner(first, run->disparity);
            last = std::max(first + 1, run->end - 1);
            run += last == run->end;
            continue;
        }
        for (last = first + 1; last < all_.count && all_.tied[last];) last++;
        if (last <= run->end) {
            add_corner(first, run->disparity);
            run += last == run->end;
            continue;
        }
        double sum = 0, weight = 0;
        for (int64_t p = first; p < last; p++) {
            const double w = all_.weights ? all_.weights[p] : 1;
            sum += w * run->disparity, weight += w;
            run += p + 1 == run->end;
        }
        add_corner(first, sum / weight);
    }
    return corners;
}

}  // namespace lowd
