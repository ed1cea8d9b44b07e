"""Conditional probabilities whose rows have a given perplexity."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.backends.protocol import Perplexity
from lowd.relations import perplexity_neighbors

import lowd
from case_data import rows_like
from lowd.backends import resolve
from lowd.errors import RankWarning

LINE = np.array([[0.0], [1.0], [3.0], [7.0]])


def test_worked_example_of_affinities():
    model = lowd.TSNE(1, perplexity=2, max_iter=1).fit(LINE)
    np.testing.assert_allclose(
        model.betas_[:, 0], [0.084769, 0.144173, 0.238956, 0.073785], atol=1e-6
    )
    P = model.affinity_.toarray()
    assert P.sum() == pytest.approx(1)
    np.testing.assert_allclose(
        P[np.triu_indices(4, 1)],
        [0.157501, 0.069449, 0.009721, 0.140937, 0.022197, 0.100195],
        atol=1e-6,
    )


@pytest.mark.parametrize("target", [1.5, 5, 30, 89])
def test_every_row_has_its_perplexity(target):
    rng = np.random.default_rng(0)
    n, k = 3000, 90
    squares = np.sort(rng.gamma(2.0, 1.0, (n, k)) * rng.lognormal(0, 8, (n, 1)), axis=1)
    squares[: n // 3, :2] += rng.random((n // 3, 1)) * 1e6 * squares[: n // 3, -1:]  # far from all
    p, _, _ = resolve("auto", 2).calibrate_rows(
        np.arange(0, n * k + 1, k), squares.ravel(), Perplexity(target)
    )
    p = p.reshape(n, k)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-12)
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    np.testing.assert_allclose(np.exp(-(p * logs).sum(1)), target, rtol=1e-8)


def test_perplexities_that_ties_make_unattainable():
    """Three nearest at one distance: no fewer than three count, and nothing is not a number."""
    p, beta, _ = resolve("auto", 1).calibrate_rows(
        np.array([0, 5]), np.array([1.0, 1, 1, 2, 9]), Perplexity(2.0)
    )
    np.testing.assert_allclose(p, [1 / 3, 1 / 3, 1 / 3, 0, 0], atol=1e-6)
    assert np.isfinite(beta).all()


def test_affinities_can_be_summed_and_not_changed():
    """SciPy sorted in place what must not be written to."""
    P = lowd.TSNE(perplexity=10, max_iter=1).fit(rows_like(600)).affinity_
    assert P.sum() == pytest.approx(1)
    assert P.max() == P.toarray().max()
    with pytest.raises(ValueError, match="read-only"):
        P.data[0] = 1


def test_all_others_alike_are_warned_of():
    X = rows_like(31)
    with pytest.warns(RankWarning, match="use less, such as perplexity=10"):
        model = lowd.TSNE(perplexity=30).fit(X)
    assert model.kl_divergence_ < 1e-9
    lowd.TSNE(perplexity=[5, 30], max_iter=5).fit(X)  # the other one tells them apart


def test_several_perplexities_are_averaged():
    X = rows_like(60)
    one, two, both = (
        lowd.TSNE(perplexity=p, max_iter=1).fit(X).affinity_.toarray() for p in (3, 20, [3, 20])
    )
    np.testing.assert_allclose(both, (one + two) / 2, atol=1e-15)


@pytest.mark.parametrize("most", [2**20, 3000])  # edges that are counted: all, or of 1 list in 7
def test_more_candidates_are_searched_where_there_are_hubs(most, monkeypatch):
    """Rows of unequal noise have hubs, in which the nearest in units of radii are not listed."""
    monkeypatch.setattr(perplexity_neighbors, "MAX_COUNTED_EDGES", most)
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(700, 3))
    noisy = rng.normal(size=(700, 400)) * (0.6 + 1.2 * rng.random((700, 1)))
    counts = [
        lowd.TSNE(perplexity=10, max_iter=5).fit(X).map_.relation.n_neighbors
        for X in (plain, noisy)
    ]
    assert counts == [30, 60]
