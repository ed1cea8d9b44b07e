// The descent of UMAP in float32: attraction along packed edges; repulsion by a particle mesh in
// one and two dimensions, else by samples that blocks of points share.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "counter_random.hpp"
#include "layout_density.hpp"
#include "layout_routes.hpp"
#include "lowd/levels.hpp"
#include "packed_graph.hpp"
#include "particle_mesh.hpp"
#include "point_slots.hpp"
#include "repelling_points.hpp"
#include "repulsion_potential.hpp"
#include "scratch.hpp"

namespace lowd {

namespace {

constexpr double MAX_FACTOR = 1e30;  // largest rate or strength that float32 holds safely
constexpr int SORT_INTERVAL = 50;
// With fewer points threads would wait longer than they work.
constexpr int64_t MAX_SERIAL_POINTS = 1 << 11;
// Distance of nodes in units of the root of the softening, which rounds off the kernel: 0.15 for a
// softening of 0.02 gives errors of 1 to 3 % in the forces. A few points are repelled by few
// others, so that errors average out less: their nodes are 0.1 apart, which takes little time. Most
// of a great many points are so near to each other that the finest part of the kernel counts: at
// 0.15, a million points had errors of 10 %.
double spacing_of(int64_t n) {
    constexpr int64_t MAX_FINE_POINTS = 5000, MIN_DENSE_POINTS = 200000;
    return n <= MAX_FINE_POINTS ? 0.7071 : n < MIN_DENSE_POINTS ? 1.0607 : 0.5303;
}
// Wider embeddings are sampled: coarser nodes would not resolve the kernel.
constexpr double MAX_SPAN_NODES = 1000;
// Noise falls with the number of samples, and recall grows: .334, .344, .349 with 32, 64, 128 for
// 10000 points.
constexpr int64_t SAMPLES = 64;
constexpr int64_t POINTS_PER_SAMPLING = 128;
constexpr int64_t LOSS_SAMPLES = 16;  // samples for each point

class Float32Layout final : public Layout {
public:
    Float32Layout(Ragged W, const double* values, int k, const ForceLaw& law, uint64_t seed,
                  const Radii& radii, Job& job)
        : points_(W.count(), k),
          n_(W.count()),
          k_(k),
          width_(points_.width()),
          parts_per_chunk_(n_ >= 4 * POINTS_PER_STEP ? 4 : 1),
          law_(law),
          key_(mix_bits(seed)),
          potential_(law),
          spacing_(spacing_of(n_) * std::sqrt(law.softening)),
          edges_(W, values, 1, job) {
        const std::vector<double> degrees = degrees_of(W, values);
        edges_.divide(degrees);
        if (!radii.values.empty()) density_.emplace(law, radii, degrees);
        if (k <= 2)
            mesh_.emplace(n_, k, width_, points_.chunks(),
                          MeshKernel{[this](double s, double) { return potential_(s); },
                                     float(spacing_), false});
    }

    int dimensions() const override { return k_; }

    void start(Matrix<const double> Y) override {
        y_ = points_.load(Y);
        velocity_.assign(y_.size(), 0.0f);
        next_ = velocity_;
        iteration_ = 0;
    }

    double advance(const LayoutSchedule& schedule, Job& job) override {
        double moved = 0;
        const auto strength = [](double v) { return float(std::min(v, MAX_FACTOR)); };
        for (size_t t = 0; t < schedule.rates.size(); t++) {
            const Strengths now{
                strength(schedule.rates[t]), strength(schedule.repulsions[t]),
                schedule.densities.empty() ? 0.0f : strength(schedule.densities[t])};
            if (n_ > MAX_SERIAL_POINTS) {
                moved = iterate(now, job);
                continue;
            }
            job.parallel(1, [&](int64_t, int) {  // also lets the caller cancel
                Job alone(1);
                moved = iterate(now, alone);
            });
        }
        return moved;
    }

    void embedding(Matrix<double> out) const override { points_.store(y_.data(), out); }

    void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion,
                Job& job) override {
        start(Y);
        sort_points(job);
        prepare_repulsion(job);
        std::vector<float> a(y_.size()), r(y_.size(), 0.0f);
        for_each_part(job, [&](int64_t, int64_t first, int64_t last, int) {
            const auto at = size_t(first * width_);
            attract(first, last, &a[at]);
            repel(first, last, 1.0f, &r[at]);
        });
        points_.store(a.data(), attraction);
        points_.store(r.data(), repulsion);
    }

    void density_forces(Matrix<const double> Y, double density, Matrix<double> out,
                        Job& job) override {
        start(Y);
        sort_points(job);
        std::vector<float> f(y_.size(), 0.0f);
        prepare_density(float(std::min(density, MAX_FACTOR)), job);
        for_each_part(job, [&](int64_t, int64_t first, int64_t last, int) {
            add_density(first, last, &f[size_t(first * width_)]);
        });
        points_.store(f.data(), out);
    }

    PotentialGrid interpolation_grid(Matrix<const double> Y, Job& job) override {
        start(Y);
        sort_points(job);
        if (!is_on_grid()) return {};
        PotentialGrid grid = mesh_->whole_potential(y_.data(), points_.boxes(), job);
        for (float& v : grid.phi) v /= float(2 * n_);
        return grid;
    }

    double repulsive_loss(Matrix<const double> Y, Job& job) override {
        start(Y);
        sort_points(job);
        if (is_on_grid()) {
            mesh_->update(y_.data(), points_.boxes(), job);
            return (mesh_->sum_of_potential(job) - mesh_->own_potential(y_.data(), job)) /
                   double(2 * n_ * n_);
        }
        std::vector<double> sums(size_t(points_.chunks() * parts_per_chunk_), 0.0);
        for_each_part(job, [&](int64_t part, int64_t first, int64_t last, int) {
            for (int64_t i = first; i < last; i++)
                for (int64_t e = 0; e < LOSS_SAMPLES && n_ > 1; e++) {
                    const int64_t other =
                        random_below(key_, uint64_t(i * LOSS_SAMPLES + e), n_ - 1);
                    sums[size_t(part)] += potential_(square(i, other + (other >= i)));
                }
        });
        const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
        return sum * double(n_ - 1) / (2.0 * LOSS_SAMPLES * double(n_) * double(n_));
    }

private:
    static constexpr int64_t POINTS_PER_STEP = 256;
    struct Strengths {
        float rate, repulsion, density;
    };

    bool is_narrow(float span) const { return double(span) <= MAX_SPAN_NODES * spacing_; }
    bool is_on_grid() const {
        return mesh_ && is_narrow(enclose(points_.boxes(), k_).widest_side(k_));
    }
    double square(int64_t i, int64_t j) const {
        double s = 0;
        for (int c = 0; c < k_; c++) {
            const double d =
                double(y_[size_t(i * width_ + c)]) - double(y_[size_t(j * width_ + c)]);
            s += d * d;
        }
        return s;
    }

    // body(part, first, last, worker) for parts of chunks: with small parts no thread waits long
    // for the last one.
    template <class F>
    void for_each_part(Job& job, F&& body) const {
        const int64_t parts = points_.chunks() * parts_per_chunk_;
        job.parallel(parts, [&](int64_t p, int worker) {
            body(p, n_ * p / parts, n_ * (p + 1) / parts, worker);
        });
    }

    double iterate(const Strengths& now, Job& job) {
        if (iteration_ % SORT_INTERVAL == 0) sort_points(job);
        prepare_repulsion(job);
        if (now.density > 0) prepare_density(now.density, job);
        const int64_t parts = points_.chunks() * parts_per_chunk_;
        std::vector<double> sums(static_cast<size_t>(parts));
        std::vector<Box> boxes(static_cast<size_t>(parts));
        Scratch<float> scratch(job, POINTS_PER_STEP * width_);
        for_each_part(job, [&](int64_t part, int64_t first, int64_t last, int worker) {
            sums[size_t(part)] = step(first, last, now, scratch[worker]);
            Box& box = boxes[size_t(part)];
            if (k_ <= 3)
                level().grid.bounding_box(&next_[size_t(first * width_)], last - first, width_,
                                          box.low, box.high);
        });
        y_.swap(next_);
        if (k_ <= 3) points_.set_boxes(boxes);
        iteration_++;
        return std::accumulate(sums.begin(), sums.end(), 0.0);
    }

    // Handles the points in slots first .. last - 1.
    double step(int64_t first, int64_t last, const Strengths& now, float* force) {
        double moved = 0;
        for (int64_t i = first; i < last; i += POINTS_PER_STEP) {
            const int64_t end = std::min(i + POINTS_PER_STEP, last), size = (end - i) * width_;
            const auto at = size_t(i * width_);
            attract(i, end, force);
            repel(i, end, now.repulsion, force);
            if (now.density > 0) add_density(i, end, force);
            std::copy_n(&y_[at], size, &next_[at]);
            moved += level().layout.momentum_step(end - i, width_, float(LAYOUT_MOMENTUM), now.rate,
                                                  force, &next_[at], &velocity_[at]);
        }
        return moved;
    }

    void attract(int64_t first, int64_t last, float* f) const {
        level().layout.attract(law_, edges_.view(), y_.data(), k_, width_, first, last, f);
    }

    // Prepares `repel`.
    void prepare_repulsion(Job& job) {
        on_grid_ = is_on_grid();
        if (on_grid_) return mesh_->update(y_.data(), points_.boxes(), job);
        // The points of a block are strided: neighbors would move as one body.
        const int64_t blocks = std::max<int64_t>(n_ / POINTS_PER_SAMPLING, 1);
        sampled_.assign(y_.size(), 0.0f);
        std::vector<RepellingColumns<float>> scratch(size_t(job.threads()), {SAMPLES, k_});
        job.parallel(blocks, [&](int64_t b, int worker) {
            RepellingColumns<float>& some = scratch[size_t(worker)];
            const uint64_t key = random_bits(key_, uint64_t(iteration_ * blocks + b));
            for (int64_t r = 0; r < SAMPLES; r++)
                some.set(r, &y_[size_t(random_below(key, uint64_t(r), n_) * width_)]);
            for (int64_t i = b; i < n_; i += blocks)
                level().layout.repel32(law_, some.view(), &y_[size_t(i * width_)], k_, 0.5f,
                                       &sampled_[size_t(i * width_)]);
        });
    }

    // f += strength times R, for some points.
    void repel(int64_t first, int64_t last, float strength, float* f) const {
        if (on_grid_)
            return mesh_->add_gradient(y_.data(), first, last - first,
                                       float(-double(strength) / double(2 * n_)), f);
        for (int64_t e = 0; e < (last - first) * width_; e++)
            f[e] += strength * sampled_[size_t(first * width_ + e)];
    }

    void prepare_density(float strength, Job& job) {
        density_->prepare(edges_.view(), points_, y_.data(), k_, strength, job);
    }
    void add_density(int64_t first, int64_t last, float* f) const {
        density_->add(edges_.view(), y_.data(), k_, width_, first, last, f);
    }

    void sort_points(Job& job) {
        if (k_ > 3) return;
        points_.update_boxes(y_.data(), job);
        const PointSlots::Order order = points_.sort(y_.data());
        for (auto* v : {&y_, &velocity_}) points_.reorder(order, *v, next_);
        edges_.reorder(order.source, order.slot, points_.chunks(), job);
        points_.update_boxes(y_.data(), job);
    }

    PointSlots points_;
    int64_t n_;
    int k_, width_;
    int64_t parts_per_chunk_, iteration_ = 0;
    ForceLaw law_;
    uint64_t key_;
    RepulsionPotential potential_;
    double spacing_;  // distance of the grid's nodes
    PackedGraph edges_;  // the edges of P
    std::vector<float> y_, next_, velocity_, sampled_;
    bool on_grid_ = false;
    std::optional<LayoutDensity> density_;
    std::optional<ParticleMesh> mesh_;
};

}  // namespace

std::unique_ptr<Layout> float32_layout(Ragged W, const double* values, int k, const ForceLaw& law,
                                       uint64_t seed, const Radii& radii, Job& job) {
    return std::make_unique<Float32Layout>(W, values, k, law, seed, radii, job);
}

}  // namespace lowd
