#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bind_potential.hpp"
#include "bind_ragged.hpp"
#include "bind_similarity.hpp"
#include "lowd/new_points.hpp"

namespace lowd::python {

namespace {

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

}  // namespace

void bind_new_points(nb::module_& m) {
    m.def("optimize_new_points", &optimize_new_points_of, array("indptr"), array("indices"),
          array("p"), array("Y"), nb::arg("kernel"), array("phi").none(), nb::arg("nodes"),
          nb::arg("origin"), nb::arg("spacing"), nb::arg("from_medians"), array("coordinates"),
          nb::arg("threads"), nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
