"""The KL divergence: gradients, attractive and repulsive forces, the interpolation grid."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.backends.protocol import Perplexity, Ragged
from lowd.backends.reference.new_points import interpolate
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import lowd
from case_data import rows_like
from lowd.backends import resolve
from oracles import conditional_probabilities, divergence

LINE = np.array([[0.0], [1.0], [3.0], [7.0]])
EMBEDDING = np.array([[0.0, 0], [1, 0], [0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("kernel", "value", "first"),
    [
        ("student", 0.128391, [-0.048258, 0.148687]),
        ("gauss", 0.192205, [0.057478, 0.383866]),
        ("rows", 0.772856, [-0.171689, 0.925236]),
    ],
)
def test_worked_example_of_gradients(kernel, value, first):
    rows, _ = conditional_probabilities(2, LINE)
    P = (rows + rows.T) / 8
    A, R = resolve("auto", 1).kl_objective(kernel).plan(csr_array(P)).forces(EMBEDDING)
    scale = 4 if kernel == "rows" else 1  # the sum over four rows, not their mean
    np.testing.assert_allclose(4 * scale * (A - R)[0], first, atol=1e-6)
    assert np.abs((A - R).sum(0)).max() < 1e-15
    found = scale * divergence(rows / 4 if kernel == "rows" else P, EMBEDDING, kernel)
    assert found == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("kernel", "coordinates"), [("student", (0.7366, 0.5038)), ("gauss", (0.7293, 0.6109))]
)
def test_worked_example_of_a_new_point(kernel, coordinates):
    ops = resolve("auto", 1)
    starts = np.array([0, 4])
    p, beta, _ = ops.calibrate_rows(starts, np.array([4.0, 1, 1, 25]), Perplexity(2.5))
    assert beta[0] == pytest.approx(0.583532, abs=1e-6)
    np.testing.assert_allclose(p, [0.079897, 0.460051, 0.460051, 0], atol=1e-6)
    near = Ragged(starts, np.arange(4, dtype=np.int32))
    start = np.array([p @ EMBEDDING])
    found = ops.kl_objective(kernel).optimize_new_points(near, p, EMBEDDING, None, start)
    np.testing.assert_allclose(found[0], coordinates, atol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "k"),
    [*(("student", k) for k in (1, 2, 3, 5)), ("gauss", 2), ("gauss", 3), ("rows", 2)],
)
def test_gradients_are_finite_differences(kernel, k):
    rng = np.random.default_rng(k)
    rows, _ = conditional_probabilities(4, rng.normal(size=(12, 3)))
    P, Y = (rows + rows.T) / 24, rng.normal(size=(12, k))
    A, R = resolve("auto", 2).kl_objective(kernel).plan(csr_array(P)).forces(Y)
    target = rows / 12 if kernel == "rows" else P
    for i, c in ((0, 0), (5, k - 1), (11, 0)):
        step = np.zeros_like(Y)
        step[i, c] = 1e-5
        up, down = (divergence(target, Y + s, kernel) for s in (step, -step))
        assert 4 * (A - R)[i, c] == pytest.approx((up - down) / 2e-5, abs=1e-8)


def test_divergence_and_gradient_are_those_of_scikit_learn():
    from sklearn.manifold import _t_sne

    X = rows_like(150, seed=4)
    model = lowd.TSNE(perplexity=12, max_iter=300).fit(X)
    squares = cdist(X, X, "sqeuclidean").astype(np.float32)
    P = _t_sne._joint_probabilities(squares, 12, 0)
    value, slope = _t_sne._kl_divergence(model.embedding_.ravel(), P, 1, 150, 2)
    assert model.kl_divergence_ == pytest.approx(value, abs=1e-4)
    A, R = resolve("auto", 1).kl_objective("student").plan(model.affinity_).forces(model.embedding_)
    np.testing.assert_allclose(4 * (A - R).ravel(), slope, atol=1e-6)


@pytest.mark.parametrize(
    ("spread", "k"), [(1e-4, 1), (1e-8, 2), (1.0, 2), (30.0, 2), (1.0, 3), (30.0, 3)]
)
def test_the_interpolation_grid_is_right(spread, k):
    """Repulsion, normalizer and potential against all pairs."""
    native, plain = (resolve(name, 2) for name in ("auto", "reference"))
    rng = np.random.default_rng(1)
    n = 3000
    Y = rng.normal(size=(n, k)) * spread
    rows = np.arange(n)
    P = csr_array((np.full(n, 1 / n), (rows, np.roll(rows, 1))), shape=(n, n))
    P = csr_array(0.5 * (P + P.T))
    fast, slow = native.kl_objective("student").plan(P), plain.kl_objective("student").plan(P)
    assert fast.uses_interpolation(Y)
    (A, R), (A0, R0) = fast.forces(Y), slow.forces(Y)
    np.testing.assert_allclose(A, A0, atol=2e-5 * np.abs(A0).max())
    assert np.abs(R - R0).max() < 0.05 * max(np.abs(R0).max(), 0.01 / n)
    assert fast.partition_function(Y) == pytest.approx(slow.partition_function(Y), rel=1e-6)
    for y in Y[:5] + 0.1 if k < 3 else []:  # in space new rows feel all pairs
        value, slope, _ = interpolate(fast.interpolation_grid(Y), y)
        w = 1 / (1 + ((y - Y) ** 2).sum(1))
        assert value == pytest.approx(w.sum(), rel=3e-3)
        np.testing.assert_allclose(slope, -2 * w**2 @ (y - Y), atol=0.1 * np.abs(w**2).sum())
