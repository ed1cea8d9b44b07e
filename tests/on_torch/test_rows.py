"""Rows on the device against the core: distances, kernels, scatter matrices, projections, ranks."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

import torch

from case_data import rows_like
from lowd.backend import using
from lowd.evidence.quality.metric_spaces import all_ranks
from lowd.linalg.principal import Seen, by_gram, project, project_exactly, scatter, scatter_product
from lowd.on_torch import arrays
from lowd.on_torch import rows as module
from lowd.spaces.matrices import along_a_line, column_range
from lowd.spaces.space import copied, measure_rows, picked
from torch_operands import (
    all_sizes_on_the_device,  # noqa: F401 - a fixture
    both,
    gaussian,
    near,
    typed,
)

pytestmark = pytest.mark.usefixtures("all_sizes_on_the_device")
MEASURES = [
    *(("dot", (0.5,)), ("poly", (0.1, 1.0, 3.0)), ("poly", (0.2, 30.0, 2.5))),
    *(("sigmoid", (0.1, 0.5)), ("sqeuclidean", (2.0,)), ("euclidean", (0.5,))),
    *(("rbf", (0.3,)), ("rbf", (1e-12,)), ("rbf", (1e4,))),
    *(("rbfm1", (0.3,)), ("rbfm1", (1e-12,)), ("laplacian", (0.3,))),
    *(("manhattan", ()), ("chebyshev", ()), ("hamming", ()), ("jaccard", ())),
    *(("minkowski", (p,)) for p in (1.0, 1.5, 2.0, 3.0)),
]


def data(n, d, kind, seed=0):
    return np.ascontiguousarray(rows_like(n, d, seed, kind))


@pytest.mark.parametrize(("measure", "params"), MEASURES, ids=str)
@typed
def test_measures_of_all_pairs(measure, params, kind):
    for n, d in [(1, 1), (7, 1), (5, 31), (64, 64), (65, 33), (259, 300)]:
        X, Q = np.abs(data(n, d, kind)), np.abs(data(n + 3, d, kind, 1))  # for fractional powers
        of_squares = measure in ("sqeuclidean", "euclidean", "rbf", "rbfm1")
        center = X.mean(0, dtype=np.float64) if of_squares or measure == "dot" else None
        for rows in (Q, X):
            plain, fast = both(measure_rows, rows, X, measure, params, center)
            assert fast.dtype == kind
            steep = bool(params) and params[0] > 100  # an exponent of hundreds, with its rounding
            near(fast, plain, kind, 5000 if steep else 50)
    if measure == "euclidean":  # duplicates are at 0, without rounding
        X = np.repeat(data(40, 30, kind) + 1000, 2, axis=0)
        assert not both(measure_rows, X, X, measure, params)[1][::2, 1::2].diagonal().any()


@typed
@pytest.mark.parametrize("weighted", [False, True])
def test_scatter_matrices(kind, weighted, rng):
    X, V = data(300, 31, kind), data(31, 3, kind, 2)
    mean, weights = X.mean(0, dtype=np.float64), rng.random(300) if weighted else None
    plain, fast = both(scatter, X, mean, weights)
    near(fast, plain, kind, 200)
    plain, fast = both(scatter_product, X, mean, V, weights)
    near(fast[0], plain[0], kind, 200)
    assert fast[1] == pytest.approx(plain[1], rel=1e-8 if kind == np.float32 else 1e-12)


@typed
@pytest.mark.parametrize("weighted", [False, True])
def test_axes_of_the_gram_matrix(kind, weighted, rng):
    X = data(40, 200, kind)
    weights = rng.random(40) if weighted else None
    seen = Seen(X.mean(0, dtype=np.float64), weights, rng.random(200) + 1 if weighted else None)
    plain, fast = both(by_gram, X, seen, 5)
    near(fast.values, plain.values, kind, 200)
    overlap = (fast.vectors * plain.vectors).sum(0)
    near(np.abs(overlap), np.ones(5), kind, 2000)
    assert fast.total == pytest.approx(plain.total, rel=1e-5 if kind == np.float32 else 1e-12)


@typed
def test_projections(kind):
    X, V = data(300, 31, kind), data(31, 3, kind, 2)
    for shift, bias in [(None, None), (X.mean(0, dtype=np.float64), np.arange(3.0))]:
        plain, fast = both(project, X, shift, V, bias)
        assert fast.dtype == kind
        near(fast, plain, kind)
    plain, fast = both(project_exactly, X, X.mean(0, dtype=np.float64), V)
    assert fast.dtype == np.float64
    near(fast, plain)


@typed
def test_rows_along_a_line_in_any_order(kind, rng, monkeypatch):
    X, order = data(301, 37, kind), rng.permutation(301)
    X[7], X[:, 3] = X[200], 5
    plain, fast = both(along_a_line, X)
    near(fast, plain)
    assert fast[7] == fast[200]
    monkeypatch.setattr(module, "STAGED", 1000)
    plain, other = both(copied, X)
    np.testing.assert_array_equal(other, plain)
    assert other.flags.c_contiguous
    assert not np.shares_memory(other, X)
    plain, taken = both(picked, X, order)
    np.testing.assert_array_equal(taken, plain)
    np.testing.assert_array_equal(both(along_a_line, taken)[1], fast[order])
    X[5, 5] = np.finfo(kind).max
    (least, most), (low, high) = both(column_range, X)
    np.testing.assert_array_equal([low, high], [least, most])
    assert low.dtype == high.dtype == kind


@typed
def test_ranks_in_given_distances(kind, rng):
    D, own = rng.integers(0, 40, (50, 300)).astype(kind), rng.integers(0, 300, 50)
    plain, fast = both(all_ranks, D, own)
    assert fast.dtype == plain.dtype
    np.testing.assert_array_equal(fast, plain)


def test_rows_changed_in_place_are_not_taken_from_the_device():
    X, mean = gaussian(2000, 80), np.zeros(80)
    with using("torch", 2):
        first = scatter(X, mean)
        X *= 2
        near(scatter(X, mean), 4 * first)


def test_arrays_are_copied_to_a_device_once_until_they_change(monkeypatch):
    copies = []

    def copy(X):
        copies.append(X.shape)
        return torch.empty(X.shape, device="meta")

    monkeypatch.setattr(arrays, "to_device", copy)
    monkeypatch.setattr(arrays, "device", lambda: torch.device("meta"))
    monkeypatch.setattr(arrays, "_held", [])
    X = gaussian(600, 300)
    for view in (X, X, X[:], X.reshape(300, 600)):
        assert arrays.resident(view).shape == view.shape
    assert len(copies) == 1
    X *= 2
    arrays.resident(X)
    other = X.copy()
    arrays.resident(other)
    assert len(copies) == 3
    del other, view
    with using("torch", 1):  # another call, before which one entry may have been changed
        arrays.resident(X)
        arrays.resident(X)
    assert len(copies) == 4
    X.setflags(write=False)
    arrays.resident(X)
    assert len(copies) == 4
    assert len(arrays._held) == 1  # an array that is gone leaves nothing on the device


def test_what_was_made_of_something_is_known_as_long_as_it_lives():
    class Thing:
        pass

    made = []
    find = arrays.remembered(lambda thing: made.append(thing is not None) or len(made))
    one, other = Thing(), Thing()
    assert [find(one), find(one), find(other), find(one)] == [1, 1, 2, 3]
