#include "lowd/shortest_paths.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "graph_order.hpp"
#include "instantiate.hpp"
#include "lowd/buffer.hpp"
#include "lowd/levels.hpp"
#include "scratch.hpp"

namespace lowd {

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

template <class T>
void min_plus(Ragged near, const T* lengths, Matrix<const T> from, Matrix<T> out, Job& job) {
    job.expect(near.count());
    job.parallel(near.count(), [&](int64_t i, int) {
        kernels<T>().min_plus(from.data, from.stride, from.cols, near.row(i),
                              lengths + near.indptr[i], near.size(i), out.row(i));
    });
}

#define INSTANTIATE(T)                                                                 \
    template void shortest_paths(Ragged, const T*, Ragged, const T*, Matrix<T>, Job&); \
    template void geodesic_half(Ragged, const T*, Matrix<T>, Job&);                    \
    template void min_plus(Ragged, const T*, Matrix<const T>, Matrix<T>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
