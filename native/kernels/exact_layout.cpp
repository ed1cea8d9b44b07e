// The descent of UMAP by all pairs, in float64.
#include <algorithm>
#include <cmath>

#include "blocks.hpp"
#include "layout_density.hpp"
#include "layout_routes.hpp"
#include "lowd/levels.hpp"
#include "repelling_points.hpp"
#include "repulsion_potential.hpp"

namespace lowd {

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

    // t += the density term: see layout_density.inl.
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

}  // namespace lowd
