"""What the locally linear methods share: graph, small eigenvectors, scale, map and inverse."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from .. import random
from ..backends.protocol import Array, Ragged
from ..core.estimator import Context, Fit
from ..core.parameters import refuse_unused
from ..distances.metrics import Distances
from ..errors import DataError, ParameterError, RankWarning, warn
from ..graph.given import NeighborGraph
from ..graph.neighbor_graph import ConnectedGraph, build_neighbor_graph
from ..graph.search import find_nearest
from ..graph.short_circuits import warn_of_short_circuits
from ..maps.local import BarycentricMap, TangentMap
from ..maps.remember import Remember
from .krylov import basis_memory
from .localized import knob_of, localized
from .smallest import Bottom, few, weighted_bottom


class Alignment(NamedTuple):
    """The matrix whose small eigenvectors are the map: itself, or a square root B of it (B'B)."""

    matrix: csr_array | None
    root: csr_array | None = None


# How a method makes its matrix from the distinct points and their graph.
Align = Callable[[Array, ConnectedGraph], Alignment]
# How many neighbors a point needs for a map of so many dimensions.
Needs = Callable[[int], int]


def aligned(model: Any, X: Array, ctx: Context, neighbors: Any, align: Align, needs: Needs) -> Fit:
    """Fit of a locally linear method; with landmarks, the other rows are placed by its map."""
    if model.radius is not None:
        refuse_unused(model, ["n_neighbors"], "radius is set")
    if neighbors is not None:
        unused = ["n_neighbors", "radius", "n_landmarks"]
        refuse_unused(model, unused, "the graph of neighbors is given")
        given = NeighborGraph.of(neighbors, len(X))
        model = copy.copy(model)
        model.n_neighbors = given.n_neighbors
        return _embedded(model, X, ctx, align, needs, given.edges())
    if model.n_landmarks is None:
        return _embedded(model, X, ctx, align, needs)
    n, m, k = len(X), model.n_landmarks, model.n_components
    if not k < m <= n:
        raise ParameterError(
            f"n_landmarks={m} must be more than n_components={k} and at most n_samples={n}."
        )
    chosen = random.subset(ctx.seed, "landmarks", n, m)
    fit = _embedded(model, np.ascontiguousarray(X[chosen]), ctx, align, needs)
    return fit._replace(embedding=fit.map(X, ctx.ops)).with_report(landmarks=chosen)


def _embedded(
    model: Any,
    X: Array,
    ctx: Context,
    align: Align,
    needs: Needs,
    ready: csr_array | None = None,
) -> Fit:
    n, k = len(X), model.n_components
    if not np.ptp(X, axis=0).any():
        return _collapsed(model, X, ctx)
    _check_sizes(model, n, needs)
    graph = build_neighbor_graph(
        _euclidean(X),
        None if model.radius is not None else model.n_neighbors,
        model.radius,
        ctx.ops,
        model.on_disconnected,
        include_ties=True,
        given=ready,
    )
    count = len(graph.first_row)
    _check_sizes(model, count, needs)
    points = X if count == n else np.ascontiguousarray(X[graph.first_row])
    _check_lists(graph, points, min(needs(k), count - 1), ctx)
    warn_of_short_circuits(graph, k)
    found = align(points, graph)
    axes = weighted_bottom(found.matrix, graph.counts, k, ctx, root=found.root)
    Y = np.ascontiguousarray(axes.vectors, ctx.dtype)
    report = {**_report(axes), **graph.report}
    if found.root is not None:
        report["weights"] = _weights(found.root, graph)
    embedding = Y if count == n else Y[graph.point_of_row]
    report["participation"] = localized(embedding, knob_of(model))
    return _mapped(model, points, Y, Fit(embedding, None, report))


def _euclidean(X: Array) -> Distances:
    return Distances(X, "as they are", "euclidean", (1.0,), X.mean(0, dtype=np.float64))


def _report(axes: Bottom) -> dict[str, Any]:
    return {
        "n_components": len(axes.values),
        **axes.report,
        "reconstruction_error": float(axes.values.sum()),
    }


def _collapsed(model: Any, X: Array, ctx: Context) -> Fit:
    """All rows are one point, whose place is 0."""
    n, k = len(X), model.n_components
    warn(f"n_components={k}, but all {n} rows are equal; the map is 0.", RankWarning)
    axes = Bottom(np.zeros(k), np.zeros((n, k)), np.zeros(k), "none", ())
    report = {
        **_report(axes),
        "participation": np.zeros(k),
        "n_graph_components": 1,
        "graph_components": np.zeros(n, np.int64),
        "bridges": np.empty((0, 2), np.int64),
        "n_distinct": 1,
        "knn_recall": 1.0,
    }
    Y = np.zeros((1, k), ctx.dtype)
    return _mapped(model, X[:1], Y, Fit(axes.vectors, None, report))


def _mapped(model: Any, X: Array, Y: Array, fit: Fit) -> Fit:
    """New rows by the chosen rule, training rows by memory, and the mirrored rule back."""
    base = _euclidean(X).freeze()
    near = None if model.radius is not None else min(model.n_neighbors, len(Y))
    if model.map == "tangent":
        place: Any = TangentMap(base, Y, near, model.radius)
    else:
        place = BarycentricMap(base, Y, near, model.radius, model.reg)
    # A radius among the data says nothing about distances in the map.
    back = BarycentricMap(
        _euclidean(Y), base.X, min(near or 2 * Y.shape[1] + 1, len(Y)), None, model.reg
    )
    return fit._replace(map=Remember.of(place, base.X, Y), inverse=back)


def patches(graph: ConnectedGraph) -> Ragged:
    """Neighbors of each point, and before them the point itself.

    Without it a point that is nobody's neighbor would be in no patch, and free to be anywhere.
    """
    near = graph.neighbor_lists()
    own = np.arange(len(near.indptr) - 1, dtype=np.int32)
    return Ragged(
        near.indptr + np.arange(len(near.indptr)),
        np.insert(near.indices, near.indptr[:-1], own),
    )


def _weights(root: csr_array, graph: ConnectedGraph) -> csr_array:
    """Weights of rows: a copy has those of its point, which are on the first row of each point."""
    W = csr_array(-root)
    W.setdiag(0)
    W.eliminate_zeros()
    wide = csr_array(
        (W.data, graph.first_row[W.indices], W.indptr),
        (len(graph.first_row), len(graph.point_of_row)),
    )
    return csr_array(wide[graph.point_of_row])


def check_tangents(model: Any, X: Array, needs: Needs) -> None:
    """Patches have no more dimensions than there are columns: beyond, any map would do."""
    k, (n, d) = model.n_components, X.shape
    # Where neighbors or rows allow fewer still, `_check_sizes` says so.
    if d < min(k, n) and (model.radius is not None or needs(d) <= model.n_neighbors):
        raise ParameterError(
            f"n_components={k} exceeds {d}, the columns of X, and patches have no more dimensions; "
            f"use at most {d}."
        )


def _check_sizes(model: Any, n: int, needs: Needs) -> None:
    """The facts joining n_components, n_neighbors and the number of (distinct) rows."""
    k, near = model.n_components, model.n_neighbors
    if model.radius is None and near < min(needs(k), n - 1):
        most = min(k, n - 1)
        while needs(most) > near:
            most -= 1
        if most > 0:
            raise ParameterError(
                f"n_components={k} exceeds {most}, the most for n_neighbors={near}; use at most "
                f"{most}, or n_neighbors={needs(k)} or more."
            )
        raise ParameterError(
            f"n_neighbors={near} is too few for {type(model).__name__}; use {needs(1)} or more."
        )
    if k > n - 1:
        raise ParameterError(
            f"n_components={k} exceeds {n - 1}, one less than the {n} distinct rows; "
            f"use at most {n - 1}."
        )


def _check_lists(graph: ConnectedGraph, points: Array, least: int, ctx: Context) -> None:
    """A radius may leave some points with fewer neighbors than the method needs."""
    counts = np.diff(graph.edges.indptr)
    lonely = np.flatnonzero(counts < least)
    if len(lonely):
        far = find_nearest(graph.base, points[lonely], least + 1, ctx.ops).distances[:, -1].max()
        raise DataError(
            f"row {graph.first_row[lonely[0]]} has {counts[lonely[0]]} neighbors, but {least} are "
            f"needed; use radius={far * 1.001:.4g} or more, or n_neighbors."
        )


def alignment_memory(
    model: Any, n: int, d: int, itemsize: int, *, by_root: bool = False
) -> dict[str, int]:
    """Bytes of a fit; the factor's are measured for surfaces (d <= 3) and for clouds."""
    m = n if model.n_landmarks is None else min(n, model.n_landmarks)
    k, near = model.n_components, min(model.n_neighbors + 1, m)
    entries = near if by_root else 3 * near if d <= 3 else near**2
    fill = entries * (3.5 if by_root and d > 3 else 0.7) * np.log2(max(m, 2))
    dense = m <= few(k, by_root)
    mapping = 0 if model.n_landmarks is None else n * (d + 6 * near + 4 * k) * 8
    return {
        "rows": m * d * (8 + 2 * itemsize),
        "neighbors": 10 * m * near * 8,
        "matrix": 4 * m * min(m, entries) * 12 + (9 * m * m * 8 if dense else 0),
        "factor": 0 if dense else 16 * m * min(m, int(fill)),
        "eigenvectors": basis_memory(m, k),
        "map": mapping + 8 * n * k * 8,
    }


def fewer_rows(model: Any, n: int) -> dict[str, Any]:
    """The same with landmarks, for a refusal to name."""
    m = 20_000
    if model.n_landmarks is not None or n <= m:
        return {}
    return {f"n_landmarks={m}": type(model)(**{**model.get_params(deep=False), "n_landmarks": m})}
