// Sums over all pairs of few points, each pair once: see pairs.inl.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "drive.hpp"
#include "lowd/graphs.hpp"

namespace lowd {

template <class T>
class AllPairs {
public:
    AllPairs(int64_t n, int k)
        : n_(n),
          blocks_(ceil_div(n, PAIR_BLOCK)),
          k_(k),
          columns_(blocks_ * PAIR_BLOCK * k, FAR),
          z_(size_t(blocks_)) {}
    // With ties: each pair's share of the pull is summed as well.
    AllPairs(Lists P, const double* values, int k) : AllPairs(P.count(), k) {
        const int64_t strip = pair_tiles(0, blocks_);
        ties_ = Buffer<T>(blocks_ * strip * TILE, T(0));
        for (int64_t i = 0; i < n_; i++)
            for (int64_t e = P.starts[size_t(i)]; e < P.starts[size_t(i) + 1]; e++) {
                const int64_t j = P.members[size_t(e)], block = i / PAIR_BLOCK;
                const int64_t t = (j / PAIR_BLOCK - block + blocks_) % blocks_;
                if (t < pair_tiles(block, blocks_))  // else the other's block meets this one
                    ties_[(block * strip + t) * TILE + i % PAIR_BLOCK * PAIR_BLOCK +
                          j % PAIR_BLOCK] += T(values[e]);
            }
    }

    bool tied() const { return bool(ties_); }

    // push_i = sum_j w^2 (y_i - y_j), and with ties pull_i = sum_j p w (y_i - y_j), w = 1 / (1 +
    // d^2); places and forces have rows of `width` entries. Returns the sum of w.
    double operator()(const T* y, int width, T* push, T* pull, Job& job) {
        const int64_t stride = blocks_ * PAIR_BLOCK, strip = pair_tiles(0, blocks_);
        const int64_t lines = tied() ? 2 * k_ : k_, size = lines * PAIR_BLOCK;
        if (!out_) out_ = Buffer<T>(blocks_ * strip * size);
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++)
                columns_[c * stride + i] = std::clamp(y[i * width + c], -FAR, FAR);
        each([&](int64_t b) {
            const PairStrip<T> met{n_,
                                   stride,
                                   k_,
                                   b,
                                   blocks_,
                                   columns_.get(),
                                   tied() ? ties_.get() + b * strip * TILE : nullptr,
                                   out_.get() + b * strip * size};
            if constexpr (sizeof(T) == 8)
                z_[size_t(b)] = level().embed.pair_strip64(met);
            else
                z_[size_t(b)] = level().embed.pair_strip32(met);
        }, job, FEW);
        each([&](int64_t b) {
            T sums[6 * PAIR_BLOCK];
            if constexpr (sizeof(T) == 8)
                level().embed.pair_gather64(out_.get(), b, blocks_, lines, sums);
            else
                level().embed.pair_gather32(out_.get(), b, blocks_, lines, sums);
            const int64_t first = b * PAIR_BLOCK, last = std::min(n_, first + PAIR_BLOCK);
            for (int64_t i = first; i < last; i++)
                for (int c = 0; c < k_; c++) {
                    push[i * width + c] = sums[c * PAIR_BLOCK + i - first];
                    if (tied()) pull[i * width + c] = sums[(k_ + c) * PAIR_BLOCK + i - first];
                }
        }, job, 16 * FEW);
        double z = 0;
        for (double part : z_) z += part;
        return z;
    }

private:
    static constexpr int64_t TILE = PAIR_BLOCK * PAIR_BLOCK;
    static constexpr T FAR = sizeof(T) == 8 ? T(1e30) : T(1e18);  // nobody is felt from there

    static constexpr int64_t FEW = 1 << 17;  // pairs: done before another thread is awake

    template <class F>
    void each(F&& body, Job& job, int64_t few) {
        if (n_ * n_ >= few)
            job.parallel(blocks_, [&](int64_t b, int) { body(b); });
        else
            for (int64_t b = 0; b < blocks_; b++) body(b);
    }

    int64_t n_, blocks_;
    int k_;
    Buffer<T> columns_, ties_, out_;
    std::vector<double> z_;
};

}  // namespace lowd
