// What a NeighborIndex consists of: bounds of distances, packed rows and original rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/levels.hpp"
#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"
#include "neighbors/neighbors.hpp"

namespace lowd::search {

// Constants and small helpers of the neighbor search.
constexpr int P = PANEL<float>, BLOCK = SEARCH_BLOCK, PANELS = BLOCK / P;
constexpr int ORDER_FEATURES = 32;  // leading features that decide on the order of rows
// Squares are far below it (entries are scaled to 2^30): the limit of a row whose list is not full.
constexpr float NO_LIMIT = 1e37f;
constexpr float PADDING =
    1e38f;  // the half norm of a row that does not exist: its pairs are pruned
constexpr double ROUNDING = 0x1p-24;  // of float32

inline const SearchKernels& search_kernels() { return level().search; }

inline float gap(const float* a, const float* b, int64_t features, float scale = 1,
                 float limit = HUGE_VALF) {
    return search_kernels().gap(a, b, features, scale, limit);
}

// Rounded up, and down.
inline float above(double v) {
    const auto f = float(v);
    return double(f) < v ? std::nextafterf(f, HUGE_VALF) : f;
}
inline float below(double v) {
    const auto f = float(v);
    return double(f) > v ? std::nextafterf(f, -HUGE_VALF) : f;
}

// Rigorous bounds of distances from leading features in float32.

// With x, y centered and scaled, U the orthonormal columns that `z = U'x + e` was made with,
// |e| <= error |x|, and r the norm of the part orthogonal to U:
//   -|x - y|^2 / 2 <= <U'x, U'y> + r_x r_y - |x|^2 / 2 - |y|^2 / 2              (Cauchy, Schwarz)
// Products of z's instead of U'x, U'y change this by at most (error + error^2 / 2)(|x|^2 + |y|^2),
// the float32 sum over m features by (m + 4) 2^-24 of the same. Both go into the half norms, which
// are made smaller; r is rounded up.
//   |z_x - z_y| <= |x - y| + error (|x| + |y|) <= (1 + error) |x - y| + 2 error |x|
// bounds the form with differences row by row.
struct FilterBounds {
    int64_t cols, features;
    double error, product, scale;
    bool differences = false;
    bool narrow;  // rows may be scaled in float32
    std::vector<int> ladder;  // possible check points

    FilterBounds(int64_t d, int64_t m, Projection projection)
        : cols(d),
          features(m),
          error(projection.error),
          scale(projection.scale),
          narrow(0x1p-90 < scale && scale < 0x1p90) {
        product = error + error * error / 2 + 1.01 * double(m + 4) * ROUNDING;
        for (int c : {2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512})
            if (c < m) ladder.push_back(c);
        ladder.push_back(int(m));
    }
    // The relative error up to which the squared norm of z is known.
    double head_error() const { return 2 * error * (1 + error) + error * error + 1e-12; }
    double half(double norm) const { return 0.5 * norm * (1 - 2 * product - 1e-12); }
    double tail(double norm, double head) const {
        return std::sqrt(std::max(0.0, norm - head) + head_error() * norm);
    }
    double tail_at_least(double norm, double head) const {
        return std::sqrt(std::max(0.0, norm - head - head_error() * norm));
    }
    double slack(double norm) const { return 2 * error * std::sqrt(norm); }
    // The largest |z_x - z_y|^2 of a pair with |x - y| <= distance.
    float difference_limit(double distance, float slack) const {
        const double root = (1 + error) * distance + slack,
                     rounding = 1.01 * double(features + 4) * ROUNDING;
        return above(std::min(double(NO_LIMIT), root * root * (1 + rounding)) + tiny());
    }
    // The largest |x - y| of rows with this |z_x - z_y|, where no direction is left out.
    double largest(float difference, float slack_x, float slack_y) const {
        const double rounding = 1.01 * double(features + 4) * ROUNDING;
        return std::sqrt(double(difference)) * (1 + rounding) + (double(slack_x) + slack_y) / 2 +
               tiny();
    }
    float product_limit(double square) const {
        return -above(std::min(double(NO_LIMIT), square / 2) * (1 + ROUNDING) + tiny());
    }

private:
    double tiny() const { return double(features) * 0x1p-140; }  // bounds squares that underflow
};

// Products lose digits of close pairs, differences cost twice as much: are the nearest rows of a
// panel so close that the bound on products would be a tenth of their distance?
inline bool needs_differences(Matrix<const float> Z, const int32_t* order,
                              const FilterBounds& bounds) {
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
                if (j != i) least = std::min(least, gap(Z.row(order[i]), Z.row(order[j]), Z.cols));
            const float norm = gap(Z.row(order[i]), origin.data(), Z.cols);
            if (norm > 0) share.push_back(least / norm);
        }
    }
    if (share.empty()) return false;
    const auto middle = share.begin() + int64_t(share.size() / 2);
    std::nth_element(share.begin(), middle, share.end());
    return 40 * bounds.product > double(*middle);
}

// The rows of the neighbor search: packed in panels, with bounding boxes and centroids.
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

// The original rows in the order of the neighbor search.

// Short rows are copied into the order of the search: near rows then share pages.
template <class T>
class OriginalRows {
public:
    OriginalRows(Matrix<const T> X, const PackedRows& rows, Job& job)
        : X_(X), order_(rows.order.get()) {
        constexpr int64_t MAX_COPIED_COLS = 128;
        if (X.cols > MAX_COPIED_COLS) return;
        copy_ = Buffer<T>(X.rows * X.cols);
        job.parallel(
            rows.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++)
                    std::copy_n(X.row(order_[r]), X.cols, &copy_[r * X.cols]);
            },
            0);
    }
    const T* operator[](int64_t r) const { return copy_ ? &copy_[r * X_.cols] : X_.row(order_[r]); }

    int64_t cols() const { return X_.cols; }

private:
    Matrix<const T> X_;
    const int32_t* order_;
    Buffer<T> copy_;
};

// Whether the squared distance of float32 rows is surely above `limit`; only its sum is rounded.
inline bool surely_farther(const float* x, const float* y, const FilterBounds& bounds,
                           float limit) {
    if (!bounds.narrow) return false;
    const float bound = limit * float(1 + double(bounds.cols + 8) * 2 * ROUNDING);
    return gap(x, y, bounds.cols, float(bounds.scale), bound) > bound;
}
inline bool surely_farther(const double*, const double*, const FilterBounds&, float) {
    return false;
}

}  // namespace lowd::search

namespace lowd {

template <class T>
struct NeighborIndex<T>::Parts {
    Matrix<const T> X;
    std::vector<double> center;
    search::FilterBounds bounds;
    std::unique_ptr<search::PackedRows> rows;
    std::unique_ptr<search::OriginalRows<T>> originals;
    bool refined = false;

    Parts(Matrix<const T> x, int64_t m, Projection projection)
        : X(x),
          center(projection.center, projection.center + x.cols),
          bounds(x.cols, m, projection) {}
};

}  // namespace lowd
