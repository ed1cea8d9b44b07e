"""t-SNE of few rows: early exaggeration must not pull them into one point."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import manifold
from sklearn.datasets import load_digits

import lowd

DIGITS = load_digits().data[:60]


@pytest.fixture(scope="module")
def peer():
    return manifold.TSNE(perplexity=30, init="pca", max_iter=500, n_jobs=1).fit(DIGITS)


def test_few_digits_are_a_map(peer):
    """In one point the divergence is 0.66, five times the peer's."""
    model = lowd.TSNE().fit(DIGITS)
    assert (np.ptp(model.embedding_, axis=0) > 5).all()
    assert model.kl_divergence_ < 1.3 * peer.kl_divergence_
