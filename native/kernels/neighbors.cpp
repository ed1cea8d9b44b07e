// Exact neighbors without most of the distances.
//
// Rows are put into an order where near rows are near, and cut into blocks. Pairs of blocks are
// visited nearest first. Whole pairs of blocks or panels are skipped by their boxes; of the rest a
// float32 product over the leading features, with rigorous bounds on what is missing, rules out
// nearly all pairs; the few that are left are measured in float64. A bound that is too loose costs
// time, never a neighbor.
#include "lowd/neighbors.hpp"

#include <array>
#include <climits>
#include <cstring>
#include <mutex>
#include <numeric>
#include <tuple>

#include "drive.hpp"

namespace lowd {

namespace {

constexpr int P = PANEL<float>, BLOCK = SEARCH_BLOCK, PANELS = BLOCK / P;
constexpr int LOOKED_AT = 32;  // leading features that decide on the order of rows
constexpr int SIDES = 8;  // of boxes: leading features
// Squares are far below it (entries are scaled to 2^30): the limit of a row whose list is not full.
constexpr float FAR = 1e37f;
constexpr float PADDING = 1e38f;  // the half norm of a row that does not exist: its pairs are dead
constexpr double ROUNDING = 0x1p-24;  // of float32

const Search& kit() { return level().search; }

float gap(const float* a, const float* b, int64_t features, float scale = 1,
          float limit = HUGE_VALF) {
    return kit().gap(a, b, features, scale, limit);
}

float above(double v) {
    const auto f = float(v);
    return double(f) < v ? std::nextafterf(f, HUGE_VALF) : f;
}
float below(double v) {
    const auto f = float(v);
    return double(f) > v ? std::nextafterf(f, -HUGE_VALF) : f;
}

// ---- The order of rows ----

// A direction in which some rows differ much: a few power iterations on a sample.
void direction(Matrix<const float> Z, int features, const int32_t* rows, int64_t count, float* v) {
    constexpr int64_t SAMPLE = 128;
    constexpr int ITERATIONS = 4;
    const int64_t step = std::max<int64_t>(1, count / SAMPLE), size = ceil_div(count, step);
    std::array<float, LOOKED_AT> mean{};
    thread_local std::vector<float> sample;
    sample.assign(size_t(size * LOOKED_AT), 0.0f);
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++) {
            sample[r * LOOKED_AT + q] = Z.row(rows[r * step])[q];
            mean[q] += sample[r * LOOKED_AT + q] / float(size);
        }
    std::fill_n(v, LOOKED_AT, 0.0f);
    float most = 0;
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++) {
            float& u = sample[r * LOOKED_AT + q];
            u -= mean[q];
            most = std::max(most, std::abs(u));
        }
    if (!(most > 0)) return;
    for (float& u : sample) u /= most;
    for (int64_t r = 0; r < size; r++)
        for (int q = 0; q < features; q++)
            v[q] += sample[r * LOOKED_AT + q] * sample[r * LOOKED_AT + q];
    for (int i = 0; i < ITERATIONS; i++) {
        std::array<float, LOOKED_AT> next{};
        for (int64_t r = 0; r < size; r++) {
            const float* const u = &sample[r * LOOKED_AT];
            float part[8] = {};
            for (int q = 0; q < LOOKED_AT; q += 8)
                for (int l = 0; l < 8; l++) part[l] += u[q + l] * v[q + l];
            const float s = ((part[0] + part[4]) + (part[2] + part[6])) +
                            ((part[1] + part[5]) + (part[3] + part[7]));
            for (int q = 0; q < LOOKED_AT; q++) next[q] += s * u[q];
        }
        float square = 0;
        for (float x : next) square += x * x;
        if (!(square > 0)) return;
        const float scale = 1 / std::sqrt(square);
        for (int q = 0; q < LOOKED_AT; q++) v[q] = next[q] * scale;
    }
}

// Halves again and again, down to panels; only the last block may be short.
Buffer<int32_t> near_order(Matrix<const float> Z, Job& job) {
    struct Node {
        int64_t first, end;
    };
    const int features = int(std::min<int64_t>(Z.cols, LOOKED_AT));
    Buffer<int32_t> order(Z.rows);
    std::iota(order.get(), order.get() + Z.rows, 0);
    std::vector<Node> nodes{{0, Z.rows}}, next;
    while (!nodes.empty()) {
        job.parallel(
            int64_t(nodes.size()),
            [&](int64_t i, int) {
                const auto [first, end] = nodes[size_t(i)];
                const int64_t count = end - first, unit = count > BLOCK ? BLOCK : P;
                if (count <= P) return;
                alignas(64) float v[LOOKED_AT];
                int32_t* const rows = order.get() + first;
                direction(Z, features, rows, count, v);
                thread_local std::vector<float> place;
                thread_local std::vector<std::pair<float, int32_t>> key;
                place.resize(size_t(count)), key.resize(size_t(count));
                kit().along(Z.data, Z.stride, rows, count, features, v, place.data());
                for (int64_t r = 0; r < count; r++) key[r] = {place[r], rows[r]};
                std::nth_element(key.begin(), key.begin() + round_up(count / 2, unit), key.end());
                for (int64_t r = 0; r < count; r++) rows[r] = key[r].second;
            },
            0);
        next.clear();
        for (const auto [first, end] : nodes) {
            const int64_t count = end - first, unit = count > BLOCK ? BLOCK : P;
            if (count <= P) continue;
            const int64_t middle = first + round_up(count / 2, unit);
            next.push_back({first, middle});
            if (middle < end) next.push_back({middle, end});
        }
        nodes.swap(next);
    }
    return order;
}

// ---- Bounds ----

// With x, y centered and scaled, U the orthonormal columns that `z = U'x + e` was made with,
// |e| <= error |x|, and r the length of what U leaves out:
//   -|x - y|^2 / 2 <= <U'x, U'y> + r_x r_y - |x|^2 / 2 - |y|^2 / 2              (Cauchy, Schwarz)
// Products of z's instead of U'x, U'y change this by at most (error + error^2 / 2)(|x|^2 + |y|^2),
// the float32 sum over m features by (m + 4) 2^-24 of the same. Both go into the half norms, which
// are made smaller; r is rounded up.
//   |z_x - z_y| <= |x - y| + error (|x| + |y|) <= (1 + error) |x - y| + 2 error |x|
// bounds the form with differences row by row.
struct Bounds {
    int64_t cols, features;
    double error, product, scale;
    bool differences = false;
    bool narrow;  // rows may be scaled in float32
    std::vector<int> ladder;  // possible check points

    Bounds(int64_t d, int64_t m, Frame frame)
        : cols(d),
          features(m),
          error(frame.error),
          scale(frame.scale),
          narrow(0x1p-90 < scale && scale < 0x1p90) {
        product = error + error * error / 2 + 1.01 * double(m + 4) * ROUNDING;
        for (int c : {2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512})
            if (c < m) ladder.push_back(c);
        ladder.push_back(int(m));
    }
    // The squared length of z is known to that times |x|^2.
    double head_error() const { return 2 * error * (1 + error) + error * error + 1e-12; }
    double half(double norm) const { return 0.5 * norm * (1 - 2 * product - 1e-12); }
    double rest(double norm, double head) const {
        return std::sqrt(std::max(0.0, norm - head) + head_error() * norm);
    }
    double rest_at_least(double norm, double head) const {
        return std::sqrt(std::max(0.0, norm - head - head_error() * norm));
    }
    double reach(double norm) const { return 2 * error * std::sqrt(norm); }
    // The largest |z_x - z_y|^2 of a pair with |x - y|^2 <= square.
    float near_limit(double square, float reach) const {
        const double root = (1 + error) * std::sqrt(square) + reach,
                     slack = 1.01 * double(features + 4) * ROUNDING;
        return above(std::min(double(FAR), root * root * (1 + slack)) + tiny());
    }
    float product_limit(double square) const {
        return -above(std::min(double(FAR), square / 2) * (1 + ROUNDING) + tiny());
    }

private:
    double tiny() const { return double(features) * 0x1p-140; }  // squares that underflow
};

// Products lose digits of close pairs, differences cost twice as much: are the nearest rows of a
// panel so close that the bound on products would be a tenth of their distance?
bool needs_differences(Matrix<const float> Z, const int32_t* order, const Bounds& bounds) {
    constexpr int64_t SAMPLE = 64;
    if (bounds.features <= 4) return true;
    const std::vector<float> origin(size_t(Z.cols), 0.0f);
    const int64_t panels = ceil_div(Z.rows, P), step = std::max<int64_t>(1, panels / SAMPLE);
    std::vector<float> share;
    for (int64_t p = 0; p < panels; p += step) {
        const int64_t end = std::min(Z.rows, (p + 1) * P);
        for (int64_t i = p * P; i < end; i++) {
            float least = HUGE_VALF;
            for (int64_t j = p * P; j < end; j++)
                if (j != i)
                    least = std::min(least, gap(Z.row(order[i]), Z.row(order[j]), Z.cols));
            const float norm = gap(Z.row(order[i]), origin.data(), Z.cols);
            if (norm > 0) share.push_back(least / norm);
        }
    }
    if (share.empty()) return false;
    const auto middle = share.begin() + int64_t(share.size() / 2);
    std::nth_element(share.begin(), middle, share.end());
    return 40 * bounds.product > double(*middle);
}

// ---- Rows in their order, as the filter wants them ----

struct Packed {
    int64_t count, blocks;
    Buffer<int32_t> order;
    Buffer<float> panels, half, reach, low, high, rows;
    std::vector<Buffer<float>> rest;  // per step of the ladder
    Buffer<float> box, block_box, middle, panel_middle;
    std::vector<int32_t> least;  // number in a block

    template <class T>
    Packed(Matrix<const T> X, Matrix<const float> Z, const double* center, const Bounds& bounds,
           Buffer<int32_t> in_order, bool keep, Job& job)
        : count(X.rows),
          blocks(ceil_div(X.rows, BLOCK)),
          order(std::move(in_order)),
          panels(blocks * BLOCK * Z.cols),
          half(blocks * BLOCK),
          reach(blocks * BLOCK),
          low(keep ? blocks * BLOCK : 0),
          high(keep ? blocks * BLOCK : 0),
          rows(keep ? blocks * BLOCK * Z.cols : 0),
          box(blocks * 2 * SIDES * PANELS),
          block_box(blocks * 2 * SIDES),
          middle(blocks * LOOKED_AT),
          panel_middle(blocks * PANELS * LOOKED_AT),
          least(size_t(blocks)) {
        for (size_t c = 0; c < bounds.ladder.size(); c++) rest.emplace_back(blocks * BLOCK);
        job.parallel(blocks, [&](int64_t b, int) { pack(b, X, Z, center, bounds, keep); }, 0);
    }

    int64_t size(int64_t b) const { return std::min<int64_t>(BLOCK, count - b * BLOCK); }
    const float* panel(int64_t row, int64_t features) const { return &panels[row * features]; }

private:
    template <class T>
    void pack(int64_t b, Matrix<const T> X, Matrix<const float> Z, const double* center,
              const Bounds& bounds, bool keep) {
        const int64_t m = Z.cols, first = b * BLOCK;
        float* const own = &panels[first * m];
        std::fill_n(own, BLOCK * m, 0.0f);
        std::fill_n(&half[first], BLOCK, PADDING);
        std::fill_n(&reach[first], BLOCK, 0.0f);
        for (auto& r : rest) std::fill_n(&r[first], BLOCK, 0.0f);
        if (keep) std::fill_n(&rows[first * m], BLOCK * m, 0.0f);
        least[size_t(b)] = INT32_MAX;
        for (int64_t r = first; r < first + size(b); r++) {
            const float* const z = Z.row(order[r]);
            least[size_t(b)] = std::min(least[size_t(b)], order[r]);
            float* const panel = own + (r - first) / P * P * m + (r - first) % P;
            for (int64_t q = 0; q < m; q++) panel[q * P] = z[q];
            if (keep) std::memcpy(&rows[r * m], z, size_t(m) * sizeof(float));
            const double root = std::sqrt(kernels<T>().centered_square(X.row(order[r]), center,
                                                                       X.cols)) * bounds.scale,
                         norm = root * root;
            reach[r] = above(bounds.reach(norm));
            half[r] = bounds.differences ? 0 : below(bounds.half(norm));
            double head = 0;
            int64_t q = 0;
            for (size_t c = 0; c < rest.size(); c++) {
                for (; q < bounds.ladder[c]; q++) head += double(z[q]) * z[q];
                rest[c][r] = bounds.differences || q == bounds.cols
                                 ? 0
                                 : above(bounds.rest(norm, head));
            }
            if (keep) {
                low[r] = q == bounds.cols ? 0 : below(bounds.rest_at_least(norm, head));
                high[r] = q == bounds.cols ? 0 : above(bounds.rest(norm, head));
            }
        }
        enclose(b, Z);
    }
    void enclose(int64_t b, Matrix<const float> Z) {
        const int sides = int(std::min<int64_t>(SIDES, Z.cols));
        const int64_t first = b * BLOCK, end = first + size(b);
        float *const lo = &box[b * 2 * SIDES * PANELS], *const hi = lo + SIDES * PANELS,
                     *const all = &block_box[b * 2 * SIDES];
        // Panels without rows stay inside out: infinitely far from all others.
        std::fill_n(lo, SIDES * PANELS, FAR / 1e19f);
        std::fill_n(hi, SIDES * PANELS, -FAR / 1e19f);
        for (int q = sides; q < SIDES; q++)
            for (int p = 0; p < PANELS; p++) lo[q * PANELS + p] = hi[q * PANELS + p] = 0;
        for (int64_t r = first; r < end; r++) {
            const float* const z = Z.row(order[r]);
            for (int q = 0; q < sides; q++) {
                float &l = lo[q * PANELS + (r - first) / P], &h = hi[q * PANELS + (r - first) / P];
                l = std::min(l, z[q]);
                h = std::max(h, z[q]);
            }
        }
        for (int q = 0; q < SIDES; q++) {
            all[q] = *std::min_element(lo + q * PANELS, lo + (q + 1) * PANELS);
            all[SIDES + q] = *std::max_element(hi + q * PANELS, hi + (q + 1) * PANELS);
        }
        const int features = int(std::min<int64_t>(LOOKED_AT, Z.cols));
        float *const mean = &middle[b * LOOKED_AT],
                     *const means = &panel_middle[b * PANELS * LOOKED_AT];
        std::fill_n(mean, LOOKED_AT, 0.0f);
        std::fill_n(means, PANELS * LOOKED_AT, 0.0f);
        for (int64_t r = first; r < end; r++) {
            const int64_t p = (r - first) / P;
            const auto others = float(std::min<int64_t>(P, end - first - p * P));
            for (int q = 0; q < features; q++) {
                mean[q] += Z.row(order[r])[q] / float(size(b));
                means[p * LOOKED_AT + q] += Z.row(order[r])[q] / others;
            }
        }
    }
};

float box_gap(float lo_a, float hi_a, float lo_b, float hi_b) {
    return std::max(0.0f, std::max(lo_b - hi_a, lo_a - hi_b));
}
float block_gap(const Packed& a, int64_t i, const Packed& b, int64_t j) {
    const float *x = &a.block_box[i * 2 * SIDES], *y = &b.block_box[j * 2 * SIDES];
    float square = 0;
    for (int q = 0; q < SIDES; q++) {
        const float gap = box_gap(x[q], x[SIDES + q], y[q], y[SIDES + q]);
        square += gap * gap;
    }
    return square;
}

// The blocks of b, nearest first (the block itself, if a is b, is left out).
std::vector<int32_t> near_blocks(const Packed& a, int64_t i, const Packed& b) {
    std::vector<std::pair<float, int32_t>> by_distance;
    by_distance.reserve(size_t(b.blocks));
    for (int64_t j = 0; j < b.blocks; j++)
        if (&a != &b || i != j)
            by_distance.emplace_back(
                gap(&a.middle[i * LOOKED_AT], &b.middle[j * LOOKED_AT], LOOKED_AT),
                int32_t(j));
    std::sort(by_distance.begin(), by_distance.end());
    std::vector<int32_t> near;
    for (const auto& [distance, j] : by_distance) near.push_back(j);
    return near;
}

// ---- The lists of the k best so far ----
// Always sorted, so that limits are always sharp and the order of insertion does not matter. (To
// collect and select later is cheaper per entry, but stale limits let more pairs through.) They lie
// in the order of the rows while they are worked on: near rows share pages.

class Lists {
public:
    Lists(const Packed& rows, const Bounds& bounds, Metric metric, Matrix<int32_t> ids,
          Matrix<double> distances, Job& job)
        : rows_(rows),
          bounds_(bounds),
          metric_(metric),
          to_filter_(bounds.scale / metric.unit * (bounds.scale / metric.unit)),
          k_(ids.cols),
          ids_(rows.count * k_),
          distances_(rows.count * k_),
          limit_(rows.blocks * BLOCK),
          near_(rows.blocks * BLOCK),
          settled_(rows.blocks * BLOCK),
          loosest_(size_t(rows.blocks)),
          any_settled_(size_t(rows.blocks), 0),
          locks_(size_t(rows.blocks)) {
        job.parallel(
            rows.blocks,
            [&](int64_t b, int) {
                std::fill_n(&limit_[b * BLOCK], BLOCK, FAR);
                std::fill_n(&near_[b * BLOCK], BLOCK, -1.0f);
                std::fill_n(&settled_[b * BLOCK], BLOCK, INT32_MAX);
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++) {
                    std::copy_n(ids.row(rows.order[r]), k_, &ids_[r * k_]);
                    std::copy_n(distances.row(rows.order[r]), k_, &distances_[r * k_]);
                    refresh(r);
                }
                loosen(b);
            },
            0);
    }

    void copy_to(Matrix<int32_t> ids, Matrix<double> distances, Job& job) const {
        job.parallel(
            rows_.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows_.size(b); r++) {
                    std::copy_n(&ids_[r * k_], k_, ids.row(rows_.order[r]));
                    std::copy_n(&distances_[r * k_], k_, distances.row(rows_.order[r]));
                }
            },
            0);
    }
    const int32_t* ids(int64_t r) const { return &ids_[r * k_]; }

    std::mutex& lock(int64_t b) { return locks_[size_t(b)]; }
    float loosest(int64_t b) const { return loosest_[size_t(b)].load(std::memory_order_relaxed); }
    void loosen(int64_t b) {
        loosest_[size_t(b)].store(*std::max_element(&near_[b * BLOCK], &near_[b * BLOCK] + BLOCK),
                                  std::memory_order_relaxed);
    }
    // Limits for rows whose partners are numbered from `least` on. A full list of copies wants
    // nothing from higher numbers: without this, equal rows would all be compared with each other.
    void copy_limits(int64_t b, int64_t first, int64_t count, int32_t least, float* limit,
                     float* near) const {
        std::copy_n(&limit_[first], count, limit);
        std::copy_n(&near_[first], count, near);
        if (any_settled_[size_t(b)])
            for (int64_t r = 0; r < count; r++)
                if (settled_[first + r] < least) {
                    limit[r] = FAR;
                    near[r] = -1;
                }
    }
    float near(int64_t r) const { return near_[r]; }
    double to_filter() const { return to_filter_; }
    const Metric& metric() const { return metric_; }

    void insert(int64_t r, double distance, int32_t id) {
        const int64_t k = k_;
        double* const d = &distances_[r * k];
        int32_t* const n = &ids_[r * k];
        if (distance > d[k - 1] || (distance == d[k - 1] && id > n[k - 1] && n[k - 1] >= 0)) return;
        int64_t at = std::lower_bound(d, d + k, distance) - d;
        while (at < k && d[at] == distance && n[at] < id && n[at] >= 0) at++;
        if (at == k || (d[at] == distance && n[at] == id)) return;
        std::memmove(d + at + 1, d + at, size_t(k - 1 - at) * sizeof *d);
        std::memmove(n + at + 1, n + at, size_t(k - 1 - at) * sizeof *n);
        d[at] = distance;
        n[at] = id;
        refresh(r);
    }

private:
    void refresh(int64_t r) {
        const int64_t last = r * k_ + k_ - 1;
        if (ids_[last] < 0) {
            near_[r] = FAR;
            limit_[r] = -FAR;
            return;
        }
        const double distance = distances_[last];
        const double square = metric_.square(distance) * to_filter_;
        near_[r] = bounds_.near_limit(square, rows_.reach[r]);
        limit_[r] = bounds_.differences ? -near_[r] : bounds_.product_limit(square);
        if (distance == 0) {
            settled_[r] = ids_[last];
            any_settled_[size_t(r / BLOCK)] = 1;
        }
    }

    const Packed& rows_;
    const Bounds& bounds_;
    const Metric metric_;
    const double to_filter_;  // from squares in the metric's unit to those of the filter
    const int64_t k_;
    Buffer<int32_t> ids_;
    Buffer<double> distances_;
    Buffer<float> limit_, near_;
    Buffer<int32_t> settled_;
    std::vector<std::atomic<float>> loosest_;
    std::vector<char> any_settled_;
    std::vector<std::mutex> locks_;
};

// ---- Check points ----

struct Schedule {
    int checks = 0;
    std::array<int, CHECKS> step{};  // of the ladder
};

// How many tiles and pairs of a sample are alive at each step of the ladder.
struct Census {
    int64_t looked_at = 0;
    std::array<int64_t, CHECKS> tiles{}, pairs{};
};

// The check points that cost least on the sample. Costs are in cycles: a tile costs tile_rows x 2
// vectors of multiply-adds per feature; a look about as much as three features.
Schedule cheapest(const Bounds& bounds, const Census& census, bool refined) {
    const int steps = int(bounds.ladder.size());
    const double per_feature = kit().tile_rows * 2.0 * (bounds.differences ? 2 : 1),
                 look = kit().tile_rows * 6.0,
                 exact = 60 + 0.4 * double(bounds.cols),
                 refine = 30 + 0.12 * double(bounds.features);
    std::array<double, CHECKS + 1> reach{};  // [s + 1]: cost until alive after step s
    std::array<int, CHECKS + 1> from{};
    double best = HUGE_VAL;
    int last = steps - 1;
    reach[0] = 0;
    for (int s = 0; s < steps; s++) {
        double least = HUGE_VAL;
        for (int p = -1; p < s; p++) {
            const double alive = double(p < 0 ? census.looked_at : census.tiles[p]);
            const int features = bounds.ladder[s] - (p < 0 ? 0 : bounds.ladder[p]);
            const double cost = reach[p + 1] + alive * (features * per_feature + look);
            if (cost < least) {
                least = cost;
                from[s + 1] = p;
            }
        }
        reach[s + 1] = least;
        const double after = refined && s + 1 < steps
                                 ? double(census.pairs[s]) * refine +
                                       double(census.pairs[steps - 1]) * exact
                                 : double(census.pairs[s]) * exact;
        if (least + after < best) {
            best = least + after;
            last = s;
        }
    }
    Schedule schedule;
    for (int s = last; s >= 0; s = from[s + 1]) schedule.step[schedule.checks++] = s;
    std::reverse(schedule.step.begin(), schedule.step.begin() + schedule.checks);
    return schedule;
}

// ---- Pairs of blocks ----

// What one thread needs.
struct Desk {
    std::vector<uint32_t> pairs = std::vector<uint32_t>(size_t(P) * BLOCK);
    std::vector<double> square = std::vector<double>(size_t(P) * BLOCK);
    alignas(64) float limit_a[P], near_a[P], limit_b[BLOCK], near_b[BLOCK];
};

using Masks = std::array<uint16_t, PANELS>;  // one bit per panel of the other block
constexpr uint16_t EVERY = (1u << PANELS) - 1;
constexpr Masks every() {
    Masks masks{};
    masks.fill(EVERY);
    return masks;
}

// The rows themselves. Short ones are copied into the order of the search: near rows then share
// pages.
template <class T>
class Originals {
public:
    Originals(Matrix<const T> X, const Packed& rows, Job& job) : X_(X), order_(rows.order.get()) {
        constexpr int64_t SHORT = 128;
        if (X.cols > SHORT) return;
        copy_ = Buffer<T>(X.rows * X.cols);
        job.parallel(
            rows.blocks,
            [&](int64_t b, int) {
                for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++)
                    std::copy_n(X.row(order_[r]), X.cols, &copy_[r * X.cols]);
            },
            0);
    }
    const T* operator[](int64_t r) const {
        return copy_ ? &copy_[r * X_.cols] : X_.row(order_[r]);
    }

private:
    Matrix<const T> X_;
    const int32_t* order_;
    Buffer<T> copy_;
};

template <class T>
struct Side {
    const Originals<T>& X;
    const Packed& rows;
    Lists* lists;  // null: these rows look for nothing
};

template <class T>
class Meeting {
public:
    Meeting(const Bounds& bounds, Side<T> a, Side<T> b, bool refined)
        : bounds_(bounds), a_(a), b_(b), same_(&a.rows == &b.rows), refined_(refined) {}

    bool hopeless(int64_t i, int64_t j) const {
        const float limit = std::max(a_.lists->loosest(i), b_.lists ? b_.lists->loosest(j) : -1);
        return block_gap(a_.rows, i, b_.rows, j) > limit;
    }

    // `panels`: those of block j that each panel of block i meets.
    void meet(int64_t i, int64_t j, const Masks& panels, const Schedule& schedule,
              Desk& desk) const {
        if (same_ && i == j) {  // each pair once; a panel with itself first: then all have limits
            for (int apart = 0; apart < PANELS; apart++)
                for (int p = 0; p + apart < PANELS; p++)
                    strip(i, p, j, 1u << (p + apart), schedule, desk);
        } else {
            if (hopeless(i, j)) return;
            for (int p = 0; p < PANELS; p++)
                if (panels[size_t(p)]) strip(i, p, j, panels[size_t(p)], schedule, desk);
        }
        tighten(a_, i);
        if (b_.lists && i != j) tighten(b_, j);
    }

    void count(int64_t i, int p, int64_t j, uint32_t panels, Census& census, Desk& desk) const {
        Schedule all;
        while (all.checks < int(bounds_.ladder.size())) {
            all.step[all.checks] = all.checks;
            all.checks++;
        }
        const Strip s = facing(i, p, j, panels, all, desk);
        const int tiles = P / kit().tile_rows * (P / kit().tile_columns);
        census.looked_at += int64_t(__builtin_popcount(s.live)) * tiles;
        kit().census(s, census.tiles.data(), census.pairs.data());
    }

private:
    static void tighten(const Side<T>& side, int64_t block) {
        const std::scoped_lock lock(side.lists->lock(block));
        side.lists->loosen(block);
    }

    // Panel p of block i against panels of block j, with the limits of now.
    Strip facing(int64_t i, int p, int64_t j, uint32_t panels, const Schedule& schedule,
                 Desk& desk) const {
        const int64_t row = i * BLOCK + p * P, col = j * BLOCK, m = bounds_.features;
        {
            const std::scoped_lock lock(a_.lists->lock(i));
            a_.lists->copy_limits(i, row, P, b_.rows.least[size_t(j)], desk.limit_a, desk.near_a);
        }
        if (b_.lists) {
            const std::scoped_lock lock(b_.lists->lock(j));
            b_.lists->copy_limits(j, col, BLOCK, a_.rows.least[size_t(i)], desk.limit_b,
                                  desk.near_b);
        } else {
            std::fill_n(desk.limit_b, BLOCK, FAR);
            std::fill_n(desk.near_b, BLOCK, -1.0f);
        }
        Strip s{};
        s.a = a_.rows.panel(row, m), s.b = b_.rows.panel(col, m);
        s.half_a = &a_.rows.half[row], s.half_b = &b_.rows.half[col];
        s.limit_a = desk.limit_a, s.limit_b = desk.limit_b;
        for (s.checks = 0; s.checks < schedule.checks; s.checks++) {
            const auto step = size_t(schedule.step[size_t(s.checks)]);
            s.at[s.checks] = bounds_.ladder[step];
            s.rest_a[s.checks] = &a_.rows.rest[step][row];
            s.rest_b[s.checks] = &b_.rows.rest[step][col];
        }
        s.features = m;
        s.live = panels & within_reach(i, p, j, desk);
        s.differences = bounds_.differences;
        return s;
    }

    // The panels of block j whose boxes are not too far from the box of panel p of block i.
    uint32_t within_reach(int64_t i, int p, int64_t j, const Desk& desk) const {
        const float *const lo = &a_.rows.box[i * 2 * SIDES * PANELS],
                    *const hi = lo + SIDES * PANELS,
                    *const lo_b = &b_.rows.box[j * 2 * SIDES * PANELS],
                    *const hi_b = lo_b + SIDES * PANELS;
        float square[PANELS] = {}, limit[PANELS];
        for (int q = 0; q < SIDES; q++) {
            const float from = lo[q * PANELS + p], to = hi[q * PANELS + p];
            for (int r = 0; r < PANELS; r++) {
                const float up = lo_b[q * PANELS + r] - to, down = from - hi_b[q * PANELS + r];
                float gap = up > down ? up : down;
                gap = gap > 0 ? gap : 0;
                square[r] += gap * gap;
            }
        }
        const float own = *std::max_element(desk.near_a, desk.near_a + P);
        uint32_t live = 0;
        for (int r = 0; r < PANELS; r++) {
            float most[8];
            std::copy_n(desk.near_b + r * P, 8, most);
            for (int c = 8; c < P; c += 8)
                for (int l = 0; l < 8; l++) {
                    const float v = desk.near_b[r * P + c + l];
                    most[l] = most[l] > v ? most[l] : v;
                }
            limit[r] = std::max(own, *std::max_element(most, most + 8));
            live |= uint32_t(square[r] <= limit[r]) << r;
        }
        return live;
    }

    void strip(int64_t i, int p, int64_t j, uint32_t panels, const Schedule& schedule,
               Desk& desk) const {
        const Strip s = facing(i, p, j, panels, schedule, desk);
        if (!s.live) return;
        const int64_t row = i * BLOCK + p * P, col = j * BLOCK, m = bounds_.features;
        uint32_t* const pairs = desk.pairs.data();
        int count = kit().strip(s, pairs);
        if (same_ && i == j)  // a panel meets itself: each pair twice, and rows themselves
            count = int(std::remove_if(pairs, pairs + count,
                                       [&](uint32_t e) {
                                           return int(e & 0xffff) <= p * P + int(e >> 16);
                                       }) -
                        pairs);
        if (refined_ && s.at[s.checks - 1] < m && count) {
            const float *const low[2] = {&a_.rows.low[row], &b_.rows.low[col]},
                               *const high[2] = {&a_.rows.high[row], &b_.rows.high[col]};
            count = kit().refine(&a_.rows.rows[row * m], &b_.rows.rows[col * m], m, low, high,
                                 desk.near_a, desk.near_b, pairs, count);
        }
        count = measure(row, col, count, desk);
        if (count) insert(i, row, j, col, count, desk);
    }

    // Float64 squares of the pairs that are left; those above both limits go.
    int measure(int64_t row, int64_t col, int count, Desk& desk) const {
        constexpr int AHEAD = 3;
        const Metric& metric = a_.lists->metric();
        const double back = 1 / a_.lists->to_filter();
        int kept = 0;
        for (int q = 0; q < count; q++) {
            if (q + AHEAD < count) {
                const uint32_t e = desk.pairs[size_t(q + AHEAD)];
                __builtin_prefetch(a_.X[row + (e >> 16)]);
                __builtin_prefetch(b_.X[col + (e & 0xffff)]);
            }
            const uint32_t e = desk.pairs[size_t(q)], i = e >> 16, j = e & 0xffff;
            const float near = std::max(desk.near_a[i], desk.near_b[j]);
            const T *const x = a_.X[row + i], *const y = b_.X[col + j];
            if constexpr (sizeof(T) == 4) {  // float32 rows as they are: only their sum is rounded
                const float reach = near * float(1 + double(bounds_.cols + 8) * 2 * ROUNDING);
                if (bounds_.narrow &&
                    gap(x, y, bounds_.cols, float(bounds_.scale), reach) > reach)
                    continue;
            }
            const double limit = double(near) * back;
            const double square =
                kernels<T>().difference_square(x, y, bounds_.cols, metric.unit, limit);
            if (square > limit) continue;
            desk.square[size_t(kept)] = square;
            desk.pairs[size_t(kept++)] = e;
        }
        return kept;
    }

    void insert(int64_t i, int64_t row, int64_t j, int64_t col, int count, Desk& desk) const {
        std::unique_lock mine(a_.lists->lock(i), std::defer_lock);
        std::unique_lock<std::mutex> theirs;
        if (b_.lists && !(same_ && i == j)) {
            theirs = std::unique_lock(b_.lists->lock(j), std::defer_lock);
            std::lock(mine, theirs);
        } else {
            mine.lock();
        }
        const Metric& metric = a_.lists->metric();
        for (int q = 0; q < count; q++) {
            const int64_t x = row + (desk.pairs[size_t(q)] >> 16),
                          y = col + (desk.pairs[size_t(q)] & 0xffff);
            const double distance = metric.distance(desk.square[size_t(q)]);
            a_.lists->insert(x, distance, b_.rows.order[y]);
            if (b_.lists) b_.lists->insert(y, distance, a_.rows.order[x]);
        }
    }

    const Bounds& bounds_;
    const Side<T> a_, b_;
    const bool same_, refined_;
};

// Ranks where the way through the features is chosen anew: near pairs live longer.
constexpr std::array<int64_t, 6> STAGES{0, 1, 4, 12, 48, INT64_MAX};

}  // namespace

template <class T>
struct Finder<T>::Parts {
    Matrix<const T> X;
    std::vector<double> center;
    Bounds bounds;
    std::unique_ptr<Packed> rows;
    std::unique_ptr<Originals<T>> originals;
    bool refined = false, kept = false;

    Parts(Matrix<const T> x, int64_t m, Frame frame)
        : X(x), center(frame.center, frame.center + x.cols), bounds(x.cols, m, frame) {}
};

template <class T>
Finder<T>::Finder(Matrix<const T> X, Matrix<const float> Z, Frame frame, bool polished, Job& job)
    : parts_(std::make_unique<Parts>(X, Z.cols, frame)) {
    Parts& p = *parts_;
    Buffer<int32_t> order = near_order(Z, job);
    p.bounds.differences = needs_differences(Z, order.get(), p.bounds);
    p.refined = Z.cols < X.cols || sizeof(T) == 8;  // float32 rows are their own second sight
    p.kept = p.refined || polished;
    p.rows = std::make_unique<Packed>(X, Z, p.center.data(), p.bounds, std::move(order), p.kept,
                                      job);
    p.originals = std::make_unique<Originals<T>>(X, *p.rows, job);
}

template <class T>
Finder<T>::~Finder() = default;

template <class T>
int64_t Finder<T>::groups() const {
    return ceil_div(parts_->rows->count, P);
}
template <class T>
int64_t Finder<T>::coordinates() const {
    return std::min<int64_t>(LOOKED_AT, parts_->bounds.features);
}
template <class T>
void Finder<T>::middles(Matrix<float> out) const {
    for (int64_t g = 0; g < groups(); g++)
        std::copy_n(&parts_->rows->panel_middle[g * LOOKED_AT], out.cols, out.row(g));
}

// A pair of blocks, i <= j; near pairs have low ranks.
template <class T>
struct Finder<T>::Item {
    int32_t i, j, rank;
    Masks panels;

    // Both views of a pair as one.
    static void merge(std::vector<Item>& items) {
        for (Item& item : items) {
            if (item.i <= item.j) continue;
            std::swap(item.i, item.j);
            Masks turned{};
            for (int p = 0; p < PANELS; p++)
                for (int q = 0; q < PANELS; q++)
                    if (item.panels[size_t(p)] >> q & 1) turned[size_t(q)] |= uint16_t(1u << p);
            item.panels = turned;
        }
        std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
            return std::tie(a.i, a.j, a.rank) < std::tie(b.i, b.j, b.rank);
        });
        size_t kept = 0;
        for (const Item& item : items) {
            if (kept && items[kept - 1].i == item.i && items[kept - 1].j == item.j) {
                for (size_t p = 0; p < PANELS; p++) items[kept - 1].panels[p] |= item.panels[p];
            } else {
                items[kept++] = item;
            }
        }
        items.resize(kept);
        std::stable_sort(items.begin(), items.end(),
                         [](const Item& a, const Item& b) { return a.rank < b.rank; });
    }
};

template <class T>
void Finder<T>::join(Metric metric, Matrix<int32_t> ids, Matrix<double> distances,
                     Job& job) const {
    const Packed& rows = *parts_->rows;
    std::vector<std::vector<int32_t>> near(static_cast<size_t>(rows.blocks));
    job.parallel(
        rows.blocks, [&](int64_t i, int) { near[size_t(i)] = near_blocks(rows, i, rows); }, 0);
    std::vector<Item> items;
    items.reserve(size_t(rows.blocks * rows.blocks));
    for (int32_t i = 0; i < rows.blocks; i++) {
        int32_t rank = 0;
        items.push_back({i, i, rank, every()});
        for (const int32_t j : near[size_t(i)]) items.push_back({i, j, ++rank, every()});
    }
    join(metric, std::move(items), ids, distances, job);
}

template <class T>
void Finder<T>::join(Metric metric, Matrix<const int32_t> near, Matrix<int32_t> ids,
                     Matrix<double> distances, Job& job) const {
    const Packed& rows = *parts_->rows;
    std::vector<std::vector<Item>> found(static_cast<size_t>(rows.blocks));
    job.parallel(
        rows.blocks,
        [&](int64_t i, int) {
            std::vector<int32_t> place(size_t(rows.blocks), -1);
            auto& items = found[size_t(i)];
            items.push_back({int32_t(i), int32_t(i), 0, every()});
            for (int64_t g = i * PANELS; g < std::min(near.rows, (i + 1) * PANELS); g++)
                for (int64_t q = 0; q < near.cols; q++) {
                    const int32_t other = near.row(g)[q], j = other / PANELS;
                    if (j == i) continue;
                    if (place[size_t(j)] < 0) {
                        place[size_t(j)] = int32_t(items.size());
                        items.push_back({int32_t(i), j, int32_t(q + 1), {}});
                    }
                    Item& item = items[size_t(place[size_t(j)])];
                    item.rank = std::min(item.rank, int32_t(q + 1));
                    item.panels[size_t(g - i * PANELS)] |= uint16_t(1u << other % PANELS);
                }
        },
        0);
    std::vector<Item> items;
    for (const auto& some : found) items.insert(items.end(), some.begin(), some.end());
    join(metric, std::move(items), ids, distances, job);
}

template <class T>
void Finder<T>::join(Metric metric, std::vector<Item> items, Matrix<int32_t> ids,
                     Matrix<double> distances, Job& job) const {
    const Parts& p = *parts_;
    const Packed& rows = *p.rows;
    Lists lists(rows, p.bounds, metric, ids, distances, job);
    Item::merge(items);
    const Meeting<T> meeting(p.bounds, {*p.originals, rows, &lists},
                             {*p.originals, rows, &lists}, p.refined);
    std::vector<Desk> desks(size_t(job.threads()));
    job.expect(int64_t(items.size()));
    Schedule schedule;
    schedule.checks = 1;
    schedule.step[0] = int(p.bounds.ladder.size()) - 1;
    size_t from = 0;
    for (size_t stage = 0; stage + 1 < STAGES.size(); stage++) {
        size_t to = from;
        while (to < items.size() && items[to].rank < STAGES[stage + 1]) to++;
        const size_t count = to - from;
        if (!count) continue;
        if (items[from].rank > 0) {
            constexpr size_t SAMPLE = 24;
            Census census;
            for (size_t s = 0; s < SAMPLE; s++) {
                const Item& item = items[from + (2 * s + 1) * count / (2 * SAMPLE)];
                const uint32_t panels = item.panels[s % PANELS];
                if (panels && !meeting.hopeless(item.i, item.j))
                    meeting.count(item.i, int(s) % PANELS, item.j, panels, census, desks[0]);
            }
            if (census.looked_at) schedule = cheapest(p.bounds, census, p.refined);
        }
        const auto batch = size_t(count > 100000 ? 16 : 1);
        job.parallel(
            ceil_div(int64_t(count), int64_t(batch)),
            [&](int64_t b, int worker) {
                const size_t start = from + size_t(b) * batch;
                for (size_t w = start; w < std::min(to, start + batch); w++)
                    meeting.meet(items[w].i, items[w].j, items[w].panels, schedule,
                                 desks[size_t(worker)]);
            },
            int64_t(batch));
        from = to;
    }
    lists.copy_to(ids, distances, job);
}

template <class T>
double Finder<T>::open(Metric metric, Matrix<int32_t> ids, Matrix<double> distances,
                       Job& job) const {
    const Parts& p = *parts_;
    Lists lists(*p.rows, p.bounds, metric, ids, distances, job);
    const Meeting<T> meeting(p.bounds, {*p.originals, *p.rows, &lists},
                             {*p.originals, *p.rows, &lists}, false);
    std::vector<int64_t> found(size_t(p.rows->blocks));
    job.parallel(
        p.rows->blocks,
        [&](int64_t i, int) {
            for (int64_t j = 0; j < i; j++) found[size_t(i)] += !meeting.hopeless(i, j);
        },
        0);
    const auto blocks = double(p.rows->blocks);
    return 2 * double(std::accumulate(found.begin(), found.end(), int64_t(0))) / (blocks * blocks);
}

template <class T>
void Finder<T>::polish(Metric metric, Matrix<int32_t> ids, Matrix<double> distances,
                       Job& job) const {
    const Parts& p = *parts_;
    const Packed& rows = *p.rows;
    const int64_t k = ids.cols, m = p.bounds.features;
    Lists lists(rows, p.bounds, metric, ids, distances, job);
    Buffer<int32_t> place(rows.count), old(rows.count * k);
    for (int64_t r = 0; r < rows.count; r++) place[rows.order[r]] = int32_t(r);
    job.parallel(
        rows.blocks,
        [&](int64_t b, int) {
            for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++)
                for (int64_t q = 0; q < k; q++) {
                    const int32_t id = lists.ids(r)[q];
                    old[r * k + q] = id < 0 ? -1 : place[id];
                }
        },
        0);
    std::vector<std::vector<int32_t>> seen(size_t(job.threads()));
    job.expect(rows.blocks);
    job.parallel(rows.blocks, [&](int64_t b, int worker) {
        auto& mark = seen[size_t(worker)];
        if (mark.empty()) mark.assign(size_t(rows.count), -1);
        for (int64_t r = b * BLOCK; r < b * BLOCK + rows.size(b); r++) {
            const int32_t* const mine = &old[r * k];
            const T* const x = (*p.originals)[r];
            mark[size_t(r)] = int32_t(r);
            for (int64_t q = 0; q < k; q++)
                if (mine[q] >= 0) mark[size_t(mine[q])] = int32_t(r);
            for (int64_t q = 0; q < k; q++)
                for (int64_t l = 0; l < k && mine[q] >= 0; l++) {
                    const int32_t c = old[mine[q] * k + l];
                    if (c < 0 || mark[size_t(c)] == int32_t(r)) continue;
                    mark[size_t(c)] = int32_t(r);
                    const float limit = lists.near(r);
                    if (gap(&rows.rows[r * m], &rows.rows[c * m], m, 1, limit) > limit) continue;
                    const double square = kernels<T>().difference_square(
                        x, (*p.originals)[c], p.X.cols, metric.unit,
                        std::numeric_limits<double>::infinity());
                    lists.insert(r, metric.distance(square), rows.order[c]);
                }
        }
    });
    lists.copy_to(ids, distances, job);
}

template <class T>
void Finder<T>::query(Matrix<const T> Q, Matrix<const float> Z, Metric metric,
                      Matrix<int32_t> ids, Matrix<double> distances, Job& job) const {
    const Parts& p = *parts_;
    const Packed& rows = *p.rows;
    const Packed asked(Q, Z, p.center.data(), p.bounds, near_order(Z, job), p.kept, job);
    Lists lists(asked, p.bounds, metric, ids, distances, job);
    const Originals<T> questions(Q, asked, job);
    const Meeting<T> meeting(p.bounds, {questions, asked, &lists}, {*p.originals, rows, nullptr},
                             p.refined);
    std::vector<Desk> desks(size_t(job.threads()));
    job.expect(asked.blocks);
    job.parallel(asked.blocks, [&](int64_t i, int worker) {
        const std::vector<int32_t> near = near_blocks(asked, i, rows);
        Desk& desk = desks[size_t(worker)];
        Schedule schedule;
        schedule.checks = 1;
        schedule.step[0] = int(p.bounds.ladder.size()) - 1;
        size_t stage = 0;
        for (size_t r = 0; r < near.size(); r++) {
            if (int64_t(r) == STAGES[stage]) {
                stage++;
                Census census;
                for (size_t s = 0; r > 0 && s < 4; s++)
                    meeting.count(i, int(s * 3) % PANELS,
                                  near[std::min(near.size() - 1, r + s * r)], EVERY, census, desk);
                if (census.looked_at) schedule = cheapest(p.bounds, census, p.refined);
            }
            meeting.meet(i, near[r], every(), schedule, desk);
        }
    });
    lists.copy_to(ids, distances, job);
}

template class Finder<float>;
template class Finder<double>;

}  // namespace lowd
