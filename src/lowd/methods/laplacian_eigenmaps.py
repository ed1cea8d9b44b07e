"""Laplacian eigenmaps (Belkin and Niyogi, 2003)."""

from __future__ import annotations

from typing import Literal

from ..confidence.calibration import ConfidenceCurve
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.parameters import Count, Metric, MetricParams, Positive, Radius, Seed
from ..graph.components import OnDisconnected
from ..maps.laplacian import NystroemMap
from ..relations.affinity_graph import AffinityGraph
from ..solvers.laplacian import scale_eigenvectors, transition_spectrum
from ..solvers.laplacian_method import Affinity, LaplacianMethod


@reducer
class LaplacianEigenmaps(LaplacianMethod):
    """Laplacian eigenmaps (spectral embedding): smallest eigenvectors of the graph Laplacian.

    Use it to see clusters and one-dimensional progressions: it preserves local neighborhoods, and
    says nothing about distances. For a manifold whose lengths matter take Isomap or LTSA.

    Cost: nearest neighbors, then a sparse eigenproblem. New points: the eigenvector equation,
    solved for them alone: y = mean of the neighbors' y / (1 - λ) (Nyström).

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int or None, default=10
    radius : float or None, default=None
        An edge joins two samples if either is among the `n_neighbors` nearest of the other, or if
        they are within the radius instead. Both None: all pairs (n² memory).
    affinity : str or callable, default="heat"
        "heat" (or "rbf") w = exp(-d²/2σ²); "binary" w = 1; "nearest_neighbors" w = 1, or ½ where
        only one has the other, as in scikit-learn (whose n_neighbors is one more); "precomputed":
        `fit` takes the square matrix of weights (dense or sparse; its diagonal counts), `transform`
        those from new to training rows; or f(A, B), the weights between two arrays of rows, or
        scikit-learn's f(X), those among all rows of one.
    sigma : float or None, default=None
        σ of "heat". None: median distance to the last neighbor; of all pairs, as in DiffusionMaps.
    normalization : {"random_walk", "symmetric", "none"}, default="random_walk"
        "random_walk" L u = λ D u, "symmetric" its v = D^½ u, "none" L u = λ u.
    self_loops : bool, default=False
        Is a sample its own neighbor? That changes D, not L.
    scale : {"std", "unit", "commute"}, default="std"
        "std": columns of standard deviation 1. "unit": u'Du = 1 (u'u = 1 for the others).
        "commute": squared distances in all n - 1 dimensions are commute times of the random walk.
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
    n_landmarks : int or None, default=None
    map : {"nystroem", "harmonic"}, default="nystroem"
        Map of new points: "nystroem", or "harmonic": the mean of their neighbors.
    on_disconnected : {"join", "error"}, default="join"
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    eigenvalues_ : ndarray of shape (n_components + 1,)
        Ascending, with the 0 of the constant first.
    fiedler_value_ : float
    fiedler_vector_, degrees_, neighbor_radii_ : ndarray of shape (n_samples,)
    affinity_ : csr_array of shape (n_distinct, n_distinct)
    sigma_ : float or None
        Algebraic connectivity and its cut; sums and kth distances of the rows; their affinities.
    n_graph_components_, n_distinct_ : int
    graph_components_ : ndarray of shape (n_samples,)
    bridges_ : ndarray of shape (n_bridges, 2)
    residuals_, participation_ : ndarray of shape (n_components,)
    solver_ : str
    degenerate_axes_ : tuple of tuple of int
    landmarks_ : ndarray of shape (n_landmarks,)

    References
    ----------
    Belkin and Niyogi (2003), Neural Computation 15; Bengio et al. (2004), new points.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> t = np.linspace(0, 3, 50)
    >>> spiral = np.c_[np.exp(t) * np.cos(3 * t), np.exp(t) * np.sin(3 * t)]
    >>> model = lowd.LaplacianEigenmaps(1, n_neighbors=2).fit(spiral)
    >>> order = np.argsort(model.embedding_[:, 0])
    >>> bool((np.diff(order) == 1).all() or (np.diff(order) == -1).all())
    True
    """

    n_components: Count = 2
    n_neighbors: Count | None = 10
    radius: Radius | None = None
    affinity: Affinity = "heat"
    sigma: Positive | None = None
    normalization: Literal["random_walk", "symmetric", "none"] = "random_walk"
    self_loops: bool = False
    scale: Literal["std", "unit", "commute"] = "std"
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    n_landmarks: Count | None = None
    map: Literal["nystroem", "harmonic"] = "nystroem"
    on_disconnected: OnDisconnected = "join"
    random_state: Seed = None

    confidence_curve = ConfidenceCurve(2.9, 0.6)

    def _embed_affinities(self, graph: AffinityGraph, ctx: Context) -> Fit:
        k, form, counts = self.n_components, self.normalization, graph.counts
        spectrum = transition_spectrum(graph, k, ctx, normalized=form != "none")
        axes = scale_eigenvectors(spectrum, counts, k, form, self.scale)
        relation, harmonic = graph.relation.freeze(), self.map == "harmonic"
        nystroem = NystroemMap(relation, counts, axes.means, axes.Y, form, axes.gain, harmonic)
        report = {**axes.report(spectrum, graph), **self._report_affinities(graph)}
        return Fit(axes.Y[graph.point_of_row], nystroem, report)


SpectralEmbedding = LaplacianEigenmaps  # scikit-learn's name
