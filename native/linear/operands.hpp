// Operands in the layout of the kernels: shifts in two parts, columns in lines.
#pragma once

#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "linear/kernels.hpp"

namespace lowd {

// A shift in two parts (see Shift); null is a shift by zero. scale multiplies the low part.
template <class T>
class SplitShift {
public:
    SplitShift(const double* shift, int64_t d, double scale = 1)
        : width_(round_up(d, PANEL<T>)), memory_(2 * width_, T(0)) {
        for (int64_t j = 0; shift && j < d; j++) {
            memory_[j] = T(shift[j]);
            memory_[width_ + j] = T((shift[j] - double(memory_[j])) * scale);
        }
    }
    operator Shift<T>() const { return {memory_.get(), memory_.get() + width_}; }

private:
    int64_t width_;
    Buffer<T> memory_;
};

// Columns of V in groups of `width`, a group by lines of features, padded by zeros: see
// products.inl.
template <class T>
Buffer<T> interleave_columns(Matrix<const T> V, int width, int64_t ld) {
    constexpr int64_t LINE = 64 / sizeof(T);
    Buffer<T> lines(V.cols ? round_up(V.cols, width) * ld : 0, T(0));
    for (int64_t k = 0; k < V.rows; k++)
        for (int64_t c = 0; c < V.cols; c++)
            lines[c / width * width * ld + (k / LINE * width + c % width) * LINE + k % LINE] =
                V.row(k)[c];
    return lines;
}

}  // namespace lowd
