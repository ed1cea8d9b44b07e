// Rows as the filter of the search wants them, and rigorous bounds on what it does not see.
#pragma once

#include "near_order.hpp"

namespace lowd::search {

// ---- Bounds ----

// With x, y centered and scaled, U the orthonormal columns that `z = U'x + e` was made with,
// |e| <= error |x|, and r the length of what U leaves out:
//   -|x - y|^2 / 2 <= <U'x, U'y> + r_x r_y - |x|^2 / 2 - |y|^2 / 2              (Cauchy, Schwarz)
// Products of z's instead of U'x, U'y change this by at most (error + error^2 / 2)(|x|^2 + |y|^2),
// the float32 sum over m features by (m + 4) 2^-24 of the same. Both go into the half norms, which
// are made smaller; r is rounded up.
//   |z_x - z_y| <= |x - y| + error (|x| + |y|) <= (1 + error) |x - y| + 2 error |x|
// bounds the form with differences row by row.
struct Bounds {
    int64_t cols, features;
    double error, product, scale;
    bool differences = false;
    bool narrow;  // rows may be scaled in float32
    std::vector<int> ladder;  // possible check points

    Bounds(int64_t d, int64_t m, Frame frame)
        : cols(d),
          features(m),
          error(frame.error),
          scale(frame.scale),
          narrow(0x1p-90 < scale && scale < 0x1p90) {
        product = error + error * error / 2 + 1.01 * double(m + 4) * ROUNDING;
        for (int c : {2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512})
            if (c < m) ladder.push_back(c);
        ladder.push_back(int(m));
    }
    // The squared length of z is known to that times |x|^2.
    double head_error() const { return 2 * error * (1 + error) + error * error + 1e-12; }
    double half(double norm) const { return 0.5 * norm * (1 - 2 * product - 1e-12); }
    double rest(double norm, double head) const {
        return std::sqrt(std::max(0.0, norm - head) + head_error() * norm);
    }
    double rest_at_least(double norm, double head) const {
        return std::sqrt(std::max(0.0, norm - head - head_error() * norm));
    }
    double reach(double norm) const { return 2 * error * std::sqrt(norm); }
    // The largest |z_x - z_y|^2 of a pair with |x - y| <= distance.
    float near_limit(double distance, float reach) const {
        const double root = (1 + error) * distance + reach,
                     slack = 1.01 * double(features + 4) * ROUNDING;
        return above(std::min(double(FAR), root * root * (1 + slack)) + tiny());
    }
    float product_limit(double square) const {
        return -above(std::min(double(FAR), square / 2) * (1 + ROUNDING) + tiny());
    }

private:
    double tiny() const { return double(features) * 0x1p-140; }  // squares that underflow
};

// Products lose digits of close pairs, differences cost twice as much: are the nearest rows of a
// panel so close that the bound on products would be a tenth of their distance?
inline bool needs_differences(Matrix<const float> Z, const int32_t* order, const Bounds& bounds) {
    constexpr int64_t SAMPLE = 64;
    if (bounds.features <= 4) return true;
    const std::vector<float> origin(size_t(Z.cols), 0.0f);
    const int64_t panels = ceil_div(Z.rows, P), step = std::max<int64_t>(1, panels / SAMPLE);
    std::vector<float> share;
    for (int64_t p = 0; p < panels; p += step) {
        const int64_t end = std::min(Z.rows, (p + 1) * P);
        for (int64_t i = p * P; i < end; i++) {
            float least = HUGE_VALF;
            for (int64_t j = p * P; j < end; j++)
                if (j != i)
                    least = std::min(least, gap(Z.row(order[i]), Z.row(order[j]), Z.cols));
            const float norm = gap(Z.row(order[i]), origin.data(), Z.cols);
            if (norm > 0) share.push_back(least / norm);
        }
    }
    if (share.empty()) return false;
    const auto middle = share.begin() + int64_t(share.size() / 2);
    std::nth_element(share.begin(), middle, share.end());
    return 40 * bounds.product > double(*middle);
}

// ---- Rows in their order, as the filter wants them ----

struct Packed {
    int64_t count, blocks;
    Buffer<int32_t> order;
    Buffer<float> panels, half, reach, low, high, rows;
    std::vector<Buffer<float>> rest;  // per step of the ladder
    Buffer<float> box, block_box, middle, panel_middle;
    std::vector<int32_t> least;  // number in a block

    template <class T>
    Packed(Matrix<const T> X, Matrix<const float> Z, const double* center, const Bounds& bounds,
           Buffer<int32_t> in_order, bool keep, Job& job)
        : count(X.rows),
          blocks(ceil_div(X.rows, BLOCK)),
          order(std::move(in_order)),
          panels(blocks * BLOCK * Z.cols),
          half(blocks * BLOCK),
          reach(blocks * BLOCK),
          low(keep ? blocks * BLOCK : 0),
          high(keep ? blocks * BLOCK : 0),
          rows(keep ? blocks * BLOCK * Z.cols : 0),
          box(blocks * 2 * SIDES * PANELS),
          block_box(blocks * 2 * SIDES),
          middle(blocks * LOOKED_AT),
          panel_middle(blocks * PANELS * LOOKED_AT),
          least(size_t(blocks)) {
        for (size_t c = 0; c < bounds.ladder.size(); c++) rest.emplace_back(blocks * BLOCK);
        job.parallel(blocks, [&](int64_t b, int) { pack(b, X, Z, center, bounds, keep); }, 0);
    }

    int64_t size(int64_t b) const { return std::min<int64_t>(BLOCK, count - b * BLOCK); }
    const float* panel(int64_t row, int64_t features) const { return &panels[row * features]; }

private:
    template <class T>
    void pack(int64_t b, Matrix<const T> X, Matrix<const float> Z, const double* center,
              const Bounds& bounds, bool keep) {
        const int64_t m = Z.cols, first = b * BLOCK;
        float* const own = &panels[first * m];
        std::fill_n(own, BLOCK * m, 0.0f);
        std::fill_n(&half[first], BLOCK, PADDING);
        std::fill_n(&reach[first], BLOCK, 0.0f);
        for (auto& r : rest) std::fill_n(&r[first], BLOCK, 0.0f);
        if (keep) std::fill_n(&rows[first * m], BLOCK * m, 0.0f);
        least[size_t(b)] = INT32_MAX;
        for (int64_t r = first; r < first + size(b); r++) {
            const float* const z = Z.row(order[r]);
            least[size_t(b)] = std::min(least[size_t(b)], order[r]);
            float* const panel = own + (r - first) / P * P * m + (r - first) % P;
            for (int64_t q = 0; q < m; q++) panel[q * P] = z[q];
            if (keep) std::memcpy(&rows[r * m], z, size_t(m) * sizeof(float));
            const double root = std::sqrt(kernels<T>().centered_square(X.row(order[r]), center,
                                                                       X.cols)) * bounds.scale,
                         norm = root * root;
            reach[r] = above(bounds.reach(norm));
            half[r] = bounds.differences ? 0 : below(bounds.half(norm));
            double head = 0;
            int64_t q = 0;
            for (size_t c = 0; c < rest.size(); c++) {
                for (; q < bounds.ladder[c]; q++) head += double(z[q]) * z[q];
                rest[c][r] = bounds.differences || q == bounds.cols
                                 ? 0
                                 : above(bounds.rest(norm, head));
            }
            if (keep) {
                low[r] = q == bounds.cols ? 0 : below(bounds.rest_at_least(norm, head));
                high[r] = q == bounds.cols ? 0 : above(bounds.rest(norm, head));
            }
        }
        enclose(b, Z);
    }
    void enclose(int64_t b, Matrix<const float> Z) {
        const int sides = int(std::min<int64_t>(SIDES, Z.cols));
        const int64_t first = b * BLOCK, end = first + size(b);
        float *const lo = &box[b * 2 * SIDES * PANELS], *const hi = lo + SIDES * PANELS,
                     *const all = &block_box[b * 2 * SIDES];
        // Panels without rows stay inside out: infinitely far from all others.
        std::fill_n(lo, SIDES * PANELS, FAR / 1e19f);
        std::fill_n(hi, SIDES * PANELS, -FAR / 1e19f);
        for (int q = sides; q < SIDES; q++)
            for (int p = 0; p < PANELS; p++) lo[q * PANELS + p] = hi[q * PANELS + p] = 0;
        for (int64_t r = first; r < end; r++) {
            const float* const z = Z.row(order[r]);
            for (int q = 0; q < sides; q++) {
                float &l = lo[q * PANELS + (r - first) / P], &h = hi[q * PANELS + (r - first) / P];
                l = std::min(l, z[q]);
                h = std::max(h, z[q]);
            }
        }
        for (int q = 0; q < SIDES; q++) {
            all[q] = *std::min_element(lo + q * PANELS, lo + (q + 1) * PANELS);
            all[SIDES + q] = *std::max_element(hi + q * PANELS, hi + (q + 1) * PANELS);
        }
        const int features = int(std::min<int64_t>(LOOKED_AT, Z.cols));
        float *const mean = &middle[b * LOOKED_AT],
                     *const means = &panel_middle[b * PANELS * LOOKED_AT];
        std::fill_n(mean, LOOKED_AT, 0.0f);
        std::fill_n(means, PANELS * LOOKED_AT, 0.0f);
        for (int64_t r = first; r < end; r++) {
            const int64_t p = (r - first) / P;
            const auto others = float(std::min<int64_t>(P, end - first - p * P));
            for (int q = 0; q < features; q++) {
                mean[q] += Z.row(order[r])[q] / float(size(b));
                means[p * LOOKED_AT + q] += Z.row(order[r])[q] / others;
            }
        }
    }
};

inline float box_gap(float lo_a, float hi_a, float lo_b, float hi_b) {
    return std::max(0.0f, std::max(lo_b - hi_a, lo_a - hi_b));
}
inline float block_gap(const Packed& a, int64_t i, const Packed& b, int64_t j) {
    const float *x = &a.block_box[i * 2 * SIDES], *y = &b.block_box[j * 2 * SIDES];
    float square = 0;
    for (int q = 0; q < SIDES; q++) {
        const float gap = box_gap(x[q], x[SIDES + q], y[q], y[SIDES + q]);
        square += gap * gap;
    }
    return square;
}

// The first of some pairs (distance, number), nearest first.
inline std::vector<int32_t> nearest_of(std::vector<std::pair<float, int32_t>> found,
                                       int64_t count) {
    const auto end = found.begin() + std::min(count, int64_t(found.size()));
    std::partial_sort(found.begin(), end, found.end());
    std::vector<int32_t> near;
    for (auto it = found.begin(); it < end; it++) near.push_back(it->second);
    return near;
}
// The blocks of b, nearest first (the block itself, if a is b, is left out).
inline std::vector<int32_t> near_blocks(const Packed& a, int64_t i, const Packed& b) {
    std::vector<std::pair<float, int32_t>> found;
    found.reserve(size_t(b.blocks));
    for (int64_t j = 0; j < b.blocks; j++)
        if (&a != &b || i != j)
            found.emplace_back(
                gap(&a.middle[i * LOOKED_AT], &b.middle[j * LOOKED_AT], LOOKED_AT), int32_t(j));
    return nearest_of(std::move(found), b.blocks);
}
// The panels of b that are nearest to panel p of a.
inline std::vector<int32_t> near_panels(const Packed& a, int64_t p, const Packed& b,
                                        int64_t count) {
    std::vector<std::pair<float, int32_t>> found;
    const int64_t panels = ceil_div(b.count, P);
    found.reserve(size_t(panels));
    for (int64_t q = 0; q < panels; q++)
        found.emplace_back(
            gap(&a.panel_middle[p * LOOKED_AT], &b.panel_middle[q * LOOKED_AT], LOOKED_AT),
            int32_t(q));
    return nearest_of(std::move(found), count);
}

}  // namespace lowd::search
