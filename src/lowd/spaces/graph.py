"""The neighbor graph: duplicates merged, components joined by bridges, and shortest paths in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from .. import _native, random
from ..backend import allocate, chunks, overridable, threads
from ..errors import (
    ApproximationWarning,
    DataError,
    DisconnectedGraphWarning,
    LocalizedAxisWarning,
    ParameterError,
    ShortcutWarning,
    warn,
)
from ..parameters import Graph, Indices, Product, Reals, advise_at_most
from ..progress import step
from .known import Known, Listed, Lists, check_listed
from .neighbors import Neighbors
from .space import Rows, Space, take_rows, tie_tolerance


class PointGraph(NamedTuple):
    """The distinct points of a space and their neighbors, nearest first.

    Rows at distance 0 from each other are one point: row i is the point `point_of_row[i]`, and
    `first_row[p]` is the first row of the point p.
    """

    space: Space
    near: Neighbors  # of each point, without bridges
    first_row: Indices
    point_of_row: Indices
    component: Indices  # of each point, before they were joined; 0 is the largest
    bridges: Indices  # pairs of points that join components
    bridge_lengths: Reals
    recall: float  # the share of the true neighbors that the search has found

    @property
    def counts(self) -> Reals:
        """How many rows each point stands for."""
        return np.bincount(self.point_of_row, minlength=self.space.n).astype(np.float64)

    def known_by_rows(self, rows: Indices | None = None, n: int | None = None) -> Space:
        """The space of the points, which also takes neighbors that new ones are given.

        These are numbers of rows. If only some `rows` of n were fitted, they are refused.
        """
        if isinstance(self.space, Lists | Listed):
            return self.space
        rows = np.arange(len(self.point_of_row)) if rows is None else rows
        n = len(rows) if n is None else n
        return Listed(self.space, Lists(None, rows, self.point_of_row, self.space.n, n))

    @property
    def joined(self) -> Neighbors:
        """The neighbors of each point, and at the end of its list the bridges that it has."""
        a, b = self.bridges.T
        lengths = np.r_[self.bridge_lengths, self.bridge_lengths]
        return append(self.near, np.r_[a, b], np.r_[b, a], lengths)

    def edges(self) -> Graph:
        """Edge lengths between points, symmetric: an edge where either end has it."""
        return symmetric_edges(self.joined)

    def edges_of_rows(self, lengths: Graph) -> Graph:
        """Edge lengths between rows; a duplicate has an edge of length 0 to its first row."""
        n = len(self.point_of_row)
        if self.space.n == n:
            return lengths
        edges = lengths.tocoo()
        copies = np.setdiff1d(np.arange(n), self.first_row)
        firsts = self.first_row[self.point_of_row[copies]]
        row = np.concatenate([self.first_row[edges.row], copies, firsts])
        column = np.concatenate([self.first_row[edges.col], firsts, copies])
        values = np.concatenate([edges.data, np.zeros(2 * len(copies), edges.dtype)])
        return csr_array(coo_array((values, (row, column)), (n, n)))


def connected_graph(
    space: Space,
    k: int | None,
    radius: float | None,
    on_disconnected: Literal["join", "error"] = "join",
) -> PointGraph:
    """The graph of k nearest neighbors, or of all within a radius, in one piece.

    All points as near as the k-th are neighbors, so that the order of the rows does not matter.
    Components are joined by their shortest edges, with a warning, or are an error.
    """
    graph = distinct_neighbors(space, k, radius, ties=True)
    if graph.recall < 1:
        warn(
            f"the neighbors of {space.n} rows were searched approximately: "
            f"{graph.recall:.2%} are right in a sample that was searched exactly (knn_recall_).",
            ApproximationWarning,
        )
    lists = graph.near.as_graph(graph.space.n)
    component = rank_by_size(connected_components(lists, directed=False)[1])
    if not component.any():
        return graph
    how = f"radius {radius:g}" if radius is not None else f"{k} neighbors" if k else "neighbors"
    found = f"the graph of {how} has {describe_sizes(np.bincount(component[graph.point_of_row]))}"
    parameter = "n_neighbors" if radius is None else "radius"
    bridges, lengths = join_components(graph.space, component, found, parameter, on_disconnected)
    return graph._replace(component=component, bridges=bridges, bridge_lengths=lengths)


def distinct_neighbors(
    space: Space, k: int | Callable[[int], int] | None, radius: float | None, ties: bool = False
) -> PointGraph:
    """The distinct points and their neighbors: k nearest, or all within a radius.

    k may be a function of the number of points. A single point has no neighbors. Of given
    neighbors all count, and those of duplicates are put together.
    """
    n = space.n
    near = _find_neighbors(space, k, radius, ties)
    first_row, point_of_row = group_duplicates(near)
    m = len(first_row)
    if m < n:
        space = space.merge(first_row, point_of_row)
        searched = not isinstance(space, Lists | Listed) and radius is None
        if searched and isinstance(k, int) and 1 < m <= k:
            raise ParameterError(
                f"n_neighbors={k}, but only {m} of the {n} rows are distinct; "
                f"use {advise_at_most('n_neighbors', m - 1)}.",
                "n_neighbors",
            )
        near = _find_neighbors(space, k, radius, ties)
    nothing = np.zeros(space.n, np.int64), np.empty((0, 2), np.int64), np.empty(0)
    return PointGraph(space, near, first_row, point_of_row, *nothing, near.recall)


def _find_neighbors(
    space: Space, k: int | Callable[[int], int] | None, radius: float | None, ties: bool
) -> Neighbors:
    n = space.n
    if n == 1:
        return Neighbors(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0))
    if isinstance(space, Listed) or (isinstance(space, Lists) and callable(k)):
        return space.nearest(n)  # all that are given
    if radius is not None:
        return space.within(radius)
    if k is None:
        raise ParameterError("n_neighbors=None needs a radius; set one.", "n_neighbors")
    k = k(n) if callable(k) else k
    if k >= n:
        raise ParameterError(
            f"n_neighbors={k} needs at least {k + 1} rows, but there are {n}; "
            f"use {advise_at_most('n_neighbors', n - 1)}.",
            "n_neighbors",
        )
    if not ties or k == n - 1 or isinstance(space, Lists):
        return space.nearest(k)
    return _with_ties_among(space, space.nearest(k + 1), k)


def group_duplicates(near: Neighbors) -> tuple[Indices, Indices]:
    """The first row of each distinct point, and the point of each row.

    Neighbors are sorted by distance, and then by number. So each duplicate has the first row of its
    group among its neighbors or is it, and edges of length 0 connect exactly the groups.
    """
    n = len(near.indptr) - 1
    if near.distances[near.indptr[:-1][near.counts > 0]].all():
        return np.arange(n), np.arange(n)
    zero = near.distances == 0
    owners = near.owners[zero]
    links = coo_array((np.ones(len(owners)), (owners, near.indices[zero])), (n, n))
    label = connected_components(links, directed=False)[1]
    _, first, point = np.unique(label, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[point]


def append(near: Neighbors, owners: Indices, indices: Indices, distances: Reals) -> Neighbors:
    """Lists with more neighbors at their ends."""
    if not len(owners):
        return near
    row = np.concatenate([near.owners, owners])
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(near.counts)))])
    every = np.concatenate([near.indices, indices])[order].astype(np.int32)
    lengths = np.concatenate([near.distances, distances])[order]
    return near._replace(indptr=indptr, indices=every, distances=lengths)


def symmetric_edges(near: Neighbors) -> Graph:
    """The lists as a symmetric graph, with an edge where either end has it; 0 is a length."""
    # Numbers of the edges are combined and not their lengths, of which some may be 0.
    n, count = len(near.counts), len(near.indices)
    kind = np.int32 if count < np.iinfo(np.int32).max else np.int64
    numbers = np.arange(1, count + 1, dtype=kind)
    one_way = csr_array((numbers, near.indices, near.indptr.astype(kind)), (n, n), copy=True)
    one_way.sort_indices()
    both = csr_array(one_way.maximum(csr_array(one_way.T)))
    return csr_array((near.distances[both.data - 1], both.indices, both.indptr), (n, n))


def sum_duplicates(V: Reals, point_of_row: Indices) -> Reals:
    """The sum of the rows of V over the rows of each point."""
    n, count = len(V), int(point_of_row.max()) + 1
    if n == count:
        return V
    return np.asarray(csr_array((np.ones(n), point_of_row, np.arange(n + 1)), (n, count)).T @ V)


# -- ties -----------------------------------------------------------------------------------------


def _with_ties_among(space: Space, near: Neighbors, k: int) -> Neighbors:
    """Lists of k + 1 neighbors cut to k, but with all others as near as the k-th.

    Where nearly all distances are equal (few values in many rows) these would be nearly all pairs;
    then the first by number stay.
    """
    cut, radius, tied = _cut(near, k)
    # So many edges are affordable in any case.
    found = points_within(space, tied, radius[tied], 10 * len(cut.indices) + 10**6)
    if found is None:
        return cut
    owners, others, lengths = found
    new = (cut.indices.reshape(-1, k)[owners] != others[:, None]).all(1)
    return append(cut, owners[new], others[new], lengths[new])


@overridable
def points_within(
    space: Space, points: Indices, radius: Reals, most: int
) -> tuple[Indices, Indices, Reals] | None:
    """Pairs of some points and others within a radius of each, or None if these are too many."""
    parts = [(points[:0], points[:0], np.empty(0))]
    for some in chunks(len(points), space.n, 2**23):
        rows = points[some]
        D = space.distances(rows)
        near = radius[some, None] * (1 + tie_tolerance(D)) >= D
        near[np.arange(len(rows)), rows] = False
        at, other = np.nonzero(near)
        most -= len(at)
        if most < 0:
            return None
        parts.append((rows[at], other, D[at, other].astype(np.float64)))
    owners, others, lengths = map(np.concatenate, zip(*parts, strict=True))
    return owners, others, lengths


def _with_ties_toward(space: Space, Q: Any, near: Neighbors, k: int) -> Neighbors:
    """The same of new points, each by itself: one with more than 10 k ties keeps the first k."""
    cut, radius, tied = _cut(near, k)
    for some in chunks(len(tied), space.n, 2**23):
        rows = tied[some]
        D = space.toward(take_rows(Q, rows))
        equal = radius[rows, None] * (1 + tie_tolerance(D)) >= D
        equal[equal.sum(1) > 10 * k] = False
        equal[np.arange(len(rows))[:, None], near.indices.reshape(-1, k + 1)[rows, :k]] = False
        at, other = np.nonzero(equal)
        cut = append(cut, rows[at], other, D[at, other].astype(np.float64))
    return cut


def _cut(near: Neighbors, k: int) -> tuple[Neighbors, Reals, Indices]:
    """The k first of lists of k + 1, their last distances, and which lists go on as far as that."""
    indices, D = near.indices.reshape(-1, k + 1), near.distances.reshape(-1, k + 1)
    cut = near._replace(
        indptr=np.arange(0, len(D) * k + 1, k),
        indices=np.ascontiguousarray(indices[:, :k]).ravel(),
        distances=np.ascontiguousarray(D[:, :k]).ravel(),
    )
    radius = D[:, k - 1].copy()
    return cut, radius, np.flatnonzero(D[:, k] <= radius * (1 + tie_tolerance(D)))


def new_neighbors(
    space: Space, Q: Any, k: int | None, radius: float | None, ties: bool = True
) -> Neighbors:
    """The points to which new ones have edges, nearest first.

    These are as in the graph of the same k or radius; the nearest one for a point that has nobody
    within the radius. Of given neighbors as many count, and all of a shorter list.
    """
    if isinstance(Q, Known):
        near = space.query(Q, space.n)
        first = np.arange(len(near.indices)) - np.repeat(near.indptr[:-1], near.counts)
        if radius is not None:
            return near.keep((first == 0) | (near.distances <= radius * (1 + 1e-9)))
        assert k is not None
        last = near.distances[near.indptr[:-1] + np.minimum(near.counts, k) - 1] * (1 + 1e-9)
        return near.keep((first < k) | (ties & (near.distances <= np.repeat(last, near.counts))))
    if radius is not None:
        near = space.within(radius, Q)
        lone = np.flatnonzero(near.counts == 0)
        if not len(lone):
            return near
        nearest = space.query(take_rows(Q, lone), 1)
        return append(near, lone, nearest.indices, nearest.distances)
    assert k is not None
    if isinstance(space, Lists):
        near = space.query(Q, k)
        check_listed(near, k)
        return near
    if not ties or k >= space.n:
        return space.query(Q, k)
    return _with_ties_toward(space, Q, space.query(Q, k + 1), k)


def new_and_judging_neighbors(
    space: Space, Q: Any, k: int | None, radius: float | None, ties: bool = True, least: int = 15
) -> tuple[Neighbors, Neighbors]:
    """The points to which new ones have edges, and those that tell how well these were placed.

    A few neighbors tell little: there are at least 15, from the same search.
    """
    if k is None or k >= min(least, space.n) or isinstance(Q, Known) or isinstance(space, Lists):
        near = new_neighbors(space, Q, k, radius, ties)
        return near, near
    found = space.query(Q, min(least, space.n))
    near = found.first(k)
    return (_with_ties_toward(space, Q, found.first(k + 1), k) if ties else near), found


# -- connected components -------------------------------------------------------------------------


def rank_by_size(label: Indices) -> Indices:
    """Labels renumbered by size and then by first point: 0 is the largest component."""
    _, first, sizes = np.unique(label, return_index=True, return_counts=True)
    return np.argsort(np.lexsort((first, -sizes)))[label]


def describe_sizes(sizes: Indices) -> str:
    """The number of components and their sizes in rows, for messages.

    >>> describe_sizes(np.array([7, 1, 1]))
    '3 connected components (rows: 7, 1, 1)'
    """
    shown = ", ".join(map(str, sizes[:5])) + (", ..." if len(sizes) > 5 else "")
    return f"{len(sizes)} connected components (rows: {shown})"


def join_components(
    space: Space,
    component: Indices,
    found: str,
    parameter: str,
    on_disconnected: Literal["join", "error"],
) -> tuple[Indices, Reals]:
    """Bridges between the components and their lengths, with a warning; or an error if asked.

    `found` says what the components are of, and `parameter` what would connect more.
    """
    if on_disconnected == "error":
        raise DataError(f"{found}; raise {parameter}, or fit the components one by one.")
    if isinstance(space, Lists):
        raise DataError(
            f"{found}, and a sparse graph has no distances between them; raise {parameter} where "
            "it is made, or pass rows, and the graph as neighbors=."
        )
    bridges = find_bridges(space, component)
    pairs, lengths, exact = bridges
    longest, kind = f"{lengths.max():.3g} long", "shortest" if exact else "short"
    what = (
        f"{len(pairs)} {kind} edges (up to {longest}"
        if len(pairs) > 1
        else (f"{kind} edge ({longest}")
    )
    warn(
        f"{found}; they were connected by their {what}{'' if exact else ', from a sample of rows'})"
        f". Distances between components are a guess: raise {parameter}, or fit the components one "
        "by one.",
        DisconnectedGraphWarning,
    )
    return pairs, lengths


class Bridges(NamedTuple):
    """Edges between components, as many as connect them."""

    pairs: Indices
    lengths: Reals
    exact: bool  # no others are shorter together


def find_bridges(space: Space, component: Indices, most_pairs: float = 2e9) -> Bridges:
    """The shortest edges that connect the components, which form a spanning tree over them.

    They are in the order of the components that they join, the larger one first. Where there are
    too many pairs of points, the tree is that of samples of the components, and each of its edges
    is then shortened.

    Borůvka's algorithm: in each round, every component but the largest gets the shortest edge that
    leaves it, which belongs to the shortest tree. That at least halves how many others there are.
    """
    if int((component > 0).sum()) * space.n > most_pairs:
        return _sampled_bridges(space, component)
    label, pairs, lengths = component, [], []
    while label.any():
        points = np.flatnonzero(label)
        others, length = nearest_outside(space, points, label)
        # Of each component the shortest edge; equal ones by their ends, so that they form no cycle.
        low, high = np.minimum(points, others), np.maximum(points, others)
        order = np.lexsort((high, low, length))
        best = order[np.unique(label[points][order], return_index=True)[1]]
        # Two components may have chosen each other, by one edge or, as rounding has it, by two.
        best = best[np.lexsort((high[best], low[best], length[best]))]
        a, b = np.sort([label[points[best]], label[others[best]]], axis=0)
        count = int(label.max()) + 1
        first = np.sort(np.unique(a * count + b, return_index=True)[1])
        ranks = coo_array((np.arange(1, len(first) + 1), (a[first], b[first])), (count, count))
        tree = minimum_spanning_tree(csr_array(ranks))
        chosen = best[first[tree.data.astype(np.int64) - 1]]
        pairs.append(np.column_stack([points[chosen], others[chosen]]))
        lengths.append(length[chosen])
        label = rank_by_size(connected_components(tree, directed=False)[1][label])
    if not pairs:
        return Bridges(np.empty((0, 2), np.int64), np.empty(0), True)
    return _in_order(np.concatenate(pairs), np.concatenate(lengths), component, True)


def _in_order(pairs: Indices, lengths: Reals, component: Indices, exact: bool) -> Bridges:
    """Bridges by the components that they join."""
    pairs = np.take_along_axis(pairs, np.argsort(component[pairs], axis=1, kind="stable"), 1)
    order = np.lexsort(component[pairs].T[::-1])
    return Bridges(pairs[order], lengths[order], exact)


def _sampled_bridges(
    space: Space, component: Indices, most: int = 20_000, least: int = 4, turns: int = 5
) -> Bridges:
    """The shortest tree of samples, whose edges are shortened by looking back and forth.

    Of each edge one end stays, and the other becomes the nearest point of its component; and then
    the other way round, until no edge gets shorter.
    """
    sizes = np.bincount(component)
    wanted = max(most // len(sizes), least)
    drawn = np.lexsort((random.bits(0, "bridges", space.fingerprint()), component))
    first = np.cumsum(sizes) - sizes
    drawn = np.sort(drawn[np.arange(len(drawn)) - np.repeat(first, sizes) < wanted])
    pairs, lengths, _ = find_bridges(space.take(drawn), component[drawn], np.inf)
    pairs, members = drawn[pairs], np.argsort(component, kind="stable")
    for turn in range(turns):
        here, there = pairs[:, turn % 2], component[pairs[:, 1 - turn % 2]]
        shorter = False
        for target in np.unique(there):
            some = np.flatnonzero(there == target)
            others = members[first[target] : first[target] + sizes[target]]
            rows = space.rows
            if rows is None:
                D = space.distances(here[some])[:, others]
                nearest, length = D.argmin(1), D.min(1)
            else:
                near = space.take(others).query(rows[here[some]], 1)
                nearest, length = near.indices, near.distances
            better = length < lengths[some]
            pairs[some[better], 1 - turn % 2] = others[nearest[better]]
            lengths[some[better]] = length[better]
            shorter |= bool(better.any())
        if turn and not shorter:
            break
    return _in_order(pairs, lengths, component, False)


@overridable
def nearest_outside(space: Space, points: Indices, label: Indices) -> tuple[Indices, Reals]:
    """Of each of these points, the nearest one with another label, and its distance.

    Of several as near it is the first one, but for rounding.
    """
    others, lengths = np.empty(len(points), np.int64), np.empty(len(points))
    for some in chunks(len(points), space.n, 2**23):
        rows = points[some]
        D = space.distances(rows)
        D = np.where(label == label[rows, None], np.inf, D)
        others[some] = D.argmin(1)
        lengths[some] = D[np.arange(len(rows)), others[some]]
    return others, lengths


@nearest_outside.register(Listed)
def _(space: Listed, points: Indices, label: Indices) -> tuple[Indices, Reals]:
    return nearest_outside(space.base, points, label)


@nearest_outside.register(Rows)
def _(
    space: Rows, points: Indices, label: Indices, few: int = 32, pairs: int = 2**22
) -> tuple[Indices, Reals]:
    """By the index of the rows, where it saves time: beyond so many pairs.

    A point of a component of s rows has one of another among its s + 1 nearest (itself counts), if
    s is small. The other components have numbers: two of them differ in a bit, so that the nearest
    point outside is the nearest, over the bits, of those whose number has the other value there.
    """
    sizes = np.bincount(label)
    small = sizes[label] <= few
    if space.center is None or len(points) * space.n <= pairs:
        return nearest_outside.function(space, points, label)
    others, lengths = np.zeros(len(points), np.int64), np.full(len(points), np.inf)
    tiny = np.flatnonzero(small[points])
    for some in chunks(len(tiny), few + 1):
        rows = points[tiny[some]]
        count = int(sizes[label[rows]].max()) + 1
        near = space.query(space.X[rows], count)
        found = near.indices.reshape(-1, count)
        first = (label[found] != label[rows, None]).argmax(1)
        others[tiny[some]] = found[np.arange(len(rows)), first]
        lengths[tiny[some]] = near.distances.reshape(-1, count)[np.arange(len(rows)), first]
    number = np.where(small, int(label.max()) + 1, label)  # small ones are others to large ones
    number = np.unique(number, return_inverse=True)[1]
    for bit in range(int(number.max()).bit_length()):
        side = number >> bit & 1
        for value in (0, 1):
            asking = np.flatnonzero((side[points] == value) & ~small[points])
            answering = np.flatnonzero(side != value)
            if not len(asking) or not len(answering):
                continue
            near = space.take(answering).query(space.X[points[asking]], 1)
            better = near.distances < lengths[asking]
            others[asking[better]] = answering[near.indices[better]]
            lengths[asking[better]] = near.distances[better]
    return others, lengths


# -- shortest paths -------------------------------------------------------------------------------


def shortest_paths(edges: Graph, sources: Indices) -> Reals:
    """Lengths of the shortest paths from some points to all."""
    starts = np.zeros((len(sources), 1))
    return paths_through(edges, None, Neighbors.of_table(sources[:, None], starts), True)


@overridable
def paths_through(
    edges: Graph | None, marks: Reals | None, first: Neighbors, inside: bool = False
) -> Reals:
    """Lengths of the shortest paths from outside to all points, by first steps into the graph.

    Where `marks` holds the lengths of paths from all points to landmarks: those to landmarks. If
    paths begin `inside`, at the points themselves, first steps have no length.
    """
    indptr, indices = first.indptr.astype(np.int64), first.indices.astype(np.int32)
    if marks is not None:
        out = np.full((len(first.counts), marks.shape[1]), np.inf, marks.dtype)
        lengths = first.distances.astype(out.dtype)
        for j in range(first.counts.max(initial=0)):  # the j-th step of all that have so many
            some = np.flatnonzero(first.counts > j)
            at = indptr[some] + j
            through = lengths[at, None] + marks[indices[at]]
            out[some] = np.minimum(out[some], through, out=through)
        return out
    assert edges is not None
    out = np.empty((len(first.counts), edges.shape[0]), edges.dtype)
    starts = indptr, indices, None if inside else first.distances.astype(out.dtype)
    _native.shortest_paths(*native_parts(edges), *starts, out, threads(), step("shortest paths"))
    return out


@overridable
def path_products(edges: Graph) -> Product:
    """Products with -G²/2, where G holds the lengths of the shortest paths between all points."""
    n = edges.shape[0]
    what = f"the geodesic distances of {n} points"
    half = allocate((n, n // 2), edges.dtype, what, "set n_landmarks to about 1000")
    # The points are in a ring: row i holds the paths to the half of them after i, each pair once.
    _native.geodesic_half(*native_parts(edges), half, threads(), step("shortest paths"))

    def product(V: Reals) -> Reals:
        out = np.empty(V.shape)
        V = np.ascontiguousarray(V, half.dtype)
        _native.geodesic_products(half, V, out, threads(), step("matrix product"))
        return out

    return product


def native_parts(A: Graph) -> tuple[Indices, Indices, Reals]:
    """The arrays of a sparse matrix in the integer types of the native core."""
    return A.indptr.astype(np.int64), A.indices.astype(np.int32, copy=False), A.data


# -- short circuits -------------------------------------------------------------------------------


def warn_of_short_circuits(graph: PointGraph, n_components: int) -> None:
    """Warn of short-circuit edges, where the points are dense rows with Euclidean distances."""
    space = graph.space.base if isinstance(graph.space, Listed) else graph.space
    if not isinstance(space, Rows) or space.metric != "euclidean":
        return
    found = find_short_circuits(space.X, graph.joined, n_components)
    if len(found):
        i, j = graph.first_row[found[0]]
        many = len(found) > 1
        warn(
            f"{len(found)} edge{'s' * many} of the neighbor graph look{'s' * (not many)} like "
            f"{'short circuits' if many else 'a short circuit'}, first the one between rows {i} "
            f"and {j}: it leaves the tangent planes at its ends, and the path around it is over 4 "
            "times as long. Lower n_neighbors, or take more rows.",
            ShortcutWarning,
        )


def find_short_circuits(
    X: Reals,
    near: Neighbors,
    d: int,
    flat: float = 0.25,
    steep: float = 0.5,
    longer: float = 1.05,
    detour: float = 4.0,
    tested: int = 256,
) -> Indices:
    """Pairs of points whose edge short-circuits a manifold of d dimensions, the steepest first.

    An edge is taken for a short circuit if all of this holds:

    - the neighborhoods are flat: the median sine between edges and tangent planes is small;
    - the edge is longer than the neighborhoods at both of its ends, and stands out of their planes;
    - without such edges the shortest path between its ends is several times as long, and exists.

    At most `tested` edges are, as each takes a search for a path.
    """
    none, counts = np.empty((0, 2), np.int64), near.counts
    h = max(d + 2, int(counts.min()) // 2)  # the nearer half spans a plane, the others are tested
    if d >= X.shape[1] or h + 2 > counts.min():
        return none
    n, begin, length = len(X), near.indptr[:-1], near.distances
    patch, radius = near.indices[begin[:, None] + np.arange(h)], length[begin + h - 1]
    a, b = near.owners, near.indices
    sampled = np.zeros(n, bool)
    sampled[random.subset(0, "planes", n, min(n, 128))] = True
    long = length > longer * np.maximum(radius[a], radius[b])
    some = np.flatnonzero(long & sampled[a])
    if not len(some) or np.median(_sines(X, patch, a[some], b[some], d)) > flat:
        return none
    # Many short circuits from one point make each other look short at that end.
    edges = np.flatnonzero(length > longer * np.minimum(radius[a], radius[b]))
    sines = _sines(X, patch, a[edges], b[edges], d)
    edges, sines = edges[sines > steep], sines[sines > steep]
    sines = np.minimum(sines, _sines(X, patch, b[edges], a[edges], d))
    edges, sines = edges[sines > steep], sines[sines > steep]
    edges = edges[np.argsort(-sines, kind="stable")]
    pairs = np.sort(np.column_stack([a[edges], b[edges]]), axis=1).astype(np.int64)
    candidates = pairs[long[edges]]
    if not len(candidates):
        return none
    candidates = candidates[np.sort(np.unique(candidates, axis=0, return_index=True)[1])]
    # The paths around, in the graph without the steep edges.
    graph = symmetric_edges(near).tocoo()
    ends = np.minimum(graph.row, graph.col).astype(np.int64) * n + np.maximum(graph.row, graph.col)
    kept = ~np.isin(ends, pairs[:, 0] * n + pairs[:, 1])
    rest = csr_array((graph.data[kept], (graph.row[kept], graph.col[kept])), (n, n))
    component = connected_components(rest, directed=False)[1]
    candidates = candidates[component[candidates[:, 0]] == component[candidates[:, 1]]]
    candidates = candidates[:tested]
    limit = detour * np.asarray(csr_array(graph)[candidates[:, 0], candidates[:, 1]]).ravel()
    around = np.empty(len(candidates))
    for part in chunks(len(candidates), n, 2**18):
        sources, at = np.unique(candidates[part, 0], return_inverse=True)
        paths = dijkstra(rest, indices=sources, limit=limit[part].max())
        around[part] = paths[at, candidates[part, 1]]
    return np.asarray(candidates[around > limit])


def _sines(X: Reals, patch: Indices, a: Indices, b: Indices, d: int) -> Reals:
    """Between the edge from a to b and the d-dimensional tangent plane of the neighbors of a."""
    points, at = np.unique(a, return_inverse=True)
    outside = np.empty(len(a))
    order = np.argsort(at, kind="stable")
    for some in chunks(len(points), patch.shape[1] * X.shape[1], 2**16):
        here = points[some]
        offsets = X[patch[here]].astype(np.float64) - X[here][:, None]
        transposed = offsets.transpose(0, 2, 1)
        if offsets.shape[1] >= offsets.shape[2]:
            axes = np.linalg.eigh(transposed @ offsets)[1][:, :, -d:].transpose(0, 2, 1)
        else:
            sizes, U = np.linalg.eigh(offsets @ transposed)
            sizes = np.maximum(sizes[:, -d:, None], np.finfo(np.float64).tiny)
            axes = U[:, :, -d:].transpose(0, 2, 1) @ offsets / np.sqrt(sizes)
        part = order[slice(*np.searchsorted(at[order], [some.start, some.stop]))]
        edges = X[b[part]].astype(np.float64) - X[a[part]]
        inside = np.einsum("mdp,mp->md", axes[at[part] - some.start], edges)
        outside[part] = 1 - np.square(inside).sum(1) / np.square(edges).sum(1)
    return np.asarray(np.sqrt(np.maximum(outside, 0)))


# -- localized axes -------------------------------------------------------------------------------


def participation_ratio(V: Reals) -> Reals:
    """How many rows each column is about: 1 if one entry is all, n if all are of one size."""
    squares = np.square(V, dtype=np.float64)
    total = squares.sum(0)
    shares = np.divide(squares, total, out=squares, where=total > 0)
    ratio = np.divide(1, np.square(shares).sum(0), out=total * 0, where=total > 0)
    return np.asarray(ratio)


def warn_of_localized_axes(V: Reals, parameter: str = "n_neighbors") -> Reals:
    """Warn of columns that are about a few rows only; the participation ratio of each column.

    `parameter` is the one that gives rows more neighbors.
    """
    ratio, n = participation_ratio(V), len(V)
    limit = min(n / 10, max(4.5, min(n / 100, 100)))
    for axis in np.flatnonzero((ratio > 0) & (ratio < limit)):
        count = int(np.ceil(ratio[axis]))
        who = np.sort(np.argsort(-np.abs(V[:, axis]), kind="stable")[:count])
        shown = ", ".join(map(str, who[:10])) + (", ..." if count > 10 else "")
        warn(
            f"axis {axis} is localized on {count} row{'s' * (count > 1)} ({shown}), weakly "
            f"connected to the others. Look at them, drop them, or raise {parameter}.",
            LocalizedAxisWarning,
        )
    return ratio
