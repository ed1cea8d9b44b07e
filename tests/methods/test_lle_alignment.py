"""Barycentric weights and alignment matrices of the locally linear family, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

import lowd
from lowd.methods.lle import alignment_matrix, patches
from lowd.spaces import Neighbors, Rows, barycentric_weights
from manifolds import roll


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
