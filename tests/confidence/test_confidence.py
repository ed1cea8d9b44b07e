"""Confidence of new rows: high among the training rows, 0 far from them, whatever the method."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist

import lowd
from case_data import rows_like
from cases import BY_NAME, CASES, close, fit, same_bits, take
from lowd.errors import DataError, UnsupportedError

# Metrics in which these data are everywhere: their rows point into all directions, and no set of
# columns is far from every other.
NOWHERE_FAR = ("MDS-correlation", "MDS-jaccard")
# The distance of a kernel that decays: no two points are farther than √2 from each other.
BOUNDED = ("KernelPCA-rows-callable",)
FIELD = np.random.default_rng(7).normal(size=(300, 4))


def _confidence(model, Q):
    return model.transform(Q, return_confidence=True)[1]


def _far(case, Q):
    """Like no training row in any metric: the opposite direction, no entry in common."""
    if case.source == "words":
        return ["zyzy" * 10] * len(Q)
    if case.source == "table":
        return Q.assign(length=1e3, width=-1e3, color="purple", round=-5)
    if case.source == "kernel":
        return np.zeros_like(Q)
    return Q + 7 if case.source == "counts" else Q * (1e6 if case.source == "distances" else -1e3)


# Every method; every kind of distances and of input; landmarks and graphs of a radius.
FIRST = {case.method: case.name for case in reversed(CASES)}
TOLD_APART = (
    *("MDS-cosine", "MDS-correlation", "MDS-hamming", "MDS-jaccard", "MDS-gower"),
    *("MDS-precomputed", "MDS-rows-callable", "MDS-words", "MDS-words-landmarks"),
    *("KernelPCA-laplacian", "KernelPCA-cosine", "KernelPCA-poly", "KernelPCA-precomputed"),
    *("KernelPCA-rows-callable", "KernelPCA-words", "KernelPCA-rbf-landmarks"),
    *("Isomap-radius", "Isomap-landmarks", "TSNE-affinity", "UMAP-landmarks"),
    *("LLE-landmarks", "Eigenmaps-full", "Diffusion-gower"),
)


@pytest.mark.filterwarnings("ignore:.*no neighbor among:lowd.errors.DisconnectedGraphWarning")
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name in (FIRST[case.method], *TOLD_APART)],
    ids=lambda case: case.name,
)
def test_near_far_alone_and_together(case):
    X, Q = case.data()
    model = fit(case.model(), X)
    Y, confidence = model.transform(Q, return_confidence=True)
    same_bits(Y, model.transform(Q))
    assert confidence.shape == (len(Q),)
    assert confidence.dtype == np.float64
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert np.median(confidence) > 0.5  # Q are other rows of the same kind
    assert _confidence(model, take(X, range(20))).mean() > 0.95
    least = 0.2 if case.name in BOUNDED else 0.01
    assert case.name in NOWHERE_FAR or _confidence(model, _far(case, take(Q, [0, 9]))).max() < least
    some = np.array([13, 4, 4, 21])
    same_bits(_confidence(model, take(Q, some)), confidence[some])
    same_bits(_confidence(model, take(Q, [13])), confidence[[13]])


@pytest.mark.parametrize("name", ["PCA", "MDS-manhattan", "KernelPCA-laplacian"])
def test_the_bound_by_the_support_distance(name):
    """A half for each step beyond the second, from the median of training rows to nine in ten."""
    case = BY_NAME[name]
    X, Q = case.data()
    Q = Q * np.linspace(0.5, 4, len(Q))[:, None]
    familiar = _familiarity(X, Q, "euclidean" if name == "PCA" else "cityblock")
    found, far = _confidence(fit(case.model(), X), Q), familiar < -3
    assert far.any()
    assert (found[far] > 0.002).any()
    close(found[far], 2 ** (familiar[far] + 2))
    assert (np.diff(found[np.argsort(familiar)]) >= -1e-12).all()


def _familiarity(X, Q, metric="euclidean"):
    D = cdist(X, X, metric)
    np.fill_diagonal(D, np.inf)
    middle, inside = np.quantile(D.min(1), [0.5, 0.9])
    return (middle - cdist(Q, X, metric).min(1)) / max(inside - middle, inside / 20)


@pytest.mark.parametrize(
    ("model", "metric"),
    [
        (lowd.LocallyLinearEmbedding(n_neighbors=12), "euclidean"),
        (lowd.MDS(3, metric="manhattan"), "cityblock"),
    ],
    ids=["LLE", "MDS"],
)
def test_the_probability_of_being_mapped_correctly(model, metric):
    """A logistic curve of the weight of those neighbors that are near in the embedding."""
    X, Q = BY_NAME["PCA"].data()
    Q = Q * np.linspace(0.5, 2, len(Q))[:, None]
    fit(model, X)
    Y, used = model._transform(Q)
    apart, kept = cdist(Y, model._embedded.X), np.empty(len(Q))
    for i, (begin, end) in enumerate(pairwise(used.indptr)):
        listed = used.indices[begin:end]
        weights = np.full(len(listed), 1 / len(listed))
        if used.weights is not None:
            weights = used.weights[begin:end]
        nearest = listed[apart[i, listed].argmin()]
        kept[i] = weights[apart[i, listed] <= model._scope[nearest] * (1 + 1e-6)].sum()
    assert 0 <= kept.min() < kept.max() <= 1 + 1e-9
    familiar = _familiarity(X, Q, metric)
    intercept, slope, other_slope = model._general_curve()
    logit = intercept + slope * np.log((kept + 0.01) / (1.01 - kept))
    g = 1 / (1 + np.exp(-logit - other_slope * np.clip(familiar, -3, 1)))
    close(_confidence(model, Q), np.minimum(g, 2 ** np.minimum(familiar + 2, 0)), factor=1e3)


def test_it_falls_with_distance_and_halves_at_equal_steps():
    model = lowd.PCA(2).fit(FIELD)
    away = np.zeros((200, 4))
    away[:, 0] = np.linspace(0, 12, 200)
    confidence = _confidence(model, away)
    last = np.flatnonzero(away[:, 0] > FIELD[:, 0].max() + 1)  # from there on one row is nearest
    assert confidence[0] > 0.95
    assert (np.diff(confidence[last]) < 0).all()
    ratios = confidence[last][1:] / confidence[last][:-1]
    assert np.ptp(ratios[-50:]) < 0.01


def test_a_hole_in_the_data_is_far_too():
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * 5
    model = lowd.Isomap(2, n_neighbors=6).fit(ring)
    hole, ring = _confidence(model, [[0.0, 0.0], [5.01, 0.0]])
    assert hole == 0
    assert ring > 0.9


def test_a_large_sample_tells_the_same_as_all_rows():
    """Of 20000 rows 512 are kept: rows like them are trusted, and far ones are not."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(20_000, 6)), rng.normal(size=(2000, 6))
    model = lowd.PCA(2).fit(X)
    assert len(_kept(model)) == 512
    confidence = _confidence(model, new)
    # Nearly all are inside, within what a sample of 512 can tell.
    assert 0.95 < (confidence > 0.95).mean() < 1
    assert (confidence < 0.5).mean() < 0.02
    assert _confidence(model, new * 6).mean() < 0.01
    # Rows that come in order are kept from all of them.
    ordered = np.sort(X[:, 0])
    spread = ordered.searchsorted(_kept(lowd.PCA(2).fit(X[X[:, 0].argsort()]))[:, 0])
    assert np.abs(np.quantile(spread, [0.1, 0.5, 0.9]) / 20_000 - [0.1, 0.5, 0.9]).max() < 0.05


def _kept(model):
    """The rows that a linear map has kept, in an order of their own."""
    rows = model._sampled.rows
    rows = rows.toarray() if issparse(rows) else rows
    return rows[np.lexsort(rows.T)]


def test_similarities_count_by_their_logarithm():
    """Of a narrow kernel most values are nearly 0, and still tell near from far."""
    K = np.exp(-4 * cdist(FIELD, FIELD, "sqeuclidean"))
    model = lowd.KernelPCA(2, kernel="precomputed").fit(K)
    outlier = np.abs(FIELD).sum(1).argmax()
    Q = np.vstack([K[:5], K[outlier] * 1e-3, K[outlier] * 1e-30, 0 * K[0]])
    confidence = _confidence(model, Q)
    assert (confidence[:5] > 0.9).all()
    assert (np.diff(confidence[-3:]) <= 0).all()
    assert confidence[-2] < 0.01
    assert confidence[-1] == 0


def test_columns_in_other_units_count_as_the_method_counts_them():
    X = FIELD * [1, 1, 1, 1e6]
    Q = np.zeros((1, 4))
    Q[0, 0] = 30  # far in the first column, which the last one drowns
    assert _confidence(lowd.PCA(2, scale=True).fit(X), Q)[0] < 0.01


def test_a_neighbor_graph_is_confident_of_its_training_points():
    graph = lowd.NeighborsTransformer(n_neighbors=12).fit(FIELD)
    assert (_confidence(graph, FIELD) == 1).all()


@pytest.mark.parametrize("name", ["Isomap", "TSNE"])
def test_precomputed_graphs(name):
    """New points whose neighbors are given are judged by the nearest of them."""
    params = {"perplexity": 10.0, "max_iter": 20} if name == "TSNE" else {"n_neighbors": 6}
    graph = lowd.NeighborsTransformer(n_neighbors=12).fit(FIELD)
    near, far = graph.transform(FIELD[:5] + 0.01), graph.transform(FIELD[:5] + 30)
    model = getattr(lowd, name)(metric="precomputed", **params).fit(graph.transform(FIELD))
    assert _confidence(model, near).min() > 0.5
    assert _confidence(model, far).max() < 0.01
    # With the rows at hand, and their neighbors found elsewhere.
    model = getattr(lowd, name)(**params).fit(FIELD)
    Q = FIELD[:5] + 0.01
    found = cdist(Q, FIELD)
    order = np.argsort(found, 1)[:, :9]
    given = order, np.take_along_axis(found, order, 1)
    Y, confidence = model.transform(Q, neighbors=given, return_confidence=True)
    same_bits(Y, model.transform(Q, neighbors=given))
    np.testing.assert_allclose(confidence, _confidence(model, Q), atol=0.2)


def test_missing_distances_are_unknown_not_near():
    D = cdist(FIELD, FIELD)[:40, :40]
    D[3, 7] = D[7, 3] = np.nan
    model = lowd.MDS(metric="precomputed").fit(D)
    Q = np.full((2, 40), np.nan)
    Q[:, 39] = 0.1, 50.0
    near, far = _confidence(model, Q)
    assert near > 0.9
    assert far < 0.01


@pytest.mark.parametrize("name", ["PCA", "Gaussian", "KernelPCA-cosine", "MDS-euclidean"])
def test_sparse_and_dense_rows_have_the_same_confidence(name):
    case = BY_NAME[name]
    X, Q = case.data()
    Q = np.vstack([Q, -3 * Q])
    expected = _confidence(case.model().fit(X), Q)
    for kept, new in ((X, csr_array(Q)), (csr_array(X), Q), (csr_array(X), csr_array(Q))):
        close(_confidence(case.model().fit(kept), new), expected, factor=100)


def test_batches_do_not_matter():
    """partial_fit keeps the same rows however they are cut, and dask the same as fit."""
    X, Q = rows_like(3000, 5), rows_like(50, 5, seed=3) * np.linspace(1, 3, 50)[:, None]
    whole = lowd.PCA(2, scale=True).fit(X)
    for cuts in ([1000, 2000], [8, 9, 2999], [600]):
        model = lowd.PCA(2, scale=True)
        for part in np.split(X, cuts):
            model.partial_fit(part)
        same_bits(_kept(model), _kept(whole))
        close(_confidence(model, Q), _confidence(whole, Q), factor=1e3)
    da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
    for chunks in ((700, 5), (97, 2)):
        model = lowd.PCA(2, scale=True).fit(da.from_array(X, chunks=chunks))
        same_bits(_kept(model), _kept(whole))
        close(_confidence(model, Q), _confidence(whole, Q), factor=1e3)


def test_the_order_of_the_rows_does_not_matter():
    """PCA keeps rows by their content, which is all that permuted batches share."""
    X = rows_like(3000, 5)
    order = np.random.default_rng(0).permutation(len(X))
    X[order[-100:]] = X[order[0]]  # duplicates, in other batches
    kept = _kept(lowd.PCA(2).fit(X))
    assert len(np.unique(kept, axis=0)) == len(kept) == 512
    batches = lowd.PCA(2)
    for part in np.array_split(X[order], 7):
        batches.partial_fit(part)
    for model in (batches, lowd.PCA(2).fit(X[order]), lowd.PCA(2).fit(csr_array(X[order]))):
        same_bits(_kept(model), kept)


def test_dask_is_lazy():
    da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
    model = lowd.PCA(2).fit(FIELD)
    Q = da.from_array(FIELD * 2, chunks=(70, 2))
    Y, confidence = model.transform(Q, return_confidence=True)
    assert isinstance(Y, da.Array)
    assert isinstance(confidence, da.Array)
    assert confidence.shape == (300,)
    same_bits(confidence.compute(scheduler="sync"), _confidence(model, FIELD * 2))
    bad = da.from_array(np.where(np.arange(300)[:, None] == 123, np.nan, FIELD), chunks=(70, 4))
    with pytest.raises(DataError, match="row 123"):
        model.transform(bad, return_confidence=True)[1].compute(scheduler="sync")
    blind = lowd.GaussianRandomProjection(2, random_state=0).fit(Q)
    with pytest.raises(UnsupportedError, match="Fit it again, on rows in memory"):
        blind.transform(FIELD, return_confidence=True)


@pytest.mark.parametrize("name", ["PCA", "MDS-gower", "TSNE-precomputed", "Eigenmaps-affinity"])
def test_stored_and_pickled(name, tmp_path):
    case = BY_NAME[name]
    X, Q = case.data()
    model = fit(case.model(), X)
    lowd.save(model, tmp_path / "model")
    for twin in (lowd.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        same_bits(_confidence(twin, Q), _confidence(model, Q))


def test_a_loaded_model_goes_on_where_it_was(tmp_path):
    first = lowd.PCA(2).partial_fit(FIELD[:100])
    lowd.save(first, tmp_path / "model")
    again = lowd.load(tmp_path / "model").partial_fit(FIELD[100:])
    same_bits(_confidence(again, FIELD * 2), _confidence(first.partial_fit(FIELD[100:]), FIELD * 2))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_only_the_coordinates_become_a_table(library):
    pytest.importorskip(library)
    model = lowd.PCA(2).fit(FIELD).set_output(transform=library)
    Y, confidence = model.transform(FIELD, return_confidence=True)
    assert list(Y.columns) == ["pca0", "pca1"]
    assert type(confidence) is np.ndarray


def test_wide_rows_keep_few(tmp_path):
    """A model of 20000 columns does not become a copy of its data."""
    model = lowd.GaussianRandomProjection(3, random_state=0).fit(np.eye(100, 20_000))
    assert len(_kept(model)) == 32
    lowd.save(model, tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 1.2 * (32 + 2 * 3) * 20_000 * 8


def test_equal_steps_leave_a_little_room():
    """On a grid, and among duplicates, rounding is not far."""
    grid = lowd.PCA(1).fit(np.mgrid[:5, :5].reshape(2, -1).T * 1.0)
    assert _confidence(grid, [[2.0, 5.01]])[0] > 0.5
    duplicates = lowd.PCA(1).fit(np.repeat(np.eye(3), 9, 0))
    assert _confidence(duplicates, [[1.0, 0, 1e-6]])[0] > 0.95


@pytest.mark.parametrize(
    ("X", "near", "far"),
    [
        (np.ones((6, 2)), [[1.0, 1.0]], [[1.0, 1.1]]),
        (np.repeat(np.eye(3), 9, 0), [[1.0, 0, 0], [0, 0, 1.0]], [[1.0, 1, 1], [0, 5, 0]]),
        (np.mgrid[:5, :5].reshape(2, -1).T * 1.0, [[2.5, 2.0], [0, 0]], [[2.5, 7.0]]),
        (np.array([[0.0, 1], [1, 0]]), [[0.5, 0.5]], [[3.0, 3]]),
        (np.array([[3.0, 4.0]]), [[3.0, 4.0]], [[3.0, 5.0]]),
    ],
    ids=["one-point", "duplicates", "grid", "two-rows", "one-row"],
)
@pytest.mark.filterwarnings("ignore:n_components:lowd.errors.RankWarning")
@pytest.mark.filterwarnings("ignore:column:lowd.errors.ScaleWarning")
def test_odd_data(X, near, far):
    model = lowd.PCA(1).fit(X)
    assert (_confidence(model, near) > 0.95).all()
    assert (_confidence(model, far) < 0.01).all()
