// Bounding boxes of points in up to three dimensions.
#pragma once

#include <algorithm>
#include <span>

namespace lowd {

struct Box {
    float low[4], high[4];

    float widest_side(int k) const {
        float most = 0;
        for (int c = 0; c < k; c++) most = std::max(most, high[c] - low[c]);
        return most;
    }
};

// The box around some boxes.
inline Box enclose(std::span<const Box> boxes, int k) {
    Box all = boxes[0];
    for (const Box& box : boxes)
        for (int c = 0; c < k; c++) {
            all.low[c] = std::min(all.low[c], box.low[c]);
            all.high[c] = std::max(all.high[c], box.high[c]);
        }
    return all;
}

}  // namespace lowd
