"""Sparse rows, precomputed matrices, metrics and callables as input of every method."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from scipy.spatial.distance import cdist

import lowd
from case_data import manhattan_distance, rbf_kernel, rows_like
from cases import CASES, FIRST, FIRST_LARGE, close, each, fit, of_rows, same_bits, takes_sparse
from lowd.errors import DataError, ParameterError, UnsupportedError


def _with_zeros(case, dtype):
    """Training and new rows, about half of whose entries are zero."""
    X, Q = (np.maximum(A - np.median(A), 0).astype(dtype) for A in case.data(dtype))
    return X[X.any(1)], Q[Q.any(1)]


# Forces on a mesh are rounded to float32, and grow; eigenvectors are found to an angle of 1e-6.
SPARSE_TOLERANCE = {"TSNE": 1e9, "UMAP": 1e9, "SNE": 1e4, "MDS": 1e4, "LaplacianEigenmaps": 1e5}


@each([case for case in [*CASES, *FIRST_LARGE] if takes_sparse(case)], float32=FIRST)
def test_sparse_equals_dense(case, dtype):
    X, Q = _with_zeros(case, dtype)
    factor = SPARSE_TOLERANCE.get(case.method, 10) if case.is_large else 5
    model, dense = case.model(), fit(case.model(), X)
    for kind in (csr_array, csc_array, coo_array, csr_matrix)[: 1 if case.is_large else 4]:
        given = kind(X)
        fit(model, given)
        assert given.nnz == csr_array(X).nnz  # the input is as it was
        Y = model.transform(kind(Q))
        assert isinstance(Y, np.ndarray)
        assert Y.dtype == dtype
        close(Y, dense.transform(Q), dtype, factor)
    close(model.transform(Q), dense.transform(Q), dtype, factor)
    close(dense.transform(csr_array(Q)), dense.transform(Q), dtype, 5)
    rows = csr_array(Q)
    whole = model.transform(rows)
    same_bits(np.vstack([model.transform(rows[[i]]) for i in (0, 5, 9)]), whole[[0, 5, 9]])


@each([case for case in FIRST if of_rows(case) and not takes_sparse(case)])
def test_sparse_is_refused_with_advice(case):
    X, Q = _with_zeros(case, np.float64)
    model = case.model()
    with pytest.raises(UnsupportedError, match="toarray"):
        model.fit(csr_array(X))
    with pytest.raises(UnsupportedError, match="toarray"):
        fit(model, X).transform(csr_array(Q))


@each([case for case in FIRST if takes_sparse(case)])
def test_sparse_input_is_never_rearranged(case):
    """Columns of a row in any order: the same answer, and the input untouched."""
    X = csr_array(_with_zeros(case, np.float64)[0])
    expected = fit(case.model(), X.toarray()).transform(X.toarray())
    for row, end in zip(X.indptr, X.indptr[1:], strict=False):
        X.indices[row:end], X.data[row:end] = X.indices[row:end][::-1], X.data[row:end][::-1]
    X.has_sorted_indices = False
    before = [part.copy() for part in (X.data, X.indices, X.indptr)]
    model = fit(case.model(), X)
    close(model.transform(X), expected, factor=5)
    for part, was in zip((X.data, X.indices, X.indptr), before, strict=True):
        same_bits(part, was)
        assert part.flags.writeable


@each([case for case in FIRST if takes_sparse(case)])
def test_no_note_is_left_on_sparse_input(case):
    """SciPy notes on a matrix whether it is sorted, and goes by that when a user has changed it."""
    X = csr_array(_with_zeros(case, np.float64)[0])
    X = csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    notes = set(vars(X))
    fit(case.model(), X).transform(X)
    assert set(vars(X)) == notes


def _compares_rows(case):
    return case.source == "rows" and "metric" in case.model().get_params()


@each([case for case in [*FIRST, *FIRST_LARGE] if _compares_rows(case)])
def test_distances_are_as_good_as_rows(case):
    """An embedding and its map know nothing of the rows but their distances."""
    X, Q = case.data()
    start = {}
    if "init" in case.model().get_params():  # else that of rows is by their principal axes
        start["init"] = np.random.default_rng(3).normal(size=(case.n, 2))
    rows = fit(case.model(**start), X)
    given = fit(case.model(**start, metric="precomputed"), cdist(X, X))
    if case.is_large and case.method in ("TSNE", "UMAP"):
        assert np.corrcoef(given.embedding_.ravel(), rows.embedding_.ravel())[0, 1] > 0.99
    else:
        factor = 1e4 if case.method in SPARSE_TOLERANCE or case.is_large else 10
        close(given.embedding_, rows.embedding_, factor=factor)
        close(given.transform(cdist(Q, X)), rows.transform(Q), factor=factor)


@pytest.mark.parametrize("n", [60, 700])
def test_a_kernel_matrix_is_as_good_as_rows(n):
    X, Q = rows_like(n), rows_like(20, seed=5)
    rows = lowd.KernelPCA(3, kernel="rbf", gamma=0.1).fit(X)
    given = lowd.KernelPCA(3, kernel="precomputed").fit(rbf_kernel(X, X))
    close(given.embedding_, rows.embedding_, factor=10)
    close(given.transform(rbf_kernel(Q, X)), rows.transform(Q), factor=10)


def test_sparse_duplicates_add_up():
    entries, at = np.array([1.0, 2, 4, 3, 1]), ([0, 0, 1, 2, 3], [0, 0, 1, 1, 0])
    X = coo_array((entries, at), shape=(4, 2))
    close(
        lowd.PCA(2).fit_transform(X),
        lowd.PCA(2).fit_transform(X.toarray()),
    )


def test_broken_sparse_matrices_are_refused():
    X = csr_array(rows_like(6, 4))
    X.indices[3] = 99  # products would read beyond their arrays
    with pytest.raises(DataError, match="the sparse matrix is broken"):
        lowd.PCA(2).fit(X)
    spare = csr_array(rows_like(6, 4))
    spare.data, spare.indices = np.append(spare.data, 5.0), np.append(spare.indices, 2)
    coordinates = lowd.PCA(2).fit_transform(spare)
    close(coordinates, lowd.PCA(2).fit_transform(rows_like(6, 4)))


def test_precomputed_is_checked():
    """Each defect of a matrix of distances is named, with its row and column."""
    X = rows_like(12, 3)
    D = np.linalg.norm(X[:, None] - X, axis=2)

    def spoiled(row, column, by, mirror=False):
        A = D.copy()
        A[row, column] += by
        if mirror:
            A[column, row] += by
        return A

    model = lowd.ClassicalMDS(2, metric="precomputed")
    with pytest.raises(DataError, match=r"symmetric.*\((2, 5|5, 2)\)"):
        model.fit(spoiled(2, 5, 0.5))
    with pytest.raises(DataError, match=r"row 4 to itself is 0\.5"):
        model.fit(spoiled(4, 4, 0.5))
    with pytest.raises(DataError, match=r"row [36], column [36]"):
        model.fit(spoiled(3, 6, -9.0, mirror=True))
    with pytest.raises(DataError, match="row 1, column 2"):
        model.fit(D).transform(spoiled(1, 2, -9.0)[:2])
    # A similarity (largest on the diagonal) is not a distance.
    with pytest.raises(DataError, match=r"similarit"):
        model.fit(np.exp(-D))


def test_float_noise_in_distances_passes():
    X = rows_like(30, 3)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    noisy = D * (1 + 1e-7 * np.random.default_rng(0).normal(size=D.shape))
    expected = lowd.ClassicalMDS(2, metric="precomputed").fit(D)
    model = lowd.ClassicalMDS(2, metric="precomputed").fit(noisy)
    close(model.embedding_, expected.embedding_, np.float32)


def test_squared_distances_are_noticed():
    X = rows_like(40, 3)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    with pytest.warns(lowd.errors.MetricWarning, match="triangle"):
        fit(lowd.ClassicalMDS(2, metric="precomputed"), D**2)


def test_asymmetric_kernel():
    K = np.eye(5) + 0.1
    K[1, 3] = 0.7
    with pytest.raises(DataError, match="symmetric"):
        lowd.KernelPCA(2, kernel="precomputed").fit(K)


def test_rows_without_direction_are_named():
    X = rows_like(20, 4)
    X[[3, 8]] = 0
    with pytest.raises(DataError, match=r"row 3, 8 has no direction"):
        lowd.ClassicalMDS(metric="cosine").fit(X)
    model = fit(lowd.ClassicalMDS(metric="cosine"), rows_like(20, 4))
    with pytest.raises(DataError, match="row 3, 8"):
        model.transform(X)
    X[[3, 8]] = 5
    with pytest.raises(DataError, match="all equal"):
        lowd.ClassicalMDS(metric="correlation").fit(X)


SET_METHODS = {
    "ClassicalMDS": {},
    "MDS": {},
    "NonMetricMDS": {},
    "Isomap": {},
    "LaplacianEigenmaps": {},
    "DiffusionMaps": {},
    "TSNE": {"perplexity": 5},
    "SNE": {"perplexity": 5},
    "NeighborsTransformer": {"n_neighbors": 3},
}


@pytest.mark.parametrize("method", SET_METHODS)
def test_empty_sets_are_named(method):
    """At distance 1 from all others, one would be everybody's neighbor and a short circuit."""
    X = np.array([[float(i <= j < i + 10) for j in range(40)] for i in range(30)])
    holed = X.copy()
    holed[[3, 8]] = 0
    model = getattr(lowd, method)(metric="jaccard", **SET_METHODS[method])
    with pytest.raises(DataError, match=r"row 3, 8 is an empty set.*'hamming'"):
        model.fit(holed)
    fit(model, X)
    with pytest.raises(DataError, match="row 3, 8 is an empty set"):
        model.transform(holed)


def _skewed(a, b):
    """Farther uphill than downhill."""
    return manhattan_distance(a, b) + max(0.0, float(a[0] - b[0]))


@each([case for case in FIRST if "metric" in case.model().get_params() and case.source == "rows"])
def test_a_callable_metric_must_be_a_distance(case):
    X = rows_like(60)

    def similarity(a, b):
        return 1 / (1 + manhattan_distance(a, b))

    refused = {
        r"_skewed is not symmetric: [\d.]+ for objects \((\d+), (\d+)\) but": _skewed,
        r"similarity gives 1 for object \d+ and itself, not 0": similarity,
        r"gave -1.0 for objects \d+ and \d+": lambda *_: -1.0,
        r"gave nan for objects \d+ and \d+": lambda *_: float("nan"),
        r"<lambda> gave None for objects \d+ and \d+": lambda *_: None,
    }
    for words, metric in refused.items():
        model = case.model(metric=metric)
        with pytest.raises(DataError, match=words):
            model.fit(X)


def test_an_error_of_a_callable_names_it():
    def divide(a, b):
        return 1 / (len(a) - len(b))

    for model, words in (
        (lowd.ClassicalMDS(metric=divide), "raised by metric=.*divide, objects 1"),
        (lowd.KernelPCA(kernel=divide), "raised by kernel=.*divide"),
    ):
        with pytest.raises(ZeroDivisionError) as failure:
            model.fit([[1, 2], [3, 4]])
        assert re.search(words, failure.value.__notes__[0])


def test_metric_and_kernel_parameters_that_do_not_exist():
    X = rows_like(20)
    for metric, params, word in (
        ("manhattan", {"p": 3}, "'p'"),
        ("minkowski", {"q": 3}, "'q'"),
        ("minkowski", {"p": 0.5}, ">= 1"),
        ("minkowski", {"p": np.inf}, "chebyshev"),
        ("euclidean", {"p": 3}, "'p'"),
        ("gower", {"weights": [1, 2]}, "7 numbers"),
        ("gower", {"weights": [-1] * 7}, ">= 0"),
    ):
        with pytest.raises(ParameterError, match=word):
            lowd.ClassicalMDS(metric=metric, metric_params=params).fit(X)
    with pytest.raises(ParameterError, match="only a callable"):
        lowd.KernelPCA(2, kernel="rbf", kernel_params={"gamma": 1}).fit(X)
    with pytest.raises(ParameterError, match="only a callable"):
        lowd.KernelPCA(2, kernel="linear", kernel_params={"gamma": 1}).fit(X)


@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
def test_metrics_of_other_libraries_have_their_names(rng):
    X = rng.random((60, 4))
    for name, own in (("l1", "manhattan"), ("taxicab", "manhattan"), ("linf", "chebyshev")):
        model, expected = (lowd.Isomap(n_neighbors=8, metric=m).fit(X) for m in (name, own))
        same_bits(model.transform(X + 0.01), expected.transform(X + 0.01))
        assert model.get_params()["metric"] == name
    near = lowd.ClassicalMDS(2, metric="l2").fit(csr_array(X))
    close(near.embedding_, lowd.ClassicalMDS(2).fit_transform(X))
    y = X[:, 0]
    given = {"n_epochs": 5, "n_neighbors": 8}
    model = lowd.UMAP(target_metric="l2", **given).fit(X, y)
    same_bits(model.embedding_, lowd.UMAP(target_metric="euclidean", **given).fit_transform(X, y))


def test_entries_that_a_metric_cannot_compare():
    X = rows_like(20, 3)
    for metric in ("braycurtis", "hellinger"):
        with pytest.raises(DataError, match=rf"{metric}' compares amounts, but row \d+, column"):
            lowd.Isomap(n_neighbors=3, metric=metric).fit(X)
    with pytest.raises(DataError, match=r"latitude .* got 3 columns; for degrees"):
        lowd.Isomap(n_neighbors=3, metric="haversine").fit(X)
    with pytest.raises(DataError, match=r"radians"):
        lowd.Isomap(n_neighbors=3, metric="haversine").fit(90 * X[:, :2])
    with pytest.raises(DataError, match="empty set"):
        lowd.Isomap(n_neighbors=3, metric="dice").fit(X * (np.arange(20) != 4)[:, None])
