#include <nanobind/stl/optional.h>

#include "bind.hpp"
#include "lowd/moments.hpp"

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

}  // namespace

void bind_moments(nb::module_& m) {
    LOWD_BIND(m, "column_sums", column_sums_of, array("X"), array("weights").none(), array("out"),
              array("multipliers").none(), nb::arg("key"), array("priorities").none(),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "scatter", scatter_of, array("X"), array("weights").none(), array("mean"),
              nb::arg("scale"), array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "scatter_matmul", scatter_matmul_of, array("X"), array("weights").none(),
              array("mean"), nb::arg("scale"), array("V"), array("out"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
