"""Majorization: each step lands below the last, and earlier steps tell how to go further."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .. import progress
from ..backends.protocol import Float64

MEMORY = 8  # earlier steps that are mixed
FLAT = 1e-10  # share of the Gram matrix's trace that keeps its solution tame
NOTHING = 1e-24  # stress, as a share of the targets' squares, that is rounding


class Step(NamedTuple):
    """A point of the path: its stress, the targets' squares, the plain step, its least gain."""

    stress: float
    total: float
    next: Float64
    gain: float


class Path(NamedTuple):
    Y: Float64
    n_iter: int
    converged: bool
    history: Float64


def majorize(step: Callable[[Float64], Step], start: Float64, max_iter: int, eps: float) -> Path:
    """Follow `step` from `start` until it promises less than `eps` of the stress; it never rises.

    Anderson's mixing (1965) extrapolates from earlier steps. Where that would raise the stress the
    plain step, which cannot, is taken, and the earlier steps are forgotten.
    """
    Y, at = start, step(start)
    mixing, history = Mixing(), [at.stress]
    for n_iter in range(max_iter):
        if at.gain <= eps * at.stress or at.stress <= NOTHING * at.total:
            return Path(Y, n_iter, True, np.array(history))
        trial = mixing.beyond(Y, at.next)
        new = step(trial)
        if not new.stress < at.stress:
            mixing = Mixing()
            trial = at.next
            new = step(trial)
        if not new.stress < at.stress:  # by rounding: there is nothing to gain
            return Path(Y, n_iter, True, np.array(history))
        Y, at = trial, new
        history.append(at.stress)
        progress.report("majorization", n_iter + 1, max_iter)
    return Path(Y, max_iter, False, np.array(history))


class Mixing:
    """Differences of the last points and of their steps (Anderson, 1965)."""

    def __init__(self) -> None:
        self._last: tuple[Float64, Float64] | None = None
        self._ways: deque[Float64] = deque(maxlen=MEMORY)
        self._moves: deque[Float64] = deque(maxlen=MEMORY)

    def beyond(self, Y: Float64, reached: Float64) -> Float64:
        """The point where the steps, were they linear in the point, would come to rest."""
        step = reached - Y
        last, self._last = self._last, (reached, step)
        if last is None:
            return reached
        self._ways.append((reached - last[0]).ravel())
        self._moves.append((step - last[1]).ravel())
        ways, moves = np.array(self._ways), np.array(self._moves)
        gram = moves @ moves.T
        gram[np.diag_indices_from(gram)] += FLAT * np.trace(gram)
        shares = np.linalg.solve(gram, moves @ step.ravel())
        return np.asarray(reached - (shares @ ways).reshape(Y.shape))
