"""Diffusion maps (Coifman and Lafon, 2006)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from ..backends.protocol import Float64
from ..core.declarations import LandmarkPolicy
from ..core.diagnostics import connecting_parameter, warn_of_localized_axes
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.graph_method import GraphMethod
from ..core.parameters import (
    AtLeast,
    AtMost,
    Count,
    Metric,
    NonNegative,
    Positive,
    Seed,
    refuse_unused,
)
from ..distances.metrics import distances_of
from ..errors import ParameterError, RankWarning, warn
from ..graph.components import OnDisconnected
from ..graph.given import NeighborGraph
from ..graph.search import count_points
from ..input.validation import Data
from ..maps.laplacian import NystroemMap
from ..relations.affinity_graph import (
    AffinityGraph,
    build_full_affinities,
    build_neighbor_affinities,
)
from ..relations.bandwidth import compute_dimension_by_scale
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

DENSE = 5000  # rows up to which the kernel ties all pairs
MANY = 60  # neighbors that are tied beyond that


@reducer
class DiffusionMaps(GraphMethod):
    """Coordinates whose distances are diffusion distances: how differently two walks spread.

    Use it for shapes with branches, noise and uneven density: a distance sums over all paths, so a
    few short cuts change little. With `alpha=1` the density of the sample does not matter.

    Cost: n²·d for the kernel up to 5,000 rows, beyond that 60 neighbors of each row and a sparse
    eigenproblem. New rows (Nyström): the mean of ψ over one step of the walk, over λ.

    Parameters
    ----------
    n_components
        Dimensions of the map.
    alpha
        How much of the sampling density is divided out: 0 nothing (the walk on the graph),
        ½ Fokker-Planck, 1 all of it (the shape alone).
    time
        Steps t of the walk: y = λ^t ψ. 0 gives ψ itself; more steps keep slower modes.
    sigma
        σ of the kernel exp(-d²/2σ²). None is the median distance to the third neighbor, and about
        three times that for rows along a curve.
    n_neighbors
        Tie only so many neighbors of each row; None ties all pairs up to 5,000 rows, and 60
        neighbors beyond (`n_neighbors_` says what was done).
    metric, metric_params
        As in ClassicalMDS: names, callables, "precomputed" distances.
    n_landmarks
        Fit so many rows, drawn at random, and place all others by the map.
    on_disconnected
        "join" pieces that the kernel does not tie by their shortest edges, with a warning, or
        raise an "error".
    random_state
        Seed of the landmarks and of the solver's start. None is 0.

    Attributes
    ----------
    embedding_, eigenvalues_ : λ descending, with the leading 1
    psi_ : eigenvectors ψ of the walk; mean 0 and mean square 1 under `stationary_`
    density_, degrees_, stationary_ : q, the degrees after normalization, and the walk's long run
    sigma_, n_neighbors_ : the scale and the neighbors that were used (None: all pairs)
    scales_, scale_dimensions_ : other scales s, and d log Σ exp(-d²/2s²) / d log s, which is the
        dimension that the rows seem to have at that scale
    n_graph_components_, graph_components_, bridges_, n_distinct_ : pieces, and copies of rows
    residuals_, solver_, degenerate_axes_, participation_, landmarks_

    References
    ----------
    Coifman and Lafon (2006), Applied and Computational Harmonic Analysis 21.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> t = np.linspace(0, 1, 40) ** 2  # a bent line, unevenly sampled
    >>> model = lowd.DiffusionMaps(1, sigma=0.1).fit(np.c_[t, t**2])
    >>> order = np.argsort(model.embedding_[:, 0])
    >>> bool((np.diff(order) == 1).all() or (np.diff(order) == -1).all())
    True
    """

    n_components: Count = 2
    alpha: Annotated[float, AtLeast(0), AtMost(1)] = 1.0
    time: NonNegative = 1
    sigma: Positive | None = None
    n_neighbors: Count | None = None
    metric: Metric = "euclidean"
    metric_params: dict[str, Any] | None = None
    n_landmarks: Count | None = None
    on_disconnected: OnDisconnected = "join"
    random_state: Seed = None

    landmark_policy = LandmarkPolicy(2000, 20)

    def _fit(self, data: Data, ctx: Context, neighbors: Any = None) -> Fit:
        X = data.items
        landmarks = drawn_landmarks(X, self.n_components, self.n_landmarks, ctx)
        graph, k = self._kernel(data, landmarks, ctx, neighbors)
        growth = _growth(graph)
        graph, density = _less_dense(graph, self.alpha, ctx)
        walk = walk_spectrum(graph, self.n_components, ctx)
        fit = self._placed(graph, walk, density).with_report(n_neighbors=k, **growth)
        return extended(fit, X, landmarks, ctx)

    def _kernel(
        self, data: Data, landmarks: Any, ctx: Context, neighbors: Any
    ) -> tuple[AffinityGraph, int | None]:
        base = distances_of(data, self.metric, self.metric_params)
        base = base if landmarks is None else base.take(landmarks)
        k, ready = _neighbors(self.n_neighbors, count_points(base)), None
        if neighbors is not None:
            unused = ["n_neighbors", "n_landmarks"]
            refuse_unused(self, unused, "the neighbor graph is given")
            given = NeighborGraph.of(neighbors, count_points(base))
            k, ready = given.n_neighbors, given.edges()
        if k is None:
            return build_full_affinities(
                base, self.sigma, ctx.ops, self.on_disconnected, self_loops=True
            ), None
        how = base, k, None, self.sigma, ctx.ops, self.on_disconnected
        return build_neighbor_affinities(*how, self_loops=True, local_scale=True, given=ready), k

    def _placed(self, graph: AffinityGraph, walk: Walk, density: Float64) -> Fit:
        """ψ, then λ^t ψ."""
        k, degrees, mass = self.n_components, walk.degrees, graph.counts
        stationary = degrees / float(mass @ degrees)
        psi = walk.vectors / np.sqrt(mass * stationary)[:, None]
        psi = padded(psi * signs(psi), k)
        lam = np.pad(1 - walk.values, (0, k - len(walk.values)))
        powers = self._powers(lam, len(mass))
        gain = np.divide(1, lam, out=np.zeros(k), where=powers != 0)
        places = psi * powers
        weights = mass * density**-self.alpha
        place = NystroemMap(graph.relation.freeze(), weights, places, places, "random_walk", gain)
        report = {
            "n_components": k,
            "eigenvalues": np.concatenate([[1.0], lam[: len(walk.values)]]),
            "psi": psi[graph.point_of_row],
            "density": density[graph.point_of_row],
            "degrees": degrees[graph.point_of_row],
            "stationary": stationary[graph.point_of_row],
            "participation": warn_of_localized_axes(
                psi[graph.point_of_row], connecting_parameter(self)
            ),
            **graph.report,
            **walk.report,
        }
        return Fit(places[graph.point_of_row], place, report)

    def _powers(self, lam: Float64, n: int) -> Float64:
        """λ^t; 0 where λ is but rounding."""
        some = np.abs(lam) > n * np.finfo(float).eps
        if not some.all() and n > len(lam):
            warn(
                f"only {int(some.sum())} of n_components={len(lam)} eigenvalues differ from 0; the "
                "other columns are 0. A smaller sigma has more.",
                RankWarning,
            )
        negative = np.flatnonzero((lam < 0) & some)
        if len(negative) and self.time != int(self.time):
            raise ParameterError(
                f"time={self.time} is no whole number, but the eigenvalue of axis {negative[0]} is "
                f"{lam[negative[0]]:.3g}, and a power of it no number; use time="
                f"{round(self.time)} or n_components={max(int(negative[0]), 1)}."
            )
        powers = np.zeros(len(lam))
        powers[some] = lam[some] ** self.time
        return powers

    def _memory(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        m = n if self.n_landmarks is None else min(n, self.n_landmarks)
        ties = _neighbors(self.n_neighbors, m)
        indexed = self.metric in INDEXED
        return walk_memory(n, m, d, itemsize, self.n_components, ties, indexed)


def _neighbors(k: int | None, n: int) -> int | None:
    return MANY if k is None and n > DENSE else k


def _growth(graph: AffinityGraph) -> dict[str, Float64]:
    """What other scales would show."""
    if graph.n_points == 1 or graph.lengths is None:
        return {}
    scales, dimensions = compute_dimension_by_scale(graph.lengths, graph.report["sigma"])
    return {"scales": scales, "scale_dimensions": dimensions}


def _less_dense(graph: AffinityGraph, alpha: float, ctx: Context) -> tuple[AffinityGraph, Float64]:
    """The kernel over the densities of both ends to the power alpha, and the densities."""
    K, counts = graph.weights, graph.counts
    density = ctx.ops.matmul(K, counts[:, None])[:, 0]
    if issparse(K):
        scale = diags_array(density**-alpha)
        return graph.with_weights(csr_array(scale @ K @ scale)), density
    scale = (density**-alpha).astype(K.dtype)
    K *= scale[:, None]
    K *= scale
    return graph.with_weights(K), density
