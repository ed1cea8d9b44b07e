#include <nanobind/stl/optional.h>

#include <algorithm>

#include "bind.hpp"
#include "lowd/ranks.hpp"

namespace lowd::python {

namespace {

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

void bind_ranks(nb::module_& m) {
    LOWD_BIND(m, "ranks", ranks_of, array("X"), array("center"), nb::arg("scale"),
              array("rows").none(), nb::arg("root"), nb::arg("factor"), nb::arg("unit"),
              array("ids"), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "rank_rows", rank_rows_of, array("D"), array("own"), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
