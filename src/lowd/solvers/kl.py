"""Gradient descent with momentum and gains (Jacobs, 1988; van der Maaten and Hinton, 2008)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import progress, random
from ..backends.protocol import Array, Float64, KLPlan
from ..errors import ConvergenceWarning, warn
from ..relations.perplexity import TINY, JointProbabilities, compute_negative_entropy

EARLY = 250  # steps of early exaggeration
SAMPLE = 256  # rows on which forces are compared with exact ones
STRIDE, LOOK = 10, 50  # steps between two reports, and between two looks for rest
THIN, WIDE = 1e-7, 1e-4  # an axis this narrow is widened again while all is pulled together
REST = 1e-9  # a step so much shorter than the map is wide, root mean square, is rest

Callback = Callable[[int, Array], Any]


class Phase(NamedTuple):
    """A stretch of descent with constant settings."""

    steps: int
    exaggeration: float
    momentum: float
    rate: float


class Descent(NamedTuple):
    Y: Float64
    report: dict[str, Any]


def phases(n: int, early: float, late: float, rate: float | None, steps: int) -> list[Phase]:
    """First everything is pulled together, to find its neighbors; then let go.

    The rate is n / exaggeration for forces without the gradient's factor 4 (scikit-learn's rates
    are a fourth of these): a point then moves to the mean of its neighbors in one step. With more,
    as of a least rate for few points, steps overshoot and rounding grows by a factor each time.
    """

    def phase(count: int, exaggeration: float, momentum: float) -> Phase:
        own = n / exaggeration if rate is None else rate
        return Phase(count, exaggeration, momentum, own)

    first = min(EARLY, steps // 2) if early != late else 0
    return [phase(first, early, 0.5), phase(steps - first, late, 0.8)]


def descend(
    forces: KLPlan, start: Float64, plan: list[Phase], callback: Callback | None = None
) -> Descent:
    """Follow the forces from `start`; at rest, or when interrupted, stop early.

    Rest counts in the last phase only. Ctrl-C keeps what has been reached so far; an exception of
    a listener or of the callback ends the work, as everywhere.
    """
    forces.start(start)
    total, done, at_rest = sum(phase.steps for phase in plan), 0, False
    try:
        for number, phase in enumerate(plan):
            left = phase.steps
            while left and not at_rest:
                count = min(STRIDE, left)
                moved = forces.advance(count, phase.exaggeration, phase.momentum, phase.rate)
                left, done = left - count, done + count
                if number + 1 < len(plan):
                    _widen(forces)
                if number + 1 == len(plan) and left % LOOK == 0:
                    at_rest = moved <= REST * _width(forces.embedding())
                progress.report("descent", done, total)
                if callback is not None:
                    callback(done, centered(forces.embedding()))
    except KeyboardInterrupt:
        if done == 0:
            raise
        warn(
            f"interrupted after {done} of {total} steps; the map is what they have reached.",
            ConvergenceWarning,
        )
    report = {
        "n_iter": done,
        "converged": at_rest,
        "learning_rate": plan[-1].rate,
        "early_learning_rate": plan[0].rate,
    }
    return Descent(centered(forces.embedding()), report)


def _widen(forces: KLPlan) -> None:
    """Few rows pull each other together to nothing, where rounding forgets who was where.

    While a map is small, forces are proportional to places: an axis can be widened at any time
    without another effect (as a power iteration is normalized). 60 rows of digits came to one
    point within 250 steps.
    """
    Y = _columns(forces.embedding())
    width = Y.std(1, keepdims=True)
    thin = (width > 0) & (width < THIN)
    if thin.any():
        wider = Y * np.where(thin, WIDE / np.where(thin, width, 1), 1)
        forces.start(np.ascontiguousarray(wider.T))


def judged(
    forces: KLPlan, joint: JointProbabilities, Y: Array, kernel: str, seed: int
) -> dict[str, Any]:
    """The divergence, with the exact normalizer, and how wrong the forces were on a sample."""
    n = len(Y)
    if kernel == "rows":
        Z, _ = forces.pair_sums(Y, np.arange(n))
        # P holds joint probabilities; the divergence is that of the conditional ones.
        change = joint.negative_entropy / n - compute_negative_entropy(joint.P.data)
        told = float(np.log(np.maximum(Z, TINY)).mean()) + forces.cross_term(Y) + change
        return {"kl_divergence": n * told, "force_error": 0.0}
    total = forces.partition_function(Y)
    divergence = float(np.log(max(total, TINY))) + forces.cross_term(Y)
    report = {"kl_divergence": divergence, "force_error": 0.0}
    if forces.uses_interpolation(Y):
        some = random.subset(seed, "forces", n, min(n, SAMPLE))
        exact = forces.pair_sums(Y, some)[1] / total
        gap = forces.forces(Y)[1][some] - exact
        report["force_error"] = float(np.sqrt((gap**2).sum() / (exact**2).sum()))
    return report


def centered(Y: Array) -> Float64:
    return np.ascontiguousarray(_columns(Y).T)


def _width(Y: Array) -> float:
    return float(np.sqrt(_columns(Y).var(1).sum()))


def _columns(Y: Array) -> Float64:
    """Axes as rows, centered: sums along contiguous numbers are ten times as fast."""
    Z = np.array(Y.T, np.float64, order="C")
    return np.asarray(Z - Z.mean(1, keepdims=True))
