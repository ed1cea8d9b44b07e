#include "lowd/embed.hpp"

#include <cmath>

#include "drive.hpp"

namespace lowd {

namespace {

constexpr double FAR = 1e30;  // where padding is: nobody feels it
constexpr double REST = 1e-12;  // a step so short, relative to the map's size, is none
constexpr double MARGIN = 5;  // no new place is further outside the map

// A column per dimension, padded.
class Columns {
public:
    explicit Columns(Matrix<const double> Y)
        : stride_(round_up(Y.rows, 8)), memory_(stride_ * Y.cols, FAR) {
        for (int64_t i = 0; i < Y.rows; i++)
            for (int64_t c = 0; c < Y.cols; c++) memory_[c * stride_ + i] = Y.row(i)[c];
    }
    const double* get() const { return memory_.get(); }
    int64_t stride() const { return stride_; }

private:
    int64_t stride_;
    Buffer<double> memory_;
};

// body(first, last) for blocks of about `size` of n things.
template <class F>
void blocks(Job& job, int64_t n, int64_t size, F&& body) {
    job.parallel(ceil_div(n, size), [&](int64_t b, int worker) {
        body(b * size, std::min(n, (b + 1) * size), worker);
    });
}

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

// ---- All pairs ----

namespace {

class Exact final : public Descent {
public:
    Exact(Lists P, const double* values, int k, Likeness like)
        : n_(P.count()),
          k_(k),
          like_(like),
          starts_(P.starts.begin(), P.starts.end()),
          ends_(P.members.begin(), P.members.end()),
          p_(values, values + P.members.size()) {}

    int dimensions() const override { return k_; }
    void start(Matrix<const double> Y) override {
        y_.assign(size_t(n_ * k_), 0);
        velocity_ = y_;
        gain_.assign(y_.size(), 1.0);
        for (int64_t i = 0; i < n_; i++) std::copy_n(Y.row(i), k_, &y_[size_t(i * k_)]);
    }
    double advance(int64_t steps, double exaggeration, double momentum, double rate,
                   Job& job) override {
        std::vector<double> a(y_.size()), r(y_.size());
        double moved = 0;
        for (int64_t s = 0; s < steps; s++) {
            sums(y_.data(), a.data(), r.data(), job);
            for (size_t i = 0; i < a.size(); i++) a[i] = exaggeration * a[i] - r[i];
            moved = level().embed.advance64(n_, k_, momentum, rate, a.data(), y_.data(),
                                            velocity_.data(), gain_.data());
        }
        return moved;
    }
    void places(Matrix<double> out) const override {
        for (int64_t i = 0; i < n_; i++) std::copy_n(&y_[size_t(i * k_)], k_, out.row(i));
    }
    void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion,
                Job& job) override {
        std::vector<double> y(size_t(n_ * k_)), a(y.size()), r(y.size());
        for (int64_t i = 0; i < n_; i++) std::copy_n(Y.row(i), k_, &y[size_t(i * k_)]);
        sums(y.data(), a.data(), r.data(), job);
        for (int64_t i = 0; i < n_; i++) {
            std::copy_n(&a[size_t(i * k_)], k_, attraction.row(i));
            std::copy_n(&r[size_t(i * k_)], k_, repulsion.row(i));
        }
    }
    Mesh mesh(Matrix<const double>, Job&) override { return {}; }

private:
    void sums(const double* y, double* a, double* r, Job& job) const {
        constexpr int SOME = 16;
        const Columns columns({y, n_, k_, k_});
        const bool heavy = like_ == Likeness::student;
        std::vector<double> z(size_t(round_up(n_, 8)), 0.0);
        const auto pushes = [&](const double* scale, double* z_to, double* to) {
            blocks(job, n_, SOME, [&](int64_t first, int64_t last, int) {
                for (int64_t i = first; i < last; i++)
                    level().embed.pair_sums(columns.get(), columns.stride(), k_, heavy, scale, i,
                                            z_to + i, to + i * k_);
            });
        };
        blocks(job, n_, SOME, [&](int64_t first, int64_t last, int) {
            for (int64_t i = first; i < last; i++) {
                const auto s = size_t(i);
                level().embed.attraction(y, k_, heavy, i, ends_.data() + starts_[s],
                                         p_.data() + starts_[s], starts_[s + 1] - starts_[s],
                                         a + i * k_);
            }
        });
        pushes(nullptr, z.data(), r);
        if (like_ != Likeness::rows) {
            double sum = 0;
            for (double part : z) sum += part;
            for (int64_t i = 0; i < n_ * k_; i++) r[i] /= sum;
            return;
        }
        std::vector<double> inverse(z.size()), again(z.size()), more(size_t(n_ * k_));
        for (size_t i = 0; i < z.size(); i++) inverse[i] = 1 / std::max(z[i], 0x1p-1022);
        pushes(inverse.data(), again.data(), more.data());
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++) {
                const auto at = size_t(i * k_ + c);
                r[at] = (r[at] * inverse[size_t(i)] + more[at]) / double(2 * n_);
            }
    }

    int64_t n_;
    int k_;
    Likeness like_;
    std::vector<int64_t> starts_;
    std::vector<int32_t> ends_;
    std::vector<double> p_, y_, velocity_, gain_;
};

}  // namespace

std::unique_ptr<Descent> meshed(Lists P, const double* values, int k);

std::unique_ptr<Descent> descent(Lists P, const double* values, int k, Likeness like,
                                 bool approximate) {
    if (approximate && like == Likeness::student && k <= 3) return meshed(P, values, k);
    return std::make_unique<Exact>(P, values, k, like);
}

}  // namespace lowd
