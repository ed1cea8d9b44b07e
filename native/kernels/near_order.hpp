// The order of rows in which the search for neighbors visits them: near rows are near.
#pragma once

#include <cstring>
#include <numeric>
#include <tuple>

#include "drive.hpp"
#include "lowd/neighbors.hpp"

namespace lowd::search {

constexpr int P = PANEL<float>, BLOCK = SEARCH_BLOCK, PANELS = BLOCK / P;
constexpr int LOOKED_AT = 32;  // leading features that decide on the order of rows
constexpr int SIDES = 8;  // of boxes: leading features
// Squares are far below it (entries are scaled to 2^30): the limit of a row whose list is not full.
constexpr float FAR = 1e37f;
constexpr float PADDING = 1e38f;  // the half norm of a row that does not exist: its pairs are dead
constexpr double ROUNDING = 0x1p-24;  // of float32

inline const Search& kit() { return level().search; }

inline float gap(const float* a, const float* b, int64_t features, float scale = 1,
          float limit = HUGE_VALF) {
    return kit().gap(a, b, features, scale, limit);
}

inline float above(double v) {
    const auto f = float(v);
    return double(f) < v ? std::nextafterf(f, HUGE_VALF) : f;
}
inline float below(double v) {
    const auto f = float(v);
    return double(f) > v ? std::nextafterf(f, -HUGE_VALF) : f;
}

// A direction in which some rows differ much: a few power iterations on a sample.
inline void direction(Matrix<const float> Z, int features, const int32_t* rows, int64_t count, float* v) {
    constexpr int64_t SAMPLE = 128;
    constexpr int ITERATIONS = 4;
    const int64_t step = std::max<int64_t>(1, count / SAMPLE), size = ceil_div(count, step);
    std::array<float, LOOKED_AT> mean{};
    thread_local std::vector<float> sample;
    sample.assign(size_t(size * LOOKED_AT), 0.0f);
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++) {
            sample[r * LOOKED_AT + q] = Z.row(rows[r * step])[q];
            mean[q] += sample[r * LOOKED_AT + q] / float(size);
        }
    std::fill_n(v, LOOKED_AT, 0.0f);
    float most = 0;
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++) {
            float& u = sample[r * LOOKED_AT + q];
            u -= mean[q];
            most = std::max(most, std::abs(u));
        }
    if (!(most > 0)) return;
    for (float& u : sample) u /= most;
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++)
            v[q] += sample[r * LOOKED_AT + q] * sample[r * LOOKED_AT + q];
    for (int i = 0; i < ITERATIONS; i++) {
        std::array<float, LOOKED_AT> next{};
        for (int64_t r = 0; r < size; r++) {
            const float* const u = &sample[r * LOOKED_AT];
            float part[8] = {};
            for (int q = 0; q < LOOKED_AT; q += 8)
                for (int l = 0; l < 8; l++) part[l] += u[q + l] * v[q + l];
            const float s = ((part[0] + part[4]) + (part[2] + part[6])) +
                            ((part[1] + part[5]) + (part[3] + part[7]));
            for (int q = 0; q < LOOKED_AT; q++) next[q] += s * u[q];
        }
        float square = 0;
        for (float x : next) square += x * x;
        if (!(square > 0)) return;
        const float scale = 1 / std::sqrt(square);
        for (int q = 0; q < LOOKED_AT; q++) v[q] = next[q] * scale;
    }
}

// Halves again and again, down to panels; only the last block may be short.
inline Buffer<int32_t> near_order(Matrix<const float> Z, Job& job) {
    struct Node {
        int64_t first, end;
    };
    const int features = int(std::min<int64_t>(Z.cols, LOOKED_AT));
    Buffer<int32_t> order(Z.rows);
    std::iota(order.get(), order.get() + Z.rows, 0);
    std::vector<Node> nodes{{0, Z.rows}}, next;
    while (!nodes.empty()) {
        job.parallel(
            int64_t(nodes.size()),
            [&](int64_t i, int) {
                const auto [first, end] = nodes[size_t(i)];
                const int64_t count = end - first, unit = count > BLOCK ? BLOCK : P;
                if (count <= P) return;
                alignas(64) float v[LOOKED_AT];
                int32_t* const rows = order.get() + first;
                direction(Z, features, rows, count, v);
                thread_local std::vector<float> place;
                thread_local std::vector<std::pair<float, int32_t>> key;
                place.resize(size_t(count)), key.resize(size_t(count));
                kit().along(Z.data, Z.stride, rows, count, features, v, place.data());
                for (int64_t r = 0; r < count; r++) key[r] = {place[r], rows[r]};
                std::nth_element(key.begin(), key.begin() + round_up(count / 2, unit), key.end());
                for (int64_t r = 0; r < count; r++) rows[r] = key[r].second;
            },
            0);
        next.clear();
        for (const auto [first, end] : nodes) {
            const int64_t count = end - first, unit = count > BLOCK ? BLOCK : P;
            if (count <= P) continue;
            const int64_t middle = first + round_up(count / 2, unit);
            next.push_back({first, middle});
            if (middle < end) next.push_back({middle, end});
        }
        nodes.swap(next);
    }
    return order;
}

}  // namespace lowd::search
