"""Canonical eigenvectors: fixed signs, and a fixed basis where eigenvalues repeat."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..backends.protocol import Float64
from .thresholds import TIED_ENTRIES

#: Axes with the same eigenvalue, of which any rotation is as good.
Groups: TypeAlias = tuple[tuple[int, ...], ...]


def sign_flips(V: Float64) -> Float64:
    """+1 or -1 per column, to make its largest entry positive; near ties go to the first row."""
    if not V.size:
        return np.ones(V.shape[1])
    size = np.abs(V)
    pivot = (size >= (1 - TIED_ENTRIES) * size.max(0)).argmax(0)
    return np.where(V[pivot, np.arange(V.shape[1])] < 0, -1.0, 1.0)


def canonical_basis(values: Float64, V: Float64, precision: float) -> tuple[Float64, Groups]:
    """Fix signs, and the basis within each group of equal eigenvalues; which groups there are.

    Any rotation within a group is as good an answer. The canonical one is triangular on the
    group's pivot rows, so it depends on the eigenspace only, not on the solver that found it.
    """
    groups = _equal_values(values, precision)
    return rotate_groups(V, groups), groups


def rotate_groups(V: Float64, groups: Groups) -> Float64:
    """The canonical basis of the space of each group of columns, and fixed signs everywhere."""
    V = V.copy()
    for group in groups:
        part = V[:, list(group)]
        pivots = np.sort(_pivot_rows(part))
        # part @ Qr has part[pivots] lower triangular.
        rotation = scipy.linalg.qr(part[pivots].T)[0]
        V[:, list(group)] = part @ rotation
    V *= sign_flips(V)
    return V


def _pivot_rows(part: Float64) -> list[int]:
    """Rows that span the space, each the longest beyond those before; near ties to the first."""
    remainder, pivots = part.copy(), []
    for _ in range(part.shape[1]):
        size = np.einsum("ij,ij->i", remainder, remainder)
        pivots.append(int(np.argmax(size >= (1 - TIED_ENTRIES) * size.max())))
        direction = remainder[pivots[-1]] / np.sqrt(size[pivots[-1]])
        remainder -= np.outer(remainder @ direction, direction)
    return pivots


def _equal_values(values: Float64, precision: float) -> Groups:
    if len(values) < 2 or values[0] <= 0:
        return ()
    # Relative to the eigenvalues themselves: rotating unequal ones would change the answer.
    positive = values > precision * values[0]
    close = np.abs(values[1:] - values[:-1]) <= precision * values[1:]
    return group_consecutive(close & positive[1:])


def group_consecutive(close: NDArray[np.bool_]) -> Groups:
    """Groups of two or more consecutive indices, where close[j] puts j and j + 1 together."""
    if not close.any():
        return ()
    found, current = [], [0]
    for j, together in enumerate(close, 1):
        if together:
            current.append(j)
        else:
            found.append(tuple(current))
            current = [j]
    found.append(tuple(current))
    return tuple(group for group in found if len(group) > 1)
