// lowd._native: the core, for NumPy arrays.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "lowd/levels.hpp"

NB_MODULE(_native, m) {
    using namespace lowd::python;
    m.doc() = "Kernels of lowd. Arguments are checked for shape only; see _native.pyi.";
    m.def("cpu_level", [] { return std::string(lowd::level().name); });
    m.def("cpu_levels", &lowd::levels);
    bind_checks(m);
    bind_moments(m);
    bind_linear(m);
    bind_pairwise(m);
    bind_sketch(m);
    bind_shortest_paths(m);
    bind_sparse(m);
    bind_alignment(m);
    bind_neighbors(m);
    bind_ranks(m);
    bind_stress(m);
    bind_probabilities(m);
    bind_descent(m);
    bind_new_points(m);
    bind_layout(m);
}
