// Shortest paths, and products with the geodesic distances of all pairs.

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/levels.hpp"
#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"
#include "graph/graph.hpp"
#include "graph/kernels.hpp"
#include "linear/operands.hpp"

namespace lowd {

// Orders of the nodes of a graph in which neighbors are near each other.

// Recursive bisection of the nodes until a part has at most `most` sources. Parts are cut across
// their longest path: first the nodes that are few steps from one end, then the others. So nodes
// that are near in the graph get near positions, whatever the order of the input was.
class Bisection {
public:
    Bisection(Ragged graph, std::span<const int64_t> sources, int most)
        : graph_(graph),
          most_(most),
          nodes_(size_t(graph.count())),
          queue_(nodes_.size()),
          part_(nodes_.size(), 0),
          seen_(nodes_.size(), -1),
          sources_(nodes_.size(), 0) {
        std::iota(nodes_.begin(), nodes_.end(), 0);
        for (int64_t s : sources) sources_[size_t(s)]++;
        keep({0, int64_t(nodes_.size()), int64_t(sources.size())});
    }

    // The nodes in their order.
    std::vector<int32_t> run(Job& job) {
        for (int level = 0; level < MAX_LEVELS && !parts_.empty(); level++) {
            const std::vector<Part> parts = std::exchange(parts_, {});
            std::vector<std::array<Part, 2>> halves(parts.size());
            job.parallel(
                int64_t(parts.size()),
                [&](int64_t p, int) {
                    halves[size_t(p)] = cut(parts[size_t(p)], int32_t(p), level);
                },
                0);
            for (const auto& pair : halves)
                for (const Part& half : pair) keep(half);
        }
        return std::move(nodes_);
    }

private:
    struct Part {
        int64_t begin = 0, end = 0, sources = 0;
    };
    static constexpr int MAX_LEVELS = 40;  // deep enough even if one node is many sources

    // A part that must be cut gets the next number.
    void keep(const Part& part) {
        const bool cut_again = part.sources > most_ && part.end - part.begin > 1;
        for (int64_t i = part.begin; i < part.end; i++)
            part_[size_t(nodes_[size_t(i)])] = cut_again ? int32_t(parts_.size()) : -1;
        if (cut_again) parts_.push_back(part);
    }

    std::array<Part, 2> cut(const Part& part, int32_t name, int level) {
        breadth_first_part(part, name, 2 * level);
        // A distant node comes first.
        std::swap(nodes_[size_t(part.begin)], nodes_[size_t(part.end - 1)]);
        breadth_first_part(part, name, 2 * level + 1);
        // The middle, but whole groups of sources on the left.
        const int64_t half = round_up(ceil_div(part.sources, 2), most_);
        int64_t middle = part.begin, left = 0;
        while (middle < part.end - 1 && left < half)
            left += sources_[size_t(nodes_[size_t(middle++)])];
        return {Part{part.begin, middle, left}, Part{middle, part.end, part.sources - left}};
    }

    // Puts the nodes of a part in breadth-first order from its first one; other
    // connected components follow.
    void breadth_first_part(const Part& part, int32_t name, int32_t mark) {
        int64_t tail = part.begin;
        const auto see = [&](int32_t node) {
            if (part_[size_t(node)] != name || seen_[size_t(node)] == mark) return;
            seen_[size_t(node)] = mark;
            queue_[size_t(tail++)] = node;
        };
        for (int64_t i = part.begin, head = part.begin; i < part.end; i++) {
            see(nodes_[size_t(i)]);
            for (; head < tail; head++) {
                const int32_t node = queue_[size_t(head)];
                for (int64_t e = graph_.indptr[node]; e < graph_.indptr[node + 1]; e++)
                    see(graph_.indices[e]);
            }
        }
        std::copy(queue_.begin() + part.begin, queue_.begin() + part.end,
                  nodes_.begin() + part.begin);
    }

    Ragged graph_;
    int most_;
    std::vector<int32_t> nodes_, queue_, part_, seen_, sources_;
    std::vector<Part> parts_;
};

// Nodes by the number of steps from one; unreachable ones follow.
template <class T>
void breadth_first(const Edges<T>& graph, int32_t from, uint8_t* seen, VisitOrder& order) {
    std::fill_n(seen, graph.nodes, uint8_t(0));
    int64_t head = 0, tail = 0;
    const auto see = [&](int32_t node) {
        if (!seen[node]) order.nodes[tail++] = node;
        seen[node] = 1;
    };
    for (int64_t next = -1; tail < graph.nodes; next++) {
        see(next < 0 ? from : int32_t(next));
        for (; head < tail; head++) {
            const int32_t node = order.nodes[head];
            for (int64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; e++)
                see(graph.ends[e]);
        }
    }
    for (int64_t c = 0; c <= PATH_BUCKETS; c++)
        order.starts[c] = int32_t(ceil_div(c * graph.nodes, PATH_BUCKETS));
    for (int64_t q = 0; q < graph.nodes; q++)
        order.buckets[order.nodes[q]] = uint16_t(q * PATH_BUCKETS / graph.nodes);
}

// The graph with its nodes in another order.
template <class T>
class ReorderedGraph {
public:
    ReorderedGraph(Ragged graph, const T* lengths, std::span<const int32_t> nodes)
        : positions_(nodes.size()),
          indptr_(nodes.size() + 1, 0),
          ends_(graph.indptr.back()),
          lengths_(graph.indptr.back()) {
        const auto n = int64_t(nodes.size());
        for (int64_t p = 0; p < n; p++) {
            positions_[size_t(nodes[p])] = int32_t(p);
            indptr_[size_t(p + 1)] = indptr_[size_t(p)] + graph.size(nodes[p]);
        }
        for (int64_t p = 0; p < n; p++) {
            int64_t old = graph.indptr[nodes[p]];
            for (int64_t e = indptr_[size_t(p)]; e < indptr_[size_t(p + 1)]; e++, old++) {
                ends_[e] = positions_[size_t(graph.indices[old])];
                lengths_[e] = lengths[old];
            }
        }
    }
    Edges<T> edges() const {
        return {int64_t(positions_.size()), indptr_.data(), ends_.get(), lengths_.get()};
    }
    const int32_t* positions() const { return positions_.data(); }
    double mean_length() const {
        double sum = 0;
        for (int64_t e = 0; e < indptr_.back(); e++) sum += std::min<double>(lengths_[e], 1e300);
        return sum / double(std::max<int64_t>(indptr_.back(), 1));
    }

private:
    std::vector<int32_t> positions_;
    std::vector<int64_t> indptr_;
    Buffer<int32_t> ends_;
    Buffer<T> lengths_;
};

namespace {

// A group of sources for the kernel: where their paths begin.
template <class T>
struct Group {
    static constexpr int LANES = 64 / sizeof(T);
    int count = 0;
    int32_t starts[LANES + 1] = {0};
    std::vector<int32_t> nodes;
    std::vector<T> steps;

    void clear() {
        count = 0;
        nodes.clear();
        steps.clear();
    }
    void add(const Ragged& from, const T* first, int64_t source, const int32_t* positions) {
        for (int64_t e = from.indptr[source]; e < from.indptr[source + 1]; e++) {
            nodes.push_back(positions[from.indices[e]]);
            steps.push_back(first ? first[e] : T(0));
        }
        starts[++count] = int32_t(nodes.size());
    }
};

// What a thread keeps from one group of sources to the next.
template <class T>
struct PathWorkspace {
    Buffer<T> lines;
    Buffer<uint8_t> changed;
    Buffer<uint16_t> buckets;
    Buffer<int32_t> nodes, starts;
    Group<T> begins;
    int sources = 0;  // number of sources in the previous group

    explicit PathWorkspace(int64_t n)
        : lines(n * (64 / int64_t(sizeof(T)))),
          changed(n),
          buckets(n),
          nodes(n),
          starts(PATH_BUCKETS + 1) {}
    VisitOrder order() const { return {nodes.get(), buckets.get(), starts.get()}; }
};

// The distances from every source go to row(source, s, worker), s being its index in a group; then
// done(source, s, worker) is called.
template <class T, class Row, class Done>
void paths_by_groups(Ragged graph, const T* lengths, Ragged from, const T* steps, Job& job, Row row,
                     Done done) {
    constexpr int LANES = Group<T>::LANES;
    const auto& kernel = kernels<T>();
    const int64_t n = graph.count(), sources = from.count(), groups = ceil_div(sources, LANES);
    job.expect(groups);
    if (!groups) return;

    // The graph with its nodes in an order that keeps neighbors together, and the sources likewise.
    std::vector<int64_t> first_node(static_cast<size_t>(sources));
    for (int64_t s = 0; s < sources; s++) first_node[size_t(s)] = from.size(s) ? from.row(s)[0] : 0;
    const std::vector<int32_t> nodes = Bisection(graph, first_node, LANES).run(job);
    const ReorderedGraph<T> ordered(graph, lengths, nodes);
    const Edges<T> edges = ordered.edges();
    const int32_t* const positions = ordered.positions();
    std::vector<int64_t> order(static_cast<size_t>(sources));
    std::iota(order.begin(), order.end(), 0);
    const auto position = [&](int64_t s) { return positions[first_node[size_t(s)]]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return position(a) < position(b); });

    // Nodes are visited by their distance from the previous group, which was near: nearly
    // Dijkstra's order, without a queue. The first group of a thread is ordered by steps instead.
    // Windows of 16 edges in length were best on a Swiss roll; a graph without such a length is one
    // window.
    constexpr double WINDOW = 16;
    const double length = ordered.mean_length();
    std::vector<std::unique_ptr<PathWorkspace<T>>> spaces(size_t(job.threads()));
    job.parallel(groups, [&](int64_t group, int worker) {
        auto& space = spaces[size_t(worker)];
        if (!space) space = std::make_unique<PathWorkspace<T>>(n);
        const int64_t first = group * LANES;
        const int count = int(std::min<int64_t>(LANES, sources - first));
        const int64_t* const members = &order[size_t(first)];
        Group<T>& begins = space->begins;
        begins.clear();
        T* rows[LANES];
        for (int s = 0; s < count; s++) {
            begins.add(from, steps, members[s], positions);
            rows[s] = row(members[s], s, worker);
        }
        const int32_t middle = position(members[count / 2]);
        VisitOrder visits = space->order();
        double share = 1;
        if (space->sources) {
            const T* const line = &space->lines[middle * int64_t(LANES)];
            const int lane = int(std::min_element(line, line + space->sources) - line);
            const double most = kernel.order_by_distance(space->lines.get(), n, lane, visits);
            share = std::min(1.0, WINDOW * length / std::max(most, 1e-300));
        } else {
            breadth_first(edges, middle, space->changed.get(), visits);
        }
        const int64_t window = std::max<int64_t>(256, int64_t(share * double(n)));
        kernel.shortest_paths(edges, begins.starts, begins.nodes.data(), begins.steps.data(), count,
                              visits, window, space->changed.get(), space->lines.get());
        space->sources = count;
        kernel.rows_from_lines(space->lines.get(), positions, n, rows, count);
        for (int s = 0; s < count; s++) done(members[s], s, worker);
    });
}

// Buckets of nodes by distance, nearest first, as in delta-stepping. They are used cyclically: all
// nodes in the queue are within SPAN buckets.
class BucketQueue {
public:
    static constexpr int64_t SPAN = 1024;

    void add(int64_t of, int32_t node) {
        int32_t& first = first_[size_t(of % SPAN)];
        entries_.push_back({node, first});
        first = int32_t(entries_.size() - 1);
        count_++;
    }
    bool empty() const { return !count_; }
    // A node of the bucket, or -1 if there is none.
    int32_t take(int64_t of) {
        int32_t& first = first_[size_t(of % SPAN)];
        if (first < 0) return -1;
        const Entry entry = entries_[size_t(first)];
        first = entry.next;
        count_--;
        return entry.node;
    }

private:
    struct Entry {
        int32_t node, next;
    };
    std::vector<Entry> entries_;
    std::vector<int32_t> first_ = std::vector<int32_t>(SPAN, -1);
    int64_t count_ = 0;
};

// The width of the buckets of `BucketQueue`; 0 if lengths differ too much for any width.
template <class T>
double bucket_width(Ragged graph, const T* lengths, const T* steps, int64_t count) {
    double sum = 0, most = 0;
    for (int64_t e = 0; e < graph.indptr.back(); e++) {
        sum += lengths[e];
        most = std::max<double>(most, lengths[e]);
    }
    for (int64_t e = 0; steps && e < count; e++) most = std::max<double>(most, steps[e]);
    const double width = 0.5 * sum / double(std::max<int64_t>(graph.indptr.back(), 1));
    return most < width * double(BucketQueue::SPAN - 2) ? width : 0;
}

// The distances from one source; no order of visits changes their bits (see shortest_paths.inl).
template <class T>
void paths_from_one(Ragged graph, const T* lengths, Ragged from, const T* steps, int64_t source,
                    double width, T* out) {
    const T infinity = std::numeric_limits<T>::infinity();
    std::fill_n(out, graph.count(), infinity);
    std::vector<T> expanded(size_t(graph.count()), infinity);  // the distance when last expanded
    BucketQueue queue;
    const auto update = [&](int32_t node, T length) {
        if (!(length < out[node])) return;
        out[node] = length;
        queue.add(int64_t(double(length) / width), node);
    };
    for (int64_t e = from.indptr[source]; e < from.indptr[source + 1]; e++)
        update(from.indices[e], steps ? steps[e] : T(0));
    for (int64_t now = 0; !queue.empty(); now++)
        for (int32_t node; (node = queue.take(now)) >= 0;) {
            const T mine = out[node];
            if (expanded[size_t(node)] == mine) continue;
            expanded[size_t(node)] = mine;
            for (int64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; e++)
                update(graph.indices[e], mine + lengths[e]);
        }
}

}  // namespace

template <class T>
void shortest_paths(Ragged graph, const T* lengths, Ragged from, const T* steps, Matrix<T> out,
                    Job& job) {
    // A vector of sources takes as long as three of them alone.
    if (from.count() && from.count() <= 3)
        if (const double width = bucket_width(graph, lengths, steps, from.indptr.back())) {
            job.expect(from.count());
            job.parallel(from.count(), [&](int64_t source, int) {
                paths_from_one(graph, lengths, from, steps, source, width, out.row(source));
            });
            return;
        }
    paths_by_groups(
        graph, lengths, from, steps, job, [&](int64_t source, int, int) { return out.row(source); },
        [](int64_t, int, int) {});
}

template <class T>
void geodesic_half(Ragged graph, const T* lengths, Matrix<T> out, Job& job) {
    const int64_t n = graph.count();
    std::vector<int64_t> starts(static_cast<size_t>(n + 1));
    std::vector<int32_t> nodes(static_cast<size_t>(n));
    std::iota(starts.begin(), starts.end(), 0);
    std::iota(nodes.begin(), nodes.end(), 0);
    Scratch<T> whole(job, Group<T>::LANES * n);
    paths_by_groups<T>(
        graph, lengths, {starts, nodes}, nullptr, job,
        [&](int64_t, int s, int worker) { return whole[worker] + s * n; },
        [&](int64_t node, int s, int worker) {
            const T* const row = whole[worker] + s * n;
            T* const to = out.row(node);
            const int64_t first = std::min(n - node - 1, out.cols);
            std::copy_n(row + node + 1, first, to);
            std::copy_n(row, out.cols - first, to + first);
            // The first of two opposite nodes holds the pair.
            if (2 * out.cols == n && node >= out.cols) to[out.cols - 1] = 0;
        });
}

// Products with a half-stored matrix of geodesic distances.
template <class T>
void geodesic_products(Matrix<const T> half, Matrix<const T> V, Matrix<double> out, Job& job) {
    const auto& kernel = kernels<T>();
    const int64_t n = half.rows, size = half.cols, b = V.cols;
    const int groups = int(ceil_div(b, GROUP));
    // Each slab of rows adds to its own sums for the columns that it covers.
    const int64_t slab = round_up(ceil_div(n, 16), HALF_ROWS), slabs = ceil_div(n, slab);
    const int64_t covered = slab + size, span = round_up(covered, HALF_COLUMNS) + HALF_COLUMNS;
    const int64_t ld = round_up(n + span, PANEL<T>), area = groups * GROUP * span;
    Buffer<T> cyclic(ld * b);  // V twice, so that no strip wraps around
    for (int64_t k = 0; k < ld; k++) std::copy_n(V.row(k % n), b, &cyclic[k * b]);
    const Buffer<T> columns = interleave_columns<T>({cyclic.get(), ld, b, b}, GROUP, ld);
    const Buffer<double> sums(slabs * area, 0.0);
    Scratch<T> scratch(job, HALF_ROWS * (HALF_COLUMNS + groups * GROUP));
    Scratch<double> products(job, HALF_ROWS * groups * GROUP);
    job.expect(slabs);
    job.parallel(slabs, [&](int64_t s, int worker) {
        const int64_t end = std::min(n, (s + 1) * slab);
        for (int64_t i = s * slab; i < end; i += HALF_ROWS) {
            const int rows = int(std::min<int64_t>(HALF_ROWS, end - i));
            T* const own = scratch[worker] + HALF_ROWS * HALF_COLUMNS;
            double* const z = products[worker];
            std::fill_n(own, HALF_ROWS * groups * GROUP, T(0));
            for (int r = 0; r < rows; r++)
                for (int64_t c = 0; c < b; c++)
                    own[(c / GROUP * rows + r) * GROUP + c % GROUP] = V.row(i + r)[c];
            kernel.geodesic_products(
                {half.row(i), half.stride, rows, size, &columns[i * GROUP], groups, ld, own},
                scratch[worker], z, &sums[s * area + i - s * slab], span);
            for (int r = 0; r < rows; r++)
                for (int64_t c = 0; c < b; c++)
                    out.row(i + r)[c] = z[(c / GROUP * rows + r) * GROUP + c % GROUP];
        }
    });
    constexpr int64_t BLOCK = 512;
    job.parallel(
        ceil_div(n, BLOCK),
        [&](int64_t block, int) {
            const int64_t end = std::min(n, (block + 1) * BLOCK);
            for (int64_t s = 0; s < slabs; s++)
                for (int64_t j = block * BLOCK; j < end; j++)
                    for (int64_t q = (j - s * slab + n) % n; q < covered; q += n)
                        for (int64_t c = 0; c < b; c++)
                            out.row(j)[c] += sums[s * area + c * span + q];
        },
        0);
}

#define INSTANTIATE(T)                                                                 \
    template void shortest_paths(Ragged, const T*, Ragged, const T*, Matrix<T>, Job&); \
    template void geodesic_half(Ragged, const T*, Matrix<T>, Job&);                    \
    template void geodesic_products(Matrix<const T>, Matrix<const T>, Matrix<double>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
