// Exact nearest neighbors with pruning.
//
// Rows are sorted so that near rows get near positions, and cut into blocks. Pairs of blocks are
// visited nearest first. Whole pairs of blocks or panels are pruned by their bounding boxes; of the
// others a float32 product over the leading features, with rigorous bounds on the missing part,
// prunes nearly all pairs; the few that are left are measured in float64. A bound that is too loose
// costs time, never a neighbor.
#include "lowd/neighbors.hpp"

#include <algorithm>
#include <numeric>

#include "block_comparison.hpp"
#include "nn_descent.hpp"
#include "spatial_order.hpp"

namespace lowd {

using namespace search;

template <class T>
struct NeighborIndex<T>::Parts {
    Matrix<const T> X;
    std::vector<double> center;
    FilterBounds bounds;
    std::unique_ptr<PackedRows> rows;
    std::unique_ptr<OriginalRows<T>> originals;
    bool refined = false;

    Parts(Matrix<const T> x, int64_t m, Projection projection)
        : X(x),
          center(projection.center, projection.center + x.cols),
          bounds(x.cols, m, projection) {}
};

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

// A pair of blocks, i <= j; near pairs have low ranks.
template <class T>
struct CandidateLists<T>::Item {
    int32_t i, j, rank;
    Masks panels;

    Item transposed() const {
        Item other{j, i, rank, {}};
        for (int p = 0; p < PANELS; p++)
            for (int q = 0; q < PANELS; q++)
                if (panels[size_t(p)] >> q & 1) other.panels[size_t(q)] |= uint16_t(1u << p);
        return other;
    }
};

// views: the items of each block. Both views of a pair become one; low ranks come first.
template <class T>
auto CandidateLists<T>::merge(std::vector<std::vector<Item>> views, Job& job) -> std::vector<Item> {
    const auto blocks = int64_t(views.size());
    const auto by_other = [](const Item& a, const Item& b) { return a.j < b.j; };
    job.parallel(
        blocks,
        [&](int64_t i, int) {
            std::sort(views[size_t(i)].begin(), views[size_t(i)].end(), by_other);
        },
        0);
    std::vector<std::vector<Item>> pairs(views.size());
    job.parallel(
        blocks,
        [&](int64_t i, int) {
            for (Item item : views[size_t(i)]) {
                const auto& theirs = views[size_t(item.j)];
                const auto twin = std::lower_bound(theirs.begin(), theirs.end(),
                                                   Item{item.j, item.i, 0, {}}, by_other);
                const bool seen = item.i != item.j && twin != theirs.end() && twin->j == item.i;
                if (item.i > item.j) {
                    if (!seen) pairs[size_t(i)].push_back(item.transposed());
                    continue;
                }
                if (seen) {
                    const Item back = twin->transposed();
                    item.rank = std::min(item.rank, back.rank);
                    for (size_t p = 0; p < PANELS; p++) item.panels[p] |= back.panels[p];
                }
                pairs[size_t(i)].push_back(item);
            }
        },
        0);
    std::vector<size_t> start;
    for (const auto& some : pairs)
        for (const Item& item : some) {
            if (start.size() < size_t(item.rank) + 2) start.resize(size_t(item.rank) + 2);
            start[size_t(item.rank) + 1]++;
        }
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<Item> items(start.back());
    for (const auto& some : pairs)
        for (const Item& item : some) items[start[size_t(item.rank)]++] = item;
    return items;
}

template <class T>
CandidateLists<T>::CandidateLists(const NeighborIndex<T>& index, Metric metric, int64_t k, Job& job)
    : parts_(*index.parts_),
      lists_(std::make_unique<NeighborLists>(*parts_.rows, parts_.bounds, metric, k, job)) {}
template <class T>
CandidateLists<T>::~CandidateLists() = default;

template <class T>
void CandidateLists<T>::copy_to(Matrix<int32_t> ids, Matrix<double> distances, Job& job) {
    lists_->copy_to(ids, distances, job);
}

template <class T>
void NeighborIndex<T>::join(Metric metric, Matrix<int32_t> ids, Matrix<double> distances,
                            Job& job) const {
    CandidateLists<T> lists(*this, metric, ids.cols, job);
    lists.join(job);
    lists.copy_to(ids, distances, job);
}

template <class T>
void CandidateLists<T>::join(Job& job) {
    const PackedRows& rows = *parts_.rows;
    std::vector<std::vector<Item>> views(size_t(rows.blocks));
    job.parallel(
        rows.blocks,
        [&](int64_t i, int) {
            int32_t rank = 0;
            auto& items = views[size_t(i)];
            items.push_back({int32_t(i), int32_t(i), rank, all_masks()});
            for (const int32_t j : near_blocks(rows, i, rows))
                items.push_back({int32_t(i), j, ++rank, all_masks()});
        },
        0);
    join(std::move(views), job);
}

template <class T>
void CandidateLists<T>::join(Matrix<const int32_t> near, Job& job) {
    const PackedRows& rows = *parts_.rows;
    std::vector<std::vector<Item>> views(size_t(rows.blocks));
    job.parallel(
        rows.blocks,
        [&](int64_t i, int) {
            std::vector<int32_t> item_of(size_t(rows.blocks), -1);
            auto& items = views[size_t(i)];
            items.push_back({int32_t(i), int32_t(i), 0, all_masks()});
            for (int64_t g = i * PANELS; g < std::min(near.rows, (i + 1) * PANELS); g++)
                for (int64_t q = 0; q < near.cols; q++) {
                    const int32_t other = near.row(g)[q], j = other / PANELS;
                    if (j == i) continue;
                    if (item_of[size_t(j)] < 0) {
                        item_of[size_t(j)] = int32_t(items.size());
                        items.push_back({int32_t(i), j, int32_t(q + 1), {}});
                    }
                    Item& item = items[size_t(item_of[size_t(j)])];
                    item.rank = std::min(item.rank, int32_t(q + 1));
                    item.panels[size_t(g - i * PANELS)] |= uint16_t(1u << other % PANELS);
                }
        },
        0);
    join(std::move(views), job);
}

template <class T>
void CandidateLists<T>::join(std::vector<std::vector<Item>> views, Job& job) {
    const auto& p = parts_;
    const PackedRows& rows = *p.rows;
    NeighborLists& lists = *lists_;
    const std::vector<Item> items = merge(std::move(views), job);
    const BlockComparison<T> comparison(p.bounds, {*p.originals, rows, &lists},
                                        {*p.originals, rows, &lists}, p.refined);
    std::vector<Workspace> spaces(size_t(job.threads()));
    job.expect(int64_t(items.size()));
    Schedule schedule;
    schedule.checks = 1;
    schedule.step[0] = int(p.bounds.ladder.size()) - 1;
    size_t from = 0;
    for (size_t stage = 0; stage + 1 < STAGES.size(); stage++) {
        size_t to = from;
        while (to < items.size() && items[to].rank < STAGES[stage + 1]) to++;
        const size_t count = to - from;
        if (!count) continue;
        if (items[from].rank > 0) {
            constexpr size_t SAMPLE = 24;
            SurvivorCounts counts;
            for (size_t s = 0; s < SAMPLE; s++) {
                const Item& item = items[from + (2 * s + 1) * count / (2 * SAMPLE)];
                const uint32_t panels = item.panels[s % PANELS];
                if (panels && !comparison.is_pruned(item.i, item.j))
                    comparison.count(item.i, int(s) % PANELS, item.j, panels, counts, spaces[0]);
            }
            if (counts.compared) schedule = cheapest_schedule(p.bounds, counts, p.refined);
        }
        const auto batch = int64_t(count > 100000 ? 16 : 1);
        const int64_t batches = ceil_div(int64_t(count), batch), apart = job.threads();
        const int64_t stride = ceil_div(batches, apart);
        job.parallel(
            stride * apart,
            [&](int64_t b, int worker) {
                // Threads that work on the same block wait for each other: they start far apart.
                const int64_t at = b % apart * stride + b / apart;
                if (at >= batches) return;
                const size_t start = from + size_t(at * batch);
                for (size_t w = start; w < std::min(to, start + size_t(batch)); w++)
                    comparison.compare(items[w].i, items[w].j, items[w].panels, schedule,
                                       spaces[size_t(worker)]);
            },
            batch);
        from = to;
    }
    lists.finish(job);
}

template <class T>
double CandidateLists<T>::unpruned_fraction(Job& job) const {
    const auto& p = parts_;
    const BlockComparison<T> comparison(p.bounds, {*p.originals, *p.rows, lists_.get()},
                                        {*p.originals, *p.rows, lists_.get()}, false);
    std::vector<int64_t> found(size_t(p.rows->blocks));
    job.parallel(
        p.rows->blocks,
        [&](int64_t i, int) {
            for (int64_t j = 0; j < i; j++) found[size_t(i)] += !comparison.is_pruned(i, j);
        },
        0);
    const auto blocks = double(p.rows->blocks);
    return 2 * double(std::accumulate(found.begin(), found.end(), int64_t(0))) / (blocks * blocks);
}

template <class T>
void CandidateLists<T>::nn_descent(Matrix<const int32_t> near, int rounds, Job& job) {
    const auto& p = parts_;
    const PackedRows& rows = *p.rows;
    NeighborLists& lists = *lists_;
    constexpr double MIN_INSERTED = 0.03;  // of the entries; the next round would find less
    const PairFilter<T> filter{p.bounds, *p.originals, rows, p.refined};
    const ComparedGroups compared(near);
    NeighborGraph graph(rows, lists.k(), job);
    struct Workspace {
        RowSet seen;
        ComparedGroups::Mask compared;
        std::vector<int32_t> candidates;
    };
    std::vector<Workspace> spaces(size_t(job.threads()),
                                  Workspace{{}, ComparedGroups::Mask(compared), {}});
    std::vector<int64_t> inserted(size_t(rows.blocks));
    job.expect(rounds * rows.blocks);
    for (int round = 0; round < rounds; round++) {
        graph.update(lists, job);
        job.parallel(rows.blocks, [&](int64_t b, int worker) {
            auto& [seen, mask, candidates] = spaces[size_t(worker)];
            inserted[size_t(b)] = 0;
            for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++) {
                if (r % P == 0) mask.select(r / P);
                candidates.clear();
                const auto add = [&](int32_t c) {
                    candidates.push_back(c);
                    filter.prefetch(c);
                };
                graph.candidates(r, mask, seen, add);
                for (size_t s = 0; s < candidates.size(); s++) {
                    const int32_t c = candidates[s];
                    if (filter.surely_farther(r, c, lists.difference_limit(r))) continue;
                    const double square = kernels<T>().difference_square(
                        (*p.originals)[r], (*p.originals)[c], p.X.cols, lists.metric().unit,
                        std::numeric_limits<double>::infinity());
                    if (!lists.insert(r, lists.metric().distance(square), rows.order[c])) continue;
                    // The neighbors of an inserted row are candidates at once: two rounds find more
                    // than four without.
                    graph.neighbors(c, mask, seen, add);
                    inserted[size_t(b)]++;
                }
                lists.finish(r);
            }
            lists.update_block_limit(b);
        });
        const auto all = std::accumulate(inserted.begin(), inserted.end(), int64_t(0));
        if (double(all) < MIN_INSERTED * double(lists.k() * rows.count)) break;
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
template class CandidateLists<float>;
template class CandidateLists<double>;

}  // namespace lowd
