// The shift that is subtracted from a row.
#pragma once

namespace lowd {

// A float32 shift comes in two parts, high = float32(shift) and low = shift - high: (x - high) is
// exact where it matters (x near a large shift), so (x - high) - low is the true difference,
// rounded once more. That makes corrections after the sums needless. Both parts are padded with
// zeros to a whole panel.
template <class T>
struct Shift {
    const T *high, *low;
};

}  // namespace lowd
