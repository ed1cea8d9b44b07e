// Lists of neighbors that are improved step by step: by joins of blocks, and by NN-descent.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "neighbors/block_comparison.hpp"
#include "neighbors/index.hpp"
#include "neighbors/neighbor_lists.hpp"

namespace lowd::search {

// A small set of row indices: a hash table with open addressing, small enough to stay in L1.
class RowSet {
public:
    void clear() {
        for (const size_t at : taken_) table_[at] = NONE;
        taken_.clear();
    }
    bool add(int32_t row) {
        const size_t mask = table_.size() - 1;
        size_t at = uint32_t(row) * 0x9e3779b1u >> 8 & mask;
        for (; table_[at] != NONE; at = (at + 1) & mask)
            if (table_[at] == row) return false;
        table_[at] = row;
        taken_.push_back(at);
        if (2 * taken_.size() > table_.size()) grow();
        return true;
    }

private:
    void grow() {
        std::vector<int32_t> old(2 * table_.size(), NONE);
        old.swap(table_);
        taken_.clear();
        for (const int32_t row : old)
            if (row != NONE) add(row);
    }
    static constexpr int32_t NONE = -1;
    std::vector<int32_t> table_ = std::vector<int32_t>(512, NONE);
    std::vector<size_t> taken_;
};

// The groups of rows (panels) whose rows have been compared with each other: pairs between them
// need not be compared again.
class ComparedGroups {
public:
    // `near` is the graph by which they were joined: one group is in the list of the other.
    explicit ComparedGroups(Matrix<const int32_t> near) : groups_(near.rows) {
        first_.assign(size_t(groups_ + 2), 0);  // begins move to ends while they are used
        const auto each = [&](auto&& body) {
            for (int64_t g = 0; g < groups_; g++)
                for (int64_t q = 0; q < near.cols; q++) {
                    body(g, near.row(g)[q]);
                    body(near.row(g)[q], g);
                }
        };
        each([&](int64_t g, int64_t) { first_[size_t(g) + 2]++; });
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        others_ = Buffer<int32_t>(first_.back());
        each([&](int64_t g, int64_t other) { others_[first_[size_t(g) + 1]++] = int32_t(other); });
    }

    // One bit per group, for the rows of one group at a time: small enough for L1.
    class Mask {
    public:
        explicit Mask(const ComparedGroups& all)
            : all_(all), words_(size_t(ceil_div(all.groups_, 64)), 0) {}
        void select(int64_t group) {
            change(group_, 0);
            change(group_ = group, ~uint64_t(0));
        }
        bool holds(int64_t row) const {
            const auto group = size_t(row) / P;
            return words_[group / 64] >> group % 64 & 1;
        }

    private:
        void change(int64_t group, uint64_t to) {
            if (group < 0) return;
            const auto set = [&](int64_t other) {
                uint64_t& word = words_[size_t(other) / 64];
                const uint64_t bit = uint64_t(1) << other % 64;
                word = (word & ~bit) | (to & bit);
            };
            const int64_t block = group / PANELS;  // the block is compared with itself
            for (int64_t g = block * PANELS; g < std::min((block + 1) * PANELS, all_.groups_); g++)
                set(g);
            for (int64_t e = all_.first_[size_t(group)]; e < all_.first_[size_t(group) + 1]; e++)
                set(all_.others_[e]);
        }
        const ComparedGroups& all_;
        std::vector<uint64_t> words_;
        int64_t group_ = -1;
    };

private:
    const int64_t groups_;
    std::vector<int64_t> first_;
    Buffer<int32_t> others_;
};

// NN-descent (Dong, Moses and Li, 2011): the neighbors of neighbors are candidates, and their own
// neighbors as long as they are nearer.

// Pruning of a pair of rows: by their projections if they are stored, or by the rows themselves.
template <class T>
struct PairFilter {
    const FilterBounds& bounds;
    const OriginalRows<T>& originals;
    const PackedRows& rows;
    const bool refined;

    void prefetch(int64_t r) const {
        refined ? prefetch(&rows.rows[r * bounds.features], bounds.features)
                : prefetch(originals[r], bounds.cols);
    }
    bool surely_farther(int64_t a, int64_t b, float limit) const {
        const int64_t m = bounds.features;
        return refined ? gap(&rows.rows[a * m], &rows.rows[b * m], m, 1, limit) > limit
                       : search::surely_farther(originals[a], originals[b], bounds, limit);
    }

private:
    template <class F>
    static void prefetch(const F* row, int64_t size) {
        constexpr int64_t LINE = 64 / sizeof(F), LINES = 4;
        for (int64_t l = 0; l < std::min(size, LINES * LINE); l += LINE)
            __builtin_prefetch(row + l);
    }
};

// Forward and reverse neighbors of each row: its nearest so far, and the nearest of those that have
// it among theirs; some of each. Rows are given by their position in the order of the search.
// Neighbors that a row did not have in the round before are fresh: only a path with a fresh edge
// leads to a new candidate.
class NeighborGraph {
public:
    NeighborGraph(const PackedRows& rows, int64_t k, Job& job)
        : rows_(rows),
          k_(std::min<int64_t>(k, MAX_NEIGHBORS)),
          position_(rows.count),
          neighbors_(rows.count * 2 * k_),
          fresh_(rows.count) {
        job.parallel(
            rows.blocks,
            [&](int64_t b, int) {
                std::fill_n(&neighbors_[b * BLOCK * 2 * k_], rows.size(b) * 2 * k_, NONE);
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++)
                    position_[rows.order[r]] = int32_t(r);
            },
            0);
    }

    // Takes the present lists.
    void update(const NeighborLists& lists, Job& job) {
        find_reverse_neighbors(lists, job);
        Scratch<int32_t> scratch(job, 4 * k_);
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int worker) {
                int32_t *const now = scratch[worker], *const before = now + 2 * k_;
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++)
                    update_row(r, lists, now, before);
            },
            0);
    }

    // Rows that have not been compared with r: fresh reverse neighbors, and neighbors of neighbors
    // where one of the two edges is fresh. Rows of groups that `compared` holds are left out.
    template <class F>
    void candidates(int64_t r, const ComparedGroups::Mask& compared, RowSet& seen, F&& f) const {
        seen.clear();
        seen.add(int32_t(r));
        const int32_t *const mine = begin(r), fresh = fresh_[r];
        for (int64_t a = 0; a < 2 * k_ && mine[a] != NONE; a++) {
            if (seen.add(row(mine[a])) && a < fresh && !forward(mine[a]) &&
                !compared.holds(row(mine[a])))
                f(row(mine[a]));
            __builtin_prefetch(begin(row(mine[a])));
            __builtin_prefetch(begin(row(mine[a])) + 2 * k_ - 1);
        }
        for (int64_t a = 0; a < 2 * k_ && mine[a] != NONE; a++)
            some_neighbors(row(mine[a]), a < fresh ? 2 * k_ : fresh_[row(mine[a])], compared, seen,
                           f);
    }
    // The neighbors of r that are not in `seen`.
    template <class F>
    void neighbors(int64_t r, const ComparedGroups::Mask& compared, RowSet& seen, F&& f) const {
        some_neighbors(r, 2 * k_, compared, seen, f);
    }

private:
    const int32_t* begin(int64_t r) const { return &neighbors_[2 * k_ * r]; }
    template <class F>
    void some_neighbors(int64_t r, int64_t count, const ComparedGroups::Mask& compared,
                        RowSet& seen, F&& f) const {
        const int32_t* const neighbors = begin(r);
        for (int64_t c = 0; c < count && neighbors[c] != NONE; c++)
            if (!compared.holds(row(neighbors[c])) && seen.add(row(neighbors[c])))
                f(row(neighbors[c]));
    }

    static int32_t row(int32_t entry) { return entry & ~FORWARD; }
    static bool forward(int32_t entry) { return entry & FORWARD; }
    static constexpr int32_t NONE = -1, FORWARD = 1 << 30;
    static constexpr int64_t MAX_NEIGHBORS = 24;  // a round has up to (2 * 24)^2 candidates per row

    // For each row the edges r k + q, by which it is neighbor q of row r.
    void find_reverse_neighbors(const NeighborLists& lists, Job& job) {
        const int64_t edges = rows_.count * k_;
        if (!to_.get()) to_ = Buffer<int32_t>(edges), by_ = Buffer<int64_t>(edges);
        first_.assign(size_t(rows_.count + 2), 0);  // begins move to ends while they are used
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++)
                    for (int64_t q = 0; q < k_; q++) {
                        const int32_t id = lists.ids(r)[q];
                        to_[r * k_ + q] = id < 0 ? NONE : position_[id];
                    }
            },
            0);
        // Every worker reads all edges and keeps those to its own rows: so they stay in order.
        const auto each_edge = [&](auto&& body) {
            constexpr int64_t RANGES = 4;
            job.parallel(
                RANGES,
                [&](int64_t range, int) {
                    const int64_t low = rows_.count * range / RANGES,
                                  size = rows_.count * (range + 1) / RANGES - low;
                    for (int64_t e = 0; e < edges; e++)
                        if (uint64_t(to_[e] - low) < uint64_t(size)) body(e, size_t(to_[e]));
                },
                0);
        };
        each_edge([&](int64_t, size_t to) { first_[to + 2]++; });
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        each_edge([&](int64_t e, size_t to) { by_[first_[to + 1]++] = e; });
    }

    // The neighbors of row r now, fresh ones first.
    void update_row(int64_t r, const NeighborLists& lists, int32_t* now, int32_t* before) {
        int32_t* const neighbors = &neighbors_[2 * k_ * r];
        for (int64_t q = 0; q < 2 * k_; q++)
            before[q] = neighbors[q] == NONE ? NONE : row(neighbors[q]);
        int64_t* const first = &by_[first_[size_t(r)]];
        const int64_t reverse = first_[size_t(r) + 1] - first_[size_t(r)],
                      many = std::min(k_, reverse);
        if (many < reverse)
            std::nth_element(first, first + many, first + reverse, [&](int64_t a, int64_t b) {
                return std::pair(length(lists, a), a) < std::pair(length(lists, b), b);
            });
        int64_t own = 0;
        while (own < k_ && to_[r * k_ + own] != NONE) now[own] = to_[r * k_ + own], own++;
        int64_t count = own;
        for (int64_t e = 0; e < many; e++) {
            const auto other = int32_t(first[e] / k_);
            if (!among(other, now, own)) now[count++] = other;
        }
        int64_t at = 0;
        for (int64_t q = 0; q < count; q++) {
            const bool is_new = !among(now[q], before, 2 * k_);
            now[q] |= q < own ? FORWARD : 0;
            if (is_new) neighbors[at++] = now[q], now[q] = NONE;
        }
        fresh_[r] = int32_t(at);
        for (int64_t q = 0; q < count; q++)
            if (now[q] != NONE) neighbors[at++] = now[q];
        std::fill_n(neighbors + at, 2 * k_ - at, NONE);
    }

    double length(const NeighborLists& lists, int64_t edge) const {
        return lists.distances(edge / k_)[edge % k_];
    }
    static bool among(int32_t row, const int32_t* rows, int64_t count) {
        int found = 0;
        for (int64_t q = 0; q < count; q++) found |= rows[q] == row;
        return found;
    }

    const PackedRows& rows_;
    const int64_t k_;
    Buffer<int32_t> position_, neighbors_, fresh_, to_;
    Buffer<int64_t> by_;
    std::vector<int64_t> first_;
};

}  // namespace lowd::search

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
