// Space-filling curves through the cells of a plane or of space: cells that are near on the curve
// are near each other.
#pragma once

#include <array>
#include <cstdint>

namespace lowd {

// Spreads bits so that those of another number fit between them (Morton order).
inline uint32_t spread_bits(uint32_t x) {
    x = (x | x << 8) & 0x00ff00ff;
    x = (x | x << 4) & 0x0f0f0f0f;
    x = (x | x << 2) & 0x33333333;
    return (x | x << 1) & 0x55555555;
}

// The position of a cell on the Hilbert curve, of 2^10 cells on an axis (Skilling, 2004). Morton
// order jumps, and in space the boxes of chunks that jump would be most of what is added up.
inline uint32_t hilbert_position(std::array<uint32_t, 3> x) {
    constexpr int BITS = 10;
    for (uint32_t bit = 1u << (BITS - 1); bit > 1; bit >>= 1)
        for (uint32_t& one : x) {
            const uint32_t flipped = one & bit ? bit - 1 : 0;
            const uint32_t swapped = one & bit ? 0 : (x[0] ^ one) & (bit - 1);
            x[0] ^= flipped ^ swapped;
            one ^= swapped;
        }
    x[1] ^= x[0];
    x[2] ^= x[1];
    uint32_t turn = 0;
    for (uint32_t bit = 1u << (BITS - 1); bit > 1; bit >>= 1)
        if (x[2] & bit) turn ^= bit - 1;
    uint32_t position = 0;
    for (int b = BITS - 1; b >= 0; b--)
        for (uint32_t one : x) position = position << 1 | ((one ^ turn) >> b & 1);
    return position;
}

}  // namespace lowd
