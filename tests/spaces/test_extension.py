"""How maps extend: barycentric weights, tangent spaces, training points, the way back."""

from __future__ import annotations

import numpy as np
import pytest

from case_data import rows_like
from cases import close, same_bits
from lowd.spaces import Neighbors, Rows, new_neighbors
from lowd.spaces.extension import (
    alone,
    approach,
    barycentric,
    barycentric_weights,
    gower,
    kernel_regression,
    preimage_error,
    preimages,
    regress,
    tangent_regression,
)


@pytest.fixture
def plane():
    """Points of a plane in four dimensions, and a linear map of them."""
    rng = np.random.default_rng(0)
    flat, new = rng.random((200, 2)), 0.2 + 0.6 * rng.random((30, 2))
    frame = np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    return Rows(flat @ frame + 1), flat * [2, 3], new @ frame + 1, new * [2, 3]


def test_gower_is_a_projection_of_what_is_left_of_the_means():
    K, means, axes = rows_like(9, 5), rows_like(5, 1)[:, 0], rows_like(5, 2)
    close(gower(K, means, axes), (K - means) @ axes)
    far = K.astype(np.float32) * np.float32(1e38)
    found = gower(far, means, axes)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert np.isfinite(gower(np.array([[np.inf, 1, 1, 1, 1]]), means, axes)).all()


@pytest.mark.parametrize("how", ["barycentric", "tangent"])
def test_a_linear_map_is_extended_linearly(plane, how):
    space, Y, Q, expected = plane
    near = new_neighbors(space, Q, 8, None)
    if how == "tangent":
        found = tangent_regression(Q, space, near, Y)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    else:
        found = barycentric(Q, space, near, Y, reg=1e-9)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        w = barycentric_weights(Q, space, near, 1e-9)
        np.testing.assert_allclose(np.add.reduceat(w, near.indptr[:-1]), 1)


def test_lists_of_different_lengths(plane):
    space, Y, Q, _ = plane
    near = new_neighbors(space, Q, None, 0.15)
    assert len(set(near.counts)) > 1
    for extend in (
        lambda Q, near: barycentric(Q, space, near, Y, 1e-3),
        lambda Q, near: tangent_regression(Q, space, near, Y),
    ):
        together = extend(Q, near)
        for i in range(len(Q)):
            same_bits(extend(Q[i : i + 1], near.take(slice(i, i + 1))), together[i : i + 1])


def test_training_points_return_and_their_surroundings_follow(plane):
    space, Y, _, _ = plane
    rng = np.random.default_rng(1)
    direction = rng.normal(size=space.X.shape)
    wrong = Y + 0.5 * rng.normal(size=Y.shape)  # an extension that misses them
    same_bits(approach(wrong, new_neighbors(space, space.X, 5, None), Y), Y)
    before = np.zeros(len(Y))
    for step in (1e-6, 1e-4, 1e-2):
        near = new_neighbors(space, space.X + step * direction, 5, None)
        moved = np.linalg.norm(approach(wrong, near, Y) - Y, axis=1)
        assert (moved >= before - 1e-12).mean() > 0.9
        before = moved
    assert before.mean() > 0.05
    with alone():
        assert approach(wrong, new_neighbors(space, space.X, 5, None), Y) is wrong


def test_points_between_training_points_are_left_alone():
    X, Y = np.arange(6.0)[:, None], np.arange(6.0)[:, None] ** 2
    near = new_neighbors(Rows(X), X[:5] + 0.4, 3, None)
    placed = Y[:5] + 7
    same_bits(approach(placed, near, Y), placed)


def test_one_neighbor_does_not_tell_how_near_it_is():
    Y, placed = np.array([[1.0], [5.0]]), np.array([[3.0], [3.0]])
    one = Neighbors.of_table(np.array([[0], [0]]), np.array([[0.0], [0.1]]))
    np.testing.assert_array_equal(approach(placed, one, Y), [[1.0], [3.0]])
    # All others are beyond the radius, which tells.
    assert 1 < approach(placed, one, Y, radius=1.0)[1, 0] < 3


def test_the_way_back(plane):
    space, Y, Q, new = plane
    embedded = Rows(Y)
    np.testing.assert_allclose(preimages(new, embedded, space.X), Q, atol=0.02)
    error = preimage_error(embedded, space.X, np.arange(200))
    assert 0 < error < 0.01
    noise = np.random.default_rng(0).normal(size=(200, 10))
    assert preimage_error(embedded, noise, np.arange(200)) > 0.8
    assert preimage_error(Rows(Y[:1]), space.X[:1], np.arange(1)) == 0


def test_kernel_regression_knows_its_error(plane):
    space, Y, Q, expected = plane
    found = kernel_regression(space, Y, 0, np.float64)
    D = np.linalg.norm(Q[:, None] - found.centers.X, axis=2)
    placed = regress(D, found.gamma, found.weights, found.offset)
    np.testing.assert_allclose(placed, expected, atol=1e-3)
    assert 0 <= found.error < 1e-4
    assert kernel_regression(space, Y, 0, np.float32).ridge >= 1e-4
    few = kernel_regression(space, Y, 0, np.float64, most=50)
    assert (few.centers.n, len(few.weights)) == (50, 50)
