"""Targets of supervised UMAP: labels or numbers that the fuzzy graph is intersected with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Backend, Float64, FuzzySum, to_csr
from ..backends.sparse_rows import look_up_entries
from ..distances.metrics import distances_of
from ..errors import DataError
from ..graph.search import find_neighbors
from ..input.validation import Data

UNKNOWN = -1  # the label of a row whose class is not known
# Distances of labels as in umap-learn: a membership falls by exp(-distance).
UNKNOWN_DISTANCE = 1.0
FAR_DISTANCE = 2.5  # of different classes, divided by 1 - target_weight
MIN_MEMBERSHIP = 1e-8  # of what one of two graphs does not have, and
MAX_ABSENT_MEMBERSHIP = 1e-4  # no more in the graph of the targets


class Target(NamedTuple):
    """What is known of each row beside the data: a class, or numbers."""

    labels: NDArray[np.int64] | None  # UNKNOWN: not known
    numbers: Float64 | None  # rows x numbers
    metric: str

    @property
    def values(self) -> Float64:
        """Both kinds as floating-point numbers, in one column or several."""
        held = self.labels if self.numbers is None else self.numbers
        assert held is not None
        return held.astype(np.float64)

    def take(self, rows: NDArray[np.int64]) -> Target:
        labels = None if self.labels is None else self.labels[rows]
        return Target(labels, None if self.numbers is None else self.numbers[rows], self.metric)

    def merge(self, point_of_row: NDArray[np.int64], n_points: int) -> Target:
        """Targets of distinct points: the class that duplicates agree on, or their mean numbers."""
        if self.numbers is not None:
            counts = np.bincount(point_of_row, minlength=n_points)
            sums = [np.bincount(point_of_row, column, n_points) for column in self.numbers.T]
            return Target(None, np.stack(sums, axis=1) / counts[:, None], self.metric)
        assert self.labels is not None
        known = np.flatnonzero(self.labels != UNKNOWN)
        points, labels = point_of_row[known], self.labels[known]
        least, most = np.full(n_points, np.iinfo(np.int64).max), np.full(n_points, UNKNOWN)
        np.minimum.at(least, points, labels)
        np.maximum.at(most, points, labels)
        return Target(np.where(least == most, most, UNKNOWN), None, self.metric)


def read_target(y: object, n: int, metric: str) -> Target:
    """Targets of n rows, checked: classes of any type, or finite numbers."""
    given = np.asarray(y)
    if given.ndim == 0 or len(given) != n:
        raise DataError(f"y has shape {given.shape}, but X has {n} rows; pass a target for each.")
    if metric == "categorical":
        return Target(_read_labels(given), None, metric)
    if given.dtype.kind not in "fiub" or given.ndim > 2 or given.size == 0:
        raise DataError(
            f"y of {given.dtype} and shape {given.shape}: target_metric={metric!r} measures "
            "numbers, one or several of each row; target_metric='categorical' takes classes."
        )
    numbers = given.reshape(n, -1).astype(np.float64)
    bad = ~np.isfinite(numbers).all(1)
    if bad.any():
        raise DataError(
            f"y of row {int(bad.argmax())} is not finite; numbers must be known of all rows (only "
            "classes may be unknown: -1 with target_metric='categorical')."
        )
    return Target(None, numbers, metric)


def _read_labels(given: NDArray[Any]) -> NDArray[np.int64]:
    """Classes numbered by their sorted values, and UNKNOWN."""
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise DataError(f"y has shape {given.shape}; target_metric='categorical' takes one class.")
    if given.dtype.kind in "fc":
        finite = np.isfinite(given)
        if (given[finite] != np.round(given[finite])).any():
            row = int(np.argmax(finite & (given != np.round(given))))
            raise DataError(
                f"y of row {row} is {given[row]:g}, which is no class; target_metric='euclidean' "
                "takes numbers, and whole numbers or texts are classes."
            )
        unknown = ~finite | (given == UNKNOWN)
    elif given.dtype == object:
        unknown = np.array([label is None or label != label or label == UNKNOWN for label in given])
        given = np.array([str(label) for label in given])
    else:
        unknown = given == UNKNOWN if given.dtype.kind in "iu" else np.zeros(len(given), bool)
    labels = np.full(len(given), UNKNOWN, np.int64)
    labels[~unknown] = np.unique(given[~unknown], return_inverse=True)[1]
    return labels


def intersect_with_target(
    W: csr_array, target: Target, weight: float, n_neighbors: int, ops: Backend
) -> csr_array:
    """The fuzzy intersection of a graph with its targets, as of umap-learn.

    Between points of different classes, or of an unknown one, memberships fall by a factor; with
    those of numbers they are multiplied, to powers that the weight gives. Then every point again
    has a neighbor of membership 1 (local connectivity).
    """
    if target.labels is not None:
        W = _intersect_labels(W, target.labels, weight)
    else:
        W = _intersect_graphs(W, _relate_numbers(target, n_neighbors, ops), weight)
    largest = np.maximum.reduceat(np.append(W.data, 0), W.indptr[:-1])
    largest[np.diff(W.indptr) == 0] = 1
    W.data /= np.repeat(largest, np.diff(W.indptr))
    return to_csr(ops.similarity_graph(W, None, 1.0).graph)


def _intersect_labels(W: csr_array, labels: NDArray[np.int64], weight: float) -> csr_array:
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    one, other = labels[rows], labels[W.indices]
    far = np.exp(-FAR_DISTANCE / (1 - weight)) if weight < 1 else 0.0
    factor = np.where(one == other, 1.0, far)
    factor[(one == UNKNOWN) | (other == UNKNOWN)] = np.exp(-UNKNOWN_DISTANCE)
    W = csr_array((W.data * factor, W.indices, W.indptr), W.shape, copy=True)
    W.eliminate_zeros()
    return W


def _relate_numbers(target: Target, n_neighbors: int, ops: Backend) -> csr_array:
    """Memberships of each point's neighbors by their targets, not united."""
    assert target.numbers is not None
    n = len(target.numbers)
    base = distances_of(Data(target.numbers, target.numbers.dtype), target.metric, None)
    near = find_neighbors(base, min(n_neighbors, n - 1), ops)
    k = near.indices.shape[1]
    indptr = np.arange(0, n * k + 1, k)
    a = ops.calibrate_rows(indptr, near.distances.ravel(), FuzzySum(1.0)).affinities
    A = csr_array((a, near.indices.ravel(), indptr), (n, n))
    A.eliminate_zeros()
    return A


def _intersect_graphs(W: csr_array, A: csr_array, weight: float) -> csr_array:
    """w a^(t / (1 - t)), or the same to the power (1 - t) / t; absent memberships are tiny."""
    least_w = max(float(W.data.min()) / 2, MIN_MEMBERSHIP)
    least_a = min(max(float(A.data.min()) / 2, MIN_MEMBERSHIP), MAX_ABSENT_MEMBERSHIP)
    union = csr_array(W + A)
    union.sort_indices()
    w, a = look_up_entries(W, union, least_w), look_up_entries(A, union, least_a)
    if weight < 0.5:
        a **= weight / (1 - weight)
    else:
        w **= (1 - weight) / weight
    return csr_array((w * a, union.indices, union.indptr), union.shape)
