#include <algorithm>

#include "bind.hpp"
#include "lowd/sketch.hpp"

namespace lowd::python {

namespace {

template <class T>
void hadamard_of(const Array2<const T>& X, const Array1<const T>& signs,
                 const Array1<const int64_t>& rows, int64_t padded, double scale,
                 const Array2<T>& out, int threads, nb::handle poll) {
    const auto x = view(X);
    const auto to = view(out);
    const std::span picks(view(rows, int64_t(rows.shape(0)), ""), rows.shape(0));
    const T* s = view(signs, x.cols, "signs must have one entry per column of X");
    require(padded >= 1 && padded >= x.cols && (padded & (padded - 1)) == 0,
            "padded must be a power of two, not below the columns of X");
    require(std::ranges::all_of(picks, [&](int64_t r) { return 0 <= r && r < padded; }),
            "rows must lie in 0 .. padded - 1");
    require_shape(to, x.rows, int64_t(picks.size()),
                  "out must have the rows of X and one column per entry of rows");
    run(threads, poll, [&](Job& job) { hadamard(x, s, picks, padded, scale, to, job); });
}

template <class T>
void sparse_project_of(const Array2<const T>& X, const Array1<const int64_t>& indptr,
                       const Array1<const int64_t>& indices, const Array1<const T>& values,
                       const Array2<T>& out, int threads, nb::handle poll) {
    const auto x = view(X);
    const auto to = view(out);
    const std::span starts(view(indptr, int64_t(indptr.shape(0)), ""), indptr.shape(0));
    const std::span columns(view(indices, int64_t(indices.shape(0)), ""), indices.shape(0));
    const T* entries =
        view(values, int64_t(columns.size()), "values must have one entry per index");
    require(!starts.empty() && starts.front() == 0 && starts.back() == int64_t(columns.size()) &&
                std::ranges::is_sorted(starts),
            "indptr must rise from 0 to the number of indices");
    require(std::ranges::all_of(columns, [&](int64_t c) { return 0 <= c && c < x.cols; }),
            "indices must be columns of X");
    require_shape(to, x.rows, int64_t(starts.size()) - 1,
                  "out must have the rows of X and one column per row of C");
    run(threads, poll, [&](Job& job) { sparse_project(x, starts, columns, entries, to, job); });
}

}  // namespace

void bind_sketch(nb::module_& m) {
    LOWD_BIND(m, "hadamard", hadamard_of, array("X"), array("signs"), array("rows"),
              nb::arg("padded"), nb::arg("scale"), array("out"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
    LOWD_BIND(m, "sparse_project", sparse_project_of, array("X"), array("indptr"), array("indices"),
              array("values"), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
