// The particle mesh: convolutions, short-range forces, and the mesh itself.

#include "embedding/particle_mesh.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "base/levels.hpp"
#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"

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

// Short-range forces of P3M: sums over pairs of points within a cutoff, in two or three dimensions.

// What the smooth kernel of a Convolver lacks within the cutoff: forces on the n points y (two or
// four entries each; from `low` on, `span` wide), and the sum of similarities over all ordered
// pairs and the points themselves.
double short_range_forces(const float* y, int64_t n, int k, const float* low, float span,
                          float cutoff, float* forces, Job& job);

namespace {

// Points by cells at least as wide as the cutoff: all points within it are in the 9 or 27 cells
// around.
template <int K>
struct Cells {
    static constexpr int64_t MAX_CELLS = K == 3 ? 64 : 512;  // on an axis
    static constexpr int WIDTH = K == 3 ? 4 : 2;  // entries of a point
    int64_t side, rows, stride;
    std::vector<int32_t> starts;  // of the points of each cell
    std::vector<int32_t> slots;  // of points by cells
    std::vector<float> columns;  // their coordinates, `stride` apart

    Cells(const float* y, int64_t n, const float* low, float span, float cutoff)
        : side(std::clamp(int64_t(span / cutoff), int64_t(1), MAX_CELLS)),
          rows(K == 3 ? side * side : side),
          stride(n + 64),  // whole vectors are read
          starts(size_t(rows * side + 1)),
          slots(size_t(n)),
          columns(size_t(K * stride), 0.0f) {
        const float unit = float(side) / span;
        std::vector<int32_t> cell(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; i++) {
            int32_t at = 0;
            for (int c = K - 1; c >= 0; c--)
                at = at * int32_t(side) +
                     std::min(int32_t((y[i * WIDTH + c] - low[c]) * unit), int32_t(side) - 1);
            cell[size_t(i)] = at;
            starts[size_t(at) + 1]++;
        }
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        std::vector<int32_t> next(starts.begin(), starts.end() - 1);
        for (int64_t i = 0; i < n; i++) {
            const int64_t to = next[size_t(cell[size_t(i)])]++;
            slots[size_t(to)] = int32_t(i);
            for (int c = 0; c < K; c++) columns[size_t(c * stride + to)] = y[i * WIDTH + c];
        }
    }

    // Cells x - 1, x, x + 1 of a row are adjacent: at most nine runs. Returns how many.
    int around(int64_t x, int64_t y, int64_t z, Run* runs) const {
        const auto from = [](int64_t v) { return std::max<int64_t>(v - 1, 0); };
        const auto to = [](int64_t v, int64_t all) { return std::min(v + 1, all - 1); };
        int count = 0;
        for (int64_t c = from(z); c <= to(z, rows / side); c++)
            for (int64_t b = from(y); b <= to(y, side); b++) {
                const int64_t row = (c * side + b) * side;
                runs[count] = {starts[size_t(row + from(x))],
                               starts[size_t(row + to(x, side) + 1)]};
                count += runs[count].first < runs[count].last;
            }
        return count;
    }
};

template <int K>
double short_range_forces_in(const float* y, int64_t n, const float* low, float span, float cutoff,
                             float* forces, Job& job) {
    constexpr int WIDTH = Cells<K>::WIDTH;
    const Cells<K> cells(y, n, low, span, cutoff);
    const int64_t side = cells.side;
    std::vector<double> sums(size_t(cells.rows), 0.0);
    std::vector<float> found(size_t(n * WIDTH));
    job.parallel(cells.rows, [&](int64_t row, int) {
        for (int64_t x = 0; x < side; x++) {
            const int64_t first = cells.starts[size_t(row * side + x)];
            const int64_t last = cells.starts[size_t(row * side + x + 1)];
            if (first == last) continue;
            Run runs[9];
            const int count = cells.around(x, row % side, row / side, runs);
            sums[size_t(row)] +=
                level().grid.short_range(cells.columns.data(), cells.stride, K, first, last, runs,
                                         count, cutoff * cutoff, &found[size_t(first * WIDTH)]);
            for (int64_t i = first; i < last; i++)
                std::copy_n(&found[size_t(i * WIDTH)], WIDTH,
                            forces + cells.slots[size_t(i)] * int64_t(WIDTH));
        }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

double short_range_forces(const float* y, int64_t n, int k, const float* low, float span,
                          float cutoff, float* forces, Job& job) {
    return (k == 3 ? short_range_forces_in<3> : short_range_forces_in<2>)(y, n, low, span, cutoff,
                                                                          forces, job);
}

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
