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
}

}  // namespace lowd::python
