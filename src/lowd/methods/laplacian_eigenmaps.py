"""Laplacian eigenmaps (Belkin and Niyogi, 2003)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from ..backends.protocol import Float64
from ..core.declarations import LandmarkPolicy
from ..core.diagnostics import connecting_parameter, warn_of_localized_axes
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.graph_method import GraphMethod
from ..core.parameters import Count, Metric, Positive, Seed, refuse_unused
from ..distances.metrics import distances_of
from ..errors import ParameterError
from ..graph.components import OnDisconnected
from ..graph.given import NeighborGraph
from ..graph.search import count_points
from ..input.validation import Data
from ..maps.laplacian import MIN_NYSTROEM_DIVISOR, NystroemMap
from ..relations.affinity_graph import (
    AffinityGraph,
    build_full_affinities,
    build_neighbor_affinities,
    build_precomputed_affinities,
)
from ..solvers.canonical import signs
from ..solvers.laplacian import (
    INDEXED,
    Walk,
    drawn_landmarks,
    extended,
    padded,
    walk_memory,
    walk_spectrum,
)


@reducer
class LaplacianEigenmaps(GraphMethod):
    """Neighbors stay neighbors: the slowest functions on the neighbor graph as coordinates.

    Use it to see clusters and one long direction after the other; it keeps what is near, and says
    nothing of distances. For a sheet whose true lengths matter take Isomap or LTSA.

    Cost: finding neighbors, then a sparse eigenproblem. New rows are joined to the graph as
    training rows were, and the eigenvector equation is solved for them alone (Nyström):
    y = mean of the neighbors' y / (1 - λ). Also known as `SpectralEmbedding`.

    Parameters
    ----------
    n_components
        Dimensions of the map.
    n_neighbors
        Neighbors of each row, itself not counted; an edge where either end has the other. None,
        without a `radius`: every row is tied to every other (n² memory).
    radius
        All rows within this distance are neighbors instead.
    affinity
        "heat" w = exp(-d²/2σ²), "binary" w = 1, or "precomputed": `fit` takes the square matrix of
        weights (dense or sparse; its diagonal counts), `transform` weights from new to training
        rows.
    sigma
        σ of the heat kernel. None is the median distance to the last neighbor; for all pairs, as
        in DiffusionMaps.
    normalization
        "random_walk" L u = λ D u, "symmetric" its v = D^½ u, "none" L u = λ u.
    self_loops
        Is a row its own neighbor? That changes D, not L.
    scale
        "std": columns of standard deviation 1. "unit": u'Du = 1 (u'u = 1 for the others).
        "commute": squared distances in all n - 1 dimensions are commute times of the random walk.
    metric, metric_params
        As in ClassicalMDS: names, callables, "precomputed" distances.
    n_landmarks
        Fit so many rows, drawn at random, and place all others by the map.
    map
        How new rows are placed: "nystroem", or "harmonic" at the mean of their neighbors.
    on_disconnected
        "join" the pieces of the graph by their shortest edges, with a warning, or raise an "error".
    random_state
        Seed of the landmarks and of the solver's start. None is 0.

    Attributes
    ----------
    embedding_, eigenvalues_ : ascending, with the 0 of the constant first
    fiedler_value_, fiedler_vector_ : how connected the graph is, and where it would break
    affinity_, degrees_ : weights among the distinct rows, and their sum for every row
    sigma_, neighbor_radii_ : σ, and the distance of each row to its last neighbor
    n_graph_components_, graph_components_, bridges_, n_distinct_ : pieces, and copies of rows
    residuals_, solver_, degenerate_axes_, participation_, landmarks_

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
    radius: Positive | None = None
    affinity: Literal["heat", "binary", "precomputed"] = "heat"
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

    landmark_policy = LandmarkPolicy(2000, 20)

    def _fit(self, data: Data, ctx: Context, neighbors: Any = None) -> Fit:
        X = data.items
        self._refuse_unused()
        landmarks = drawn_landmarks(X, self.n_components, self.n_landmarks, ctx)
        graph = (
            self._affinities(data, landmarks, ctx)
            if neighbors is None
            else self._ready(data, neighbors, ctx)
        )
        plain = self.normalization == "none"
        walk = walk_spectrum(graph, self.n_components, ctx, normalized=not plain)
        return extended(self._placed(graph, walk), X, landmarks, ctx)

    def _affinities(self, data: Data, landmarks: Any, ctx: Context) -> AffinityGraph:
        if self.affinity == "precomputed":
            return build_precomputed_affinities(data.items, landmarks)
        base = distances_of(data, self.metric, self.metric_params)
        base = base if landmarks is None else base.take(landmarks)
        policy, loops = self.on_disconnected, self.self_loops
        if self.n_neighbors is None and self.radius is None:
            return build_full_affinities(base, self.sigma, ctx.ops, policy, self_loops=loops)
        k = self.n_neighbors if self.radius is None else None
        binary = self.affinity == "binary"
        return build_neighbor_affinities(
            base, k, self.radius, self.sigma, ctx.ops, policy, binary=binary, self_loops=loops
        )

    def _ready(self, data: Data, neighbors: Any, ctx: Context) -> AffinityGraph:
        """Ties along a graph that was found elsewhere."""
        unused = ["n_neighbors", "radius", "n_landmarks"]
        refuse_unused(self, unused, "the neighbor graph is given")
        if self.affinity == "precomputed":
            raise ParameterError("neighbors= would be ignored: affinity='precomputed' is a graph.")
        base = distances_of(data, self.metric, self.metric_params)
        given = NeighborGraph.of(neighbors, count_points(base))
        how = base, given.n_neighbors, None, self.sigma, ctx.ops, self.on_disconnected
        binary, loops = self.affinity == "binary", self.self_loops
        return build_neighbor_affinities(*how, binary=binary, self_loops=loops, given=given.edges())

    def _placed(self, graph: AffinityGraph, walk: Walk) -> Fit:
        """Eigenvectors as coordinates, in the scale that was asked for."""
        lam, degrees, mass = walk.values, walk.degrees, graph.counts
        y = walk.vectors / np.sqrt(mass)[:, None]  # orthonormal over rows, copies included
        u = y if self.normalization == "none" else y / np.sqrt(degrees)[:, None]
        if self.normalization == "random_walk":
            y = u
        flips = signs(y)
        factor = flips * self._factor(y, lam, mass, float(mass @ degrees))
        k = self.n_components
        places = padded(y * factor, k)
        means = places if y is u else padded(u * factor, k)
        gain = lam
        if self.normalization != "none":
            pole = np.abs(1 - lam) < MIN_NYSTROEM_DIVISOR
            gain = np.where(pole, 1.0, 1 / np.where(pole, 1.0, 1 - lam))
        place = NystroemMap(
            graph.relation.freeze(),
            mass,
            means,
            places,
            self.normalization,
            np.pad(gain, (0, k - len(gain))),
            self.map == "harmonic",
        )
        embedding = places[graph.point_of_row]
        report = {
            "n_components": k,
            "eigenvalues": np.concatenate([[0.0], lam]),
            "degrees": degrees[graph.point_of_row],
            "participation": warn_of_localized_axes(embedding, connecting_parameter(self)),
            **graph.report,
            **walk.report,
        }
        if len(lam):
            report["fiedler_value"] = float(lam[0])
            report["fiedler_vector"] = (y * flips)[graph.point_of_row, 0]
        if issparse(graph.weights) and self.affinity != "precomputed":
            report["affinity"] = graph.weights
        return Fit(embedding, place, report)

    def _factor(self, y: Float64, lam: Float64, mass: Float64, volume: float) -> Float64:
        """What each column of unit length is multiplied by."""
        if self.scale == "unit":
            return np.ones(len(lam))
        if self.scale == "commute":
            return np.sqrt(volume / np.maximum(lam, np.finfo(float).tiny))
        share = mass / mass.sum()
        spread = np.sqrt(share @ (y - share @ y) ** 2)
        return np.asarray(1 / np.where(spread > 0, spread, 1.0))

    def _refuse_unused(self) -> None:
        full = self.n_neighbors is None and self.radius is None
        if self.affinity == "precomputed":
            unused = ["n_neighbors", "radius", "sigma", "self_loops", "metric", "metric_params"]
            refuse_unused(self, unused, "affinity='precomputed' is the graph")
        elif self.radius is not None and self.n_neighbors is not None:
            refuse_unused(self, ["n_neighbors"], "the radius says who is a neighbor")
        if self.affinity == "binary":
            refuse_unused(self, ["sigma"], "affinity='binary' has no scale")
        if self.affinity == "binary" and full:
            raise ParameterError(
                "affinity='binary' ties all rows to all others alike; set n_neighbors or radius."
            )
        if self.scale == "commute" and self.normalization == "symmetric":
            raise ParameterError(
                "scale='commute' needs normalization='random_walk' or 'none': 'symmetric' weighs "
                "rows by their degrees, so distances are no times."
            )

    def _memory(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        m = n if self.n_landmarks is None else min(n, self.n_landmarks)
        indexed = self.metric in INDEXED and self.radius is None
        # How many rows are within a radius is not known beforehand.
        ties = self.n_neighbors if self.radius is None else 250
        ties = None if self.affinity == "precomputed" else ties
        return walk_memory(n, m, d, itemsize, self.n_components, ties, indexed)


SpectralEmbedding = LaplacianEigenmaps  # scikit-learn's name
