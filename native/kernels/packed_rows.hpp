// The rows of the neighbor search: packed in panels, with bounding boxes and centroids.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "filter_bounds.hpp"
#include "lowd/buffer.hpp"
#include "lowd/threads.hpp"

namespace lowd::search {

struct PackedRows {
    int64_t count, blocks, group;  // group: the number of rows that share a bounding box, P or 1
    Buffer<int32_t> order;
    Buffer<float> panels, half, slack, low, high, rows;
    std::vector<Buffer<float>> tail;  // one for each step of the ladder
    Buffer<float> group_box, box, block_box, centroid;
    Buffer<float> panel_centroids;  // packed in panels themselves
    std::vector<int32_t> least;  // smallest index in each block

    template <class T>
    PackedRows(Matrix<const T> X, Matrix<const float> Z, const double* center,
               const FilterBounds& bounds, Buffer<int32_t> in_order, int64_t in_group,
               bool with_rows, Job& job)
        : count(X.rows),
          blocks(ceil_div(X.rows, BLOCK)),
          group(in_group),
          order(std::move(in_order)),
          panels(blocks * BLOCK * Z.cols),
          half(blocks * BLOCK),
          slack(blocks * BLOCK),
          low(with_rows ? blocks * BLOCK : 0),
          high(with_rows ? blocks * BLOCK : 0),
          rows(with_rows ? blocks * BLOCK * Z.cols : 0),
          group_box(blocks * BLOCK / group * 2 * BOX_FEATURES),
          box(blocks * 2 * BOX_FEATURES * BOX_LANES),
          block_box(blocks * 2 * BOX_FEATURES),
          centroid(blocks * ORDER_FEATURES),
          panel_centroids(round_up(blocks * PANELS, P) * ORDER_FEATURES),
          least(size_t(blocks)) {
        for (size_t c = 0; c < bounds.ladder.size(); c++) tail.emplace_back(blocks * BLOCK);
        job.parallel(blocks, [&](int64_t b, int) { pack(b, X, Z, center, bounds, with_rows); }, 0);
    }

    int64_t size(int64_t b) const { return std::min<int64_t>(BLOCK, count - b * BLOCK); }
    const float* panel(int64_t row, int64_t features) const { return &panels[row * features]; }
    // Coordinate q of the centroid of panel p, or 0 beyond the existing features.
    float panel_centroid(int64_t p, int64_t q) const { return panel_centroids[packed(p, q)]; }

private:
    static int64_t packed(int64_t p, int64_t q) { return (p / P * ORDER_FEATURES + q) * P + p % P; }
    template <class T>
    void pack(int64_t b, Matrix<const T> X, Matrix<const float> Z, const double* center,
              const FilterBounds& bounds, bool with_rows) {
        const int64_t m = Z.cols, first = b * BLOCK;
        float* const own = &panels[first * m];
        std::fill_n(own, BLOCK * m, 0.0f);
        std::fill_n(&half[first], BLOCK, PADDING);
        std::fill_n(&slack[first], BLOCK, 0.0f);
        for (auto& r : tail) std::fill_n(&r[first], BLOCK, 0.0f);
        if (with_rows) std::fill_n(&rows[first * m], BLOCK * m, 0.0f);
        least[size_t(b)] = INT32_MAX;
        for (int64_t r = first; r < first + size(b); r++) {
            const float* const z = Z.row(order[r]);
            least[size_t(b)] = std::min(least[size_t(b)], order[r]);
            float* const panel = own + (r - first) / P * P * m + (r - first) % P;
            for (int64_t q = 0; q < m; q++) panel[q * P] = z[q];
            if (with_rows) std::memcpy(&rows[r * m], z, size_t(m) * sizeof(float));
            const double root = std::sqrt(
                                    kernels<T>().centered_square(X.row(order[r]), center, X.cols)) *
                                bounds.scale,
                         norm = root * root;
            slack[r] = above(bounds.slack(norm));
            half[r] = bounds.differences ? 0 : below(bounds.half(norm));
            double head = 0;
            int64_t q = 0;
            for (size_t c = 0; c < tail.size(); c++) {
                for (; q < bounds.ladder[c]; q++) head += double(z[q]) * z[q];
                tail[c][r] =
                    bounds.differences || q == bounds.cols ? 0 : above(bounds.tail(norm, head));
            }
            if (with_rows) {
                low[r] = q == bounds.cols ? 0 : below(bounds.tail_at_least(norm, head));
                high[r] = q == bounds.cols ? 0 : above(bounds.tail(norm, head));
            }
        }
        enclose(b, Z);
    }
    void enclose(int64_t b, Matrix<const float> Z) {
        const int sides = int(std::min<int64_t>(BOX_FEATURES, Z.cols));
        const int64_t first = b * BLOCK, end = first + size(b);
        float *const lo = &box[b * 2 * BOX_FEATURES * BOX_LANES],
                     *const hi = lo + BOX_FEATURES * BOX_LANES,
                     *const all = &block_box[b * 2 * BOX_FEATURES];
        // Boxes of panels without rows stay inverted: infinitely far from all others.
        std::fill_n(lo, BOX_FEATURES * BOX_LANES, NO_LIMIT / 1e19f);
        std::fill_n(hi, BOX_FEATURES * BOX_LANES, -NO_LIMIT / 1e19f);
        for (int q = sides; q < BOX_FEATURES; q++)
            for (int p = 0; p < PANELS; p++) lo[q * BOX_LANES + p] = hi[q * BOX_LANES + p] = 0;
        float* const groups = &group_box[first / group * 2 * BOX_FEATURES];
        std::fill_n(groups, BLOCK / group * 2 * BOX_FEATURES, 0.0f);
        for (int64_t r = first; r < end; r++) {
            const float* const z = Z.row(order[r]);
            float* const from = groups + (r - first) / group * 2 * BOX_FEATURES;
            float* const to = from + BOX_FEATURES;
            for (int q = 0; q < sides; q++) {
                const int64_t at = q * BOX_LANES + (r - first) / P;
                float &l = lo[at], &h = hi[at];
                l = std::min(l, z[q]);
                h = std::max(h, z[q]);
                from[q] = (r - first) % group ? std::min(from[q], z[q]) : z[q];
                to[q] = (r - first) % group ? std::max(to[q], z[q]) : z[q];
            }
        }
        for (int q = 0; q < BOX_FEATURES; q++) {
            const float *const l = lo + q * BOX_LANES, *const h = hi + q * BOX_LANES;
            all[q] = *std::min_element(l, l + PANELS);
            all[BOX_FEATURES + q] = *std::max_element(h, h + PANELS);
        }
        const int features = int(std::min<int64_t>(ORDER_FEATURES, Z.cols));
        float* const mean = &centroid[b * ORDER_FEATURES];
        std::fill_n(mean, ORDER_FEATURES, 0.0f);
        for (int64_t p = b * PANELS; p < (b + 1) * PANELS; p++)
            for (int q = 0; q < ORDER_FEATURES; q++) panel_centroids[packed(p, q)] = 0;
        for (int64_t r = first; r < end; r++) {
            const int64_t p = r / P;
            const auto others = float(std::min<int64_t>(P, end - p * P));
            for (int q = 0; q < features; q++) {
                mean[q] += Z.row(order[r])[q] / float(size(b));
                panel_centroids[packed(p, q)] += Z.row(order[r])[q] / others;
            }
        }
    }
};

inline float box_gap(float lo_a, float hi_a, float lo_b, float hi_b) {
    return std::max(0.0f, std::max(lo_b - hi_a, lo_a - hi_b));
}
inline float block_gap(const PackedRows& a, int64_t i, const PackedRows& b, int64_t j) {
    const float *x = &a.block_box[i * 2 * BOX_FEATURES], *y = &b.block_box[j * 2 * BOX_FEATURES];
    float square = 0;
    for (int q = 0; q < BOX_FEATURES; q++) {
        const float gap = box_gap(x[q], x[BOX_FEATURES + q], y[q], y[BOX_FEATURES + q]);
        square += gap * gap;
    }
    return square;
}

// The first of some pairs (distance, index), nearest first.
inline std::vector<int32_t> nearest_of(std::vector<std::pair<float, int32_t>> found,
                                       int64_t count) {
    const auto end = found.begin() + std::min(count, int64_t(found.size()));
    std::partial_sort(found.begin(), end, found.end());
    std::vector<int32_t> near;
    for (auto it = found.begin(); it < end; it++) near.push_back(it->second);
    return near;
}
// The blocks of b, nearest first (the block itself, if a is b, is left out).
inline std::vector<int32_t> near_blocks(const PackedRows& a, int64_t i, const PackedRows& b) {
    std::vector<std::pair<float, int32_t>> found;
    found.reserve(size_t(b.blocks));
    for (int64_t j = 0; j < b.blocks; j++)
        if (&a != &b || i != j)
            found.emplace_back(gap(&a.centroid[i * ORDER_FEATURES], &b.centroid[j * ORDER_FEATURES],
                                   ORDER_FEATURES),
                               int32_t(j));
    return nearest_of(std::move(found), b.blocks);
}

}  // namespace lowd::search
