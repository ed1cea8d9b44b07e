"""Hard data: order, units, offsets, duplicates, constants, too little of everything."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import lowd
from case_data import rbf_kernel, rows_like
from cases import (
    CASES,
    attempt,
    cases,
    close,
    fit,
    fit_transform,
    fitted,
    invertible,
    numeric,
    same_bits,
    take,
    takes_sparse,
)
from lowd.errors import LowdWarning, ParameterError, RankWarning, ScaleWarning

# Cases whose embedding does not depend on the origin of the data.
TRANSLATION_INVARIANT = {
    *("PCA", "PCA-all", "PCA-share", "PCA-whiten", "PCA-scale", "PCA-population"),
    *("MDS-euclidean", "MDS-sqeuclidean", "MDS-manhattan", "MDS-chebyshev", "MDS-minkowski"),
    *("MDS-landmarks", "MDS-manhattan-landmarks", "MDS-lingoes", "MDS-cailliez"),
    *("SMACOF", "SMACOF-manhattan", "SMACOF-sammon", "SMACOF-landmarks", "NonMetric"),
    *("KernelPCA-linear", "KernelPCA-rbf", "KernelPCA-laplacian", "KernelPCA-median"),
    *("KernelPCA-rbf-landmarks", "KernelPCA-laplacian-landmarks", "KernelPCA-linear-landmarks"),
    *("Eigenmaps", "Eigenmaps-binary", "Eigenmaps-full", "Eigenmaps-landmarks"),
    *("Diffusion", "Diffusion-neighbors", "Diffusion-landmarks"),
    *("Isomap", "Isomap-radius", "Isomap-manhattan", "Isomap-landmarks"),
    *("LLE", "LLE-radius", "LLE-tangent", "LLE-landmarks", "ModifiedLLE", "HessianLLE"),
    *("LTSA", "LTSA-tangent", "SNE", "SNE-symmetric", "TSNE", "TSNE-scales", "TSNE-uniform"),
    *("UMAP", "UMAP-space", "UMAP-density"),
}
# The embedding of c X is c ** exponent times that of X.
SCALING_EXPONENT = {
    **dict.fromkeys(("PCA", "PCA-all", "PCA-share", "PCA-origin"), 1),
    **dict.fromkeys(("PCA-whiten", "PCA-scale", "PCA-population"), 0),
    **dict.fromkeys(("Gaussian", "Gaussian-inverse", "Sparse", "Sparse-dense", "Hadamard"), 1),
    **dict.fromkeys(("MDS-euclidean", "MDS-manhattan", "MDS-chebyshev", "MDS-minkowski"), 1),
    **dict.fromkeys(("MDS-landmarks", "MDS-manhattan-landmarks", "MDS-precomputed"), 1),
    **dict.fromkeys(("MDS-lingoes", "MDS-cailliez", "MDS-precomputed-lingoes"), 1),
    **dict.fromkeys(("MDS-cosine", "MDS-correlation", "MDS-hamming", "MDS-jaccard"), 0),
    **dict.fromkeys(("SMACOF", "SMACOF-manhattan", "SMACOF-precomputed", "SMACOF-sammon"), 1),
    **dict.fromkeys(("SMACOF-landmarks",), 1),
    **dict.fromkeys(("NonMetric", "NonMetric-precomputed", "NonMetric-landmarks"), 0),
    **dict.fromkeys(("KernelPCA-linear",), 1),
    **dict.fromkeys(("KernelPCA-cosine", "KernelPCA-median"), 0),
    **dict.fromkeys(("Eigenmaps", "Eigenmaps-binary", "Eigenmaps-full"), 0),
    **dict.fromkeys(("Eigenmaps-precomputed", "Eigenmaps-landmarks"), 0),
    **dict.fromkeys(("Diffusion", "Diffusion-neighbors", "Diffusion-precomputed"), 0),
    **dict.fromkeys(("Isomap", "Isomap-manhattan", "Isomap-precomputed", "Isomap-landmarks"), 1),
    **dict.fromkeys(("LLE", "LLE-tangent", "LLE-landmarks", "ModifiedLLE", "HessianLLE"), 0),
    **dict.fromkeys(("LTSA", "LTSA-tangent"), 0),
    **dict.fromkeys(("SNE", "SNE-symmetric", "TSNE", "TSNE-scales"), 0),
}
GRAPH_METHODS = (
    *("Isomap", "LaplacianEigenmaps", "DiffusionMaps"),
    *("LocallyLinearEmbedding", "ModifiedLLE", "HessianLLE", "LTSA"),
    *("SNE", "TSNE", "UMAP"),
)
# Methods that minimize step by step, where rounding grows.
ITERATIVE_METHODS = ("MDS", "NonMetricMDS", "SNE", "TSNE", "UMAP")


def _has_landmarks(case):
    return "n_landmarks" in case.params


def _translation_invariant(case):
    return case.name in TRANSLATION_INVARIANT


def _is_fitted_in_canonical_order(case):
    """Whether all of the fit is: methods in which rounding grows (their map of all rows is not)."""
    return case.method in ITERATIVE_METHODS and not _has_landmarks(case)


def _permuted(case, X, Q):
    """The order of a permutation, the permuted rows, and new points as they come to these."""
    order = np.random.default_rng(5).permutation(len(X))
    if case.source in ("distances", "kernel"):
        return order, X[np.ix_(order, order)], Q[:, order]
    return order, take(X, order), Q


def test_order_of_rows_only_permutes(case, backend, dtype):
    X, Q = case.data(dtype)
    order, shuffled, moved = _permuted(case, X, Q)
    model, other = fit(case.model(backend), X), fit(case.model(backend), shuffled)
    close(other.transform(moved), model.transform(Q), dtype)
    if hasattr(model, "embedding_"):
        close(other.embedding_, model.embedding_[order], dtype)
    if hasattr(model, "landmarks_") and case.source != "words":  # of which some are equal
        assert [order[row] for row in other.landmarks_] == list(model.landmarks_)


@cases(_is_fitted_in_canonical_order, other_float32=True)
def test_order_of_rows_permutes_to_the_bit_where_rounding_grows(case, backend, dtype):
    X, Q = case.data(dtype)
    order, shuffled, moved = _permuted(case, X, Q)
    model, other = fit(case.model(backend), X), fit(case.model(backend), shuffled)
    same_bits(other.embedding_, model.embedding_[order])
    same_bits(other.transform(moved), model.transform(Q))


@cases(  # Isomap's graph is that of all rows; the reference's products depend on the batch
    lambda case: _has_landmarks(case) and case.method != "Isomap",
    other_backends=lambda case: False,  # noqa: ARG005 - a predicate's signature
)
def test_order_of_rows_permutes_to_the_bit_with_landmarks(case, backend, dtype):
    X, Q = case.data(dtype)
    order, shuffled, moved = _permuted(case, X, Q)
    model, other = fit(case.model(backend), X), fit(case.model(backend), shuffled)
    same_bits(other.embedding_, model.embedding_[order])
    same_bits(other.transform(moved), model.transform(Q))


@cases(_translation_invariant)
def test_offsets_do_not_matter(case, backend, dtype):
    """The embedding is that of the same rounded rows, moved back in float64."""
    for offset in (1e3, 1e6):
        X, Q = ((A.astype(np.float64) + offset).astype(dtype) for A in case.data(dtype))
        model = fit(case.model(backend), X)
        near = fit(case.model("reference"), X.astype(np.float64) - offset)
        # What float64 still resolves at that offset, and float32 of what it was given.
        tolerance = 1e-3 if dtype == np.float32 else 1e-8 * offset / 1e3
        expected = near.transform(Q.astype(np.float64) - offset)
        size = np.abs(expected).max()
        np.testing.assert_allclose(
            model.transform(Q), expected, rtol=0, atol=tolerance * size, err_msg=f"{offset=}"
        )


@cases(lambda case: _translation_invariant(case) and takes_sparse(case))
def test_offsets_of_sparse_rows_do_not_matter(case, backend, dtype):
    """One column has a large offset, the others are half empty."""
    offset = np.zeros(case.data()[0].shape[1])
    offset[0] = 1e6
    X, Q = (
        (np.where(A > 2, A, 0) + np.where(offset > 0, A + offset, 0)).astype(dtype)
        for A in case.data(np.float64)
    )
    model = fit(case.model(backend), csr_array(X))
    near = fit(case.model("reference"), X.astype(np.float64) - offset)
    tolerance = 1e-3 if dtype == np.float32 else 1e-5  # as of dense rows
    expected = near.transform(Q.astype(np.float64) - offset)
    atol = tolerance * np.abs(expected).max()
    np.testing.assert_allclose(model.transform(csr_array(Q)), expected, rtol=0, atol=atol)
    single = model.transform(csr_array(Q[3:4]))
    np.testing.assert_allclose(single, expected[3:4], rtol=0, atol=atol)


@cases(lambda case: case.name in SCALING_EXPONENT)
def test_units_do_not_matter(case, backend, dtype):
    """Data times c have the embedding times c, or the same one, from 1e-30 to 1e+30."""
    X, Q = case.data(dtype)
    expected = fitted(case, backend, dtype).transform(Q).astype(np.float64)
    for scale in (dtype(1e-30), dtype(1e30)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RankWarning)
            model = fit(case.model(backend), X * scale)
        Y = model.transform(Q * scale)
        assert Y.dtype == dtype
        # Powers of ten are not exact: float32 input is rounded once more.
        exponent = SCALING_EXPONENT[case.name]
        close(Y.astype(np.float64) / float(scale) ** exponent, expected, dtype, 10)


def test_listed_cases_exist():
    assert set(SCALING_EXPONENT) | TRANSLATION_INVARIANT <= {case.name for case in CASES}


def test_duplicates_coincide(case, backend, dtype):
    """Each row five times: duplicates have equal coordinates, and new points have some."""
    X, Q = case.data(dtype)
    rows = np.tile(np.arange(len(X)), 5)
    repeated = take(X, rows)
    if case.source in ("distances", "kernel"):
        repeated, Q = repeated[:, rows], Q[:, rows]
    model = case.model(backend)
    Y = fit_transform(model, repeated).reshape(5, len(X), -1)
    close(Y, np.broadcast_to(Y[0], Y.shape), dtype)
    assert np.isfinite(model.transform(Q)).all()


@cases(lambda case: case.source == "rows" and _translation_invariant(case))
def test_a_constant_column_changes_nothing(case, backend, dtype):
    X, Q = case.data(dtype)
    wider = [np.insert(A, 3, 7, axis=1) for A in (X, Q)]
    params = {"gamma": 1 / X.shape[1]} if case.params.get("kernel") in ("rbf", "laplacian") else {}
    model = fit(case.model(backend), X)
    if case.params.get("gamma") == "median":
        params = {}
    other = fit(case.model(backend, **params), wider[0])
    k = min(model.transform(Q).shape[1], other.transform(wider[1]).shape[1])
    close(other.transform(wider[1])[:, :k], model.transform(Q)[:, :k], dtype)
    if hasattr(other, "components_"):
        assert np.abs(other.components_[:k, 3]).max() < 1e-6


def _can_be_constant(case):
    """Equal rows have no direction, and equal affinities say nothing about equal rows."""
    by_direction = case.params.get("metric") in ("cosine", "correlation")
    return numeric(case) and not by_direction and case.params.get("affinity") != "precomputed"


@cases(_can_be_constant)
def test_constant_data(case, backend, dtype):
    """All rows equal: everything at zero, with a warning about the rank; never NaN."""
    X, Q = case.data(dtype)
    fill = {"distances": 0, "kernel": 1}.get(case.source, 3)
    X = np.full_like(X, fill)
    model = case.model(backend)
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
        asked = isinstance(case.params.get("n_components", 2), int)
        asked &= case.name not in ("PCA-all", "KernelPCA-all")
        assert (RankWarning in kinds) >= asked
    for name in ("explained_variance_ratio_", "explained_variance_", "eigenvalues_"):
        if hasattr(model, name) and case.params.get("center", True):
            values = getattr(model, name)[case.method == "DiffusionMaps" :]  # whose first is 1
            assert np.isfinite(values).all()
            assert np.abs(values).max(initial=0) == 0
    k = Y.shape[1]
    back, refusal = attempt(model.inverse_transform, np.zeros((2, k), dtype))
    assert refusal or np.isfinite(back).all()


@cases(numeric)
def test_tiny_data(case, backend):
    """A finite result, or a sentence with a value that works."""
    for n in (1, 2, 3, 4, 5):
        for d in (1, 2, 7):
            _check_tiny(case, backend, n, d)


def _check_tiny(case, backend, n, d):
    X, Q = _tiny(case, n, d)
    Y, model = _fit_as_advised(case, backend, X)
    assert Y.shape[0] == n
    assert np.isfinite(Y).all()
    if Q is not None:
        assert np.isfinite(model.transform(Q)).all()
    if n == 1 and not case.method.endswith("Projection") and case.params.get("center", True):
        assert np.abs(Y).max() == 0


def _tiny(case, n, d):
    X, Q = rows_like(n, d, seed=1), rows_like(3, d, seed=2)
    if case.source == "counts":
        return np.round(X), np.round(Q)
    if case.source == "distances":
        return cdist(X, X), cdist(Q, X)
    return (rbf_kernel(X, X), rbf_kernel(Q, X)) if case.source == "kernel" else (X, Q)


def _fit_as_advised(case, backend, X):
    """Follow the advice of each refusal, which names a parameter and a bound, until it fits."""
    changes = {}
    for _ in range(4):
        model = case.model(backend, **changes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdWarning)
            Y, refusal = attempt(model.fit_transform, X)
        if refusal is None:
            return Y, model
        if "no direction" in refusal:  # correlation of one column: the advice is another metric
            assert "metric='euclidean'" in refusal
            changes["metric"] = "euclidean"
        elif "n_landmarks" in refusal:
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


def _bounded_by_rank(case):
    """Any number of directions can be drawn, and the landmarks' bound has its own test."""
    drawn = case.method in ("GaussianRandomProjection", "SparseRandomProjection")
    return not drawn and not _has_landmarks(case)


@cases(_bounded_by_rank)
def test_too_many_components_are_refused_with_a_number_that_works(case, backend):
    """The rank is the bound: one component more than the message advises is refused again."""
    X, _ = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdWarning)
        with pytest.raises(ParameterError, match="n_components=1000") as refusal:
            fit(case.model(backend, n_components=1000), X)
        most = int(re.search(r"exceeds (\d+)", str(refusal.value))[1])
        model = fit(case.model(backend, n_components=most), X)
        assert model.n_components_ == most
        with pytest.raises(ParameterError, match=f"n_components={most + 1}"):
            fit(case.model(backend, n_components=most + 1), X)


@pytest.mark.parametrize("bad", [2, 3, 61])
def test_landmarks_are_more_than_components_and_at_most_all(backend, bad):
    X = rows_like(60)
    with pytest.raises(ParameterError, match=f"n_landmarks={bad}.*n_components=3.*n_samples=60"):
        lowd.ClassicalMDS(3, n_landmarks=bad, backend=backend).fit(X)
    if bad != 3:
        with pytest.raises(ParameterError, match=f"n_landmarks={bad}.*n_samples=60"):
            lowd.KernelPCA(3, kernel="rbf", n_landmarks=bad, backend=backend).fit(X)


def _of_the_rank_of_the_rows(case):
    """Euclidean in the rows themselves; geodesic distances, for one, have a rank of their own."""
    euclidean = case.params.get("metric", "euclidean") == "euclidean"
    linear = case.params.get("kernel", "linear") == "linear"
    return (
        euclidean and linear and _translation_invariant(case) and case.method not in GRAPH_METHODS
    )


@cases(_of_the_rank_of_the_rows)
def test_surplus_components_are_zero(case, backend, dtype):
    """Rank 2 data, five components: three zero columns for training and new points, a warning."""
    flat, new = (rows_like(n, 2, seed=n) @ [[1.0, 2, 0, 1, 1], [0, 1, 1, -1, 2]] for n in (40, 9))
    flat, new = flat.astype(dtype), new.astype(dtype)
    model = case.model(backend, n_components=5)
    with pytest.warns(RankWarning, match="2"):
        Y = model.fit_transform(flat)
    for coordinates in (Y, model.transform(new)):
        assert coordinates.shape[1] == 5
        assert np.isfinite(coordinates).all()
        assert (coordinates[:, 2:] == 0).all()
        assert coordinates[:, :2].any(0).all()
    if invertible(case):
        close(model.inverse_transform(model.transform(new)), new, dtype)


@cases(lambda case: case.source == "rows")
def test_one_far_outlier(case, backend, dtype):
    X, Q = (np.array(A) for A in case.data(dtype))
    X[0] *= 1000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdWarning)
        model = case.model(backend).fit(X)
    assert np.isfinite(model.transform(Q)).all()


def test_equal_distances_are_a_simplex(backend):
    """All distances 1: every axis is as good, which is said; the map is still exact."""
    D = 1 - np.eye(5)
    model = lowd.ClassicalMDS(4, metric="precomputed", backend=backend).fit(D)
    close(cdist(model.embedding_, model.embedding_), D)
    assert model.degenerate_axes_ == ((0, 1, 2, 3),)


def test_subnormal_and_huge_float64(backend):
    X = rows_like(30, 4)
    with pytest.raises(lowd.errors.DataError, match="multiply X by"):
        lowd.PCA(2, backend=backend).fit(X * 1e200)
    near = lowd.PCA(2, backend=backend).fit(X)
    # A linear map needs no squares.
    close(near.transform(X * 1e200), near.transform(X * 1e100) * 1e100)
    close(near.transform(X * 0.0), np.tile(near.transform(np.zeros((1, 4))), (30, 1)))
