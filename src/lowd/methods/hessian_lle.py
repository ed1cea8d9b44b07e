"""Hessian eigenmaps (Donoho and Grimes, 2003)."""

from __future__ import annotations

from typing import Any, Literal, Self

from ..backends.protocol import Array
from ..core.estimator import Context, Fit, reducer
from ..core.graph_method import GraphMethod
from ..core.parameters import Count, NonNegative, Positive, Seed
from ..graph.components import OnDisconnected
from ..graph.neighbor_graph import ConnectedGraph
from ..solvers.alignment import (
    Alignment,
    aligned,
    alignment_memory,
    check_tangents,
    fewer_rows,
    patches,
)


@reducer
class HessianLLE(GraphMethod):
    """Places whose second derivatives along the data vanish as far as possible.

    Use it for a sheet with holes or of an odd outline, sampled densely: where `Isomap` needs a
    convex one, this needs only a connected one. It estimates second derivatives, so it wants more
    neighbors than `LTSA` and less noise.

    Cost: neighbors, n small eigenproblems, and the small end of one sparse matrix: by a
    factorization for data near a curve or a surface, by products else. New points: rebuilt from
    their nearest training points, with those weights applied to the places.

    Parameters
    ----------
    n_components
        Dimensions of the map.
    n_neighbors
        Neighbors of each point, itself not counted; points as near as the last one count too.
        With k = n_components at least k + k(k + 1)/2 are needed. A patch is a point and its
        neighbors.
    radius
        Or all points within this distance; then `n_neighbors` does not count.
    reg
        Weight of what no quadric fits in a patch, beside that of second derivatives: without it
        (0, the method of the paper) a spike on a few points may have none that their patches see.
        1 is LTSA. Also the ridge of new points' weights, relative to the trace of each system.
    map
        New points by "barycentric" weights, or by a "tangent" plane fitted to their neighbors.
    n_landmarks
        Fit so many random rows, and place the others by the map.
    on_disconnected
        A graph in pieces is joined by its shortest missing edges, with a warning, or an error.
    random_state
        Seed of the landmarks and of the solver's start. None is 0.

    Attributes
    ----------
    embedding_ : columns of mean 0 and standard deviation 1 (scikit-learn's times √n)
    eigenvalues_, reconstruction_error_ : of the alignment matrix, smallest first, and their sum
    residuals_, solver_, degenerate_axes_ : |M v - λ v| per axis, how it was found, equal axes
    participation_ : how many rows each axis is about
    n_graph_components_, graph_components_, bridges_, n_distinct_, knn_recall_, landmarks_

    References
    ----------
    Donoho and Grimes (2003), PNAS 100.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> rng = np.random.default_rng(0)
    >>> flat = rng.uniform(size=(200, 2))
    >>> bent = np.column_stack([np.sin(2 * flat[:, 0]), np.cos(2 * flat[:, 0]), flat[:, 1]])
    >>> model = lowd.HessianLLE(2).fit(bent)
    >>> A = np.column_stack([model.embedding_, np.ones(200)])  # the flat sheet, up to a linear map
    >>> left = np.linalg.lstsq(A, flat)[1] / (200 * flat.var(0))
    >>> bool((left < 0.01).all())
    True
    """

    n_components: Count = 2
    n_neighbors: Count = 10
    radius: Positive | None = None
    reg: NonNegative = 1e-3
    map: Literal["barycentric", "tangent"] = "barycentric"
    n_landmarks: Count | None = None
    on_disconnected: OnDisconnected = "join"
    random_state: Seed = None

    def _fit(self, X: Any, ctx: Context, neighbors: Any = None) -> Fit:
        def needs(k: int) -> int:
            return _columns(k) - 1

        def align(points: Array, graph: ConnectedGraph) -> Alignment:
            near, k = patches(graph), self.n_components
            # In a patch of all points, smaller than a quadric has coefficients, nothing but the
            # tangent coordinates is left: that is LTSA, with which it agrees at equality.
            kind = "hessian" if len(points) > _columns(k) else "ltsa"
            M = ctx.ops.alignment_matrix(points, near, kind, k, self.reg, graph.counts)
            return Alignment(M)

        check_tangents(self, X, needs)
        return aligned(self, X, ctx, neighbors, align, needs)

    def _memory(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        return alignment_memory(self, n, d, itemsize)

    def _smaller(self, n: int) -> dict[str, Self]:
        return fewer_rows(self, n)


def _columns(k: int) -> int:
    """Coefficients of a quadric in k variables."""
    return 1 + k + k * (k + 1) // 2
