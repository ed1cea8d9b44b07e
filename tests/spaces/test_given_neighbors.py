"""Neighbors that were found elsewhere: every form is read, checked, and asked as a space."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, radius_neighbors_graph

from case_data import edit_distance, rows_like
from cases import same_bits
from lowd.errors import DataError, ParameterError, UnsupportedError
from lowd.neighbor_graph import NeighborGraph
from lowd.spaces import Known, Listed, Lists, space_of, with_neighbors
from lowd.spaces.known import check_listed, read_lists


def brute(Q, X, k, own=True):
    D = cdist(Q, X)
    if own:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, 1)


def forms(X, k):
    """The same graph as other libraries hold it."""
    indices, distances = brute(X, X, k)
    n = len(X)
    own = np.arange(n)[:, None]
    plain = csr_array((distances.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), (n, n))
    shuffled = np.random.default_rng(0).permutation(k)
    return {
        "ours": NeighborGraph(indices.astype(np.int32), distances),
        "pair": (indices, distances),
        "umap": (np.hstack([own, indices]), np.hstack([own * 0.0, distances]), None),
        "unsorted": (indices[:, shuffled], distances[:, shuffled]),
        "scanpy": csr_matrix(plain),
        "scikit-learn": KNeighborsTransformer(n_neighbors=k).fit_transform(X),
        "coo": coo_array(plain),
    }


@pytest.mark.parametrize("form", forms(rows_like(9, 2), 2))
def test_rows_with_their_neighbors(form):
    X, Q = rows_like(40, 4), rows_like(6, 4, 1)
    indices, distances = brute(X, X, 5)
    space = space_of(with_neighbors(X, forms(X, 5)[form], 40))
    assert isinstance(space, Listed)
    for k in (5, 9):
        same_bits(space.nearest(k).table[0], indices.astype(np.int32))
        np.testing.assert_allclose(space.nearest(k).table[1], distances, rtol=1e-12)
    same_bits(space.nearest(3).table[0], indices[:, :3].astype(np.int32))
    radius = float(np.median(distances))
    np.testing.assert_array_equal(space.within(radius).counts, (distances <= radius).sum(1))
    plain = space_of(X)
    same_bits(space.pairwise(), plain.pairwise())
    same_bits(space.toward(Q), plain.toward(Q))
    same_bits(space.query(Q, 3).indices, plain.query(Q, 3).indices)
    same_bits(space.fingerprint(), plain.fingerprint())
    far = brute(Q + 1, X, 4, own=False)  # they count, and not those that a search would find
    new = with_neighbors(Q, far, 40)
    assert isinstance(new, Known)
    assert new.shape == (6, 4)
    same_bits(space.query(new, 4).table[0], far[0].astype(np.int32))
    same_bits(space.query(new[np.array([3, 1])], 2).table[0], far[0][[3, 1], :2].astype(np.int32))
    same_bits(space.query(new[2:3], 9).table[0], far[0][2:3].astype(np.int32))
    same_bits(space.toward(new), plain.toward(Q))
    kept = pickle.loads(pickle.dumps(space.kept()))
    assert kept.lists.near is None
    same_bits(kept.query(new, 4).indices, space.query(new, 4).indices)


@pytest.mark.parametrize("form", ["scanpy", "scikit-learn"])
def test_a_sparse_graph_alone(form):
    X, Q = rows_like(40, 4), rows_like(6, 4, 1)
    indices = brute(X, X, 5)[0].astype(np.int32)
    space = space_of(csr_array(forms(X, 5)[form]), "precomputed")
    assert isinstance(space, Lists)
    assert space.n == 40
    same_bits(space.nearest(5).table[0], indices)
    same_bits(space.nearest(40).table[0], indices)
    with pytest.raises(ParameterError, match="n_neighbors=6, but row 0 of the graph holds 5"):
        space.nearest(6)
    new = KNeighborsTransformer(n_neighbors=7).fit(X).transform(Q)
    found = space.query(new, 3)
    same_bits(found.table[0], brute(Q, X, 3, own=False)[0].astype(np.int32))
    assert space.query(new[:2], 99).counts.tolist() == [8, 8]
    with pytest.raises(UnsupportedError, match="distances to neighbors only"):
        space.pairwise()
    with pytest.raises(UnsupportedError, match="distances to neighbors only"):
        space.toward(new)
    kept = pickle.loads(pickle.dumps(space.kept()))
    same_bits(kept.query(new, 3).indices, found.indices)


def test_order_and_parts():
    X, Q = rows_like(60, 3), rows_like(5, 3, 1)
    graph = forms(X, 6)["scanpy"]
    space = space_of(csr_array(graph), "precomputed")
    rng = np.random.default_rng(0)
    order = rng.permutation(60)
    mixed = space.take(order)
    expected = brute(X[order], X[order], 6)
    same_bits(mixed.nearest(6).table[0], expected[0].astype(np.int32))
    new = brute(Q, X, 4, own=False)
    lists = with_neighbors(Q, new, 60).lists
    same_bits(order[mixed.query(lists, 4).table[0]], new[0])
    again = space_of(csr_array(graph[order][:, order]), "precomputed")
    same_bits(again.fingerprint(), space.fingerprint()[order])
    some = order[:30]
    part = space.take(some)
    held = np.isin(brute(X, X, 6)[0][some], some).sum(1)
    np.testing.assert_array_equal(part.nearest(6).counts, held)
    with pytest.raises(UnsupportedError, match="with landmarks the map knows no others"):
        part.query(lists, 4)


def test_duplicates_are_one_point():
    X = np.vstack([rows_like(20, 3), rows_like(20, 3)[:8]])
    indices, distances = brute(X, X, 6)
    space = space_of(with_neighbors(X, (indices, distances), 28))
    first_row, point_of_row = np.arange(20), np.r_[np.arange(20), np.arange(8)]
    merged = space.merge(first_row, point_of_row)
    assert merged.n == merged.base.n == 20
    near = merged.nearest(20)
    assert (near.distances > 0).all()
    for point in range(20):
        rows = np.flatnonzero(point_of_row == point)
        others = {int(point_of_row[i]) for i in indices[rows].ravel()} - {point}
        found = near.take(slice(point, point + 1))
        assert set(found.indices.tolist()) == others
        np.testing.assert_allclose(found.distances, cdist(X[[point]], X[found.indices])[0])
    Q = rows_like(4, 3, 5)
    new = with_neighbors(Q, brute(Q, X, 28, own=False), 28)
    found = merged.query(new, 99)
    assert found.counts.tolist() == [20] * 4
    same_bits(found.table[0], brute(Q, X[:20], 20, own=False)[0].astype(np.int32))
    kept = pickle.loads(pickle.dumps(merged.kept()))
    same_bits(kept.query(new, 5).indices, merged.query(new, 5).indices)


def test_duplicates_listed_instead_of_the_row_itself():
    """Of four duplicates the nearest 3 do not always include the row itself."""
    X = np.repeat(rows_like(5, 2), 4, axis=0)
    D = cdist(X, X)
    indices = np.argsort(D, axis=1, kind="stable")[:, :3]
    assert not (indices == np.arange(20)[:, None]).any(1).all()
    near = space_of(with_neighbors(X, (indices, np.take_along_axis(D, indices, 1)), 20)).nearest(9)
    assert near.counts.tolist() == [2] * 20
    assert (near.indices != near.owners).all()


def test_lists_of_several_lengths():
    X = np.array([[0.0], [1.0], [1.5], [9.0]])
    space = space_of(with_neighbors(X, radius_neighbors_graph(X, 1.2, mode="distance"), 4))
    assert space.nearest(9).counts.tolist() == [1, 2, 1, 0]
    assert space.nearest(1).counts.tolist() == [1, 1, 1, 0]
    assert space.nearest(9).nearest.tolist() == [1, 0.5, 0.5, np.inf]
    with pytest.raises(ParameterError, match=r"n_neighbors=2.*row 3 of the graph holds 0; use a"):
        check_listed(space.nearest(9), 2)
    with pytest.raises(
        ParameterError, match="n_neighbors=3, but row 0 of the graph holds 1 others"
    ):
        check_listed(space.nearest(9).take(slice(0, 2)), 2, counts_itself=True)


def test_neighbors_of_objects_and_of_sparse_rows():
    words = ["tree", "three", "there", "here", "her", "hero"]
    D = np.array([[edit_distance(a, b) for b in words] for a in words])
    pair = np.argsort(D, axis=1, kind="stable")[:, :3], np.sort(D, axis=1)[:, :3]
    space = space_of(with_neighbors(words, pair, 6), edit_distance)
    assert space.nearest(9).counts.tolist() == [2] * 6
    new = with_neighbors(["hers", "tre"], ([[4, 3], [0, 1]], [[1.0, 2.0], [1.0, 2.0]]), 6)
    assert new.shape == (2, 1)
    assert space.query(new[np.array([1])], 2).indices.tolist() == [0, 1]
    X = csr_array(np.round(rows_like(30, 4)))
    space = space_of(with_neighbors(X, brute(X.toarray(), X.toarray(), 4), 30))
    assert space.rows is space.base.X
    with pytest.raises(UnsupportedError, match="is the neighbor graph itself"):
        space_of(
            with_neighbors(csr_array((30, 30)), brute(X.toarray(), X.toarray(), 4), 30),
            "precomputed",
        )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (7, "must be a NeighborGraph, .* got int"),
        (([[1], [0]], [[1.0, 2.0]]), r"one shape.*\(2, 1\).*\(1, 2\)"),
        (([[1.0], [0.0]], [[1.0], [1.0]]), "whole numbers"),
        (([1, 0], [1.0, 1.0]), "rows x n_neighbors"),
        (([[1], [2]], [[1.0], [1.0]]), "row 1 names row 2, but there are 2 rows"),
        (([[1], [-2]], [[1.0], [1.0]]), "row 1 names row -2"),
        (([[1, 1], [0, 1]], [[1.0, 1.0], [1.0, 0.0]]), "row 0 names row 1 twice"),
        (([[1], [0]], [[1.0], [np.nan]]), "row 1 to row 0 is nan"),
        (([[1], [0]], [[-1.0], [1.0]]), "row 0 to row 1 is -1.0"),
        (([[1], [0], [1]], [[1.0], [1.0], [1.0]]), "neighbors has 3 rows, but X has 2"),
        (csr_array((3, 3)), "neighbors has 3 rows, but X has 2"),
        (csr_array(np.ones((2, 3))), r"2 new rows among 2 training rows, but got shape \(2, 3\)"),
    ],
)
def test_what_is_no_list_of_neighbors(given, sentence):
    with pytest.raises(DataError, match=sentence):
        with_neighbors(rows_like(2, 3), given, 2)


def test_what_is_no_graph_and_no_new_list():
    for given in (([[0], [1]], [[0.0], [0.0]]), csr_array((2, 2))):
        with pytest.raises(DataError, match="no row has a neighbor other than itself"):
            space_of(with_neighbors(rows_like(2, 3), given, 2))
    with pytest.raises(DataError, match=r"square \(rows x rows\), got shape \(2, 3\)"):
        space_of(csr_array(np.ones((2, 3))), "precomputed")
    X = rows_like(9, 2)
    space = space_of(with_neighbors(X, brute(X, X, 3), 9))
    with pytest.raises(DataError, match="row 1 has none; every new row needs at least one"):
        space.query(with_neighbors(X[:2], ([[3], [-1]], [[1.0], [np.inf]]), 9), 1)
    alone = space_of(csr_array(forms(X, 3)["scanpy"]), "precomputed")
    with pytest.raises(DataError, match=r"2 new rows among 9 training rows, .* \(2, 5\)"):
        alone.query(csr_array(np.ones((2, 5))), 1)


def test_long_lists_are_read_some_at_a_time():
    """Also rows without entries, and rows longer than a run."""
    rng = np.random.default_rng(0)
    D = np.where(rng.random((60, 60)) < 0.2, rng.integers(1, 5, (60, 60)), 0).astype(float)
    D[[0, 31, 59]] = 0
    D[7] = 3
    near, shape = read_lists(csr_array(D))
    assert shape == (60, 60)
    for row in range(60):
        expected = [j for _, j in sorted((D[row, j], j) for j in np.flatnonzero(D[row]))]
        assert near.take(slice(row, row + 1)).indices.tolist() == expected
    for entries in (1, 23, 10_000):
        runs = list(near.runs(entries))
        assert [some.start for some, _ in runs][1:] == [some.stop for some, _ in runs][:-1]
        np.testing.assert_array_equal(np.concatenate([owners for _, owners in runs]), near.owners)
    same_bits(near.first(4).counts, np.minimum(near.counts, 4))
    odd = near.keep(near.indices % 2 == 1)
    np.testing.assert_array_equal(odd.counts, (D[:, 1::2] > 0).sum(1))
    assert (odd.nearest == np.where(odd.counts, odd.nearest, np.inf)).all()
    assert near.nearest[31] == np.inf
