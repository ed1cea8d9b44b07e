// The potential of UMAP's repulsive force.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lowd/force_law.hpp"

namespace lowd {

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

}  // namespace lowd
