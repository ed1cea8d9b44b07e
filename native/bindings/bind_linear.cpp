#include <nanobind/stl/optional.h>

#include "bind.hpp"
#include "lowd/linear.hpp"
#include "lowd/lanczos.hpp"

namespace lowd::python {

namespace {

template <class T>
void project_rows(const Array2<const T>& X, const std::optional<Array1<const double>>& shift,
                  const Array2<const T>& W, const std::optional<Array1<const double>>& bias,
                  const Array2<T>& out, int threads, nb::object poll) {
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
               const Array2<double>& out, int threads, nb::object poll) {
    const auto a = view(A), v = view(V);
    const auto to = view(out);
    require(v.rows == a.cols, "V must have one row per column of A");
    require_shape(to, a.rows, v.cols, "out must have the rows of A and the columns of V");
    run(threads, poll, [&](Job& job) { matmul(a, v, half_square, to, job); });
}

nb::tuple lanczos_of(const Array2<const double>& A, bool half_square,
                     const Array1<const double>& null, const Array2<double>& Q,
                     const Array2<double>& T, int size, int fresh, int passes, int threads,
                     nb::object poll) {
    const auto a = view(A);
    const auto q = view(Q), t = view(T);
    require(a.rows == a.cols, "A must be square");
    require(q.cols == a.rows, "Q must have one column per row of A");
    require(0 < fresh && fresh <= size && passes >= 0, "expected 0 < fresh <= size, passes >= 0");
    require(size + int64_t(passes) * fresh <= q.rows, "Q must have room for all passes");
    require_shape(t, q.rows, q.rows, "T must have one row and one column per row of Q");
    const double* const without = view(null, a.rows, "null must have one entry per row of A");
    Basis basis{size, fresh, 0};
    run(threads, poll,
        [&](Job& job) { basis = lanczos(a, half_square, without, q, t, basis, passes, job); });
    return nb::make_tuple(basis.size, basis.fresh, basis.left);
}

}  // namespace

void bind_linear(nb::module_& m) {
    LOWD_BIND(m, "project", project_rows, array("X"), array("shift").none(), array("W"),
              array("bias").none(), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "matmul", matmul_of, array("A"), array("V"), nb::arg("half_square"), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    m.def("lanczos", &lanczos_of, array("A"), nb::arg("half_square"), array("null"), array("Q"),
          array("T"), nb::arg("size"), nb::arg("fresh"), nb::arg("passes"), nb::arg("threads"),
          nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
