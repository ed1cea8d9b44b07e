"""Forces, sums and descents of t-SNE and SNE: beside formulas in plain NumPy and scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from case_data import rows_like
from cases import same_bits
from lowd import _native
from lowd.methods.descent import Mesh, mesh_parts
from lowd.methods.tsne import TSNE, descent_of, kl_divergence
from lowd.spaces import Neighbors, conditional_probabilities, native_parts
from oracles import conditional_probabilities as exact_probabilities
from oracles import divergence

LINE = np.array([[0.0], [1.0], [3.0], [7.0]])
EMBEDDING = np.array([[0.0, 0], [1, 0], [0, 1], [1, 2]])
kernels = pytest.mark.parametrize("kernel", ["student", "gauss", "rows"])


def forces_of(P, Y, kernel, threads=1):
    """Attraction and repulsion by the native core."""
    A, R = np.empty(Y.shape), np.empty(Y.shape)
    descent_of(csr_array(P), Y.shape[1], kernel).forces(Y, A, R, threads)
    return A, R


def plain_forces(P, Y, kernel):
    """The same by all pairs, and the sums Z of the similarities of each row."""
    gaps = Y[:, None] - Y
    w = 1 / (1 + np.square(gaps).sum(2)) if kernel == "student" else np.exp(-(cdist(Y, Y) ** 2))
    np.fill_diagonal(w, 0)
    factor = w if kernel == "student" else np.ones(w.shape)
    Z = w.sum(1)
    both = (w / Z[:, None] + w / Z) / (2 * len(Y))  # directions of a pair
    q = both if kernel == "rows" else w / Z.sum()
    return [((share * factor)[:, :, None] * gaps).sum(1) for share in (P, q)], Z


def likeness(n, rng, kernel):
    """A sparse matrix of sum 1, symmetric; for rows the mean of both directions."""
    W = np.exp(-cdist(*(2 * [rng.normal(size=(n, 3))]), "sqeuclidean"))
    np.fill_diagonal(W, 0)
    W[(0.05 * W.max(1)[:, None] > W) & (0.05 * W.max(1) > W)] = 0  # every row keeps some
    W = W / W.sum(1, keepdims=True) / n if kernel == "rows" else W / W.sum()
    return csr_array((W + W.T) / 2)


@pytest.mark.parametrize(
    ("kernel", "value", "first"),
    [
        ("student", 0.128391, [-0.048258, 0.148687]),
        ("gauss", 0.192205, [0.057478, 0.383866]),
        ("rows", 0.772856, [-0.171689, 0.925236]),
    ],
)
def test_worked_example_of_gradients(kernel, value, first):
    rows, _ = exact_probabilities(2, LINE)
    P = (rows + rows.T) / 8
    A, R = forces_of(P, EMBEDDING, kernel)
    scale = 4 if kernel == "rows" else 1  # the sum over four rows, not their mean
    np.testing.assert_allclose(4 * scale * (A - R)[0], first, atol=1e-6)
    assert np.abs((A - R).sum(0)).max() < 1e-15
    found = kl_divergence(csr_array(rows if kernel == "rows" else P), EMBEDDING, kernel)
    assert found == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("kernel", "coordinates"), [("student", (0.7366, 0.5038)), ("gauss", (0.7293, 0.6109))]
)
def test_worked_example_of_a_new_point(kernel, coordinates):
    near = Neighbors.of_table(np.arange(4, dtype=np.int32)[None], np.array([[2.0, 1, 1, 5]]))
    p, beta = conditional_probabilities(near, 2.5)
    assert beta[0] == pytest.approx(0.583532, abs=1e-6)
    np.testing.assert_allclose(p, [0.079897, 0.460051, 0.460051, 0], atol=1e-6)
    found = np.array([p @ EMBEDDING])
    lists = near.indptr, near.indices, p
    _native.optimize_new_points(*lists, EMBEDDING, kernel, *mesh_parts(None), False, found, 1)
    np.testing.assert_allclose(found[0], coordinates, atol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "k"),
    [*(("student", k) for k in (1, 2, 3, 5)), ("gauss", 2), ("gauss", 3), ("rows", 2)],
)
def test_gradients_are_finite_differences(kernel, k):
    rng = np.random.default_rng(k)
    rows, _ = exact_probabilities(4, rng.normal(size=(12, 3)))
    P, Y = (rows + rows.T) / 24, rng.normal(size=(12, k))
    A, R = forces_of(P, Y, kernel)
    target = rows / 12 if kernel == "rows" else P
    for i, c in ((0, 0), (5, k - 1), (11, 0)):
        step = np.zeros_like(Y)
        step[i, c] = 1e-5
        up, down = (divergence(target, Y + s, kernel) for s in (step, -step))
        assert 4 * (A - R)[i, c] == pytest.approx((up - down) / 2e-5, abs=1e-8)


def test_divergence_and_gradient_are_those_of_scikit_learn():
    from sklearn.manifold import _t_sne

    X = rows_like(150, seed=4)
    model = TSNE(perplexity=12, max_iter=300).fit(X)
    squares = cdist(X, X, "sqeuclidean").astype(np.float32)
    P = _t_sne._joint_probabilities(squares, 12, 0)
    value, slope = _t_sne._kl_divergence(model.embedding_.ravel(), P, 1, 150, 2)
    assert model.kl_divergence_ == pytest.approx(value, abs=1e-4)
    A, R = forces_of(model.affinity_, model.embedding_, "student")
    np.testing.assert_allclose(4 * (A - R).ravel(), slope, atol=1e-6)


@kernels
def test_forces_and_sums_are_those_of_all_pairs(kernel, rng):
    P, Y = likeness(400, rng, kernel), 3 * rng.normal(size=(400, 2))
    (A, R), Z = plain_forces(P.toarray(), Y, kernel)
    for found, expected in zip(forces_of(P, Y, kernel, 2), (A, R), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
    sums, pushed = np.empty(400), np.empty((400, 2))
    _native.pair_sums(Y, kernel, np.arange(400), sums, pushed, 2)
    np.testing.assert_allclose(sums, Z, rtol=1e-9)
    if kernel != "rows":
        np.testing.assert_allclose(pushed / Z.sum(), R, atol=1e-9 * np.abs(R).max())
    p, D = P.toarray(), cdist(Y, Y, "sqeuclidean")
    far = np.log1p(D) if kernel == "student" else D
    expected = (p * (np.log(np.where(p > 0, p, 1)) + far)).sum()
    found = _native.cross_term(*native_parts(P), Y, kernel, 2)
    assert found == pytest.approx(expected, rel=1e-12)


@kernels
def test_a_descent_by_hand(kernel, rng):
    """Momentum, gains that grow by 0.2 and fall by a fifth (Jacobs, 1988), steps of 5 at most."""
    P, Y = likeness(120, rng, kernel), rng.normal(size=(120, 2))
    descent = descent_of(P, 2, kernel)
    descent.start(Y)
    moved = descent.advance(12, 4.0, 0.5, 10.0, 2)
    expected, step, gain = Y.copy(), np.zeros(Y.shape), np.ones(Y.shape)
    for _ in range(12):
        (A, R), _ = plain_forces(P.toarray(), expected, kernel)
        slope = 4.0 * A - R
        gain = np.maximum(np.where(slope * step <= 0, gain + 0.2, 0.8 * gain), 0.01)
        step = 0.5 * step - 10.0 * gain * slope
        step *= np.minimum(1, 5 / np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 5))
        expected = expected + step
    found = np.empty(Y.shape)
    descent.embedding(found)
    np.testing.assert_allclose(found - found.mean(0), expected - expected.mean(0), atol=1e-6)
    assert moved == pytest.approx(np.square(step).sum(), rel=1e-6)


@kernels
def test_descents_have_the_same_bits_for_any_number_of_threads(kernel, rng):
    P, Y = likeness(1100, rng, kernel), 1e-4 * rng.normal(size=(1100, 2))
    ends = []
    for threads in (1, 2, 5):
        descent, end = descent_of(P, 2, kernel), np.empty(Y.shape)
        descent.start(Y)
        descent.advance(30, 4.0, 0.5, 200.0, threads)
        descent.embedding(end)
        ends.append(end)
    same_bits(ends[1], ends[0])
    same_bits(ends[2], ends[0])
    assert np.isfinite(ends[0]).all()
    assert (ends[0] != Y).all()


@kernels
def test_new_points_are_optimized_alone_as_in_a_batch(kernel, rng):
    Y = rng.normal(size=(60, 2)) * 3
    indptr, indices = np.arange(0, 41, 5), rng.integers(60, size=40).astype(np.int32)

    def place(indptr, indices):
        out = np.empty((len(indptr) - 1, 2))
        lists = indptr, indices, np.full(len(indices), 0.2)
        _native.optimize_new_points(*lists, Y, kernel, *mesh_parts(None), True, out, 2)
        return out

    whole = place(indptr, indices)
    for i in range(8):
        same_bits(place(np.array([0, 5]), indices[5 * i : 5 * i + 5])[0], whole[i])


@pytest.mark.parametrize(
    ("spread", "k"), [(1e-4, 1), (1e-8, 2), (1.0, 2), (30.0, 2), (1.0, 3), (30.0, 3)]
)
def test_forces_on_a_mesh_are_right(spread, k):
    """Repulsion and normalizer against all pairs; the potential, which new points follow."""
    rng = np.random.default_rng(1)
    n = 3000
    Y, rows = rng.normal(size=(n, k)) * spread, np.arange(n)
    P = csr_array((np.full(n, 1 / n), (rows, np.roll(rows, 1))), shape=(n, n))
    P = csr_array(0.5 * (P + P.T))
    A, R = forces_of(P, Y, "student", 2)
    sums, R0 = np.empty(n), np.empty((n, k))
    _native.pair_sums(Y, "student", rows, sums, R0, 2)
    R0 /= sums.sum()
    assert np.abs(R - R0).max() < 0.05 * max(np.abs(R0).max(), 0.01 / n)
    assert _native.partition_function(Y, 2) == pytest.approx(sums.sum(), rel=1e-6)
    gaps = Y - Y[np.roll(rows, 1)]
    pulls = gaps / (1 + np.square(gaps).sum(1, keepdims=True)) / (2 * n)
    A0 = pulls - np.roll(pulls, -1, axis=0)
    np.testing.assert_allclose(A, A0, atol=2e-5 * np.abs(A0).max())


@pytest.mark.parametrize("k", [1, 2])
def test_new_points_by_a_mesh_are_where_all_pairs_would_have_them(k, rng):
    Y = 20 * rng.normal(size=(2000, k))
    P = csr_array((np.full(2000, 1 / 2000), (np.arange(2000), np.roll(np.arange(2000), 1))))
    mesh = Mesh.of(descent_of(csr_array((P + P.T) / 2), k, "student"), Y)
    near = np.argsort(cdist(Y[:50] + 0.1, Y), axis=1)[:, :20].astype(np.int32)
    lists = np.arange(0, 1001, 20), near.ravel(), np.full(1000, 0.05)
    found = []
    for one in (mesh, None):
        out = np.empty((50, k))
        _native.optimize_new_points(*lists, Y, "student", *mesh_parts(one), True, out, 2)
        found.append(out)
    assert np.median(np.linalg.norm(found[0] - found[1], axis=1)) < 0.05
