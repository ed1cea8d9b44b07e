// The order of rows in the neighbor search: near rows get near positions, by recursive bisection.
#pragma once

#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "lowd/buffer.hpp"
#include "lowd/threads.hpp"
#include "search_common.hpp"

namespace lowd::search {

// A direction of large variance of some rows: a few power iterations on a sample.
inline void direction(Matrix<const float> Z, int features, const int32_t* rows, int64_t count,
                      float* v) {
    constexpr int64_t SAMPLE = 128;
    constexpr int ITERATIONS = 4;
    const int64_t step = std::max<int64_t>(1, count / SAMPLE), size = ceil_div(count, step);
    std::array<float, ORDER_FEATURES> mean{};
    thread_local std::vector<float> sample;
    sample.assign(size_t(size * ORDER_FEATURES), 0.0f);
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++) {
            sample[r * ORDER_FEATURES + q] = Z.row(rows[r * step])[q];
            mean[q] += sample[r * ORDER_FEATURES + q] / float(size);
        }
    std::fill_n(v, ORDER_FEATURES, 0.0f);
    float most = 0;
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++) {
            float& u = sample[r * ORDER_FEATURES + q];
            u -= mean[q];
            most = std::max(most, std::abs(u));
        }
    if (!(most > 0)) return;
    for (float& u : sample) u /= most;
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++)
            v[q] += sample[r * ORDER_FEATURES + q] * sample[r * ORDER_FEATURES + q];
    for (int i = 0; i < ITERATIONS; i++) {
        std::array<float, ORDER_FEATURES> next{};
        for (int64_t r = 0; r < size; r++) {
            const float* const u = &sample[r * ORDER_FEATURES];
            float part[8] = {};
            for (int q = 0; q < ORDER_FEATURES; q += 8)
                for (int l = 0; l < 8; l++) part[l] += u[q + l] * v[q + l];
            const float s = ((part[0] + part[4]) + (part[2] + part[6])) +
                            ((part[1] + part[5]) + (part[3] + part[7]));
            for (int q = 0; q < ORDER_FEATURES; q++) next[q] += s * u[q];
        }
        float square = 0;
        for (float x : next) square += x * x;
        if (!(square > 0)) return;
        const float scale = 1 / std::sqrt(square);
        for (int q = 0; q < ORDER_FEATURES; q++) v[q] = next[q] * scale;
    }
}

// Halves are split again, down to panels; only the last of them may be short.
inline Buffer<int32_t> spatial_order(Matrix<const float> Z, Job& job) {
    struct Node {
        int64_t first, end;
    };
    const int features = int(std::min<int64_t>(Z.cols, ORDER_FEATURES));
    Buffer<int32_t> order(Z.rows);
    std::iota(order.get(), order.get() + Z.rows, 0);
    // Whole blocks and panels are split from each other.
    const auto unit_of = [](int64_t n) { return n > BLOCK ? BLOCK : P; };
    std::vector<Node> nodes{{0, Z.rows}}, next;
    while (!nodes.empty()) {
        job.parallel(
            int64_t(nodes.size()),
            [&](int64_t i, int) {
                const auto [first, end] = nodes[size_t(i)];
                const int64_t count = end - first;
                if (count <= P) return;
                alignas(64) float v[ORDER_FEATURES];
                int32_t* const rows = order.get() + first;
                direction(Z, features, rows, count, v);
                thread_local std::vector<float> along;
                thread_local std::vector<std::pair<float, int32_t>> key;
                along.resize(size_t(count)), key.resize(size_t(count));
                search_kernels().project_on(Z.data, Z.stride, rows, count, features, v,
                                            along.data());
                for (int64_t r = 0; r < count; r++) key[r] = {along[r], rows[r]};
                std::nth_element(key.begin(), key.begin() + round_up(count / 2, unit_of(count)),
                                 key.end());
                for (int64_t r = 0; r < count; r++) rows[r] = key[r].second;
            },
            0);
        next.clear();
        for (const auto [first, end] : nodes) {
            const int64_t count = end - first;
            if (count <= P) continue;
            const int64_t middle = first + round_up(count / 2, unit_of(count));
            next.push_back({first, middle});
            if (middle < end) next.push_back({middle, end});
        }
        nodes.swap(next);
    }
    return order;
}

}  // namespace lowd::search
