"""Shortest-path (geodesic) distances along the neighbor graph: the relation of Isomap."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import connected_components

from ..backends.protocol import (
    PRODUCT,
    Array,
    Backend,
    DType,
    Float64,
    MatrixPlan,
    Neighbors,
    Ragged,
    Terms,
)
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..domains import AtLeast, Count, Facts, Index, MayBeNonfinite, Renamed, Shape
from ..graph.given import check_lists_toward, select_listed
from ..graph.neighbor_graph import MAX_TIES_PER_EDGE, ConnectedGraph
from ..graph.search import (
    BLOCK_ENTRIES,
    TIE_TOLERANCE,
    count_points,
    find_nearest,
    find_within,
    replace_rows,
    to_csr,
)
from ..input.sample import Items, take_rows
from ..values import value
from .matrices import N_PROBED_ROWS, DenseMatrix

MIN_LANDMARKS, LANDMARK_ENTRIES = 16, 2**24  # of which distances are computed at a time
TILE_ROWS = 512  # a square tile of a matrix and its mirror image fit in the cache


@value
class Geodesics:
    """Shortest-path distances between training rows, and from new points through their neighbors.

    The model keeps the neighbor graph: a matrix of all distances would be the largest array of a
    fit, and the paths of a new point take a millisecond. With landmarks it keeps the distances of
    all rows to these instead.
    """

    base: Annotated[DistanceRelation, Renamed(n="points")]  # of the distinct points
    first_row: Annotated[NDArray[np.int64], Shape("points"), Index("rows")]
    n_neighbors: Count | None
    radius: Annotated[float, AtLeast(0), MayBeNonfinite()] | None
    # Symmetric edge lengths between distinct points; None with landmarks.
    graph: Annotated[csr_array, Shape("points", "points"), AtLeast(0)] | None
    # None without duplicates.
    point_of_row: Annotated[NDArray[np.int64], Shape("rows"), Index("points")] | None
    landmark_distances: Annotated[Array, Shape("rows", "n"), AtLeast(0)] | None = None

    @classmethod
    def along(
        cls,
        graph: ConnectedGraph,
        edges: csr_array,
        n_neighbors: int | None,
        radius: float | None,
        dtype: DType,
    ) -> Geodesics:
        """Of all rows, along the symmetric edges of a graph."""
        duplicates = len(graph.first_row) < len(graph.point_of_row)
        point_of_row = graph.point_of_row if duplicates else None
        edges = edges.astype(dtype)
        return cls(graph.base, graph.first_row, n_neighbors, radius, edges, point_of_row)

    def to_landmarks(self, landmarks: NDArray[np.int64], ops: Backend) -> Geodesics:
        """The same to some distinct points only, whose distances are computed now."""
        assert self.graph is not None
        plan, found = ops.geodesics(self.graph), None
        step = max(MIN_LANDMARKS, LANDMARK_ENTRIES // self.graph.shape[0])
        for i in range(0, len(landmarks), step):  # not a second array of all
            some = landmarks[i : i + step]
            D = plan.distances(Ragged.singletons(some))
            if found is None:
                found = np.empty((D.shape[1], len(landmarks)), D.dtype)
            found[:, i : i + len(some)] = D.T
        assert found is not None
        if self.point_of_row is not None:  # duplicates have the distances of their first row
            found = found[self.point_of_row]
        return replace(self, graph=None, point_of_row=None, landmark_distances=found)

    @property
    def dtype(self) -> DType:
        entries: Array = self.graph.data if self.graph is not None else self.distances_to_landmarks
        return entries.dtype

    @property
    def n_rows(self) -> int:
        if self.point_of_row is not None:
            return len(self.point_of_row)
        return (
            int(self.graph.shape[0]) if self.graph is not None else len(self.distances_to_landmarks)
        )

    def among(self, ops: Backend) -> GeodesicMatrix:  # noqa: ARG002 - a relation's signature
        """-g²/2 between all rows; landmarks need `landmark_distances` only."""
        assert self.graph is not None
        return GeodesicMatrix(self)

    def toward(self, Q: Items, ops: Backend) -> Array:
        return self.from_neighbors(self.find_neighbors(Q, ops), ops, getattr(Q, "dtype", None))

    def from_neighbors(self, near: csr_array, ops: Backend, dtype: DType | None = None) -> Array:
        """-(g² - c²)/2, where g is a shortest-path distance and c that to the nearest neighbor.

        What is the same for a whole row does not matter to the map, and without c² a far point
        keeps its digits: g² - c² = (g - c)(g - c + 2c), and g - c is computed without g.
        """
        wide = np.result_type(self.dtype, np.float64 if dtype is None else dtype)
        lists = Ragged(near.indptr.astype(np.int64), near.indices.astype(np.int32))
        closest = np.minimum.reduceat(near.data, lists.indptr[:-1])
        detours = near.data - np.repeat(closest, np.diff(lists.indptr))
        excess = self._path_lengths(lists, detours, ops).astype(wide, copy=False)
        return np.asarray(-0.5 * excess * (excess + 2 * closest.astype(wide)[:, None]))

    def freeze(self) -> Geodesics:
        return replace(self, base=self.base.freeze())

    def state_facts(self, facts: Facts) -> None:
        one = (self.n_neighbors is None) != (self.radius is None)
        facts.require(one, "n_neighbors", "given, or radius, but not both")
        if self.graph is None:
            there = self.landmark_distances is not None and self.point_of_row is None
            facts.require(there, "landmark_distances", "given where graph is not")
            return
        facts.require(self.landmark_distances is None, "landmark_distances", "None beside graph")
        connected = connected_components(self.graph, connection="strong")[0] == 1
        facts.require(connected, "graph", "connected")
        facts.equate("n", "rows")
        if self.point_of_row is None:
            facts.equate("rows", "points")

    def find_neighbors(self, Q: Items, ops: Backend) -> csr_array:
        """Distances of new points to the training rows that they are connected to."""
        if self.radius is None:
            assert self.n_neighbors is not None
            return self._find_nearest(Q, self.n_neighbors, ops)
        if isinstance(self.base, NeighborListDistances):
            near = select_listed(check_lists_toward(Q, *Q.shape), None, self.radius)
        else:
            near = self._points_to_rows(find_within(self.base, Q, self.radius, ops))
        isolated = np.flatnonzero(np.diff(near.indptr) == 0)
        if len(isolated):  # none within the radius: the nearest one
            near = replace_rows(near, isolated, self._find_nearest(take_rows(Q, isolated), 1, ops))
        return near

    def distances_from(self, rows: NDArray[np.int64], ops: Backend) -> Array:
        """Geodesic distances from some training rows to all rows, or to the landmarks."""
        if self.graph is None:
            return self.distances_to_landmarks[rows]
        points = rows if self.point_of_row is None else self.point_of_row[rows]
        return self._columns_to_rows(ops.geodesics(self.graph).distances(Ragged.singletons(points)))

    @property
    def distances_to_landmarks(self) -> Array:
        """Of all rows (rows x landmarks), where there are landmarks."""
        assert self.landmark_distances is not None
        return self.landmark_distances

    def _path_lengths(self, near: Ragged, detours: Float64, ops: Backend) -> Array:
        """Shortest paths from new points that begin with one of the given edges."""
        if self.graph is None:
            return ops.geodesics(self.distances_to_landmarks).distances(near, detours)
        points = near.indices if self.point_of_row is None else self.point_of_row[near.indices]
        starts = Ragged(near.indptr, points.astype(np.int32))
        return self._columns_to_rows(ops.geodesics(self.graph).distances(starts, detours))

    def _columns_to_rows(self, G: Array) -> Array:
        """From distances to distinct points to distances to rows."""
        return G if self.point_of_row is None else np.ascontiguousarray(G[:, self.point_of_row])

    def _find_nearest(self, Q: Items, k: int, ops: Backend) -> csr_array:
        # In a sparse precomputed graph a new point is given by its neighbors.
        if isinstance(self.base, NeighborListDistances):
            return select_listed(check_lists_toward(Q, *Q.shape), k, None)
        return self._points_to_rows(find_nearest_with_ties(self.base, Q, k, ops))

    def _points_to_rows(self, near: csr_array) -> csr_array:
        """From lists of distinct points to lists of their first rows."""
        shape = near.shape[0], self.n_rows
        return csr_array((near.data, self.first_row[near.indices], near.indptr), shape=shape)


class GeodesicMatrix:
    """-g²/2 of all geodesic distances g, for a solver: by products, or formed."""

    def __init__(self, geodesics: Geodesics) -> None:
        self._geodesics = geodesics

    @property
    def size(self) -> int:
        return self._geodesics.n_rows

    @property
    def dtype(self) -> DType:
        return self._geodesics.dtype

    def plan(self, ops: Backend) -> MatrixPlan:
        squares = ops.geodesics(self._geodesics.graph).half_squares()
        point_of_row = self._geodesics.point_of_row
        return squares if point_of_row is None else RepeatedMatrix(squares, point_of_row, ops)

    def to_dense(self, ops: Backend) -> DenseMatrix:
        """Both directions of a path may differ in their last bit, which no solver minds."""
        everyone = np.arange(self.size)
        return DenseMatrix(self._geodesics.distances_from(everyone, ops), half_square=True)

    def max_abs(self, ops: Backend) -> float:
        probed = np.arange(min(N_PROBED_ROWS, self.size))
        return float(self._geodesics.distances_from(probed, ops).max()) ** 2 / 2

    def trace(self) -> float:
        return 0.0


class RepeatedMatrix:
    """The matrix between all rows by that between distinct points, for products.

    Duplicates are one point: their entries of a vector add up, and all get its result.
    """

    def __init__(self, points: MatrixPlan, point_of_row: NDArray[np.int64], ops: Backend) -> None:
        n = len(point_of_row)
        counts = csr_array((np.ones(n), point_of_row, np.arange(n + 1)))
        self.points, self.sums = points, ops.matrix_plan(csr_array(counts.T))
        self.hold, self.fetch, self.empty = points.hold, points.fetch, points.empty
        self.point_of_row = points.hold(point_of_row)

    def matmul(self, V: Float64, terms: Terms = PRODUCT) -> Float64:
        return terms.add_to(self.points.matmul(self.sums.matmul(V))[self.point_of_row], V)


def geodesic_matrix(edges: csr_array, ops: Backend) -> Array:
    """All shortest-path distances along symmetric edges, the same in both directions."""
    n = edges.shape[0]
    G = ops.geodesics(edges).distances(Ragged.singletons(np.arange(n)))
    symmetrize_in_place(G)
    return G


def symmetrize_in_place(G: Array) -> None:
    """Replace a square matrix by the mean of it and its transpose.

    Paths are summed from their source, so both directions may round differently.
    """
    n = len(G)
    for i in range(0, n, TILE_ROWS):
        for j in range(i, n, TILE_ROWS):
            upper = G[i : i + TILE_ROWS, j : j + TILE_ROWS]
            lower = G[j : j + TILE_ROWS, i : i + TILE_ROWS]
            mean = (upper + lower.T) / 2
            upper[...] = mean
            lower[...] = mean.T


def find_nearest_with_ties(base: DistanceRelation, Q: Items, k: int, ops: Backend) -> csr_array:
    """The k nearest training points of new points, and all as near as the k-th (ties).

    So the order of the training rows does not matter. Where nearly all distances are equal, the
    first by number are kept.
    """
    n = count_points(base, Q)
    if k >= n:
        return to_csr(find_nearest(base, Q, n, ops), n)
    found = find_nearest(base, Q, k + 1, ops)
    near = to_csr(Neighbors(found.indices[:, :k], found.distances[:, :k]), n)
    radii = found.distances[:, k - 1]
    tied = np.flatnonzero(found.distances[:, k] <= radii * (1 + TIE_TOLERANCE[radii.dtype]))
    parts, rows = [], []
    for i in range(0, len(tied), step := max(1, BLOCK_ENTRIES // n)):
        part = tied[i : i + step]
        D = np.asarray(base.toward(take_rows(Q, part), ops))
        within = (radii[part] * (1 + TIE_TOLERANCE[D.dtype]))[:, None] >= D
        few = within.sum(1) <= MAX_TIES_PER_EDGE * k
        rows.append(part[few])
        row, column = np.nonzero(within[few])
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=int(few.sum())))])
        distances = D[few][row, column].astype(np.float64)
        parts.append(csr_array((distances, column, indptr), shape=(int(few.sum()), n)))
    return replace_rows(near, np.concatenate(rows), vstack(parts)) if parts else near
