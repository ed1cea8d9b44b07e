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
    bool refined = false, kept = false;

    Parts(Matrix<const T> x, int64_t m, Frame frame)
        : X(x), center(frame.center, frame.center + x.cols), bounds(x.cols, m, frame) {}
};

template <class T>
Finder<T>::Finder(Matrix<const T> X, Matrix<const float> Z, Frame frame, bool polished, Job& job)
    : parts_(std::make_unique<Parts>(X, Z.cols, frame)) {
    Parts& p = *parts_;
    Buffer<int32_t> order = near_order(Z, job);
    p.bounds.differences = needs_differences(Z, order.get(), p.bounds);
    p.refined = Z.cols < X.cols || sizeof(T) == 8;  // float32 rows are their own second sight
    p.kept = p.refined || polished;
    p.rows = std::make_unique<Packed>(X, Z, p.center.data(), p.bounds, std::move(order), p.kept,
                                      job);
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
struct Finder<T>::Item {
    int32_t i, j, rank;
    Masks panels;

    // Both views of a pair as one.
    static void merge(std::vector<Item>& items) {
        for (Item& item : items) {
            if (item.i <= item.j) continue;
            std::swap(item.i, item.j);
            Masks turned{};
            for (int p = 0; p < PANELS; p++)
                for (int q = 0; q < PANELS; q++)
                    if (item.panels[size_t(p)] >> q & 1) turned[size_t(q)] |= uint16_t(1u << p);
            item.panels = turned;
        }
        std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
            return std::tie(a.i, a.j, a.rank) < std::tie(b.i, b.j, b.rank);
        });
        size_t kept = 0;
        for (const Item& item : items) {
            if (kept && items[kept - 1].i == item.i && items[kept - 1].j == item.j) {
                for (size_t p = 0; p < PANELS; p++) items[kept - 1].panels[p] |= item.panels[p];
            } else {
                items[kept++] = item;
            }
        }
        items.resize(kept);
        std::stable_sort(items.begin(), items.end(),
                         [](const Item& a, const Item& b) { return a.rank < b.rank; });
    }
};

template <class T>
void Finder<T>::join(Metric metric, Matrix<int32_t> ids, Matrix<double> distances,
                     Job& job) const {
    const Packed& rows = *parts_->rows;
    std::vector<std::vector<int32_t>> near(static_cast<size_t>(rows.blocks));
    job.parallel(
        rows.blocks, [&](int64_t i, int) { near[size_t(i)] = near_blocks(rows, i, rows); }, 0);
    std::vector<Item> items;
    items.reserve(size_t(rows.blocks * rows.blocks));
    for (int32_t i = 0; i < rows.blocks; i++) {
        int32_t rank = 0;
        items.push_back({i, i, rank, every()});
        for (const int32_t j : near[size_t(i)]) items.push_back({i, j, ++rank, every()});
    }
    join(metric, std::move(items), ids, distances, job);
}

template <class T>
void Finder<T>::join(Metric metric, Matrix<const int32_t> near, Matrix<int32_t> ids,
                     Matrix<double> distances, Job& job) const {
    const Packed& rows = *parts_->rows;
    std::vector<std::vector<Item>> found(static_cast<size_t>(rows.blocks));
    job.parallel(
        rows.blocks,
        [&](int64_t i, int) {
            std::vector<int32_t> place(size_t(rows.blocks), -1);
            auto& items = found[size_t(i)];
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
    std::vector<Item> items;
    for (const auto& some : found) items.insert(items.end(), some.begin(), some.end());
    join(metric, std::move(items), ids, distances, job);
}

template <class T>
void Finder<T>::join(Metric metric, std::vector<Item> items, Matrix<int32_t> ids,
                     Matrix<double> distances, Job& job) const {
    const Parts& p = *parts_;
    const Packed& rows = *p.rows;
    Lists lists(rows, p.bounds, metric, ids, distances, job);
    Item::merge(items);
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
        const auto batch = size_t(count > 100000 ? 16 : 1);
        job.parallel(
            ceil_div(int64_t(count), int64_t(batch)),
            [&](int64_t b, int worker) {
                const size_t start = from + size_t(b) * batch;
                for (size_t w = start; w < std::min(to, start + batch); w++)
                    meeting.meet(items[w].i, items[w].j, items[w].panels, schedule,
                                 desks[size_t(worker)]);
            },
            int64_t(batch));
        from = to;
    }
    lists.copy_to(ids, distances, job);
}

template <class T>
double Finder<T>::open(Metric metric, Matrix<int32_t> ids, Matrix<double> distances,
                       Job& job) const {
    const Parts& p = *parts_;
    Lists lists(*p.rows, p.bounds, metric, ids, distances, job);
    const Meeting<T> meeting(p.bounds, {*p.originals, *p.rows, &lists},
                             {*p.originals, *p.rows, &lists}, false);
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
void Finder<T>::polish(Metric metric, int rounds, Matrix<int32_t> ids, Matrix<double> distances,
                       Job& job) const {
    const Parts& p = *parts_;
    const Packed& rows = *p.rows;
    const int64_t m = p.bounds.features;
    constexpr double LITTLE = 0.01;
    Lists lists(rows, p.bounds, metric, ids, distances, job);
    Acquaintances known(rows, ids.cols);
    struct Hall {
        Met met;
        std::vector<int32_t> strangers;
    };
    std::vector<Hall> halls(size_t(job.threads()), Hall{known.meeting(), {}});
    job.expect(rounds * rows.blocks);
    for (int round = 0; round < rounds; round++) {
        if (known.update(lists, job) < LITTLE) break;
        job.parallel(rows.blocks, [&](int64_t b, int worker) {
            auto& [met, strangers] = halls[size_t(worker)];
            for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++) {
                strangers.clear();
                known.strangers(r, met, [&](int32_t c) {
                    strangers.push_back(c);
                    for (int64_t l = 0; l < std::min<int64_t>(m, 64); l += 16)
                        __builtin_prefetch(&rows.rows[c * m + l]);
                });
                for (const int32_t c : strangers) {
                    const float limit = lists.near(r);
                    if (gap(&rows.rows[r * m], &rows.rows[c * m], m, 1, limit) > limit) continue;
                    const double square = kernels<T>().difference_square(
                        (*p.originals)[r], (*p.originals)[c], p.X.cols, metric.unit,
                        std::numeric_limits<double>::infinity());
                    lists.insert(r, metric.distance(square), rows.order[c]);
                }
                lists.finish(r);
            }
        });
    }
    lists.copy_to(ids, distances, job);
}

template <class T>
void Finder<T>::query(Matrix<const T> Q, Matrix<const float> Z, Metric metric,
                      Matrix<int32_t> ids, Matrix<double> distances, Job& job) const {
    const Parts& p = *parts_;
    const Packed& rows = *p.rows;
    const Packed asked(Q, Z, p.center.data(), p.bounds, near_order(Z, job), p.kept, job);
    Lists lists(asked, p.bounds, metric, ids, distances, job);
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

}  // namespace lowd
