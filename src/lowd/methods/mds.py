"""Metric multidimensional scaling: least squares on distances (Kruskal, 1964; de Leeuw, 1977)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np

from .. import random
from ..backends.protocol import Ties
from ..core.estimator import Context, Fit, Reducer, reducer
from ..core.parameters import Count, Metric, Seed, Share, refuse_unused
from ..distances.metrics import data_kind, distances_of, takes_sparse
from ..distances.protocol import DistanceRelation
from ..errors import ApproximationWarning, warn
from ..input.validation import Data, Kind
from ..maps.stress import StressMap
from ..solvers.centered import check_count, spectrum_memory
from ..solvers.landmarks import check_landmarks
from ..solvers.stress import check_connected, measures, projection, scale, starting, weights_of

# Beyond so many rows a step over all pairs takes seconds, and their distances gigabytes.
MANY, ENOUGH = 20_000, 2_000


@reducer
class MDS(Reducer):
    """Points whose distances match the given ones, in least squares (SMACOF).

    Use it when distances themselves should be read off the map: unlike classical scaling it fits
    the distances, not inner products, takes weights, and does without some of the distances. The
    answer is a local minimum; the default start, classical scaling, makes it a good one.

    Cost: n² memory and about n² operations per step; n³/3 once with weights or missing distances.
    Above 20,000 rows 2,000 landmarks are scaled and the others placed, with a warning. New points:
    each goes where its distances to the frozen training points fit best.

    Parameters
    ----------
    n_components
        Dimensions of the map.
    metric
        A name, a callable on any two objects, or "precomputed" (then `fit` takes a square matrix
        and `transform` the distances from new to training points; NaN is a missing distance, and 0
        means the same object).
    metric_params
        {"p": 3} for "minkowski", {"weights": [...]} for "gower", keywords for a callable.
    weights
        A symmetric matrix, one number >= 0 per pair; "sammon": 1 / distance, Sammon's mapping;
        None: all alike. A new point's distances weigh 1 each, or 1 / distance for "sammon".
    init
        "classical_mds", "random", or an array of places.
    n_init
        Starts, all but a classical one random; the lowest stress is kept.
    max_iter, eps
        A path ends after so many steps, or when a step promises less than `eps` of the stress.
    n_landmarks
        Scale that many random points and place the others by the map.
    random_state
        Seed of starts and landmarks. None is 0.

    Attributes
    ----------
    embedding_ : centered, turned to its principal axes
    stress_ : Σ w (δ - d)² over pairs (of landmarks, if there are any), d of the returned points
    stress1_ : √(Σ w (δ - d)² / Σ w d²), Kruskal's Stress-1
    normalized_stress_ : Stress-1 at the best scale of the map, √(1 - c²) with c = cos(δ, d)
    stress_history_ : raw stress before every step; it never rises
    n_iter_, converged_, route_ ("all pairs" or "landmarks"), landmarks_

    References
    ----------
    Kruskal (1964), Psychometrika 29; Sammon (1969), IEEE Trans. Computers 18; de Leeuw (1977);
    Borg and Groenen (2005), Modern Multidimensional Scaling.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> mds = lowd.MDS(2, metric="precomputed").fit(D)
    >>> mds.stress_ < 1e-12
    True
    >>> place = mds.transform([[5.0, 4.0, np.nan]])  # one of its distances is not known
    >>> np.linalg.norm(mds.embedding_ - place, axis=1)[:2].round(6)
    array([5., 4.])
    """

    n_components: Count = 2
    metric: Metric = "euclidean"
    metric_params: dict[str, Any] | None = None
    weights: Literal["sammon"] | np.ndarray | None = None
    init: Literal["classical_mds", "random"] | np.ndarray = "classical_mds"
    n_init: Count = 1
    max_iter: Count = 300
    eps: Share = 1e-6
    n_landmarks: Count | None = None
    random_state: Seed = None

    gaps: ClassVar[bool] = True

    def _fit(self, X: Any, ctx: Context) -> Fit:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        check_count(self.n_components, n, f"n_samples={n}")
        base = distances_of(Data(X, ctx.dtype, ctx.statistics), self.metric, self.metric_params)
        if isinstance(self.init, np.ndarray):
            refuse_unused(self, ["n_init"], "init is an array of places")
        m = self._count(n)
        if m is None:
            return self._scaled(base, ctx).with_report(route="all pairs")
        if self.n_landmarks is None:
            warn(
                f"{n} rows have {n * (n - 1) // 2:.1e} pairs; {m} random landmarks are scaled and "
                f"the others placed by the map (n_landmarks={m} says so without a warning).",
                ApproximationWarning,
            )
        check_landmarks(m, self.n_components, n)
        chosen = random.subset(ctx.seed, "landmarks", n, m)
        fit = self._scaled(base.take(chosen), ctx)
        embedding = fit.map(base.training_points(), ctx.ops)
        return fit._replace(embedding=embedding).with_report(route="landmarks", landmarks=chosen)

    def _scaled(self, base: DistanceRelation, ctx: Context) -> Fit:
        D, k = base.among(ctx.ops), self.n_components
        W = weights_of(self.weights, D)
        if W is not None:
            check_connected(W)
        plan = ctx.ops.stress_plan(D, W, self._ties())
        starts = starting(self.init, self.n_init, D, k, ctx)
        path = scale(plan, W, len(D), starts, self.max_iter, self.eps)
        Y = path.Y.astype(ctx.dtype).astype(np.float64)  # as it is returned
        curve = plan.disparities(Y)
        sammon = isinstance(self.weights, str)
        place = StressMap(base.freeze(), Y, *projection(Y), curve, sammon, self.max_iter)
        report = {
            "n_components": k,
            **measures(plan.step(Y)),
            "stress_history": path.history,
            "n_iter": path.n_iter,
            "converged": path.converged,
        }
        if curve is not None:
            report |= {"isotonic_x": curve[0], "isotonic_y": curve[1]}
        return Fit(Y, place, report)

    def _ties(self) -> Ties | None:
        """How disparities treat tied dissimilarities; None: they are the dissimilarities."""
        return None

    def _count(self, n: int) -> int | None:
        """How many landmarks there are, if any."""
        return ENOUGH if self.n_landmarks is None and n > MANY else self.n_landmarks

    def _kind(self) -> Kind:
        return data_kind(self.metric)

    def _takes_sparse(self) -> bool:
        return takes_sparse(self.metric)

    def _no_inverse(self) -> str:
        return "distances alone do not determine rows."

    def _memory(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        k, chosen = self.n_components, self._count(n)
        m = n if chosen is None else min(n, chosen)
        wide = 8 if m <= 1000 else itemsize
        given = self.metric == "precomputed"
        return {
            "distances": m * m * (wide + 2) + (n * n * wide if given else 0),
            "weights": 0 if self.weights is None and not given else 5 * m * m * 8,
            "spectrum": spectrum_memory(m, k),
            "map": 80 * n * k * 8 + (2**27 if chosen else 0),
            "packed rows": 0 if given else 2 * n * d * itemsize,
        }

    def _smaller(self, n: int) -> dict[str, Self]:
        if self._count(n) is not None or n <= ENOUGH or self.weights is not None:
            return {}
        smaller = type(self)(**{**self.get_params(deep=False), "n_landmarks": ENOUGH})
        return {f"n_landmarks={ENOUGH}": smaller}
