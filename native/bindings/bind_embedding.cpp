// The potential on an interpolation grid, from and to NumPy arrays.

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/bind.hpp"
#include "embedding/affinities.hpp"
#include "embedding/descent.hpp"
#include "embedding/layout.hpp"
#include "embedding/potential.hpp"

namespace lowd::python {

inline PotentialView potential_of(const std::optional<Array1<const float>>& phi, int k,
                                  std::array<int64_t, 2> nodes, std::array<double, 2> origin,
                                  double spacing) {
    if (!phi) return {};
    require(k <= 2 && nodes[0] >= 5 && (k == 1 || nodes[1] >= 5), "too small a grid");
    const int64_t cells = k == 2 ? nodes[0] * nodes[1] : nodes[0];
    return {k,
            view(*phi, cells, "one entry per node"),
            {nodes[0], nodes[1]},
            {origin[0], origin[1]},
            spacing};
}

// Returns phi, nodes, origin and spacing.
inline auto grid_of(PotentialGrid&& grid) {
    auto* const found = new PotentialGrid(std::move(grid));
    const nb::capsule owner(found, [](void* p) noexcept { delete static_cast<PotentialGrid*>(p); });
    nb::ndarray<nb::numpy, float, nb::ndim<1>> phi(found->phi.data(), {found->phi.size()}, owner);
    return std::tuple(phi, found->nodes, found->origin, found->spacing);
}

// The similarity of two points of an embedding, by its name.
inline Similarity similarity_of(const std::string& name) {
    require(name == "student" || name == "gauss" || name == "rows", "unknown kernel");
    return name == "student" ? Similarity::student
           : name == "gauss" ? Similarity::gauss
                             : Similarity::rows;
}

namespace {

void conditional_probabilities_of(const Indptr& indptr, const Array1<const double>& squares,
                                  double target, const Array1<double>& p,
                                  const Array1<double>& beta, int threads, nb::handle poll) {
    const auto total = int64_t(squares.shape(0));
    const auto begins = indptr_of(indptr, total);
    const double* const d = view(squares, total, "");
    double* const probabilities = view(p, total, "there must be one entry per distance");
    double* const betas = view(beta, int64_t(begins.size()) - 1, "one beta per list");
    run(threads, poll,
        [&](Job& job) { conditional_probabilities(begins, d, target, probabilities, betas, job); });
}

template <class T>
auto owned(T* data, size_t size, const nb::capsule& owner) {
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner);
}
auto symmetrize_of(const Indptr& indptr, const Indices& indices, const Array1<const double>& values,
                   std::optional<double> union_share, int threads, nb::handle poll) {
    const Ragged A = ragged_of(indptr, indices, int64_t(indptr.shape(0)) - 1);
    const double* const entries = view(values, int64_t(indices.shape(0)), PER_INDEX);
    auto* const found = new SymmetricMatrix;
    const nb::capsule owner(found,
                            [](void* at) noexcept { delete static_cast<SymmetricMatrix*>(at); });
    run(threads, poll, [&](Job& job) { *found = symmetrize(A, entries, union_share, job); });
    const auto size = size_t(found->indptr.back());
    return std::tuple(owned(found->indptr.data(), found->indptr.size(), owner),
                      owned(found->indices.get(), size, owner),
                      owned(found->values.get(), size, owner));
}

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

void optimize_new_points_of(const Indptr& indptr, const Indices& indices,
                            const Array1<const double>& p, const Array2<const double>& Y,
                            const std::string& kernel,
                            const std::optional<Array1<const float>>& phi,
                            std::array<int64_t, 2> nodes, std::array<double, 2> origin,
                            double spacing, bool from_medians, const Array2<double>& coordinates,
                            int threads, nb::handle poll) {
    const auto y = view(Y);
    const auto to = view(coordinates);
    const Ragged near = ragged_of(indptr, indices, y.rows);
    const double* const probabilities = view(p, int64_t(indices.shape(0)), PER_INDEX);
    require_shape(to, near.count(), y.cols,
                  "coordinates must have a row per list, the columns of Y");
    const PotentialView potential = potential_of(phi, int(y.cols), nodes, origin, spacing);
    run(threads, poll, [&](Job& job) {
        optimize_new_points(near, probabilities, y, similarity_of(kernel), potential, from_medians,
                            to, job);
    });
}

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

void bind_embedding(nb::module_& m) {
    m.def("conditional_probabilities", &conditional_probabilities_of, array("indptr"),
          array("squares"), nb::arg("target"), array("p"), array("beta"), nb::arg("threads"),
          nb::arg("poll") = nb::none());
    m.def("symmetrize", &symmetrize_of, array("indptr"), array("indices"), array("values"),
          nb::arg("union_share").none(), nb::arg("threads"), nb::arg("poll") = nb::none());
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
    m.def("optimize_new_points", &optimize_new_points_of, array("indptr"), array("indices"),
          array("p"), array("Y"), nb::arg("kernel"), array("phi").none(), nb::arg("nodes"),
          nb::arg("origin"), nb::arg("spacing"), nb::arg("from_medians"), array("coordinates"),
          nb::arg("threads"), nb::arg("poll") = nb::none());
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
