// Pairs of blocks of rows: the filter, its check points, and what it leaves to be measured.
#pragma once

#include <array>
#include <climits>

#include "best.hpp"

namespace lowd::search {

// ---- Check points ----

struct Schedule {
    int checks = 0;
    std::array<int, CHECKS> step{};  // of the ladder
};

// How many tiles and pairs of a sample are alive at each step of the ladder.
struct Census {
    int64_t looked_at = 0;
    std::array<int64_t, CHECKS> tiles{}, pairs{};
};

// The check points that cost least on the sample. Costs are in cycles: a tile costs tile_rows x 2
// vectors of multiply-adds per feature; a look about as much as three features.
inline Schedule cheapest(const Bounds& bounds, const Census& census, bool refined) {
    const int steps = int(bounds.ladder.size());
    const double per_feature = kit().tile_rows * 2.0 * (bounds.differences ? 2 : 1),
                 look = kit().tile_rows * 6.0,
                 exact = 60 + 0.4 * double(bounds.cols),
                 refine = 30 + 0.12 * double(bounds.features);
    std::array<double, CHECKS + 1> reach{};  // [s + 1]: cost until alive after step s
    std::array<int, CHECKS + 1> from{};
    double best = HUGE_VAL;
    int last = steps - 1;
    reach[0] = 0;
    for (int s = 0; s < steps; s++) {
        double least = HUGE_VAL;
        for (int p = -1; p < s; p++) {
            const double alive = double(p < 0 ? census.looked_at : census.tiles[p]);
            const int features = bounds.ladder[s] - (p < 0 ? 0 : bounds.ladder[p]);
            const double cost = reach[p + 1] + alive * (features * per_feature + look);
            if (cost < least) {
                least = cost;
                from[s + 1] = p;
            }
        }
        reach[s + 1] = least;
        const double after = refined && s + 1 < steps
                                 ? double(census.pairs[s]) * refine +
                                       double(census.pairs[steps - 1]) * exact
                                 : double(census.pairs[s]) * exact;
        if (least + after < best) {
            best = least + after;
            last = s;
        }
    }
    Schedule schedule;
    for (int s = last; s >= 0; s = from[s + 1]) schedule.step[schedule.checks++] = s;
    std::reverse(schedule.step.begin(), schedule.step.begin() + schedule.checks);
    return schedule;
}

// ---- Pairs of blocks ----

// What one thread needs.
struct Desk {
    std::vector<uint32_t> pairs = std::vector<uint32_t>(size_t(P) * BLOCK);
    std::vector<double> square = std::vector<double>(size_t(P) * BLOCK);
    alignas(64) float limit_a[P], near_a[P], limit_b[BLOCK], near_b[BLOCK];
};

using Masks = std::array<uint16_t, PANELS>;  // one bit per panel of the other block
constexpr uint16_t EVERY = (1u << PANELS) - 1;
constexpr Masks every() {
    Masks masks{};
    masks.fill(EVERY);
    return masks;
}

// The rows themselves. Short ones are copied into the order of the search: near rows then share
// pages.
template <class T>
class Originals {
public:
    Originals(Matrix<const T> X, const Packed& rows, Job& job) : X_(X), order_(rows.order.get()) {
        constexpr int64_t SHORT = 128;
        if (X.cols > SHORT) return;
        copy_ = Buffer<T>(X.rows * X.cols);
        job.parallel(
            rows.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++)
                    std::copy_n(X.row(order_[r]), X.cols, &copy_[r * X.cols]);
            },
            0);
    }
    const T* operator[](int64_t r) const {
        return copy_ ? &copy_[r * X_.cols] : X_.row(order_[r]);
    }

private:
    Matrix<const T> X_;
    const int32_t* order_;
    Buffer<T> copy_;
};

// Are float32 rows, as they are, surely further apart than `near`? Only their sum is rounded.
inline bool far_apart(const float* x, const float* y, const Bounds& bounds, float near) {
    if (!bounds.narrow) return false;
    const float reach = near * float(1 + double(bounds.cols + 8) * 2 * ROUNDING);
    return gap(x, y, bounds.cols, float(bounds.scale), reach) > reach;
}
inline bool far_apart(const double*, const double*, const Bounds&, float) { return false; }

template <class T>
struct Side {
    const Originals<T>& X;
    const Packed& rows;
    Lists* lists;  // null: these rows look for nothing
};

template <class T>
class Meeting {
public:
    Meeting(const Bounds& bounds, Side<T> a, Side<T> b, bool refined)
        : bounds_(bounds), a_(a), b_(b), same_(&a.rows == &b.rows), refined_(refined) {}

    bool hopeless(int64_t i, int64_t j) const {
        const float limit = std::max(a_.lists->loosest(i), b_.lists ? b_.lists->loosest(j) : -1);
        return block_gap(a_.rows, i, b_.rows, j) > limit;
    }

    // `panels`: those of block j that each panel of block i meets.
    void meet(int64_t i, int64_t j, const Masks& panels, const Schedule& schedule,
              Desk& desk) const {
        if (same_ && i == j) {  // each pair once; a panel with itself first: then all have limits
            for (int apart = 0; apart < PANELS; apart++)
                for (int p = 0; p + apart < PANELS; p++)
                    strip(i, p, j, 1u << (p + apart), schedule, desk);
        } else {
            if (hopeless(i, j)) return;
            for (int p = 0; p < PANELS; p++)
                if (panels[size_t(p)]) strip(i, p, j, panels[size_t(p)], schedule, desk);
        }
        tighten(a_, i);
        if (b_.lists && i != j) tighten(b_, j);
    }

    // Panel p of block i meets some panels of block j.
    void strip(int64_t i, int p, int64_t j, uint32_t panels, const Schedule& schedule,
               Desk& desk) const {
        const Strip s = facing(i, p, j, panels, schedule, desk);
        if (!s.live) return;
        const int64_t row = i * BLOCK + p * P, col = j * BLOCK, m = bounds_.features;
        uint32_t* const pairs = desk.pairs.data();
        int count = kit().strip(s, pairs);
        if (same_ && i == j)  // a panel meets itself: each pair twice, and rows themselves
            count = int(std::remove_if(pairs, pairs + count,
                                       [&](uint32_t e) {
                                           return int(e & 0xffff) <= p * P + int(e >> 16);
                                       }) -
                        pairs);
        if (refined_ && s.at[s.checks - 1] < m && count) {
            const float *const low[2] = {&a_.rows.low[row], &b_.rows.low[col]},
                               *const high[2] = {&a_.rows.high[row], &b_.rows.high[col]};
            count = kit().refine(&a_.rows.rows[row * m], &b_.rows.rows[col * m], m, low, high,
                                 desk.near_a, desk.near_b, pairs, count);
        }
        count = measure(row, col, count, s.at[s.checks - 1] < m, desk);
        if (count) insert(i, row, j, col, count, desk);
    }

    void count(int64_t i, int p, int64_t j, uint32_t panels, Census& census, Desk& desk) const {
        Schedule all;
        while (all.checks < int(bounds_.ladder.size())) {
            all.step[all.checks] = all.checks;
            all.checks++;
        }
        const Strip s = facing(i, p, j, panels, all, desk);
        const int tiles = P / kit().tile_rows * (P / kit().tile_columns);
        census.looked_at += int64_t(__builtin_popcount(s.live)) * tiles;
        kit().census(s, census.tiles.data(), census.pairs.data());
    }

private:
    static void tighten(const Side<T>& side, int64_t block) {
        const std::scoped_lock lock(side.lists->lock(block));
        side.lists->loosen(block);
    }

    // Panel p of block i against panels of block j, with the limits of now.
    Strip facing(int64_t i, int p, int64_t j, uint32_t panels, const Schedule& schedule,
                 Desk& desk) const {
        const int64_t row = i * BLOCK + p * P, col = j * BLOCK, m = bounds_.features;
        {
            const std::scoped_lock lock(a_.lists->lock(i));
            a_.lists->copy_limits(i, row, P, b_.rows.least[size_t(j)], desk.limit_a, desk.near_a);
        }
        if (b_.lists) {
            const std::scoped_lock lock(b_.lists->lock(j));
            b_.lists->copy_limits(j, col, BLOCK, a_.rows.least[size_t(i)], desk.limit_b,
                                  desk.near_b);
        } else {
            std::fill_n(desk.limit_b, BLOCK, FAR);
            std::fill_n(desk.near_b, BLOCK, -1.0f);
        }
        Strip s{};
        s.a = a_.rows.panel(row, m), s.b = b_.rows.panel(col, m);
        s.half_a = &a_.rows.half[row], s.half_b = &b_.rows.half[col];
        s.limit_a = desk.limit_a, s.limit_b = desk.limit_b;
        for (s.checks = 0; s.checks < schedule.checks; s.checks++) {
            const auto step = size_t(schedule.step[size_t(s.checks)]);
            s.at[s.checks] = bounds_.ladder[step];
            s.rest_a[s.checks] = &a_.rows.rest[step][row];
            s.rest_b[s.checks] = &b_.rows.rest[step][col];
        }
        s.features = m;
        s.live = panels & within_reach(i, p, j, desk);
        s.differences = bounds_.differences;
        return s;
    }

    // The panels of block j whose boxes are not too far from the box of panel p of block i.
    uint32_t within_reach(int64_t i, int p, int64_t j, const Desk& desk) const {
        const float *const lo = &a_.rows.box[i * 2 * SIDES * PANELS],
                    *const hi = lo + SIDES * PANELS,
                    *const lo_b = &b_.rows.box[j * 2 * SIDES * PANELS],
                    *const hi_b = lo_b + SIDES * PANELS;
        float square[PANELS] = {}, limit[PANELS];
        for (int q = 0; q < SIDES; q++) {
            const float from = lo[q * PANELS + p], to = hi[q * PANELS + p];
            for (int r = 0; r < PANELS; r++) {
                const float up = lo_b[q * PANELS + r] - to, down = from - hi_b[q * PANELS + r];
                float gap = up > down ? up : down;
                gap = gap > 0 ? gap : 0;
                square[r] += gap * gap;
            }
        }
        const float own = *std::max_element(desk.near_a, desk.near_a + P);
        uint32_t live = 0;
        for (int r = 0; r < PANELS; r++) {
            float most[8];
            std::copy_n(desk.near_b + r * P, 8, most);
            for (int c = 8; c < P; c += 8)
                for (int l = 0; l < 8; l++) {
                    const float v = desk.near_b[r * P + c + l];
                    most[l] = most[l] > v ? most[l] : v;
                }
            limit[r] = std::max(own, *std::max_element(most, most + 8));
            live |= uint32_t(square[r] <= limit[r]) << r;
        }
        return live;
    }

    // Float64 squares of the pairs that are left; those above both limits go. A filter that has
    // seen `part` of the features leaves many such pairs: float32 finds most of them.
    int measure(int64_t row, int64_t col, int count, bool part, Desk& desk) const {
        constexpr int AHEAD = 3;
        const Metric& metric = a_.lists->metric();
        const double back = 1 / a_.lists->to_filter();
        int kept = 0;
        for (int q = 0; q < count; q++) {
            if (q + AHEAD < count) {
                const uint32_t e = desk.pairs[size_t(q + AHEAD)];
                __builtin_prefetch(a_.X[row + (e >> 16)]);
                __builtin_prefetch(b_.X[col + (e & 0xffff)]);
            }
            const uint32_t e = desk.pairs[size_t(q)], i = e >> 16, j = e & 0xffff;
            const float near = std::max(desk.near_a[i], desk.near_b[j]);
            const T *const x = a_.X[row + i], *const y = b_.X[col + j];
            if (part && far_apart(x, y, bounds_, near)) continue;
            const double limit = double(near) * back;
            const double square =
                kernels<T>().difference_square(x, y, bounds_.cols, metric.unit, limit);
            if (square > limit) continue;
            desk.square[size_t(kept)] = square;
            desk.pairs[size_t(kept++)] = e;
        }
        return kept;
    }

    void insert(int64_t i, int64_t row, int64_t j, int64_t col, int count, Desk& desk) const {
        std::unique_lock mine(a_.lists->lock(i), std::defer_lock);
        std::unique_lock<std::mutex> theirs;
        if (b_.lists && !(same_ && i == j)) {
            theirs = std::unique_lock(b_.lists->lock(j), std::defer_lock);
            std::lock(mine, theirs);
        } else {
            mine.lock();
        }
        const Metric& metric = a_.lists->metric();
        for (int q = 0; q < count; q++) {
            const int64_t x = row + (desk.pairs[size_t(q)] >> 16),
                          y = col + (desk.pairs[size_t(q)] & 0xffff);
            const double distance = metric.distance(desk.square[size_t(q)]);
            a_.lists->insert(x, distance, b_.rows.order[y]);
            if (b_.lists) b_.lists->insert(y, distance, a_.rows.order[x]);
        }
    }

    const Bounds& bounds_;
    const Side<T> a_, b_;
    const bool same_, refined_;
};

// Ranks where the way through the features is chosen anew: near pairs live longer.
constexpr std::array<int64_t, 6> STAGES{0, 1, 4, 12, 48, INT64_MAX};

}  // namespace lowd::search
