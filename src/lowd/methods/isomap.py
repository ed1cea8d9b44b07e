"""Isomap (Tenenbaum, de Silva and Langford, 2000)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from ..backends import resolve
from ..backends.protocol import Array, Ragged
from ..core import memory
from ..core.estimator import Context, Fit, reducer
from ..core.graph_method import GraphMethod
from ..core.parameters import Count, Metric, Positive, Seed, refuse_unused
from ..distances.metrics import Distances, data_kind, distances_of, takes_sparse
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..errors import ApproximationWarning, ParameterError, UnsupportedError, warn
from ..graph.components import OnDisconnected
from ..graph.given import NeighborGraph, select_listed
from ..graph.neighbor_graph import ConnectedGraph, build_neighbor_graph
from ..graph.search import count_points
from ..graph.short_circuits import warn_of_short_circuits
from ..input.ranges import FEW
from ..input.validation import Data, Kind
from ..maps.centered import GeodesicMap
from ..relations.geodesics import Geodesics, symmetrize_in_place
from ..relations.residual_variance import (
    MAX_SAMPLED_ROWS,
    PATH_BLOCK_ENTRIES,
    residual_variance,
)
from ..solvers.centered import centered_spectrum, check_count, formed, spectrum_memory
from ..solvers.landmarks import candidates, check_landmarks, farthest_points, scaled_from
from ..solvers.localized import knob_of, localized
from ..solvers.preimage import mirrored
from ..solvers.regression import CENTERS, regression
from ..values import frozen_copy

EXACT = 20_000  # rows; their distances take 1.6 GB in float64, each pair once
LANDMARKS = 1000


@reducer
class Isomap(GraphMethod):
    """Classical scaling of distances measured along the neighbor graph.

    Use it to unroll a curved sheet of points: far points keep the length of the way between them
    that stays on the sheet. It needs a sheet without large holes, sampled densely enough that
    neighbors in space are neighbors on it. For separate clusters it has no answer.

    Cost: n² / 2 lengths in memory while it fits, and about n² log n for the paths; with m landmarks
    n·m. The model keeps the graph. New points: joined to their nearest training points, they get
    the length of the shortest way to every training point, and from these their place by the
    formula of classical scaling; or by regression.

    Parameters
    ----------
    n_components
        Dimensions of the map.
    n_neighbors
        Each point is joined to so many nearest others.
    radius
        Or to all others within this distance; then `n_neighbors` does not count.
    metric, metric_params
        As in ClassicalMDS: a name, a callable, or "precomputed": a square matrix of distances, or
        the sparse graph of a KNeighborsTransformer.
    n_landmarks
        Measure ways to so many well spread points only. None takes all points, "auto" (default)
        all up to 20,000 rows and 1000 landmarks beyond, of which it warns.
    map
        "geodesic" as above, or "regression": kernel ridge from the data to the map. That is
        smoother, needs no matrix of distances, and training points return by memory only.
    on_disconnected
        A graph in pieces is joined by its shortest missing edges, with a warning, or an error.
    random_state
        Seed of the landmarks, of samples and of the solver's start. None is 0.

    Attributes
    ----------
    embedding_, eigenvalues_, eigenvectors_
    residual_variance_ : 1 - r² of the distances in the map's first 1, 2, ... dimensions and along
        the graph; where it stops falling is the dimension of the data
    graph_ : sparse symmetric lengths between rows; a copy is tied to its first row by a stored 0
    geodesic_distances_ : n x n, without landmarks; found anew from the graph at each call
    landmarks_ : row numbers
    n_graph_components_, graph_components_, bridges_ : pieces, the piece of each row (0 is the
        largest), and the pairs of rows that were joined
    n_distinct_, knn_recall_ : rows that are not copies of others; share of true neighbors found
    negative_eigenvalue_mass_, negative_mass_is_exact_ : share of the eigenvalues' size that no
        flat map can show; some is normal here
    reconstruction_error_ : of the inverse (from the nearest places in the map), on points that are
        left out: share of the rows' variance; dense rows only
    regression_gamma_, regression_ridge_, regression_error_ : what was chosen for map="regression",
        and the share of the map's variance that it misses on points that are left out
    participation_ : about how many rows an axis shows; a warning names those of a lonely one
    residual_, degenerate_axes_

    References
    ----------
    Tenenbaum, de Silva and Langford (2000), Science 290; de Silva and Tenenbaum (2002), landmarks;
    Bengio et al. (2004), new points.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> U = [[0, 2], [0, 1], [0, 0], [1, 0], [2, 0], [2, 1], [2, 2]]
    >>> model = lowd.Isomap(1, radius=1.0).fit(U)
    >>> model.embedding_.ravel().round(6) + 0.0
    array([ 3.,  2.,  1.,  0., -1., -2., -3.])
    >>> model.transform([[0, 1.5]]).round(6)
    array([[2.5]])
    """

    n_components: Count = 2
    n_neighbors: Count | None = 5
    radius: Positive | None = None
    metric: Metric = "euclidean"
    metric_params: dict[str, Any] | None = None
    n_landmarks: Count | Literal["auto"] | None = "auto"
    map: Literal["geodesic", "regression"] = "geodesic"
    on_disconnected: OnDisconnected = "join"
    random_state: Seed = None

    @property
    def geodesic_distances_(self) -> Array:
        """Lengths of the ways between all rows (n x n), found anew at each call."""
        if not hasattr(self, "graph_") or hasattr(self, "landmarks_"):
            raise AttributeError("geodesic_distances_ is there after a fit without landmarks.")
        n = self.n_samples_
        wide = self.embedding_.dtype if n > FEW else np.dtype(np.float64)
        memory.check(memory.Plan({"distances": n * n * wide.itemsize}), "geodesic_distances_", [])
        ops = resolve(self.backend, self.n_jobs)
        lengths = ops.geodesics(self.graph_.astype(wide)).distances(Ragged.singletons(np.arange(n)))
        symmetrize_in_place(lengths)
        return lengths

    def _of_points(self, near: csr_array) -> csr_array:
        return near  # its map knows all rows, whether copies or not

    def _fit(self, X: Any, ctx: Context, neighbors: Any = None) -> Fit:
        n, base, ready, k, radius = self._neighborhood(X, ctx, neighbors)
        check_count(self.n_components, n, f"n_samples={n}")
        m = self._landmarks(n)
        graph = build_neighbor_graph(
            base, k, radius, ctx.ops, self.on_disconnected, include_ties=True, given=ready
        )
        warn_of_short_circuits(graph, self.n_components)
        lengths = graph.symmetric_edges()
        dtype = np.dtype(getattr(X, "dtype", np.float64))
        geodesics = Geodesics.along(graph, lengths, k, radius, dtype)
        if m is None:
            fit = centered_spectrum(geodesics, self.n_components, ctx, euclidean=False)
        else:
            points = farthest_points(graph.base, len(graph.first_row), m, ctx)
            geodesics = geodesics.to_landmarks(points, ctx.ops)
            D, rows = geodesics.distances_to_landmarks, graph.first_row[points]
            fit = scaled_from(D, rows, geodesics, self.n_components, ctx)
        targets = fit.report.get("landmarks", np.arange(n))
        Y = np.asarray(fit.embedding, np.float64)[graph.first_row]
        fit = fit._replace(embedding=Y[graph.point_of_row])  # copies coincide to the last bit
        variance = residual_variance(geodesics, targets, Y[graph.point_of_row], ctx.seed, ctx.ops)
        fit = fit.with_report(
            graph=graph.expand_to_rows(lengths), residual_variance=variance, **graph.report
        )
        fit = fit.with_report(participation=localized(Y[graph.point_of_row], knob_of(self)))
        if self.map == "regression":
            place, report = regression(graph.base, Y, ctx)
            fit = fit._replace(map=place).with_report(**report)
        else:
            fit = fit._replace(map=GeodesicMap(fit.map))
        return self._with_inverse(fit, X, Y, graph, ctx)

    def _with_inverse(self, fit: Fit, X: Any, Y: Array, graph: ConnectedGraph, ctx: Context) -> Fit:
        """Back to rows, where there are rows."""
        if not isinstance(graph.base, Distances) or issparse(X):
            return fit
        plain = graph.base.preparation == "as they are"
        rows = fit.map.base.X if plain else frozen_copy(X[graph.first_row])
        back, error = mirrored(rows, Y.astype(ctx.dtype), 2 * self.n_components + 2, ctx)
        return fit._replace(inverse=back).with_report(reconstruction_error=error)

    def _neighborhood(
        self, X: Any, ctx: Context, neighbors: Any
    ) -> tuple[int, DistanceRelation, csr_array | None, int | None, float | None]:
        """How many rows, their distances, their graph if it is given, and who is a neighbor."""
        k, radius = self.n_neighbors, self.radius
        if radius is not None:
            if k is not None:
                refuse_unused(self, ["n_neighbors"], "radius is set")
            k = None
        elif k is None:
            raise ParameterError("Isomap(n_neighbors=None) needs a radius; set one of the two.")
        if issparse(X) and self.metric == "precomputed":
            if neighbors is not None or self.map == "regression":
                raise UnsupportedError(
                    "a sparse precomputed graph is the graph of neighbors, and all there is; "
                    "neighbors= and map='regression' need the rows."
                )
            listed = NeighborGraph.of(X).edges()
            return (
                X.shape[0],
                NeighborListDistances(X.shape[0]),
                select_listed(listed, k, radius),
                k,
                radius,
            )
        base = distances_of(Data(X, ctx.dtype, ctx.statistics), self.metric, self.metric_params)
        n = count_points(base)
        if neighbors is None:
            return n, base, None, k, radius
        refuse_unused(self, ["n_neighbors", "radius"], "the graph of neighbors is given")
        given = NeighborGraph.of(neighbors, n)
        return n, base, given.edges(), given.n_neighbors, None

    def _landmarks(self, n: int) -> int | None:
        """How many, or None for exact distances."""
        m = self._count(n)
        if m is not None:
            check_landmarks(m, self.n_components, n)
        if m is not None and self.n_landmarks == "auto":
            warn(
                f"with more than {EXACT} rows (here {n}) ways are measured to {m} landmarks; set "
                f"n_landmarks={m} to say that this is meant, or n_landmarks=None for ways between "
                f"all rows ({n * n * 4 / 2**30:.0f} GiB).",
                ApproximationWarning,
            )
        return m

    def _count(self, n: int) -> int | None:
        if self.n_landmarks == "auto":
            return None if n <= EXACT else max(LANDMARKS, 10 * self.n_components)
        return self.n_landmarks

    def _kind(self) -> Kind:
        return data_kind(self.metric)

    def _no_inverse(self) -> str:
        return "distances alone determine no rows; it needs dense rows and a named metric."

    def _takes_sparse(self) -> bool:
        return takes_sparse(self.metric) or self.metric == "precomputed"

    def _memory(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        k, m, wide = self.n_components, self._count(n), 8 if n <= 1000 else itemsize
        given = self.metric == "precomputed"
        indexed = self.radius is None and self.metric in ("euclidean", "cosine", "correlation")
        # How many are within a radius is not known; more than a few hundred make no sheet.
        degree = 2 * (self.n_neighbors or 5) if self.radius is None else min(n, 250)
        taken = {
            "rows": 0 if given else 3 * n * d * 8,
            "neighbors": 5 * n * degree * 8 if indexed else 3 * min(2**23, n * n) * 8,
            "graph": 8 * n * degree * 12,
            "map": 8 * n * k * 8,
            "residual variance": 6 * 8 * min(min(n, MAX_SAMPLED_ROWS) * (m or n), 2**20 + (m or n))
            + min(min(n, MAX_SAMPLED_ROWS) * (m or n), PATH_BLOCK_ENTRIES + (m or n)) * wide,
        }
        if m is None:
            held = n if formed(n, k) else n // 2 + 1  # else each pair once
            taken |= {"distances": n * held * wide, "spectrum": spectrum_memory(n, k)}
        else:
            taken |= {"distances": 3 * n * m * wide, "spectrum": spectrum_memory(m, k)}
            taken["landmarks"] = candidates(n, m) ** 2 * wide
        if self.map == "regression":
            taken["regression"] = 8 * min(n, CENTERS) ** 2 * 8
        return taken

    def _smaller(self, n: int) -> dict[str, Self]:
        m = min(n, max(LANDMARKS, 10 * self.n_components))
        if self._count(n) is not None:
            return {}
        params = {**self.get_params(deep=False), "n_landmarks": m}
        return {f"n_landmarks={m}": type(self)(**params)}
