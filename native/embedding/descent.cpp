// The descents of SNE and t-SNE: by all pairs in float64, or in float32 by all pairs or a grid.

#include "embedding/descent.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "base/levels.hpp"
#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"
#include "embedding/packed_graph.hpp"
#include "embedding/particle_mesh.hpp"
#include "embedding/points.hpp"

namespace lowd {

// Forces of all pairs of few points, each pair once: see descent.inl.
template <class T>
class AllPairs {
public:
    AllPairs(int64_t n, int k)
        : n_(n),
          blocks_(ceil_div(n, PAIR_BLOCK)),
          k_(k),
          columns_(blocks_ * PAIR_BLOCK * k, FAR_AWAY),
          z_(size_t(blocks_)) {}
    // With P, attractive forces are summed as well.
    AllPairs(Ragged P, const double* values, int k) : AllPairs(P.count(), k) {
        const int64_t strip = pair_tiles(0, blocks_);
        p_ = Buffer<T>(blocks_ * strip * TILE, T(0));
        for (int64_t i = 0; i < n_; i++)
            for (int64_t e = P.indptr[size_t(i)]; e < P.indptr[size_t(i) + 1]; e++) {
                const int64_t j = P.indices[size_t(e)], block = i / PAIR_BLOCK;
                const int64_t t = (j / PAIR_BLOCK - block + blocks_) % blocks_;
                if (t < pair_tiles(block, blocks_))  // otherwise the other block has this pair
                    p_[(block * strip + t) * TILE + i % PAIR_BLOCK * PAIR_BLOCK + j % PAIR_BLOCK] +=
                        T(values[e]);
            }
    }

    bool with_attraction() const { return bool(p_); }

    // repulsion_i = sum_j w^2 (y_i - y_j), and with P attraction_i = sum_j p w (y_i - y_j), w = 1 /
    // (1 + d^2); points and forces have rows of `width` entries. Returns the sum of w.
    double operator()(const T* y, int width, T* repulsion, T* attraction, Job& job) {
        const int64_t stride = blocks_ * PAIR_BLOCK, strip = pair_tiles(0, blocks_);
        const int64_t lines = with_attraction() ? 2 * k_ : k_, size = lines * PAIR_BLOCK;
        if (!out_) out_ = Buffer<T>(blocks_ * strip * size);
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++)
                columns_[c * stride + i] = std::clamp(y[i * width + c], -FAR_AWAY, FAR_AWAY);
        for_each_block(
            [&](int64_t b) {
                const PairStrip<T> pairs{n_,
                                         stride,
                                         k_,
                                         b,
                                         blocks_,
                                         columns_.get(),
                                         with_attraction() ? p_.get() + b * strip * TILE : nullptr,
                                         out_.get() + b * strip * size};
                if constexpr (sizeof(T) == 8)
                    z_[size_t(b)] = level().forces.pair_strip64(pairs);
                else
                    z_[size_t(b)] = level().forces.pair_strip32(pairs);
            },
            job, MIN_PARALLEL_PAIRS);
        for_each_block(
            [&](int64_t b) {
                T sums[6 * PAIR_BLOCK];
                if constexpr (sizeof(T) == 8)
                    level().forces.pair_gather64(out_.get(), b, blocks_, lines, sums);
                else
                    level().forces.pair_gather32(out_.get(), b, blocks_, lines, sums);
                const int64_t first = b * PAIR_BLOCK, last = std::min(n_, first + PAIR_BLOCK);
                for (int64_t i = first; i < last; i++)
                    for (int c = 0; c < k_; c++) {
                        repulsion[i * width + c] = sums[c * PAIR_BLOCK + i - first];
                        if (with_attraction())
                            attraction[i * width + c] = sums[(k_ + c) * PAIR_BLOCK + i - first];
                    }
            },
            job, 16 * MIN_PARALLEL_PAIRS);
        double z = 0;
        for (double part : z_) z += part;
        return z;
    }

private:
    static constexpr int64_t TILE = PAIR_BLOCK * PAIR_BLOCK;
    static constexpr T FAR_AWAY = sizeof(T) == 8 ? T(1e30) : T(1e18);  // no force comes from there
    // Fewer pairs are done before a thread wakes.
    static constexpr int64_t MIN_PARALLEL_PAIRS = 1 << 17;

    template <class F>
    void for_each_block(F&& body, Job& job, int64_t min_pairs) {
        if (n_ * n_ >= min_pairs)
            job.parallel(blocks_, [&](int64_t b, int) { body(b); });
        else
            for (int64_t b = 0; b < blocks_; b++) body(b);
    }

    int64_t n_, blocks_;
    int k_;
    Buffer<T> columns_, p_, out_;
    std::vector<double> z_;
};

// Gradient descent of SNE and t-SNE by all pairs, in float64.
namespace {

class ExactDescent final : public Descent {
public:
    ExactDescent(Ragged P, const double* values, int k, Similarity similarity)
        : n_(P.count()),
          k_(k),
          similarity_(similarity),
          indptr_(P.indptr.begin(), P.indptr.end()),
          ends_(P.indices.begin(), P.indices.end()),
          p_(values, values + P.indices.size()) {
        if (similarity != Similarity::student || k > 3) return;
        pairs_ = AllPairs<double>(P, values, k);
    }

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
            moved = level().forces.advance64(n_, k_, momentum, rate, a.data(), y_.data(),
                                             velocity_.data(), gain_.data());
        }
        return moved;
    }
    void embedding(Matrix<double> out) const override {
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
    PotentialGrid interpolation_grid(Matrix<const double>, Job&) override { return {}; }

private:
    static constexpr int64_t ROWS_PER_BLOCK = 16;

    void sums(const double* y, double* a, double* r, Job& job) {
        if (!pairs_) {
            attraction(y, a, job);
            repulsion(y, r, job);
            return;
        }
        const double z = (*pairs_)(y, k_, r, a, job);
        for (int64_t i = 0; i < n_ * k_; i++) r[i] /= z;
    }

    void attraction(const double* y, double* a, Job& job) const {
        parallel_blocks(job, n_, ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int) {
            for (int64_t i = first; i < last; i++) {
                const auto s = size_t(i);
                level().forces.attraction(y, k_, similarity_ == Similarity::student, i,
                                          ends_.data() + indptr_[s], p_.data() + indptr_[s],
                                          indptr_[s + 1] - indptr_[s], a + i * k_);
            }
        });
    }

    // For thin tails, and in more than three dimensions.
    void repulsion(const double* y, double* r, Job& job) const {
        const PointColumns columns({y, n_, k_, k_});
        const bool heavy = similarity_ == Similarity::student;
        std::vector<double> z(size_t(round_up(n_, 8)), 0.0);
        const auto sum = [&](const double* scale, double* z_to, double* to) {
            parallel_blocks(job, n_, ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int) {
                for (int64_t i = first; i < last; i++)
                    level().forces.pair_sums(columns.get(), columns.stride(), k_, heavy, scale, i,
                                             z_to + i, to + i * k_);
            });
        };
        sum(nullptr, z.data(), r);
        if (similarity_ != Similarity::rows) {
            double all = 0;
            for (double part : z) all += part;
            for (int64_t i = 0; i < n_ * k_; i++) r[i] /= all;
            return;
        }
        std::vector<double> inverse(z.size()), again(z.size()), more(size_t(n_ * k_));
        for (size_t i = 0; i < z.size(); i++) inverse[i] = 1 / std::max(z[i], 0x1p-1022);
        sum(inverse.data(), again.data(), more.data());
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++) {
                const auto at = size_t(i * k_ + c);
                r[at] = (r[at] * inverse[size_t(i)] + more[at]) / double(2 * n_);
            }
    }

    int64_t n_;
    int k_;
    Similarity similarity_;
    std::vector<int64_t> indptr_;
    std::vector<int32_t> ends_;
    std::vector<double> p_, y_, velocity_, gain_;
    std::optional<AllPairs<double>> pairs_;
};

}  // namespace

std::unique_ptr<Descent> exact_descent(Ragged P, const double* values, int k,
                                       Similarity similarity) {
    return std::make_unique<ExactDescent>(P, values, k, similarity);
}

// Gradient descent of t-SNE in one, two or three dimensions in float32: repulsive forces by a
// particle mesh, or by all pairs where points are few.
namespace {

// With fewer points threads would wait longer than they work.
constexpr int64_t MAX_SERIAL_POINTS = 1 << 14;
constexpr double MAX_FACTOR = 1e30;  // largest rate or exaggeration that float32 holds safely
// Steps between two sortings, and the smallest number of them.
constexpr int SORT_INTERVAL = 100, MIN_SORT_INTERVAL = 10;

class GridDescent final : public Descent {
public:
    GridDescent(Ragged P, const double* values, int k, bool all_pairs, Job& job)
        : points_(P.count(), k),
          n_(P.count()),
          k_(k),
          width_(points_.width()),
          edges_(P, values, 0, job),
          mesh_(n_, k, width_, points_.chunks(), student_kernel()) {
        if (all_pairs) pairs_.emplace(n_, k);
    }

    int dimensions() const override { return k_; }

    void start(Matrix<const double> Y) override {
        y_ = points_.load(Y);
        velocity_.assign(y_.size(), 0.0f);
        next_ = velocity_;
        gain_.assign(y_.size(), 1.0f);
        age_ = SORT_INTERVAL;
    }

    double advance(int64_t steps, double exaggeration, double momentum, double rate,
                   Job& job) override {
        double moved = 0;
        for (int64_t s = 0; s < steps; s++, age_++) {
            if (age_ >= SORT_INTERVAL || (age_ >= MIN_SORT_INTERVAL && mesh_.is_sprawling()))
                sort_points(job);
            const double z = repulsion(job);
            // This is most of the work: with small parts no thread waits long for the last one.
            const int64_t parts = 4 * points_.chunks();
            std::vector<double> sums(static_cast<size_t>(parts));
            job.parallel(parts, [&](int64_t p, int) {
                sums[size_t(p)] = step(n_ * p / parts, n_ * (p + 1) / parts,
                                       float(std::min(exaggeration, MAX_FACTOR)), float(0.5 / z),
                                       float(momentum), float(std::min(rate, MAX_FACTOR)));
            });
            y_.swap(next_);
            Job alone(1);
            points_.update_boxes(y_.data(), n_ <= MAX_SERIAL_POINTS ? alone : job);
            moved = std::accumulate(sums.begin(), sums.end(), 0.0);
        }
        return moved;
    }

    void embedding(Matrix<double> out) const override { points_.store(y_.data(), out); }

    void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion_out,
                Job& job) override {
        start(Y);
        sort_points(job);
        const double z = repulsion(job);
        std::vector<float> a(size_t(n_ * width_)), r(a.size(), 0.0f);
        job.parallel(points_.chunks(), [&](int64_t c, int) {
            const int64_t first = points_.begin(c), count = points_.begin(c + 1) - first;
            const int64_t at = first * width_;
            edges_.attract(y_.data(), k_, first, first + count, 1.0f, &a[size_t(at)]);
            repel(first, count, float(-0.5 / z), &r[size_t(at)]);
        });
        points_.store(a.data(), attraction);
        points_.store(r.data(), repulsion_out);
    }

    // A new point is repelled by the grid alone.
    PotentialGrid interpolation_grid(Matrix<const double> Y, Job& job) override {
        if (k_ == 3) return {};
        start(Y);
        sort_points(job);
        return mesh_.whole_potential(y_.data(), points_.boxes(), job);
    }

private:
    // Handles the points in slots first .. last - 1.
    double step(int64_t first, int64_t last, float exaggeration, float repulsion_scale,
                float momentum, float rate) {
        constexpr int64_t POINTS_PER_STEP = 256;
        float force[4 * POINTS_PER_STEP];
        double moved = 0;
        for (int64_t i = first; i < last; i += POINTS_PER_STEP) {
            const int64_t count = std::min(POINTS_PER_STEP, last - i);
            const auto at = size_t(i * width_);
            edges_.attract(y_.data(), k_, i, i + count, exaggeration, force);
            repel(i, count, repulsion_scale, force);
            std::copy_n(&y_[at], count * width_, &next_[at]);
            moved += level().forces.advance32(count, width_, momentum, rate, force, &next_[at],
                                              &velocity_[at], &gain_[at]);
        }
        return moved;
    }

    // Prepares `repel`: by the grid, or pair by pair. Returns Z.
    double repulsion(Job& job) {
        // If all points are far apart, Z is smaller than its rounding.
        const double least_z = 1e-6 * double(n_);
        if (pairs_) {
            pair_forces_.resize(y_.size());
            return std::max((*pairs_)(y_.data(), width_, pair_forces_.data(), nullptr, job),
                            least_z);
        }
        mesh_.update(y_.data(), points_.boxes(), job);
        return std::max(mesh_.sum_of_potential(job) - double(n_), least_z);
    }

    // f += scale times the gradient of the potential at points.
    void repel(int64_t first, int64_t count, float scale, float* f) const {
        if (!pairs_) return mesh_.add_gradient(y_.data(), first, count, scale, f);
        for (int64_t e = 0; e < count * width_; e++)
            f[e] -= 2 * scale * pair_forces_[size_t(first * width_ + e)];
    }

    void sort_points(Job& job) {
        age_ = 0;
        points_.update_boxes(y_.data(), job);
        const PointSlots::Order order = points_.sort(y_.data());
        for (auto* v : {&y_, &velocity_, &gain_}) points_.reorder(order, *v, next_);
        edges_.reorder(order.source, order.slot, points_.chunks(), job);
        points_.update_boxes(y_.data(), job);
    }

    PointSlots points_;
    int64_t n_;
    int k_, width_;
    int64_t age_ = 0;  // steps since the last sorting
    PackedGraph edges_;
    std::vector<float> y_, next_, velocity_, gain_, pair_forces_;
    std::optional<AllPairs<float>> pairs_;
    ParticleMesh mesh_;
};

}  // namespace

std::unique_ptr<Descent> grid_descent(Ragged P, const double* values, int k, bool all_pairs) {
    Job alone(1);
    return std::make_unique<GridDescent>(P, values, k, all_pairs, alone);
}

std::unique_ptr<Descent> descent(Ragged P, const double* values, int k, Similarity similarity,
                                 Repulsion repulsion) {
    if (repulsion != Repulsion::exact && similarity == Similarity::student && k <= 3)
        return grid_descent(P, values, k, repulsion == Repulsion::float32);
    return exact_descent(P, values, k, similarity);
}

// Terms of the KL divergence of SNE and t-SNE that need no gradient.
void pair_sums(Matrix<const double> Y, Similarity similarity, std::span<const int64_t> rows,
               double* z, Matrix<double> r, Job& job) {
    const PointColumns y(Y);
    const auto m = int64_t(rows.size());
    job.expect(ceil_div(m, 16));
    parallel_blocks(job, m, 16, [&](int64_t first, int64_t last, int) {
        for (int64_t i = first; i < last; i++)
            level().forces.pair_sums(y.get(), y.stride(), int(Y.cols),
                                     similarity == Similarity::student, nullptr, rows[i], z + i,
                                     r.row(i));
    });
}

double partition_function(Matrix<const double> Y, Job& job) {
    constexpr int ROWS_PER_BLOCK = 32;
    const int64_t n = Y.rows, padded = round_up(n, 16);
    Buffer<float> y(Y.cols * padded, 1e18f);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < Y.cols; c++) y[c * padded + i] = float(Y.row(i)[c]);
    const int64_t count = ceil_div(n, ROWS_PER_BLOCK);
    std::vector<double> sums(static_cast<size_t>(count));
    job.expect(count);
    job.parallel(count, [&](int64_t b, int) {
        sums[size_t(b)] = level().forces.similarity_sum(
            y.get(), padded, int(Y.cols), n, b * ROWS_PER_BLOCK,
            int(std::min<int64_t>(ROWS_PER_BLOCK, n - b * ROWS_PER_BLOCK)));
    });
    double sum = 0;
    for (double part : sums) sum += part;
    return 2 * sum;
}

double cross_term(Ragged P, const double* values, Matrix<const double> Y, Similarity similarity,
                  Job& job) {
    constexpr int64_t ROWS_PER_BLOCK = 256;
    const int64_t n = P.count(), blocks = ceil_div(n, ROWS_PER_BLOCK);
    std::vector<double> sums(size_t(blocks), 0.0);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int) {
        for (int64_t i = b * ROWS_PER_BLOCK; i < std::min(n, (b + 1) * ROWS_PER_BLOCK); i++)
            sums[size_t(b)] += level().forces.cross_term(Y.data, Y.stride, int(Y.cols),
                                                         similarity == Similarity::student, i,
                                                         P.row(i), values + P.indptr[i], P.size(i));
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace lowd
