"""Classical scaling of geodesic distances, between all points or to landmarks (Isomap)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..backends import resolve
from ..backends.protocol import Array, Float64
from ..core import memory
from ..core.fit import Context, Fit
from ..core.graph_method import Neighborhoods
from ..distances.order import center_in_order
from ..graph.neighbor_graph import ConnectedGraph
from ..input.ranges import MAX_WIDENED_ROWS
from ..maps.centered import CenteredMap, GeodesicMap
from ..relations.geodesics import Geodesics, geodesic_matrix
from .centered import embed_centered
from .landmarks import choose_farthest_points, scale_from_landmarks

if TYPE_CHECKING:
    from ..core.estimator import Reducer


def scale_geodesics(
    geodesics: Geodesics, graph: ConnectedGraph, k: int, m: int | None, ctx: Context
) -> tuple[Fit, Float64]:
    """The embedding of all rows, by m landmarks or None, and the coordinates of the points."""
    if m is None:
        fit = embed_centered(geodesics, k, ctx, warn_indefinite=False)
    else:
        points = choose_farthest_points(graph.base, graph.edges, m, ctx)
        geodesics = geodesics.to_landmarks(points, ctx.ops)
        D, rows = geodesics.distances_to_landmarks, graph.first_row[points]
        fit = scale_from_landmarks(D, rows, geodesics, k, ctx)
    assert isinstance(fit.map, CenteredMap)
    points_Y = np.asarray(fit.embedding, np.float64)[graph.first_row]
    Y = points_Y[graph.point_of_row]  # duplicates coincide to the last bit
    return fit._replace(embedding=Y, map=GeodesicMap(fit.map), geodesics=geodesics), points_Y


def order_sums(near: Neighborhoods) -> Neighborhoods:
    """Neighborhoods by a radius with sums over rows in canonical order.

    Else rounding, which depends on the order of the rows, could decide who is within the radius.
    """
    if near.radius is None:
        return near
    return near._replace(base=center_in_order(near.base))


def compute_geodesic_distances(model: Reducer) -> Array:
    """Geodesic distances between all rows of a fitted model, along its graph."""
    if not hasattr(model, "graph_") or hasattr(model, "landmarks_"):
        raise AttributeError("geodesic_distances_ is there after a fit without landmarks.")
    n = model.n_samples_
    wide = model.embedding_.dtype if n > MAX_WIDENED_ROWS else np.dtype(np.float64)
    memory.check(memory.Plan({"distances": n * n * wide.itemsize}), "geodesic_distances_", [])
    return geodesic_matrix(model.graph_.astype(wide), resolve(model.backend, model.n_jobs))
