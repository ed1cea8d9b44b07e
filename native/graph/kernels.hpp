// Tables of the kernels of this folder; see shortest_paths.inl and local_fits.inl.
#pragma once

#include <cstdint>

namespace lowd {

// Table of kernels of shortest paths; see shortest_paths.inl.

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
    void (*min_plus)(const T* from, int64_t stride, int64_t cols, const int32_t* near,
                     const T* lengths, int64_t count, T* out);
};

// Table of kernels of local fits (barycentric weights, tangent spaces); see local_fits.inl.

// Entries of the scratch memory that a patch of p rows with d entries needs.
static constexpr int64_t patch_scratch(int64_t p, int64_t d) {
    const int64_t wide = (p + 7) / 8 * 8, cols = (d + 7) / 8 * 8;
    return p * cols + 2 * wide * wide + 5 * wide + cols;
}

// For one patch; scratch: patch_scratch(count, cols), factors: vectors of round_up(count, 8).
template <class T>
struct PatchKernels {
    void (*barycenter)(const T* q, const T* x, int64_t stride, int64_t cols, const int32_t* near,
                       int count, double reg, double* scratch, double* weights);
    int (*patch_eigenvalues)(const T* x, int64_t stride, int64_t cols, const int32_t* members,
                             int count, double* scratch, double* values);
    void (*patch_ltsa)(const T* x, int64_t stride, int64_t cols, const int32_t* members, int count,
                       int k, double* scratch, double* factors);
    // basis: 1 + k + k (k + 1) / 2 vectors; the factors are the last of them, then (if remainder >
    // 0) the first.
    void (*patch_hessian)(const T* x, int64_t stride, int64_t cols, const int32_t* members,
                          int count, int k, double remainder, double* scratch, double* basis,
                          double* factors);
    void (*patch_modified)(const T* x, int64_t stride, int64_t cols, const int32_t* members,
                           int count, int taken, double reg, double* scratch, double* factors);
};

}  // namespace lowd
