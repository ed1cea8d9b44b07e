// Lists of neighbors that are improved step by step: by joins of blocks, and by NN-descent.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "block_comparison.hpp"
#include "neighbor_index.hpp"
#include "nn_descent.hpp"

namespace lowd {

using namespace search;

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
            if (counts.compared) schedule = cheapest_schedule(p.bounds, counts, P, p.refined);
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
    // Share of entries inserted; below it the next round would find less.
    constexpr double MIN_INSERTED = 0.03;
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
                const auto add = [&, &found = candidates](int32_t c) {  // Clang 14 needs the name
                    found.push_back(c);
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
                    // The neighbors of an inserted row become candidates at once: two rounds find
                    // more than four would find without this.
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

template class CandidateLists<float>;
template class CandidateLists<double>;

}  // namespace lowd
