"""Metric multidimensional scaling: least squares on distances (Kruskal, 1964; de Leeuw, 1977)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..confidence.calibration import ConfidenceCurve
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.parameters import Count, Metric, MetricParams, Seed, Share
from ..distances.metrics import distances_of
from ..distances.order import draw_landmarks
from ..input.row_order import invert_order
from ..input.validation import Data
from ..solvers.majorization import minimize_stress
from ..solvers.memory_plans import plan_mds
from ..solvers.stress_method import StressMethod


@reducer
class MDS(StressMethod):
    """Metric multidimensional scaling: least squares on distances, by SMACOF.

    Use it when distances should be read off the embedding: unlike classical MDS it fits the
    distances, not inner products, takes weights, and does without some of the distances. The
    result is a local minimum of the stress; the default start, classical MDS, makes it a good one.

    Cost: n² memory and about n² operations per step; n³/3 once with weights or missing distances.
    Above 20,000 rows 2,000 landmarks are embedded and the others mapped, with a warning.
    New points: the stress of each is minimized with the training embedding fixed.

    Parameters
    ----------
    n_components : int, default=2
    metric : str or callable, default="euclidean"
        As in ClassicalMDS; of "precomputed" distances NaN is missing, and 0 means the same object.
    metric_params : dict or None, default=None
    weights : "sammon", ndarray or None, default=None
        A symmetric matrix, one number >= 0 per pair; "sammon": 1 / distance, Sammon's mapping;
        None: all alike. A new point's distances weigh 1 each, or 1 / distance for "sammon".
    init : {"classical_mds", "random"} or ndarray, default="classical_mds"
    n_init : int, default=1
        "classical_mds", "random", or an array of coordinates; and the number of starts, all but a
        classical one random, of which the lowest stress is kept.
    max_iter : int, default=300
    eps : float, default=1e-06
        A path ends after so many steps, or when a step promises less than `eps` of the stress.
    n_landmarks : int or None, default=None
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Centered, turned to its principal axes.
    stress_, stress1_, normalized_stress_ : float
        Σ w (δ - d)² over pairs (of landmarks, if there are any), d of the returned points;
        √(Σ w (δ - d)² / Σ w d²), Kruskal's Stress-1; and that at the best scale of the embedding,
        √(1 - c²) with c = cos(δ, d).
    stress_history_ : ndarray of shape (n_iter,)
        Raw stress before every step; it never rises.
    n_iter_ : int
    converged_ : bool
    landmarks_ : ndarray of shape (n_landmarks,)
    route_ : str
        "all pairs" or "landmarks".

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
    >>> y = mds.transform([[5.0, 4.0, np.nan]])  # one of its distances is not known
    >>> np.linalg.norm(mds.embedding_ - y, axis=1)[:2].round(6)
    array([5., 4.])
    """

    n_components: Count = 2
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    weights: Literal["sammon"] | np.ndarray | None = None
    init: Literal["classical_mds", "random"] | np.ndarray = "classical_mds"
    n_init: Count = 1
    max_iter: Count = 300
    eps: Share = 1e-6
    n_landmarks: Count | None = None
    random_state: Seed = None

    memory_plan = plan_mds
    confidence_curve = ConfidenceCurve(3.7, 0.6)

    def _fit(self, data: Data, ctx: Context) -> Fit:
        n = data.shape[0]
        how = self._majorization(n)
        base = distances_of(data, self.metric, self.metric_params)
        order, m = self._order(base, how), self.landmark_policy.choose(self, n)
        rows = order if m is None else draw_landmarks(order, m, ctx.seed)
        fit = minimize_stress(base.take(rows), rows, how, ctx)
        if m is None:
            assert fit.embedding is not None
            Y = fit.embedding[invert_order(order)]
            return fit._replace(embedding=Y).with_report(route="all pairs")
        Y = fit.map(base.training_points(), ctx.ops)
        return fit._replace(embedding=Y).with_report(route="landmarks", landmarks=rows)
