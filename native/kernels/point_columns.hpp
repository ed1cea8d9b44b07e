// Points as columns: one per coordinate, padded.
#pragma once

#include "lowd/buffer.hpp"
#include "lowd/matrix.hpp"

namespace lowd {

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

}  // namespace lowd
