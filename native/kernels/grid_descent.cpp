// Gradient descent of t-SNE in one, two or three dimensions in float32: repulsive forces by a
// particle mesh, or by all pairs where points are few.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "all_pairs.hpp"
#include "descent_routes.hpp"
#include "lowd/levels.hpp"
#include "packed_graph.hpp"
#include "particle_mesh.hpp"
#include "point_slots.hpp"

namespace lowd {

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

}  // namespace lowd
