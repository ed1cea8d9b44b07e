// The density term of UMAP: see layout_density.inl.
#pragma once

#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "lowd/layout.hpp"
#include "lowd/levels.hpp"
#include "point_slots.hpp"

namespace lowd {

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

}  // namespace lowd
