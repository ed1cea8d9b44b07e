// t-SNE on the line, in the plane and in space by a mesh (see mesh.inl). In space, and in a plane of
// not too many points, a large map has more nodes than it needs: there are fewer then, for a smooth
// part of the kernel, and sums over near pairs for the rest (P3M; Hockney and Eastwood, 1981). That
// is also ten times as precise: a point no longer pushes itself. Few points need no mesh: then all pairs are
// summed.
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "all_pairs.hpp"
#include "convolver.hpp"
#include "curves.hpp"
#include "lowd/embed.hpp"
#include "near_sums.hpp"

namespace lowd {

namespace {

constexpr float SPACING = 0.4f;  // of nodes: forces are right to about 1 %
constexpr int SMALLEST = 32, LARGEST[3] = {1 << 20, 1 << 13, 384};  // padded nodes on an axis
constexpr float NEAR = 2.5f;  // nodes: pairs within are summed
constexpr int64_t SPARSE = 20'000;  // points of a plane
constexpr int64_t SMALL = 1 << 14;  // nodes: threads would wait for each other longer than they work
constexpr double MOST = 1e30;  // of a rate or an exaggeration, so that float32 holds it
constexpr float FARTHEST = 1e18f;  // whose square is a number
constexpr int RESORT = 100, SOON = 10;  // steps between two sortings, and at least

struct Box {
    float low[4], high[4];
};

// Points are kept in slots: every now and then they are sorted, so that neighbors in the map are
// neighbors in memory. Chunks of slots are the blocks of all work.
class Meshed final : public Descent {
public:
    Meshed(Lists P, const double* values, int k, bool pairs)
        : n_(P.count()),
          k_(k),
          width_(k == 3 ? 4 : k),
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
        if (pairs) pairs_.emplace(n_, k);
    }

    int dimensions() const override { return k_; }

    void start(Matrix<const double> Y) override {
        y_.assign(size_t(n_ * width_), 0.0f);
        velocity_ = next_ = y_;
        gain_.assign(y_.size(), 1.0f);
        read(Y);
        age_ = RESORT;
    }

    double advance(int64_t steps, double exaggeration, double momentum, double rate,
                   Job& job) override {
        double moved = 0;
        for (int64_t s = 0; s < steps; s++, age_++) {
            if (age_ >= RESORT || (age_ >= SOON && sprawling())) resort(job);
            const double z = pushes(job);
            // Most of the work: in small pieces no thread waits long for the last one.
            const int64_t pieces = 4 * chunks_;
            std::vector<double> parts(static_cast<size_t>(pieces));
            job.parallel(pieces, [&](int64_t p, int) {
                parts[size_t(p)] = step(n_ * p / pieces, n_ * (p + 1) / pieces,
                                        float(std::min(exaggeration, MOST)), float(0.5 / z),
                                        float(momentum), float(std::min(rate, MOST)));
            });
            y_.swap(next_);
            Job alone(1);
            measure(n_ <= SMALL ? alone : job);
            moved = std::accumulate(parts.begin(), parts.end(), 0.0);
        }
        return moved;
    }

    void places(Matrix<double> out) const override {
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++)
                out.row(order_[size_t(i)])[c] = double(y_[size_t(i * width_ + c)]);
    }

    void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion,
                Job& job) override {
        start(Y);
        resort(job);
        const double z = pushes(job);
        std::vector<float> a(size_t(n_ * width_)), r(a.size(), 0.0f);
        job.parallel(chunks_, [&](int64_t c, int) {
            const int64_t first = begin(c), count = begin(c + 1) - first, at = first * width_;
            level().embed.attract(y_.data(), k_, first, first + count, starts_.data(), ties_.get(),
                                  unit_.data(), 1.0f, &a[size_t(at)]);
            repel(first, count, float(-0.5 / z), &r[size_t(at)]);
        });
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++) {
                attraction.row(order_[size_t(i)])[c] = double(a[size_t(i * width_ + c)]);
                repulsion.row(order_[size_t(i)])[c] = double(r[size_t(i * width_ + c)]);
            }
    }

    // Axes are in the order of coordinates: the first one runs along rows of the grid.
    Mesh mesh(Matrix<const double> Y, Job& job) override {
        if (k_ == 3) return {};
        start(Y);
        resort(job);
        // A new point is pushed by the mesh alone.
        const auto anew = [&](bool whole) {
            whole_ = whole;
            spacing_ = SPACING;
            reach_ = 0;
            rho_ = {};
        };
        anew(true);
        potential(job);
        const int64_t half = convolve_.half(), rows = convolve_.rows();
        Mesh out;
        out.spacing = 1 / double(grid_.inverse);
        for (int c = 0; c < k_; c++) {
            out.nodes[size_t(c)] = half;
            out.origin[size_t(c)] = double(grid_.origin[c]);
        }
        out.phi.resize(size_t(rows * half));
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < half; c++)
                out.phi[size_t(c * rows + r)] = phi_[r * grid_.stride + c];
        anew(false);
        return out;
    }

private:
    static constexpr int64_t SLACK = 64;  // what is fetched ahead is there
    struct Tile {
        TileView view{};
        std::vector<float> memory;
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
                y_[size_t(i * width_ + c)] =
                    std::clamp(float(Y.row(order_[size_t(i)])[c]), -FARTHEST, FARTHEST);
    }

    // Of the points in slots first .. last - 1.
    double step(int64_t first, int64_t last, float exaggeration, float push, float momentum,
                float rate) {
        constexpr int64_t SOME = 256;
        const auto& kernel = level().embed;
        float force[4 * SOME];
        double moved = 0;
        for (int64_t i = first; i < last; i += SOME) {
            const int64_t count = std::min(SOME, last - i);
            const auto at = size_t(i * width_);
            kernel.attract(y_.data(), k_, i, i + count, starts_.data(), ties_.get(), unit_.data(),
                           exaggeration, force);
            repel(i, count, push, force);
            std::copy_n(&y_[at], count * width_, &next_[at]);
            moved += kernel.advance32(count, width_, momentum, rate, force, &next_[at],
                                      &velocity_[at], &gain_[at]);
        }
        return moved;
    }

    // All that pushes points apart: by the mesh, or pair by pair. Returns Z.
    double pushes(Job& job) {
        if (!pairs_) return potential(job);
        near_.resize(y_.size());
        return std::max((*pairs_)(y_.data(), width_, near_.data(), nullptr, job), least_z());
    }
    // Of points that are all far apart Z is less than its rounding.
    double least_z() const { return 1e-6 * double(n_); }

    // f += scale times the slope of the potential at points.
    void repel(int64_t first, int64_t count, float scale, float* f) const {
        if (!pairs_) level().embed.read(grid_, &y_[size_t(first * width_)], count, scale, f);
        if (pairs_ || reach_ > 0)
            for (int64_t e = 0; e < count * width_; e++)
                f[e] -= 2 * scale * near_[size_t(first * width_ + e)];
    }

    void measure(Job& job) {
        job.parallel(chunks_, [&](int64_t c, int) {
            Box& box = boxes_[size_t(c)];
            level().embed.extent(&y_[size_t(begin(c) * width_)], begin(c + 1) - begin(c), width_,
                                 box.low, box.high);
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

    float span(const Box& box) const {
        float most = 0;
        for (int c = 0; c < k_; c++) most = std::max(most, box.high[c] - box.low[c]);
        return most;
    }
    // Have the chunks grown so much that their tiles are several times the grid?
    bool sprawling() const {
        int64_t cells = 0;
        for (const Tile& tile : tiles_) cells += int64_t(tile.memory.size());
        return k_ == 3 && cells > 4 * convolve_.cells();
    }

    // The potential of all points on a grid that holds them; returns Z.
    double potential(Job& job) {
        const auto& kernel = level().embed;
        fit(job);
        Job alone(1);
        Job& some = convolve_.cells() <= SMALL ? alone : job;
        job.parallel(chunks_, [&](int64_t c, int) {
            const Box& box = boxes_[size_t(c)];
            Tile& tile = tiles_[size_t(c)];
            TileView& view = tile.view;
            size_t cells = 1;
            for (int a = 0; a < 3; a++) {
                const auto node = [&](float y) {
                    return int64_t((y - grid_.origin[a]) * grid_.inverse);
                };
                view.first[a] = a < k_ ? node(box.low[a]) - 1 : 0;
                view.count[a] = a < k_ ? node(box.high[a]) + 3 - view.first[a] : 1;
                cells *= size_t(view.count[a]);
            }
            tile.memory.assign(cells, 0.0f);
            view.cells = tile.memory.data();
            kernel.spread(grid_, &y_[size_t(begin(c) * width_)], begin(c + 1) - begin(c), view);
        });
        // Tiles are added in their order, whoever does it: a plane or some rows at a time.
        const int64_t rows = convolve_.rows(), band = k_ == 3 ? rows : 8;
        const int64_t parts = ceil_div(rows, band), stride = grid_.stride;
        some.parallel(convolve_.planes() * parts, [&](int64_t b, int) {
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
                    kernel.add(to + r * stride + view.first[0],
                               from + (r - view.first[1]) * view.count[0], view.count[0]);
            }
        });
        convolve_(rho_.get(), phi_.get(), some);
        double near = 0;
        if (reach_ > 0) {
            near_.resize(y_.size());
            const Box box = whole();
            near = near_sums(y_.data(), n_, k_, box.low, span(box), reach_, near_.data(), job);
        }
        return std::max(sum_of_phi(some) + near - double(n_), least_z());
    }

    double sum_of_phi(Job& job) const {
        // Reading is the transpose of spreading: the sum of phi over points is one of grids.
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
                sums[size_t(l)] =
                    level().embed.inner(rho_.get() + l * length, phi_.get() + l * length, length);
        });
        return std::accumulate(sums.begin(), sums.end(), 0.0);
    }

    // Is there a coarse mesh and sums over near pairs, if the map is large? Not of a line, not for
    // new points, and not where a plane has many points for each node.
    bool splits() const { return !whole_ && (k_ == 3 || (k_ == 2 && n_ <= SPARSE)); }

    // Work grows with the nodes, and with n^2 / nodes by near pairs.
    int largest() const {
        if (!splits()) return LARGEST[k_ - 1];
        const double nodes = k_ == 3 ? 4.4 * std::cbrt(double(n_)) : 2.5 * std::sqrt(double(n_));
        return std::clamp(good_size(int64_t(nodes)), 2 * SMALLEST, LARGEST[k_ - 1]);
    }

    // A grid for the present places; a larger one only if they need it.
    void fit(Job& job) {
        const Box box = whole();
        // Of a map that has shrunk all pairs would be near.
        const bool anew = reach_ > 0 && 4 * span(box) < SPACING * float(largest());
        if (anew) spacing_ = SPACING, reach_ = 0;
        const int64_t need = 2 * (int64_t(span(box) / spacing_) + 8);
        if (!rho_ || anew || need > convolve_.size()) {
            int size = std::max(k_ == 3 ? SMALLEST : 2 * SMALLEST, good_size(need));
            if (size > largest()) {  // coarser nodes instead of more, and for a while
                size = largest();
                const float more = splits() ? 1.2f : 1.5f;
                spacing_ = std::max(spacing_, more * span(box) / float(size / 2 - 8));
                if (splits()) reach_ = NEAR * spacing_;
            }
            convolve_ = Convolver(k_, size, double(spacing_), double(reach_), job);
            rho_ = Buffer<float>(convolve_.cells() + 64, 0.0f);
            phi_ = Buffer<float>(convolve_.cells() + 64, 0.0f);
        }
        grid_.k = k_;
        grid_.inverse = 1 / spacing_;
        grid_.stride = convolve_.stride();
        grid_.plane = convolve_.rows() * grid_.stride;
        grid_.phi = phi_.get();
        // The middle of the map is on a node.
        for (int c = 0; c < k_; c++)
            grid_.origin[c] = 0.5f * (box.low[c] + box.high[c]) -
                              spacing_ * float(convolve_.half() / 2);
    }

    void resort(Job& job) {
        age_ = 0;
        measure(job);
        const Box box = whole();
        const float unit = (k_ == 3 ? 1023 : 65535) / std::max(span(box), 1e-30f);
        std::vector<std::pair<uint32_t, int32_t>> keys(static_cast<size_t>(n_)), other(keys.size());
        for (int64_t i = 0; i < n_; i++) {
            const auto at = [&](int c) {
                return uint32_t((y_[size_t(i * width_ + c)] - box.low[c]) * unit);
            };
            keys[size_t(i)] = {k_ == 1   ? at(0)
                               : k_ == 2 ? spaced(at(0)) | spaced(at(1)) << 1
                                         : along_curve({at(0), at(1), at(2)}),
                               int32_t(i)};
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
                std::copy_n(&(*v)[size_t(keys[size_t(i)].second) * size_t(width_)], width_,
                            &next_[size_t(i * width_)]);
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
    int k_, width_;  // width_: entries of a point
    int64_t chunks_, age_ = 0;  // age_: steps since the last sorting
    std::vector<int64_t> starts_, spare_starts_;  // of ties, sixteen by sixteen
    std::vector<float> unit_, spare_unit_;
    Buffer<Ties> ties_, spare_ties_;
    std::vector<int32_t> order_;  // the row in each slot
    std::vector<Tile> tiles_;
    std::vector<Box> boxes_;
    std::vector<float> y_, next_, velocity_, gain_, near_;
    float spacing_ = SPACING, reach_ = 0;  // reach_: pairs nearer than that are summed
    bool whole_ = false;  // is the mesh to be all there is?
    std::optional<AllPairs<float>> pairs_;
    Convolver convolve_;
    GridView grid_{};
    Buffer<float> rho_, phi_;
};

}  // namespace

std::unique_ptr<Descent> meshed(Lists P, const double* values, int k, bool pairs) {
    return std::make_unique<Meshed>(P, values, k, pairs);
}

}  // namespace lowd
