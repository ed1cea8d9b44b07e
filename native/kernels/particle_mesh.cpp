#include "particle_mesh.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lowd/levels.hpp"
#include "lowd/matrix.hpp"
#include "short_range.hpp"

namespace lowd {

namespace {

constexpr float STUDENT_SPACING = 0.4f;  // forces have errors of about 1 %
constexpr int MIN_SIZE = 32, MAX_SIZE[3] = {1 << 20, 1 << 13, 384};  // padded nodes on an axis
constexpr float CUTOFF_NODES = 2.5f;  // pairs within have short-range forces
constexpr int64_t MAX_SHORT_RANGE_POINTS = 20'000;  // of a plane
// Nodes for which threads would wait for each other longer than they work.
constexpr int64_t MAX_SERIAL_NODES = 1 << 14;

}  // namespace

MeshKernel student_kernel() {
    const auto value = [](double s, double cutoff) {
        const double x = std::max(cutoff * cutoff - s, 0.0) / (1 + cutoff * cutoff);
        return (1 - x * x * x) / (1 + s);
    };
    return {value, STUDENT_SPACING, true};
}

ParticleMesh::ParticleMesh(int64_t n, int k, int width, int64_t chunks, MeshKernel kernel)
    : n_(n),
      k_(k),
      width_(width),
      chunks_(chunks),
      tiles_(static_cast<size_t>(chunks)),
      kernel_(std::move(kernel)),
      spacing_(kernel_.spacing) {}

void ParticleMesh::update(const float* y, std::span<const Box> boxes, Job& job) {
    const Box box = enclose(boxes, k_);
    fit(box, job);
    Job alone(1);
    Job& some = convolve_.cells() <= MAX_SERIAL_NODES ? alone : job;
    spread(y, boxes, job, some);
    convolve_(rho_.get(), phi_.get(), some);
    short_range_sum_ = 0;
    if (cutoff_ > 0) {
        short_range_.resize(size_t(n_ * width_));
        short_range_sum_ = short_range_forces(y, n_, k_, box.low, box.widest_side(k_), cutoff_,
                                              short_range_.data(), job);
    }
}

double ParticleMesh::sum_of_potential(Job& job) const {
    Job alone(1);
    return sum_of_phi(convolve_.cells() <= MAX_SERIAL_NODES ? alone : job) + short_range_sum_;
}

// In one and two dimensions. Of one charge on a node, the potential of the nodes nearby is all that
// is needed: a point is spread over four nodes on an axis, at most three apart.
double ParticleMesh::own_potential(const float* y, Job& job) const {
    constexpr int APART = 4;
    Buffer<float> charge(convolve_.cells() + 64, 0.0f), phi(convolve_.cells() + 64, 0.0f);
    const int64_t row = convolve_.rows() / 2, column = convolve_.half() / 2;
    charge[row * grid_.stride + column] = 1;
    convolve_(charge.get(), phi.get(), job);
    std::vector<double> sums(size_t(chunks_), 0.0);
    job.parallel(chunks_, [&](int64_t c, int) {
        for (int64_t i = begin(c); i < begin(c + 1); i++) {
            // Products of the splines of nodes at each distance, by coordinates.
            double products[2][APART] = {{1}, {1}};
            for (int a = 0; a < k_; a++) {
                const double at = double((y[i * width_ + a] - grid_.origin[a]) * grid_.inverse);
                const double t = at - std::floor(at), u = 1 - t;
                const double values[APART] = {u * u * u / 6, ((3 * t - 6) * t * t + 4) / 6,
                                              ((3 * u - 6) * u * u + 4) / 6, t * t * t / 6};
                for (int d = 0; d < APART; d++) {
                    products[a][d] = 0;
                    for (int q = 0; q + d < APART; q++)
                        products[a][d] += (d ? 2 : 1) * values[q] * values[q + d];
                }
            }
            for (int r = 0; r < (k_ == 2 ? APART : 1); r++)
                for (int d = 0; d < APART; d++)
                    sums[size_t(c)] += products[0][d] * products[1][r] *
                                       double(phi[(row + r) * grid_.stride + column + d]);
        }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

void ParticleMesh::add_gradient(const float* y, int64_t first, int64_t count, float scale,
                                float* f) const {
    level().grid.interpolate_gradient(grid_, y + first * width_, count, scale, f);
    if (cutoff_ > 0)
        for (int64_t e = 0; e < count * width_; e++)
            f[e] -= 2 * scale * short_range_[size_t(first * width_ + e)];
}

bool ParticleMesh::is_sprawling() const {
    int64_t cells = 0;
    for (const Tile& tile : tiles_) cells += int64_t(tile.memory.size());
    return k_ == 3 && cells > 4 * convolve_.cells();
}

// Axes are in the order of coordinates: the first one runs along rows of the grid.
PotentialGrid ParticleMesh::whole_potential(const float* y, std::span<const Box> boxes, Job& job) {
    reset(true);
    update(y, boxes, job);
    const int64_t half = convolve_.half(), rows = convolve_.rows();
    PotentialGrid out;
    out.spacing = 1 / double(grid_.inverse);
    for (int c = 0; c < k_; c++) {
        out.nodes[size_t(c)] = half;
        out.origin[size_t(c)] = double(grid_.origin[c]);
    }
    out.phi.resize(size_t(rows * half));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < half; c++)
            out.phi[size_t(c * rows + r)] = phi_[r * grid_.stride + c];
    reset(false);
    return out;
}

void ParticleMesh::reset(bool grid_only) {
    grid_only_ = grid_only;
    spacing_ = kernel_.spacing;
    cutoff_ = 0;
    rho_ = {};
}

// The charges of all points: a tile per chunk, and the sum of the tiles.
void ParticleMesh::spread(const float* y, std::span<const Box> boxes, Job& job, Job& grid_job) {
    const auto& kernel = level().grid;
    job.parallel(chunks_, [&](int64_t c, int) {
        const Box& box = boxes[size_t(c)];
        Tile& tile = tiles_[size_t(c)];
        TileView& view = tile.view;
        size_t cells = 1;
        for (int a = 0; a < 3; a++) {
            const auto node = [&](float v) {
                return int64_t((v - grid_.origin[a]) * grid_.inverse);
            };
            view.first[a] = a < k_ ? node(box.low[a]) - 1 : 0;
            view.count[a] = a < k_ ? node(box.high[a]) + 3 - view.first[a] : 1;
            cells *= size_t(view.count[a]);
        }
        tile.memory.assign(cells, 0.0f);
        view.cells = tile.memory.data();
        kernel.spread_charges(grid_, y + begin(c) * width_, begin(c + 1) - begin(c), view);
    });
    // Tiles are added in their order, by whichever thread: a plane or some rows at a time.
    const int64_t rows = convolve_.rows(), band = k_ == 3 ? rows : 8;
    const int64_t parts = ceil_div(rows, band), stride = grid_.stride;
    grid_job.parallel(convolve_.planes() * parts, [&](int64_t b, int) {
        const int64_t plane = b / parts, first = b % parts * band;
        const int64_t last = std::min(rows, first + band);
        float* const to = rho_.get() + plane * grid_.plane;
        std::fill_n(to + first * stride, (last - first) * stride, 0.0f);
        for (const Tile& tile : tiles_) {
            const TileView& view = tile.view;
            const int64_t in = plane - view.first[2];
            if (in < 0 || in >= view.count[2]) continue;
            const float* const from = view.cells + in * view.count[1] * view.count[0];
            for (int64_t r = std::max(first, view.first[1]);
                 r < std::min(last, view.first[1] + view.count[1]); r++)
                kernel.add_line(to + r * stride + view.first[0],
                                from + (r - view.first[1]) * view.count[0], view.count[0]);
        }
    });
}

// Interpolation is the transpose of spreading: the sum of phi over points is a product of grids.
double ParticleMesh::sum_of_phi(Job& job) const {
    if (k_ == 1) {
        double sum = 0;
        for (int64_t c = 0; c < grid_.stride; c++) sum += double(rho_[c]) * double(phi_[c]);
        return sum;
    }
    const int64_t length = k_ == 3 ? grid_.plane : grid_.stride, lines = convolve_.half();
    const int64_t some = 8;
    std::vector<double> sums(static_cast<size_t>(lines));
    job.parallel(ceil_div(lines, some), [&](int64_t b, int) {
        for (int64_t l = b * some; l < std::min(lines, (b + 1) * some); l++)
            sums[size_t(l)] = level().grid.inner_product(rho_.get() + l * length,
                                                         phi_.get() + l * length, length);
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// Is there a coarse grid with short-range forces, if the embedding is large? Not on a line, not for
// new points, and not where a plane has many points for each node.
bool ParticleMesh::has_short_range() const {
    return kernel_.short_range && !grid_only_ &&
           (k_ == 3 || (k_ == 2 && n_ <= MAX_SHORT_RANGE_POINTS));
}

// Work grows with the nodes, and with n^2 / nodes by near pairs.
int ParticleMesh::max_size() const {
    if (!has_short_range()) return MAX_SIZE[k_ - 1];
    const double nodes = k_ == 3 ? 4.4 * std::cbrt(double(n_)) : 2.5 * std::sqrt(double(n_));
    return std::clamp(good_size(int64_t(nodes)), 2 * MIN_SIZE, MAX_SIZE[k_ - 1]);
}

// A grid for the present points; a larger one only if they need it.
void ParticleMesh::fit(const Box& box, Job& job) {
    const float span = box.widest_side(k_);
    // Of an embedding that has shrunk all pairs would be near.
    const bool shrunk = cutoff_ > 0 && 4 * span < kernel_.spacing * float(max_size());
    if (shrunk) spacing_ = kernel_.spacing, cutoff_ = 0;
    const int64_t need = 2 * (int64_t(span / spacing_) + 8);
    if (!rho_ || shrunk || need > convolve_.size()) {
        // No good size is searched for beyond the largest: it would be sought one by one.
        const int64_t most = std::min<int64_t>(need, max_size() + 1);
        int size = std::max(k_ == 3 ? MIN_SIZE : 2 * MIN_SIZE, good_size(most));
        if (size > max_size()) {  // coarser nodes instead of more, with some reserve
            size = max_size();
            const float more = has_short_range() ? 1.2f : 1.5f;
            const int inside = size / 2 - 8;
            spacing_ = std::max(spacing_, more * span / float(inside));
            if (has_short_range()) cutoff_ = CUTOFF_NODES * spacing_;
        }
        const auto radial = [this](double s) { return kernel_.value(s, double(cutoff_)); };
        rho_ = {};  // made last: where memory is short, the next call makes all of them again
        convolve_ = Convolver(k_, size, double(spacing_), radial, job);
        phi_ = Buffer<float>(convolve_.cells() + 64, 0.0f);
        rho_ = Buffer<float>(convolve_.cells() + 64, 0.0f);
    }
    grid_.k = k_;
    grid_.inverse = 1 / spacing_;
    grid_.stride = convolve_.stride();
    grid_.plane = convolve_.rows() * grid_.stride;
    grid_.phi = phi_.get();
    const int middle = convolve_.half() / 2;  // the node of the middle of the embedding
    for (int c = 0; c < k_; c++)
        grid_.origin[c] = 0.5f * (box.low[c] + box.high[c]) - spacing_ * float(middle);
}

}  // namespace lowd
