#include "lowd/monotone.hpp"

#include <cmath>

#include "drive.hpp"

namespace lowd {

namespace {

constexpr int64_t PART = 4096;  // pairs whose distances and sums stay in the caches of a core

// Coordinates as kernels want them.
Buffer<double> padded_rows(Matrix<const double> Y) {
    const int64_t width = link_width(Y.cols);
    Buffer<double> rows(Y.rows * width, 0.0);
    for (int64_t i = 0; i < Y.rows; i++) std::copy_n(Y.row(i), Y.cols, &rows[i * width]);
    return rows;
}

bool earlier(double a, Link at_a, double b, Link at_b) {
    if (a != b) return a < b;
    return at_a.first != at_b.first ? at_a.first < at_b.first : at_a.second < at_b.second;
}
struct Tied {
    double length;
    Link pair;
    double weight;
    bool operator<(const Tied& other) const {
        return earlier(length, pair, other.length, other.pair);
    }
};

}  // namespace

// What a worker needs for one part.
struct Order::Room {
    std::vector<double> lengths, sums, weights, scratch;
    std::vector<int64_t> ends;
    std::vector<Pool> pools;
    std::vector<Tied> group;
};

void Order::cut() {
    for (int64_t at = 0; at < all_.count; at += PART) {
        while (all_.tied && at < all_.count && all_.tied[at]) at++;
        if (at < all_.count) edges_.push_back(at);
    }
    edges_.push_back(all_.count);
    pooled_.resize(edges_.size() - 1);
}

// Tied pairs are mostly in order, as the last step left them: they are sorted by insertion, until that
// takes too long.
void Order::sort_tied(int64_t begin, int64_t end, double* lengths, Room& room) {
    Link* const pairs = &all_.pairs[begin];
    double* const weights = all_.weights ? &all_.weights[begin] : nullptr;
    const uint8_t* const tied = &all_.tied[begin];
    int64_t first = 0, budget = 0;
    for (int64_t p = 1; p < end - begin; p++) {
        if (!tied[p]) continue;
        if (!tied[p - 1]) first = p - 1, budget = 0;
        int64_t to = p;
        for (; to > first && earlier(lengths[to], pairs[to], lengths[to - 1], pairs[to - 1]); to--) {
            std::swap(lengths[to], lengths[to - 1]);
            std::swap(pairs[to], pairs[to - 1]);
            if (weights) std::swap(weights[to], weights[to - 1]);
        }
        budget += 8 - (p - to);
        if (budget >= 0) continue;
        while (p < end - begin && tied[p]) p++;
        room.group.clear();
        for (int64_t q = first; q < p; q++)
            room.group.push_back({lengths[q], pairs[q], weights ? weights[q] : 1});
        std::sort(room.group.begin(), room.group.end());
        for (int64_t q = first; q < p; q++) {
            const Tied& one = room.group[size_t(q - first)];
            lengths[q] = one.length;
            pairs[q] = one.pair;
            if (weights) weights[q] = one.weight;
        }
    }
}

// Pools of one part, of which the ends count all pairs.
void Order::pool(int64_t part, const double* y, int k, Room& room) {
    const int64_t begin = edges_[size_t(part)], end = edges_[size_t(part) + 1], size = end - begin;
    const auto& kernel = level().scaling;
    room.lengths.resize(size_t(size));
    kernel.pair_lengths(&all_.pairs[begin], size, y, k, room.lengths.data());
    if (all_.tied && split_) sort_tied(begin, end, room.lengths.data(), room);
    const bool shared = all_.tied && !split_;
    const double *sums = room.lengths.data(), *weights = nullptr;
    int64_t items = size;
    if (shared || all_.weights) {
        room.sums.clear(), room.weights.clear(), room.ends.clear();
        for (int64_t p = begin; p < end; p++) {
            const double w = all_.weights ? all_.weights[p] : 1, length = sums[p - begin];
            if (shared && all_.tied[p]) {
                room.sums.back() += w * length;
                room.weights.back() += w;
                room.ends.back()++;
            } else {
                room.sums.push_back(w * length);
                room.weights.push_back(w);
                room.ends.push_back(p + 1);
            }
        }
        sums = room.sums.data(), weights = room.weights.data();
        items = std::ssize(room.sums);
    }
    room.scratch.resize(size_t(pool_scratch(items)));
    room.pools.resize(size_t(pool_room(items)));
    const int64_t found = kernel.pools(sums, weights, items, room.scratch.data(), room.pools.data());
    auto& to = pooled_[size_t(part)];
    to.assign(room.pools.begin(), room.pools.begin() + found);
    for (Pool& one : to) one.end = weights ? room.ends[size_t(one.end - 1)] : begin + one.end;
}

// Parts are pooled on their own, then their pools together: the same fit.
std::vector<Stair> Order::stairs(const Buffer<double>& y, int k, Job& job) {
    std::vector<Room> rooms(static_cast<size_t>(job.threads()));
    job.parallel(
        int64_t(pooled_.size()),
        [&](int64_t part, int worker) { pool(part, y.get(), k, rooms[size_t(worker)]); }, 0);
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
    std::vector<Stair> stairs;
    stairs.reserve(pools.size());
    for (const Pool& one : pools) stairs.push_back({scale * (one.sum / one.weight), one.end});
    return stairs;
}

Stress Order::step(Matrix<const double> Y, Matrix<double> moved, Job& job) {
    const int k = int(Y.cols);
    const int64_t n = Y.rows, count = all_.count, row = link_width(k), width = round_up(n * row, 8);
    const Buffer<double> y = padded_rows(Y);
    const std::vector<Stair> targets = stairs(y, k, job);
    // As many blocks as have room: each has its own sums.
    const int64_t blocks = std::clamp<int64_t>(count / (4 * width), 1, 32);
    const Buffer<double> sums(blocks * width);
    std::vector<double> totals(size_t(3 * blocks));
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int) {
        const int64_t begin = count * b / blocks, end = count * (b + 1) / blocks;
        const auto stair = std::ranges::upper_bound(targets, begin, {}, &Stair::end);
        std::fill_n(&sums[b * width], width, 0.0);
        level().scaling.pair_moves(all_.pairs.get(), all_.weights ? all_.weights.get() : nullptr,
                                   begin, end, std::to_address(stair), y.get(), k,
                                   &sums[b * width], &totals[size_t(3 * b)]);
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

std::vector<Order::Corner> Order::curve(Matrix<const double> Y, Job& job) {
    const std::vector<Stair> targets = stairs(padded_rows(Y), int(Y.cols), job);
    std::vector<Corner> corners;
    // The next value, at the tied pairs from `first` on. Inside of a flat run there is no corner.
    const auto reach = [&](int64_t first, double target) {
        const size_t held = corners.size();
        if (held >= 2 && corners[held - 1].target == target && corners[held - 2].target == target)
            corners.pop_back();
        corners.push_back({all_.pairs[first], target});
    };
    auto stair = targets.begin();
    for (int64_t first = 0, last; first < all_.count; first = last) {
        if (!all_.tied) {  // from end to end of a stair
            reach(first, stair->target);
            last = std::max(first + 1, stair->end - 1);
            stair += last == stair->end;
            continue;
        }
        for (last = first + 1; last < all_.count && all_.tied[last];) last++;
        if (last <= stair->end) {
            reach(first, stair->target);
            stair += last == stair->end;
            continue;
        }
        double sum = 0, weight = 0;
        for (int64_t p = first; p < last; p++) {
            const double w = all_.weights ? all_.weights[p] : 1;
            sum += w * stair->target, weight += w;
            stair += p + 1 == stair->end;
        }
        reach(first, sum / weight);
    }
    return corners;
}

}  // namespace lowd
