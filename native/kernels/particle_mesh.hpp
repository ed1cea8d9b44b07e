// Repulsive forces of t-SNE and UMAP by a particle mesh (an interpolation grid; see
// particle_mesh.inl).
//
// With short-range forces: in space, and in a plane of not too many points, a large embedding would
// need too many nodes: there are fewer then, for a smooth part of the kernel, and short-range
// forces for the remainder (P3M; Hockney and Eastwood, 1981). That is also ten times as precise: a
// point no longer repels itself.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "bounding_box.hpp"
#include "convolver.hpp"
#include "lowd/buffer.hpp"
#include "lowd/levels/grid.hpp"
#include "lowd/potential.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// What points contribute to the potential.
struct MeshKernel {
    // Of the squared distance; smoothed up to the distance `cutoff`, if there are short-range
    // forces.
    std::function<double(double square, double cutoff)> value;
    float spacing;  // of nodes
    bool short_range;
};
// 1 / (1 + s). Smoothed: of 1 / (1 + s) = a (1 + x + x^2 + ...), a = 1 / (1 + cutoff^2), x = a
// (cutoff^2 - s), three terms are left. The others are short-range forces, see short_range.inl.
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
