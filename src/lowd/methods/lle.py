"""Locally linear embedding (Roweis and Saul, 2000)."""

from __future__ import annotations

from typing import Any, Literal, Self

from scipy.sparse import csr_array, eye_array

from ..backends.protocol import Array
from ..core.estimator import Context, Fit, reducer
from ..core.graph_method import GraphMethod
from ..core.parameters import Count, NonNegative, Positive, Seed
from ..graph.components import OnDisconnected
from ..graph.neighbor_graph import ConnectedGraph
from ..solvers.alignment import Alignment, aligned, alignment_memory, fewer_rows


@reducer
class LocallyLinearEmbedding(GraphMethod):
    """Rebuild each point from its neighbors, and find places that are rebuilt the same way.

    Use it to unroll a curved sheet of points by local means only: no distances between far points
    are computed. It is the quickest of its family and the least faithful: `ModifiedLLE`, `LTSA` and
    `HessianLLE` follow the sheet more closely, and stay solvable for high-dimensional data.

    Cost: neighbors, n small systems, and one sparse factorization; linear in n, or nearly, for
    data near a curve or a surface. New points: rebuilt from their nearest training points, with
    those weights applied to the places.

    Parameters
    ----------
    n_components
        Dimensions of the map.
    n_neighbors
        Neighbors of each point, itself not counted; points as near as the last one count too.
    radius
        Or all points within this distance; then `n_neighbors` does not count.
    reg
        Ridge of the weights, relative to the trace of each system. Needed wherever there are more
        neighbors than dimensions. 0 takes the shortest solution.
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
    weights_ : sparse, rows sum to 1; on the first copy of rows that are there several times
    eigenvalues_, reconstruction_error_ : of (I - W)'(I - W), smallest first, and their sum
    residuals_, solver_, degenerate_axes_ : |M v - λ v| per axis, how it was found, equal axes
    participation_ : how many rows each axis is about
    n_graph_components_, graph_components_, bridges_, n_distinct_, knn_recall_, landmarks_

    References
    ----------
    Roweis and Saul (2000), Science 290; Saul and Roweis (2003), JMLR 4, new points.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> t = np.linspace(0, 3, 40)
    >>> arc = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = lowd.LocallyLinearEmbedding(1, n_neighbors=4).fit(arc)
    >>> bool((np.diff(model.embedding_[:, 0]) < 0).all())  # in the order of the arc
    True
    >>> place = model.transform([[np.cos(1.54), np.sin(1.54)]])
    >>> bool(model.embedding_[20, 0] > place[0, 0] > model.embedding_[21, 0])
    True
    """

    n_components: Count = 2
    n_neighbors: Count = 5
    radius: Positive | None = None
    reg: NonNegative = 1e-3
    map: Literal["barycentric", "tangent"] = "barycentric"
    n_landmarks: Count | None = None
    on_disconnected: OnDisconnected = "join"
    random_state: Seed = None

    def _fit(self, X: Any, ctx: Context, neighbors: Any = None) -> Fit:
        def align(points: Array, graph: ConnectedGraph) -> Alignment:
            near = graph.neighbor_lists()
            weights = ctx.ops.barycentric_weights(points, points, near, self.reg)
            W = csr_array((weights, near.indices, near.indptr), shape=2 * (len(points),))
            return Alignment(None, root=csr_array(eye_array(len(points)) - W))

        return aligned(self, X, ctx, neighbors, align, needs=lambda k: 1)  # noqa: ARG005

    def _memory(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        return alignment_memory(self, n, d, itemsize, by_root=True)

    def _smaller(self, n: int) -> dict[str, Self]:
        return fewer_rows(self, n)
