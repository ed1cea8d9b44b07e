"""Rows and expectations by which operations of the torch backend are tested."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

import torch

from lowd.backend import using
from lowd.on_torch import arrays
from lowd.spaces import RowIndex
from lowd.spaces.space import nearest_rows, query_rows

# Tests run beside each other: threads of their tensors would wait for each other.
torch.set_num_threads(1)


def both(function, *args, **kwargs):
    """What a function of the core gives, and what takes its place within the torch backend."""
    with using("native", 2):
        plain = function(*args, **kwargs)
    with using("torch", 2):
        return plain, function(*args, **kwargs)


def on_a_gpu(test):
    """Collect a test, or a class of them, only where there is one."""
    test.__test__ = torch.cuda.is_available()
    return test


@pytest.fixture
def all_sizes_on_the_device(monkeypatch):
    """Also few rows, which the core would take."""
    monkeypatch.setattr(arrays, "smallest_share", 0.0)


def brute(Q, X, k, own=False, measure="euclidean", factor=1.0):
    D = factor * cdist(Q.astype(np.float64), X.astype(np.float64), measure)
    if own:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, 1)


def agree(found, expected):
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
    np.testing.assert_array_equal(found[0], expected[0])


def near(actual, expected, kind=np.float64, factor=20.0):
    """Equal up to rounding of the type, relative to the largest entry."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    size = np.abs(expected).max(initial=0)
    atol = factor * float(np.finfo(kind).eps) * size + 1e-300
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


def nearest(X, k, measure="euclidean", factor=1.0):
    with using("torch", 2):
        return nearest_rows(RowIndex(X, measure == "euclidean", factor), k).table


def query(X, Q, k):
    with using("torch", 2):
        return query_rows(RowIndex(X), Q, k).table


def gaussian(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def clusters(n, d, tight, seed=0):
    rng = np.random.default_rng(seed)
    return 5 * rng.standard_normal((7, d))[rng.integers(0, 7, n)] + tight * gaussian(n, d, seed + 1)


def on_a_sphere(n, d):
    X = gaussian(n, d)
    return X / np.sqrt((X**2).sum(1, keepdims=True))


# What a bound must not miss: nearly equal distances, large norms, ties and duplicates.
SETS = {
    "line": lambda n: gaussian(n, 1),
    "ball": lambda n: gaussian(n, 30),
    "many features": lambda n: gaussian(n, 200),
    "sphere": lambda n: on_a_sphere(n, 120),
    "far from the origin": lambda n: gaussian(n, 20) + 1e6,
    "outlier": lambda n: np.vstack([gaussian(n - 1, 30), np.full((1, 30), 1e6)]),
    "duplicates": lambda n: np.repeat(gaussian(n // 50, 20), 50, axis=0),
    "pairs": lambda n: np.repeat(gaussian(n // 2, 20), 2, axis=0),
    "all equal": lambda n: np.full((n, 8), 0.1),
    "plane": lambda n: clusters(n, 2, 0.05),
    "integers": lambda n: np.random.default_rng(1).integers(0, 3, (n, 6)).astype(float),
    "tight clusters": lambda n: clusters(n, 12, 1e-4),
    "very tight clusters": lambda n: clusters(n, 12, 1e-7),
}
each_set = pytest.mark.parametrize("name", SETS)
typed = pytest.mark.parametrize("kind", [np.float64, np.float32], ids=["float64", "float32"])
