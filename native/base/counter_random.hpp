// Counter-based random numbers: a function of a key and an index alone.
#pragma once

#include <cstdint>

namespace lowd {

// The finalizer of SplitMix64 (Steele et al., 2014).
inline uint64_t mix_bits(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}
inline uint64_t random_bits(uint64_t key, uint64_t index) {
    return mix_bits(key + (index + 1) * 0x9e3779b97f4a7c15);
}
// A number below n < 2^31.
inline int64_t random_below(uint64_t key, uint64_t index, int64_t n) {
    return int64_t(((random_bits(key, index) >> 32) * uint64_t(n)) >> 32);
}

}  // namespace lowd
