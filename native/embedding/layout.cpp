// The descents of UMAP: by all pairs in float64, or in float32 by a grid or samples; its terms and
// its new points.

#include "embedding/layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/counter_random.hpp"
#include "base/levels.hpp"
#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"
#include "embedding/kernels.hpp"
#include "embedding/packed_graph.hpp"
#include "embedding/particle_mesh.hpp"
#include "embedding/points.hpp"
#include "embedding/potential.hpp"

namespace lowd {

// The two implementations of UMAP's descent, and what they share.

// By all pairs in float64.
std::unique_ptr<Layout> exact_layout(Ragged W, const double* values, int k, const ForceLaw& law,
                                     const Radii& radii);
// In float32: by an interpolation grid, or by samples.
std::unique_ptr<Layout> float32_layout(Ragged W, const double* values, int k, const ForceLaw& law,
                                       uint64_t seed, const Radii& radii, Job& job);

inline constexpr double LAYOUT_MOMENTUM = 0.8;

inline std::vector<double> degrees_of(Ragged W, const double* values) {
    std::vector<double> degrees(static_cast<size_t>(W.count()));
    for (int64_t i = 0; i < W.count(); i++)
        degrees[size_t(i)] =
            std::accumulate(values + W.indptr[size_t(i)], values + W.indptr[size_t(i) + 1], 0.0);
    return degrees;
}

// Points that others are repelled by, as columns.

// All have the same weight, of sum 1; padding has none.
template <class T>
class RepellingColumns {
public:
    RepellingColumns(int64_t count, int k)
        : k_(k),
          padded_(round_up(count, LANES)),
          columns_(size_t(padded_ * k), T(0)),
          weights_(size_t(padded_), T(0)) {
        for (int64_t i = 0; i < count; i++) weights_[size_t(i)] = T(1 / double(count));
    }
    explicit RepellingColumns(Matrix<const double> Y) : RepellingColumns(Y.rows, int(Y.cols)) {
        for (int64_t i = 0; i < Y.rows; i++) set(i, Y.row(i));
    }

    template <class U>
    void set(int64_t i, const U* y) {
        for (int c = 0; c < k_; c++) columns_[size_t(c * padded_ + i)] = T(y[c]);
    }
    int64_t padded() const { return padded_; }
    RepellingPoints<T> view() const { return view(0, padded_); }
    // `count` points from number `first` on, both multiples of the lanes.
    RepellingPoints<T> view(int64_t first, int64_t count) const {
        return {columns_.data() + first, weights_.data() + first, padded_, count};
    }

private:
    static constexpr int64_t LANES = 64 / int64_t(sizeof(T));  // of the widest vector

    int k_;
    int64_t padded_;
    std::vector<T> columns_, weights_;
};

// The potential of UMAP's repulsive force.

// V(s), -2 dV/ds = g_r(s), V(infinity) = 0, of the squared distance s. In u = log s it is the
// integral of b s / ((softening + s) (1 + a s^b)) du from log s on: by Simpson's rule on a table,
// and cubic interpolation with the known slopes, within 1e-8.
class RepulsionPotential {
public:
    explicit RepulsionPotential(const ForceLaw& law)
        : law_(law),
          first_(std::log(law.softening * LEAST_SHARE)),
          values_(size_t(NODES)),
          slopes_(size_t(NODES)) {
        // Beyond the table the softening is nothing, and the integral is known.
        values_.back() = std::log1p(1 / odds(std::exp(first_ + STEP * (NODES - 1))));
        slopes_.back() = -integrand(first_ + STEP * (NODES - 1));
        for (int64_t i = NODES - 2; i >= 0; i--) {
            const double u = first_ + STEP * double(i);
            slopes_[size_t(i)] = -integrand(u);
            values_[size_t(i)] =
                values_[size_t(i + 1)] -
                STEP / 6 *
                    (slopes_[size_t(i)] + slopes_[size_t(i + 1)] - 4 * integrand(u + STEP / 2));
        }
    }

    double operator()(double s) const {
        const double least = law_.softening * LEAST_SHARE;
        // Below the table the integrand is proportional to s.
        if (s < least) return values_[0] - slopes_[0] * (1 - s / least);
        const double at = (std::log(s) - first_) / STEP;
        if (at >= double(NODES - 1)) return std::log1p(1 / odds(s));
        const auto i = size_t(at);
        const double t = at - double(i), u = 1 - t;
        return u * u * ((1 + 2 * t) * values_[i] + t * STEP * slopes_[i]) +
               t * t * ((1 + 2 * u) * values_[i + 1] - u * STEP * slopes_[i + 1]);
    }

private:
    // Squares in units of the softening: 1e-6 .. 1e12.
    static constexpr double LEAST_SHARE = 1e-6, STEP = 0.02;
    static constexpr int64_t NODES = 2074;

    double odds(double s) const { return std::min(law_.a * std::pow(s, law_.b), 1e200); }
    double integrand(double u) const {
        const double s = std::exp(u);
        return law_.b * s / ((law_.softening + s) * (1 + odds(s)));
    }

    ForceLaw law_;
    double first_;
    std::vector<double> values_, slopes_;
};

// The density term of UMAP: see layout.inl.

// Added to mean squared distances before the logarithm, as in UMAP's first implementation.
inline constexpr double MIN_SQUARE_RADIUS = 1e-8;

class LayoutDensity {
public:
    // radii: logarithms of the local radii in the data, of mean 0 and variance 1; degrees: of the
    // memberships. Both by rows.
    LayoutDensity(const ForceLaw& law, const Radii& radii, std::span<const double> degrees)
        : law_(law),
          radii_(radii.values.begin(), radii.values.end()),
          degrees_(degrees.begin(), degrees.end()),
          variance_shift_(radii.variance_shift),
          mean_degree_(std::accumulate(degrees_.begin(), degrees_.end(), 0.0) /
                       double(degrees_.size())),
          factors_(degrees.size()),
          strength_(degrees.size()) {}

    // The factors of all points of an embedding.
    void prepare(const PackedView& graph, const PointSlots& points, const float* y, int k,
                 float strength, Job& job) {
        const int64_t n = points.count();
        std::vector<float> squares(static_cast<size_t>(n)), similarity(squares.size());
        std::vector<double> radius(static_cast<size_t>(n));
        job.parallel(points.chunks(), [&](int64_t c, int) {
            const int64_t first = points.begin(c), last = points.begin(c + 1);
            level().layout.density_sums(law_, graph, y, k, first, last, &squares[size_t(first)],
                                        &similarity[size_t(first)]);
            for (auto i = size_t(first); i < size_t(last); i++)
                radius[i] = std::log(MIN_SQUARE_RADIUS +
                                     (similarity[i] > 0 ? double(squares[i] / similarity[i]) : 0));
        });
        const double mean = std::accumulate(radius.begin(), radius.end(), 0.0) / double(n);
        double variance = 0, covariance = 0;
        for (int64_t i = 0; i < n; i++) {
            const double gap = radius[size_t(i)] - mean;
            variance += gap * gap / double(n);
            covariance += radius[size_t(i)] * radii_[size_t(points.row(i))];
        }
        variance += variance_shift_;
        covariance /= double(n);
        job.parallel(points.chunks(), [&](int64_t c, int) {
            for (int64_t i = points.begin(c); i < points.begin(c + 1); i++) {
                const auto s = size_t(i), row = size_t(points.row(i));
                factors_[s] = {};
                strength_[s] = 0;
                if (!(variance > 0 && similarity[s] > 0 && degrees_[row] > 0)) continue;
                const double weight = (radii_[row] - covariance * (radius[s] - mean) / variance) /
                                      (std::sqrt(variance) * double(similarity[s]));
                factors_[s] = {float(weight * std::exp(-radius[s])), float(weight)};
                strength_[s] = float(double(strength) * mean_degree_ /
                                     (degrees_[row] * double(graph.unit[s])));
            }
        });
    }

    // f += the density term of points first .. last - 1.
    void add(const PackedView& graph, const float* y, int k, int width, int64_t first, int64_t last,
             float* f) const {
        level().layout.density(law_, graph, y, k, width, factors_.data(), strength_.data(), first,
                               last, f);
    }

private:
    ForceLaw law_;
    std::vector<double> radii_, degrees_;
    double variance_shift_, mean_degree_;
    std::vector<DensityFactors> factors_;  // ordered by slots
    std::vector<float> strength_;
};

// The descent of UMAP by all pairs, in float64.
namespace {

constexpr double MAX_STEP = 4;

class ExactLayout final : public Layout {
public:
    ExactLayout(Ragged W, const double* values, int k, const ForceLaw& law, const Radii& radii)
        : n_(W.count()),
          k_(k),
          law_(law),
          indptr_(W.indptr.begin(), W.indptr.end()),
          ends_(W.indices.begin(), W.indices.end()),
          p_(values, values + W.indices.size()),
          degrees_(degrees_of(W, values)),
          radii_(radii.values.begin(), radii.values.end()),
          variance_shift_(radii.variance_shift) {
        for (int64_t i = 0; i < n_; i++)
            for (int64_t e = begin(i); e < begin(i + 1); e++)
                if (degrees_[size_t(i)] > 0) p_[size_t(e)] /= degrees_[size_t(i)];
    }

    int dimensions() const override { return k_; }
    void start(Matrix<const double> Y) override {
        y_ = load(Y);
        velocity_.assign(y_.size(), 0.0);
    }
    double advance(const LayoutSchedule& schedule, Job& job) override {
        std::vector<double> a(y_.size()), r(y_.size()), t(y_.size());
        double moved = 0;
        for (size_t s = 0; s < schedule.rates.size(); s++) {
            const double density = schedule.densities.empty() ? 0 : schedule.densities[s];
            sums(y_, a.data(), r.data(), job);
            std::fill(t.begin(), t.end(), 0.0);
            if (density != 0) add_density(y_, density, t.data());
            moved = 0;
            for (int64_t i = 0; i < n_; i++) {
                double square = 0;
                for (auto e = size_t(i * k_); e < size_t((i + 1) * k_); e++) {
                    const double f = a[e] + schedule.repulsions[s] * r[e] + t[e];
                    velocity_[e] = LAYOUT_MOMENTUM * velocity_[e] + schedule.rates[s] * f;
                    square += velocity_[e] * velocity_[e];
                }
                const double shrink =
                    square > MAX_STEP * MAX_STEP ? MAX_STEP / std::sqrt(square) : 1;
                for (auto e = size_t(i * k_); e < size_t((i + 1) * k_); e++)
                    y_[e] += velocity_[e] *= shrink;
                moved += square * shrink * shrink;
            }
        }
        return moved;
    }
    void embedding(Matrix<double> out) const override { store(y_, out); }
    void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion,
                Job& job) override {
        const std::vector<double> y = load(Y);
        std::vector<double> a(y.size()), r(y.size());
        sums(y, a.data(), r.data(), job);
        store(a, attraction);
        store(r, repulsion);
    }
    void density_forces(Matrix<const double> Y, double density, Matrix<double> out, Job&) override {
        std::vector<double> t(size_t(n_ * k_), 0.0);
        add_density(load(Y), density, t.data());
        store(t, out);
    }
    PotentialGrid interpolation_grid(Matrix<const double>, Job&) override { return {}; }
    double repulsive_loss(Matrix<const double> Y, Job&) override {
        const std::vector<double> y = load(Y);
        const RepulsionPotential potential(law_);
        double sum = 0;
        for (int64_t i = 0; i < n_; i++)
            for (int64_t j = 0; j < i; j++) sum += potential(square(y, i, j));
        return sum / double(n_ * n_);
    }

private:
    static constexpr int64_t ROWS_PER_BLOCK = 16;

    int64_t begin(int64_t i) const { return indptr_[size_t(i)]; }
    std::vector<double> load(Matrix<const double> Y) const {
        std::vector<double> y(size_t(n_ * k_));
        for (int64_t i = 0; i < n_; i++) std::copy_n(Y.row(i), k_, &y[size_t(i * k_)]);
        return y;
    }
    void store(const std::vector<double>& y, Matrix<double> out) const {
        for (int64_t i = 0; i < n_; i++) std::copy_n(&y[size_t(i * k_)], k_, out.row(i));
    }
    double square(const std::vector<double>& y, int64_t i, int64_t j) const {
        double s = 0;
        for (int c = 0; c < k_; c++) {
            const double d = y[size_t(i * k_ + c)] - y[size_t(j * k_ + c)];
            s += d * d;
        }
        return s;
    }

    void sums(const std::vector<double>& y, double* a, double* r, Job& job) const {
        const RepellingColumns<double> all({y.data(), n_, k_, k_});
        std::fill_n(r, y.size(), 0.0);
        parallel_blocks(job, n_, ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int) {
            for (int64_t i = first; i < last; i++) {
                level().layout.attract64(law_, y.data(), k_, i, ends_.data() + begin(i),
                                         p_.data() + begin(i), begin(i + 1) - begin(i), a + i * k_);
                level().layout.repel64(law_, all.view(), &y[size_t(i * k_)], k_, 0.5, r + i * k_);
            }
        });
    }

    // t += the density term: see layout.inl.
    void add_density(const std::vector<double>& y, double strength, double* t) const {
        constexpr double MIN_SQUARE = 1e-12;
        const auto n = double(n_);
        std::vector<double> s(p_.size()), phi(p_.size()), total(size_t(n_), 0.0),
            mean_square(total), radius(total), weight(total);
        double mean = 0, variance = 0, covariance = 0;
        for (int64_t i = 0; i < n_; i++) {
            const auto at = size_t(i);
            for (auto e = size_t(begin(i)); e < size_t(begin(i + 1)); e++) {
                s[e] = std::max(square(y, i, ends_[e]), MIN_SQUARE);
                phi[e] = 1 / (1 + law_.a * std::pow(s[e], law_.b));
                total[at] += phi[e];
                mean_square[at] += phi[e] * s[e];
            }
            mean_square[at] = (total[at] > 0 ? mean_square[at] / total[at] : 0) + MIN_SQUARE_RADIUS;
            radius[at] = std::log(mean_square[at]);
            mean += radius[at] / n;
            covariance += radii_[at] * radius[at] / n;
        }
        for (double r : radius) variance += (r - mean) * (r - mean) / n;
        variance += variance_shift_;
        for (size_t i = 0; i < size_t(n_); i++)
            if (total[i] > 0 && variance > 0)
                weight[i] = (radii_[i] - covariance * (radius[i] - mean) / variance) /
                            (std::sqrt(variance) * total[i]);
        const double mean_degree = std::accumulate(degrees_.begin(), degrees_.end(), 0.0) / n;
        for (int64_t i = 0; i < n_; i++) {
            for (auto e = size_t(begin(i)); e < size_t(begin(i + 1)); e++) {
                const auto j = size_t(ends_[e]);
                const double inner = 1 - law_.b * (1 - phi[e]);
                const double slope = law_.b * (1 - phi[e]) / s[e];
                const double through =
                    phi[e] * (weight[size_t(i)] * (inner / mean_square[size_t(i)] + slope) +
                              weight[j] * (inner / mean_square[j] + slope));
                const double most = MAX_DENSITY_FORCE * p_[e] / std::sqrt(s[e]);
                const double force =
                    std::clamp(strength * mean_degree / degrees_[size_t(i)] * through, -most, most);
                for (int c = 0; c < k_; c++)
                    t[i * k_ + c] +=
                        force * (y[size_t(i * k_ + c)] - y[j * size_t(k_) + size_t(c)]);
            }
        }
    }

    int64_t n_;
    int k_;
    ForceLaw law_;
    std::vector<int64_t> indptr_;
    std::vector<int32_t> ends_;
    std::vector<double> p_, degrees_, radii_;
    double variance_shift_;
    std::vector<double> y_, velocity_;
};

}  // namespace

std::unique_ptr<Layout> exact_layout(Ragged W, const double* values, int k, const ForceLaw& law,
                                     const Radii& radii) {
    return std::make_unique<ExactLayout>(W, values, k, law, radii);
}

// The descent of UMAP in float32: attraction along packed edges; repulsion by a particle mesh in
// one and two dimensions, else by samples that blocks of points share.
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

std::unique_ptr<Layout> layout(Ragged W, const double* values, int k, const ForceLaw& law,
                               bool exact, uint64_t seed, const Radii& radii, Job& job) {
    if (exact) return exact_layout(W, values, k, law, radii);
    return float32_layout(W, values, k, law, seed, radii, job);
}

// Exact repulsive forces and the attractive loss of UMAP, and its new points.
namespace {

// Sums POINTS_PER_SUM terms at a time in T, then in float64.
template <class T>
void sum_repulsion(Matrix<const double> Y, const ForceLaw& law, std::span<const int64_t> rows,
                   Matrix<double> out, Job& job) {
    constexpr int64_t POINTS_PER_SUM = 1024, ROWS_PER_BLOCK = 4;
    const int k = int(Y.cols);
    const RepellingColumns<T> all(Y);
    const auto m = int64_t(rows.size());
    Scratch<T> scratch(job, 2 * k);
    job.expect(ceil_div(m, ROWS_PER_BLOCK));
    parallel_blocks(job, m, ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int worker) {
        T *const y = scratch[worker], *const part = y + k;
        for (int64_t i = first; i < last; i++) {
            for (int c = 0; c < k; c++) y[c] = T(Y.row(rows[size_t(i)])[c]);
            std::fill_n(out.row(i), k, 0.0);
            for (int64_t j = 0; j < all.padded(); j += POINTS_PER_SUM) {
                std::fill_n(part, k, T(0));
                const auto some = all.view(j, std::min(POINTS_PER_SUM, all.padded() - j));
                if constexpr (sizeof(T) == 8)
                    level().layout.repel64(law, some, y, k, 0.5, part);
                else
                    level().layout.repel32(law, some, y, k, 0.5f, part);
                for (int c = 0; c < k; c++) out.row(i)[c] += double(part[c]);
            }
        }
    });
}

}  // namespace

void layout_repulsion(Matrix<const double> Y, const ForceLaw& law, bool exact,
                      std::span<const int64_t> rows, Matrix<double> out, Job& job) {
    (exact ? sum_repulsion<double> : sum_repulsion<float>)(Y, law, rows, out, job);
}

double attractive_loss(Ragged W, const double* values, Matrix<const double> Y, const ForceLaw& law,
                       Job& job) {
    constexpr int64_t ROWS_PER_BLOCK = 256;
    const int64_t n = W.count(), blocks = ceil_div(n, ROWS_PER_BLOCK);
    std::vector<double> sums(size_t(blocks), 0.0);
    job.expect(blocks);
    parallel_blocks(job, n, ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int) {
        double& sum = sums[size_t(first / ROWS_PER_BLOCK)];
        for (int64_t i = first; i < last; i++) {
            const double* const w = values + W.indptr[size_t(i)];
            const double degree = std::accumulate(w, w + W.size(i), 0.0);
            if (degree > 0)
                sum += level().layout.attractive_loss(law, Y.data, Y.stride, int(Y.cols), i,
                                                      W.row(i), w, W.size(i)) /
                       degree;
        }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0) / double(n);
}

void optimize_layout_points(Ragged near, const double* weights, Matrix<const double> Y,
                            const ForceLaw& law, const LayoutRepulsion& repulsion, double share,
                            int steps, Matrix<double> out, Job& job) {
    constexpr int64_t POINTS_PER_BLOCK = 8;
    const int k = int(Y.cols);
    Buffer<double> rows(Y.rows * k);
    for (int64_t i = 0; i < Y.rows; i++) std::copy_n(Y.row(i), k, rows.get() + i * k);
    RepellingColumns<double> some(int64_t(repulsion.rows.size()), k);
    for (size_t i = 0; i < repulsion.rows.size(); i++)
        some.set(int64_t(i), Y.row(repulsion.rows[i]));
    const FixedLayout fixed{
        law, k, share, steps, rows.get(), repulsion.potential, some.view(), repulsion.strength};
    Scratch<double> scratch(job, layout_scratch(k, near.longest()));
    job.expect(ceil_div(near.count(), POINTS_PER_BLOCK));
    parallel_blocks(
        job, near.count(), POINTS_PER_BLOCK, [&](int64_t first, int64_t last, int worker) {
            for (int64_t i = first; i < last; i++)
                level().layout.new_point(fixed, near.row(i), weights + near.indptr[size_t(i)],
                                         near.size(i), out.row(i), scratch[worker]);
        });
}

}  // namespace lowd
