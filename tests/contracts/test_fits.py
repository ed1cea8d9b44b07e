"""The fit's contract: order, threads, units, offsets and duplicates; too little of everything."""

from __future__ import annotations

import re
import warnings
from inspect import signature

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone

import lowd
from case_data import duplicates, rbf_kernel, rows_like
from cases import (
    BY_NAME,
    CASES,
    FIRST,
    FIRST_LARGE,
    LARGE,
    LLE_METHODS,
    attempt,
    close,
    each,
    fingerprint,
    fit,
    fit_once,
    fit_transform,
    fitted,
    invertible,
    numeric,
    same_bits,
    solver_tolerance,
    take,
    takes_sparse,
)
from lowd.errors import LowdWarning, ParameterError, RankWarning, ScaleWarning

# Some new points have no neighbor within a radius, of which there is a warning.
pytestmark = pytest.mark.filterwarnings("ignore::lowd.errors.DisconnectedGraphWarning")
ALL = [*CASES, *LARGE]
# The embedding of c X is c ** exponent times that of X.
SCALING_EXPONENT = {
    **dict.fromkeys(("PCA", "PCA-all", "PCA-share", "PCA-origin"), 1),
    **dict.fromkeys(("PCA-whiten", "PCA-scale"), 0),
    **dict.fromkeys(("Gaussian", "Sparse", "Hadamard"), 1),
    **dict.fromkeys(("MDS-euclidean", "MDS-manhattan", "MDS-landmarks", "MDS-precomputed"), 1),
    **dict.fromkeys(("MDS-lingoes", "MDS-cailliez"), 1),
    **dict.fromkeys(("MDS-cosine", "MDS-jaccard"), 0),
    **dict.fromkeys(("SMACOF", "SMACOF-precomputed", "SMACOF-sammon", "KernelPCA-linear"), 1),
    **dict.fromkeys(("NonMetric", "KernelPCA-cosine"), 0),
    **dict.fromkeys(("Isomap", "Isomap-precomputed", "Isomap-landmarks"), 1),
    **dict.fromkeys(("Eigenmaps", "Eigenmaps-full", "Diffusion", "SNE", "TSNE", "TSNE-scales"), 0),
    **dict.fromkeys(("LLE", "LLE-tangent", "ModifiedLLE", "HessianLLE", "LTSA"), 0),
}
# Cases whose embedding does not depend on the origin of the data.
TRANSLATION_INVARIANT = {
    *("PCA", "PCA-all", "PCA-share", "PCA-whiten", "PCA-scale"),
    *("MDS-euclidean", "MDS-manhattan", "MDS-landmarks", "MDS-lingoes", "MDS-cailliez"),
    *("SMACOF", "SMACOF-sammon", "NonMetric"),
    *("KernelPCA-linear", "KernelPCA-rbf", "KernelPCA-laplacian", "KernelPCA-rbf-landmarks"),
    *("Eigenmaps", "Eigenmaps-full", "Diffusion", "Isomap", "Isomap-radius", "Isomap-landmarks"),
    *("LLE", "LLE-radius", "LLE-tangent", "ModifiedLLE", "HessianLLE", "LTSA"),
    *("SNE", "TSNE", "TSNE-scales", "UMAP", "UMAP-density"),
}
INVARIANT = [case for case in CASES if case.name in TRANSLATION_INVARIANT]
# Methods that minimize step by step, where rounding grows.
ITERATIVE_METHODS = ("MDS", "NonMetricMDS", "SNE", "TSNE", "UMAP")


def test_listed_cases_exist():
    assert set(SCALING_EXPONENT) | TRANSLATION_INVARIANT <= set(BY_NAME)


def _has_landmarks(case):
    return "n_landmarks" in case.params


def _is_fitted_in_canonical_order(case):
    """Whether the fit is the same to the bit: where rounding grows or rows are drawn.

    Not Isomap's, whose graph is that of all rows.
    """
    return case.method in ITERATIVE_METHODS or (_has_landmarks(case) and case.method != "Isomap")


def _permuted(case, X, Q):
    """The order of a permutation, the permuted rows, and new points as they come to these."""
    order = np.random.default_rng(5).permutation(case.n)
    if case.source in ("distances", "kernel"):
        return order, X[np.ix_(order, order)], Q[:, order]
    return order, take(X, order), Q


@each(ALL, float32=[*FIRST, *FIRST_LARGE])
def test_order_of_rows_only_permutes(case, dtype):
    X, Q = case.data(dtype)
    order, shuffled, moved = _permuted(case, X, Q)
    model, _, Y = fit_once(case, dtype)
    other = case.model()
    permuted, new = fit_transform(other, shuffled), other.transform(moved)
    if _is_fitted_in_canonical_order(case):
        same_bits(permuted, Y[order])
        same_bits(new, model.transform(Q))
    else:
        factor = solver_tolerance(case)
        close(permuted, Y[order], dtype, factor)
        close(new, model.transform(Q), dtype, factor)
    # Of equal samples, as some words are, any one may be the landmark.
    if hasattr(model, "landmarks_") and len(np.unique(Y, axis=0)) == len(Y):
        assert [order[row] for row in other.landmarks_] == list(model.landmarks_)


@pytest.mark.usefixtures("many_cpus")
@each(ALL)
def test_another_fit_by_other_threads_has_the_same_bits(case):
    X, Q = case.data()
    one = fitted(case)
    twin = clone(one).set_params(n_jobs=3)
    assert not hasattr(twin, "n_components_")
    fit(twin, X)
    for name, learned in vars(one).items():
        if isinstance(learned, np.ndarray):
            same_bits(getattr(twin, name), learned)
    expected = one.transform(Q)
    same_bits(twin.transform(Q), expected)
    same_bits(twin.set_params(n_jobs=1).transform(Q), expected)


@each(CASES)
def test_each_row_five_times(case):
    """Duplicates have equal coordinates, and new points have some."""
    X, Q = case.data()
    rows = np.tile(np.arange(case.n), 5)
    repeated = take(X, rows)
    if case.source in ("distances", "kernel"):
        repeated, Q = repeated[:, rows], Q[:, rows]
    model = case.model()
    Y = fit_transform(model, repeated).reshape(5, case.n, -1)
    close(Y, np.broadcast_to(Y[0], Y.shape))
    assert np.isfinite(model.transform(Q)).all()


@each(LARGE, float32=FIRST_LARGE)
def test_duplicates_coincide(case, dtype):
    Y, (firsts, copies) = fit_once(case, dtype).embedding, duplicates(case.n)
    assert len(np.unique(Y, axis=0)) > case.n // 3
    close(Y[copies], Y[firsts], dtype)


def _takes_neighbors(case):
    model = case.model()
    taken = getattr(model, "takes", signature(model.fit).parameters)
    return case.source == "rows" and "neighbors" in taken


@each([case for case in FIRST if _takes_neighbors(case)])
def test_given_neighbors_are_as_good_as_found_ones(case):
    X, _ = case.data()
    model = case.model()
    count = getattr(model, "n_neighbors", None) or case.n - 1  # perplexities weigh all
    if case.method in ("Isomap", *LLE_METHODS):  # which refuse a number that has no effect
        model.set_params(n_neighbors=getattr(lowd, case.method)().n_neighbors)
    fit(model, X, neighbors=lowd.neighbors(X, count))
    close(model.embedding_, fitted(case).embedding_)


@each([case for case in [*FIRST, *FIRST_LARGE] if _takes_neighbors(case)])
def test_given_neighbors_of_new_rows_are_as_good_as_found_ones(case):
    """Also in no order, and more of them than the map takes."""
    X, Q = case.data()
    D = cdist(Q, X)
    lists = np.broadcast_to(np.arange(case.n), D.shape), D
    found, refusal = attempt(lambda: fitted(case).transform(Q, neighbors=lists))
    if refusal:  # where every training row counts
        assert "would be ignored" in refusal
    else:
        close(found, fitted(case).transform(Q), factor=10)


@each(FIRST)
def test_refit_forgets_the_earlier_fit(case):
    """Nothing learned from the first data shows after the second fit."""
    X, Q = case.data()
    other = take(X, range(10, 60))
    fresh, again = fit(case.model(), other), fit(fit(case.model(), X), other)
    assert vars(again).keys() == vars(fresh).keys()
    same_bits(again.transform(Q), fresh.transform(Q))


@each(FIRST)
def test_a_failed_fit_leaves_the_model_as_it_was(case):
    X, _ = case.data()
    model = fit(case.model(), X)
    before = fingerprint(model)
    with pytest.raises(lowd.errors.DataError):
        model.fit(X[:0])
    assert fingerprint(model) == before


def test_nothing_stale_is_left_after_a_change_of_mind():
    import pandas as pd

    X = rows_like(40, 5)
    named = pd.DataFrame(X, columns=list("abcde"))
    model = lowd.PCA(2).partial_fit(named)
    model.fit(X)
    assert not {"moments_", "feature_names_in_"} & set(vars(model))
    model = lowd.KernelPCA(2, kernel="rbf", n_landmarks=20, fit_inverse_transform=True).fit(X)
    assert {"landmarks_", "reconstruction_error_"} <= set(vars(model))
    model.set_params(n_landmarks=None, fit_inverse_transform=False).fit(X)
    assert not {"landmarks_", "reconstruction_error_"} & set(vars(model))


@each(INVARIANT, float32=FIRST)
def test_offsets_do_not_matter(case, dtype):
    """The embedding is that of the same rounded rows, moved back in float64."""
    for offset in (1e3, 1e6):
        X, Q = ((A.astype(np.float64) + offset).astype(dtype) for A in case.data(dtype))
        model = fit(case.model(), X)
        near = fit(case.model(), X.astype(np.float64) - offset)
        # What float64 still resolves at that offset, and float32 of what it was given.
        tolerance = 1e-3 if dtype == np.float32 else 1e-8 * offset / 1e3
        expected = near.transform(Q.astype(np.float64) - offset)
        size = np.abs(expected).max()
        np.testing.assert_allclose(
            model.transform(Q), expected, rtol=0, atol=tolerance * size, err_msg=f"{offset=}"
        )


@each([case for case in INVARIANT if case in FIRST and takes_sparse(case)], float32=FIRST)
def test_offsets_of_sparse_rows_do_not_matter(case, dtype):
    """One column has a large offset, the others are half empty."""
    offset = np.zeros(case.data()[0].shape[1])
    offset[0] = 1e6
    X, Q = (
        (np.where(A > 2, A, 0) + np.where(offset > 0, A + offset, 0)).astype(dtype)
        for A in case.data()
    )
    model = fit(case.model(), csr_array(X))
    near = fit(case.model(), X.astype(np.float64) - offset)
    tolerance = 1e-3 if dtype == np.float32 else 1e-5  # as of dense rows
    expected = near.transform(Q.astype(np.float64) - offset)
    atol = tolerance * np.abs(expected).max()
    np.testing.assert_allclose(model.transform(csr_array(Q)), expected, rtol=0, atol=atol)
    single = model.transform(csr_array(Q[3:4]))
    np.testing.assert_allclose(single, expected[3:4], rtol=0, atol=atol)


@each([BY_NAME[name] for name in SCALING_EXPONENT], float32=FIRST)
def test_units_do_not_matter(case, dtype):
    """Data times c have the embedding times c, or the same one, from 1e-30 to 1e+30."""
    X, Q = case.data(dtype)
    expected = fitted(case, dtype).transform(Q).astype(np.float64)
    for scale in (dtype(1e-30), dtype(1e30)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RankWarning)
            model = fit(case.model(), X * scale)
        Y = model.transform(Q * scale)
        assert Y.dtype == dtype
        # Powers of ten are not exact: float32 input is rounded once more.
        exponent = SCALING_EXPONENT[case.name]
        close(Y.astype(np.float64) / float(scale) ** exponent, expected, dtype, 10)


def _can_be_constant(case):
    """Equal rows have no direction, and equal affinities say nothing about equal rows."""
    by_direction = case.params.get("metric") in ("cosine", "correlation")
    return numeric(case) and not by_direction and case.params.get("affinity") != "precomputed"


@each([case for case in CASES if _can_be_constant(case)])
def test_constant_data(case):
    """All rows equal: everything at zero, with a warning about the rank; never NaN."""
    X, Q = case.data()
    X = np.full_like(X, {"distances": 0, "kernel": 1}.get(case.source, 3))
    model = case.model()
    drawn = case.method.endswith("RandomProjection")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Y = model.fit_transform(X)
        far = model.transform(Q)
    assert np.isfinite(Y).all()
    assert np.isfinite(far).all()
    kinds = {w.category for w in caught}
    assert kinds <= {RankWarning, ScaleWarning}, [str(w.message) for w in caught]
    if not drawn and case.params.get("center", True):
        assert np.abs(Y).max() == 0
        asked = isinstance(case.params.get("n_components", 2), int) and case.name != "PCA-all"
        assert (RankWarning in kinds) >= asked
    for name in ("explained_variance_ratio_", "explained_variance_", "eigenvalues_"):
        if hasattr(model, name) and case.params.get("center", True):
            values = getattr(model, name)[case.method == "DiffusionMaps" :]  # whose first is 1
            assert np.isfinite(values).all()
            assert np.abs(values).max(initial=0) == 0
    back, refusal = attempt(model.inverse_transform, np.zeros((2, Y.shape[1])))
    assert refusal or np.isfinite(back).all()


@each([case for case in CASES if numeric(case) and (case in FIRST or _has_landmarks(case))])
def test_tiny_data(case):
    """A finite result, or a sentence with a value that works."""
    for n in (1, 2, 3, 4, 5):
        for d in (1, 2, 7):
            X, Q = rows_like(n, d, seed=1), rows_like(3, d, seed=2)
            Y, model = _fit_as_advised(case, X)
            assert Y.shape[0] == n
            assert np.isfinite(Y).all()
            assert np.isfinite(model.transform(Q)).all()
            if n == 1 and not case.method.endswith("Projection"):
                assert np.abs(Y).max() == 0


@each([case for case in CASES if case.source in ("distances", "kernel")])
def test_tiny_matrices(case):
    for n in (1, 2, 3, 4, 5):
        X, Q = rows_like(n, 2, seed=1), rows_like(3, 2, seed=2)
        compare = cdist if case.source == "distances" else rbf_kernel
        Y, model = _fit_as_advised(case, compare(X, X))
        assert np.isfinite(Y).all()
        assert np.isfinite(model.transform(compare(Q, X))).all()


def _fit_as_advised(case, X):
    """Follow the advice of each refusal, which names a parameter and a bound, until it fits."""
    changes = {}
    for _ in range(4):
        model = case.model(**changes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdWarning)
            Y, refusal = attempt(model.fit_transform, X)
        if refusal is None:
            return Y, model
        if "n_landmarks" in refusal:
            bound = int(re.search(r"at most n_samples=(\d+)", refusal)[1])
            changes["n_landmarks"] = bound if bound > 1 else None
            changes["n_components"] = 1
        elif "use perplexity" in refusal:
            changes["perplexity"] = int(re.search(r"use perplexity=(\d+)", refusal)[1])
        elif "use n_neighbors" in refusal:
            changes["n_neighbors"] = int(re.search(r"use n_neighbors=(\d+)", refusal)[1])
        else:
            bound = re.search(r"use at most (\d+)|exceeds (\d+)", refusal)
            changes["n_components"] = int(bound[1] or bound[2])
    raise AssertionError(refusal)


# Any number of directions can be drawn.
DRAWN = ("GaussianRandomProjection", "SparseRandomProjection")


@each([case for case in FIRST if case.method not in DRAWN])
def test_too_many_components_are_refused_with_a_number_that_works(case):
    """The rank is the bound: one component more than the message advises is refused again."""
    X, _ = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdWarning)
        with pytest.raises(ParameterError, match="n_components=1000") as refusal:
            fit(case.model(n_components=1000), X)
        most = int(re.search(r"exceeds (\d+)", str(refusal.value))[1])
        model = fit(case.model(n_components=most), X)
        assert model.n_components_ == most
        with pytest.raises(ParameterError, match=f"n_components={most + 1}"):
            fit(case.model(n_components=most + 1), X)


@pytest.mark.parametrize("bad", [2, 3, 61])
def test_landmarks_are_more_than_components_and_at_most_all(bad):
    X = rows_like(60)
    with pytest.raises(ParameterError, match=f"n_landmarks={bad}.*n_components=3.*n_samples=60"):
        lowd.ClassicalMDS(3, n_landmarks=bad).fit(X)
    if bad != 3:
        with pytest.raises(ParameterError, match=f"n_landmarks={bad}.*n_samples=60"):
            lowd.KernelPCA(3, kernel="rbf", n_landmarks=bad).fit(X)


# Euclidean in the rows themselves: their rank is that of the rows.
FLAT = {
    *("PCA", "PCA-whiten", "PCA-scale", "MDS-euclidean", "MDS-landmarks", "SMACOF", "NonMetric"),
    "KernelPCA-linear",
}


@each([case for case in CASES if case.name in FLAT])
def test_surplus_components_are_zero(case):
    """Rank 2 data, five components: three zero columns for training and new points, a warning."""
    flat, new = (rows_like(n, 2, seed=n) @ [[1.0, 2, 0, 1, 1], [0, 1, 1, -1, 2]] for n in (40, 9))
    model = case.model(n_components=5)
    with pytest.warns(RankWarning, match="2"):
        Y = model.fit_transform(flat)
    for coordinates in (Y, model.transform(new)):
        assert coordinates.shape[1] == 5
        assert np.isfinite(coordinates).all()
        assert (coordinates[:, 2:] == 0).all()
        assert coordinates[:, :2].any(0).all()
    if invertible(case):
        close(model.inverse_transform(model.transform(new)), new)


def test_equal_distances_are_a_simplex():
    """All distances 1: every axis is as good, which is said; the map is still exact."""
    D = 1 - np.eye(5)
    model = lowd.ClassicalMDS(4, metric="precomputed").fit(D)
    close(cdist(model.embedding_, model.embedding_), D)
    assert model.degenerate_axes_ == ((0, 1, 2, 3),)


def test_subnormal_and_huge_float64():
    X = rows_like(30, 4)
    with pytest.raises(lowd.errors.DataError, match="multiply X by"):
        lowd.PCA(2).fit(X * 1e200)
    near = lowd.PCA(2).fit(X)
    # A linear map needs no squares.
    close(near.transform(X * 1e200), near.transform(X * 1e100) * 1e100)
    close(near.transform(X * 0.0), np.tile(near.transform(np.zeros((1, 4))), (30, 1)))


_PAIRED = np.repeat([4.0, 1.0, 0.25], [2, 3, 3])  # variances of columns, in groups
_PLUS_MINUS = np.vstack([np.diag(np.sqrt(_PAIRED)), -np.diag(np.sqrt(_PAIRED))])
EQUAL_AXES = {
    "PCA": (lowd.PCA, _PLUS_MINUS),
    "PCA of sparse rows": (lowd.PCA, csr_array(_PLUS_MINUS)),
    "PCA of wide rows": (lowd.PCA, _PLUS_MINUS @ np.linalg.qr(rows_like(99, 8))[0].T),
    "PCA by iteration": (
        lowd.PCA,
        np.repeat(_PLUS_MINUS, 100, axis=0) @ np.linalg.qr(rows_like(2500, 8))[0].T,
    ),
    "ClassicalMDS": (lowd.ClassicalMDS, _PLUS_MINUS),
    "ClassicalMDS of distances": (
        lambda k: lowd.ClassicalMDS(k, metric="minkowski", metric_params={"p": 2}),
        _PLUS_MINUS,
    ),
    "KernelPCA": (lambda k: lowd.KernelPCA(k, kernel="poly", degree=1), _PLUS_MINUS),
    "Isomap": (lambda k: lowd.Isomap(k, n_neighbors=15), _PLUS_MINUS),
    "LaplacianEigenmaps": (lambda k: lowd.LaplacianEigenmaps(k, n_neighbors=2), "circle"),
    "DiffusionMaps": (lambda k: lowd.DiffusionMaps(k, n_neighbors=2), "circle"),
    "LocallyLinearEmbedding": (lambda k: lowd.LocallyLinearEmbedding(k, n_neighbors=2), "circle"),
}


@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
@pytest.mark.parametrize("name", EQUAL_AXES)
def test_an_axis_that_the_next_one_equals_is_listed(name):
    make, X = EQUAL_AXES[name]
    if isinstance(X, str):
        t = np.linspace(0, 2 * np.pi, 60, endpoint=False)
        X = np.column_stack([np.cos(t), np.sin(t)])
    assert make(1).fit(X).degenerate_axes_ == ((0,),)
    assert make(2).fit(X).degenerate_axes_ == ((0, 1),)
    assert make(3).fit(X).degenerate_axes_ == ((0, 1), (2,))
