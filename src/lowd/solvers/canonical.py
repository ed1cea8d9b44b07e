"""One answer where mathematics allows several: signs, and bases of repeated eigenvalues."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..backends.protocol import Float64

TIE = 1e-6


def signs(V: Float64) -> Float64:
    """+1 or -1 per column, to make its largest entry positive; near ties go to the first row."""
    if not V.size:
        return np.ones(V.shape[1])
    size = np.abs(V)
    pivot = (size >= (1 - TIE) * size.max(0)).argmax(0)
    return np.where(V[pivot, np.arange(V.shape[1])] < 0, -1.0, 1.0)


def settle(
    values: Float64, V: Float64, precision: float
) -> tuple[Float64, tuple[tuple[int, ...], ...]]:
    """Fix signs, and the basis within each group of equal eigenvalues; say which groups there are.

    Any rotation within a group is as good an answer. The canonical one is triangular on the
    group's pivot rows, so it depends on the space only, not on the solver that found it.
    """
    groups = _groups(values, precision)
    return turned(V, groups), groups


def turned(V: Float64, groups: tuple[tuple[int, ...], ...]) -> Float64:
    """The canonical basis of the space of each group of columns, and fixed signs everywhere."""
    V = V.copy()
    for group in groups:
        part = V[:, list(group)]
        pivots = np.sort(_pivots(part))
        # part @ Qr has part[pivots] lower triangular.
        rotation = scipy.linalg.qr(part[pivots].T)[0]
        V[:, list(group)] = part @ rotation
    V *= signs(V)
    return V


def _pivots(part: Float64) -> list[int]:
    """Rows that span the space, each the longest beyond those before; near ties to the first."""
    rest, pivots = part.copy(), []
    for _ in range(part.shape[1]):
        size = np.einsum("ij,ij->i", rest, rest)
        pivots.append(int(np.argmax(size >= (1 - TIE) * size.max())))
        direction = rest[pivots[-1]] / np.sqrt(size[pivots[-1]])
        rest -= np.outer(rest @ direction, direction)
    return pivots


def _groups(values: Float64, precision: float) -> tuple[tuple[int, ...], ...]:
    if len(values) < 2 or values[0] <= 0:
        return ()
    # Relative to the eigenvalues themselves: rotating unequal ones would change the answer.
    positive = values > precision * values[0]
    close = np.abs(values[1:] - values[:-1]) <= precision * values[1:]
    return runs(close & positive[1:])


def runs(close: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """Groups of neighbors that belong together, where close[j] joins j and j + 1."""
    if not close.any():
        return ()
    found, current = [], [0]
    for j, joined in enumerate(close, 1):
        if joined:
            current.append(j)
        else:
            found.append(tuple(current))
            current = [j]
    found.append(tuple(current))
    return tuple(group for group in found if len(group) > 1)
