"""Intrinsic dimension against manifolds whose dimension is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import cKDTree

from lowd.evidence.diagnosis.raw_data import read_data
from lowd.evidence.diagnosis.rows import (
    estimate_dimensions,
    local_pca,
    maximum_likelihood,
    two_nn,
)
from lowd.neighbor_graph import NeighborGraph
from manifolds import roll


def pareto(d, u):
    """Ratios of neighbor distances as theory has them on a manifold of dimension d."""
    return (1 - u) ** (-1 / d)


@pytest.mark.parametrize("d", [1, 2, 7.5])
def test_two_nn_finds_the_exponent_of_exact_ratios(d):
    n = 4000
    found = two_nn(pareto(d, (np.arange(n) + 0.5) / n))
    assert found.value == pytest.approx(d, rel=0.01)
    assert found.low < d < found.high
    # The interval is that of a rate from 3600 of 4000 waits: about 2 / sqrt(3600) to each side.
    assert (found.high - found.low) / d == pytest.approx(4 * 0.98 / np.sqrt(3600), rel=0.03)


def test_two_nn_interval_covers():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        found = two_nn(pareto(3, rng.random(60)))
        covered += found.low <= 3 <= found.high
    assert 0.92 <= covered / 400 <= 0.98


def test_two_nn_does_not_see_how_large_the_largest_ratios_are():
    ratios = pareto(2, (np.arange(1000) + 0.5) / 1000)
    spoiled = np.where(ratios > np.quantile(ratios, 0.95), 1e6, ratios)
    assert two_nn(spoiled) == two_nn(ratios)


def near(X, k, boxsize=None):
    distances, indices = cKDTree(X, boxsize=boxsize).query(X, k + 1)
    return NeighborGraph(indices[:, 1:].astype(np.int32), distances[:, 1:])


def test_maximum_likelihood_is_the_formula():
    rng = np.random.default_rng(0)
    found = near(rng.random((30, 3)), 6)
    inverses = []
    for row in found.distances:
        inverses.append(sum(np.log(row[5] / row[j]) for j in range(5)) / 5)
    assert maximum_likelihood(found, 6).value == pytest.approx(1 / np.mean(inverses), rel=1e-12)


def test_maximum_likelihood_interval_covers():
    """On a torus, which has no boundary to bias the estimate; rows share neighbors all the same."""
    rng = np.random.default_rng(0)
    estimates = [maximum_likelihood(near(rng.random((250, 2)), 20, 1.0)) for _ in range(80)]
    middle = np.mean([found.value for found in estimates])
    assert middle == pytest.approx(2, rel=0.03)
    covered = np.mean([found.low <= middle <= found.high for found in estimates])
    assert covered >= 0.88
    # Not by being endless: twice the true spread is enough.
    true = 3.92 * np.std([found.value for found in estimates])
    assert np.mean([found.high - found.low for found in estimates]) < 2 * true


def cube(d, n=1500):
    return np.random.default_rng(d).random((n, d))


def sphere(d, n=1500):
    """The surface of dimension d of a ball, turned into d + 4 columns."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d + 1))
    turn = np.linalg.qr(rng.normal(size=(d + 4, d + 4)))[0][: d + 1]
    return X / np.linalg.norm(X, axis=1, keepdims=True) @ turn


# From about ten dimensions on the estimates are too low, which the documents say; so do these.
@pytest.mark.parametrize(
    ("X", "low", "high"),
    [
        (roll(1500)[0], 1.8, 2.25),
        (cube(2), 1.8, 2.1),
        (cube(5), 4.2, 5.2),
        (cube(10), 6.5, 10.0),
        (sphere(3), 2.7, 3.3),
    ],
    ids=["roll", "cube 2", "cube 5", "cube 10", "sphere 3"],
)
def test_known_surfaces(X, low, high):
    sample = read_data(X).take(np.arange(len(X)))
    found, notes = estimate_dimensions(sample, sample.find_neighbors(40), 0)
    assert list(found) == ["two_nn", "maximum_likelihood", "local_pca"]
    assert not notes
    for name, value in found.items():
        assert low < value.value < high, name
        assert value.low <= value.value <= value.high


def test_local_pca_by_rows_and_by_distances():
    X = np.random.default_rng(0).random((200, 3)) @ np.random.default_rng(1).normal(size=(3, 8))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    rows, distances = read_data(X), read_data(D, "precomputed")
    every = np.arange(len(X))
    found = [
        local_pca(sample, sample.find_neighbors(20), 3, 0)
        for sample in (rows.take(every), distances.take(every))
    ]
    assert_allclose(found[0], found[1])
    assert found[0].value == pytest.approx(3, abs=0.3)


def test_few_values_leave_two_nn_out():
    X = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), 2).reshape(-1, 2)
    sample = read_data(X).take(np.arange(len(X)))
    found, notes = estimate_dimensions(sample, sample.find_neighbors(20), 0)
    assert "two_nn" not in found
    assert "two-NN" in notes[0]


def test_more_dimensions_than_neighbors_leave_local_pca_out():
    sample = read_data(np.random.default_rng(0).normal(size=(300, 80))).take(np.arange(300))
    found, notes = estimate_dimensions(sample, sample.find_neighbors(40), 0)
    assert list(found) == ["two_nn", "maximum_likelihood"]
    assert "most of 39 axes" in notes[0]
