#include <nanobind/stl/optional.h>

#include "bind.hpp"
#include "lowd/sparse.hpp"

namespace lowd::python {

namespace {

template <class I>
void sparse_matmul_of(const Array1<const I>& indptr, const Array1<const I>& indices,
                      const Array1<const double>& values, const Array2<const double>& V, double a,
                      double b, const std::optional<Array2<const double>>& U, double c,
                      const Array2<double>& out, int threads, nb::handle poll) {
    const auto v = view(V);
    const auto to = view(out);
    const int64_t rows = int64_t(indptr.shape(0)) - 1;
    const I* const begins = view(indptr, rows + 1, "");
    const I* const columns = view(indices, int64_t(indices.shape(0)), "");
    const double* const entries =
        view(values, int64_t(indices.shape(0)), "there must be one entry per index");
    require(rows >= 0 && begins[0] == 0 && int64_t(begins[rows]) == int64_t(indices.shape(0)),
            "indptr must rise from 0 to the number of indices");
    require(b == 0 || rows == v.rows, "b V needs as many rows in A as in V");
    require_shape(to, rows, v.cols, "out must have the rows of A and the columns of V");
    const double* add = nullptr;
    if (U) {
        const auto u = view(*U);
        require_shape(u, rows, v.cols, "U must have the shape of out");
        require(u.stride == u.cols, "expected contiguous arrays");
        add = u.data;
    }
    require(v.stride == v.cols && to.stride == to.cols, "expected contiguous arrays");
    // Indices are checked where they are used, block by block.
    run(threads, poll, [&](Job& job) {
        sparse_matmul(rows, begins, columns, entries, v, a, b, add, c, to.data, job);
    });
}

}  // namespace

void bind_sparse(nb::module_& m) {
    const auto product = [&](auto index) {
        m.def("sparse_matmul", &sparse_matmul_of<decltype(index)>, array("indptr"),
              array("indices"), array("values"), array("V"), nb::arg("a"), nb::arg("b"),
              array("U").none(), nb::arg("c"), array("out"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
    };
    product(int32_t());
    product(int64_t());
}

}  // namespace lowd::python
