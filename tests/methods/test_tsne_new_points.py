"""New points of SNE and t-SNE in data whose rows differ in the size of their noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import lowd
from case_data import rows_like
from cases import same_bits
from lowd.backends import resolve

OPS = resolve("auto", 2)


def _with_radii(model, radii):
    """The model's map with these radii; None: with probabilities of plain distances only."""
    relation = replace(model.map_.relation, radii=radii)
    return replace(model.map_, relation=relation)


def _noisy_groups(seed):
    """900 rows in 6 groups whose noise has a standard deviation of 0.6 to 1.8, row by row."""
    rng = np.random.default_rng(seed)
    group, noise = np.arange(900) % 6, rng.normal(size=(900, 3000))
    X = 0.16 * rng.normal(size=(6, 3000))[group] + noise * (0.6 + 1.2 * rng.random((900, 1)))
    return X, group, np.isin(np.arange(900), rng.permutation(900)[:180])


def _accuracy(training, labels, Y, wanted):
    return KNeighborsClassifier(5).fit(training, labels).score(Y, wanted)


def _probabilities(s, perplexity):
    """softmax(-β s) of this perplexity, by bisection."""

    def excess(log_beta):
        return entropy(softmax(-np.exp(log_beta) * s)) - np.log(perplexity)

    return softmax(-np.exp(brentq(excess, -30, 30, xtol=1e-14)) * s)


def test_new_points_in_rows_of_unequal_noise_find_their_group():
    """With plain distances they crowd around the training points of least noise.

    Of three tables together: the standard error of one, with 180 new points, is 0.02.
    """
    found = []
    for seed in range(3):
        X, group, out = _noisy_groups(seed)
        model = lowd.TSNE().fit(X[~out])
        whole = lowd.TSNE().fit(X).embedding_
        maps = [model.transform(X[out]), _with_radii(model, None)(X[out], OPS)]
        found.append(
            [_accuracy(model.embedding_, group[~out], Y, group[out]) for Y in maps]
            + [_accuracy(whole[~out], group[~out], whole[out], group[out])]
        )
    new, former, together = np.mean(found, axis=0)
    assert new >= former + 0.2
    assert new >= together - 0.05


@pytest.mark.parametrize("perplexity", [7.4, [4, 12]])
def test_probabilities_are_those_of_the_formula(perplexity):
    """In plain NumPy: half by distances, half by distances in units of the neighbors' radii."""
    X, Q = rows_like(60, seed=1), rows_like(7, seed=2) * np.arange(1, 8)[:, None]
    model = lowd.TSNE(perplexity=perplexity, max_iter=1).fit(X)
    found = model.map_.relation.toward(Q, resolve("auto", 1))
    X = model.map_.relation.base.training_points()  # in the order of the fit
    among, squares = np.sort(cdist(X, X)), cdist(Q, X) ** 2
    expected = np.zeros((7, 60))
    for u in np.atleast_1d(perplexity):
        rho2 = among[:, round(u)] ** 2
        for x, d2 in enumerate(squares):
            a = max(0, np.sort(d2 - rho2)[round(u) - 1])
            for s in (d2, (d2 - a) / rho2):
                expected[x] += _probabilities(s, u)
    p = np.zeros((7, 60))
    rows = np.repeat(np.arange(7), np.diff(found.neighbors.indptr))
    p[rows, found.neighbors.indices] = found.p
    np.testing.assert_allclose(p, expected / (2 * np.size(perplexity)), atol=1e-9)


def test_equal_radii_change_nothing():
    X, Q = rows_like(600, seed=1), rows_like(40, seed=2)
    model = lowd.TSNE(perplexity=10, max_iter=300).fit(X)
    equal = np.full_like(model.map_.relation.radii, 1.7)
    expected = _with_radii(model, None)(Q, OPS)
    np.testing.assert_allclose(_with_radii(model, equal)(Q, OPS), expected, atol=1e-9)
    assert np.abs(model.transform(Q) - expected).max() > 1e-3


def test_units_do_not_matter():
    X, Q = rows_like(600, seed=1), rows_like(40, seed=2)
    one, two = (lowd.TSNE(perplexity=10, max_iter=300).fit(X * unit) for unit in (1, 1024))
    same_bits(one.transform(Q), two.transform(Q * 1024))
    p = one.map_.relation.toward(Q, OPS).p
    other = lowd.TSNE(perplexity=10, max_iter=1).fit(X * 1000).map_.relation.toward(Q * 1000, OPS).p
    np.testing.assert_allclose(other, p, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("unit", [1e-140, 1e-20, 1e20, 1e120])
def test_radii_of_any_size(unit):
    X = np.vstack([rows_like(60, seed=1), rows_like(60, seed=3) * 1e-3]) * unit
    model = lowd.TSNE(perplexity=5, max_iter=20).fit(X)
    Q = np.vstack([X[:3], X[:3] * 1.01, X[:3] * 1e6, 0 * X[:1]])
    assert np.isfinite(model.transform(Q)).all()
    same_bits(model.transform(Q[:3]), model.embedding_[:3])


def test_lists_of_any_length():
    """Neighbors that are given: shorter lists than the perplexity, and each of its own length."""
    X, Q = rows_like(200, seed=1), rows_like(5, seed=2)
    graph = lowd.NeighborsTransformer(n_neighbors=40).fit(X)
    model = lowd.TSNE(perplexity=12, max_iter=50, metric="precomputed").fit(graph.transform(X))
    whole = graph.transform(Q)
    part = whole.copy()
    part.data[whole.indptr[0] + 4 : whole.indptr[1]] = 0  # the first has four neighbors
    part.eliminate_zeros()
    assert model.map_.relation.radii.shape == (200, 1)
    Y, shorter = model.transform(whole), model.transform(part)
    same_bits(shorter[1:], Y[1:])
    assert np.isfinite(shorter).all()
    same_bits(model.transform(part[:1]), shorter[:1])


def test_noise_does_not_draw_new_points_to_one_training_point():
    X = load_digits().data[:900]
    model = lowd.TSNE(max_iter=500).fit(X)
    noise = np.random.default_rng(0).normal(size=X.shape)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    Q = X + 5 * np.median(lowd.neighbors(X, 1).distances) * noise
    nearest = cdist(model.transform(Q), model.embedding_).argmin(1)
    assert np.bincount(nearest).max() < 0.1 * len(X)


@pytest.mark.parametrize("method", [lowd.TSNE, lowd.SNE])
def test_digits_lose_nothing(method):
    X, y = (part[:1000] for part in load_digits(return_X_y=True))
    new = np.arange(1000) % 5 == 0
    model = method(max_iter=500).fit(X[~new])
    found, former = (
        _accuracy(model.embedding_, y[~new], Y, y[new])
        for Y in (model.transform(X[new]), _with_radii(model, None)(X[new], OPS))
    )
    assert found >= former - 0.005


def test_new_points_have_as_many_neighbors_as_the_longest_given_list():
    """One training row that lists 12 instead of 30 moves no new point far."""
    X, Q = rows_like(300, seed=5), rows_like(9, seed=6)
    G = csr_array(lowd.neighbors(X, 30).edges())
    kept = np.r_[:12, 30 : G.nnz]
    short = csr_array((G.data[kept], G.indices[kept], np.r_[0, G.indptr[1:] - 18]), shape=G.shape)
    model = lowd.TSNE(perplexity=10, max_iter=20, init=lowd.PCA(2).fit_transform(X))
    expected = clone(model).fit(X, neighbors=G).transform(Q)
    found = model.fit(X, neighbors=short).transform(Q)
    assert np.abs(found - expected).max() < 0.05 * np.abs(expected).max()


def test_many_rows_of_affinities_find_themselves():
    """Their projections are searched by an index, which few rows do without."""
    X = rows_like(1500, 5)
    W = lowd.TSNE(perplexity=10, max_iter=2).fit(X).affinity_
    model = lowd.TSNE(affinity="precomputed", max_iter=5, init=lowd.PCA(2).fit_transform(X)).fit(W)
    same_bits(model.transform(W), model.embedding_)
