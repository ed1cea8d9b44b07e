#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>

#include "bind_potential.hpp"
#include "bind_ragged.hpp"
#include "lowd/layout.hpp"
#include "lowd/memberships.hpp"

namespace lowd::python {

namespace {

using Vector = Array1<const double>;
using Curve = std::array<double, 3>;

ForceLaw law_of(const Curve& curve) {
    require(curve[0] > 0 && curve[1] > 0 && curve[2] > 0, "a, b and the softening must be > 0");
    return {curve[0], curve[1], curve[2]};
}
std::span<const double> span_of(const std::optional<Vector>& v, int64_t size, const char* what) {
    if (!v) return {};
    return {view(*v, size, what), size_t(size)};
}
std::span<const int64_t> rows_of(const Array1<const int64_t>& rows, int64_t bound) {
    const std::span found(view(rows, int64_t(rows.shape(0)), ""), rows.shape(0));
    require(std::ranges::all_of(found, [&](int64_t i) { return 0 <= i && i < bound; }),
            "rows must be row indices");
    return found;
}

void fuzzy_memberships_of(const Indptr& indptr, const Vector& distances, double connectivity,
                          std::optional<double> mean_distance, const Array1<double>& memberships,
                          const Array1<double>& rho, const Array1<double>& sigma, int threads,
                          nb::handle poll) {
    const auto total = int64_t(distances.shape(0));
    const std::span begins = indptr_of(indptr, total);
    const auto n = int64_t(begins.size()) - 1;
    const double* const d = view(distances, total, "");
    double* const to = view(memberships, total, "there must be one entry per distance");
    double* const nearest = view(rho, n, "one rho per list");
    double* const widths = view(sigma, n, "one sigma per list");
    run(threads, poll, [&](Job& job) {
        fuzzy_memberships(begins, d, connectivity, mean_distance, to, nearest, widths, job);
    });
}

void layout_repulsion_of(const Array2<const double>& Y, const Curve& curve, bool exact,
                         const Array1<const int64_t>& rows, const Array2<double>& out, int threads,
                         nb::handle poll) {
    const auto y = view(Y);
    const auto to = view(out);
    const auto which = rows_of(rows, y.rows);
    const ForceLaw law = law_of(curve);
    require_shape(to, int64_t(which.size()), y.cols, "out must have the columns of Y");
    run(threads, poll, [&](Job& job) { layout_repulsion(y, law, exact, which, to, job); });
}

double attractive_loss_of(const Indptr& indptr, const Indices& indices, const Vector& values,
                          const Array2<const double>& Y, const Curve& curve, int threads,
                          nb::handle poll) {
    const auto y = view(Y);
    const Ragged W = ragged_of(indptr, indices, y.rows);
    require(W.count() == y.rows, "a list per point");
    const double* const w = view(values, int64_t(indices.shape(0)), PER_INDEX);
    const ForceLaw law = law_of(curve);
    double loss = 0;
    run(threads, poll, [&](Job& job) { loss = attractive_loss(W, w, y, law, job); });
    return loss;
}

void layout_new_points_of(const Indptr& indptr, const Indices& indices, const Vector& weights,
                          const Array2<const double>& Y, const Curve& curve, double strength,
                          const std::optional<Array1<const float>>& phi,
                          std::array<int64_t, 2> nodes, std::array<double, 2> origin,
                          double spacing, const Array1<const int64_t>& rows, double share,
                          int steps, const Array2<double>& out, int threads, nb::handle poll) {
    const auto y = view(Y);
    const auto to = view(out);
    const Ragged near = ragged_of(indptr, indices, y.rows);
    const double* const p = view(weights, int64_t(indices.shape(0)), PER_INDEX);
    require_shape(to, near.count(), y.cols, "out must have a row per list, the columns of Y");
    const LayoutRepulsion repulsion{
        strength, potential_of(phi, int(y.cols), nodes, origin, spacing), rows_of(rows, y.rows)};
    const ForceLaw law = law_of(curve);
    run(threads, poll, [&](Job& job) {
        optimize_layout_points(near, p, y, law, repulsion, share, steps, to, job);
    });
}

struct BoundLayout : Turns {
    std::unique_ptr<Layout> layout;
    int64_t n;

    BoundLayout(std::unique_ptr<Layout> made, int64_t points)
        : layout(std::move(made)), n(points) {}
    template <class T>
    Matrix<T> rows(const Array2<T>& Y) const {
        const auto y = view(Y);
        require_shape(y, n, layout->dimensions(), "a row per point");
        return y;
    }
};

}  // namespace

void bind_layout(nb::module_& m) {
    const auto threads = nb::arg("threads");
    const auto poll = nb::arg("poll") = nb::none();
    m.def("fuzzy_memberships", &fuzzy_memberships_of, array("indptr"), array("distances"),
          nb::arg("connectivity"), nb::arg("mean_distance").none(), array("memberships"),
          array("rho"), array("sigma"), threads, poll);
    m.def("layout_repulsion", &layout_repulsion_of, array("Y"), nb::arg("curve"), nb::arg("exact"),
          array("rows"), array("out"), threads, poll);
    m.def("attractive_loss", &attractive_loss_of, array("indptr"), array("indices"),
          array("values"), array("Y"), nb::arg("curve"), threads, poll);
    m.def("layout_new_points", &layout_new_points_of, array("indptr"), array("indices"),
          array("weights"), array("Y"), nb::arg("curve"), nb::arg("repulsion"), array("phi").none(),
          nb::arg("nodes"), nb::arg("origin"), nb::arg("spacing"), array("rows"), nb::arg("share"),
          nb::arg("steps"), array("out"), threads, poll);
    nb::class_<BoundLayout>(m, "Layout")
        .def(
            "__init__",
            [](BoundLayout* self, const Indptr& indptr, const Indices& indices,
               const Vector& values, int k, const Curve& curve, bool exact, uint64_t seed,
               const std::optional<Vector>& radii, double variance_shift, int threads) {
                const int64_t n = int64_t(indptr.shape(0)) - 1;
                const Ragged W = ragged_of(indptr, indices, n);
                const double* const w = view(values, int64_t(indices.shape(0)), PER_INDEX);
                require(n >= 1 && k >= 1, "there must be points and dimensions");
                const Radii given{span_of(radii, n, "one radius per point"), variance_shift};
                const ForceLaw law = law_of(curve);
                std::unique_ptr<Layout> made;
                run(threads, nb::none(),
                    [&](Job& job) { made = layout(W, w, k, law, exact, seed, given, job); });
                new (self) BoundLayout(std::move(made), n);
            },
            array("indptr"), array("indices"), array("values"), nb::arg("k"), nb::arg("curve"),
            nb::arg("exact"), nb::arg("seed"), array("radii").none(), nb::arg("variance_shift"),
            threads)
        .def(
            "start",
            [](BoundLayout& self, const Array2<const double>& Y) {
                const auto y = self.rows(Y);
                self.take(1, nb::none(), [&](Job&) { self.layout->start(y); });
            },
            array("Y"))
        .def(
            "advance",
            [](BoundLayout& self, const Vector& rates, const Vector& repulsions,
               const std::optional<Vector>& densities, int threads, nb::handle poll) {
                const auto steps = int64_t(rates.shape(0));
                const char* const what = "one strength per rate";
                const LayoutSchedule schedule{{view(rates, steps, what), size_t(steps)},
                                              {view(repulsions, steps, what), size_t(steps)},
                                              span_of(densities, steps, what)};
                double moved = 0;
                self.take(threads, poll,
                          [&](Job& job) { moved = self.layout->advance(schedule, job); });
                return moved;
            },
            array("rates"), array("repulsions"), array("densities").none(), threads, poll)
        .def(
            "embedding",
            [](BoundLayout& self, const Array2<double>& out) {
                const auto to = self.rows(out);
                self.take(1, nb::none(), [&](Job&) { self.layout->embedding(to); });
            },
            array("out"))
        .def(
            "forces",
            [](BoundLayout& self, const Array2<const double>& Y, const Array2<double>& attraction,
               const Array2<double>& repulsion, int threads, nb::handle poll) {
                const auto y = self.rows(Y);
                const auto a = self.rows(attraction), r = self.rows(repulsion);
                self.take(threads, poll, [&](Job& job) { self.layout->forces(y, a, r, job); });
            },
            array("Y"), array("attraction"), array("repulsion"), threads, poll)
        .def(
            "density_forces",
            [](BoundLayout& self, const Array2<const double>& Y, double density,
               const Array2<double>& out, int threads, nb::handle poll) {
                const auto y = self.rows(Y);
                const auto to = self.rows(out);
                self.take(threads, poll,
                          [&](Job& job) { self.layout->density_forces(y, density, to, job); });
            },
            array("Y"), nb::arg("density"), array("out"), threads, poll)
        .def(
            "repulsive_loss",
            [](BoundLayout& self, const Array2<const double>& Y, int threads, nb::handle poll) {
                const auto y = self.rows(Y);
                double loss = 0;
                self.take(threads, poll,
                          [&](Job& job) { loss = self.layout->repulsive_loss(y, job); });
                return loss;
            },
            array("Y"), threads, poll)
        .def(
            "interpolation_grid",
            [](BoundLayout& self, const Array2<const double>& Y, int threads, nb::handle poll) {
                const auto y = self.rows(Y);
                PotentialGrid found;
                self.take(threads, poll,
                          [&](Job& job) { found = self.layout->interpolation_grid(y, job); });
                return grid_of(std::move(found));
            },
            array("Y"), threads, poll);
}

}  // namespace lowd::python
