// t-SNE on the line and in the plane by a mesh (see mesh.inl).
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

#include "drive.hpp"
#include "lowd/embed.hpp"

namespace lowd {

namespace {

constexpr float SPACING = 0.4f;  // of nodes: forces are right to about 1 %
constexpr int SMALLEST = 64, LARGEST[2] = {1 << 20, 1 << 13};  // padded nodes on an axis
constexpr double MOST = 1e30;  // of a rate or an exaggeration, so that float32 holds it
constexpr int RESORT = 100;  // steps between two sortings

// The least 2^a 3^b >= need with b <= 3.
int good_size(int64_t need) {
    int64_t best = int64_t(1) << 62;
    for (int64_t odd : {1, 3, 9, 27}) {
        int64_t size = 4 * odd;
        while (size < need) size *= 2;
        best = std::min(best, size);
    }
    return int(best);
}

template <class T>
struct Turns {
    std::vector<T> cos, sin;
    std::vector<int> radix;

    explicit Turns(int size) : cos(size_t(size)), sin(size_t(size)) {
        int rest = size;
        for (int r : {4, 3, 2})
            for (; rest % r == 0; rest /= r) radix.push_back(r);
        for (int j = 0; j < size; j++) {
            const double angle = -2 * std::numbers::pi * j / size;
            cos[size_t(j)] = T(std::cos(angle));
            sin[size_t(j)] = T(std::sin(angle));
        }
    }
    Waves<T> view() const {
        return {int(cos.size()), int(radix.size()), radix.data(), cos.data(), sin.data()};
    }
};

// Convolves a grid of half x half nodes (or a line of half) with 1 / (1 + r^2).
class Convolver {
public:
    Convolver() = default;
    Convolver(int k, int size, double h, Job& job)
        : k_(k), size_(size), half_(size / 2), turns_(new Turns<float>(size)) {
        const auto& kernel = level().embed;
        stride_ = k == 2 ? round_up(half_, 2 * kernel.lanes) : half_;
        lines_ = k == 2 ? round_up(half_ + 1, kernel.lanes) : 1;
        transform(h, job);
        if (k == 2) {
            re_ = Buffer<float>(lines_ * stride_, 0.0f);
            im_ = Buffer<float>(lines_ * stride_, 0.0f);
        }
    }
    int size() const { return size_; }
    int half() const { return half_; }
    int64_t stride() const { return stride_; }

    void operator()(const float* in, float* out, Job& job) const {
        const auto& kernel = level().embed;
        const Waves<float> waves = turns_->view();
        Scratch<float> scratch(job, 4 * int64_t(size_) * kernel.lanes);
        if (k_ == 1) {
            kernel.line_through(waves, kernel_.get(), in, out, scratch[0]);
            return;
        }
        const int64_t wide = 2 * kernel.lanes;
        job.parallel(stride_ / wide, [&](int64_t b, int worker) {
            kernel.columns_forward(waves, in + b * wide, stride_, re_.get() + b * wide,
                                   im_.get() + b * wide, scratch[worker]);
        });
        job.parallel(lines_ / kernel.lanes, [&](int64_t b, int worker) {
            const int64_t at = b * kernel.lanes;
            kernel.lines_through(waves, kernel_.get() + at, lines_, re_.get() + at * stride_,
                                 im_.get() + at * stride_, stride_, scratch[worker]);
        });
        job.parallel(stride_ / wide, [&](int64_t b, int worker) {
            kernel.columns_back(waves, re_.get() + b * wide, im_.get() + b * wide, stride_,
                                out + b * wide, scratch[worker]);
        });
    }

private:
    // The transform of the kernel, divided by those of the two splines at the nodes, (1 4 1) / 6:
    // so the mesh is exact for points on nodes. In float64, because it spans many sizes.
    void transform(double h, Job& job) {
        const auto& kernel = level().embed;
        const Turns<double> turns(size_);
        const Waves<double> waves = turns.view();
        const int64_t wide = kernel.lanes;  // 2 W<double>
        const int64_t m = half_ + 1;
        Scratch<double> scratch(job, 2 * int64_t(size_) * wide);
        std::vector<double> window(static_cast<size_t>(m));
        for (int64_t j = 0; j < m; j++) {
            const double one =
                (4 + 2 * std::cos(2 * std::numbers::pi * double(j) / size_)) / 6;
            window[size_t(j)] = 1 / (one * one * size_);
        }
        if (k_ == 1) {
            Buffer<double> line(m), out(m);
            for (int64_t j = 0; j < m; j++) line[j] = 1 / (1 + h * h * double(j * j));
            kernel.even_lines(waves, line.get(), 1, 0, out.get(), 1, 0, 1, scratch[0]);
            kernel_ = Buffer<float>(m);
            for (int64_t j = 0; j < m; j++) kernel_[j] = float(out[j] * window[size_t(j)]);
            return;
        }
        Buffer<double> grid(m * m), half(m * m);
        job.parallel(ceil_div(m, wide), [&](int64_t b, int worker) {
            const int64_t first = b * wide, count = std::min(wide, m - first);
            for (int64_t r = first; r < first + count; r++)
                for (int64_t c = 0; c < m; c++)
                    grid[r * m + c] = 1 / (1 + h * h * double(r * r + c * c));
            kernel.even_lines(waves, grid.get() + first * m, 1, m, half.get() + first * m, 1, m,
                              int(count), scratch[worker]);
        });
        kernel_ = Buffer<float>(m * lines_, 0.0f);
        job.parallel(ceil_div(m, wide), [&](int64_t b, int worker) {
            const int64_t first = b * wide, count = std::min(wide, m - first);
            kernel.even_lines(waves, half.get() + first, m, 1, grid.get() + first, m, 1, int(count),
                              scratch[worker]);
            for (int64_t r = 0; r < m; r++)
                for (int64_t c = first; c < first + count; c++)
                    kernel_[r * lines_ + c] =
                        float(grid[r * m + c] * window[size_t(r)] * window[size_t(c)]);
        });
    }

    int k_ = 0, size_ = 0, half_ = 0;
    int64_t stride_ = 0, lines_ = 0;
    std::shared_ptr<Turns<float>> turns_;
    Buffer<float> kernel_, re_, im_;
};

struct Box {
    float low[2], high[2];
};

// Spreads bits so that those of another number fit between them.
uint32_t spaced(uint32_t x) {
    x = (x | x << 8) & 0x00ff00ff;
    x = (x | x << 4) & 0x0f0f0f0f;
    x = (x | x << 2) & 0x33333333;
    return (x | x << 1) & 0x55555555;
}

// Points are kept in slots: every now and then they are sorted, so that neighbors in the map are
// neighbors in memory. Chunks of slots are the blocks of all work.
class Meshed final : public Descent {
public:
    Meshed(Lists P, const double* values, int k)
        : n_(P.count()),
          k_(k),
          chunks_(std::clamp<int64_t>(n_ / 512, 1, 256)),
          starts_(size_t(n_ + 1), 0),
          spare_starts_(starts_),
          unit_(size_t(n_)),
          spare_unit_(size_t(n_)),
          order_(size_t(n_)),
          tiles_(size_t(chunks_)),
          boxes_(size_t(chunks_)) {
        for (int64_t i = 0; i < n_; i++)
            starts_[size_t(i + 1)] = starts_[size_t(i)] + ceil_div(P.size(i), Ties::COUNT);
        ties_ = Buffer<Ties>(starts_.back() + SLACK);
        spare_ties_ = Buffer<Ties>(starts_.back() + SLACK);
        for (int64_t i = 0; i < n_; i++) tie(i, P.list(i), values + P.starts[size_t(i)], P.size(i));
        std::iota(order_.begin(), order_.end(), 0);
    }

    int dimensions() const override { return k_; }

    void start(Matrix<const double> Y) override {
        y_.assign(size_t(n_ * k_), 0.0f);
        velocity_ = next_ = y_;
        gain_.assign(y_.size(), 1.0f);
        read(Y);
        age_ = 0;
    }

    double advance(int64_t steps, double exaggeration, double momentum, double rate,
                   Job& job) override {
        double moved = 0;
        for (int64_t s = 0; s < steps; s++, age_++) {
            if (age_ % RESORT == 0) resort(job);
            const double z = potential(job);
            std::vector<double> parts(static_cast<size_t>(chunks_));
            job.parallel(chunks_, [&](int64_t c, int) {
                parts[size_t(c)] = step(c, float(std::min(exaggeration, MOST)), float(0.5 / z),
                                        float(momentum), float(std::min(rate, MOST)));
            });
            y_.swap(next_);
            measure(job);
            moved = std::accumulate(parts.begin(), parts.end(), 0.0);
        }
        return moved;
    }

    void places(Matrix<double> out) const override {
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++)
                out.row(order_[size_t(i)])[c] = double(y_[size_t(i * k_ + c)]);
    }

    void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion,
                Job& job) override {
        start(Y);
        resort(job);
        const double z = potential(job);
        std::vector<float> a(size_t(n_ * k_)), r(a.size(), 0.0f);
        job.parallel(chunks_, [&](int64_t c, int) {
            const int64_t first = begin(c), count = begin(c + 1) - first, at = first * k_;
            level().embed.attract(y_.data(), k_, first, first + count, starts_.data(), ties_.get(),
                                  unit_.data(), 1.0f, &a[size_t(at)]);
            level().embed.read(grid_, &y_[size_t(at)], count, float(-0.5 / z), &r[size_t(at)]);
        });
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++) {
                attraction.row(order_[size_t(i)])[c] = double(a[size_t(i * k_ + c)]);
                repulsion.row(order_[size_t(i)])[c] = double(r[size_t(i * k_ + c)]);
            }
    }

    // Rows of the array are the first coordinate, which runs along rows of the grid.
    Mesh mesh(Matrix<const double> Y, Job& job) override {
        start(Y);
        resort(job);
        potential(job);
        const int64_t half = convolve_.half();
        Mesh out;
        out.spacing = 1 / double(grid_.inverse);
        for (int c = 0; c < k_; c++) {
            out.nodes[size_t(c)] = half;
            out.origin[size_t(c)] = double(grid_.origin[c]);
        }
        out.phi.resize(size_t(k_ == 2 ? half * half : half));
        for (int64_t r = 0; r < (k_ == 2 ? half : 1); r++)
            for (int64_t c = 0; c < half; c++)
                out.phi[size_t(k_ == 2 ? c * half + r : c)] = phi_[r * convolve_.stride() + c];
        return out;
    }

private:
    static constexpr int64_t SLACK = 64;  // what is fetched ahead is there
    struct Tile {
        int64_t row = 0, col = 0, rows = 0, cols = 0;
        std::vector<float> cells;
    };

    int64_t begin(int64_t chunk) const { return n_ * chunk / chunks_; }

    // The ties of point i; where they do not fill the last sixteen, it is tied to itself by nothing.
    void tie(int64_t i, const int32_t* ends, const double* p, int64_t count) {
        const double most = count ? *std::max_element(p, p + count) : 0;
        const float shares = most > 0 ? float(65535 / most) : 0;
        unit_[size_t(i)] = float(most / 65535);
        Ties* some = &ties_[starts_[size_t(i)]];
        for (int64_t e = 0; e < count; e += Ties::COUNT, some++) {
            const auto full = int(std::min<int64_t>(Ties::COUNT, count - e));
            std::fill_n(some->ends, Ties::COUNT, int32_t(i));
            std::fill_n(some->shares, Ties::COUNT, uint16_t(0));
            std::copy_n(ends + e, full, some->ends);
            for (int j = 0; j < full; j++)
                some->shares[j] = uint16_t(int32_t(float(p[e + j]) * shares + 0.5f));
        }
    }

    void read(Matrix<const double> Y) {
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++)
                y_[size_t(i * k_ + c)] = float(Y.row(order_[size_t(i)])[c]);
    }

    double step(int64_t chunk, float exaggeration, float push, float momentum, float rate) {
        constexpr int64_t SOME = 256;
        const auto& kernel = level().embed;
        float force[2 * SOME];
        double moved = 0;
        for (int64_t i = begin(chunk); i < begin(chunk + 1); i += SOME) {
            const int64_t count = std::min(SOME, begin(chunk + 1) - i);
            const auto at = size_t(i * k_);
            kernel.attract(y_.data(), k_, i, i + count, starts_.data(), ties_.get(), unit_.data(),
                           exaggeration, force);
            kernel.read(grid_, &y_[at], count, push, force);
            std::copy_n(&y_[at], count * k_, &next_[at]);
            moved += kernel.advance32(count, k_, momentum, rate, force, &next_[at], &velocity_[at],
                                      &gain_[at]);
        }
        return moved;
    }

    void measure(Job& job) {
        job.parallel(chunks_, [&](int64_t c, int) {
            Box& box = boxes_[size_t(c)];
            level().embed.extent(&y_[size_t(begin(c) * k_)], begin(c + 1) - begin(c), k_, box.low,
                                 box.high);
        });
    }
    Box whole() const {
        Box all = boxes_[0];
        for (const Box& box : boxes_)
            for (int c = 0; c < k_; c++) {
                all.low[c] = std::min(all.low[c], box.low[c]);
                all.high[c] = std::max(all.high[c], box.high[c]);
            }
        return all;
    }

    // The potential of all points on a grid that holds them; returns Z.
    double potential(Job& job) {
        const auto& kernel = level().embed;
        fit(job);
        job.parallel(chunks_, [&](int64_t c, int) {
            const Box& box = boxes_[size_t(c)];
            Tile& tile = tiles_[size_t(c)];
            const auto node = [&](float y, int axis) {
                return int64_t((y - grid_.origin[axis]) * grid_.inverse);
            };
            tile.col = node(box.low[0], 0) - 1;
            tile.cols = node(box.high[0], 0) + 3 - tile.col;
            tile.row = k_ == 2 ? node(box.low[1], 1) - 1 : 0;
            tile.rows = k_ == 2 ? node(box.high[1], 1) + 3 - tile.row : 1;
            tile.cells.assign(size_t(tile.rows * tile.cols), 0.0f);
            kernel.spread(grid_, &y_[size_t(begin(c) * k_)], begin(c + 1) - begin(c), tile.row,
                          tile.col, tile.cols, tile.cells.data());
        });
        // Tiles are added in their order, whoever does it: some rows of the grid at a time.
        const int64_t stride = convolve_.stride(), rows = k_ == 2 ? convolve_.half() : 1, some = 8;
        job.parallel(ceil_div(rows, some), [&](int64_t b, int) {
            const int64_t first = b * some, last = std::min(rows, first + some);
            std::fill_n(rho_.get() + first * stride, (last - first) * stride, 0.0f);
            for (const Tile& tile : tiles_)
                for (int64_t r = std::max(first, tile.row);
                     r < std::min(last, tile.row + tile.rows); r++)
                    kernel.add(rho_.get() + r * stride + tile.col,
                               tile.cells.data() + (r - tile.row) * tile.cols, tile.cols);
        });
        convolve_(rho_.get(), phi_.get(), job);
        // Of points that are all far apart Z is less than its rounding.
        return std::max(sum_of_phi(job) - double(n_), 1e-6 * double(n_));
    }

    double sum_of_phi(Job& job) const {
        const int64_t stride = convolve_.stride(), rows = k_ == 2 ? convolve_.half() : 1, some = 8;
        // Reading is the transpose of spreading: the sum of phi over points is one of grids.
        std::vector<double> sums(static_cast<size_t>(rows));
        if (k_ == 1) {
            double sum = 0;
            for (int64_t c = 0; c < stride; c++) sum += double(rho_[c]) * double(phi_[c]);
            return sum;
        }
        job.parallel(ceil_div(rows, some), [&](int64_t b, int) {
            for (int64_t r = b * some; r < std::min(rows, (b + 1) * some); r++)
                sums[size_t(r)] =
                    level().embed.inner(rho_.get() + r * stride, phi_.get() + r * stride, stride);
        });
        return std::accumulate(sums.begin(), sums.end(), 0.0);
    }

    // A grid for the present places; a larger one only if they need it.
    void fit(Job& job) {
        const Box box = whole();
        float span = box.high[0] - box.low[0];
        if (k_ == 2) span = std::max(span, box.high[1] - box.low[1]);
        const int64_t need = 2 * (int64_t(span / spacing_) + 8);
        if (!rho_ || need > convolve_.size()) {
            int size = std::max(SMALLEST, good_size(need));
            if (size > LARGEST[k_ - 1]) {  // coarser nodes instead of more
                size = LARGEST[k_ - 1];
                spacing_ = std::max(spacing_, 1.5f * span / float(size / 2 - 8));
            }
            convolve_ = Convolver(k_, size, double(spacing_), job);
            const int64_t cells = (k_ == 2 ? convolve_.half() : 1) * convolve_.stride();
            rho_ = Buffer<float>(cells + 64, 0.0f);
            phi_ = Buffer<float>(cells + 64, 0.0f);
        }
        grid_.k = k_;
        grid_.inverse = 1 / spacing_;
        grid_.stride = convolve_.stride();
        grid_.phi = phi_.get();
        // The middle of the map is on a node.
        for (int c = 0; c < k_; c++)
            grid_.origin[c] = 0.5f * (box.low[c] + box.high[c]) -
                              spacing_ * float(convolve_.half() / 2);
    }

    void resort(Job& job) {
        measure(job);
        const Box box = whole();
        float span = box.high[0] - box.low[0];
        if (k_ == 2) span = std::max(span, box.high[1] - box.low[1]);
        const float unit = 65535 / std::max(span, 1e-30f);
        std::vector<std::pair<uint32_t, int32_t>> keys(static_cast<size_t>(n_)), other(keys.size());
        for (int64_t i = 0; i < n_; i++) {
            const auto at = [&](int c) {
                return uint32_t((y_[size_t(i * k_ + c)] - box.low[c]) * unit);
            };
            keys[size_t(i)] = {k_ == 1 ? at(0) : spaced(at(0)) | spaced(at(1)) << 1, int32_t(i)};
        }
        for (int shift = 0; shift < 32; shift += 11) {
            std::array<int64_t, 2049> counts{};
            for (const auto& key : keys) counts[((key.first >> shift) & 2047) + 1]++;
            for (size_t d = 0; d < 2048; d++) counts[d + 1] += counts[d];
            for (const auto& key : keys)
                other[size_t(counts[(key.first >> shift) & 2047]++)] = key;
            keys.swap(other);
        }
        std::vector<int32_t> slot(static_cast<size_t>(n_)), order(slot.size());
        for (int64_t i = 0; i < n_; i++) {
            const auto from = size_t(keys[size_t(i)].second);
            slot[from] = int32_t(i);
            order[size_t(i)] = order_[from];
            spare_unit_[size_t(i)] = unit_[from];
            spare_starts_[size_t(i + 1)] =
                spare_starts_[size_t(i)] + starts_[from + 1] - starts_[from];
        }
        order_.swap(order);
        for (auto* v : {&y_, &velocity_, &gain_}) {
            for (int64_t i = 0; i < n_; i++)
                std::copy_n(&(*v)[size_t(keys[size_t(i)].second) * size_t(k_)], k_,
                            &next_[size_t(i * k_)]);
            v->swap(next_);
        }
        job.parallel(chunks_, [&](int64_t c, int) {
            for (int64_t i = begin(c); i < begin(c + 1); i++) {
                const Ties* from = &ties_[starts_[size_t(keys[size_t(i)].second)]];
                for (int64_t o = spare_starts_[size_t(i)]; o < spare_starts_[size_t(i + 1)]; o++) {
                    Ties& some = spare_ties_[o] = *from++;
                    for (int32_t& end : some.ends) end = slot[size_t(end)];
                }
            }
        });
        starts_.swap(spare_starts_);
        unit_.swap(spare_unit_);
        std::swap(ties_, spare_ties_);
        measure(job);
    }

    int64_t n_;
    int k_;
    int64_t chunks_, age_ = 0;
    std::vector<int64_t> starts_, spare_starts_;  // of ties, sixteen by sixteen
    std::vector<float> unit_, spare_unit_;
    Buffer<Ties> ties_, spare_ties_;
    std::vector<int32_t> order_;  // the row in each slot
    std::vector<Tile> tiles_;
    std::vector<Box> boxes_;
    std::vector<float> y_, next_, velocity_, gain_;
    float spacing_ = SPACING;
    Convolver convolve_;
    GridView grid_{};
    Buffer<float> rho_, phi_;
};

}  // namespace

std::unique_ptr<Descent> meshed(Lists P, const double* values, int k) {
    return std::make_unique<Meshed>(P, values, k);
}

}  // namespace lowd
