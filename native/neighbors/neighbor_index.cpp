// Exact nearest neighbors with pruning: the order of rows, self-joins, and queries of new rows.
//
// Rows are sorted so that near rows get near positions, and cut into blocks. Pairs of blocks are
// visited nearest first. Whole pairs of blocks or panels (or a new row and a panel) are pruned by
// their bounding boxes; of the others a float32 product over the leading features, with rigorous
// bounds on the missing part, prunes nearly all pairs; the few that are left are measured in
// float64. A bound that is too loose costs time, never a neighbor. README.md explains the terms.

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/threads.hpp"
#include "neighbors/block_comparison.hpp"
#include "neighbors/index.hpp"

namespace lowd::search {

// The order of rows in the neighbor search: near rows get near positions, by recursive bisection.

// A direction of large variance of some rows: a few power iterations on a sample.
inline void direction(Matrix<const float> Z, int features, const int32_t* rows, int64_t count,
                      float* v) {
    constexpr int64_t SAMPLE = 128;
    constexpr int ITERATIONS = 4;
    const int64_t step = std::max<int64_t>(1, count / SAMPLE), size = ceil_div(count, step);
    std::array<float, ORDER_FEATURES> mean{};
    thread_local std::vector<float> sample;
    sample.assign(size_t(size * ORDER_FEATURES), 0.0f);
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++) {
            sample[r * ORDER_FEATURES + q] = Z.row(rows[r * step])[q];
            mean[q] += sample[r * ORDER_FEATURES + q] / float(size);
        }
    std::fill_n(v, ORDER_FEATURES, 0.0f);
    float most = 0;
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++) {
            float& u = sample[r * ORDER_FEATURES + q];
            u -= mean[q];
            most = std::max(most, std::abs(u));
        }
    if (!(most > 0)) return;
    for (float& u : sample) u /= most;
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++)
            v[q] += sample[r * ORDER_FEATURES + q] * sample[r * ORDER_FEATURES + q];
    for (int i = 0; i < ITERATIONS; i++) {
        std::array<float, ORDER_FEATURES> next{};
        for (int64_t r = 0; r < size; r++) {
            const float* const u = &sample[r * ORDER_FEATURES];
            float part[8] = {};
            for (int q = 0; q < ORDER_FEATURES; q += 8)
                for (int l = 0; l < 8; l++) part[l] += u[q + l] * v[q + l];
            const float s = ((part[0] + part[4]) + (part[2] + part[6])) +
                            ((part[1] + part[5]) + (part[3] + part[7]));
            for (int q = 0; q < ORDER_FEATURES; q++) next[q] += s * u[q];
        }
        float square = 0;
        for (float x : next) square += x * x;
        if (!(square > 0)) return;
        const float scale = 1 / std::sqrt(square);
        for (int q = 0; q < ORDER_FEATURES; q++) v[q] = next[q] * scale;
    }
}

// Halves are split again, down to panels; only the last of them may be short.
inline Buffer<int32_t> spatial_order(Matrix<const float> Z, Job& job) {
    struct Node {
        int64_t first, end;
    };
    const int features = int(std::min<int64_t>(Z.cols, ORDER_FEATURES));
    Buffer<int32_t> order(Z.rows);
    std::iota(order.get(), order.get() + Z.rows, 0);
    // Whole blocks and panels are split from each other.
    const auto unit_of = [](int64_t n) { return n > BLOCK ? BLOCK : P; };
    std::vector<Node> nodes{{0, Z.rows}}, next;
    while (!nodes.empty()) {
        job.parallel(
            int64_t(nodes.size()),
            [&](int64_t i, int) {
                const auto [first, end] = nodes[size_t(i)];
                const int64_t count = end - first;
                if (count <= P) return;
                alignas(64) float v[ORDER_FEATURES];
                int32_t* const rows = order.get() + first;
                direction(Z, features, rows, count, v);
                thread_local std::vector<float> along;
                thread_local std::vector<std::pair<float, int32_t>> key;
                along.resize(size_t(count)), key.resize(size_t(count));
                search_kernels().project_on(Z.data, Z.stride, rows, count, features, v,
                                            along.data());
                for (int64_t r = 0; r < count; r++) key[r] = {along[r], rows[r]};
                std::nth_element(key.begin(), key.begin() + round_up(count / 2, unit_of(count)),
                                 key.end());
                for (int64_t r = 0; r < count; r++) rows[r] = key[r].second;
            },
            0);
        next.clear();
        for (const auto [first, end] : nodes) {
            const int64_t count = end - first;
            if (count <= P) continue;
            const int64_t middle = first + round_up(count / 2, unit_of(count));
            next.push_back({first, middle});
            if (middle < end) next.push_back({middle, end});
        }
        nodes.swap(next);
    }
    return order;
}

}  // namespace lowd::search

namespace lowd {

using namespace search;

template <class T>
NeighborIndex<T>::NeighborIndex(Matrix<const T> X, Matrix<const float> Z, Projection projection,
                                Job& job)
    : parts_(std::make_unique<Parts>(X, Z.cols, projection)) {
    Parts& p = *parts_;
    Buffer<int32_t> order = spatial_order(Z, job);
    p.bounds.differences = needs_differences(Z, order.get(), p.bounds);
    p.refined = Z.cols < X.cols || sizeof(T) == 8;  // float32 rows serve as their own projections
    p.rows = std::make_unique<PackedRows>(X, Z, p.center.data(), p.bounds, std::move(order), P,
                                          p.refined, job);
    p.originals = std::make_unique<OriginalRows<T>>(X, *p.rows, job);
}

template <class T>
NeighborIndex<T>::~NeighborIndex() = default;

template <class T>
int64_t NeighborIndex<T>::groups() const {
    return ceil_div(parts_->rows->count, P);
}
template <class T>
int64_t NeighborIndex<T>::coordinates() const {
    return std::min<int64_t>(ORDER_FEATURES, parts_->bounds.features);
}
template <class T>
void NeighborIndex<T>::centroids(Matrix<float> out) const {
    for (int64_t g = 0; g < groups(); g++)
        for (int64_t q = 0; q < out.cols; q++) out.row(g)[q] = parts_->rows->panel_centroid(g, q);
}

template <class T>
void NeighborIndex<T>::join(Metric metric, Matrix<int32_t> ids, Matrix<double> distances,
                            Job& job) const {
    CandidateLists<T> lists(*this, metric, ids.cols, job);
    lists.join(job);
    lists.copy_to(ids, distances, job);
}

// The squared distances of rows in packed panels to z, and the nearest of these rows.
struct PanelDistances {
    std::vector<float> square;
    std::vector<int32_t> near;

    void clear() { square.clear(); }
    void add(const float* z, const float* panel, int64_t features, int64_t rows) {
        const size_t first = square.size();
        square.resize(first + P);
        search_kernels().panel_gaps(z, panel, features, &square[first]);
        std::fill_n(square.begin() + int64_t(first) + rows, P - rows, HUGE_VALF);
    }
    // The nearest rows: `count` or a few more, without rows that do not exist.
    void choose(int64_t count) {
        const float bound = std::min(
            search_kernels().bound_of_smallest(square.data(), int64_t(square.size()), count),
            std::numeric_limits<float>::max());
        near.clear();
        for (size_t r = 0; r < square.size(); r++)
            if (square[r] <= bound) near.push_back(int32_t(r));
    }
};

// The first limits of a panel of new rows. Few new rows lie far apart, so each takes them from the
// rows of its own nearest panels, which it chooses among those near to all. Few pairs are measured
// afterwards.
template <class T>
static void set_first_limits(Side<T> a, Matrix<const float> Z, Side<T> b, int64_t panel,
                             const FilterBounds& bounds) {
    constexpr int64_t NEAR_TO_ALL = 72, NEAR_TO_EACH = 8;  // numbers of panels
    NeighborLists& lists = *a.lists;
    const int64_t k = lists.k(), full = ceil_div(k, P),  // panels that fill a list
        panels = ceil_div(b.rows.count, P);
    const bool complete = bounds.features == bounds.cols;  // otherwise distances must be measured
    float z[ORDER_FEATURES];
    for (int64_t q = 0; q < ORDER_FEATURES; q++) z[q] = a.rows.panel_centroid(panel, q);
    PanelDistances all, own, rows;
    for (int64_t g = 0; g < panels; g += P)
        all.add(z, &b.rows.panel_centroids[g * ORDER_FEATURES], ORDER_FEATURES,
                std::min<int64_t>(P, panels - g));
    all.choose(full + NEAR_TO_ALL);
    const auto chosen = int64_t(all.near.size());
    Buffer<float> centroids(round_up(chosen, P) * ORDER_FEATURES);
    for (int64_t g = 0; g < chosen; g++)
        for (int64_t q = 0; q < ORDER_FEATURES; q++)
            centroids[(g / P * ORDER_FEATURES + q) * P + g % P] =
                b.rows.panel_centroid(all.near[size_t(g)], q);
    std::fill_n(z, ORDER_FEATURES, 0.0f);
    for (int64_t r = panel * P; r < std::min(a.rows.count, (panel + 1) * P); r++) {
        const float* const whole = Z.row(a.rows.order[r]);
        std::copy_n(whole, std::min<int64_t>(ORDER_FEATURES, Z.cols), z);
        own.clear();
        for (int64_t g = 0; g < chosen; g += P)
            own.add(z, &centroids[g * ORDER_FEATURES], ORDER_FEATURES,
                    std::min<int64_t>(P, chosen - g));
        own.choose(full + NEAR_TO_EACH);
        rows.clear();
        for (const int32_t g : own.near) {
            const int64_t first = int64_t(all.near[size_t(g)]) * P;
            rows.add(whole, b.rows.panel(first, Z.cols), Z.cols,
                     std::min<int64_t>(P, b.rows.count - first));
        }
        rows.choose(k);
        if (int64_t(rows.near.size()) < k) continue;
        double root = 0, square = 0;
        for (const int32_t y : rows.near) {
            const int64_t in = int64_t(all.near[size_t(own.near[size_t(y / P)])]) * P + y % P;
            if (complete)
                root = std::max(root, bounds.largest(rows.square[size_t(y)], a.rows.slack[r],
                                                     b.rows.slack[in]));
            else
                square =
                    std::max(square, kernels<T>().difference_square(a.X[r], b.X[in], a.X.cols(),
                                                                    lists.metric().unit, HUGE_VAL));
        }
        if (complete)
            lists.set_filter_limit(r, root, root * root);
        else
            lists.set_limit(r, lists.metric().distance(square));
    }
}

template <class T>
void NeighborIndex<T>::query(Matrix<const T> Q, Matrix<const float> Z, Metric metric,
                             Matrix<int32_t> ids, Matrix<double> distances, Job& job) const {
    const Parts& p = *parts_;
    const PackedRows& rows = *p.rows;
    const PackedRows queries(Q, Z, p.center.data(), p.bounds, spatial_order(Z, job), 1, p.refined,
                             job);
    NeighborLists lists(queries, p.bounds, metric, ids.cols, job);
    const OriginalRows<T> query_rows(Q, queries, job);
    const Side<T> a{query_rows, queries, &lists}, b{*p.originals, rows, nullptr};
    const BlockComparison<T> comparison(p.bounds, a, b, p.refined);
    std::vector<Workspace> spaces(size_t(job.threads()));
    job.expect(queries.blocks);
    job.parallel(queries.blocks, [&](int64_t i, int worker) {
        Workspace& space = spaces[size_t(worker)];
        for (int64_t q = i * PANELS; q * P < i * BLOCK + queries.size(i); q++)
            set_first_limits(a, Z, b, q, p.bounds);
        lists.update_block_limit(i);
        const std::vector<int32_t> near = near_blocks(queries, i, rows);
        Schedule schedule;
        schedule.checks = 1;
        schedule.step[0] = int(p.bounds.ladder.size()) - 1;
        size_t stage = 0;
        for (size_t r = 0; r < near.size(); r++) {
            if (int64_t(r) == STAGES[stage]) {
                stage++;
                SurvivorCounts counts;
                for (size_t s = 0; s < 4; s++)
                    comparison.count(i, int(s * 3) % PANELS,
                                     near[std::min(near.size() - 1, r + s * r)], ALL_PANELS, counts,
                                     space);
                if (counts.compared) schedule = cheapest_schedule(p.bounds, counts, 1, p.refined);
            }
            comparison.compare(i, near[r], all_masks(), schedule, space);
        }
    });
    lists.copy_to(ids, distances, job);
}

template class NeighborIndex<float>;
template class NeighborIndex<double>;

}  // namespace lowd
