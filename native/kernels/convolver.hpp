// Convolution of a grid with 1 / (1 + r^2), or a smooth part of it, by Fourier transforms, in one,
// two or three dimensions.
#pragma once

#include <memory>

#include "lowd/buffer.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// The least 2^a >= need, a >= 2, or 3, 5, 9, 15 or 25 times that: all of them take few passes.
int good_size(int64_t need);

template <class T>
struct TwiddleTable;

// A grid has half nodes on an axis: rows of `stride` entries, half rows in a plane. It is padded by
// zeros to twice as many, so that the convolution does not wrap around.
class Convolver {
public:
    Convolver() = default;
    // size: padded nodes on an axis, a good_size; h: their distance. The kernel is smoothed up to
    // the distance `cutoff`: of 1 / (1 + s) = a (1 + x + x^2 + ...), a = 1 / (1 + cutoff^2), x = a
    // (cutoff^2 - s), three terms are left. The others are short-range forces, see short_range.inl.
    Convolver(int k, int size, double h, double cutoff, Job& job);

    int size() const { return size_; }
    int half() const { return half_; }
    int64_t stride() const { return stride_; }
    int64_t rows() const { return k_ >= 2 ? half_ : 1; }  // of a plane
    int64_t planes() const { return k_ == 3 ? half_ : 1; }
    int64_t cells() const { return planes() * rows() * stride_; }

    void operator()(const float* in, float* out, Job& job) const;

private:
    void transform_kernel(double h, double cutoff, Job& job);
    void convolve_plane(int64_t plane, float* re, float* im, float* tall, float* scratch) const;

    int k_ = 0, size_ = 0, half_ = 0;
    int64_t stride_ = 0, lines_ = 0;  // lines_: those of the spectrum that are adjacent in kernel_
    std::shared_ptr<TwiddleTable<float>> twiddles_;
    Buffer<float> kernel_, re_, im_;
};

}  // namespace lowd
