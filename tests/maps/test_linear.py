"""Linear maps: the bound of their coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.core import coordinates
from lowd.maps.linear import HadamardMap, LinearMap, SparseLinearMap
from scipy.sparse import random_array

import lowd
from lowd.backends import resolve
from lowd.errors import DataError

RNG = np.random.default_rng(0)
MAPS = {
    "linear": LinearMap(RNG.normal(size=20), RNG.normal(size=(20, 7)), RNG.normal(size=7)),
    "sparse": SparseLinearMap(random_array((7, 20), density=0.2, rng=RNG, format="csr")),
    "hadamard": HadamardMap(RNG.choice([-1.0, 1.0], 20), np.arange(7), 32, 0.4),
    "short": LinearMap(None, 1e-3 * RNG.normal(size=(20, 7))),
}


@pytest.mark.parametrize("name", MAPS)
def test_no_coordinate_exceeds_the_bound(name):
    """Rows of the corners of a cube come near it, others do not exceed it."""
    Q = 3 * RNG.choice([-1.0, 1.0], (5000, 20))
    largest = np.abs(MAPS[name](Q, resolve("auto", None))).max()
    assert 0.02 * MAPS[name].bound(3.0) < largest <= MAPS[name].bound(3.0)


def test_many_coordinates_of_a_fit_are_not_read_again(monkeypatch):
    searched = []
    monkeypatch.setattr(coordinates, "MAX_SEARCHED_ENTRIES", 4000)
    monkeypatch.setattr(coordinates, "require_finite", lambda Y: searched.append(Y.shape) or Y)
    for k in (2, 5):
        lowd.PCA(k).fit_transform(RNG.normal(size=(2000, 20)))
    assert searched == [(2000, 2)]


@pytest.mark.parametrize("most", [0, 2**18])
def test_coordinates_beyond_the_range_are_refused_though_the_rows_are_within(most, monkeypatch):
    monkeypatch.setattr(coordinates, "MAX_SEARCHED_ENTRIES", most)
    model = lowd.SparseRandomProjection(5, random_state=0).fit(RNG.normal(size=(2000, 20)))
    huge = SparseLinearMap(-1e300 * abs(model.map_.C))
    object.__setattr__(model, "map_", huge)
    with pytest.raises(DataError, match="beyond the range of float64"):
        model.transform(1e30 * np.ones((2000, 20)))
