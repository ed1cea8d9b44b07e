"""Hessian eigenmaps (Donoho and Grimes, 2003)."""

from __future__ import annotations

from ..backends.protocol import Array
from ..confidence.calibration import ConfidenceCurve
from ..core.estimator import reducer
from ..core.fit import Context
from ..graph.neighbor_graph import ConnectedGraph
from ..solvers.alignment import Alignment, LocallyLinearMethod, patches


@reducer
class HessianLLE(LocallyLinearMethod):
    """Hessian eigenmaps (Hessian LLE): functions whose Hessian on the manifold vanishes.

    Use it for a densely sampled manifold with holes or of a non-convex outline, where `Isomap`
    needs a convex one. It estimates second derivatives, so it wants more neighbors than `LTSA` and
    less noise.

    Cost: nearest neighbors, n small eigenproblems, and the smallest eigenvectors of one sparse
    matrix. New points: barycentric weights that reconstruct them from their nearest training
    points, applied to the coordinates of these.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=10
        Neighbors of each sample, itself not counted; all as near as the last one count.
        With k = n_components at least k + k(k + 1)/2 are needed. A patch is a point and its
        neighbors.
    radius : float or None, default=None
        All samples within this distance are neighbors instead of `n_neighbors`.
    reg : float, default=0.001
        Weight of what no quadric fits in a patch, beside that of second derivatives: without it
        (0, the method of the paper) a spike on a few points may have none that their patches see.
        1 is LTSA. Also the ridge of new points' weights, relative to the trace of each system.
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

    confidence_curve = ConfidenceCurve(2.2, 0.5)

    def _align(self, X: Array, graph: ConnectedGraph, ctx: Context) -> Alignment:
        k = self.n_components
        # In a patch of all points, smaller than a quadric has coefficients, nothing but the
        # tangent coordinates is left: that is LTSA, with which it agrees at equality.
        kind = "hessian" if len(X) > _n_quadric_coefficients(k) else "ltsa"
        return Alignment(
            ctx.ops.alignment_matrix(X, patches(graph), kind, k, self.reg, graph.counts)
        )

    def _min_neighbors(self, k: int) -> int:
        return _n_quadric_coefficients(k) - 1


def _n_quadric_coefficients(k: int) -> int:
    """Coefficients of a quadratic polynomial in k variables."""
    return 1 + k + k * (k + 1) // 2
