#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "bind.hpp"
#include "lowd/graphs.hpp"

namespace lowd::python {

namespace {

using Starts = Array1<const int64_t>;
using Members = Array1<const int32_t>;

// Lists of numbers below `bound`.
Lists lists(const Starts& starts, const Members& members, int64_t bound) {
    const auto total = int64_t(members.shape(0));
    const Lists found{{view(starts, int64_t(starts.shape(0)), ""), starts.shape(0)},
                      {view(members, total, ""), members.shape(0)}};
    require(!found.starts.empty() && found.starts.front() == 0 && found.starts.back() == total &&
                std::ranges::is_sorted(found.starts),
            "starts must rise from 0 to the number of indices");
    require(std::ranges::all_of(found.members, [&](int64_t i) { return 0 <= i && i < bound; }),
            "indices must be numbers of rows");
    return found;
}

constexpr const char* ENTRIES = "there must be one entry per index";

template <class T>
const T* not_negative(const Array1<const T>& lengths, size_t count) {
    const T* const found = view(lengths, int64_t(count), ENTRIES);
    require(std::all_of(found, found + count, [](T length) { return length >= 0; }),
            "lengths must not be negative");
    return found;
}

template <class T>
void paths_of(const Starts& starts, const Members& indices, const Array1<const T>& lengths,
              const Starts& from_starts, const Members& from_indices,
              const std::optional<Array1<const T>>& steps, const Array2<T>& out, int threads,
              nb::object poll) {
    const int64_t n = int64_t(starts.shape(0)) - 1;
    const Lists graph = lists(starts, indices, n), from = lists(from_starts, from_indices, n);
    const T* const edges = not_negative(lengths, indices.shape(0));
    const T* const first = steps ? not_negative(*steps, from_indices.shape(0)) : nullptr;
    const auto to = view(out);
    require_shape(to, from.count(), n, "out must have a row per source, a column per node");
    run(threads, poll, [&](Job& job) { paths(graph, edges, from, first, to, job); });
}

template <class T>
void ring_of(const Starts& starts, const Members& indices, const Array1<const T>& lengths,
             const Array2<T>& out, int threads, nb::object poll) {
    const int64_t n = int64_t(starts.shape(0)) - 1;
    const Lists graph = lists(starts, indices, n);
    const T* const edges = not_negative(lengths, indices.shape(0));
    const auto to = view(out);
    require_shape(to, n, n / 2, "out must have a row per node, a column per two nodes");
    run(threads, poll, [&](Job& job) { ring(graph, edges, to, job); });
}

template <class T>
void ring_times_of(const Array2<const T>& ring, const Array2<const T>& V, const Array2<double>& out,
                   int threads, nb::object poll) {
    const auto g = view(ring), v = view(V);
    const auto to = view(out);
    require(g.cols == g.rows / 2, "ring must hold half of a square matrix");
    require(v.rows == g.rows, "V must have one row per row of ring");
    require_shape(to, v.rows, v.cols, "out must have the shape of V");
    run(threads, poll, [&](Job& job) { ring_times(g, v, to, job); });
}

template <class T>
void relax_of(const Starts& starts, const Members& indices, const Array1<const T>& lengths,
              const Array2<const T>& G, const Array2<T>& out, int threads, nb::object poll) {
    const auto g = view(G);
    const auto to = view(out);
    const Lists near = lists(starts, indices, g.rows);
    const T* const edges = view(lengths, int64_t(indices.shape(0)), ENTRIES);
    require_shape(to, near.count(), g.cols, "out must have a row per list and the columns of G");
    run(threads, poll, [&](Job& job) { relax(near, edges, g, to, job); });
}

template <class I>
void sparse_times_of(const Array1<const I>& starts, const Array1<const I>& indices,
                     const Array1<const double>& values, const Array2<const double>& V, double a,
                     double b, const std::optional<Array2<const double>>& U, double c,
                     const Array2<double>& out, int threads, nb::object poll) {
    const auto v = view(V);
    const auto to = view(out);
    const int64_t rows = int64_t(starts.shape(0)) - 1;
    const I* const begins = view(starts, rows + 1, "");
    const I* const columns = view(indices, int64_t(indices.shape(0)), "");
    const double* const entries = view(values, int64_t(indices.shape(0)), ENTRIES);
    require(rows >= 0 && begins[0] == 0 && int64_t(begins[rows]) == int64_t(indices.shape(0)),
            "starts must rise from 0 to the number of indices");
    require(b == 0 || rows == v.rows, "b V needs as many rows in A as in V");
    require_shape(to, rows, v.cols, "out must have the rows of A and the columns of V");
    const double* add = nullptr;
    if (U) {
        const auto u = view(*U);
        require_shape(u, rows, v.cols, "U must have the shape of out");
        require(u.stride == u.cols, "expected contiguous arrays");
        add = u.data;
    }
    require(v.stride == v.cols && to.stride == to.cols, "expected contiguous arrays");
    run(threads, poll, [&](Job& job) {
        sparse_times(rows, begins, columns, entries, v, a, b, add, c, to.data, job);
    });
}

template <class T>
void barycenters_of(const Array2<const T>& Q, const Array2<const T>& X, const Starts& starts,
                    const Members& indices, double reg, const Array1<double>& out, int threads,
                    nb::object poll) {
    const auto q = view(Q), x = view(X);
    const Lists near = lists(starts, indices, x.rows);
    double* const weights = view(out, int64_t(indices.shape(0)), ENTRIES);
    require(q.cols == x.cols, "Q and X must have equally many columns");
    require(near.count() == q.rows, "there must be one list per row of Q");
    run(threads, poll, [&](Job& job) { barycenters(q, x, near, reg, weights, job); });
}

void alignment_starts_of(const Starts& starts, const Members& members, const Array1<int64_t>& out,
                         int threads, nb::object poll) {
    const int64_t rows = int64_t(out.shape(0)) - 1;
    require(rows >= 0, "out must have one entry per row and one more");
    const Lists patches = lists(starts, members, rows);
    int64_t* const to = view(out, rows + 1, "");
    run(threads, poll, [&](Job& job) { alignment_starts(patches, rows, to, job); });
}

template <class T>
void alignment_of(const Array2<const T>& X, const Starts& starts, const Members& members,
                  const std::string& kind, int k, double reg, const Array1<const double>& mass,
                  const Array1<const int64_t>& indptr, const Array1<int32_t>& indices,
                  const Array1<double>& data, int threads, nb::object poll) {
    const auto x = view(X);
    const Lists patches = lists(starts, members, x.rows);
    const double* const masses = view(mass, patches.count(), "mass must have an entry per patch");
    const int64_t* const begins = view(indptr, x.rows + 1, "indptr must have one entry per row");
    int32_t* const columns = view(indices, begins[x.rows], ENTRIES);
    double* const values = view(data, begins[x.rows], ENTRIES);
    require(k >= 1, "k must be positive");
    require(kind == "ltsa" || kind == "hessian" || kind == "modified", "unknown kind");
    const Alignment how = kind == "ltsa"      ? Alignment::ltsa
                          : kind == "hessian" ? Alignment::hessian
                                              : Alignment::modified;
    run(threads, poll, [&](Job& job) {
        alignment(x, patches, how, k, reg, masses, begins, columns, values, job);
    });
}

}  // namespace

void bind_graphs(nb::module_& m) {
    LOWD_BIND(m, "paths", paths_of, array("starts"), array("indices"), array("lengths"),
              array("from_starts"), array("from_indices"), array("steps").none(), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "ring", ring_of, array("starts"), array("indices"), array("lengths"), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "ring_times", ring_times_of, array("ring"), array("V"), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "relax", relax_of, array("starts"), array("indices"), array("lengths"), array("G"),
              array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    const auto product = [&](auto index) {
        m.def("sparse_times", &sparse_times_of<decltype(index)>, array("starts"), array("indices"),
              array("values"), array("V"), nb::arg("a"), nb::arg("b"), array("U").none(),
              nb::arg("c"), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    };
    product(int32_t());
    product(int64_t());
    LOWD_BIND(m, "barycenters", barycenters_of, array("Q"), array("X"), array("starts"),
              array("indices"), nb::arg("reg"), array("out"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
    m.def("alignment_starts", &alignment_starts_of, array("starts"), array("members"), array("out"),
          nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "alignment", alignment_of, array("X"), array("starts"), array("members"),
              nb::arg("kind"), nb::arg("k"), nb::arg("reg"), array("mass"), array("indptr"),
              array("indices"), array("data"), nb::arg("threads"), nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
