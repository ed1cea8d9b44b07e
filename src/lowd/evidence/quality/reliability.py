"""Reliability of the confidence of new points: what was promised, and what left-out rows show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...confidence import LeftOutRows

N_BINS = 10  # of equal width, as calibration errors are usually reported


@dataclass(frozen=True, eq=False)
class Reliability:
    """Promised confidence of left-out training rows against the share that was mapped correctly.

    Attributes
    ----------
    promised, found, counts : mean confidence, share of correctly mapped rows and number of rows of
        each bin of confidence that has any
    calibration_error : mean over rows of |promised - found| of their bin
    auc : how often a correctly mapped row has more confidence than another; NaN if all are alike
    """

    promised: NDArray[np.float64]
    found: NDArray[np.float64]
    counts: NDArray[np.int64]
    calibration_error: float
    auc: float

    @classmethod
    def of(cls, rows: LeftOutRows) -> Reliability:
        return compute_reliability(rows.promise(), rows.correct)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "promised": self.promised.tolist(),
            "found": self.found.tolist(),
            "counts": self.counts.tolist(),
            "calibration_error": self.calibration_error,
            "auc": None if np.isnan(self.auc) else self.auc,
        }

    def to_lines(self) -> list[str]:
        """A table: a line for each bin."""
        bins = zip(self.promised, self.found, self.counts, strict=True)
        lines = [f"  {a:>8.2f}{b:>8.2f}{count:>8}" for a, b, count in bins]
        auc = "" if np.isnan(self.auc) else f", AUC {self.auc:.2f}"
        return [
            f"  {'promised':>8}{'found':>8}{'rows':>8}",
            *lines,
            f"  calibration error {self.calibration_error:.3f}{auc}",
        ]


def compute_reliability(promised: NDArray[np.float64], correct: NDArray[np.bool_]) -> Reliability:
    """The reliability of promises in bins of equal width, and their AUC."""
    group = np.minimum((promised * N_BINS).astype(np.int64), N_BINS - 1)
    counts = np.bincount(group, minlength=N_BINS)
    held = np.flatnonzero(counts)
    means = (np.bincount(group, values, N_BINS)[held] for values in (promised, correct))
    mean, share = (total / counts[held] for total in means)
    error = float((counts[held] * np.abs(mean - share)).sum() / len(promised))
    return Reliability(mean, share, counts[held], error, _compute_auc(promised, correct))


def _compute_auc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    from scipy.stats import rankdata

    n, m = int(positive.sum()), int((~positive).sum())
    if n == 0 or m == 0:
        return float("nan")
    return float((rankdata(scores)[positive].sum() - n * (n + 1) / 2) / (n * m))
