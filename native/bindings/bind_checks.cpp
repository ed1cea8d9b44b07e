#include <nanobind/stl/pair.h>

#include "bind.hpp"

namespace lowd::python {

namespace {

std::pair<int64_t, int64_t> pair(Place p) { return {p.row, p.col}; }

template <class T>
auto scan_array(const Array2<const T>& X, int threads) {
    const auto x = view(X);
    Place first;
    run(threads, nb::none(), [&](Job& job) { first = scan(x, job); });
    return pair(first);
}

template <class T>
nb::dict symmetry_of(const Array2<const T>& A, int threads, nb::object poll) {
    const auto a = view(A);
    require(a.rows == a.cols, "A must be square");
    Symmetry s;
    run(threads, poll, [&](Job& job) { s = symmetry(a, job); });
    nb::dict result;
    result["asymmetry"] = s.asymmetry;
    result["asymmetry_at"] = pair(s.asymmetry_at);
    result["largest"] = s.largest;
    result["smallest"] = s.smallest;
    result["smallest_at"] = pair(s.smallest_at);
    result["diagonal"] = s.diagonal;
    result["diagonal_at"] = s.diagonal_at;
    result["bad_at"] = pair(s.bad);
    return result;
}

}  // namespace

void bind_checks(nb::module_& m) {
    LOWD_BIND(m, "scan", scan_array, array("X"), nb::arg("threads"));
    LOWD_BIND(m, "symmetry", symmetry_of, array("A"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
