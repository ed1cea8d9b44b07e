// The particle mesh of t-SNE and UMAP (an interpolation grid), and the convolution that it needs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/memory.hpp"
#include "base/threads.hpp"
#include "embedding/kernels.hpp"
#include "embedding/points.hpp"
#include "embedding/potential.hpp"

namespace lowd {

// Convolution of a grid with a radial kernel by Fourier transforms, in one to three dimensions.

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

// Repulsive forces of t-SNE and UMAP by a particle mesh (an interpolation grid; see
// particle_mesh.inl).
//
// With short-range forces: in space, and in a plane of not too many points, a large embedding would
// need too many nodes: there are fewer then, for a smooth part of the kernel, and short-range
// forces for the remainder (P3M; Hockney and Eastwood, 1981). That is also ten times as precise: a
// point no longer repels itself.

// What points contribute to the potential.
struct MeshKernel {
    // Of the squared distance; smoothed up to the distance `cutoff`, if there are short-range
    // forces.
    std::function<double(double square, double cutoff)> value;
    float spacing;  // of nodes
    bool short_range;
};
// 1 / (1 + s). Smoothed: of 1 / (1 + s) = a (1 + x + x^2 + ...), a = 1 / (1 + cutoff^2), x = a
// (cutoff^2 - s), three terms are left. The others are short-range forces, see particle_mesh.inl.
MeshKernel student_kernel();

class ParticleMesh {
public:
    // n points in k dimensions, in chunks of adjacent ones; rows of points have `width` entries.
    ParticleMesh(int64_t n, int k, int width, int64_t chunks, MeshKernel kernel);

    // The potential of points y with these boxes of chunks.
    void update(const float* y, std::span<const Box> boxes, Job& job);
    // The sum of that potential over the points: of the kernel over all ordered pairs, and over the
    // points themselves.
    double sum_of_potential(Job& job) const;
    // The part of it that points have by themselves on the grid.
    double own_potential(const float* y, Job& job) const;
    // f += scale times the gradient of the potential at points first .. first + count - 1.
    void add_gradient(const float* y, int64_t first, int64_t count, float scale, float* f) const;
    // The potential by the grid alone, for new points.
    PotentialGrid whole_potential(const float* y, std::span<const Box> boxes, Job& job);
    // Have the chunks grown so much that their tiles are several times the grid?
    bool is_sprawling() const;

private:
    struct Tile {
        TileView view{};
        std::vector<float> memory;
    };
    int64_t begin(int64_t chunk) const { return n_ * chunk / chunks_; }
    void fit(const Box& box, Job& job);
    void spread(const float* y, std::span<const Box> boxes, Job& job, Job& grid_job);
    double sum_of_phi(Job& job) const;
    bool has_short_range() const;
    int max_size() const;
    void reset(bool grid_only);

    int64_t n_;
    int k_, width_;
    int64_t chunks_;
    std::vector<Tile> tiles_;
    std::vector<float> short_range_;  // forces
    double short_range_sum_ = 0;
    MeshKernel kernel_;
    float spacing_, cutoff_ = 0;  // cutoff_: pairs nearer than that have short-range forces
    bool grid_only_ = false;
    Convolver convolve_;
    GridView grid_{};
    Buffer<float> rho_, phi_;
};

}  // namespace lowd
