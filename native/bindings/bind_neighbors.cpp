#include <nanobind/stl/optional.h>

#include <algorithm>

#include "bindings/bind.hpp"
#include "neighbors/neighbors.hpp"
#include "ranks/ranks.hpp"

namespace lowd::python {

namespace {

constexpr const char* LISTS = "ids and distances must have one row per query";

struct Out {
    Matrix<int32_t> ids;
    Matrix<double> distances;
    Out(const Array2<int32_t>& i, const Array2<double>& d, int64_t rows)
        : ids(view(i)), distances(view(d)) {
        require_shape(ids, rows, ids.cols, LISTS);
        require_shape(distances, rows, ids.cols, LISTS);
        require(ids.cols >= 1, "ids needs a column");
    }
};

template <class T>
void select_of(const Array2<const T>& D, const std::optional<Array1<const int64_t>>& own,
               const Array2<int32_t>& ids, const Array2<double>& values, int threads,
               nb::handle poll) {
    const auto d = view(D);
    require_numbered(d.cols, "columns of D");
    const int64_t* skipped = view(own, d.rows, "own must have one entry per row of D");
    const Out out(ids, values, d.rows);
    require(out.ids.cols <= d.cols - (skipped ? 1 : 0),
            "more entries are wanted than a row of D has");
    run(threads, poll, [&](Job& job) { select(d, skipped, out.ids, out.distances, job); });
}

template <class T>
void nearest_of(const Array2<const T>& Q, const Array2<const T>& X, bool among, bool root,
                double factor, double unit, const Array2<int32_t>& ids,
                const Array2<double>& distances, int threads, nb::handle poll) {
    const auto q = view(Q), x = view(X);
    require_numbered(x.rows, "rows of X");
    const Out out(ids, distances, q.rows);
    require(q.cols == x.cols, "Q and X must have equally many columns");
    require(out.ids.cols <= x.rows - (among ? 1 : 0), "more neighbors are wanted than X has rows");
    run(threads, poll, [&](Job& job) {
        nearest(q, x, among, Metric{root, factor, unit}, out.ids, out.distances, job);
    });
}

// An index, with the number of rows and columns that it was made for.
template <class T>
struct BoundIndex {
    NeighborIndex<T> index;
    int64_t rows, cols, features;
};

template <class T>
BoundIndex<T>* index_of(const Array2<const T>& X, const Array2<const float>& Z,
                        const Array1<const double>& center, double scale, double error, int threads,
                        nb::handle poll) {
    const auto x = view(X);
    const auto z = view(Z);
    require_numbered(x.rows, "rows of X");
    const double* middle = view(center, x.cols, "center must have one entry per column of X");
    require(z.rows == x.rows && 1 <= z.cols && z.cols <= x.cols,
            "Z must have the rows of X and at most its columns");
    BoundIndex<T>* made = nullptr;
    run(threads, poll, [&](Job& job) {
        made = new BoundIndex<T>{NeighborIndex<T>(x, z, Projection{middle, scale, error}, job),
                                 x.rows, x.cols, z.cols};
    });
    return made;
}

Matrix<const int32_t> near_groups(const Array2<const int32_t>& near, int64_t count) {
    const auto groups = view(near);
    require_shape(groups, count, groups.cols, "near must have one row per group");
    for (int64_t g = 0; g < groups.rows; g++)
        require(std::all_of(groups.row(g), groups.row(g) + groups.cols,
                            [&](int32_t o) { return 0 <= o && o < groups.rows; }),
                "near must hold indices of groups");
    return groups;
}

// Lists, with the sizes that they were made for.
template <class T>
struct BoundLists : Turns {
    CandidateLists<T> lists;
    int64_t rows, k, groups;

    BoundLists(const BoundIndex<T>& index, Metric metric, int64_t length, Job& job)
        : lists(index.index, metric, length, job),
          rows(index.rows),
          k(length),
          groups(index.index.groups()) {}
};

template <class T>
void bind_candidate_lists(nb::module_& m, const char* name) {
    using Self = BoundLists<T>;
    nb::class_<Self>(m, name)
        .def(
            "join",
            [](Self& self, const std::optional<Array2<const int32_t>>& near, int threads,
               nb::handle poll) {
                if (!near) {
                    self.take(threads, poll, [&](Job& job) { self.lists.join(job); });
                    return;
                }
                const auto groups = near_groups(*near, self.groups);
                self.take(threads, poll, [&](Job& job) { self.lists.join(groups, job); });
            },
            array("near").none(), nb::arg("threads"), nb::arg("poll") = nb::none())
        .def(
            "nn_descent",
            [](Self& self, const Array2<const int32_t>& near, int rounds, int threads,
               nb::handle poll) {
                require_numbered(self.rows, "rows", INT32_MAX / 2);  // one bit marks directions
                const auto groups = near_groups(near, self.groups);
                self.take(threads, poll,
                          [&](Job& job) { self.lists.nn_descent(groups, rounds, job); });
            },
            array("near"), nb::arg("rounds"), nb::arg("threads"), nb::arg("poll") = nb::none())
        .def(
            "unpruned_fraction",
            [](Self& self, int threads, nb::handle poll) {
                double found = 0;
                self.take(threads, poll,
                          [&](Job& job) { found = self.lists.unpruned_fraction(job); });
                return found;
            },
            nb::arg("threads"), nb::arg("poll") = nb::none())
        .def(
            "copy_to",
            [](Self& self, const Array2<int32_t>& ids, const Array2<double>& distances,
               int threads) {
                const Out out(ids, distances, self.rows);
                require(out.ids.cols == self.k, "ids must have k columns");
                self.take(threads, nb::none(),
                          [&](Job& job) { self.lists.copy_to(out.ids, out.distances, job); });
            },
            array("ids"), array("distances"), nb::arg("threads"));
}

template <class T>
void bind_neighbor_index(nb::module_& m, const char* name) {
    using Self = BoundIndex<T>;
    nb::class_<Self>(m, name)
        .def_prop_ro("groups", [](const Self& self) { return self.index.groups(); })
        .def_prop_ro("coordinates", [](const Self& self) { return self.index.coordinates(); })
        .def(
            "centroids",
            [](const Self& self, const Array2<float>& out) {
                const auto to = view(out);
                require_shape(to, self.index.groups(), self.index.coordinates(),
                              "out must have one row per group");
                self.index.centroids(to);
            },
            array("out"))
        .def(
            "join",
            [](const Self& self, bool root, double factor, double unit, const Array2<int32_t>& ids,
               const Array2<double>& distances, int threads, nb::handle poll) {
                const Out out(ids, distances, self.rows);
                run(threads, poll, [&](Job& job) {
                    self.index.join(Metric{root, factor, unit}, out.ids, out.distances, job);
                });
            },
            nb::arg("root"), nb::arg("factor"), nb::arg("unit"), array("ids"), array("distances"),
            nb::arg("threads"), nb::arg("poll") = nb::none())
        .def(
            "candidate_lists",
            [](const Self& self, bool root, double factor, double unit, int64_t k, int threads) {
                require(k >= 1, "k must be at least 1");
                BoundLists<T>* made = nullptr;
                run(threads, nb::none(), [&](Job& job) {
                    made = new BoundLists<T>(self, Metric{root, factor, unit}, k, job);
                });
                return made;
            },
            nb::keep_alive<0, 1>(), nb::arg("root"), nb::arg("factor"), nb::arg("unit"),
            nb::arg("k"), nb::arg("threads"))
        .def(
            "query",
            [](const Self& self, const Array2<const T>& Q, const Array2<const float>& Z, bool root,
               double factor, double unit, const Array2<int32_t>& ids,
               const Array2<double>& distances, int threads, nb::handle poll) {
                const auto q = view(Q);
                const auto z = view(Z);
                require_numbered(q.rows, "rows of Q");
                require_shape(q, q.rows, self.cols, "Q must have the columns of X");
                require_shape(z, q.rows, self.features, "Z must have one row per row of Q");
                const Out out(ids, distances, q.rows);
                require(out.ids.cols <= self.rows, "more neighbors are wanted than X has rows");
                run(threads, poll, [&](Job& job) {
                    self.index.query(q, z, Metric{root, factor, unit}, out.ids, out.distances, job);
                });
            },
            array("Q"), array("Z"), nb::arg("root"), nb::arg("factor"), nb::arg("unit"),
            array("ids"), array("distances"), nb::arg("threads"), nb::arg("poll") = nb::none());
}

template <class T>
void ranks_of(const Array2<const T>& X, const Array1<const double>& center, double scale,
              const std::optional<Array1<const int64_t>>& rows, bool root, double factor,
              double unit, const Array2<const int32_t>& ids, const Array2<int32_t>& out,
              int threads, nb::handle poll) {
    const auto x = view(X);
    const auto listed = view(ids);
    const auto to = view(out);
    require_numbered(x.rows, "rows of X");
    const double* middle = view(center, x.cols, "center must have one entry per column of X");
    const int64_t* queries = view(rows, listed.rows, "rows must have one entry per row of ids");
    require(queries || listed.rows == x.rows, "ids must have one row per query");
    require_shape(to, listed.rows, listed.cols, "out must have the shape of ids");
    require(!queries || std::all_of(queries, queries + listed.rows,
                                    [&](int64_t r) { return 0 <= r && r < x.rows; }),
            "rows must hold row indices");
    for (int64_t i = 0; i < listed.rows; i++)
        require(std::all_of(listed.row(i), listed.row(i) + listed.cols,
                            [&](int32_t j) { return -1 <= j && j < x.rows; }),
                "ids must hold row indices, or -1");
    run(threads, poll, [&](Job& job) {
        ranks(x, middle, scale, queries, Metric{root, factor, unit}, listed, to, job);
    });
}

template <class T>
void rank_rows_of(const Array2<const T>& D, const Array1<const int64_t>& own,
                  const Array2<int32_t>& out, int threads, nb::handle poll) {
    const auto d = view(D);
    const auto to = view(out);
    require_numbered(d.cols, "columns of D");
    const int64_t* left_out = view(own, d.rows, "own must have one entry per row of D");
    require_shape(to, d.rows, d.cols, "out must have the shape of D");
    run(threads, poll, [&](Job& job) { rank_rows(d, left_out, to, job); });
}

}  // namespace

void bind_neighbors(nb::module_& m) {
    LOWD_BIND(m, "select_smallest", select_of, array("D"), array("own").none(), array("ids"),
              array("values"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "nearest", nearest_of, array("Q"), array("X"), nb::arg("among"), nb::arg("root"),
              nb::arg("factor"), nb::arg("unit"), array("ids"), array("distances"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    bind_candidate_lists<float>(m, "CandidateLists32");
    bind_candidate_lists<double>(m, "CandidateLists64");
    bind_neighbor_index<float>(m, "NeighborIndex32");
    bind_neighbor_index<double>(m, "NeighborIndex64");
    // X must live as long as the index.
    LOWD_BIND(m, "neighbor_index", index_of, nb::keep_alive<0, 1>(), array("X"), array("Z"),
              array("center"), nb::arg("scale"), nb::arg("error"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
    LOWD_BIND(m, "ranks", ranks_of, array("X"), array("center"), nb::arg("scale"),
              array("rows").none(), nb::arg("root"), nb::arg("factor"), nb::arg("unit"),
              array("ids"), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "rank_rows", rank_rows_of, array("D"), array("own"), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
