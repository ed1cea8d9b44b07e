#include <nanobind/stl/optional.h>

#include "bind.hpp"
#include "lowd/linear.hpp"

namespace lowd::python {

namespace {

template <class T>
void project_rows(const Array2<const T>& X, const std::optional<Array1<const double>>& shift,
                  const Array2<const T>& W, const std::optional<Array1<const double>>& bias,
                  const Array2<T>& out, int threads, nb::handle poll) {
    const auto x = view(X), w = view(W);
    const auto to = view(out);
    const double* s = view(shift, x.cols, "shift must have one entry per column of X");
    const double* b = view(bias, w.cols, "bias must have one entry per column of W");
    require(w.rows == x.cols, "W must have one row per column of X");
    require_shape(to, x.rows, w.cols, "out must have the rows of X and the columns of W");
    run(threads, poll, [&](Job& job) { project(x, s, w, b, to, job); });
}

template <class T>
void matmul_of(const Array2<const T>& A, const Array2<const T>& V, bool half_square,
               const Array2<double>& out, int threads, nb::handle poll) {
    const auto a = view(A), v = view(V);
    const auto to = view(out);
    require(v.rows == a.cols, "V must have one row per column of A");
    require_shape(to, a.rows, v.cols, "out must have the rows of A and the columns of V");
    run(threads, poll, [&](Job& job) { matmul(a, v, half_square, to, job); });
}

}  // namespace

void bind_linear(nb::module_& m) {
    LOWD_BIND(m, "project", project_rows, array("X"), array("shift").none(), array("W"),
              array("bias").none(), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "matmul", matmul_of, array("A"), array("V"), nb::arg("half_square"), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
