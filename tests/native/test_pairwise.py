"""Distances and kernels of all pairs by the native core beside plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import kernels
import plain
from cases import same_bits
from operands import EPS, data, measured, typed

# What the rows are seen from, by the measures that look from somewhere.
CENTERED = {"dot", "sqeuclidean", "euclidean", "rbf", "rbfm1"}


def middle(X, measure):
    return X.mean(0, dtype=np.float64) if measure in CENTERED else None


def check_pairwise(measure, params, kind, shape):
    m, n, d = shape
    Q, X = data(m, d, kind, 1), data(n, d, kind, 2)
    if measure in ("hamming", "jaccard"):
        Q, X = (np.round(A).astype(kind) % 3 for A in (Q, X))
    if measure == "poly":
        Q, X = np.abs(Q), np.abs(X)  # a fractional power needs a positive base
    center = middle(X, measure)
    found, expected = (
        kernels.pairwise(Q, X, measure, params, center),
        plain.pairs(Q, X, measure, params, center),
    )
    unit = min(1.0, float(np.abs(expected).max())) + np.finfo(kind).tiny / EPS[kind]
    np.testing.assert_allclose(found, expected, rtol=200 * EPS[kind], atol=200 * EPS[kind] * unit)
    same_bits(kernels.pairwise(Q, X, measure, params, center), found)


@measured
@typed
def test_pairwise(measure, params, kind):
    for shape in ((1, 1, 1), (3, 5, 2), (33, 65, 31), (70, 40, 129), (17, 300, 8)):
        check_pairwise(measure, params, kind, shape)
    for n in (1, 2, 31, 64, 130):
        check_symmetric_pairwise_has_the_bits_of_the_general_one(measure, params, kind, n)


def check_symmetric_pairwise_has_the_bits_of_the_general_one(measure, params, kind, n):
    X = np.abs(data(n, 19, kind))
    if measure in ("hamming", "jaccard"):
        X = np.round(X).astype(kind) % 3
    center = middle(X, measure)
    half = kernels.pairwise(X, X, measure, params, center)
    same_bits(half, half.T)
    same_bits(kernels.pairwise(X.copy(), X, measure, params, center), half)
    exact = {"rbf": 1, "laplacian": 1, "dot": None, "poly": None, "sigmoid": None}.get(measure, 0)
    if exact is not None:
        assert (np.diagonal(half) == exact).all()


@typed
@pytest.mark.parametrize(("offset", "centered"), [(0, False), (1e6, False), (1e6, True)])
def test_close_pairs_lose_no_digits(kind, offset, centered, rng):
    """Distances of rounded rows, far from the origin, as float64 computes them; equal rows: 0."""
    X = rng.normal(size=(60, 17))
    X = np.vstack([X, X + 1e-4 * rng.normal(size=X.shape), X])
    X = np.ascontiguousarray((X + offset).astype(kind))
    exact = ((X[:, None].astype(np.float64) - X.astype(np.float64)) ** 2).sum(2)
    center = X.mean(0, dtype=np.float64) if centered else None
    D = kernels.pairwise(X, X, "sqeuclidean", (1.0,), center)
    assert (D[exact == 0] == 0).all()
    assert (D >= 0).all()
    np.testing.assert_allclose(D, exact, rtol=2e-5 if kind == np.float32 else 1e-12)
    # Hence the order of neighbors is right, too.
    order = np.take_along_axis(exact, np.argsort(D, axis=1, kind="stable"), 1)
    assert (np.diff(order, axis=1) >= -4e-5 * order[:, 1:]).all()


@typed
def test_exponentials_are_good_to_the_last_digits(kind):
    """rbf and rbfm1 against NumPy in float64, over the whole range of arguments."""
    d2 = np.concatenate([[0], np.logspace(-12, 2.8, 400)])
    Q, X = np.sqrt(d2)[:, None].astype(kind), np.zeros((1, 1), kind)
    exact = Q.astype(np.float64)[:, 0] ** 2
    for measure, function in (("rbf", np.exp), ("rbfm1", np.expm1)):
        found = kernels.pairwise(Q, X, measure, (1.0,))[:, 0].astype(np.float64)
        expected = function(-exact)
        tiny = np.finfo(kind).tiny
        keep = np.abs(expected) > 4 * tiny
        error = np.abs(found - expected)[keep] / np.abs(expected[keep])
        # The rounding of an argument of 90 is worth that many roundings of the result.
        assert error.max() < (180 if measure == "rbf" else 8) * EPS[kind]
        assert (found[~keep] <= 4 * tiny).all()
        assert found[0] == function(0.0)
