// Lists of neighbors bettered by the neighbors of neighbors (Dong, Moses and Li, 2011), and on from
// there as long as that leads nearer.
#pragma once

#include "best.hpp"
#include "meeting.hpp"

namespace lowd::search {

// Rows met so far. Small enough to stay in the nearest cache.
class Met {
public:
    void clear() {
        for (const size_t at : taken_) table_[at] = NOBODY;
        taken_.clear();
    }
    bool add(int32_t row) {
        const size_t mask = table_.size() - 1;
        size_t at = uint32_t(row) * 0x9e3779b1u >> 8 & mask;
        for (; table_[at] != NOBODY; at = (at + 1) & mask)
            if (table_[at] == row) return false;
        table_[at] = row;
        taken_.push_back(at);
        if (2 * taken_.size() > table_.size()) grow();
        return true;
    }

private:
    void grow() {
        std::vector<int32_t> old(2 * table_.size(), NOBODY);
        old.swap(table_);
        taken_.clear();
        for (const int32_t row : old)
            if (row != NOBODY) add(row);
    }
    static constexpr int32_t NOBODY = -1;
    std::vector<int32_t> table_ = std::vector<int32_t>(512, NOBODY);
    std::vector<size_t> taken_;
};

// The groups of rows (panels) whose rows have been compared with each other: pairs between them
// need no second look.
class Compared {
public:
    // `near` as it was joined: a group in the list of another, or the other in its own.
    explicit Compared(Matrix<const int32_t> near) : groups_(near.rows) {
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
        each([&](int64_t g, int64_t other) {
            others_[first_[size_t(g) + 1]++] = int32_t(other);
        });
    }

    // One bit per group, for the rows of one group at a time: small enough for the nearest cache.
    class Mask {
    public:
        explicit Mask(const Compared& all)
            : all_(all), words_(size_t(ceil_div(all.groups_, 64)), 0) {}
        void turn_to(int64_t group) {
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
            const int64_t block = group / PANELS;  // is compared with itself
            for (int64_t g = block * PANELS; g < std::min((block + 1) * PANELS, all_.groups_); g++)
                set(g);
            for (int64_t e = all_.first_[size_t(group)]; e < all_.first_[size_t(group) + 1]; e++)
                set(all_.others_[e]);
        }
        const Compared& all_;
        std::vector<uint64_t> words_;
        int64_t group_ = -1;
    };

private:
    const int64_t groups_;
    std::vector<int64_t> first_;
    Buffer<int32_t> others_;
};

// A quick look at a pair of rows: by the filter's sight of them if it is kept, or by themselves.
template <class T>
struct Sight {
    const Bounds& bounds;
    const Originals<T>& originals;
    const Packed& rows;
    const bool refined;

    void fetch(int64_t r) const {
        refined ? fetch(&rows.rows[r * bounds.features], bounds.features)
                : fetch(originals[r], bounds.cols);
    }
    bool apart(int64_t a, int64_t b, float near) const {
        const int64_t m = bounds.features;
        return refined ? gap(&rows.rows[a * m], &rows.rows[b * m], m, 1, near) > near
                       : far_apart(originals[a], originals[b], bounds, near);
    }

private:
    template <class F>
    static void fetch(const F* row, int64_t size) {
        constexpr int64_t LINE = 64 / sizeof(F), LINES = 4;
        for (int64_t l = 0; l < std::min(size, LINES * LINE); l += LINE)
            __builtin_prefetch(row + l);
    }
};

// Whom each row knows: its nearest so far, and the nearest of those that have it among theirs; some
// of each. Rows are named by their place in the order of the search. What a row did not know in the
// round before is fresh: only a path with a fresh step leads to a stranger.
class Acquaintances {
public:
    Acquaintances(const Packed& rows, int64_t listed, Job& job)
        : rows_(rows),
          k_(std::min<int64_t>(listed, SOME)),
          place_(rows.count),
          known_(rows.count * 2 * k_),
          fresh_(rows.count) {
        job.parallel(
            rows.blocks,
            [&](int64_t b, int) {
                std::fill_n(&known_[b * BLOCK * 2 * k_], rows.size(b) * 2 * k_, NOBODY);
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++)
                    place_[rows.order[r]] = int32_t(r);
            },
            0);
    }

    // Takes the lists as they are now.
    void update(const Lists& lists, Job& job) {
        admirers(lists, job);
        Scratch<int32_t> scratch(job, 4 * k_);
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int worker) {
                int32_t *const now = scratch[worker], *const before = now + 2 * k_;
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++)
                    renew(r, lists, now, before);
            },
            0);
    }

    // The rows that r has not met: fresh admirers, and whom those that it knows know, where one of
    // the two steps is fresh. Those in groups that `compared` holds have been met.
    template <class F>
    void strangers(int64_t r, const Compared::Mask& compared, Met& met, F&& f) const {
        met.clear();
        met.add(int32_t(r));
        const int32_t *const mine = begin(r), new_ones = fresh_[r];
        for (int64_t a = 0; a < 2 * k_ && mine[a] != NOBODY; a++) {
            if (met.add(row(mine[a])) && a < new_ones && !listed(mine[a]) &&
                !compared.holds(row(mine[a])))
                f(row(mine[a]));
            __builtin_prefetch(begin(row(mine[a])));
            __builtin_prefetch(begin(row(mine[a])) + 2 * k_ - 1);
        }
        for (int64_t a = 0; a < 2 * k_ && mine[a] != NOBODY; a++)
            some_friends(row(mine[a]), a < new_ones ? 2 * k_ : fresh_[row(mine[a])], compared,
                         met, f);
    }
    // Those that r knows, less those met.
    template <class F>
    void friends(int64_t r, const Compared::Mask& compared, Met& met, F&& f) const {
        some_friends(r, 2 * k_, compared, met, f);
    }

private:
    const int32_t* begin(int64_t r) const { return &known_[2 * k_ * r]; }
    template <class F>
    void some_friends(int64_t r, int64_t count, const Compared::Mask& compared, Met& met,
                      F&& f) const {
        const int32_t* const known = begin(r);
        for (int64_t c = 0; c < count && known[c] != NOBODY; c++)
            if (!compared.holds(row(known[c])) && met.add(row(known[c]))) f(row(known[c]));
    }

    static int32_t row(int32_t entry) { return entry & ~LISTED; }
    static bool listed(int32_t entry) { return entry & LISTED; }
    static constexpr int32_t NOBODY = -1, LISTED = 1 << 30;
    static constexpr int64_t SOME = 24;  // a round looks at the square of twice as many

    // For each row the edges r k + q, by which row r has it among its nearest.
    void admirers(const Lists& lists, Job& job) {
        const int64_t edges = rows_.count * k_;
        if (!to_.get()) to_ = Buffer<int32_t>(edges), by_ = Buffer<int64_t>(edges);
        first_.assign(size_t(rows_.count + 2), 0);  // begins move to ends while they are used
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++)
                    for (int64_t q = 0; q < k_; q++) {
                        const int32_t id = lists.ids(r)[q];
                        to_[r * k_ + q] = id < 0 ? NOBODY : place_[id];
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

    // What row r knows now, what is new first.
    void renew(int64_t r, const Lists& lists, int32_t* now, int32_t* before) {
        int32_t* const known = &known_[2 * k_ * r];
        for (int64_t q = 0; q < 2 * k_; q++)
            before[q] = known[q] == NOBODY ? NOBODY : row(known[q]);
        int64_t* const first = &by_[first_[size_t(r)]];
        const int64_t admirers = first_[size_t(r) + 1] - first_[size_t(r)],
                      many = std::min(k_, admirers);
        if (many < admirers)
            std::nth_element(first, first + many, first + admirers, [&](int64_t a, int64_t b) {
                return std::pair(length(lists, a), a) < std::pair(length(lists, b), b);
            });
        int64_t own = 0;
        while (own < k_ && to_[r * k_ + own] != NOBODY) now[own] = to_[r * k_ + own], own++;
        int64_t count = own;
        for (int64_t e = 0; e < many; e++) {
            const auto other = int32_t(first[e] / k_);
            if (!among(other, now, own)) now[count++] = other;
        }
        int64_t at = 0;
        for (int64_t q = 0; q < count; q++) {
            const bool is_new = !among(now[q], before, 2 * k_);
            now[q] |= q < own ? LISTED : 0;
            if (is_new) known[at++] = now[q], now[q] = NOBODY;
        }
        fresh_[r] = int32_t(at);
        for (int64_t q = 0; q < count; q++)
            if (now[q] != NOBODY) known[at++] = now[q];
        std::fill_n(known + at, 2 * k_ - at, NOBODY);
    }

    double length(const Lists& lists, int64_t edge) const {
        return lists.distances(edge / k_)[edge % k_];
    }
    static bool among(int32_t row, const int32_t* rows, int64_t count) {
        int found = 0;
        for (int64_t q = 0; q < count; q++) found |= rows[q] == row;
        return found;
    }

    const Packed& rows_;
    const int64_t k_;
    Buffer<int32_t> place_, known_, fresh_, to_;
    Buffer<int64_t> by_;
    std::vector<int64_t> first_;
};

}  // namespace lowd::search
