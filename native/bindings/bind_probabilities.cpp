#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bind_ragged.hpp"
#include "lowd/probabilities.hpp"
#include "lowd/symmetrize.hpp"

namespace lowd::python {

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

}  // namespace

void bind_probabilities(nb::module_& m) {
    m.def("conditional_probabilities", &conditional_probabilities_of, array("indptr"),
          array("squares"), nb::arg("target"), array("p"), array("beta"), nb::arg("threads"),
          nb::arg("poll") = nb::none());
    m.def("symmetrize", &symmetrize_of, array("indptr"), array("indices"), array("values"),
          nb::arg("union_share").none(), nb::arg("threads"), nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
