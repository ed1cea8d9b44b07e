#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>

#include "bindings/bind.hpp"
#include "stress/stress.hpp"

namespace lowd::python {

namespace {

using Sums = std::tuple<double, double, double>;

template <class T>
std::optional<Matrix<const T>> given(const std::optional<Array2<const T>>& W, int64_t rows,
                                     int64_t cols) {
    if (!W) return {};
    const auto w = view(*W);
    require_shape(w, rows, cols, "there must be a weight per dissimilarity");
    return w;
}

template <class T>
Sums guttman_of(const Array2<const T>& D, const std::optional<Array2<const T>>& W,
                const Array2<const double>& Y, const Array2<double>& moved, int threads,
                nb::handle poll) {
    const auto d = view(D);
    const auto y = view(Y);
    const auto to = view(moved);
    require(y.cols >= 1, "Y must have columns");
    require_shape(d, y.rows, y.rows, "D must have a row and a column per row of Y");
    require_shape(to, y.rows, y.cols, "moved must have the shape of Y");
    const auto w = given<T>(W, d.rows, d.cols);
    Stress found;
    run(threads, poll, [&](Job& job) { found = guttman(d, w ? &*w : nullptr, y, to, job); });
    return {found.stress, found.size, found.cross};
}

struct BoundRegression : Turns {
    MonotoneRegression regression;

    explicit BoundRegression(MonotoneRegression made) : regression(std::move(made)) {}
    Matrix<const double> rows(const Array2<const double>& Y) const {
        const auto y = view(Y);
        require(y.rows == regression.rows() && y.cols >= 1,
                "Y must have a row per row of D, and columns");
        return y;
    }
};

template <class T>
void make_regression(BoundRegression* self, const Array2<const T>& D,
                     const std::optional<Array2<const T>>& W, bool break_ties, int threads,
                     nb::handle poll) {
    const auto d = view(D);
    require(d.rows == d.cols, "D must be square");
    require_numbered(d.rows, "rows of D");
    const auto w = given<T>(W, d.rows, d.cols);
    run(threads, poll, [&](Job& job) {
        new (self) BoundRegression(MonotoneRegression(d, w ? &*w : nullptr, break_ties, job));
    });
}

Sums regression_step(BoundRegression& self, const Array2<const double>& Y,
                     const Array2<double>& moved, int threads, nb::handle poll) {
    const auto y = self.rows(Y);
    const auto to = view(moved);
    require_shape(to, y.rows, y.cols, "moved must have the shape of Y");
    Stress found;
    self.take(threads, poll, [&](Job& job) { found = self.regression.step(y, to, job); });
    return {found.stress, found.size, found.cross};
}

auto regression_corners(BoundRegression& self, const Array2<const double>& Y, int threads,
                        nb::handle poll) {
    const auto y = self.rows(Y);
    auto* const found = new std::vector<MonotoneRegression::Corner>;
    const nb::capsule owner(found, [](void* at) noexcept {
        delete static_cast<std::vector<MonotoneRegression::Corner>*>(at);
    });
    self.take(threads, poll,
              [&](Job& job) { *found = self.regression.disparity_function(y, job); });
    // The columns of the records are first, second and disparity.
    constexpr int64_t WORDS = sizeof(MonotoneRegression::Corner) / sizeof(int32_t);
    using Pairs = nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>;
    using Disparities = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
    MonotoneRegression::Corner* const at = found->data();
    return std::tuple(
        Pairs(at, {found->size(), 2}, owner, {WORDS, 1}),
        Disparities(at ? &at->disparity : nullptr, {found->size()}, owner, {WORDS / 2}));
}

void multilaterate_of(const Array2<const double>& T, const std::optional<Array2<const double>>& W,
                      const Array2<const double>& A, int max_iter, double tol,
                      const Array2<double>& Y, const Array1<double>& stress, int threads,
                      nb::handle poll) {
    const auto t = view(T), a = view(A);
    const auto y = view(Y);
    require(a.cols >= 1, "A must have columns");
    require_shape(t, y.rows, a.rows, "T must have a row per row of Y, a column per row of A");
    require(y.cols == a.cols, "Y and A must have equally many columns");
    const auto w = given<double>(W, t.rows, t.cols);
    double* const left = view(stress, y.rows, "there must be an entry per row");
    run(threads, poll,
        [&](Job& job) { multilaterate(t, w ? &*w : nullptr, a, max_iter, tol, y, left, job); });
}

}  // namespace

void bind_stress(nb::module_& m) {
    LOWD_BIND(m, "guttman", guttman_of, array("D"), array("W").none(), array("Y"), array("moved"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    m.def("multilaterate", &multilaterate_of, array("T"), array("W").none(), array("A"),
          nb::arg("max_iter"), nb::arg("tol"), array("Y"), array("stress"), nb::arg("threads"),
          nb::arg("poll") = nb::none());
    nb::class_<BoundRegression>(m, "MonotoneRegression")
        .def("__init__", &make_regression<float>, array("D"), array("W").none(),
             nb::arg("break_ties"), nb::arg("threads"), nb::arg("poll") = nb::none())
        .def("__init__", &make_regression<double>, array("D"), array("W").none(),
             nb::arg("break_ties"), nb::arg("threads"), nb::arg("poll") = nb::none())
        .def("step", &regression_step, array("Y"), array("moved"), nb::arg("threads"),
             nb::arg("poll") = nb::none())
        .def("disparity_function", &regression_corners, array("Y"), nb::arg("threads"),
             nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
