"""The weights of the edges of a graph: by a kernel of distances, given, or by a callable."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse
from scipy.sparse.csgraph import connected_components

from ..errors import DataError, ParameterError
from ..parameters import Graph, Indices, Reals
from ..spaces.graph import (
    PointGraph,
    describe_sizes,
    distinct_neighbors,
    join_components,
    rank_by_size,
    symmetric_edges,
)
from ..spaces.neighbors import Neighbors, nearest_columns
from ..spaces.space import Rows, Space, name_callable, take_rows, tie_tolerance


class AffinityGraph(NamedTuple):
    """Weights between the distinct points, sparse or dense, and what they were computed from."""

    W: Any
    point_of_row: Indices
    graph: PointGraph | None = None  # None of weights that were given
    sigma: float | None = None
    radii: Reals | None = None  # the distances of the last neighbors
    lengths: Reals = np.empty(0)  # of the edges of some points,
    n_lengths: int = 0  # so many

    @property
    def counts(self) -> Reals:
        """How many rows each point stands for."""
        return np.bincount(self.point_of_row, minlength=self.W.shape[0]).astype(np.float64)

    @property
    def space(self) -> Space | None:
        return None if self.graph is None else self.graph.space


def exponents(d: Reals, sigma: float | None) -> Reals:
    """d²/2σ², in float64; 0 without a σ, and never beyond the largest number."""
    if sigma is None:
        return np.zeros(d.shape)
    with np.errstate(over="ignore"):
        ratio = d.astype(np.float64)
        ratio /= sigma
    np.minimum(ratio, 1e150, out=ratio)
    ratio *= ratio
    ratio *= 0.5
    return ratio


def kernel_of_neighbors(
    graph: PointGraph,
    k: int | None,
    radius: float | None,
    sigma: float | None,
    *,
    binary: bool = False,
    averaged: bool = False,
    local: bool = False,
) -> AffinityGraph:
    """Weights of the edges of a neighbor graph: the heat kernel exp(-d²/2σ²), or 1.

    `averaged` takes the mean of both directions of an edge, of which one may not be there. σ is the
    median distance to the last neighbor, or the `local_scale`. A bridge weighs as the longest edge,
    but at least as one of 3σ: the longest one may be that of an outlier.
    """
    near, n = graph.near, graph.space.n
    if sigma is None and not binary:
        sigma = median_distance(near, k, radius)
        if local and k is not None:
            third, sixth = (median_distance(near, min(rank, k), None) for rank in (3, 6))
            sigma = local_scale(third, sixth) if k >= 6 else third
    radii = None if k is None or n == 1 else kth_distances(near, k)
    lengths = symmetric_edges(graph.joined)
    # So small a weight is no different from none, but it can still be divided by.
    weights = np.maximum(np.exp(-exponents(lengths.data, None if binary else sigma)), 1e-30)
    if averaged and radii is not None:
        weights *= mean_of_directions(lengths, radii, radii)
    W = csr_array((weights, lengths.indices, lengths.indptr), lengths.shape)
    if len(graph.bridges):
        ends = np.r_[graph.bridges, graph.bridges[:, ::-1]].T
        W[*ends] = 1.0
        W[*ends] = max(float(W.data.min()), float(np.exp(-4.5)))
    lists = graph.joined.as_graph(n)[:: max(1, -(-len(near.indices) // 2**20))]
    found = AffinityGraph(W, graph.point_of_row, graph, sigma, radii)
    return found._replace(lengths=lists.data, n_lengths=lists.shape[0])


def kernel_of_all_pairs(
    space: Space, sigma: float | None, on_disconnected: Literal["join", "error"]
) -> AffinityGraph:
    """Weights exp(-d²/2σ²) of all pairs and 1 of each point with itself; σ is the `local_scale`.

    Points farther apart than 6.07 σ are not connected, as far as eigenvectors can tell: their
    weight is below 1e-8.
    """
    graph = distinct_neighbors(space, lambda n: min(6, n - 1), None)
    n = graph.space.n
    if n == 1:
        return AffinityGraph(np.ones((1, 1)), graph.point_of_row, graph, sigma or 1.0)
    if sigma is None:
        third, sixth = (median_distance(graph.near, rank, None) for rank in (min(3, n - 1), 6))
        sigma = local_scale(third, sixth) if n > 6 else third
    D = graph.space.pairwise()
    reach = 6.07 * sigma
    close = graph.near.keep(graph.near.distances <= reach)
    component = connected_components(close.as_graph(n), directed=False)[1]
    if component.any():  # near neighbors mostly tell
        component = rank_by_size(components_within(D, reach))
    W = exponents(D, sigma)
    W = np.asarray(np.exp(np.negative(W, out=W), out=W), D.dtype)
    if component.any():
        sizes = np.bincount(component, graph.counts).astype(int)
        found = (
            f"a kernel of sigma={sigma:.3g} is 0 beyond {reach:.3g}, which leaves "
            f"{describe_sizes(sizes)}"
        )
        bridges, lengths = join_components(graph.space, component, found, "sigma", on_disconnected)
        graph = graph._replace(component=component, bridges=bridges, bridge_lengths=lengths)
        a, b = bridges.T
        W[a, b] = W[b, a] = np.maximum(W[a, b], float(np.exp(-4.5)))
    np.fill_diagonal(W, 1.0)
    sample = D[:: max(1, -(-D.size // 2**20))]
    return AffinityGraph(W, graph.point_of_row, graph, sigma, None, sample.ravel(), len(sample))


def local_scale(third: float, sixth: float) -> float:
    """The scale of a kernel, from the median distances to the third and the sixth neighbor.

    Low numbers adapt to the dimension: on a surface the third is at half the distance of the tenth,
    which keeps the turns of a roll of 600 rows apart; in ten dimensions it is at 90 %, and a cloud
    is not torn. On a curve so few neighbors connect nothing across the widest gaps of a sample.
    There the squared distance to the sixth is 4.5 times that to the third, on a surface 2.1 times
    (medians); the square of what is beyond 2.5 leaves surfaces their scale, and makes that of
    curves 3.2 times as wide.
    """
    return third * max(1.0, (sixth / third) ** 2 / 2.5) ** 2 if third > 0 else sixth


def median_distance(near: Neighbors, k: int | None, radius: float | None) -> float:
    """The median distance to the k-th neighbor, or to the last one within the radius."""
    held = near.counts > 0
    if not held.any():
        return radius or 1.0
    return float(np.median(kth_distances(near, k)[held]))


def kth_distances(near: Neighbors, k: int | None) -> Reals:
    """The distance of each point's k-th neighbor; of its last in a list that has fewer, or 0."""
    held = near.counts if k is None else np.minimum(near.counts, k)
    at = np.minimum(near.indptr[:-1] + np.maximum(held, 1) - 1, max(len(near.distances) - 1, 0))
    return np.where(held > 0, near.distances[at] if len(near.distances) else 0.0, 0.0)


def mean_of_directions(near: Graph, own: Reals, radii: Reals) -> Reals:
    """1 where row and column are within each other's radius, 1/2 where one of them is."""
    slack = 1 + tie_tolerance(near.data)
    outward = near.data <= np.repeat(own, np.diff(near.indptr)) * slack
    inward = near.data <= radii[near.indices] * slack
    return np.asarray((outward.astype(np.float64) + inward) / 2)


def components_within(D: Reals, radius: float) -> Indices:
    """Connected components of all edges up to a radius, by breadth-first search.

    A few rows of D are mostly enough to connect all points, so no sparse graph is made of it.
    """
    label, name = np.full(len(D), -1), 0
    while (label < 0).any():
        waiting = [int(np.argmin(label))]
        label[waiting] = name
        while waiting and (label < 0).any():
            new = np.flatnonzero((label < 0) & (radius >= D[waiting.pop()]))
            label[new] = name
            waiting.extend(new)
        name += 1
    return label


def given_affinities(W: Any, parameter: str) -> AffinityGraph:
    """Weights that were given, which must connect all rows: there are no distances to join them by.

    No two rows can be seen to be duplicates either.
    """
    n = W.shape[0]
    if n > 1:
        count, label = connected_components(csr_array(W), directed=False)
        if count > 1:
            label = rank_by_size(label)
            raise DataError(
                f"{parameter}: the weights leave {describe_sizes(np.bincount(label))}; row "
                f"{int(np.argmax(label == count - 1))} is in the smallest. Without distances they "
                "cannot be connected: add weights between them, or fit them one by one."
            )
    return AffinityGraph(W, np.arange(n))


def callable_affinities(
    function: Callable[..., Any], takes_all: bool, X: Any, Q: Any = None
) -> Reals:
    """Weights by a callable: among the rows X, or between new rows Q and X.

    It is f(A, B) or, if it `takes_all` rows at once, f(X), which return matrices; or f(a, b), which
    returns a number.
    """
    name, new = name_callable(function), Q is not None
    Q = Q if new else X
    found: Any

    def together(rows: Any) -> Reals:
        W, n = np.asarray(function(rows)), len(rows)
        if W.shape != (n, n):
            raise DataError(
                f"affinity={name} gave numbers of shape {W.shape} for {n} rows; expected "
                f"{(n, n)}, one per pair."
            )
        return W

    try:
        # One new row at a time: what a function of matrices computes may depend on its batch.
        if takes_all:
            found = [together(np.vstack([X, q]))[-1, :-1] for q in Q] if new else together(X)
        elif takes_matrices(function, X):
            found = [function(q[None], X)[0] for q in Q] if new else function(X, X)
        else:
            found = [[function(q, x) for x in X] for q in Q]
    except Exception as error:
        if not isinstance(error, DataError):
            error.add_note(f"raised by affinity={name}")
        raise
    try:
        W = np.asarray(found, np.float64)
    except (TypeError, ValueError):
        W = np.empty(0)
    if W.shape != (len(Q), len(X)):
        raise DataError(
            f"affinity={name} gave no numbers of shape {(len(Q), len(X))}: one per pair."
        )
    if not np.isfinite(W).all():
        i, j = map(int, np.argwhere(~np.isfinite(W))[0])
        raise DataError(f"affinity={name} gave {W[i, j]} for objects {i} and {j}.")
    if not new:
        i, j = map(int, np.unravel_index(np.abs(W - W.T).argmax(), W.shape))
        if abs(W[i, j] - W[j, i]) > 1e-6 * np.abs(W).max():
            raise DataError(
                f"affinity={name} is not symmetric: {W[i, j]:.6g} for ({i}, {j}) but "
                f"{W[j, i]:.6g} for ({j}, {i})."
            )
        W = (W + W.T) / 2
    if W.min(initial=0) < 0:
        i, j = map(int, np.unravel_index(W.argmin(), W.shape))
        raise DataError(
            f"affinity={name} gave {W[i, j]:.6g} for rows {i} and {j}; an edge weight is 0 or more."
        )
    return W


def takes_all_rows(function: Callable[..., Any]) -> bool:
    """Whether it is a function of one array, and not of two.

    >>> takes_all_rows(lambda X: X @ X.T), takes_all_rows(lambda A, B: A @ B.T)
    (True, False)
    """
    try:
        parameters = signature(function)
        parameters.bind(None)
    except (TypeError, ValueError):  # it needs more, or does not tell
        return False
    try:
        parameters.bind(None, None)
    except TypeError:
        return True
    return False


def takes_matrices(function: Callable[..., Any], X: Any) -> bool:
    """Whether it computes f(A, B) -> matrix, which unequal shapes tell."""
    if not isinstance(X, np.ndarray):
        return False
    try:
        return bool(np.shape(function(X[[0, 0]], X[[0, 0, 0]])) == (2, 3))
    except Exception:  # a function of two rows may fail on matrices in any way
        return False


def dimension_by_scale(lengths: Reals, n: int, sigma: float) -> tuple[Reals, Reals]:
    """Scales s around σ, and d log S / d log s of the kernel's sum S = Σ exp(-d²/2s²) at each.

    That is the dimension of what the data look like at this scale: on a manifold S grows as s^dim
    between the distances of neighbors and the size of the whole (Coifman et al., 2008). The
    weight of each of the n points with itself counts in S. A histogram with bins of 2 % is enough;
    lengths beyond 2^±30 σ count as these, as their kernel is 0 or 1.
    """
    octaves, per_octave, half = np.arange(-3, 5.01, 0.25), 32, 30
    apart = lengths[lengths > 0].astype(np.float64)
    with np.errstate(over="ignore"):
        where = np.clip(np.log2(apart / sigma), -half, half)
    count = 2 * half * per_octave + 1
    held = np.bincount(((where + half) * per_octave).astype(np.int64), minlength=count)
    middles = 2.0 ** ((np.arange(count) + 0.5) / per_octave - half)
    squares = np.square(middles / 2.0 ** octaves[:, None])
    K = np.exp(-squares / 2) * held
    return sigma * 2.0**octaves, (K * squares).sum(1) / (K.sum(1) + n)


def divide_by_density(W: Any, factors: Reals) -> Any:
    """The kernel times a factor of both ends; a dense one in place."""
    if issparse(W):
        scale = diags_array(factors)
        return csr_array(scale @ W @ scale)
    factors = factors.astype(W.dtype)
    W *= factors[:, None]
    W *= factors
    return W


# -- new points -----------------------------------------------------------------------------------


class NewWeights(NamedTuple):
    """Weights of new points (rows) to the training points (columns).

    Those of row i are exp(log_scale[i]) times what is stored, so that a far point keeps its digits.
    """

    W: Any
    log_scale: Reals
    near: Neighbors | None  # the nearest points; None of given weights, which tell no distance
    isolated: Indices  # whether the point has no neighbor: then it is where its nearest is


def affinities_toward(
    space: Space,
    Q: Any,
    sigma: float | None,
    k: int | None,
    radius: float | None,
    radii: Reals | None,
    averaged: bool,
) -> NewWeights:
    """Weights of new points by the kernel, of their neighbors or of all points.

    Neighbors are those within the radius; or a new point and a training point are if either is one
    of the k nearest of the other, where `radii` are the kth distances of the training points. So a
    training point taken for a new one finds its own row of the graph: one that coincides with it is
    a neighbor besides its k others.
    """
    D = space.toward(Q)
    n, slack = D.shape[1], 1 + tie_tolerance(D)
    near = nearest_columns(D, min(max(k or 10, 30), n))  # as many tell where a point is in doubt
    closest = near.nearest
    none = np.zeros(len(D), bool)
    if radius is None and radii is None:
        log_scale = -exponents(closest, sigma)
        return NewWeights(np.exp(-log_scale[:, None] - exponents(D, sigma)), log_scale, near, none)
    if radius is not None:
        inside = radius * slack >= D
    else:
        assert k is not None
        assert radii is not None
        last = min(k, n) - 1
        beyond = min(last + 1, n - 1)
        ranked = np.partition(D, (last, beyond), axis=1)
        own = np.where(closest == 0, ranked[:, beyond], ranked[:, last])
        inside = np.maximum(own[:, None], radii) * slack >= D
    row, column = np.nonzero(inside)
    indptr = np.concatenate([[0], np.cumsum(inside.sum(1))])
    lists = csr_array((D[row, column].astype(np.float64), column, indptr), shape=D.shape)
    W, log_scale = weigh_lists(lists, closest, sigma, k, radii if averaged else None)
    isolated = np.diff(indptr) == 0
    if isolated.any() and isinstance(space, Rows):
        # So far away that their distances to several training points are equal by rounding.
        far = np.flatnonzero(isolated)
        first = near.indptr[:-1][far]
        near.indices[first] = space.query(take_rows(Q, far), 1).indices
    return NewWeights(W, log_scale, near, isolated)


def affinities_listed(
    near: Neighbors,
    n: int,
    sigma: float | None,
    k: int | None,
    radius: float | None,
    radii: Reals | None,
    averaged: bool,
) -> NewWeights:
    """The same by neighbors that are given: those that are neighbors in the graph count."""
    if radius is None and radii is None:
        raise ParameterError(
            "neighbors= would be ignored: every row has an affinity to all others."
        )
    closest, counts = near.nearest, near.counts
    limit: Any = radius
    if radius is None:
        assert k is not None
        assert radii is not None
        own = kth_distances_of_new(near, k, closest)
        limit = np.maximum(np.repeat(own, counts), radii[near.indices])
    inside = near.keep(near.distances <= limit * (1 + tie_tolerance(near.distances)))
    found = weigh_lists(inside.as_graph(n), closest, sigma, k, radii if averaged else None)
    return NewWeights(*found, near, inside.counts == 0)


def weigh_lists(
    lists: Graph, closest: Reals, sigma: float | None, k: int | None, radii: Reals | None
) -> tuple[Graph, Reals]:
    """Weights of new points from the distances to neighbors, and the logarithms of their scales."""
    log_scale, counts = -exponents(closest, sigma), np.diff(lists.indptr)
    weights = np.exp(-np.repeat(log_scale, counts) - exponents(lists.data, sigma))
    if radii is not None and k is not None:
        row = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((lists.data, row))
        near = Neighbors(lists.indptr, lists.indices[order], lists.data[order])
        weights *= mean_of_directions(lists, kth_distances_of_new(near, k, closest), radii)
    return csr_array((weights, lists.indices, lists.indptr), lists.shape), log_scale


def kth_distances_of_new(near: Neighbors, k: int, closest: Reals) -> Reals:
    """The distance of each list's k-th neighbor, not counting a point that coincides with it."""
    last = k - 1 + (closest == 0)
    at = near.indptr[:-1] + np.minimum(last, np.maximum(near.counts, 1) - 1)
    return np.asarray(near.distances[at])
