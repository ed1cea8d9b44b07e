// Table of the kernels of shortest paths; see shortest_paths.inl.
#pragma once

#include <cstdint>

namespace lowd {

// A graph in CSR form: the edges of node i are those from indptr[i] to indptr[i + 1].
template <class T>
struct Edges {
    int64_t nodes;
    const int64_t* indptr;
    const int32_t* ends;
    const T* lengths;
};

// The order in which nodes are visited, in buckets: bucket b is nodes[starts[b]] .. .
inline constexpr int PATH_BUCKETS = 4096;
struct VisitOrder {
    int32_t* nodes;
    uint16_t* buckets;  // bucket of each node
    int32_t* starts;  // PATH_BUCKETS + 1 entries
};

template <class T>
struct PathKernels {
    // Orders nodes by their distances in one lane; returns the largest finite one.
    T (*order_by_distance)(const T* lines, int64_t nodes, int lane, VisitOrder& order);
    // lines (nodes, 64 bytes) = distances from at most 64 / sizeof(T) sources, source s being a
    // step of length steps[e] away from node begins[e], starts[s] <= e < starts[s + 1]; order and
    // window are a matter of speed only. changed: one per node.
    void (*shortest_paths)(const Edges<T>& graph, const int32_t* starts, const int32_t* begins,
                           const T* steps, int count, const VisitOrder& order, int64_t window,
                           uint8_t* changed, T* lines);
    void (*rows_from_lines)(const T* lines, const int32_t* positions, int64_t nodes, T* const* rows,
                            int count);
};

}  // namespace lowd
