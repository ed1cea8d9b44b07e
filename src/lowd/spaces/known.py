"""Neighbors that were found elsewhere: by scikit-learn, umap, scanpy or `lowd.neighbors`.

Neighbors are part of the data, as a column would be. So no method has an argument for them; they
are given to `fit` and `transform`, and whoever asks the space for neighbors gets these. With
metric="precomputed" a sparse matrix holds them alone, without rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from ..errors import DataError, ParameterError, UnsupportedError
from ..parameters import Indices, Metric, MetricParams, Reals, state
from .matrices import hash_symmetric
from .neighbors import Neighbors
from .space import Space, count_rows, space_of, take_rows, tie_tolerance


@dataclass(frozen=True)
class Known:
    """Rows of any kind, and for each of them training rows that are near."""

    rows: Any
    lists: Neighbors  # of numbers of training rows, which may include the row itself

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(getattr(self.rows, "dtype", np.float64))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.rows.shape) if hasattr(self.rows, "shape") else (count_rows(self.rows), 1)

    def astype(self, dtype: np.dtype[Any], copy: bool = True) -> Known:
        return Known(self.rows.astype(dtype, copy=copy), self.lists)

    def take(self, some: Indices) -> Known:
        return Known(take_rows(self.rows, some), renumbered(self.lists, some))

    def __getitem__(self, some: Any) -> Known:
        return self.take(np.arange(self.shape[0])[some])


def with_neighbors(rows: Any, neighbors: object, n: int) -> Known:
    """Rows and the neighbors of each among n training rows, which may be the same rows.

    `neighbors` is a `NeighborGraph`, a sparse matrix of distances as of scikit-learn's
    KNeighborsTransformer or scanpy's `obsp["distances"]`, or a pair (indices, distances).
    """
    return Known(rows, read_lists(neighbors, (count_rows(rows), n))[0])


def read_lists(
    given: object, expected: tuple[int | None, int] | None = None
) -> tuple[Neighbors, tuple[int, int]]:
    """Any form of lists of neighbors, checked and sorted; and how many lists name how many rows.

    The entries that a sparse matrix stores are distances, also where they are 0. In a pair, -1
    fills up the rows that have fewer neighbors than others.
    """
    if issparse(given):
        matrix = csr_array(given)
        shape = int(matrix.shape[0]), int(matrix.shape[1])
        _check_shape(shape, expected)
        if _names_twice(matrix):
            matrix = matrix.copy()
            matrix.sum_duplicates()
        lists = Neighbors.of_unsorted(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    else:
        indices, distances = _read_pair(given)
        shape = len(indices), len(indices) if expected is None else expected[1]
        _check_shape(shape, expected)
        _check_names(indices, shape[1])
        there = indices >= 0
        indptr = np.concatenate([[0], np.cumsum(there.sum(1))])
        lists = Neighbors.of_unsorted(indptr, indices[there], distances[there])
    bad = ~(np.isfinite(lists.distances) & (lists.distances >= 0))
    if bad.any():
        at = int(bad.argmax())
        row = int(np.searchsorted(lists.indptr, at, side="right") - 1)
        raise DataError(
            f"neighbors: the distance of row {row} to row {lists.indices[at]} is "
            f"{lists.distances[at]}; distances are finite and not negative."
        )
    return lists, shape


def _read_pair(given: object) -> tuple[Indices, Reals]:
    try:
        pair = tuple(cast(Iterable[ArrayLike], given))[:2]
        indices, distances = (np.asarray(part) for part in pair)
    except (TypeError, ValueError):
        raise DataError(
            "neighbors must be a NeighborGraph, a sparse matrix of distances or a pair (indices, "
            f"distances), got {type(given).__name__}."
        ) from None
    if indices.ndim != 2 or indices.shape != distances.shape or indices.dtype.kind not in "iu":
        raise DataError(
            "neighbors: a pair holds whole numbers and distances of one shape, rows x n_neighbors; "
            f"got {indices.dtype} {indices.shape} and {distances.dtype} {distances.shape}."
        )
    return indices, distances.astype(np.float64)


def _check_shape(shape: tuple[int, int], expected: tuple[int | None, int] | None) -> None:
    if expected is None or shape == (shape[0] if expected[0] is None else expected[0], expected[1]):
        return
    m, n = expected
    if m == n and (shape[0] == shape[1] or shape[1] == n):
        raise DataError(f"neighbors has {shape[0]} rows, but X has {n}; make it from the same X.")
    new = shape[0] if m is None else m
    raise DataError(f"neighbors of {new} new rows among {n} training rows, but got shape {shape}.")


def _check_names(indices: Indices, n: int) -> None:
    """Raise an error if a list names a row that is not there, or one twice."""
    out = (indices < -1) | (indices >= n)
    if out.any():
        row, column = map(int, np.argwhere(out)[0])
        raise DataError(
            f"neighbors: row {row} names row {indices[row, column]}, but there are {n} rows."
        )
    ordered = np.sort(indices, axis=1)
    twice = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)
    if twice.any():
        row, column = map(int, np.argwhere(twice)[0])
        raise DataError(f"neighbors: row {row} names row {ordered[row, column]} twice.")


def _names_twice(matrix: csr_array) -> bool:
    """Whether a row stores several entries for one column; SciPy would sort all to find out."""
    if matrix.has_canonical_format:
        return False
    lists = Neighbors(matrix.indptr, matrix.indices, matrix.data)
    for some, owners in lists.runs():
        keys = np.sort(owners * matrix.shape[1] + matrix.indices[some])
        if (keys[1:] == keys[:-1]).any():
            return True
    return False


def read_graph(given: object) -> Neighbors:
    """Lists of neighbors of n rows among themselves, each without the row itself."""
    lists, shape = read_lists(given)
    if shape[0] != shape[1]:
        raise DataError(
            f"a neighbor graph is square (rows x rows), got shape {shape}; for new rows pass it to "
            "transform."
        )
    return without_own(lists)


def without_own(lists: Neighbors) -> Neighbors:
    """Lists without the rows themselves.

    Of rows with duplicates, which are at distance 0 as well, the nearest k may not include the row
    itself. Then the list loses its farthest neighbor, so that all keep equally many.
    """
    counts, others = lists.counts, np.ones(len(lists.indices), bool)
    for some, owners in lists.runs():
        others[some] = lists.indices[some] != owners
    if not others.all():
        alike = (counts == counts[0]).all()
        lists = lists.keep(others)
        lists = lists.first(int(counts[0]) - 1) if alike else lists
    if not len(lists.indices):
        raise DataError("neighbors: no row has a neighbor other than itself.")
    return lists


def renumbered(near: Neighbors, rows: Indices, number: Indices | None = None) -> Neighbors:
    """The lists of some rows; `number` gives the entries other numbers, and those with -1 go."""
    counts = near.counts[rows]
    owners = np.repeat(np.arange(len(rows)), counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    at = np.arange(len(owners)) - before + np.repeat(near.indptr[:-1][rows], counts)
    indices, distances = near.indices[at], near.distances[at]
    if number is None:
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return Neighbors(indptr, indices, distances)
    indices = number[indices]
    some = indices >= 0
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owners[some], minlength=len(rows)))])
    return Neighbors.of_unsorted(indptr, indices[some], distances[some])


def merged(near: Neighbors, own: Indices | None = None) -> Neighbors:
    """Lists with each point once, at its least distance, and without the list's `own` point."""
    owners = near.owners
    order = np.lexsort((near.distances, near.indices, owners))
    owners, indices = owners[order], near.indices[order]
    kept = np.ones(len(order), bool) if own is None else own[owners] != indices
    kept[1:] &= (np.diff(owners) != 0) | (np.diff(indices) != 0)
    entries = owners[kept], indices[kept], near.distances[order][kept]
    return Neighbors.of_entries(len(near.indptr) - 1, *entries)


def check_listed(near: Neighbors, k: int, counts_itself: bool = False) -> None:
    """Raise an error if a list has fewer than k neighbors; n_neighbors may be one more than k."""
    counts = near.counts
    if counts.min(initial=k) < k:
        short = int(counts.argmin())
        asked, most = k + counts_itself, int(counts[short]) + counts_itself
        fewer = f"n_neighbors={most}, or " if counts[short] else ""
        others = " others, the row itself not counted" if counts_itself else ""
        raise ParameterError(
            f"n_neighbors={asked}, but row {short} of the graph holds {counts[short]}{others}; "
            f"use {fewer}a graph of more neighbors.",
            "n_neighbors",
        )


class Lists(Space):
    """Given lists of neighbors without rows; a new point comes as such a list.

    Lists name rows, of which some may be the same point: row `columns[i]` is the point `points[i]`.
    """

    n_points: int = state()
    n_features: int = state()  # rows that lists may name
    columns: Indices = state("n_known of n_features")
    points: Indices = state("n_known of n_points")
    near: Neighbors | None = None  # in the fit

    def __init__(
        self,
        near: Neighbors | None = None,
        columns: Indices | None = None,
        points: Indices | None = None,
        n_points: int | None = None,
        n_features: int | None = None,
    ) -> None:
        if near is not None and n_points is None:
            n_points = len(near.indptr) - 1
        assert n_points is not None
        self.near, self.n_points = near, n_points
        self.n_features = n_points if n_features is None else n_features
        self.columns = np.arange(n_points) if columns is None else columns
        self.points = np.arange(n_points) if points is None else points

    @property
    def n(self) -> int:
        return self.n_points

    def nearest(self, k: int) -> Neighbors:
        """The k first of each list, which must have as many as given; for k >= n all there are.

        Where rows were merged or left out, a list may be shorter.
        """
        assert self.near is not None, "a model keeps no lists of training points"
        if k < self.n == self.n_features:
            check_listed(self.near, k)
        return self.near.first(k)

    def query(self, Q: Any, k: int) -> Neighbors:
        """The k first of each list of a new point; of a shorter one all."""
        return self.read(Q).first(k)

    def within(self, radius: float, Q: Any = None) -> Neighbors:
        near = self.near if Q is None else self.read(Q)
        assert near is not None, "a model keeps no lists of training points"
        return near.keep(near.distances <= radius * (1 + tie_tolerance(near.distances)))

    def read(self, Q: Any) -> Neighbors:
        """Lists of new points, which name rows, as lists of points."""
        lists = Q
        if not isinstance(Q, Neighbors):
            lists, _ = read_lists(Q, (None, self.n_features))
        if not lists.counts.all():
            raise DataError(
                f"neighbors: row {int(lists.counts.argmin())} has none; every new row needs at "
                "least one."
            )
        if len(self.columns) < self.n_features:
            raise UnsupportedError(
                "neighbors= of new points may be any training rows, but with landmarks the map "
                "knows no others; leave it out, or fit without landmarks."
            )
        number = np.empty(self.n_features, np.int64)
        number[self.columns] = self.points
        found = renumbered(lists, np.arange(len(lists.indptr) - 1), number)
        return merged(found) if self.n < self.n_features else found

    def distances(self, points: Indices) -> Reals:  # noqa: ARG002
        raise UnsupportedError(
            "a sparse graph holds distances to neighbors only; pass the rows themselves or a full "
            "matrix of distances."
        )

    def toward(self, Q: Any) -> Reals:  # noqa: ARG002
        return self.distances(self.points)

    def take(self, points: Indices) -> Lists:
        number = np.full(self.n, -1)
        number[points] = np.arange(len(points))
        near = None if self.near is None else renumbered(self.near, points, number)
        known = number[self.points] >= 0
        ends = self.columns[known], number[self.points[known]]
        return Lists(near, *ends, len(points), self.n_features)

    def merge(self, first_row: Indices, point_of_row: Indices) -> Lists:
        near = self.near
        if near is not None:
            owners, others = point_of_row[near.owners], point_of_row[near.indices]
            near = Neighbors.of_entries(len(first_row), owners, others, near.distances)
            near = merged(near, np.arange(len(first_row)))
        points = point_of_row[self.points]
        return Lists(near, self.columns, points, len(first_row), self.n_features)

    def kept(self) -> Lists:
        return Lists(None, self.columns, self.points, self.n, self.n_features)

    def fingerprint(self) -> Indices:
        assert self.near is not None, "a model keeps no lists of training points"
        return hash_symmetric(self.near.as_graph(self.n))


class Listed(Space):
    """A space whose neighbors are given; distances are those of the space `base`."""

    base: Space = state("n_points")
    lists: Lists = state("n_points")

    def __init__(self, base: Space, lists: Lists) -> None:
        self.base, self.lists = base, lists

    @property
    def n(self) -> int:
        return self.base.n

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.base.dtype

    @property
    def rows(self) -> Any:
        return self.base.rows

    def nearest(self, k: int) -> Neighbors:
        """The k first of each list; of a shorter one all."""
        assert self.lists.near is not None, "a model keeps no lists of training points"
        return self.lists.near.first(k)

    def query(self, Q: Any, k: int) -> Neighbors:
        return self.lists.query(Q.lists, k) if isinstance(Q, Known) else self.base.query(Q, k)

    def within(self, radius: float, Q: Any = None) -> Neighbors:
        if Q is None or isinstance(Q, Known):
            return self.lists.within(radius, None if Q is None else Q.lists)
        return self.base.within(radius, Q)

    def distances(self, points: Indices) -> Reals:
        return self.base.distances(points)

    def toward(self, Q: Any) -> Reals:
        return self.base.toward(Q.rows if isinstance(Q, Known) else Q)

    def pairwise(self) -> Reals:
        return self.base.pairwise()

    def take(self, points: Indices) -> Listed:
        return Listed(self.base.take(points), self.lists.take(points))

    def merge(self, first_row: Indices, point_of_row: Indices) -> Listed:
        lists = self.lists.merge(first_row, point_of_row)
        return Listed(self.base.merge(first_row, point_of_row), lists)

    def kept(self) -> Listed:
        return Listed(self.base.kept(), self.lists.kept())

    def fingerprint(self) -> Indices:
        return self.base.fingerprint()


@space_of.register(Known)
def _(
    X: Known,
    metric: Metric = "euclidean",
    params: MetricParams = None,
) -> Space:
    if issparse(X.rows) and metric == "precomputed":
        raise UnsupportedError("a sparse precomputed graph is the neighbor graph itself.")
    base = space_of(X.rows, metric, params)
    return Listed(base, Lists(without_own(X.lists)))
