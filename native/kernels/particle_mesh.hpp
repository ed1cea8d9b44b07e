// Repulsive forces of t-SNE by a particle mesh (an interpolation grid; see particle_mesh.inl).
//
// In space, and in a plane of not too many points, a large embedding would need too many nodes:
// there are fewer then, for a smooth part of the kernel, and short-range forces for the remainder
// (P3M; Hockney and Eastwood, 1981). That is also ten times as precise: a point no longer repels
// itself.
#pragma once

#include <span>
#include <vector>

#include "bounding_box.hpp"
#include "convolver.hpp"
#include "lowd/buffer.hpp"
#include "lowd/levels/grid.hpp"
#include "lowd/potential.hpp"
#include "lowd/threads.hpp"

namespace lowd {

class ParticleMesh {
public:
    // n points in k dimensions, in chunks of adjacent ones; rows of points have `width` entries.
    ParticleMesh(int64_t n, int k, int width, int64_t chunks);

    // The potential of points y with these boxes of chunks; returns Z.
    double update(const float* y, std::span<const Box> boxes, Job& job);
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
    float spacing_, cutoff_ = 0;  // cutoff_: pairs nearer than that have short-range forces
    bool grid_only_ = false;
    Convolver convolve_;
    GridView grid_{};
    Buffer<float> rho_, phi_;
};

}  // namespace lowd
