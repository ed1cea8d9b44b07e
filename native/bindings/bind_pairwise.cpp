#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "lowd/pairwise.hpp"

namespace lowd::python {

namespace {

template <class T>
void pairwise_of(const Array2<const T>& Q, const Array2<const T>& X, const std::string& measure,
                 const std::vector<double>& params,
                 const std::optional<Array1<const double>>& center, bool symmetric,
                 const Array2<T>& out, int threads, nb::handle poll) {
    const auto q = view(Q), x = view(X);
    const auto to = view(out);
    const double* middle = view(center, x.cols, "center must have one entry per column of X");
    const auto known = measure_named(measure);
    if (!known) throw std::invalid_argument("unknown measure '" + measure + "'");
    require(q.cols == x.cols, "Q and X must have equally many columns");
    require(!symmetric || q.rows == x.rows, "symmetric needs Q to be X");
    require_shape(to, q.rows, x.rows, "out must have the rows of Q and one column per row of X");
    run(threads, poll,
        [&](Job& job) { pairwise(q, x, *known, std::span(params), middle, symmetric, to, job); });
}

}  // namespace

void bind_pairwise(nb::module_& m) {
    LOWD_BIND(m, "pairwise", pairwise_of, array("Q"), array("X"), nb::arg("measure"),
              nb::arg("params"), array("center").none(), nb::arg("symmetric"), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
