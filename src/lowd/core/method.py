"""What a method declares and defines of itself: class variables and functions of subclasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from ..confidence.calibration import ConfidenceCurve
from ..confidence.support import SupportMetric
from ..distances.metrics import MetricChoice, data_kind, takes_sparse
from ..input.validation import Data, Kind
from . import memory
from .declarations import Conflict, Ignored, LandmarkPolicy
from .fit import Context, Fit, Map

if TYPE_CHECKING:
    from .estimator import Reducer


class Method:
    """The declarations of a method, with what holds unless it says otherwise."""

    #: Parameters that would do nothing, and when; setting one is an error.
    ignored: ClassVar[tuple[Ignored, ...]] = ()
    #: Parameters that contradict each other.
    conflicts: ClassVar[tuple[Conflict, ...]] = ()
    #: What `n_landmarks` does, for methods that have it.
    landmark_policy: ClassVar[LandmarkPolicy | None] = None
    #: Why there is no `inverse_transform`.
    no_inverse: ClassVar[str] = "a point of the embedding does not determine a row of the data."
    #: Are sparse rows accepted whatever the metric?
    accepts_sparse: ClassVar[bool] = False
    #: Is a random draw the method itself, rather than a help to a solver?
    is_random: ClassVar[bool] = False
    #: Does fitting read no entry of the data? Then few rows stay in float32.
    is_data_independent: ClassVar[bool] = False
    #: Is it also fitted in batches? Then rows are sampled by hashes of their content.
    takes_batches: ClassVar[bool] = False
    #: May distances be missing (NaN) from a precomputed matrix?
    allows_missing: ClassVar[bool] = False
    #: Does only the order of distances count? Then the triangle inequality need not hold.
    is_ordinal: ClassVar[bool] = False
    #: How likely a new point is mapped correctly, by its kept share, unless `calibrate_confidence`
    #: has learned it. None: a new point has the coordinates that it would have in the fit.
    confidence_curve: ClassVar[ConfidenceCurve | None] = None

    def memory_plan(self, sizes: memory.Sizes, /) -> dict[str, int]:
        """Bytes of each large array of a fit beside the input, by name."""
        raise NotImplementedError

    def _fit(self, data: Data, ctx: Context) -> Fit:
        raise NotImplementedError

    def _kind(self) -> Kind:
        """The kind of input: named by the metric, or given affinities."""
        if getattr(self, "affinity", None) == "precomputed":
            return "affinity"
        return data_kind(self._metric()[0])

    def _metric(self) -> MetricChoice:
        """The metric of the data and its parameters."""
        return getattr(self, "metric", "euclidean"), getattr(self, "metric_params", None)

    def _takes_sparse(self) -> bool:
        if self.accepts_sparse or self._kind() == "affinity":
            return True
        return hasattr(self, "metric") and takes_sparse(self._metric()[0])

    def _inverse_map(self) -> Map | None:
        return getattr(self, "inverse_", None)

    def _support_metric(self) -> SupportMetric:
        """The metric of the support distance: from new points to the training points."""
        return SupportMetric(*self._metric())

    def _count_landmarks(self, n: int) -> int | None:
        """Landmarks of a fit of n rows; None fits all of them."""
        model = cast("Reducer", self)
        return self.landmark_policy.count(model, n) if self.landmark_policy else None
