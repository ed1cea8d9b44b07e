"""Affinities of t-SNE: worked examples, and what a model says of them."""

from __future__ import annotations

import numpy as np
import pytest

import lowd
from case_data import rows_like
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
