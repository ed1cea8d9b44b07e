"""Laplacian eigenmaps (Belkin and Niyogi, 2003)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from ..confidence.calibration import ConfidenceCurve
from ..core.declarations import Conflict, Ignored, is_radius_given, when
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.parameters import Count, Metric, Positive, Radius, Seed
from ..graph.components import OnDisconnected
from ..maps.laplacian import NystroemMap, nystroem_gain
from ..relations.affinity_graph import AffinityGraph
from ..solvers.affinity_method import AffinityMethod
from ..solvers.canonical import sign_flips
from ..solvers.laplacian import pad_columns, scale_columns, transition_spectrum

Affinity = Literal["heat", "rbf", "binary", "nearest_neighbors", "precomputed"] | Callable[..., Any]
UNWEIGHTED = ("binary", "nearest_neighbors")


@reducer
class LaplacianEigenmaps(AffinityMethod):
    """Laplacian eigenmaps (spectral embedding): smallest eigenvectors of the graph Laplacian.

    Use it to see clusters and one-dimensional progressions: it preserves local neighborhoods, and
    says nothing about distances. For a manifold whose lengths matter take Isomap or LTSA.

    Cost: nearest neighbors, then a sparse eigenproblem. New points: connected to the graph as
    training points are, and the eigenvector equation solved for them alone (Nyström):
    y = mean of the neighbors' y / (1 - λ). Also known as `SpectralEmbedding`.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int or None, default=10
        Neighbors of each sample, itself not counted; an edge where either end has the other. None,
        without a `radius`: all pairs have an edge (n² memory).
    radius : float or None, default=None
        All samples within this distance are neighbors instead.
    affinity : str or callable, default="heat"
        "heat" (or "rbf") w = exp(-d²/2σ²); "binary" w = 1; "nearest_neighbors" w = 1, or ½ where
        only one of the two has the other among its neighbors, as in scikit-learn (whose
        n_neighbors counts the sample itself: one more than here); "precomputed": `fit` takes the
        square matrix of weights (dense or sparse; its diagonal counts), `transform` weights from
        new to training rows; or a callable f(A, B) that returns the matrix of weights of two
        arrays of rows.
    sigma : float or None, default=None
        σ of the heat kernel. None is the median distance to the last neighbor; for all pairs, as
        in DiffusionMaps.
    normalization : {"random_walk", "symmetric", "none"}, default="random_walk"
        "random_walk" L u = λ D u, "symmetric" its v = D^½ u, "none" L u = λ u.
    self_loops : bool, default=False
        Is a sample its own neighbor? That changes D, not L.
    scale : {"std", "unit", "commute"}, default="std"
        "std": columns of standard deviation 1. "unit": u'Du = 1 (u'u = 1 for the others).
        "commute": squared distances in all n - 1 dimensions are commute times of the random walk.
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
        As in ClassicalMDS: names, callables, "precomputed" distances.
    n_landmarks : int or None, default=None
        Fit that many random samples, and map the others.
    map : {"nystroem", "harmonic"}, default="nystroem"
        Map of new points: "nystroem", or "harmonic": the mean of their neighbors.
    on_disconnected : {"join", "error"}, default="join"
        "join" the connected components of the graph by bridges, with a warning, or raise an
        "error".
    random_state : int, RandomState, Generator or None, default=None
        Seed of the landmarks and of the eigensolver's start. None is 0.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    eigenvalues_ : ndarray of shape (n_components + 1,)
        Ascending, with the 0 of the constant first.
    fiedler_value_ : float
    fiedler_vector_ : ndarray of shape (n_samples,)
        Algebraic connectivity, and the cut that it belongs to.
    affinity_ : csr_array of shape (n_distinct, n_distinct)
    degrees_ : ndarray of shape (n_samples,)
        Affinities among the distinct rows, and their sum for every row.
    sigma_ : float or None
    neighbor_radii_ : ndarray of shape (n_samples,)
        σ, and the distance of each row to its last neighbor.
    n_graph_components_ : int
    graph_components_ : ndarray of shape (n_samples,)
    bridges_ : ndarray of shape (n_bridges, 2)
    n_distinct_ : int
        Connected components, bridges between them, and rows that are not duplicates.
    residuals_ : ndarray of shape (n_components,)
    solver_ : str
    degenerate_axes_ : tuple of tuple of int
    participation_ : ndarray of shape (n_components,)
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
    metric_params: dict[str, Any] | None = None
    n_landmarks: Count | None = None
    map: Literal["nystroem", "harmonic"] = "nystroem"
    on_disconnected: OnDisconnected = "join"
    random_state: Seed = None

    ignored = (
        Ignored(
            ("n_neighbors", "radius", "sigma", "self_loops", "metric", "metric_params"),
            "affinity='precomputed' is the graph",
            when(affinity="precomputed"),
        ),
        Ignored(("n_neighbors",), "the radius determines the neighbors", is_radius_given),
        Ignored(("sigma",), "affinity={model.affinity!r} has no scale", when(affinity=UNWEIGHTED)),
        Ignored(
            ("n_neighbors", "radius", "sigma", "self_loops", "metric", "metric_params"),
            "a callable affinity weighs all pairs of rows",
            lambda model: callable(model.affinity),
        ),
    )
    conflicts = (
        Conflict(
            "affinity='binary' gives all pairs the same weight; set n_neighbors or radius.",
            when(affinity=UNWEIGHTED, n_neighbors=None, radius=None),
        ),
        Conflict(
            "scale='commute' needs normalization='random_walk' or 'none': 'symmetric' weighs rows "
            "by their degrees, so distances are no commute times.",
            when(scale="commute", normalization="symmetric"),
        ),
    )
    confidence_curve = ConfidenceCurve(2.1, 0.7)

    def _has_self_loops(self) -> bool:
        return self.self_loops

    def _embed_affinities(self, graph: AffinityGraph, ctx: Context) -> Fit:
        normalized = self.normalization != "none"
        spectrum = transition_spectrum(graph, self.n_components, ctx, normalized=normalized)
        lam, degrees, counts = spectrum.values, spectrum.degrees, graph.counts
        y = spectrum.vectors / np.sqrt(counts)[:, None]  # orthonormal over all rows
        u = y / np.sqrt(degrees)[:, None] if normalized else y
        if self.normalization == "random_walk":
            y = u
        flips = sign_flips(y)
        factor = flips * scale_columns(self.scale, y, lam, counts, float(counts @ degrees))
        k = self.n_components
        Y = pad_columns(y * factor, k)
        means = Y if y is u else pad_columns(u * factor, k)
        gain = np.pad(nystroem_gain(lam) if normalized else lam, (0, k - len(lam)))
        relation, harmonic = graph.relation.freeze(), self.map == "harmonic"
        nystroem = NystroemMap(relation, counts, means, Y, self.normalization, gain, harmonic)
        report = {
            "n_components": k,
            "eigenvalues": np.concatenate([[0.0], lam]),
            "degrees": degrees[graph.point_of_row],
            **graph.report,
            **spectrum.report,
        }
        if len(lam):
            report["fiedler_value"] = float(lam[0])
            report["fiedler_vector"] = (y * flips)[graph.point_of_row, 0]
        if issparse(graph.weights) and self.affinity != "precomputed":
            report["affinity"] = graph.weights
        return Fit(Y[graph.point_of_row], nystroem, report)


SpectralEmbedding = LaplacianEigenmaps  # scikit-learn's name
