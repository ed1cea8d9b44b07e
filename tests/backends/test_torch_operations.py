"""Operations of the torch backend against the reference, on a GPU or on torch's CPU build."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

import torch
from lowd.backends.protocol import Ragged, multiply
from lowd.backends.reference import Reference

from cases import same_bits
from lowd.backends import resolve
from lowd.backends.torch import resident
from operands import SHAPES, data, measured, near, typed
from torch_operands import FAST, all_sizes_on_the_device, gaussian  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("all_sizes_on_the_device")
PLAIN = Reference()


@typed
def test_nearest_in_given_distances(kind):
    rng = np.random.default_rng(0)
    D, own = rng.integers(0, 40, (50, 300)).astype(kind), rng.integers(0, 300, 50)
    for left_out in (None, own):
        fast, plain = FAST.distance_index(D, left_out), PLAIN.distance_index(D, left_out)
        same_bits(fast.nearest(20).indices, plain.nearest(20).indices)
        same_bits(fast.nearest(20).distances, plain.nearest(20).distances)
        same_bits(fast.ranks(), plain.ranks())


@measured
@typed
def test_measures_of_all_pairs(measure, params, kind):
    for n, d in SHAPES[:6]:
        X, Q = data(n, d, kind), data(n + 3, d, kind, 1)
        fast = FAST.pairwise(Q, X, measure, params, None)
        assert fast.dtype == kind
        steep = bool(params) and params[0] > 100  # an exponent of hundreds, with its rounding
        near(fast, PLAIN.pairwise(Q, X, measure, params, None), kind, 5000 if steep else 50)
    if measure == "euclidean":  # duplicates are at 0, without rounding
        X = np.repeat(data(40, 30, kind) + 1000, 2, axis=0)
        assert not FAST.pairwise(X, X, measure, params, None)[::2, 1::2].diagonal().any()


@typed
def test_scatter_matrices_and_projections(kind):
    X, w = data(300, 31, kind), np.random.default_rng(0).random(300)
    mean, V = X.mean(0, dtype=np.float64), data(31, 3, kind, 2)
    for weights in (None, w):
        fast, plain = FAST.scatter(X, mean, weights), PLAIN.scatter(X, mean, weights)
        near(fast.moments().scatter, plain.moments().scatter, np.float64, 200)
        assert fast.moments().weight == pytest.approx(plain.moments().weight)
        near(fast.matmul(V)[0], plain.matmul(V)[0], np.float64, 200)
        assert fast.matmul(V)[1] == pytest.approx(plain.matmul(V)[1], rel=1e-12)
    for shift, bias in [(None, None), (mean, np.arange(3.0))]:
        fast = FAST.project(X, shift, V, bias)
        assert fast.dtype == kind
        near(fast, PLAIN.project(X, shift, V, bias), kind)


def test_rows_changed_in_place_are_not_taken_from_the_device():
    X = gaussian(2000, 80)
    mean = np.zeros(80)
    first = FAST.scatter(X, mean, None).moments().scatter
    X *= 2
    near(FAST.scatter(X, mean, None).moments().scatter, 4 * first, np.float64)


def test_arrays_are_copied_to_a_device_once_until_they_change(monkeypatch):
    device, copies = torch.device("meta"), []

    def copy(X, device):
        copies.append(X.shape)
        return torch.empty(X.shape, device=device)

    monkeypatch.setattr(resident, "to_device", copy)
    held, X = resident.ResidentArrays(), gaussian(600, 300)
    for view in (X, X, X[:], X.reshape(300, 600)):
        assert held.get(view, device).shape == view.shape
    assert len(copies) == 1
    X *= 2
    held.get(X, device)
    held.get(X.copy(), device)
    assert len(copies) == 3


def graph_of(n, rng, kind):
    """A ring with chords, in two components; an edge of length 0."""
    half = n // 2
    W = np.zeros((n, n))
    for i in range(n):
        side = half * (i // half)
        for j in (side + (i + 1) % half, side + rng.integers(half)):
            W[i, j] = W[j, i] = rng.random() + 0.1
    rows, columns = np.nonzero(W)
    data = W[rows, columns].astype(kind)
    data[((rows == 0) & (columns == 1)) | ((rows == 1) & (columns == 0))] = 0
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return csr_array((data, columns, indptr), (n, n))


@typed
def test_shortest_paths(kind, rng):
    G = graph_of(120, rng, kind)
    fast, plain = FAST.geodesics(G), PLAIN.geodesics(G)
    alone = Ragged.singletons(np.arange(0, 60, 7))
    near(fast.distances(alone)[:, :60], plain.distances(alone)[:, :60], kind)
    assert np.isinf(fast.distances(alone)[0, 60:]).all()
    lists = Ragged(np.array([0, 2, 3, 3, 6], np.int64), np.array([5, 9, 70, 1, 1, 80], np.int32))
    offsets = np.array([0.5, 0.1, 0.0, 2.0, 0.3, 1.0])
    found, expected = fast.distances(lists, offsets), plain.distances(lists, offsets)
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    known = np.isfinite(expected)
    near(found[known], expected[known], kind)
    connected = csr_array(G[:60][:, :60])
    V = rng.normal(size=(60, 3))
    fast, plain = FAST.geodesics(connected), PLAIN.geodesics(connected)
    near(multiply(fast.half_squares(), V), plain.half_squares().matmul(V), kind, 100)


@typed
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_guttman_transforms(kind, k, rng):
    """With weights, missing dissimilarities, and coinciding points."""
    D = cdist(*(2 * [rng.normal(size=(150, 6))])).astype(kind)
    Y, W = rng.normal(size=(150, k)), rng.random((150, 150)).astype(kind)
    W = W + W.T
    Y[7] = Y[3]
    missing = D.copy()
    missing[4, 9] = missing[9, 4] = np.nan
    for given, weights in [(D, None), (missing, None), (missing, W)]:
        fast, plain = (ops.stress_objective().plan(given, weights).step(Y) for ops in (FAST, PLAIN))
        for found, expected in zip(fast[:3], plain[:3], strict=True):
            assert found == pytest.approx(expected, rel=1e-5 if kind == np.float32 else 1e-10)
        near(fast.BY, plain.BY, kind, 2000)  # of two points that nearly coincide
    assert FAST.stress_objective().plan(D, None).disparities(Y) is None
    ordinal = FAST.stress_objective("primary").plan(D, None).step(Y)
    near(ordinal.BY, PLAIN.stress_objective("primary").plan(D, None).step(Y).BY, kind, 1000)


def test_the_backend_has_a_name():
    assert type(resolve("torch", 1)).__name__ == "Torch"
    assert type(resolve("auto", 1)).__name__ == "Native"
