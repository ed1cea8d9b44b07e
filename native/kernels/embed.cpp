#include "lowd/embed.hpp"

#include <cmath>

#include "columns.hpp"

namespace lowd {

namespace {

constexpr double REST = 1e-12;  // a step so short, relative to the map's size, is none
constexpr double MARGIN = 5;  // no new place is further outside the map

}  // namespace

void perplexity(std::span<const int64_t> starts, const double* squares, double target, double* p,
                double* beta, Job& job) {
    const Lists lists{starts, {}};
    const int64_t n = lists.count(), longest = round_up(lists.longest(), 8);
    job.expect(ceil_div(n, 64));
    Scratch<double> scratch(job, 2 * longest);
    const double entropy = std::log(target);
    blocks(job, n, 64, [&](int64_t first, int64_t last, int worker) {
        double* const work = scratch[worker];
        for (int64_t i = first; i < last; i++)
            beta[i] = lists.size(i) == 0
                          ? 0
                          : level().embed.perplexity(squares + starts[i], lists.size(i), entropy,
                                                     work, work + longest, p + starts[i]);
    });
}

void pair_sums(Matrix<const double> Y, Likeness like, std::span<const int64_t> rows, double* z,
               Matrix<double> r, Job& job) {
    const Columns y(Y);
    const auto m = int64_t(rows.size());
    job.expect(ceil_div(m, 16));
    blocks(job, m, 16, [&](int64_t first, int64_t last, int) {
        for (int64_t i = first; i < last; i++)
            level().embed.pair_sums(y.get(), y.stride(), int(Y.cols), like == Likeness::student,
                                    nullptr, rows[i], z + i, r.row(i));
    });
}

double normalizer(Matrix<const double> Y, Job& job) {
    constexpr int SOME = 32;
    const int64_t n = Y.rows, padded = round_up(n, 16);
    Buffer<float> y(Y.cols * padded, 1e18f);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < Y.cols; c++) y[c * padded + i] = float(Y.row(i)[c]);
    const int64_t count = ceil_div(n, SOME);
    std::vector<double> sums(static_cast<size_t>(count));
    job.expect(count);
    job.parallel(count, [&](int64_t b, int) {
        sums[size_t(b)] = level().embed.later_pairs(y.get(), padded, int(Y.cols), n, b * SOME,
                                                    int(std::min<int64_t>(SOME, n - b * SOME)));
    });
    double sum = 0;
    for (double part : sums) sum += part;
    return 2 * sum;
}

namespace {

struct Entry {
    double place, weight;
};

// The least place up to which half of the weight lies. Entries lose their order.
double median(Entry* first, Entry* last, double* work) {
    // A share so near to one half is one half: with equal weights rounding would decide.
    constexpr double HALF = 0.5 * (1 - 1e-12);
    double left = 0;
    for (const Entry* e = first; e < last; e++) left += e->weight;
    left *= HALF;
    while (last - first > MEDIAN_OF) {  // the part in which it is reached
        Entry* const middle = first + (last - first) / 2;
        std::nth_element(first, middle, last,
                         [](const Entry& a, const Entry& b) { return a.place < b.place; });
        double below = 0;
        for (const Entry* e = first; e < middle; e++) below += e->weight;
        if (below >= left) {
            last = middle;
        } else {
            left -= below;
            first = middle;
        }
    }
    const int64_t count = last - first;
    for (int64_t e = 0; e < count; e++) {
        work[e] = first[e].place;
        work[MEDIAN_OF + e] = first[e].weight;
    }
    return level().embed.median(work, work + MEDIAN_OF, count, left);
}

}  // namespace

void settle(Lists near, const double* p, Matrix<const double> Y, Likeness like,
            const MeshView& mesh, bool from_medians, Matrix<double> places, Job& job) {
    const Columns columns(mesh.phi ? Matrix<const double>{Y.data, 0, Y.cols, Y.stride} : Y);
    const int k = int(Y.cols);
    Buffer<double> rows(Y.rows * k), low(k, FAR), high(k, -FAR);
    double size = 1;
    for (int64_t i = 0; i < Y.rows; i++)
        for (int c = 0; c < k; c++) {
            const double v = rows[i * k + c] = Y.row(i)[c];
            low[c] = std::min(low[c], v - MARGIN);
            high[c] = std::max(high[c], v + MARGIN);
            size = std::max(size, std::abs(v));
        }
    const bool heavy = like == Likeness::student;
    const Anchors all{k,    heavy,     rows.get(),  columns.get(), columns.stride(),
                      mesh, low.get(), high.get(), REST * size,   heavy && from_medians};
    Scratch<double> scratch(job, settle_scratch(k, near.longest()) + 2 * MEDIAN_OF);
    Scratch<Entry> entries(job, near.longest());
    job.expect(ceil_div(near.count(), 8));
    blocks(job, near.count(), 8, [&](int64_t first, int64_t last, int worker) {
        for (int64_t i = first; i < last; i++) {
            Entry* const listed = entries[worker];
            for (int c = 0; c < k && from_medians; c++) {
                for (int64_t e = 0; e < near.size(i); e++)
                    listed[e] = {rows[near.list(i)[e] * k + c], p[near.starts[size_t(i)] + e]};
                places.row(i)[c] = median(listed, listed + near.size(i), scratch[worker]);
            }
            level().embed.settle(all, near.list(i), p + near.starts[i], near.size(i), places.row(i),
                                 scratch[worker]);
        }
    });
}

std::unique_ptr<Descent> exact(Lists P, const double* values, int k, Likeness like);
std::unique_ptr<Descent> meshed(Lists P, const double* values, int k, bool pairs);

std::unique_ptr<Descent> descent(Lists P, const double* values, int k, Likeness like, Sums sums) {
    if (sums != Sums::exact && like == Likeness::student && k <= 3)
        return meshed(P, values, k, sums == Sums::single);
    return exact(P, values, k, like);
}

}  // namespace lowd
