// The points of an embedding as the kernels read them: columns, bounding boxes, and slots in
// memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/levels.hpp"
#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"

namespace lowd {

// Points as columns: one per coordinate, padded.
constexpr double FAR_AWAY = 1e30;  // coordinates of padding: no point is affected from there

class PointColumns {
public:
    explicit PointColumns(Matrix<const double> Y)
        : stride_(round_up(Y.rows, 8)), memory_(stride_ * Y.cols, FAR_AWAY) {
        for (int64_t i = 0; i < Y.rows; i++)
            for (int64_t c = 0; c < Y.cols; c++) memory_[c * stride_ + i] = Y.row(i)[c];
    }
    const double* get() const { return memory_.get(); }
    int64_t stride() const { return stride_; }

private:
    int64_t stride_;
    Buffer<double> memory_;
};

// Bounding boxes of points in up to three dimensions.
struct Box {
    float low[4], high[4];

    float widest_side(int k) const {
        float most = 0;
        for (int c = 0; c < k; c++) most = std::max(most, high[c] - low[c]);
        return most;
    }
};

// The box around some boxes.
inline Box enclose(std::span<const Box> boxes, int k) {
    Box all = boxes[0];
    for (const Box& box : boxes)
        for (int c = 0; c < k; c++) {
            all.low[c] = std::min(all.low[c], box.low[c]);
            all.high[c] = std::max(all.high[c], box.high[c]);
        }
    return all;
}

// Space-filling curves through the cells of a plane or of space: cells that are near on the curve
// are near each other.

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

// Points of a descent in up to three dimensions, kept in slots: every now and then they are sorted
// along a space-filling curve, so that neighbors in the embedding are neighbors in memory. Chunks
// of slots are the blocks of all work.

// The points in the order of a space-filling curve, by radix sort.
inline std::vector<int32_t> curve_order(const float* y, int64_t n, int k, int width,
                                        const Box& box) {
    const float unit = (k == 3 ? 1023 : 65535) / std::max(box.widest_side(k), 1e-30f);
    std::vector<std::pair<uint32_t, int32_t>> keys(static_cast<size_t>(n)), other(keys.size());
    for (int64_t i = 0; i < n; i++) {
        const auto at = [&](int c) { return uint32_t((y[i * width + c] - box.low[c]) * unit); };
        keys[size_t(i)] = {k == 1   ? at(0)
                           : k == 2 ? spread_bits(at(0)) | spread_bits(at(1)) << 1
                                    : hilbert_position({at(0), at(1), at(2)}),
                           int32_t(i)};
    }
    for (int shift = 0; shift < 32; shift += 11) {
        std::array<int64_t, 2049> counts{};
        for (const auto& key : keys) counts[((key.first >> shift) & 2047) + 1]++;
        for (size_t d = 0; d < 2048; d++) counts[d + 1] += counts[d];
        for (const auto& key : keys) other[size_t(counts[(key.first >> shift) & 2047]++)] = key;
        keys.swap(other);
    }
    std::vector<int32_t> order(keys.size());
    for (size_t i = 0; i < keys.size(); i++) order[i] = keys[i].second;
    return order;
}

class PointSlots {
public:
    // Points in three dimensions have a fourth entry, which is 0. In more they are not sorted.
    PointSlots(int64_t n, int k)
        : n_(n),
          k_(k),
          width_(k == 3 ? 4 : k),
          chunks_(std::clamp<int64_t>(n_ / 512, 1, 256)),
          row_of_slot_(size_t(n_)),
          boxes_(size_t(chunks_)) {
        std::iota(row_of_slot_.begin(), row_of_slot_.end(), 0);
    }

    int64_t count() const { return n_; }
    int dimensions() const { return k_; }
    int width() const { return width_; }
    int64_t chunks() const { return chunks_; }
    int64_t begin(int64_t chunk) const { return n_ * chunk / chunks_; }
    int64_t row(int64_t slot) const { return row_of_slot_[size_t(slot)]; }
    std::span<const Box> boxes() const { return boxes_; }

    // Rows of Y in their slots.
    std::vector<float> load(Matrix<const double> Y) const {
        std::vector<float> y(size_t(n_ * width_), 0.0f);
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++) y[size_t(i * width_ + c)] = limit(float(Y.row(row(i))[c]));
        return y;
    }
    void store(const float* y, Matrix<double> out) const {
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++) out.row(row(i))[c] = double(y[i * width_ + c]);
    }

    void update_boxes(const float* y, Job& job) {
        job.parallel(chunks_, [&](int64_t c, int) {
            Box& box = boxes_[size_t(c)];
            level().grid.bounding_box(y + begin(c) * width_, begin(c + 1) - begin(c), width_,
                                      box.low, box.high);
        });
    }

    // By the boxes of parts, as many of each chunk.
    void set_boxes(std::span<const Box> parts) {
        const size_t each = parts.size() / boxes_.size();
        for (size_t c = 0; c < boxes_.size(); c++)
            boxes_[c] = enclose(parts.subspan(c * each, each), k_);
    }

    // Of points within the boxes: the new order, and its inverse.
    struct Order {
        std::vector<int32_t> source, slot;
    };
    Order sort(const float* y) {
        Order found{curve_order(y, n_, k_, width_, enclose(boxes_, k_)), {}};
        found.slot.resize(found.source.size());
        std::vector<int32_t> rows(found.source.size());
        for (size_t i = 0; i < rows.size(); i++) {
            found.slot[size_t(found.source[i])] = int32_t(i);
            rows[i] = row_of_slot_[size_t(found.source[i])];
        }
        row_of_slot_.swap(rows);
        return found;
    }
    // v with point source[i] as point i; `next` is scratch.
    void reorder(const Order& order, std::vector<float>& v, std::vector<float>& next) const {
        for (int64_t i = 0; i < n_; i++)
            std::copy_n(&v[size_t(order.source[size_t(i)]) * size_t(width_)], width_,
                        &next[size_t(i * width_)]);
        v.swap(next);
    }

private:
    static constexpr float MAX_COORDINATE = 1e18f;  // whose square is finite
    // NaN becomes the lower limit: coordinates are indices of cells.
    static float limit(float v) {
        return v > MAX_COORDINATE ? MAX_COORDINATE : v >= -MAX_COORDINATE ? v : -MAX_COORDINATE;
    }

    int64_t n_;
    int k_, width_;  // width_: entries of a point
    int64_t chunks_;
    std::vector<int32_t> row_of_slot_;
    std::vector<Box> boxes_;  // of chunks
};

}  // namespace lowd
