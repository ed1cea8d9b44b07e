// What the drivers share: shifts in two parts, transposed columns, scratch memory per worker.
#pragma once

#include <algorithm>
#include <vector>

#include "lowd/lowd.hpp"

namespace lowd {

// A shift as kernels want it (see Shift); null is a shift by zero.
template <class T>
class Parts {
public:
    Parts(const double* shift, int64_t d) : width_(round_up(d, PANEL<T>)), memory_(2 * width_, T(0)) {
        for (int64_t j = 0; shift && j < d; j++) {
            memory_[j] = T(shift[j]);
            memory_[width_ + j] = T(shift[j] - double(memory_[j]));
        }
    }
    operator Shift<T>() const { return {memory_.get(), memory_.get() + width_}; }

private:
    int64_t width_;
    Buffer<T> memory_;
};

// Columns first .. of V as rows of length ld, padded by zeros to a whole number of `multiple` rows.
template <class T>
Buffer<T> transposed(Matrix<const T> V, int64_t first, int64_t multiple, int64_t ld) {
    Buffer<T> rows(round_up(V.cols - first, multiple) * ld, T(0));
    for (int64_t k = 0; k < V.rows; k++)
        for (int64_t c = first; c < V.cols; c++) rows[(c - first) * ld + k] = V.row(k)[c];
    return rows;
}

// The length of a padded row of d features: whole panels, and one line more so that rows do not share cache sets.
template <class T>
int64_t padded_row(int64_t d) { return round_up(d, PANEL<T>) + PANEL<T>; }

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
