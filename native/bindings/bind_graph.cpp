#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "bindings/bind.hpp"
#include "graph/graph.hpp"

namespace lowd::python {

namespace {

template <class T>
const T* not_negative(const Array1<const T>& lengths, size_t count) {
    const T* const found = view(lengths, int64_t(count), PER_INDEX);
    require(std::all_of(found, found + count, [](T length) { return length >= 0; }),
            "lengths must not be negative");
    return found;
}

template <class T>
void shortest_paths_of(const Indptr& indptr, const Indices& indices, const Array1<const T>& lengths,
                       const Indptr& source_indptr, const Indices& source_indices,
                       const std::optional<Array1<const T>>& steps, const Array2<T>& out,
                       int threads, nb::handle poll) {
    const int64_t n = int64_t(indptr.shape(0)) - 1;
    const Ragged graph = ragged_of(indptr, indices, n),
                 from = ragged_of(source_indptr, source_indices, n);
    const T* const edges = not_negative(lengths, indices.shape(0));
    const T* const first = steps ? not_negative(*steps, source_indices.shape(0)) : nullptr;
    const auto to = view(out);
    require_shape(to, from.count(), n, "out must have a row per source, a column per node");
    run(threads, poll, [&](Job& job) { shortest_paths(graph, edges, from, first, to, job); });
}

template <class T>
void geodesic_half_of(const Indptr& indptr, const Indices& indices, const Array1<const T>& lengths,
                      const Array2<T>& out, int threads, nb::handle poll) {
    const int64_t n = int64_t(indptr.shape(0)) - 1;
    const Ragged graph = ragged_of(indptr, indices, n);
    const T* const edges = not_negative(lengths, indices.shape(0));
    const auto to = view(out);
    require_shape(to, n, n / 2, "out must have a row per node, a column per two nodes");
    run(threads, poll, [&](Job& job) { geodesic_half(graph, edges, to, job); });
}

template <class T>
void geodesic_products_of(const Array2<const T>& half, const Array2<const T>& V,
                          const Array2<double>& out, int threads, nb::handle poll) {
    const auto g = view(half), v = view(V);
    const auto to = view(out);
    require(g.cols == g.rows / 2, "half must hold half of a square matrix");
    require(v.rows == g.rows, "V must have one row per row of half");
    require_shape(to, v.rows, v.cols, "out must have the shape of V");
    run(threads, poll, [&](Job& job) { geodesic_products(g, v, to, job); });
}

template <class T>
void min_plus_of(const Indptr& indptr, const Indices& indices, const Array1<const T>& lengths,
                 const Array2<const T>& G, const Array2<T>& out, int threads, nb::handle poll) {
    const auto g = view(G);
    const auto to = view(out);
    const Ragged near = ragged_of(indptr, indices, g.rows);
    const T* const edges = view(lengths, int64_t(indices.shape(0)), PER_INDEX);
    require_shape(to, near.count(), g.cols, "out must have a row per list and the columns of G");
    run(threads, poll, [&](Job& job) { min_plus(near, edges, g, to, job); });
}

template <class T>
void barycentric_weights_of(const Array2<const T>& Q, const Array2<const T>& X,
                            const Indptr& indptr, const Indices& indices, double reg,
                            const Array1<double>& out, int threads, nb::handle poll) {
    const auto q = view(Q), x = view(X);
    const Ragged near = ragged_of(indptr, indices, x.rows);
    double* const weights = view(out, int64_t(indices.shape(0)), PER_INDEX);
    require(q.cols == x.cols, "Q and X must have equally many columns");
    require(near.count() == q.rows, "there must be one list per row of Q");
    run(threads, poll, [&](Job& job) { barycentric_weights(q, x, near, reg, weights, job); });
}

void alignment_indptr_of(const Indptr& indptr, const Indices& members, const Array1<int64_t>& out,
                         int threads, nb::handle poll) {
    const int64_t rows = int64_t(out.shape(0)) - 1;
    require(rows >= 0, "out must have one entry per row and one more");
    const Ragged patches = ragged_of(indptr, members, rows);
    int64_t* const to = view(out, rows + 1, "");
    run(threads, poll, [&](Job& job) { alignment_indptr(patches, rows, to, job); });
}

template <class T>
void alignment_matrix_of(const Array2<const T>& X, const Indptr& indptr, const Indices& members,
                         const std::string& kind, int k, double reg,
                         const Array1<const double>& counts,
                         const Array1<const int64_t>& out_indptr, const Array1<int32_t>& indices,
                         const Array1<double>& data, int threads, nb::handle poll) {
    const auto x = view(X);
    const Ragged patches = ragged_of(indptr, members, x.rows);
    const double* const weights =
        view(counts, patches.count(), "counts must have an entry per patch");
    const auto total = int64_t(indices.shape(0));
    const std::span begins = indptr_of(out_indptr, total);
    require(int64_t(begins.size()) == x.rows + 1, "indptr must have one entry per row");
    int32_t* const columns = view(indices, total, "");
    double* const values = view(data, total, PER_INDEX);
    require(k >= 1, "k must be positive");
    require(kind == "ltsa" || kind == "hessian" || kind == "modified", "unknown kind");
    const Alignment how = kind == "ltsa"      ? Alignment::ltsa
                          : kind == "hessian" ? Alignment::hessian
                                              : Alignment::modified;
    run(threads, poll, [&](Job& job) {
        alignment_matrix(x, patches, how, k, reg, weights, begins.data(), columns, values, job);
    });
}

}  // namespace

void bind_graph(nb::module_& m) {
    LOWD_BIND(m, "shortest_paths", shortest_paths_of, array("indptr"), array("indices"),
              array("lengths"), array("source_indptr"), array("source_indices"),
              array("steps").none(), array("out"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
    LOWD_BIND(m, "geodesic_half", geodesic_half_of, array("indptr"), array("indices"),
              array("lengths"), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "geodesic_products", geodesic_products_of, array("half"), array("V"), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "min_plus", min_plus_of, array("indptr"), array("indices"), array("lengths"),
              array("G"), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "barycentric_weights", barycentric_weights_of, array("Q"), array("X"),
              array("indptr"), array("indices"), nb::arg("reg"), array("out"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
    m.def("alignment_indptr", &alignment_indptr_of, array("patch_indptr"), array("members"),
          array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "alignment_matrix", alignment_matrix_of, array("X"), array("patch_indptr"),
              array("members"), nb::arg("kind"), nb::arg("k"), nb::arg("reg"), array("counts"),
              array("indptr"), array("indices"), array("data"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
