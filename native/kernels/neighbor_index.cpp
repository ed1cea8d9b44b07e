// Exact nearest neighbors with pruning.
//
// Rows are sorted so that near rows get near positions, and cut into blocks. Pairs of blocks are
// visited nearest first. Whole pairs of blocks or panels are pruned by their bounding boxes; of the
// others a float32 product over the leading features, with rigorous bounds on the missing part,
// prunes nearly all pairs; the few that are left are measured in float64. A bound that is too loose
// costs time, never a neighbor.
#include "neighbor_index.hpp"

#include <algorithm>
#include <vector>

#include "block_comparison.hpp"
#include "spatial_order.hpp"

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
    p.rows = std::make_unique<PackedRows>(X, Z, p.center.data(), p.bounds, std::move(order),
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
        std::copy_n(&parts_->rows->panel_centroid[g * ORDER_FEATURES], out.cols, out.row(g));
}

template <class T>
void NeighborIndex<T>::join(Metric metric, Matrix<int32_t> ids, Matrix<double> distances,
                            Job& job) const {
    CandidateLists<T> lists(*this, metric, ids.cols, job);
    lists.join(job);
    lists.copy_to(ids, distances, job);
}

using Found = std::vector<std::pair<float, int32_t>>;  // squared distances and indices

static void keep_nearest(Found& found, int64_t count) {
    if (int64_t(found.size()) <= count) return;
    std::nth_element(found.begin(), found.begin() + count - 1, found.end());
    found.resize(size_t(count));
}

// The first entries of the lists of a panel of new rows. Few new rows lie far apart, so each starts
// with the rows of its own nearest panels, which it chooses among those near to all. With the
// limits from there few pairs are measured afterwards.
template <class T>
static void start_lists(Side<T> a, Matrix<const float> Z, Side<T> b, int64_t panel) {
    constexpr int64_t NEAR_TO_ALL = 72, NEAR_TO_EACH = 8;  // panels
    NeighborLists& lists = *a.lists;
    const int64_t k = lists.k(), features = std::min<int64_t>(ORDER_FEATURES, Z.cols),
                  full = ceil_div(k, P);  // panels that fill a list
    const std::vector<int32_t> near = near_panels(a.rows, panel, b.rows, full + NEAR_TO_ALL);
    Found panels, rows;
    alignas(64) float square[P];
    for (int64_t r = panel * P; r < std::min(a.rows.count, (panel + 1) * P); r++) {
        const float* const z = Z.row(a.rows.order[r]);
        panels.clear();
        for (const int32_t g : near)
            panels.emplace_back(gap(z, &b.rows.panel_centroid[g * ORDER_FEATURES], features), g);
        keep_nearest(panels, full + NEAR_TO_EACH);
        rows.clear();
        float limit = HUGE_VALF;
        for (const auto& [_, g] : panels) {
            const int64_t first = int64_t(g) * P, end = std::min(b.rows.count, first + P);
            search_kernels().panel_gaps(z, b.rows.panel(first, Z.cols), Z.cols, square);
            for (int64_t y = first; y < end; y++)
                if (square[y - first] < limit) rows.emplace_back(square[y - first], int32_t(y));
            if (int64_t(rows.size()) >= 2 * k) {
                keep_nearest(rows, k);
                limit = rows.back().first;
            }
        }
        keep_nearest(rows, k);
        for (const auto& [_, y] : rows) {
            const double exact = kernels<T>().difference_square(a.X[r], b.X[y], a.X.cols(),
                                                                lists.metric().unit, HUGE_VAL);
            lists.insert(r, lists.metric().distance(exact), b.rows.order[y]);
        }
        lists.finish(r);
    }
}

template <class T>
void NeighborIndex<T>::query(Matrix<const T> Q, Matrix<const float> Z, Metric metric,
                             Matrix<int32_t> ids, Matrix<double> distances, Job& job) const {
    const Parts& p = *parts_;
    const PackedRows& rows = *p.rows;
    const PackedRows queries(Q, Z, p.center.data(), p.bounds, spatial_order(Z, job), p.refined,
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
            start_lists(a, Z, b, q);
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
                if (counts.compared) schedule = cheapest_schedule(p.bounds, counts, p.refined);
            }
            comparison.compare(i, near[r], all_masks(), schedule, space);
        }
    });
    lists.copy_to(ids, distances, job);
}

template class NeighborIndex<float>;
template class NeighborIndex<double>;

}  // namespace lowd
