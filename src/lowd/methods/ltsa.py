"""Local tangent space alignment (Zhang and Zha, 2004)."""

from __future__ import annotations

from ..backends.protocol import Array
from ..confidence.calibration import ConfidenceCurve
from ..core.estimator import reducer
from ..core.fit import Context
from ..graph.neighbor_graph import ConnectedGraph
from ..solvers.alignment import Alignment, LocallyLinearMethod, patches


@reducer
class LTSA(LocallyLinearMethod):
    """Local tangent space alignment: tangent coordinates of all neighborhoods, aligned.

    Use it to unroll a manifold faithfully up to a linear map: on a flat patch it is exact. With as
    many neighbors as a quadric has coefficients it equals `HessianLLE`, which needs more.

    Cost: nearest neighbors, n small eigenproblems, and the smallest eigenvectors of one sparse
    matrix. New points: barycentric weights that reconstruct them from their nearest training
    points, applied to the coordinates of these.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=10
        Neighbors of each sample, itself not counted; all as near as the last one count.
        More than n_components are needed. A patch is a point and its neighbors.
    radius : float or None, default=None
        All samples within this distance are neighbors instead of `n_neighbors`.
    reg : float, default=0.001
        Ridge of the weights of new points and of the inverse, relative to the trace of each system.
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
    eigenvalues_ : ndarray of shape (n_components,)
    reconstruction_error_ : float
        Of the alignment matrix, smallest first, and their sum.
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
    Zhang and Zha (2004), SIAM J. Sci. Comput. 26.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> rng = np.random.default_rng(0)
    >>> flat = rng.uniform(size=(200, 2))
    >>> bent = np.column_stack([np.sin(2 * flat[:, 0]), np.cos(2 * flat[:, 0]), flat[:, 1]])
    >>> model = lowd.LTSA(2).fit(bent)
    >>> A = np.column_stack([model.embedding_, np.ones(200)])  # the flat sheet, up to a linear map
    >>> left = np.linalg.lstsq(A, flat)[1] / (200 * flat.var(0))
    >>> bool((left < 0.01).all())
    True
    """

    confidence_curve = ConfidenceCurve(2.2, 0.6)

    def _align(self, X: Array, graph: ConnectedGraph, ctx: Context) -> Alignment:
        near, k = patches(graph), self.n_components
        return Alignment(ctx.ops.alignment_matrix(X, near, "ltsa", k, self.reg, graph.counts))
