#include "convolver.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "lowd/levels.hpp"
#include "lowd/matrix.hpp"
#include "scratch.hpp"

namespace lowd {

int good_size(int64_t need) {
    int64_t best = int64_t(1) << 62;
    for (int64_t odd : {1, 3, 5, 9, 15, 25}) {
        int64_t size = 4 * odd;
        while (size < need) size *= 2;
        best = std::min(best, size);
    }
    return int(best);
}

template <class T>
struct TwiddleTable {
    std::vector<T> cos, sin;
    std::vector<int> radix;

    explicit TwiddleTable(int size) : cos(size_t(size)), sin(size_t(size)) {
        int remainder = size;
        for (int r : {8, 4, 5, 3, 2})
            for (; remainder % r == 0; remainder /= r) radix.push_back(r);
        for (int j = 0; j < size; j++) {
            const double angle = -2 * std::numbers::pi * j / size;
            cos[size_t(j)] = T(std::cos(angle));
            sin[size_t(j)] = T(std::sin(angle));
        }
    }
    FftPlan<T> view() const {
        return {int(cos.size()), int(radix.size()), radix.data(), cos.data(), sin.data()};
    }
};

Convolver::Convolver(int k, int size, double h, const RadialKernel& kernel, Job& job)
    : k_(k), size_(size), half_(size / 2), twiddles_(new TwiddleTable<float>(size)) {
    const int lanes = level().grid.lanes;
    // Columns are transformed two vectors at a time; a plane has an even number of rows.
    stride_ = k == 1 ? half_ : round_up(half_, k == 2 ? 2 * lanes : lanes);
    // A real plane has half of its lines, the planes of a real space have all of them.
    lines_ = k == 1 ? 1 : round_up(k == 2 ? half_ + 1 : size_, lanes);
    transform_kernel(h, kernel, job);
    const int64_t spectrum = k == 1 ? 0 : k == 2 ? lines_ : (half_ + 1) * int64_t(half_);
    if (spectrum) {
        re_ = Buffer<float>(spectrum * stride_, 0.0f);
        im_ = Buffer<float>(spectrum * stride_, 0.0f);
    }
}

void Convolver::operator()(const float* in, float* out, Job& job) const {
    const auto& kernel = level().grid;
    const FftPlan<float> plan = twiddles_->view();
    Scratch<float> scratch(job, fft_scratch(size_, kernel.lanes));
    if (k_ == 1) {
        kernel.convolve_line(plan, kernel_.get(), in, out, scratch[0]);
        return;
    }
    // The slowest axis comes first: half of the spectrum of a real grid is enough.
    const int64_t wide = 2 * kernel.lanes, apart = k_ == 3 ? rows() * stride_ : stride_;
    job.parallel(apart / wide, [&](int64_t b, int worker) {
        kernel.fft_columns(plan, in + b * wide, apart, re_.get() + b * wide, im_.get() + b * wide,
                           scratch[worker]);
    });
    if (k_ == 2) {
        job.parallel(lines_ / kernel.lanes, [&](int64_t b, int worker) {
            const int64_t at = b * kernel.lanes;
            kernel.convolve_lines(plan, kernel_.get() + at, lines_, re_.get() + at * stride_,
                                  im_.get() + at * stride_, stride_, scratch[worker]);
        });
    } else {
        Scratch<float> tall(job, 2 * lines_ * stride_);
        job.parallel(half_ + 1, [&](int64_t plane, int worker) {
            convolve_plane(plane, re_.get() + plane * apart, im_.get() + plane * apart,
                           tall[worker], scratch[worker]);
        });
    }
    job.parallel(apart / wide, [&](int64_t b, int worker) {
        kernel.inverse_fft_columns(plan, re_.get() + b * wide, im_.get() + b * wide, apart,
                                   out + b * wide, scratch[worker]);
    });
}

// One plane of the spectrum of a space, which stays in the cache: along its columns, its lines,
// and back. tall: both parts, padded to the whole spectrum of the columns.
void Convolver::convolve_plane(int64_t plane, float* re, float* im, float* tall,
                               float* scratch) const {
    const auto& kernel = level().grid;
    const FftPlan<float> plan = twiddles_->view();
    float *const tall_re = tall, *const tall_im = tall + lines_ * stride_;
    for (float* part : {tall_re, tall_im})
        std::fill_n(part + size_ * stride_, (lines_ - size_) * stride_, 0.0f);
    for (int64_t c = 0; c < stride_; c += kernel.lanes)
        kernel.fft_plane(plan, re + c, im + c, stride_, tall_re + c, tall_im + c, scratch);
    const float* const factors = kernel_.get() + plane * (half_ + 1) * lines_;
    for (int64_t at = 0; at < lines_; at += kernel.lanes)
        kernel.convolve_lines(plan, factors + at, lines_, tall_re + at * stride_,
                              tall_im + at * stride_, stride_, scratch);
    for (int64_t c = 0; c < stride_; c += kernel.lanes)
        kernel.inverse_fft_plane(plan, tall_re + c, tall_im + c, stride_, re + c, im + c, scratch);
}

// The transform of the kernel, divided by those of the two splines at the nodes, (1 4 1) / 6: so
// the grid is exact for points on nodes. In float64, because it spans many magnitudes.
void Convolver::transform_kernel(double h, const RadialKernel& radial, Job& job) {
    const auto& kernel = level().grid;
    const TwiddleTable<double> twiddles(size_);
    const FftPlan<double> plan = twiddles.view();
    const int64_t wide = kernel.lanes;  // 2 W<double>
    const int64_t m = half_ + 1, lines = k_ == 1 ? 1 : k_ == 2 ? m : m * m;
    Scratch<double> scratch(job, fft_scratch(size_, wide / 2));
    std::vector<double> window(static_cast<size_t>(m));
    for (int64_t j = 0; j < m; j++) {
        const double one = (4 + 2 * std::cos(2 * std::numbers::pi * double(j) / size_)) / 6;
        window[size_t(j)] = 1 / (one * one * size_);
    }
    Buffer<double> grid(lines * m);
    job.parallel(ceil_div(lines, wide), [&](int64_t b, int worker) {  // along the rows
        const int64_t first = b * wide, count = std::min(wide, lines - first);
        for (int64_t l = first; l < first + count; l++) {
            const int64_t others = (l / m) * (l / m) + (l % m) * (l % m);
            for (int64_t c = 0; c < m; c++)
                grid[l * m + c] = radial(h * h * double(others + c * c));
        }
        kernel.fft_even_lines(plan, grid.get() + first * m, 1, m, grid.get() + first * m, 1, m,
                              int(count), scratch[worker]);
    });
    for (int64_t step = m; step < lines * m; step *= m) {  // and along the other axes
        const int64_t some = ceil_div(step, wide);
        job.parallel(lines / step * some, [&](int64_t b, int worker) {
            const int64_t first = b % some * wide, count = std::min(wide, step - first);
            double* const at = grid.get() + b / some * m * step + first;
            kernel.fft_even_lines(plan, at, step, 1, at, step, 1, int(count), scratch[worker]);
        });
    }
    const int64_t rows = k_ == 3 ? m * m : k_ == 2 ? m : 1, cols = k_ == 1 ? m : lines_;
    kernel_ = Buffer<float>(rows * cols, 0.0f);
    job.parallel(rows, [&](int64_t r, int) {
        double weight = 1;
        if (k_ >= 2) weight = window[size_t(r % m)];
        if (k_ == 3) weight *= window[size_t(r / m)];
        for (int64_t c = 0; c < (k_ == 3 ? size_ : m); c++) {
            const int64_t frequency = std::min(c, size_ - c);
            kernel_[r * cols + c] =
                float(grid[r * m + frequency] * weight * window[size_t(frequency)]);
        }
    });
}

}  // namespace lowd
