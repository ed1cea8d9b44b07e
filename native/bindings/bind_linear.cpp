#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/bind.hpp"
#include "linear/linear.hpp"

namespace lowd::python {

namespace {

constexpr const char *WEIGHTS = "weights must have one entry per row of X",
                     *MEAN = "mean must have one entry per column of X";

template <class T>
double column_sums_of(const Array2<const T>& X, const std::optional<Array1<const double>>& weights,
                      const Array1<double>& out,
                      const std::optional<Array1<const uint64_t>>& multipliers, uint64_t key,
                      const std::optional<Array1<uint64_t>>& priorities, int threads,
                      nb::handle poll) {
    const auto x = view(X);
    const double* w = view(weights, x.rows, WEIGHTS);
    double* sums = view(out, x.cols, "out must have one entry per column of X");
    require(multipliers.has_value() == priorities.has_value(), "multipliers go with priorities");
    const RowPriorities asked{view(multipliers, x.cols, "one multiplier per column of X"), key,
                              view(priorities, x.rows, "one priority per row of X")};
    double largest = 0;
    run(threads, poll,
        [&](Job& job) { largest = column_sums(x, w, sums, priorities ? &asked : nullptr, job); });
    return largest;
}

template <class T>
void scatter_of(const Array2<const T>& X, const std::optional<Array1<const double>>& weights,
                const Array1<const double>& mean, double scale, const Array2<double>& out,
                int threads, nb::handle poll) {
    const auto x = view(X);
    const auto to = view(out);
    const double *w = view(weights, x.rows, WEIGHTS), *center = view(mean, x.cols, MEAN);
    require_shape(to, x.cols, x.cols, "out must be square, with one row per column of X");
    run(threads, poll, [&](Job& job) { scatter(x, w, center, scale, to, job); });
}

template <class T>
double scatter_matmul_of(const Array2<const T>& X,
                         const std::optional<Array1<const double>>& weights,
                         const Array1<const double>& mean, double scale, const Array2<const T>& V,
                         const Array2<double>& out, int threads, nb::handle poll) {
    const auto x = view(X), v = view(V);
    const auto to = view(out);
    const double *w = view(weights, x.rows, WEIGHTS), *center = view(mean, x.cols, MEAN);
    require(v.rows == x.cols, "V must have one row per column of X");
    require_shape(to, v.rows, v.cols, "out must have the shape of V");
    double total = 0;
    run(threads, poll, [&](Job& job) { total = scatter_matmul(x, w, center, scale, v, to, job); });
    return total;
}

template <class T>
void project_rows(const Array2<const T>& X, const std::optional<Array1<const double>>& shift,
                  const Array2<const T>& W, const std::optional<Array1<const double>>& bias,
                  const Array2<T>& out, int threads, nb::handle poll) {
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
               const Array2<double>& out, int threads, nb::handle poll) {
    const auto a = view(A), v = view(V);
    const auto to = view(out);
    require(v.rows == a.cols, "V must have one row per column of A");
    require_shape(to, a.rows, v.cols, "out must have the rows of A and the columns of V");
    run(threads, poll, [&](Job& job) { matmul(a, v, half_square, to, job); });
}

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

template <class T>
void pairwise_of(const Array2<const T>& Q, const Array2<const T>& X, const std::string& measure,
                 const std::vector<double>& params,
                 const std::optional<Array1<const double>>& center, bool symmetric,
                 const Array2<T>& out, int threads, nb::handle poll) {
    const auto q = view(Q), x = view(X);
    const auto to = view(out);
    const double* middle = view(center, x.cols, "center must have one entry per column of X");
    const auto known = measure_named(measure);
    if (!known) throw std::invalid_argument("unknown measure '" + measure + "'");
    require(q.cols == x.cols, "Q and X must have equally many columns");
    require(!symmetric || q.rows == x.rows, "symmetric needs Q to be X");
    require_shape(to, q.rows, x.rows, "out must have the rows of Q and one column per row of X");
    run(threads, poll,
        [&](Job& job) { pairwise(q, x, *known, std::span(params), middle, symmetric, to, job); });
}

template <class T>
void hadamard_of(const Array2<const T>& X, const Array1<const T>& signs,
                 const Array1<const int64_t>& rows, int64_t padded, double scale,
                 const Array2<T>& out, int threads, nb::handle poll) {
    const auto x = view(X);
    const auto to = view(out);
    const std::span picks(view(rows, int64_t(rows.shape(0)), ""), rows.shape(0));
    const T* s = view(signs, x.cols, "signs must have one entry per column of X");
    require(padded >= 1 && padded >= x.cols && (padded & (padded - 1)) == 0,
            "padded must be a power of two, not below the columns of X");
    require(std::ranges::all_of(picks, [&](int64_t r) { return 0 <= r && r < padded; }),
            "rows must lie in 0 .. padded - 1");
    require_shape(to, x.rows, int64_t(picks.size()),
                  "out must have the rows of X and one column per entry of rows");
    run(threads, poll, [&](Job& job) { hadamard(x, s, picks, padded, scale, to, job); });
}

}  // namespace

void bind_linear(nb::module_& m) {
    LOWD_BIND(m, "column_sums", column_sums_of, array("X"), array("weights").none(), array("out"),
              array("multipliers").none(), nb::arg("key"), array("priorities").none(),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "scatter", scatter_of, array("X"), array("weights").none(), array("mean"),
              nb::arg("scale"), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "scatter_matmul", scatter_matmul_of, array("X"), array("weights").none(),
              array("mean"), nb::arg("scale"), array("V"), array("out"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
    LOWD_BIND(m, "project", project_rows, array("X"), array("shift").none(), array("W"),
              array("bias").none(), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "matmul", matmul_of, array("A"), array("V"), nb::arg("half_square"), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    const auto product = [&](auto index) {
        m.def("sparse_matmul", &sparse_matmul_of<decltype(index)>, array("indptr"),
              array("indices"), array("values"), array("V"), nb::arg("a"), nb::arg("b"),
              array("U").none(), nb::arg("c"), array("out"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
    };
    product(int32_t());
    product(int64_t());
    LOWD_BIND(m, "pairwise", pairwise_of, array("Q"), array("X"), nb::arg("measure"),
              nb::arg("params"), array("center").none(), nb::arg("symmetric"), array("out"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "hadamard", hadamard_of, array("X"), array("signs"), array("rows"),
              nb::arg("padded"), nb::arg("scale"), array("out"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
