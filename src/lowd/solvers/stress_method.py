"""What MDS needs before its iteration: valid starts and weights, canonical order, landmarks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Ties
from ..core.declarations import Ignored, LandmarkPolicy, when_array
from ..core.estimator import Reducer, reducer
from ..core.parameters import check_count
from ..distances.order import order_points
from ..distances.protocol import DistanceRelation
from .initialization import validate_configuration
from .majorization import Majorization
from .stress import validate_weights


@reducer
class StressMethod(Reducer):
    """Base of metric and non-metric MDS: how the stress is minimized, by valid parameters."""

    allows_missing = True
    ignored = (Ignored(("n_init",), "init is an array of coordinates", when_array("init")),)
    # Beyond 20,000 rows a step over all pairs takes seconds, and their distances gigabytes.
    landmark_policy = LandmarkPolicy(
        2000, automatic_above=20_000, possible=lambda model: model.weights is None
    )
    no_inverse = "distances alone do not determine rows."

    def _ties(self) -> Ties | None:
        """How disparities treat tied dissimilarities; None: they are the dissimilarities."""
        return None

    def _majorization(self, n: int) -> Majorization:
        """How the stress of n rows is minimized."""
        check_count(self.n_components, n, f"n_samples={n}")
        init = validate_configuration(self.init, n, self.n_components)
        weights = validate_weights(self.weights, n)
        steps = self.n_init, self.max_iter, self.eps
        return Majorization(self.n_components, init, *steps, weights, self._ties())

    def _order(self, base: DistanceRelation, how: Majorization) -> NDArray[np.int64]:
        """The canonical order of the rows, which weights and initial coordinates are part of."""
        square = [how.weights] if isinstance(how.weights, np.ndarray) else []
        return order_points(base, square, [how.init] if isinstance(how.init, np.ndarray) else [])
