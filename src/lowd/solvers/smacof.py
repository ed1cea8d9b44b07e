"""SMACOF: stress majorization by Guttman transforms, accelerated by Anderson mixing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from .. import progress
from ..backends.protocol import Array, Float64, StressPlan
from ..errors import ConvergenceWarning, warn
from .canonical import sign_flips
from .thresholds import (
    ANDERSON_MEMORY,
    ANDERSON_RIDGE,
    MIN_RELATIVE_STRESS,
    SMACOF_RELAXATION,
)


class Step(NamedTuple):
    """An iterate: its stress, the squared disparities, the Guttman transform, its least gain."""

    stress: float
    total: float
    next: Float64
    gain: float


class Majorization(NamedTuple):
    """Where the iteration ended, and the stress of every iterate."""

    Y: Float64
    n_iter: int
    converged: bool
    history: Float64


def run_smacof(
    plan: StressPlan, W: Array | None, n: int, starts: Iterable[Float64], max_iter: int, eps: float
) -> Majorization:
    """The embedding of least stress from several starts, rotated to its principal axes."""
    solve, diagonal = _invert_weights(W, n)

    def step(Y: Float64) -> Step:
        found = plan.step(Y)
        change = solve(found.BY) - Y
        total = found.stress - found.eta_squared + 2 * found.rho  # squared disparities
        return Step(
            found.stress,
            total,
            Y + SMACOF_RELAXATION * change,
            float(diagonal @ (change**2).sum(1)),
        )

    best: Majorization | None = None
    for start in starts:
        first = plan.step(start)
        best_scale = first.rho / first.eta_squared if first.eta_squared > 0 else 1.0
        found = majorize(step, start * best_scale, max_iter, eps)
        if best is None or found.history[-1] < best.history[-1]:
            best = found
    assert best is not None
    if not best.converged:
        warn(
            f"the stress was still falling after max_iter={max_iter} steps; raise max_iter or eps.",
            ConvergenceWarning,
        )
    return best._replace(Y=rotate_to_principal_axes(best.Y))


def majorize(
    step: Callable[[Float64], Step], start: Float64, max_iter: int, eps: float
) -> Majorization:
    """Iterate `step` from `start` until it promises less than `eps` of the stress; it never rises.

    Anderson mixing (1965) extrapolates from earlier steps. Where that would raise the stress the
    plain step, which cannot, is taken, and the earlier steps are forgotten.
    """
    Y, at = start, step(start)
    mixing, history = AndersonMixing(), [at.stress]
    for n_iter in range(max_iter):
        if at.gain <= eps * at.stress or at.stress <= MIN_RELATIVE_STRESS * at.total:
            return Majorization(Y, n_iter, True, np.array(history))
        trial = mixing.extrapolate(Y, at.next)
        new = step(trial)
        if not new.stress < at.stress:
            mixing = AndersonMixing()
            trial = at.next
            new = step(trial)
        if not new.stress < at.stress:  # by rounding: there is nothing to gain
            return Majorization(Y, n_iter, True, np.array(history))
        Y, at = trial, new
        history.append(at.stress)
        progress.report("majorization", n_iter + 1, max_iter)
    return Majorization(Y, max_iter, False, np.array(history))


class AndersonMixing:
    """Differences of the last iterates and of their steps (Anderson, 1965)."""

    def __init__(self) -> None:
        self._last: tuple[Float64, Float64] | None = None
        self._iterates: deque[Float64] = deque(maxlen=ANDERSON_MEMORY)
        self._changes: deque[Float64] = deque(maxlen=ANDERSON_MEMORY)

    def extrapolate(self, Y: Float64, reached: Float64) -> Float64:
        """The fixed point of the iteration, were its steps linear in the iterate."""
        step = reached - Y
        last, self._last = self._last, (reached, step)
        if last is None:
            return reached
        self._iterates.append((reached - last[0]).ravel())
        self._changes.append((step - last[1]).ravel())
        iterates, changes = np.array(self._iterates), np.array(self._changes)
        gram = changes @ changes.T
        gram.flat[:: len(gram) + 1] += ANDERSON_RIDGE * gram.trace()
        shares = np.linalg.solve(gram, changes @ step.ravel())
        return np.asarray(reached - (shares @ iterates).reshape(Y.shape))


def _invert_weights(W: Array | None, n: int) -> tuple[Callable[[Float64], Float64], Float64]:
    """How V⁺ is applied (V = diag(W1) - W, whose kernel are the constants), and V's diagonal."""
    if W is None:
        return lambda M: M / n, np.full(n, float(n))
    V = -W.astype(np.float64)
    np.fill_diagonal(V, 0)
    diagonal = -V.sum(1)
    V[np.diag_indices(n)] = diagonal
    V += diagonal.mean() / n  # invertible, and the same on what sums to 0
    factor = scipy.linalg.cho_factor(V, lower=True, overwrite_a=True, check_finite=False)

    def solve(M: Float64) -> Float64:
        X = scipy.linalg.cho_solve(factor, M, check_finite=False)
        return np.asarray(X - X.mean(0))

    return solve, diagonal


def rotate_to_principal_axes(Y: Float64) -> Float64:
    """Centered, rotated to principal axes, signs fixed; columns of zeros stay such, and last."""
    Y = Y - Y.mean(0)
    used = Y.any(0)
    rotated = np.zeros_like(Y)
    if used.any():
        part = Y[:, used]
        size = np.abs(part).max()
        axes = np.linalg.eigh((part / size).T @ (part / size))[1][:, ::-1]
        part = part @ axes
        rotated[:, : part.shape[1]] = part * sign_flips(part)
    return rotated
