#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>

#include "bind_potential.hpp"
#include "bind_ragged.hpp"
#include "bind_similarity.hpp"
#include "lowd/descent.hpp"

namespace lowd::python {

namespace {

Repulsion repulsion_of(const std::string& name) {
    require(name == "exact" || name == "float32" || name == "grid", "unknown kind of repulsion");
    return name == "exact"     ? Repulsion::exact
           : name == "float32" ? Repulsion::float32
                               : Repulsion::grid;
}

void pair_sums_of(const Array2<const double>& Y, const std::string& kernel,
                  const Array1<const int64_t>& rows, const Array1<double>& z,
                  const Array2<double>& r, int threads, nb::handle poll) {
    const auto y = view(Y);
    const auto repulsion = view(r);
    const auto m = int64_t(rows.shape(0));
    const std::span which(view(rows, m, ""), rows.shape(0));
    require(std::ranges::all_of(which, [&](int64_t i) { return 0 <= i && i < y.rows; }),
            "rows must be row indices");
    double* const sums = view(z, m, "one sum per row");
    require_shape(repulsion, m, y.cols, "r must have the columns of Y");
    run(threads, poll,
        [&](Job& job) { pair_sums(y, similarity_of(kernel), which, sums, repulsion, job); });
}

double cross_term_of(const Indptr& indptr, const Indices& indices, const Array1<const double>& p,
                     const Array2<const double>& Y, const std::string& kernel, int threads,
                     nb::handle poll) {
    const auto y = view(Y);
    const Ragged P = ragged_of(indptr, indices, y.rows);
    require(P.count() == y.rows, "a list per point");
    const double* const probabilities = view(p, int64_t(indices.shape(0)), PER_INDEX);
    double sum = 0;
    run(threads, poll,
        [&](Job& job) { sum = cross_term(P, probabilities, y, similarity_of(kernel), job); });
    return sum;
}

double partition_function_of(const Array2<const double>& Y, int threads, nb::handle poll) {
    const auto y = view(Y);
    require(y.cols >= 1 && y.cols <= 3, "one to three dimensions");
    double sum = 0;
    run(threads, poll, [&](Job& job) { sum = partition_function(y, job); });
    return sum;
}

struct BoundDescent : Turns {
    std::unique_ptr<Descent> descent;
    int64_t n;

    BoundDescent(std::unique_ptr<Descent> made, int64_t points)
        : descent(std::move(made)), n(points) {}
    template <class T>
    Matrix<T> rows(const Array2<T>& Y) const {
        const auto y = view(Y);
        require_shape(y, n, descent->dimensions(), "a row per point");
        return y;
    }
};

}  // namespace

void bind_descent(nb::module_& m) {
    m.def("pair_sums", &pair_sums_of, array("Y"), nb::arg("kernel"), array("rows"), array("z"),
          array("r"), nb::arg("threads"), nb::arg("poll") = nb::none());
    m.def("cross_term", &cross_term_of, array("indptr"), array("indices"), array("p"), array("Y"),
          nb::arg("kernel"), nb::arg("threads"), nb::arg("poll") = nb::none());
    m.def("partition_function", &partition_function_of, array("Y"), nb::arg("threads"),
          nb::arg("poll") = nb::none());
    nb::class_<BoundDescent>(m, "Descent")
        .def(
            "__init__",
            [](BoundDescent* self, const Indptr& indptr, const Indices& indices,
               const Array1<const double>& values, int k, const std::string& kernel,
               const std::string& repulsion) {
                const int64_t n = int64_t(indptr.shape(0)) - 1;
                const Ragged P = ragged_of(indptr, indices, n);
                const double* const p = view(values, int64_t(indices.shape(0)), "one per index");
                require(n >= 1 && k >= 1, "there must be points and dimensions");
                auto made = descent(P, p, k, similarity_of(kernel), repulsion_of(repulsion));
                new (self) BoundDescent(std::move(made), n);
            },
            array("indptr"), array("indices"), array("values"), nb::arg("k"), nb::arg("kernel"),
            nb::arg("repulsion"))
        .def(
            "start",
            [](BoundDescent& self, const Array2<const double>& Y) {
                const auto y = self.rows(Y);
                self.take(1, nb::none(), [&](Job&) { self.descent->start(y); });
            },
            array("Y"))
        .def(
            "advance",
            [](BoundDescent& self, int64_t steps, double exaggeration, double momentum, double rate,
               int threads, nb::handle poll) {
                double moved = 0;
                self.take(threads, poll, [&](Job& job) {
                    moved = self.descent->advance(steps, exaggeration, momentum, rate, job);
                });
                return moved;
            },
            nb::arg("steps"), nb::arg("exaggeration"), nb::arg("momentum"), nb::arg("rate"),
            nb::arg("threads"), nb::arg("poll") = nb::none())
        .def(
            "embedding",
            [](BoundDescent& self, const Array2<double>& out) {
                const auto to = self.rows(out);
                self.take(1, nb::none(), [&](Job&) { self.descent->embedding(to); });
            },
            array("out"))
        .def(
            "forces",
            [](BoundDescent& self, const Array2<const double>& Y, const Array2<double>& attraction,
               const Array2<double>& repulsion, int threads, nb::handle poll) {
                const auto y = self.rows(Y);
                const auto a = self.rows(attraction), r = self.rows(repulsion);
                self.take(threads, poll, [&](Job& job) { self.descent->forces(y, a, r, job); });
            },
            array("Y"), array("attraction"), array("repulsion"), nb::arg("threads"),
            nb::arg("poll") = nb::none())
        .def(
            "interpolation_grid",
            [](BoundDescent& self, const Array2<const double>& Y, int threads, nb::handle poll) {
                const auto y = self.rows(Y);
                PotentialGrid found;
                self.take(threads, poll,
                          [&](Job& job) { found = self.descent->interpolation_grid(y, job); });
                return grid_of(std::move(found));
            },
            array("Y"), nb::arg("threads"), nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
