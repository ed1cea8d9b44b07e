// lowd._native: the core, for NumPy arrays.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/levels.hpp"
#include "bindings/bind.hpp"

NB_MODULE(_native, m) {
    using namespace lowd::python;
    m.doc() = "Kernels of lowd. Arguments are checked for shape only; see _native.pyi.";
    m.def("cpu_level", [] { return std::string(lowd::level().name); });
    m.def("cpu_levels", &lowd::levels);
    bind_embedding(m);
    bind_graph(m);
    bind_linear(m);
    bind_neighbors(m);
    bind_stress(m);
}
