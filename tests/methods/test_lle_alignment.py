"""Barycentric weights and alignment matrices of the locally linear family, by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

import lowd
import plain
from cases import same_bits
from lowd.methods.lle import alignment_matrix, patches
from lowd.spaces import Neighbors, Rows, barycentric_weights
from manifolds import roll
from operands import typed


def lists(near):
    """Neighbors at distances that do not matter."""
    return Neighbors.of_table(near.astype(np.int32), np.ones(near.shape))


@pytest.mark.parametrize(
    ("x", "corners", "reg", "expected"),
    [
        ([0.25], [[0.0], [1.0]], 1e-3, [0.749688, 0.250312]),
        ([0.25], [[0.0], [1.0]], 1e-12, [0.75, 0.25]),
        ([0.25, 0.25], [[0.0, 0], [1, 0], [0, 1]], 1e-3, [0.499315, 0.250342, 0.250342]),
        ([0.25, 0.25], [[0.0, 0], [1, 0], [0, 1]], 1e-12, [0.5, 0.25, 0.25]),
    ],
)
def test_worked_weights(x, corners, reg, expected):
    near = lists(np.arange(len(corners))[None])
    w = barycentric_weights(np.array([x]), Rows(np.array(corners)), near, reg)
    np.testing.assert_allclose(w, expected, atol=1e-6)


def test_worked_spectrum():
    """Six points 0..5 on a line: M annihilates constants and the line itself."""
    X = np.arange(6.0)[:, None]
    near = np.array([[1, 2], [0, 2], [1, 3], [2, 4], [3, 5], [4, 3]])
    w = barycentric_weights(X, Rows(X), lists(near), 1e-12).reshape(6, 2)
    np.testing.assert_allclose(w, [[2, -1], *4 * [[0.5, 0.5]], [2, -1]], atol=1e-9)
    B = np.eye(6)
    np.subtract.at(B, (np.arange(6)[:, None], near), w)
    expected = [0, 0, 0.118956, 1.25, 7.881044, 8.75]
    np.testing.assert_allclose(np.linalg.eigvalsh(B.T @ B), expected, atol=1e-6)


def test_weights_do_not_see_rotation_scale_and_translation():
    X, _ = roll(200)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    one = lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(X)
    two = lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(7 * X @ turn + 100)
    np.testing.assert_allclose(two.weights_.toarray(), one.weights_.toarray(), atol=1e-7)


def test_rows_of_weights_sum_to_one():
    X, _ = roll(300)
    model = lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(X)
    W = model.weights_
    np.testing.assert_allclose(W.sum(1), 1)
    assert not W.diagonal().any()
    assert (np.diff(W.indptr) == 8).all()
    B = np.eye(300) - W.toarray()
    Y = model.embedding_ / np.sqrt(300)
    # tr(Y'MY) is the sum of the kept eigenvalues, and Y solves the problem.
    assert np.linalg.norm(B @ Y) ** 2 == pytest.approx(model.reconstruction_error_, rel=1e-6)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(B.T @ B)[1:3], atol=1e-12)


@pytest.mark.parametrize("kind", ["ltsa", "hessian", "modified"])
def test_alignment_matrices_annihilate_constants_and_are_positive(kind):
    X, _ = roll(200)
    near = lists(cKDTree(X).query(X, 11)[1][:, 1:])
    members = patches(near, own_first=kind != "modified")
    M = alignment_matrix(X, *members, kind, 2, 1e-3, np.ones(200)).toarray()
    np.testing.assert_allclose(M, M.T, atol=1e-12)
    np.testing.assert_allclose(M @ np.ones(200), 0, atol=1e-8)
    assert np.linalg.eigvalsh(M)[0] > -1e-10


def test_a_patch_is_a_point_and_its_neighbors():
    near = Neighbors(np.array([0, 2, 2, 3]), np.array([2, 1, 0], np.int32), np.ones(3))
    for first, expected in ((True, [0, 2, 1, 1, 2, 0]), (False, [2, 1, 0, 1, 0, 2])):
        indptr, members = patches(near, own_first=first)
        np.testing.assert_array_equal(indptr, [0, 3, 4, 6])
        np.testing.assert_array_equal(members, expected)


# -- against plain code ---------------------------------------------------------------------------


kinds = pytest.mark.parametrize("how", ["ltsa", "hessian", "modified"])


def ragged(of):
    starts = np.concatenate([[0], np.cumsum([len(one) for one in of])])
    return starts.astype(np.int64), np.concatenate([*of, []]).astype(np.int32)


def turned_roll(n, d, rng):
    """A noisy roll in d dimensions."""
    turn = np.linalg.qr(rng.normal(size=(d, 3)))[0]
    return roll(n)[0] @ turn.T + 0.3 * rng.normal(size=(n, d))


def weights(Q, X, given, reg):
    return barycentric_weights(Q, Rows(X), Neighbors(*given, np.ones(len(given[1]))), reg)


def aligned(X, given, *how):
    return alignment_matrix(X, *given, *how)


def near_rows(X, k, itself):
    """Lists of the k nearest others, of different lengths; the row itself first or left out."""
    order = np.argsort(cdist(X, X), axis=1, kind="stable")
    order = [row[row != i] for i, row in enumerate(order)]
    return ragged([np.append([i] * itself, row[: k + i % 3]) for i, row in enumerate(order)])


@pytest.mark.parametrize(
    ("d", "k", "reg", "kind"),
    [
        *((3, 5, 1e-3, np.float64), (3, 12, 1e-3, np.float64), (40, 7, 1e-3, np.float64)),
        *((40, 60, 1e-3, np.float64), (40, 60, 1e-6, np.float64), (40, 60, 1e-3, np.float32)),
        (40, 7, 0.0, np.float64),
    ],
)
def test_barycentric_weights(kind, d, k, reg, rng):
    X = rng.normal(size=(200, d)).astype(kind)
    near = near_rows(X, k, itself=False)
    found = weights(X, X, near, reg)
    expected = plain.weights_of_lists(X, X, near, reg)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(np.add.reduceat(found, near[0][:-1]), 1, rtol=1e-12)


def test_barycentric_weights_of_the_book():
    """On a line and in a triangle; without regularization the weights rebuild exactly."""
    X, Q, near = np.array([[0.0], [1.0]]), np.array([[0.25]]), ragged([[0, 1]])
    for reg, expected in ((1e-3, [0.749688, 0.250312]), (0.0, [0.75, 0.25])):
        found = weights(Q, X, near, reg)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    X, Q = np.array([[0.0, 0], [1, 0], [0, 1]]), np.array([[0.25, 0.25]])
    for reg, expected in ((1e-3, [0.499315, 0.250342, 0.250342]), (0.0, [0.5, 0.25, 0.25])):
        found = weights(Q, X, ragged([[0, 1, 2]]), reg)
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("reg", [0.0, 1e-16, 1e-3])
def test_barycentric_weights_are_finite_for_any_finite_rows(reg):
    X = np.array([[0.0, 0], [0, 0], [1, 0], [1e-300, 0], [1.7e308, -1.7e308]])
    near = ragged([[0, 1], [0, 1, 2], [0, 3], [0, 2, 4], [0, 1, 2, 3, 4]])
    for q in (0.0, 1.0, 1e-310, 1e200, -1.7e308):
        w = weights(np.full((5, 2), q), X, near, reg)
        assert np.isfinite(w).all()
        np.testing.assert_allclose(np.add.reduceat(w, near[0][:-1]), 1, rtol=1e-9)
    alone = weights(X[:1], X, (near[0][:2], near[1][:2]), reg)
    np.testing.assert_array_equal(alone, [0.5, 0.5])


@typed
def test_alignment_of_tangent_spaces(kind, rng):
    n = 250
    X = turned_roll(n, 8, rng).astype(kind)
    near, counts = patches_for("ltsa", X, 16), rng.random(n) + 0.5
    M = aligned(X, near, "ltsa", 3, 1e-3, counts)
    expected = plain.ltsa(X, near, 3, counts)
    assert M.has_sorted_indices
    np.testing.assert_allclose(M.toarray(), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def patches_for(how, X, k):
    """A patch of the last kind ends with the point it belongs to, the others begin with it."""
    indptr, members = near_rows(X, k, itself=True)
    if how == "modified":
        rolled = [np.roll(members[a:b], -1) for a, b in pairwise(indptr)]
        members = np.concatenate(rolled)
    return indptr, members


@kinds
@pytest.mark.parametrize(("d", "k"), [(3, 1), (8, 3), (50, 4)])
def test_alignment_matrices_are_positive_and_annihilate_constants(how, d, k, rng):
    n = 250
    X = turned_roll(n, d, rng)
    M = aligned(X, patches_for(how, X, 16), how, k, 1e-3, rng.random(n) + 0.5)
    size = np.abs(M.data).max()
    same_bits(M.toarray(), M.T.toarray())
    np.testing.assert_allclose(M @ np.ones(n), 0, atol=1e-12 * size)
    assert np.linalg.eigvalsh(M.toarray())[0] > -1e-12 * size


@kinds
def test_alignment_of_exactly_flat_data(how):
    """A lattice in a plane of R^5, with a corner where patches are nearly on a line."""
    grid = np.array([(i, j) for i in range(9) for j in range(9)], float)
    X = grid @ np.array([[1.0, 0, 2, -1, 0], [0, 1, 1, 3, 0]]) + 1e4
    M = aligned(X, patches_for(how, X, 9), how, 2, 1e-3, np.ones(len(X)))
    assert np.isfinite(M.data).all()
    size = np.abs(M.data).max()
    np.testing.assert_allclose(M @ np.ones(len(X)), 0, atol=1e-12 * size)
    if how != "modified":  # whose weights are regularized
        np.testing.assert_allclose(M @ grid, 0, atol=1e-9 * size)
        values = np.linalg.eigvalsh(M.toarray())
        assert abs(values[2]) < 1e-9 * size
        assert values[3] > 1e-7 * size


@kinds
def test_alignment_of_rows_on_a_line_and_in_a_point(how, rng):
    """Fewer directions than tangents wanted: what is missing is no direction, not a random one."""
    line = np.outer(np.sort(rng.random(40)), [1.0, 2, -1, 0.5])
    for X in (line, np.ones((40, 4)), line[:, :1].copy(), 1e200 * line, 1e-200 * line):
        near = patches_for(how, X, 8)
        M = aligned(X, near, how, 2, 1e-3, np.ones(40)).toarray()
        assert np.isfinite(M).all()
        size = max(np.abs(M).max(), 1e-300)
        np.testing.assert_allclose(M.sum(1), 0, atol=1e-12 * size)
        assert np.linalg.eigvalsh(M)[0] > -1e-12 * size


@typed
def test_weights_alone_have_the_bits_of_the_batch(kind, rng):
    X, Q = rng.normal(size=(100, 7)).astype(kind), rng.normal(size=(30, 7)).astype(kind)
    for reg in (0.0, 1e-3):
        near = ragged([rng.permutation(100)[: 3 + i % 9] for i in range(30)])
        whole = weights(Q, X, near, reg)
        for i in (0, 7, 29):
            begin, end = near[0][i : i + 2]
            one = np.array([0, end - begin]), near[1][begin:end]
            same_bits(weights(Q[i : i + 1], X, one, reg), whole[begin:end])
