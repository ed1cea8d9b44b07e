#include <nanobind/stl/string.h>

#include "bind_ragged.hpp"
#include "lowd/alignment.hpp"

namespace lowd::python {

namespace {

template <class T>
void barycentric_weights_of(const Array2<const T>& Q, const Array2<const T>& X,
                            const Indptr& indptr, const Indices& indices, double reg,
                            const Array1<double>& out, int threads, nb::handle poll) {
    const auto q = view(Q), x = view(X);
    const Ragged near = ragged_of(indptr, indices, x.rows);
    double* const weights = view(out, int64_t(indices.shape(0)), PER_INDEX);
    require(q.cols == x.cols, "Q and X must have equally many columns");
    require(near.count() == q.rows, "there must be one list per row of Q");
    run(threads, poll, [&](Job& job) { barycentric_weights(q, x, near, reg, weights, job); });
}

void alignment_indptr_of(const Indptr& indptr, const Indices& members, const Array1<int64_t>& out,
                         int threads, nb::handle poll) {
    const int64_t rows = int64_t(out.shape(0)) - 1;
    require(rows >= 0, "out must have one entry per row and one more");
    const Ragged patches = ragged_of(indptr, members, rows);
    int64_t* const to = view(out, rows + 1, "");
    run(threads, poll, [&](Job& job) { alignment_indptr(patches, rows, to, job); });
}

template <class T>
void alignment_matrix_of(const Array2<const T>& X, const Indptr& indptr, const Indices& members,
                         const std::string& kind, int k, double reg,
                         const Array1<const double>& counts,
                         const Array1<const int64_t>& out_indptr, const Array1<int32_t>& indices,
                         const Array1<double>& data, int threads, nb::handle poll) {
    const auto x = view(X);
    const Ragged patches = ragged_of(indptr, members, x.rows);
    const double* const weights =
        view(counts, patches.count(), "counts must have an entry per patch");
    const auto total = int64_t(indices.shape(0));
    const std::span begins = indptr_of(out_indptr, total);
    require(int64_t(begins.size()) == x.rows + 1, "indptr must have one entry per row");
    int32_t* const columns = view(indices, total, "");
    double* const values = view(data, total, PER_INDEX);
    require(k >= 1, "k must be positive");
    require(kind == "ltsa" || kind == "hessian" || kind == "modified", "unknown kind");
    const Alignment how = kind == "ltsa"      ? Alignment::ltsa
                          : kind == "hessian" ? Alignment::hessian
                                              : Alignment::modified;
    run(threads, poll, [&](Job& job) {
        alignment_matrix(x, patches, how, k, reg, weights, begins.data(), columns, values, job);
    });
}

}  // namespace

void bind_alignment(nb::module_& m) {
    LOWD_BIND(m, "barycentric_weights", barycentric_weights_of, array("Q"), array("X"),
              array("indptr"), array("indices"), nb::arg("reg"), array("out"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
    m.def("alignment_indptr", &alignment_indptr_of, array("patch_indptr"), array("members"),
          array("out"), nb::arg("threads"), nb::arg("poll") = nb::none());
    LOWD_BIND(m, "alignment_matrix", alignment_matrix_of, array("X"), array("patch_indptr"),
              array("members"), nb::arg("kind"), nb::arg("k"), nb::arg("reg"), array("counts"),
              array("indptr"), array("indices"), array("data"), nb::arg("threads"),
              nb::arg("poll") = nb::none());
}

}  // namespace lowd::python
