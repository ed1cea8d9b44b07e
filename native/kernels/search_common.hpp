// Constants and small helpers of the neighbor search.
#pragma once

#include <cmath>
#include <cstdint>

#include "lowd/levels.hpp"
#include "lowd/matrix.hpp"

namespace lowd::search {

constexpr int P = PANEL<float>, BLOCK = SEARCH_BLOCK, PANELS = BLOCK / P;
constexpr int ORDER_FEATURES = 32;  // leading features that decide on the order of rows
// Squares are far below it (entries are scaled to 2^30): the limit of a row whose list is not full.
constexpr float NO_LIMIT = 1e37f;
constexpr float PADDING =
    1e38f;  // the half norm of a row that does not exist: its pairs are pruned
constexpr double ROUNDING = 0x1p-24;  // of float32

inline const SearchKernels& search_kernels() { return level().search; }

inline float gap(const float* a, const float* b, int64_t features, float scale = 1,
                 float limit = HUGE_VALF) {
    return search_kernels().gap(a, b, features, scale, limit);
}

// Rounded up, and down.
inline float above(double v) {
    const auto f = float(v);
    return double(f) < v ? std::nextafterf(f, HUGE_VALF) : f;
}
inline float below(double v) {
    const auto f = float(v);
    return double(f) > v ? std::nextafterf(f, -HUGE_VALF) : f;
}

}  // namespace lowd::search
