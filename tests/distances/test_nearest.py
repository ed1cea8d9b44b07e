"""The nearest training point of a new one, and how near it is compared with the next."""

from __future__ import annotations

import numpy as np
from lowd.distances.nearest import MAX_INFLUENCE_RATIO, Nearest, detach, group_duplicates_in_matrix
from scipy.sparse import csr_array


def test_nearest_of_a_matrix_and_of_lists():
    D = np.abs(np.array([[2.0], [5.0], [9.0]]) - [0.0, 10.0, 30.0])
    lists = csr_array((D.ravel(), np.tile(np.arange(3), 3), np.arange(0, 10, 3)))
    for nearest in (Nearest.in_matrix(D), Nearest.in_lists(lists)):
        assert nearest.point.tolist() == [0, 0, 1]
        np.testing.assert_allclose(nearest.ratio, [2 / 8, 1, 1 / 9])
        assert nearest.influenced_points.tolist() == [0, 2]
    hidden = Nearest.in_matrix(np.array([[np.nan, 4.0, 10.0]]))
    assert (hidden.point[0], hidden.ratio[0]) == (1, 0.4)
    twins = Nearest.in_matrix(np.array([[1.0, 1.0, 4.0]]), np.array([0, 0, 2]))
    assert (twins.point[0], twins.ratio[0]) == (0, 0.25)


def test_a_list_of_one_neighbor_says_nothing_but_within_a_radius_it_does():
    one = csr_array(([2.0, 0.0], [1, 1], [0, 1, 2]), shape=(2, 3))
    assert Nearest.in_lists(one).ratio.tolist() == [1, 0]
    assert Nearest.in_lists(one, 8.0).ratio.tolist() == [0.25, 0]


def test_the_correction_ends_continuously():
    ratio = np.linspace(0, 1, 1001)
    share = detach(ratio)
    assert share[0] == 0
    assert (share[ratio >= MAX_INFLUENCE_RATIO] == 1).all()
    assert (np.diff(share) >= 0).all()
    assert np.abs(np.diff(share)).max() < 0.0031


def test_duplicates_in_a_matrix_have_their_first_row():
    D = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    assert group_duplicates_in_matrix(D).tolist() == [0, 1, 0]
    assert group_duplicates_in_matrix(D[:2, :2]) is None
