// Exact neighbors without most of the distances.
//
// Rows are put into an order where near rows are near, and cut into blocks. Pairs of blocks are
// visited nearest first. Whole pairs of blocks or panels are skipped by their boxes; of the rest a
// float32 product over the leading features, with rigorous bounds on what is missing, rules out
// nearly all pairs; the few that are left are measured in float64. A bound that is too loose costs
// time, never a neighbor.
#include "lowd/neighbors.hpp"

#include "meeting.hpp"
#include "polish.hpp"

namespace lowd {

using namespace search;

template <class T>
struct Finder<T>::Parts {
    Matrix<const T> X;
    std::vector<double> center;
    Bounds bounds;
    std::unique_ptr<Packed> rows;
    std::unique_ptr<Originals<T>> originals;
    bool refined = false;

    Parts(Matrix<const T> x, int64_t m, Frame frame)
        : X(x), center(frame.center, frame.center + x.cols), bounds(x.cols, m, frame) {}
};

template <class T>
Finder<T>::Finder(Matrix<const T> X, Matrix<const float> Z, Frame frame, Job& job)
    : parts_(std::make_unique<Parts>(X, Z.cols, frame)) {
    Parts& p = *parts_;
    Buffer<int32_t> order = near_order(Z, job);
    p.bounds.differences = needs_differences(Z, order.get(), p.bounds);
    p.refined = Z.cols < X.cols || sizeof(T) == 8;  // float32 rows are their own second sight
    p.rows = std::make_unique<Packed>(X, Z, p.center.data(), p.bounds, std::move(order),
                                      p.refined, job);
    p.originals = std::make_unique<Originals<T>>(X, *p.rows, job);
}

template <class T>
Finder<T>::~Finder() = default;

template <class T>
int64_t Finder<T>::groups() const {
    return ceil_div(parts_->rows->count, P);
}
template <class T>
int64_t Finder<T>::coordinates() const {
    return std::min<int64_t>(LOOKED_AT, parts_->bounds.features);
}
template <class T>
void Finder<T>::middles(Matrix<float> out) const {
    for (int64_t g = 0; g < groups(); g++)
        std::copy_n(&parts_->rows->panel_middle[g * LOOKED_AT], out.cols, out.row(g));
}

// A pair of blocks, i <= j; near pairs have low ranks.
template <class T>
struct Drafts<T>::Item {
    int32_t i, j, rank;
    Masks panels;

    Item turned() const {
        Item other{j, i, rank, {}};
        for (int p = 0; p < PANELS; p++)
            for (int q = 0; q < PANELS; q++)
                if (panels[size_t(p)] >> q & 1) other.panels[size_t(q)] |= uint16_t(1u << p);
        return other;
    }
};

// What each block sees of the others. Both views of a pair become one; low ranks come first.
template <class T>
auto Drafts<T>::merged(std::vector<std::vector<Item>> views, Job& job) -> std::vector<Item> {
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
                    if (!seen) pairs[size_t(i)].push_back(item.turned());
                    continue;
                }
                if (seen) {
                    const Item back = twin->turned();
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
Drafts<T>::Drafts(const Finder<T>& finder, Metric metric, int64_t k, Job& job)
    : parts_(*finder.parts_),
      lists_(std::make_unique<Lists>(*parts_.rows, parts_.bounds, metric, k, job)) {}
template <class T>
Drafts<T>::~Drafts() = default;

template <class T>
void Drafts<T>::copy_to(Matrix<int32_t> ids, Matrix<double> distances, Job& job) {
    lists_->copy_to(ids, distances, job);
}

template <class T>
void Finder<T>::join(Metric metric, Matrix<int32_t> ids, Matrix<double> distances,
                     Job& job) const {
    Drafts<T> drafts(*this, metric, ids.cols, job);
    drafts.join(job);
    drafts.copy_to(ids, distances, job);
}

template <class T>
void Drafts<T>::join(Job& job) {
    const Packed& rows = *parts_.rows;
    std::vector<std::vector<Item>> views(size_t(rows.blocks));
    job.parallel(
        rows.blocks,
        [&](int64_t i, int) {
            int32_t rank = 0;
            auto& items = views[size_t(i)];
            items.push_back({int32_t(i), int32_t(i), rank, every()});
            for (const int32_t j : near_blocks(rows, i, rows))
                items.push_back({int32_t(i), j, ++rank, every()});
        },
        0);
    join(std::move(views), job);
}

template <class T>
void Drafts<T>::join(Matrix<const int32_t> near, Job& job) {
    const Packed& rows = *parts_.rows;
    std::vector<std::vector<Item>> views(size_t(rows.blocks));
    job.parallel(
        rows.blocks,
        [&](int64_t i, int) {
            std::vector<int32_t> place(size_t(rows.blocks), -1);
            auto& items = views[size_t(i)];
            items.push_back({int32_t(i), int32_t(i), 0, every()});
            for (int64_t g = i * PANELS; g < std::min(near.rows, (i + 1) * PANELS); g++)
                for (int64_t q = 0; q < near.cols; q++) {
                    const int32_t other = near.row(g)[q], j = other / PANELS;
                    if (j == i) continue;
                    if (place[size_t(j)] < 0) {
                        place[size_t(j)] = int32_t(items.size());
                        items.push_back({int32_t(i), j, int32_t(q + 1), {}});
                    }
                    Item& item = items[size_t(place[size_t(j)])];
                    item.rank = std::min(item.rank, int32_t(q + 1));
                    item.panels[size_t(g - i * PANELS)] |= uint16_t(1u << other % PANELS);
                }
        },
        0);
    join(std::move(views), job);
}

template <class T>
void Drafts<T>::join(std::vector<std::vector<Item>> views, Job& job) {
    const auto& p = parts_;
    const Packed& rows = *p.rows;
    Lists& lists = *lists_;
    const std::vector<Item> items = merged(std::move(views), job);
    const Meeting<T> meeting(p.bounds, {*p.originals, rows, &lists},
                             {*p.originals, rows, &lists}, p.refined);
    std::vector<Desk> desks(size_t(job.threads()));
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
            Census census;
            for (size_t s = 0; s < SAMPLE; s++) {
                const Item& item = items[from + (2 * s + 1) * count / (2 * SAMPLE)];
                const uint32_t panels = item.panels[s % PANELS];
                if (panels && !meeting.hopeless(item.i, item.j))
                    meeting.count(item.i, int(s) % PANELS, item.j, panels, census, desks[0]);
            }
            if (census.looked_at) schedule = cheapest(p.bounds, census, p.refined);
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
                    meeting.meet(items[w].i, items[w].j, items[w].panels, schedule,
                                 desks[size_t(worker)]);
            },
            batch);
        from = to;
    }
    lists.finish(job);
}

template <class T>
double Drafts<T>::open(Job& job) const {
    const auto& p = parts_;
    const Meeting<T> meeting(p.bounds, {*p.originals, *p.rows, lists_.get()},
                             {*p.originals, *p.rows, lists_.get()}, false);
    std::vector<int64_t> found(size_t(p.rows->blocks));
    job.parallel(
        p.rows->blocks,
        [&](int64_t i, int) {
            for (int64_t j = 0; j < i; j++) found[size_t(i)] += !meeting.hopeless(i, j);
        },
        0);
    const auto blocks = double(p.rows->blocks);
    return 2 * double(std::accumulate(found.begin(), found.end(), int64_t(0))) / (blocks * blocks);
}

template <class T>
void Drafts<T>::polish(Matrix<const int32_t> near, int rounds, Job& job) {
    const auto& p = parts_;
    const Packed& rows = *p.rows;
    Lists& lists = *lists_;
    constexpr double LITTLE = 0.03;  // of the entries; the next round would find less
    const Sight<T> sight{p.bounds, *p.originals, rows, p.refined};
    const Compared compared(near);
    Acquaintances known(rows, lists.k(), job);
    struct Hall {
        Met met;
        Compared::Mask compared;
        std::vector<int32_t> strangers;
    };
    std::vector<Hall> halls(size_t(job.threads()), Hall{{}, Compared::Mask(compared), {}});
    std::vector<int64_t> welcome(size_t(rows.blocks));
    job.expect(rounds * rows.blocks);
    for (int round = 0; round < rounds; round++) {
        known.update(lists, job);
        job.parallel(rows.blocks, [&](int64_t b, int worker) {
            auto& [met, mask, strangers] = halls[size_t(worker)];
            welcome[size_t(b)] = 0;
            for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++) {
                if (r % P == 0) mask.turn_to(r / P);
                strangers.clear();
                const auto meet = [&](int32_t c) {
                    strangers.push_back(c);
                    sight.fetch(c);
                };
                known.strangers(r, mask, met, meet);
                for (size_t s = 0; s < strangers.size(); s++) {
                    const int32_t c = strangers[s];
                    if (sight.apart(r, c, lists.near(r))) continue;
                    const double square = kernels<T>().difference_square(
                        (*p.originals)[r], (*p.originals)[c], p.X.cols, lists.metric().unit,
                        std::numeric_limits<double>::infinity());
                    if (!lists.insert(r, lists.metric().distance(square), rows.order[c])) continue;
                    // Who is welcome brings friends: two rounds find more than four without.
                    known.friends(c, mask, met, meet);
                    welcome[size_t(b)]++;
                }
                lists.finish(r);
            }
            lists.loosen(b);
        });
        const auto all = std::accumulate(welcome.begin(), welcome.end(), int64_t(0));
        if (double(all) < LITTLE * double(lists.k() * rows.count)) break;
    }
}

template <class T>
void Finder<T>::query(Matrix<const T> Q, Matrix<const float> Z, Metric metric,
                      Matrix<int32_t> ids, Matrix<double> distances, Job& job) const {
    const Parts& p = *parts_;
    const Packed& rows = *p.rows;
    const Packed asked(Q, Z, p.center.data(), p.bounds, near_order(Z, job), p.refined,
                       job);
    Lists lists(asked, p.bounds, metric, ids.cols, job);
    const Originals<T> questions(Q, asked, job);
    const Meeting<T> meeting(p.bounds, {questions, asked, &lists}, {*p.originals, rows, nullptr},
                             p.refined);
    std::vector<Desk> desks(size_t(job.threads()));
    const int64_t first = ceil_div(ids.cols, P) + 8;  // panels that fill a list, and some more
    job.expect(asked.blocks);
    job.parallel(asked.blocks, [&](int64_t i, int worker) {
        Desk& desk = desks[size_t(worker)];
        Schedule schedule;
        schedule.checks = 1;
        schedule.step[0] = int(p.bounds.ladder.size()) - 1;
        // Few questions lie far apart: each panel looks at its own nearest rows first. With the
        // limits from there half as many pairs are measured.
        std::vector<Masks> left(size_t(rows.blocks), every());
        for (int q = 0; q * P < asked.size(i); q++)
            for (const int32_t g : near_panels(asked, i * PANELS + q, rows, first)) {
                meeting.strip(i, q, g / PANELS, 1u << g % PANELS, schedule, desk);
                left[size_t(g / PANELS)][size_t(q)] &= uint16_t(~(1u << g % PANELS));
            }
        const std::vector<int32_t> near = near_blocks(asked, i, rows);
        size_t stage = 0;
        for (size_t r = 0; r < near.size(); r++) {
            if (int64_t(r) == STAGES[stage]) {
                stage++;
                Census census;
                for (size_t s = 0; s < 4; s++)
                    meeting.count(i, int(s * 3) % PANELS,
                                  near[std::min(near.size() - 1, r + s * r)], EVERY, census, desk);
                if (census.looked_at) schedule = cheapest(p.bounds, census, p.refined);
            }
            meeting.meet(i, near[r], left[size_t(near[r])], schedule, desk);
        }
    });
    lists.copy_to(ids, distances, job);
}

template class Finder<float>;
template class Finder<double>;
template class Drafts<float>;
template class Drafts<double>;

}  // namespace lowd
