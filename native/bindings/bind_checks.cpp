#include <nanobind/stl/pair.h>

#include "bind.hpp"
#include "lowd/checks.hpp"

namespace lowd::python {

namespace {

std::pair<int64_t, int64_t> pair(Position p) { return {p.row, p.col}; }

template <class T>
auto find_nonfinite_of(const Array2<const T>& X, int threads) {
    const auto x = view(X);
    Position first;
    run(threads, nb::none(), [&](Job& job) { first = find_nonfinite(x, job); });
    return pair(first);
}

template <class T>
nb::dict symmetry_of(const Array2<const T>& A, int threads, nb::handle poll) {
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
    result["nonfinite_at"] = pair(s.nonfinite_at);
    return result;
}

}  // namespace

void bind_checks(nb::module_& m) {
    LOWD_BIND(m, "find_nonfinite", find_nonfinite_of, array("X"), nb::arg("threads"));
    LOWD_BIND(m, "symmetry", symmetry_of, array("A"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
