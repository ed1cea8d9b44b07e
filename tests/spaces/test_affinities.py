"""Conditional and joint probabilities of neighbors: their perplexity, their sums, their order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import softmax
from scipy.stats import entropy

from lowd.spaces import (
    Neighbors,
    conditional_probabilities,
    in_order_of_rows,
    joint_probabilities,
    scaled_probabilities,
    select_ranked,
    squared,
)

LINE = np.array([[0.0], [1.0], [3.0], [7.0]])


def lists_of(squares):
    return Neighbors.of_table(np.zeros(squares.shape, np.int32), np.sqrt(squares))


@pytest.mark.parametrize("target", [1.5, 5, 30, 89])
def test_every_row_has_its_perplexity(target):
    rng = np.random.default_rng(0)
    n, k = 3000, 90
    squares = np.sort(rng.gamma(2.0, 1.0, (n, k)) * rng.lognormal(0, 8, (n, 1)), axis=1)
    squares[: n // 3, :2] += rng.random((n // 3, 1)) * 1e6 * squares[: n // 3, -1:]  # far from all
    p, beta = conditional_probabilities(lists_of(squares), target, squares.ravel())
    p = p.reshape(n, k)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-12)
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    np.testing.assert_allclose(np.exp(-(p * logs).sum(1)), target, rtol=1e-8)
    assert (beta > 0).all()


def test_perplexities_that_ties_make_unattainable():
    """Three nearest at one distance: no fewer than three count, and nothing is not a number."""
    near = lists_of(np.array([[1.0, 1, 1, 2, 9]]))
    p, beta = conditional_probabilities(near, 2.0)
    np.testing.assert_allclose(p, [1 / 3, 1 / 3, 1 / 3, 0, 0], atol=1e-6)
    assert np.isfinite(beta).all()


def test_a_list_that_is_shorter_than_the_perplexity_has_equal_probabilities():
    near = Neighbors(np.array([0, 2, 7]), np.zeros(7, np.int32), np.array([1.0, 2, 1, 2, 3, 4, 5]))
    p, beta = conditional_probabilities(near, 3.0)
    np.testing.assert_array_equal(p[:2], [0.5, 0.5])
    assert beta[0] == 0
    assert np.ptp(p[2:]) > 0


def test_scaled_probabilities_are_those_of_the_formula(rng):
    """In units of the radii, after the point's own excess is taken off."""
    d, radii, u = np.sort(rng.gamma(3, size=(6, 20)), axis=1), 1 + rng.random(40), 5
    near = Neighbors.of_table(rng.integers(0, 40, (6, 20)).astype(np.int32), d)
    found = scaled_probabilities(near, u, radii).reshape(6, 20)
    for i in range(6):
        own = radii[near.indices.reshape(6, 20)[i]] ** 2
        a = max(0, np.sort(d[i] ** 2 - own)[u - 1])
        s = (d[i] ** 2 - a) / own

        def excess(log_beta, s=s):
            return entropy(softmax(-np.exp(log_beta) * s)) - np.log(u)

        expected = softmax(-np.exp(brentq(excess, -30, 30, xtol=1e-14)) * s)
        np.testing.assert_allclose(found[i], expected, atol=1e-9)


def test_values_of_a_rank_in_lists_of_any_length():
    values, indptr = np.array([5.0, 1, 3, 9, 2, 7]), np.array([0, 3, 4, 6])
    assert select_ranked(values, indptr, np.array([2, 1, 2])).tolist() == [3, 9, 7]
    assert select_ranked(values, indptr, np.array([3, 1, 1])).tolist() == [5, 9, 2]


def test_squares_are_finite():
    assert np.isfinite(squared(np.array([1e200, 3.0]))).all()
    assert squared(np.array([3.0]))[0] == 9


def test_joint_probabilities_are_means_of_both_directions(rng):
    n, k = 30, 6
    indices = np.array([rng.choice(np.delete(np.arange(n), i), k, False) for i in range(n)])
    near = Neighbors.of_table(indices.astype(np.int32), np.sort(rng.random((n, k)), axis=1))
    p, _ = conditional_probabilities(near, 3.0)
    dense = np.zeros((n, n))
    dense[near.owners, near.indices] = p
    found = joint_probabilities(near, p).toarray()
    np.testing.assert_allclose(found, (dense + dense.T) / (2 * n), atol=1e-15)
    assert found.sum() == pytest.approx(1)


def test_a_graph_of_points_in_the_order_of_their_rows():
    """Three points, of which the last comes first and twice."""
    near = Neighbors.of_table(np.array([[1], [2], [0]], np.int32), np.array([[1.0], [2], [3]]))
    A = in_order_of_rows(near.as_graph(3), np.array([2, 0, 2, 1]))
    np.testing.assert_array_equal(A.toarray(), [[0, 3, 0], [0, 0, 1], [2, 0, 0]])
    assert A.has_sorted_indices
    with pytest.raises(ValueError, match="read-only"):
        A.data[0] = 1
