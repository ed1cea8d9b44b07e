#include "lowd/graphs.hpp"

#include <array>
#include <limits>
#include <memory>
#include <numeric>

#include "drive.hpp"

namespace lowd {

namespace {

// Cuts the nodes in two, and the parts again, until a part has at most `most` sources. Parts are
// cut across their longest way: first the nodes that are near to one end in steps, then the rest.
// So nodes that are near in the graph get near places, whatever the order of the input was.
class Bisection {
public:
    Bisection(Lists graph, std::span<const int64_t> sources, int most)
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
        for (int level = 0; level < MOST_LEVELS && !parts_.empty(); level++) {
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
    static constexpr int MOST_LEVELS = 40;  // one node may be asked for many times

    // A part that must be cut gets the next name.
    void keep(const Part& part) {
        const bool cut_again = part.sources > most_ && part.end - part.begin > 1;
        for (int64_t i = part.begin; i < part.end; i++)
            part_[size_t(nodes_[size_t(i)])] = cut_again ? int32_t(parts_.size()) : -1;
        if (cut_again) parts_.push_back(part);
    }

    std::array<Part, 2> cut(const Part& part, int32_t name, int level) {
        walk(part, name, 2 * level);
        std::swap(nodes_[size_t(part.begin)], nodes_[size_t(part.end - 1)]);  // a far one first
        walk(part, name, 2 * level + 1);
        // The middle, but whole groups of sources on the left.
        const int64_t half = round_up(ceil_div(part.sources, 2), most_);
        int64_t middle = part.begin, left = 0;
        while (middle < part.end - 1 && left < half)
            left += sources_[size_t(nodes_[size_t(middle++)])];
        return {Part{part.begin, middle, left}, Part{middle, part.end, part.sources - left}};
    }

    // Puts the nodes of a part in breadth-first order from its first one; those that the part does
    // not connect follow with their own.
    void walk(const Part& part, int32_t name, int32_t mark) {
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
                for (int64_t e = graph_.starts[node]; e < graph_.starts[node + 1]; e++)
                    see(graph_.members[e]);
            }
        }
        std::copy(queue_.begin() + part.begin, queue_.begin() + part.end,
                  nodes_.begin() + part.begin);
    }

    Lists graph_;
    int most_;
    std::vector<int32_t> nodes_, queue_, part_, seen_, sources_;
    std::vector<Part> parts_;
};

// Nodes by the number of steps from one; those out of reach follow.
template <class T>
void breadth_first(const Edges<T>& graph, int32_t from, uint8_t* seen, PathOrder& order) {
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
            for (int64_t e = graph.starts[node]; e < graph.starts[node + 1]; e++)
                see(graph.ends[e]);
        }
    }
    for (int64_t c = 0; c <= PATH_CLASSES; c++)
        order.starts[c] = int32_t(ceil_div(c * graph.nodes, PATH_CLASSES));
    for (int64_t q = 0; q < graph.nodes; q++)
        order.classes[order.nodes[q]] = uint16_t(q * PATH_CLASSES / graph.nodes);
}

// The graph with its nodes in another order.
template <class T>
class Reordered {
public:
    Reordered(Lists graph, const T* lengths, std::span<const int32_t> nodes)
        : places_(nodes.size()), starts_(nodes.size() + 1, 0), ends_(graph.starts.back()),
          lengths_(graph.starts.back()) {
        const auto n = int64_t(nodes.size());
        for (int64_t p = 0; p < n; p++) {
            places_[size_t(nodes[p])] = int32_t(p);
            starts_[size_t(p + 1)] = starts_[size_t(p)] + graph.size(nodes[p]);
        }
        for (int64_t p = 0; p < n; p++) {
            int64_t old = graph.starts[nodes[p]];
            for (int64_t e = starts_[size_t(p)]; e < starts_[size_t(p + 1)]; e++, old++) {
                ends_[e] = places_[size_t(graph.members[old])];
                lengths_[e] = lengths[old];
            }
        }
    }
    Edges<T> edges() const {
        return {int64_t(places_.size()), starts_.data(), ends_.get(), lengths_.get()};
    }
    const int32_t* places() const { return places_.data(); }
    double mean_length() const {
        double sum = 0;
        for (int64_t e = 0; e < starts_.back(); e++) sum += std::min<double>(lengths_[e], 1e300);
        return sum / double(std::max<int64_t>(starts_.back(), 1));
    }

private:
    std::vector<int32_t> places_;
    std::vector<int64_t> starts_;
    Buffer<int32_t> ends_;
    Buffer<T> lengths_;
};

// A group of sources as the kernel wants it: where their paths begin.
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
    void add(const Lists& from, const T* first, int64_t source, const int32_t* places) {
        for (int64_t e = from.starts[source]; e < from.starts[source + 1]; e++) {
            nodes.push_back(places[from.members[e]]);
            steps.push_back(first ? first[e] : T(0));
        }
        starts[++count] = int32_t(nodes.size());
    }
};

// What a thread keeps from one group of sources to the next.
template <class T>
struct Walker {
    Buffer<T> lines;
    Buffer<uint8_t> fell;
    Buffer<uint16_t> classes;
    Buffer<int32_t> nodes, starts;
    Group<T> begins;
    int sources = 0;  // of the group before

    explicit Walker(int64_t n)
        : lines(n * (64 / int64_t(sizeof(T)))),
          fell(n),
          classes(n),
          nodes(n),
          starts(PATH_CLASSES + 1) {}
    PathOrder order() const { return {nodes.get(), classes.get(), starts.get()}; }
};

// The lengths from every source go to row(source, s, worker), s being its number in a group; then
// done(source, s, worker) is told.
template <class T, class Row, class Done>
void walk(Lists graph, const T* lengths, Lists from, const T* steps, Job& job, Row row, Done done) {
    constexpr int LANES = Group<T>::LANES;
    const auto& kernel = kernels<T>();
    const int64_t n = graph.count(), sources = from.count(), groups = ceil_div(sources, LANES);
    job.expect(groups);
    if (!groups) return;

    // The graph with its nodes in an order of nearness, and the sources in the same order.
    std::vector<int64_t> home(static_cast<size_t>(sources));
    for (int64_t s = 0; s < sources; s++) home[size_t(s)] = from.size(s) ? from.list(s)[0] : 0;
    const std::vector<int32_t> nodes = Bisection(graph, home, LANES).run(job);
    const Reordered<T> ordered(graph, lengths, nodes);
    const Edges<T> edges = ordered.edges();
    const int32_t* const places = ordered.places();
    std::vector<int64_t> order(static_cast<size_t>(sources));
    std::iota(order.begin(), order.end(), 0);
    const auto place = [&](int64_t s) { return places[home[size_t(s)]]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return place(a) < place(b); });

    // Nodes are visited by their distance from the group before, which was near: nearly Dijkstra's
    // order, without a queue. The first group of a thread has steps instead. Windows of 16 edges in
    // length were best on a Swiss roll; where a graph has no such length, all of it is one window.
    constexpr double WINDOW = 16;
    const double length = ordered.mean_length();
    std::vector<std::unique_ptr<Walker<T>>> walkers(size_t(job.threads()));
    job.parallel(groups, [&](int64_t group, int worker) {
        auto& walker = walkers[size_t(worker)];
        if (!walker) walker = std::make_unique<Walker<T>>(n);
        const int64_t first = group * LANES;
        const int count = int(std::min<int64_t>(LANES, sources - first));
        const int64_t* const members = &order[size_t(first)];
        Group<T>& begins = walker->begins;
        begins.clear();
        T* rows[LANES];
        for (int s = 0; s < count; s++) {
            begins.add(from, steps, members[s], places);
            rows[s] = row(members[s], s, worker);
        }
        const int32_t middle = place(members[count / 2]);
        PathOrder visits = walker->order();
        double share = 1;
        if (walker->sources) {
            const T* const line = &walker->lines[middle * int64_t(LANES)];
            const int lane = int(std::min_element(line, line + walker->sources) - line);
            const double most = kernel.nearest_first(walker->lines.get(), n, lane, visits);
            share = std::min(1.0, WINDOW * length / std::max(most, 1e-300));
        } else {
            breadth_first(edges, middle, walker->fell.get(), visits);
        }
        const int64_t window = std::max<int64_t>(256, int64_t(share * double(n)));
        kernel.paths(edges, begins.starts, begins.nodes.data(), begins.steps.data(), count, visits,
                     window, walker->fell.get(), walker->lines.get());
        walker->sources = count;
        kernel.rows_of_lines(walker->lines.get(), places, n, rows, count);
        for (int s = 0; s < count; s++) done(members[s], s, worker);
    });
}

// Nodes that wait in classes of length, for the nearest to tell their neighbors first. The classes
// are a ring: all that wait are within SPAN of them.
class Waiting {
public:
    static constexpr int64_t SPAN = 1024;

    void add(int64_t of, int32_t node) {
        int32_t& first = first_[size_t(of % SPAN)];
        entries_.push_back({node, first});
        first = int32_t(entries_.size() - 1);
        count_++;
    }
    bool empty() const { return !count_; }
    // A node of the class, -1 if there is none.
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

// How wide the classes of `Waiting` are; 0 if lengths differ too much for any width.
template <class T>
double class_width(Lists graph, const T* lengths, const T* steps, int64_t count) {
    double sum = 0, most = 0;
    for (int64_t e = 0; e < graph.starts.back(); e++) {
        sum += lengths[e];
        most = std::max<double>(most, lengths[e]);
    }
    for (int64_t e = 0; steps && e < count; e++) most = std::max<double>(most, steps[e]);
    const double width = 0.5 * sum / double(std::max<int64_t>(graph.starts.back(), 1));
    return most < width * double(Waiting::SPAN - 2) ? width : 0;
}

// The lengths from one source; no order of visits changes their bits (see `paths` in graphs.inl).
template <class T>
void walk_alone(Lists graph, const T* lengths, Lists from, const T* steps, int64_t source,
                double width, T* out) {
    const T infinity = std::numeric_limits<T>::infinity();
    std::fill_n(out, graph.count(), infinity);
    std::vector<T> told(size_t(graph.count()), infinity);  // the length that neighbors know of
    Waiting waiting;
    const auto reach = [&](int32_t node, T length) {
        if (!(length < out[node])) return;
        out[node] = length;
        waiting.add(int64_t(double(length) / width), node);
    };
    for (int64_t e = from.starts[source]; e < from.starts[source + 1]; e++)
        reach(from.members[e], steps ? steps[e] : T(0));
    for (int64_t now = 0; !waiting.empty(); now++)
        for (int32_t node; (node = waiting.take(now)) >= 0;) {
            const T mine = out[node];
            if (told[size_t(node)] == mine) continue;
            told[size_t(node)] = mine;
            for (int64_t e = graph.starts[node]; e < graph.starts[node + 1]; e++)
                reach(graph.members[e], mine + lengths[e]);
        }
}

}  // namespace

template <class T>
void paths(Lists graph, const T* lengths, Lists from, const T* steps, Matrix<T> out, Job& job) {
    // A vector of sources takes as long as three of them alone.
    if (from.count() && from.count() <= 3)
        if (const double width = class_width(graph, lengths, steps, from.starts.back())) {
            job.expect(from.count());
            job.parallel(from.count(), [&](int64_t source, int) {
                walk_alone(graph, lengths, from, steps, source, width, out.row(source));
            });
            return;
        }
    walk(
        graph, lengths, from, steps, job, [&](int64_t source, int, int) { return out.row(source); },
        [](int64_t, int, int) {});
}

template <class T>
void ring(Lists graph, const T* lengths, Matrix<T> out, Job& job) {
    const int64_t n = graph.count();
    std::vector<int64_t> starts(static_cast<size_t>(n + 1));
    std::vector<int32_t> nodes(static_cast<size_t>(n));
    std::iota(starts.begin(), starts.end(), 0);
    std::iota(nodes.begin(), nodes.end(), 0);
    Scratch<T> whole(job, Group<T>::LANES * n);
    walk<T>(
        graph, lengths, {starts, nodes}, nullptr, job,
        [&](int64_t, int s, int worker) { return whole[worker] + s * n; },
        [&](int64_t node, int s, int worker) {
            const T* const row = whole[worker] + s * n;
            T* const to = out.row(node);
            const int64_t first = std::min(n - node - 1, out.cols);
            std::copy_n(row + node + 1, first, to);
            std::copy_n(row, out.cols - first, to + first);
            // Of two rows that face each other the first holds the pair.
            if (2 * out.cols == n && node >= out.cols) to[out.cols - 1] = 0;
        });
}

#define INSTANTIATE(T)                                                            \
    template void paths(Lists, const T*, Lists, const T*, Matrix<T>, Job&);       \
    template void ring(Lists, const T*, Matrix<T>, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
