#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>

#include "bind.hpp"
#include "lowd/stress.hpp"

namespace lowd::python {

namespace {

using Sums = std::tuple<double, double, double>;

template <class T>
std::optional<Matrix<const T>> given(const std::optional<Array2<const T>>& W, int64_t rows,
                                     int64_t cols) {
    if (!W) return {};
    const auto w = view(*W);
    require_shape(w, rows, cols, "there must be a weight per target");
    return w;
}

// Without an early end, so that it takes next to no time: it is called for every step.
bool below(std::span<const int32_t> numbers, int64_t bound) {
    uint32_t largest = 0;
    for (const int32_t number : numbers) largest = std::max(largest, uint32_t(number));
    return numbers.empty() || int64_t(largest) < bound;
}

template <class T>
Sums guttman_of(const Array2<const T>& D, const std::optional<Array2<const T>>& W,
                const Array2<const double>& Y, const Array2<double>& moved, int threads,
                nb::object poll) {
    const auto d = view(D);
    const auto y = view(Y);
    const auto to = view(moved);
    require(y.cols >= 1, "Y must have columns");
    require_shape(d, y.rows, y.rows, "D must have a row and a column per row of Y");
    require_shape(to, y.rows, y.cols, "moved must have the shape of Y");
    const auto w = given<T>(W, d.rows, d.cols);
    Stress found;
    run(threads, poll, [&](Job& job) { found = guttman(d, w ? &*w : nullptr, y, to, job); });
    return {found.stress, found.size, found.cross};
}

Sums monotone_of(const Array1<const int32_t>& first, const Array1<const int32_t>& second,
                 const std::optional<Array1<const double>>& weights,
                 const std::optional<Array1<const int64_t>>& groups, bool split,
                 const Array2<const double>& Y, const Array1<int32_t>& order,
                 const Array1<double>& lengths, const Array1<double>& fitted,
                 const Array2<double>& moved, int threads, nb::object poll) {
    const auto y = view(Y);
    const auto to = view(moved);
    const auto count = int64_t(first.shape(0));
    constexpr const char* ENTRIES = "there must be one entry per pair";
    OrderedPairs pairs{{view(first, count, ""), size_t(count)},
                       {view(second, count, ENTRIES), size_t(count)},
                       view(weights, count, ENTRIES),
                       {}};
    require(below(pairs.first, y.rows) && below(pairs.second, y.rows),
            "pairs must be of rows of Y");
    if (groups) {
        const auto size = int64_t(groups->shape(0));
        pairs.groups = {view(*groups, size, ""), size_t(size)};
        require(size >= 1 && pairs.groups.front() == 0 && pairs.groups.back() == count &&
                    std::ranges::adjacent_find(pairs.groups, std::greater_equal<>()) ==
                        pairs.groups.end(),
                "groups must rise from 0 to the number of pairs");
    }
    require(y.cols >= 1, "Y must have columns");
    require_shape(to, y.rows, y.cols, "moved must have the shape of Y");
    int32_t* const by = view(order, count, ENTRIES);
    require(below({by, size_t(count)}, count), "order must name pairs");
    double* const d = view(lengths, count, ENTRIES);
    double* const t = view(fitted, count, ENTRIES);
    Stress found;
    run(threads, poll, [&](Job& job) { found = monotone(pairs, split, y, by, d, t, to, job); });
    return {found.stress, found.size, found.cross};
}

void locate_of(const Array2<const double>& T, const std::optional<Array2<const double>>& W,
               const Array2<const double>& A, int max_iter, double tol, const Array2<double>& Y,
               const Array1<double>& stress, int threads, nb::object poll) {
    const auto t = view(T), a = view(A);
    const auto y = view(Y);
    require(a.cols >= 1, "A must have columns");
    require_shape(t, y.rows, a.rows, "T must have a row per row of Y, a column per row of A");
    require(y.cols == a.cols, "Y and A must have equally many columns");
    const auto w = given<double>(W, t.rows, t.cols);
    double* const left = view(stress, y.rows, "there must be an entry per row");
    run(threads, poll, [&](Job& job) {
        locate(t, w ? &*w : nullptr, a, max_iter, tol, y, left, job);
    });
}

}  // namespace

void bind_stress(nb::module_& m) {
    LOWD_BIND(m, "guttman", guttman_of, array("D"), array("W").none(), array("Y"), array("moved"),
              nb::arg("threads"), nb::arg("poll") = nb::none());
    m.def("monotone", &monotone_of, array("first"), array("second"), array("weights").none(),
          array("groups").none(), nb::arg("split"), array("Y"), array("order"), array("lengths"),
          array("fitted"), array("moved"), nb::arg("threads"), nb::arg("poll") = nb::none());
    m.def("locate", &locate_of, array("T"), array("W").none(), array("A"), nb::arg("max_iter"),
          nb::arg("tol"), array("Y"), array("stress"), nb::arg("threads"),
          nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
