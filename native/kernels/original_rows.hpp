// The original rows in the order of the neighbor search.
#pragma once

#include <algorithm>

#include "filter_bounds.hpp"
#include "lowd/buffer.hpp"
#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"
#include "packed_rows.hpp"

namespace lowd::search {

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
