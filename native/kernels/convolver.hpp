// Convolution of a grid with a radial kernel by Fourier transforms, in one to three dimensions.
#pragma once

#include <functional>
#include <memory>

#include "lowd/buffer.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// The least 2^a >= need, a >= 2, or 3, 5, 9, 15 or 25 times that: all of them take few passes.
int good_size(int64_t need);

// A kernel as a function of the squared distance.
using RadialKernel = std::function<double(double)>;

template <class T>
struct TwiddleTable;

// A grid has half nodes on an axis: rows of `stride` entries, half rows in a plane. It is padded by
// zeros to twice as many, so that the convolution does not wrap around.
class Convolver {
public:
    Convolver() = default;
    // size: padded nodes on an axis, a good_size; h: their distance.
    Convolver(int k, int size, double h, const RadialKernel& kernel, Job& job);

    int size() const { return size_; }
    int half() const { return half_; }
    int64_t stride() const { return stride_; }
    int64_t rows() const { return k_ >= 2 ? half_ : 1; }  // lines of a plane
    int64_t planes() const { return k_ == 3 ? half_ : 1; }
    int64_t cells() const { return planes() * rows() * stride_; }

    void operator()(const float* in, float* out, Job& job) const;

private:
    void transform_kernel(double h, const RadialKernel& radial, Job& job);
    void convolve_plane(int64_t plane, float* re, float* im, float* tall, float* scratch) const;

    int k_ = 0, size_ = 0, half_ = 0;
    int64_t stride_ = 0, lines_ = 0;  // lines_: the adjacent lines of the spectrum in kernel_
    std::shared_ptr<TwiddleTable<float>> twiddles_;
    Buffer<float> kernel_, re_, im_;
};

}  // namespace lowd
