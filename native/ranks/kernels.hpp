// Table of kernels of neighbor ranks; see ranks.inl.
#pragma once

#include <cstdint>

namespace lowd {

struct RankKernels {
    // tile (PANEL x PANEL) -= <a, b>, from packed panels; first, if half_a is given, it is half_a +
    // half_b.
    void (*half_squares)(const float* a, const float* b, const float* half_a, const float* half_b,
                         int64_t features, float* tile);
    // Of a row of such tiles: how many values are below each low and each high. They increase.
    void (*count_below)(const float* row, int tiles, const float* low, const float* high,
                        int thresholds, int32_t* sure, int32_t* perhaps);
    // The columns of such a row with values from low to below high; returns how many.
    int (*between)(const float* row, int tiles, float low, float high, int32_t* columns);
};

}  // namespace lowd
