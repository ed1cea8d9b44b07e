"""Locally linear embedding (Roweis and Saul, 2000)."""

from __future__ import annotations

from scipy.sparse import csr_array, eye_array

from ..backends.protocol import Array
from ..confidence.calibration import ConfidenceCurve
from ..core.estimator import reducer
from ..core.fit import Context
from ..core.parameters import Count
from ..graph.neighbor_graph import ConnectedGraph
from ..solvers.alignment import Alignment, LocallyLinearMethod


@reducer
class LocallyLinearEmbedding(LocallyLinearMethod):
    """Locally linear embedding: preserves the weights that reconstruct samples from neighbors.

    Use it to unroll a manifold from local linear fits alone: no distances between far samples are
    computed. It is the fastest of its family and the least faithful: `ModifiedLLE`, `LTSA` and
    `HessianLLE` follow the manifold more closely, and stay solvable for high-dimensional data.

    Cost: nearest neighbors, n small linear systems and one sparse factorization; nearly linear in
    n for data near a curve or a surface. New points: barycentric weights that reconstruct them from
    their nearest training points, applied to the coordinates of these.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=5
        Neighbors of each sample, itself not counted; all as near as the last one count.
    radius : float or None, default=None
        All samples within this distance are neighbors instead of `n_neighbors`.
    reg : float, default=0.001
        Ridge of the weights, relative to the trace of each local Gram matrix. Needed wherever there
        are more neighbors than dimensions. 0 takes the solution of least norm.
    map : {"barycentric", "tangent"}, default="barycentric"
        Map of new points: "barycentric" weights of their nearest training points, or the
        "tangent" space of these.
    n_landmarks : int or None, default=None
    on_disconnected : {"join", "error"}, default="join"
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns of mean 0 and standard deviation 1 (scikit-learn's times √n).
    weights_ : csr_array of shape (n_samples, n_samples)
        Sparse, rows sum to 1; of duplicates on the first row.
    eigenvalues_ : ndarray of shape (n_components,)
    reconstruction_error_ : float
        Of (I - W)'(I - W), smallest first, and their sum.
    residuals_ : ndarray of shape (n_components,)
    solver_ : str
    degenerate_axes_ : tuple of tuple of int
    participation_ : ndarray of shape (n_components,)
    n_graph_components_ : int
    graph_components_ : ndarray of shape (n_samples,)
    bridges_ : ndarray of shape (n_bridges, 2)
    n_distinct_ : int
    knn_recall_ : float
    landmarks_ : ndarray of shape (n_landmarks,)

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
    >>> y = model.transform([[np.cos(1.54), np.sin(1.54)]])
    >>> bool(model.embedding_[20, 0] > y[0, 0] > model.embedding_[21, 0])
    True
    """

    n_neighbors: Count = 5

    aligns_tangent_spaces = False
    has_square_root = True
    confidence_curve = ConfidenceCurve(2.3, 0.5)

    def _align(self, X: Array, graph: ConnectedGraph, ctx: Context) -> Alignment:
        near, n = graph.neighbor_lists(), len(X)
        weights = ctx.ops.barycentric_weights(X, X, near, self.reg)
        W = csr_array((weights, near.indices, near.indptr), shape=(n, n))
        return Alignment(None, root=csr_array(eye_array(n) - W))

    def _min_neighbors(self, k: int) -> int:  # noqa: ARG002 - of a family
        return 1
