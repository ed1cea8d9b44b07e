"""Non-metric multidimensional scaling: only the order of dissimilarities (Kruskal, 1964)."""

from __future__ import annotations

from typing import Literal

from ..backends.protocol import Ties
from ..confidence.calibration import ConfidenceCurve
from ..core.estimator import reducer
from ..solvers.memory_plans import plan_nonmetric_mds
from .mds import MDS


@reducer
class NonMetricMDS(MDS):
    """Non-metric multidimensional scaling: distances in the order of the dissimilarities.

    Use it when dissimilarities are judgments or scores of which only the order can be trusted. An
    increasing function from dissimilarities to distances (disparities) is fitted together with the
    embedding.

    Every step fits the disparities by isotonic regression (pooling adjacent violators, in an order
    that is sorted once), scales them to mean square 1, so that points cannot coincide, and takes
    the Guttman transform toward them.

    Cost: n²/2 pairs of 25 bytes; a step takes five to seven times as long as one of `MDS`.
    New points: dissimilarities go through the fitted function, then as in `MDS`.

    Parameters
    ----------
    n_components : int, default=2
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
    weights : "sammon", ndarray or None, default=None
    init : {"classical_mds", "random"} or ndarray, default="classical_mds"
    n_init : int, default=1
    max_iter : int, default=300
    eps : float, default=1e-06
    n_landmarks : int or None, default=None
    random_state : int, RandomState, Generator or None, default=None
        As in `MDS`.
    ties : {"primary", "secondary"}, default="primary"
        "primary": equal dissimilarities may become different distances; "secondary": they may not.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Centered, on its principal axes, distances of mean square about 1.
    isotonic_x_, isotonic_y_ : ndarray of shape (n_corners,)
        Corners of the fitted function, linear between, constant beyond.
    stress_ : float
        As in `MDS`, with the function's values for δ.
    stress1_ : float
        Kruskal's Stress-1, √(Σ w (d̂ - d)² / Σ w d²), d̂ the isotonic regression of d.
    normalized_stress_ : float
        The same: the regression has the best scale.
    stress_history_ : ndarray of shape (n_iter,)
    n_iter_ : int
    converged_ : bool
    route_ : str
    landmarks_ : ndarray of shape (n_landmarks,)

    References
    ----------
    Kruskal (1964), Psychometrika 29, both papers; Borg and Groenen (2005), chapter 9.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> D = np.linalg.norm(X[:, None] - X, axis=2)
    >>> model = lowd.NonMetricMDS(2, metric="precomputed", ties="secondary").fit(D**3)
    >>> model.stress1_ < 0.01  # the cubes have the order of the distances
    True
    """

    ties: Literal["primary", "secondary"] = "primary"

    is_ordinal = True
    memory_plan = plan_nonmetric_mds
    confidence_curve = ConfidenceCurve(4.3, 0.6)

    def _ties(self) -> Ties:
        return self.ties
