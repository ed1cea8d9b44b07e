// Rigorous bounds of distances from leading features in float32.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "lowd/neighbors.hpp"
#include "search_common.hpp"

namespace lowd::search {

// With x, y centered and scaled, U the orthonormal columns that `z = U'x + e` was made with,
// |e| <= error |x|, and r the norm of the part orthogonal to U:
//   -|x - y|^2 / 2 <= <U'x, U'y> + r_x r_y - |x|^2 / 2 - |y|^2 / 2              (Cauchy, Schwarz)
// Products of z's instead of U'x, U'y change this by at most (error + error^2 / 2)(|x|^2 + |y|^2),
// the float32 sum over m features by (m + 4) 2^-24 of the same. Both go into the half norms, which
// are made smaller; r is rounded up.
//   |z_x - z_y| <= |x - y| + error (|x| + |y|) <= (1 + error) |x - y| + 2 error |x|
// bounds the form with differences row by row.
struct FilterBounds {
    int64_t cols, features;
    double error, product, scale;
    bool differences = false;
    bool narrow;  // rows may be scaled in float32
    std::vector<int> ladder;  // possible check points

    FilterBounds(int64_t d, int64_t m, Projection projection)
        : cols(d),
          features(m),
          error(projection.error),
          scale(projection.scale),
          narrow(0x1p-90 < scale && scale < 0x1p90) {
        product = error + error * error / 2 + 1.01 * double(m + 4) * ROUNDING;
        for (int c : {2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512})
            if (c < m) ladder.push_back(c);
        ladder.push_back(int(m));
    }
    // The relative error up to which the squared norm of z is known.
    double head_error() const { return 2 * error * (1 + error) + error * error + 1e-12; }
    double half(double norm) const { return 0.5 * norm * (1 - 2 * product - 1e-12); }
    double tail(double norm, double head) const {
        return std::sqrt(std::max(0.0, norm - head) + head_error() * norm);
    }
    double tail_at_least(double norm, double head) const {
        return std::sqrt(std::max(0.0, norm - head - head_error() * norm));
    }
    double slack(double norm) const { return 2 * error * std::sqrt(norm); }
    // The largest |z_x - z_y|^2 of a pair with |x - y| <= distance.
    float difference_limit(double distance, float slack) const {
        const double root = (1 + error) * distance + slack,
                     rounding = 1.01 * double(features + 4) * ROUNDING;
        return above(std::min(double(NO_LIMIT), root * root * (1 + rounding)) + tiny());
    }
    // The largest |x - y| of rows with this |z_x - z_y|, where no direction is left out.
    double largest(float difference, float slack_x, float slack_y) const {
        const double rounding = 1.01 * double(features + 4) * ROUNDING;
        return std::sqrt(double(difference)) * (1 + rounding) + (double(slack_x) + slack_y) / 2 +
               tiny();
    }
    float product_limit(double square) const {
        return -above(std::min(double(NO_LIMIT), square / 2) * (1 + ROUNDING) + tiny());
    }

private:
    double tiny() const { return double(features) * 0x1p-140; }  // bounds squares that underflow
};

// Products lose digits of close pairs, differences cost twice as much: are the nearest rows of a
// panel so close that the bound on products would be a tenth of their distance?
inline bool needs_differences(Matrix<const float> Z, const int32_t* order,
                              const FilterBounds& bounds) {
    constexpr int64_t SAMPLE = 64;
    if (bounds.features <= 4) return true;
    const std::vector<float> origin(size_t(Z.cols), 0.0f);
    const int64_t panels = ceil_div(Z.rows, P), step = std::max<int64_t>(1, panels / SAMPLE);
    std::vector<float> share;
    for (int64_t p = 0; p < panels; p += step) {
        const int64_t end = std::min(Z.rows, (p + 1) * P);
        for (int64_t i = p * P; i < end; i++) {
            float least = HUGE_VALF;
            for (int64_t j = p * P; j < end; j++)
                if (j != i) least = std::min(least, gap(Z.row(order[i]), Z.row(order[j]), Z.cols));
            const float norm = gap(Z.row(order[i]), origin.data(), Z.cols);
            if (norm > 0) share.push_back(least / norm);
        }
    }
    if (share.empty()) return false;
    const auto middle = share.begin() + int64_t(share.size() / 2);
    std::nth_element(share.begin(), middle, share.end());
    return 40 * bounds.product > double(*middle);
}

}  // namespace lowd::search
