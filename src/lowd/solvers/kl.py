"""KL divergence of t-SNE: gradient descent with momentum and gains (Jacobs, 1988)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import progress, random
from ..backends.protocol import Array, Float64, KLPlan, to_csr
from ..errors import LongWorkWarning, warn
from ..relations.perplexity import TINY, JointProbabilities, compute_negative_entropy
from .thresholds import (
    EARLY_EXAGGERATION_STEPS,
    FORCE_SAMPLE,
    LONG_WORK_SECONDS,
    MAX_CONVERGED_STEP,
    MIN_EMBEDDING_STD,
    RESCALED_STD,
    SECONDS_PER_PAIR,
    STEPS_PER_CONVERGENCE_CHECK,
    STEPS_PER_REPORT,
)

Callback = Callable[[int, Array], Any]


class Phase(NamedTuple):
    """A stretch of descent with constant settings."""

    steps: int
    exaggeration: float
    momentum: float
    rate: float


class Descent(NamedTuple):
    """The embedding reached, and how."""

    Y: Float64
    report: dict[str, Any]


def plan_phases(n: int, early: float, late: float, rate: float | None, steps: int) -> list[Phase]:
    """Early exaggeration, then the remaining steps.

    The rate is n / exaggeration for forces without the gradient's factor 4 (scikit-learn's rates
    are a fourth of these): a point then moves to the mean of its neighbors in one step. With more,
    as of a least rate for few points, steps overshoot and rounding grows by a factor each time.
    """

    def phase(count: int, exaggeration: float, momentum: float) -> Phase:
        own = n / exaggeration if rate is None else rate
        return Phase(count, exaggeration, momentum, own)

    first = min(EARLY_EXAGGERATION_STEPS, steps // 2) if early != late else 0
    return [phase(first, early, 0.5), phase(steps - first, late, 0.8)]


def warn_of_long_work(kernel: str, k: int, n: int, max_iter: int) -> None:
    """Warn of iterations over all pairs: only Student kernels in up to 3 dimensions have a grid."""
    pairs = float(n) * n * max_iter
    seconds = pairs * SECONDS_PER_PAIR[kernel]
    if seconds < LONG_WORK_SECONDS or (kernel == "student" and k <= 3):
        return
    why = "SNE" if kernel != "student" else f"n_components={k}"
    warn(
        f"{why} computes the repulsive forces of all pairs of {n} rows in every iteration, "
        f"{pairs:.0e} in all: about {seconds / 60:.0f} minutes of one core. Fit a sample (X[::10]) "
        "and transform the others, lower max_iter, or take TSNE with up to three dimensions, which "
        "interpolates them on a grid.",
        LongWorkWarning,
    )


def descend(
    forces: KLPlan, start: Float64, plan: list[Phase], callback: Callback | None = None
) -> Descent:
    """Minimize from `start`; stop early when converged, or when the callback asks to.

    Convergence counts in the last phase only. A callback that returns True keeps what has been
    reached so far; an exception of it or of a listener, and Ctrl-C, end the work as everywhere.
    """
    forces.start(start)
    total, done, converged, stopped = sum(phase.steps for phase in plan), 0, False, False
    for number, phase in enumerate(plan):
        left = phase.steps
        while left and not (converged or stopped):
            count = min(STEPS_PER_REPORT, left)
            moved = forces.advance(count, phase.exaggeration, phase.momentum, phase.rate)
            left, done = left - count, done + count
            if number + 1 < len(plan):
                _rescale_collapsed(forces)
            if number + 1 == len(plan) and left % STEPS_PER_CONVERGENCE_CHECK == 0:
                converged = moved <= MAX_CONVERGED_STEP * float(np.sqrt(forces.variances().sum()))
            progress.report("descent", done, total)
            if callback is not None:
                stopped = callback(done, center(forces.embedding())) is True
    report = {
        "n_iter": done,
        "converged": converged,
        "learning_rate": plan[-1].rate,
        "early_learning_rate": plan[0].rate,
    }
    return Descent(center(forces.embedding()), report)


def _rescale_collapsed(forces: KLPlan) -> None:
    """Rescale axes that collapse under early exaggeration, before rounding loses their order.

    While an embedding is small, forces are proportional to coordinates: an axis can be rescaled at
    any time without another effect (as a power iteration is normalized). 60 rows of digits
    collapsed to one point within 250 steps.
    """
    width = np.sqrt(forces.variances())
    collapsed = (width > 0) & (width < MIN_EMBEDDING_STD)
    if collapsed.any():
        factors = np.where(collapsed, RESCALED_STD / np.where(collapsed, width, 1), 1)
        forces.start(center(forces.embedding()) * factors)


def evaluate_embedding(
    forces: KLPlan, joint: JointProbabilities, Y: Array, kernel: str, seed: int
) -> dict[str, Any]:
    """KL divergence with the exact partition function, and the error of forces on a sample."""
    n = len(Y)
    if kernel == "rows":
        Z, _ = forces.pair_sums(Y, np.arange(n))
        # P holds joint probabilities; the divergence is that of the conditional ones.
        change = joint.negative_entropy / n - compute_negative_entropy(to_csr(joint.P).data)
        mean = float(np.log(np.maximum(Z, TINY)).mean()) + forces.cross_term(Y) + change
        return {"kl_divergence": n * mean, "force_error": 0.0}
    total = forces.partition_function(Y)
    divergence = float(np.log(max(total, TINY))) + forces.cross_term(Y)
    report = {"kl_divergence": divergence, "force_error": 0.0}
    if forces.uses_interpolation(Y):
        some = random.subset(seed, "forces", n, min(n, FORCE_SAMPLE))
        exact = forces.pair_sums(Y, some)[1] / total
        gap = forces.forces(Y)[1][some] - exact
        report["force_error"] = float(np.sqrt((gap**2).sum() / (exact**2).sum()))
    return report


def center(Y: Array) -> Float64:
    """Points around their mean; sums along contiguous numbers are ten times as fast."""
    Z = np.array(Y.T, np.float64, order="C")
    return np.ascontiguousarray((Z - Z.mean(1, keepdims=True)).T)
