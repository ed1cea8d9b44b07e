// Orders of the nodes of a graph in which neighbors are near each other.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "lowd/buffer.hpp"
#include "lowd/levels/shortest_paths.hpp"
#include "lowd/matrix.hpp"
#include "lowd/ragged.hpp"
#include "lowd/threads.hpp"

namespace lowd {

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

}  // namespace lowd
