// Points as columns, and blocks of them.
#pragma once

#include <algorithm>

#include "drive.hpp"

namespace lowd {

constexpr double FAR = 1e30;  // where padding is: nobody feels it

// A column per dimension, padded.
class Columns {
public:
    explicit Columns(Matrix<const double> Y)
        : stride_(round_up(Y.rows, 8)), memory_(stride_ * Y.cols, FAR) {
        for (int64_t i = 0; i < Y.rows; i++)
            for (int64_t c = 0; c < Y.cols; c++) memory_[c * stride_ + i] = Y.row(i)[c];
    }
    const double* get() const { return memory_.get(); }
    int64_t stride() const { return stride_; }

private:
    int64_t stride_;
    Buffer<double> memory_;
};

// body(first, last) for blocks of about `size` of n things.
template <class F>
void blocks(Job& job, int64_t n, int64_t size, F&& body) {
    job.parallel(ceil_div(n, size), [&](int64_t b, int worker) {
        body(b * size, std::min(n, (b + 1) * size), worker);
    });
}

}  // namespace lowd
