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

template <class T>
void NeighborIndex<T>::query(Matrix<const T> Q, Matrix<const float> Z, Metric metric,
                             Matrix<int32_t> ids, Matrix<double> distances, Job& job) const {
    const Parts& p = *parts_;
    const PackedRows& rows = *p.rows;
    const PackedRows queries(Q, Z, p.center.data(), p.bounds, spatial_order(Z, job), p.refined,
                             job);
    NeighborLists lists(queries, p.bounds, metric, ids.cols, job);
    const OriginalRows<T> query_rows(Q, queries, job);
    const BlockComparison<T> comparison(p.bounds, {query_rows, queries, &lists},
                                        {*p.originals, rows, nullptr}, p.refined);
    std::vector<Workspace> spaces(size_t(job.threads()));
    const int64_t first = ceil_div(ids.cols, P) + 8;  // panels that fill a list, and some more
    job.expect(queries.blocks);
    job.parallel(queries.blocks, [&](int64_t i, int worker) {
        Workspace& space = spaces[size_t(worker)];
        Schedule schedule;
        schedule.checks = 1;
        schedule.step[0] = int(p.bounds.ladder.size()) - 1;
        // Few queries lie far apart: each panel is first compared with its own nearest rows. With
        // the limits from there half as many pairs are measured.
        std::vector<Masks> left(size_t(rows.blocks), all_masks());
        for (int q = 0; q * P < queries.size(i); q++)
            for (const int32_t g : near_panels(queries, i * PANELS + q, rows, first)) {
                comparison.strip(i, q, g / PANELS, 1u << g % PANELS, schedule, space);
                left[size_t(g / PANELS)][size_t(q)] &= uint16_t(~(1u << g % PANELS));
            }
        const std::vector<int32_t> near = near_blocks(queries, i, rows);
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
            comparison.compare(i, near[r], left[size_t(near[r])], schedule, space);
        }
    });
    lists.copy_to(ids, distances, job);
}

template class NeighborIndex<float>;
template class NeighborIndex<double>;

}  // namespace lowd
