// Forces of all pairs of few points, each pair once: see all_pairs.inl.
#pragma once

#include <algorithm>
#include <vector>

#include "lowd/buffer.hpp"
#include "lowd/levels.hpp"
#include "lowd/matrix.hpp"
#include "lowd/ragged.hpp"
#include "lowd/threads.hpp"

namespace lowd {

template <class T>
class AllPairs {
public:
    AllPairs(int64_t n, int k)
        : n_(n),
          blocks_(ceil_div(n, PAIR_BLOCK)),
          k_(k),
          columns_(blocks_ * PAIR_BLOCK * k, FAR_AWAY),
          z_(size_t(blocks_)) {}
    // With P, attractive forces are summed as well.
    AllPairs(Ragged P, const double* values, int k) : AllPairs(P.count(), k) {
        const int64_t strip = pair_tiles(0, blocks_);
        p_ = Buffer<T>(blocks_ * strip * TILE, T(0));
        for (int64_t i = 0; i < n_; i++)
            for (int64_t e = P.indptr[size_t(i)]; e < P.indptr[size_t(i) + 1]; e++) {
                const int64_t j = P.indices[size_t(e)], block = i / PAIR_BLOCK;
                const int64_t t = (j / PAIR_BLOCK - block + blocks_) % blocks_;
                if (t < pair_tiles(block, blocks_))  // otherwise the other block has this pair
                    p_[(block * strip + t) * TILE + i % PAIR_BLOCK * PAIR_BLOCK + j % PAIR_BLOCK] +=
                        T(values[e]);
            }
    }

    bool with_attraction() const { return bool(p_); }

    // repulsion_i = sum_j w^2 (y_i - y_j), and with P attraction_i = sum_j p w (y_i - y_j), w = 1 /
    // (1 + d^2); points and forces have rows of `width` entries. Returns the sum of w.
    double operator()(const T* y, int width, T* repulsion, T* attraction, Job& job) {
        const int64_t stride = blocks_ * PAIR_BLOCK, strip = pair_tiles(0, blocks_);
        const int64_t lines = with_attraction() ? 2 * k_ : k_, size = lines * PAIR_BLOCK;
        if (!out_) out_ = Buffer<T>(blocks_ * strip * size);
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++)
                columns_[c * stride + i] = std::clamp(y[i * width + c], -FAR_AWAY, FAR_AWAY);
        for_each_block(
            [&](int64_t b) {
                const PairStrip<T> pairs{n_,
                                         stride,
                                         k_,
                                         b,
                                         blocks_,
                                         columns_.get(),
                                         with_attraction() ? p_.get() + b * strip * TILE : nullptr,
                                         out_.get() + b * strip * size};
                if constexpr (sizeof(T) == 8)
                    z_[size_t(b)] = level().forces.pair_strip64(pairs);
                else
                    z_[size_t(b)] = level().forces.pair_strip32(pairs);
            },
            job, MIN_PARALLEL_PAIRS);
        for_each_block(
            [&](int64_t b) {
                T sums[6 * PAIR_BLOCK];
                if constexpr (sizeof(T) == 8)
                    level().forces.pair_gather64(out_.get(), b, blocks_, lines, sums);
                else
                    level().forces.pair_gather32(out_.get(), b, blocks_, lines, sums);
                const int64_t first = b * PAIR_BLOCK, last = std::min(n_, first + PAIR_BLOCK);
                for (int64_t i = first; i < last; i++)
                    for (int c = 0; c < k_; c++) {
                        repulsion[i * width + c] = sums[c * PAIR_BLOCK + i - first];
                        if (with_attraction())
                            attraction[i * width + c] = sums[(k_ + c) * PAIR_BLOCK + i - first];
                    }
            },
            job, 16 * MIN_PARALLEL_PAIRS);
        double z = 0;
        for (double part : z_) z += part;
        return z;
    }

private:
    static constexpr int64_t TILE = PAIR_BLOCK * PAIR_BLOCK;
    static constexpr T FAR_AWAY = sizeof(T) == 8 ? T(1e30) : T(1e18);  // no force comes from there
    // Fewer pairs are done before a thread wakes.
    static constexpr int64_t MIN_PARALLEL_PAIRS = 1 << 17;

    template <class F>
    void for_each_block(F&& body, Job& job, int64_t min_pairs) {
        if (n_ * n_ >= min_pairs)
            job.parallel(blocks_, [&](int64_t b, int) { body(b); });
        else
            for (int64_t b = 0; b < blocks_; b++) body(b);
    }

    int64_t n_, blocks_;
    int k_;
    Buffer<T> columns_, p_, out_;
    std::vector<double> z_;
};

}  // namespace lowd
