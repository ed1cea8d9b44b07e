// Gradient descent of t-SNE in one, two or three dimensions in float32: repulsive forces by a
// particle mesh, or by all pairs where points are few.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "all_pairs.hpp"
#include "bounding_box.hpp"
#include "descent_routes.hpp"
#include "lowd/levels.hpp"
#include "packed_graph.hpp"
#include "particle_mesh.hpp"
#include "space_filling_curve.hpp"

namespace lowd {

namespace {

constexpr int64_t MAX_SERIAL_POINTS = 1 << 14;  // threads would wait longer than they work
constexpr double MAX_FACTOR = 1e30;  // of a rate or an exaggeration, so that float32 holds it
constexpr float MAX_COORDINATE = 1e18f;  // whose square is finite
// NaN becomes the lower limit: coordinates are indices of cells.
inline float limit(float v) {
    return v > MAX_COORDINATE ? MAX_COORDINATE : v >= -MAX_COORDINATE ? v : -MAX_COORDINATE;
}
// Steps between two sortings, and at least.
constexpr int SORT_INTERVAL = 100, MIN_SORT_INTERVAL = 10;

// The points in the order of a space-filling curve, by radix sort.
std::vector<int32_t> curve_order(const float* y, int64_t n, int k, int width, const Box& box) {
    const float unit = (k == 3 ? 1023 : 65535) / std::max(box.widest_side(k), 1e-30f);
    std::vector<std::pair<uint32_t, int32_t>> keys(static_cast<size_t>(n)), other(keys.size());
    for (int64_t i = 0; i < n; i++) {
        const auto at = [&](int c) { return uint32_t((y[i * width + c] - box.low[c]) * unit); };
        keys[size_t(i)] = {k == 1   ? at(0)
                           : k == 2 ? spread_bits(at(0)) | spread_bits(at(1)) << 1
                                    : hilbert_position({at(0), at(1), at(2)}),
                           int32_t(i)};
    }
    for (int shift = 0; shift < 32; shift += 11) {
        std::array<int64_t, 2049> counts{};
        for (const auto& key : keys) counts[((key.first >> shift) & 2047) + 1]++;
        for (size_t d = 0; d < 2048; d++) counts[d + 1] += counts[d];
        for (const auto& key : keys) other[size_t(counts[(key.first >> shift) & 2047]++)] = key;
        keys.swap(other);
    }
    std::vector<int32_t> order(keys.size());
    for (size_t i = 0; i < keys.size(); i++) order[i] = keys[i].second;
    return order;
}

// Points are kept in slots: every now and then they are sorted, so that neighbors in the embedding
// are neighbors in memory. Chunks of slots are the blocks of all work.
class GridDescent final : public Descent {
public:
    GridDescent(Ragged P, const double* values, int k, bool all_pairs)
        : n_(P.count()),
          k_(k),
          width_(k == 3 ? 4 : k),
          chunks_(std::clamp<int64_t>(n_ / 512, 1, 256)),
          edges_(P, values),
          row_of_slot_(size_t(n_)),
          boxes_(size_t(chunks_)),
          mesh_(n_, k, width_, chunks_) {
        std::iota(row_of_slot_.begin(), row_of_slot_.end(), 0);
        if (all_pairs) pairs_.emplace(n_, k);
    }

    int dimensions() const override { return k_; }

    void start(Matrix<const double> Y) override {
        y_.assign(size_t(n_ * width_), 0.0f);
        velocity_ = next_ = y_;
        gain_.assign(y_.size(), 1.0f);
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++)
                y_[size_t(i * width_ + c)] = limit(float(Y.row(row_of_slot_[size_t(i)])[c]));
        age_ = SORT_INTERVAL;
    }

    double advance(int64_t steps, double exaggeration, double momentum, double rate,
                   Job& job) override {
        double moved = 0;
        for (int64_t s = 0; s < steps; s++, age_++) {
            if (age_ >= SORT_INTERVAL || (age_ >= MIN_SORT_INTERVAL && mesh_.is_sprawling()))
                sort_points(job);
            const double z = repulsion(job);
            // Most of the work: with small parts no thread waits long for the last one.
            const int64_t parts = 4 * chunks_;
            std::vector<double> sums(static_cast<size_t>(parts));
            job.parallel(parts, [&](int64_t p, int) {
                sums[size_t(p)] = step(n_ * p / parts, n_ * (p + 1) / parts,
                                       float(std::min(exaggeration, MAX_FACTOR)), float(0.5 / z),
                                       float(momentum), float(std::min(rate, MAX_FACTOR)));
            });
            y_.swap(next_);
            Job alone(1);
            update_boxes(n_ <= MAX_SERIAL_POINTS ? alone : job);
            moved = std::accumulate(sums.begin(), sums.end(), 0.0);
        }
        return moved;
    }

    void embedding(Matrix<double> out) const override {
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++)
                out.row(row_of_slot_[size_t(i)])[c] = double(y_[size_t(i * width_ + c)]);
    }

    void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion_out,
                Job& job) override {
        start(Y);
        sort_points(job);
        const double z = repulsion(job);
        std::vector<float> a(size_t(n_ * width_)), r(a.size(), 0.0f);
        job.parallel(chunks_, [&](int64_t c, int) {
            const int64_t first = begin(c), count = begin(c + 1) - first, at = first * width_;
            edges_.attract(y_.data(), k_, first, first + count, 1.0f, &a[size_t(at)]);
            repel(first, count, float(-0.5 / z), &r[size_t(at)]);
        });
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++) {
                attraction.row(row_of_slot_[size_t(i)])[c] = double(a[size_t(i * width_ + c)]);
                repulsion_out.row(row_of_slot_[size_t(i)])[c] = double(r[size_t(i * width_ + c)]);
            }
    }

    // A new point is repelled by the grid alone.
    PotentialGrid interpolation_grid(Matrix<const double> Y, Job& job) override {
        if (k_ == 3) return {};
        start(Y);
        sort_points(job);
        return mesh_.whole_potential(y_.data(), boxes_, job);
    }

private:
    int64_t begin(int64_t chunk) const { return n_ * chunk / chunks_; }

    // Of the points in slots first .. last - 1.
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
        // Of points that are all far apart Z is less than its rounding.
        const double least_z = 1e-6 * double(n_);
        if (!pairs_) return std::max(mesh_.update(y_.data(), boxes_, job), least_z);
        pair_forces_.resize(y_.size());
        return std::max((*pairs_)(y_.data(), width_, pair_forces_.data(), nullptr, job), least_z);
    }

    // f += scale times the gradient of the potential at points.
    void repel(int64_t first, int64_t count, float scale, float* f) const {
        if (!pairs_) return mesh_.add_gradient(y_.data(), first, count, scale, f);
        for (int64_t e = 0; e < count * width_; e++)
            f[e] -= 2 * scale * pair_forces_[size_t(first * width_ + e)];
    }

    void update_boxes(Job& job) {
        job.parallel(chunks_, [&](int64_t c, int) {
            Box& box = boxes_[size_t(c)];
            level().grid.bounding_box(&y_[size_t(begin(c) * width_)], begin(c + 1) - begin(c),
                                      width_, box.low, box.high);
        });
    }

    void sort_points(Job& job) {
        age_ = 0;
        update_boxes(job);
        const std::vector<int32_t> source =
            curve_order(y_.data(), n_, k_, width_, enclose(boxes_, k_));
        std::vector<int32_t> slot(source.size()), rows(source.size());
        for (size_t i = 0; i < source.size(); i++) {
            slot[size_t(source[i])] = int32_t(i);
            rows[i] = row_of_slot_[size_t(source[i])];
        }
        row_of_slot_.swap(rows);
        for (auto* v : {&y_, &velocity_, &gain_}) {
            for (int64_t i = 0; i < n_; i++)
                std::copy_n(&(*v)[size_t(source[size_t(i)]) * size_t(width_)], width_,
                            &next_[size_t(i * width_)]);
            v->swap(next_);
        }
        edges_.reorder(source, slot, chunks_, job);
        update_boxes(job);
    }

    int64_t n_;
    int k_, width_;  // width_: entries of a point
    int64_t chunks_, age_ = 0;  // age_: steps since the last sorting
    PackedGraph edges_;
    std::vector<int32_t> row_of_slot_;
    std::vector<Box> boxes_;  // of chunks
    std::vector<float> y_, next_, velocity_, gain_, pair_forces_;
    std::optional<AllPairs<float>> pairs_;
    ParticleMesh mesh_;
};

}  // namespace

std::unique_ptr<Descent> grid_descent(Ragged P, const double* values, int k, bool all_pairs) {
    return std::make_unique<GridDescent>(P, values, k, all_pairs);
}

}  // namespace lowd
