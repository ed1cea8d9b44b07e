"""How t-SNE and SNE place new points, step by step; and what their descent is made of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer

import lowd
from case_data import rows_like
from cases import same_bits
from lowd import _native
from lowd.errors import LongWorkWarning
from lowd.methods import tsne
from lowd.methods.tsne import SNE, TSNE
from lowd.spaces import native_parts


@pytest.fixture
def without_memory(monkeypatch):
    """New points do not approach training points: what the optimization alone would give."""
    monkeypatch.setattr(tsne, "approach", lambda Y, *_: Y)


def without_radii(model, Q):
    """Coordinates by probabilities of plain distances only."""
    radii, model._radii = model._radii, None
    try:
        return model.transform(Q)
    finally:
        model._radii = radii


def _probabilities(s, perplexity):
    """softmax(-β s) of this perplexity, by bisection."""

    def excess(log_beta):
        return entropy(softmax(-np.exp(log_beta) * s)) - np.log(perplexity)

    return softmax(-np.exp(brentq(excess, -30, 30, xtol=1e-14)) * s)


@pytest.mark.parametrize("perplexity", [7.4, [4, 12]])
def test_probabilities_are_those_of_the_formula(perplexity):
    """In plain NumPy: half by distances, half by distances in units of the neighbors' radii."""
    X, Q = rows_like(60, seed=1), rows_like(7, seed=2) * np.arange(1, 8)[:, None]
    model = TSNE(perplexity=perplexity, max_iter=1).fit(X)
    found = model._find(Q)
    X = model._space.rows  # in the order of the fit
    among, squares = np.sort(cdist(X, X)), cdist(Q, X) ** 2
    expected = np.zeros((7, 60))
    for u in np.atleast_1d(perplexity):
        rho2 = among[:, round(u)] ** 2
        for x, d2 in enumerate(squares):
            a = max(0, np.sort(d2 - rho2)[round(u) - 1])
            for s in (d2, (d2 - a) / rho2):
                expected[x] += _probabilities(s, u)
    p = np.zeros((7, 60))
    p[found.owners, found.indices] = found.weights
    np.testing.assert_allclose(p, expected / (2 * np.size(perplexity)), atol=1e-9)


def _noisy_groups(seed):
    """900 rows in 6 groups whose noise has a standard deviation of 0.6 to 1.8, row by row."""
    rng = np.random.default_rng(seed)
    group, noise = np.arange(900) % 6, rng.normal(size=(900, 3000))
    X = 0.16 * rng.normal(size=(6, 3000))[group] + noise * (0.6 + 1.2 * rng.random((900, 1)))
    return X, group, np.isin(np.arange(900), rng.permutation(900)[:180])


def _accuracy(training, labels, Y, wanted):
    return KNeighborsClassifier(5).fit(training, labels).score(Y, wanted)


def test_new_points_in_rows_of_unequal_noise_find_their_group():
    """With plain distances they crowd around the training points of least noise.

    Of three tables together: the standard error of one, with 180 new points, is 0.02.
    """
    found = []
    for seed in range(3):
        X, group, out = _noisy_groups(seed)
        model = TSNE().fit(X[~out])
        whole = TSNE().fit(X).embedding_
        maps = [model.transform(X[out]), without_radii(model, X[out])]
        found.append(
            [_accuracy(model.embedding_, group[~out], Y, group[out]) for Y in maps]
            + [_accuracy(whole[~out], group[~out], whole[out], group[out])]
        )
    new, former, together = np.mean(found, axis=0)
    assert new >= former + 0.2
    assert new >= together - 0.05


def test_equal_radii_change_nothing():
    X, Q = rows_like(600, seed=1), rows_like(40, seed=2)
    model = TSNE(perplexity=10, max_iter=300).fit(X)
    usual, expected = model.transform(Q), without_radii(model, Q)
    model._radii = np.full(model._radii.shape, 1.7)
    np.testing.assert_allclose(model.transform(Q), expected, atol=1e-9)
    assert np.abs(usual - expected).max() > 1e-3


def test_units_do_not_matter():
    X, Q = rows_like(600, seed=1), rows_like(40, seed=2)
    one, two = (TSNE(perplexity=10, max_iter=300).fit(X * unit) for unit in (1, 1024))
    same_bits(one.transform(Q), two.transform(Q * 1024))
    other = TSNE(perplexity=10, max_iter=1).fit(X * 1000)._find(Q * 1000).weights
    np.testing.assert_allclose(other, one._find(Q).weights, rtol=1e-9, atol=1e-15)


def test_lists_of_any_length():
    """Neighbors that are given: shorter lists than the perplexity, and each of its own length."""
    X, Q = rows_like(200, seed=1), rows_like(5, seed=2)
    graph = lowd.NeighborsTransformer(n_neighbors=40).fit(X)
    model = TSNE(perplexity=12, max_iter=50, metric="precomputed").fit(graph.transform(X))
    whole = csr_array(graph.transform(Q))
    kept = np.r_[:4, whole.indptr[1] : whole.nnz]  # the first has four neighbors
    indptr = np.r_[0, whole.indptr[1:] - whole.indptr[1] + 4]
    part = csr_array((whole.data[kept], whole.indices[kept], indptr), whole.shape)
    assert model._radii.shape == (200, 1)
    Y, shorter = model.transform(whole), model.transform(part)
    same_bits(shorter[1:], Y[1:])
    assert np.isfinite(shorter).all()
    same_bits(model.transform(part[:1]), shorter[:1])


@pytest.mark.parametrize("method", [TSNE, SNE])
def test_digits_lose_nothing(method):
    X, y = (part[:1000] for part in load_digits(return_X_y=True))
    new = np.arange(1000) % 5 == 0
    model = method(max_iter=500).fit(X[~new])
    found, former = (
        _accuracy(model.embedding_, y[~new], Y, y[new])
        for Y in (model.transform(X[new]), without_radii(model, X[new]))
    )
    assert found >= former - 0.005


@pytest.mark.usefixtures("without_memory")
def test_the_map_without_its_memory_is_near():
    """Training rows that are forgotten come back to their neighborhood."""
    X = load_digits().data[:800]
    model = TSNE(max_iter=400).fit(X)
    gap = np.linalg.norm(model.transform(X[:50] + 1e-6) - model.embedding_[:50], axis=1)
    assert np.median(gap) < 0.05 * np.abs(model.embedding_).max()


@pytest.mark.usefixtures("without_memory")
def test_new_rows_feel_the_late_exaggeration():
    """Compact clusters take new rows in: forgotten training rows come back as near as without."""
    X = load_digits().data[:700]
    model = TSNE(exaggeration=4, max_iter=400).fit(X)
    rows, gaps = X[:200] + 1e-6, []
    for attraction in (4.0, 1.0):
        model._attraction = attraction
        apart = model.transform(rows) - model.embedding_[:200]
        gaps.append(np.median(np.linalg.norm(apart, axis=1)))
    assert gaps[0] < 0.7 * gaps[1]


@pytest.mark.usefixtures("without_memory")
def test_a_map_of_space_is_as_good_as_by_all_pairs(monkeypatch):
    """Small at first, by a fine mesh; large in the end, by a coarse one and near pairs."""
    X = load_digits().data[:1000]
    exact = TSNE(3, max_iter=350).fit(X)
    assert exact.force_error_ < 1e-5
    monkeypatch.setattr(
        tsne, "descent_of", lambda P, k, kind: _native.Descent(*native_parts(P), k, kind, "grid")
    )
    model = TSNE(3, max_iter=350).fit(X)
    assert np.ptp(model.embedding_) > 40
    assert 0 < model.force_error_ < 0.02
    assert model.kl_divergence_ < exact.kl_divergence_ + 0.02
    gap = np.linalg.norm(model.transform(X[:20] + 1e-6) - model.embedding_[:20], axis=1)
    assert np.median(gap) < 0.05 * np.ptp(model.embedding_)


@pytest.mark.parametrize("most", [2**20, 3000])  # edges that are counted: all, or of 1 list in 7
def test_more_candidates_are_searched_where_there_are_hubs(most, monkeypatch):
    """Rows of unequal noise have hubs, in which the nearest in units of radii are not listed."""
    monkeypatch.setattr(tsne.has_hubs, "__defaults__", (most,))
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(700, 3))
    noisy = rng.normal(size=(700, 400)) * (0.6 + 1.2 * rng.random((700, 1)))
    counts = [TSNE(perplexity=10, max_iter=5).fit(X)._n_candidates for X in (plain, noisy)]
    assert counts == [30, 60]


def test_all_pairs_of_many_rows_are_warned_of():
    for similarity, k in (("student", 4), ("gauss", 2), ("rows", 2)):
        tsne.warn_of_long_work(similarity, k, 60, 30)  # few are no matter
        with pytest.warns(LongWorkWarning, match="transform the others"):
            tsne.warn_of_long_work(similarity, k, 300_000, 750)
    tsne.warn_of_long_work("student", 3, 300_000, 750)  # there is a mesh


def test_a_graph_of_new_rows_may_name_duplicates():
    X = rows_like(600, seed=5)
    double = np.vstack([X, X[:5]])
    graph = KNeighborsTransformer(n_neighbors=31).fit(double).transform(double)
    model = TSNE(perplexity=10, max_iter=40, metric="precomputed", init="random").fit(graph)
    assert model.n_distinct_ == 600
    same_bits(model.transform(graph), model.embedding_)
    same_bits(model.embedding_[600:], model.embedding_[:5])


def test_parameters_that_are_set_after_a_fit_do_not_change_its_map():
    X, Q = rows_like(60, seed=1), rows_like(9, seed=2)
    model = TSNE(perplexity=5, max_iter=30).fit(X)
    expected = model.transform(Q)
    model.set_params(perplexity=20, exaggeration=4, n_components=3)
    same_bits(model.transform(Q), expected)


@pytest.mark.parametrize("symmetric", [False, True])
def test_given_affinities_of_sne(symmetric):
    """Those of a fit give its embedding, and a row that is given again its coordinates."""
    X = rows_like(80, seed=3)
    start = 1e-2 * np.random.default_rng(0).normal(size=(80, 2))
    how = {"symmetric": symmetric, "max_iter": 40, "init": start}
    own = SNE(perplexity=9, symmetric=True, max_iter=1).fit(X).affinity_
    given = SNE(affinity="precomputed", **how).fit(own)
    total = given.affinity_.sum()
    assert total == pytest.approx(1 if symmetric else 80)
    same_bits(given.transform(own.toarray()), given.embedding_)
    if symmetric:
        again = SNE(perplexity=9, **how).fit(X)
        np.testing.assert_allclose(given.embedding_, again.embedding_, atol=1e-9)
