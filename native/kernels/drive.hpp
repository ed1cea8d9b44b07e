// What the drivers share: shifts in two parts, transposed columns, scratch memory per worker.
#pragma once

#include <algorithm>
#include <vector>

#include "lowd/lowd.hpp"

namespace lowd {

// A shift as kernels want it (see Shift); null is a shift by zero. scale multiplies the rest.
template <class T>
class Parts {
public:
    Parts(const double* shift, int64_t d, double scale = 1)
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

// Columns first .. of V in groups of `width`, a group by lines of features: see `thin` in
// thin.inl. Padded by zeros.
template <class T>
Buffer<T> interleaved(Matrix<const T> V, int64_t first, int width, int64_t ld) {
    constexpr int64_t LINE = 64 / sizeof(T);
    Buffer<T> lines(round_up(V.cols - first, width) * ld, T(0));
    for (int64_t k = 0; k < V.rows; k++)
        for (int64_t c = 0; c < V.cols - first; c++)
            lines[c / width * width * ld + (k / LINE * width + c % width) * LINE + k % LINE] =
                V.row(k)[first + c];
    return lines;
}

// Scratch memory made by each worker when it first needs it, so that its pages lie near it.
template <class T>
class Scratch {
public:
    Scratch(const Job& job, int64_t size) : size_(size), memory_(job.threads()) {}
    T* operator[](int worker) {
        if (!memory_[worker]) memory_[worker] = Buffer<T>(size_);
        return memory_[worker].get();
    }

private:
    int64_t size_;
    std::vector<Buffer<T>> memory_;
};

#define LOWD_FOR_FLOATS(INSTANTIATE) INSTANTIATE(float) INSTANTIATE(double)

}  // namespace lowd
