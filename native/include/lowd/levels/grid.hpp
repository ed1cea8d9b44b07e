// Table of kernels of the interpolation grid (particle mesh) of t-SNE; see fft.inl, grid_fft.inl,
// particle_mesh.inl and short_range.inl.
#pragma once

#include <cstdint>

namespace lowd {

// Twiddle factors, cosines and sines of the whole turn in `size` steps, and how `size` is factored:
// into 8, 5, 4, 3 and 2, first 8 or 4.
template <class T>
struct FftPlan {
    int size, passes;
    const int* radix;
    const T *cos, *sin;
};
inline constexpr int FFT_GAP = 5;  // vectors between the two halves of the scratch
// Scratch memory of a transform, in entries.
static constexpr int64_t fft_scratch(int64_t size, int64_t lanes) {
    return 4 * (size + FFT_GAP) * lanes;
}

// The potential inside a descent: the first coordinate runs along rows, the third from plane to
// plane.
struct GridView {
    int k;
    float origin[3], inverse;
    int64_t stride, plane;
    const float* phi;
};
// A part of such a grid: its first node and how many there are, by coordinates.
struct TileView {
    int64_t first[3], count[3];
    float* cells;
};
// Points first .. last - 1, which are adjacent in memory.
struct Run {
    int64_t first, last;
};

struct GridKernels {
    int lanes;  // lanes of float32
    // Scratch of the transforms: see fft_scratch.
    void (*fft_even_lines)(const FftPlan<double>& plan, const double* in, int64_t in_step,
                           int64_t in_width, double* out, int64_t out_step, int64_t out_width,
                           int lines, double* scratch);
    void (*fft_columns)(const FftPlan<float>& plan, const float* grid, int64_t stride, float* re,
                        float* im, float* scratch);
    void (*convolve_lines)(const FftPlan<float>& plan, const float* kernel, int64_t pitch,
                           float* re, float* im, int64_t stride, float* scratch);
    void (*inverse_fft_columns)(const FftPlan<float>& plan, const float* re, const float* im,
                                int64_t stride, float* grid, float* scratch);
    void (*fft_plane)(const FftPlan<float>& plan, const float* re, const float* im, int64_t stride,
                      float* to_re, float* to_im, float* scratch);
    void (*inverse_fft_plane)(const FftPlan<float>& plan, const float* re, const float* im,
                              int64_t stride, float* to_re, float* to_im, float* scratch);
    void (*convolve_line)(const FftPlan<float>& plan, const float* kernel, const float* in,
                          float* out, float* scratch);
    void (*spread_charges)(const GridView& grid, const float* y, int64_t count,
                           const TileView& tile);
    void (*interpolate_gradient)(const GridView& grid, const float* y, int64_t count, float scale,
                                 float* f);
    double (*short_range)(const float* y, int64_t stride, int k, int64_t first, int64_t last,
                          const Run* runs, int count, float cutoff, float* forces);
    void (*add_line)(float* to, const float* from, int64_t count);
    double (*inner_product)(const float* a, const float* b, int64_t count);
    void (*bounding_box)(const float* y, int64_t count, int k, float* low, float* high);
};

}  // namespace lowd
