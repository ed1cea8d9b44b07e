"""Neighbors by the native core: rows as its filter sees them, exact or nearly exact lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..progress import step
from ..random import subset
from .protocol import Array, Backend, Float64, Ints, Neighbors

# Pairs up to which each is looked at: a filter of more columns takes longer to make. Measured with
# 2, 3, 20 and 64 columns; at 1000 rows of 3 it takes a quarter of the time, of 64 a half.
NARROW, SMALL = 8, (2**15, 2**17)
FEW = 64  # new rows that are compared with every row; more are worth the filter
MOST = 1024  # neighbors that a sorted list can hold at a fair price
EXACT = 200_000  # rows up to which the search is exact
RECALL, JUDGES = 0.99, 768  # beyond: the share of true neighbors wanted, and rows that measure it
NEAREST = 96  # groups of rows that each group is compared with at first
ROUNDS = 4  # by neighbors of neighbors after that, at most; mostly the second finds little
SAMPLE = 4096  # rows that the basis is made of
ROUNDING = 2.0**-24


@dataclass(frozen=True)
class View:
    """How the filter sees rows: centered, scaled, in the leading directions of the data."""

    center: Float64
    scale: float
    basis: Float64 | None  # orthonormal columns; None: the features as they are
    narrow: bool  # float32 products are safe

    @classmethod
    def of(cls, X: Array, center: Float64 | None, ops: Backend) -> View:
        middle, exponent, scale = _frame(X, center, ops)
        rows = (X[:: -(-len(X) // SAMPLE)].astype(np.float64) - middle) * scale
        narrow = X.dtype == np.float32 and abs(exponent) < 90
        return cls(middle, scale, _basis(rows, ops), narrow)

    @cached_property
    def error(self) -> float:
        """A bound on |z - exact|, relative to the length of a centered row."""
        if self.basis is None:
            return 1.01 * ROUNDING
        d, m = self.basis.shape
        V = self._directions
        skew = float(np.linalg.norm(V.T.astype(np.float64) @ V - np.eye(m)))
        # Each sum of d products is made of runs of at most 128.
        terms = min(d, 128) + d / 128 + 12 if self.narrow else 1 + d * 2.0**-29
        return float(skew + terms * ROUNDING * np.sqrt(m))

    @cached_property
    def _directions(self) -> Any:
        assert self.basis is not None
        return self.basis.astype(np.float32) if self.narrow else self.basis

    def rows(self, X: Array, ops: Backend) -> NDArray[np.float32]:
        if self.basis is not None and self.narrow:
            W = self._directions * np.float32(self.scale)
            return ops.project(X, self.center, W)
        m = X.shape[1] if self.basis is None else self.basis.shape[1]
        Z = np.empty((len(X), m), np.float32)
        W = None if self.basis is None else self._directions * self.scale
        for i in range(0, len(X), 4096):  # centered in float64 before it is narrowed
            part = X[i : i + 4096].astype(np.float64)
            if W is None:
                Z[i : i + 4096] = (part - self.center) * self.scale
            else:
                Z[i : i + 4096] = ops.project(part, self.center, W)
        return Z

    def takes(self, Q: Array) -> NDArray[np.bool_]:
        """Rows whose squares the filter can hold."""
        largest = np.abs(Q).max(1, initial=0).astype(np.float64)
        return np.asarray(largest < 2.0**45 / self.scale)


def _frame(X: Array, center: Float64 | None, ops: Backend) -> tuple[Float64, int, float]:
    """The middle of the rows, the size of their entries as a power of two, and a factor.

    Centered rows times the factor are of a size whose squares float32 can hold.
    """
    statistics = ops.column_statistics(X)
    middle = statistics.sums / len(X) if center is None else center
    if not np.isfinite(middle).all():
        middle = np.zeros(X.shape[1])
    reach = statistics.max_abs + float(np.abs(middle).max(initial=0))
    exponent = int(np.frexp(reach)[1]) if 0 < reach < np.inf else 0
    return middle, exponent, float(2.0 ** np.clip(30 - exponent, -970, 970))


def _basis(rows: Float64, ops: Backend) -> Float64 | None:
    """Leading directions, where they hold enough of the spread for bounds to end sums early."""
    s, d = rows.shape
    if d <= 4 or not np.isfinite(rows).all():
        return None
    most = d if d <= 128 else min(d, 256)
    if d <= 1024:
        values, V = ops.eigh(ops.moments(rows, np.zeros(d), None).scatter, most)
        total = float((rows**2).sum())
    else:  # from the products of some rows
        rows = rows[:: -(-s // 1024)]
        total = float((rows**2).sum())
        values, U = ops.eigh(rows @ rows.T, min(most, len(rows)))
        keep = values > 1e-6 * max(values[0], 0)
        values, V = values[keep], np.linalg.qr(rows.T @ U[:, keep])[0]
    if not total > 0 or not len(values):
        return None
    share = np.cumsum(values) / total
    if d <= 128:
        return V if share[d // 4] > 0.4 else None
    enough = int(np.searchsorted(share, 0.975)) + 1
    m = min(V.shape[1], -(-enough // 16) * 16)
    return V[:, :m] if share[m - 1] > 0.5 else None


class RowIndex:
    """Dense rows under a Euclidean distance, or its square, times a factor."""

    def __init__(
        self, ops: Any, X: Array, measure: str, factor: float, center: Float64 | None
    ) -> None:
        self.ops, self.X, self.center = ops, rowwise(X, X.dtype), center
        self.measure, self.root, self.factor = measure, measure == "euclidean", factor

    @cached_property
    def view(self) -> View:
        return View.of(self.X, self.center, self.ops)

    @cached_property
    def finder(self) -> Any:
        """Made when it is first worth it: few new rows do without."""
        view = self.view
        Z = view.rows(self.X, self.ops)
        ready = view.center, view.scale, view.error
        return _native.finder(self.X, Z, *ready, self.ops.threads, step("neighbors"))

    @cached_property
    def unit(self) -> float:
        return (
            _unit(self.ops.column_statistics(self.X).max_abs) if self.X.dtype == np.float64 else 1.0
        )

    @cached_property
    def _wide(self) -> RowIndex:
        """For float64 questions to float32 rows."""
        return RowIndex(self.ops, self.X.astype(np.float64), self.measure, self.factor, self.center)

    def others(self, k: int) -> Neighbors:
        n = len(self.X)
        if n * n <= self._small or self._crowded(k):
            lists = _fresh(n, k)
            self._every_pair(self.X, self.unit, lists, among=True)
            return lists
        if n > EXACT:
            return self._nearly(k)
        lists = _room(n, k)
        how = self.root, self.factor, self.unit
        self.finder.join(*how, *lists[:2], self.ops.threads, step("neighbors"))
        return lists

    def ranks(self, rows: NDArray[np.int64] | None, listed: Ints) -> Ints:
        middle, _, scale = _frame(self.X, self.center, self.ops)
        out = np.empty(listed.shape, np.int32)
        how = rows, self.root, self.factor, self.unit, np.ascontiguousarray(listed)
        _native.ranks(self.X, middle, scale, *how, out, self.ops.threads, step("ranks"))
        return out

    def query(self, Q: Array, k: int) -> Neighbors:
        if Q.dtype == np.float64 and self.X.dtype == np.float32:
            return self._wide.query(Q, k)
        Q, lists = rowwise(Q, self.X.dtype), _fresh(len(Q), k)
        filtered = np.zeros(len(Q), bool)
        many = len(Q) > FEW and len(Q) * len(self.X) > 2 * self._small
        if many and not self._crowded(k):
            filtered = self.view.takes(Q)
        units = self._units(Q)
        for rows in (filtered, ~filtered & (units == self.unit)):
            if not rows.any():
                continue
            part = lists if rows.all() else _fresh(int(rows.sum()), k)
            some = Q if rows.all() else Q[rows]
            if rows is filtered:
                self._filter(some, part)
            else:
                self._every_pair(some, self.unit, part, among=False)
            if part is not lists:
                lists.indices[rows], lists.distances[rows] = part.indices, part.distances
        for i in np.flatnonzero(~filtered & (units != self.unit)):
            part = Neighbors(lists.indices[i : i + 1], lists.distances[i : i + 1])
            self._every_pair(Q[i : i + 1], float(units[i]), part, among=False)
        return lists

    def _units(self, Q: Array) -> Float64:
        """The unit of each row: a smaller one where its squares would overflow."""
        if Q.dtype == np.float32:
            return np.ones(len(Q))
        largest = np.abs(Q).max(1, initial=0)
        units = np.full(len(Q), self.unit)
        for i in np.flatnonzero(largest * self.unit > 1e100):
            units[i] = min(self.unit, _unit(float(largest[i])))
        return units

    def _filter(self, Q: Array, lists: Neighbors) -> None:
        Z, how = self.view.rows(Q, self.ops), (self.root, self.factor, self.unit)
        out = lists.indices, lists.distances, self.ops.threads, step("neighbors")
        self.finder.query(Q, Z, *how, *out)

    @property
    def _small(self) -> int:
        return SMALL[self.X.shape[1] > NARROW]

    def _crowded(self, k: int) -> bool:
        return k > MOST or 8 * k > len(self.X)

    def _every_pair(self, Q: Array, unit: float, lists: Neighbors, among: bool) -> None:
        how = among, self.root, self.factor, unit
        out = lists.indices, lists.distances, self.ops.threads, step("neighbors")
        _native.nearest(Q, self.X, *how, *out)

    def _nearly(self, k: int) -> Neighbors:
        """Near groups of rows only, then neighbors of neighbors, until a sample is satisfied."""
        threads, poll = self.ops.threads, step("neighbors")
        judges = subset(0, "recall", len(self.X), JUDGES)
        truth = _without(self.query(self.X[judges], k + 1).indices, judges)
        middles = np.empty((self.finder.groups, self.finder.coordinates), np.float32)
        self.finder.middles(middles)
        drafts = self.finder.drafts(self.root, self.factor, self.unit, k, threads)
        lists, near = _room(len(self.X), k), NEAREST
        while 4 * near < self.finder.groups:
            groups = RowIndex(self.ops, middles, "euclidean", 1, None).others(near).indices
            drafts.join(groups, threads, poll)
            if drafts.open(threads, poll) < 8 * near / self.finder.groups:
                break  # boxes rule out nearly all the rest
            drafts.polish(groups, ROUNDS, threads, poll)
            drafts.copy_to(*lists[:2], threads)
            recall = _recall(truth, lists.indices[judges])
            if recall >= RECALL:
                return lists._replace(recall=recall)
            near *= 2
        drafts.join(None, threads, poll)
        drafts.copy_to(*lists[:2], threads)
        return lists


def _room(n: int, k: int) -> Neighbors:
    return Neighbors(np.empty((n, k), np.int32), np.empty((n, k)))


def _fresh(n: int, k: int) -> Neighbors:
    return Neighbors(np.full((n, k), -1, np.int32), np.full((n, k), np.inf))


def _recall(truth: NDArray[np.int32], found: NDArray[np.int32]) -> float:
    hits = sum(len(np.intersect1d(a, b)) for a, b in zip(truth, found, strict=True))
    return hits / truth.size


def _without(indices: NDArray[np.int32], own: NDArray[np.int64]) -> NDArray[np.int32]:
    """Each row less its own number, or less the last if that is not there (many copies)."""
    k = indices.shape[1] - 1
    other = indices != own[:, None]
    other[other.all(1), k] = False
    return np.asarray(indices[other].reshape(len(own), k))


def _unit(largest: float) -> float:
    """A power of two that keeps squares of differences in range."""
    if largest == 0 or not np.isfinite(largest) or 1e-100 < largest < 1e100:
        return 1.0
    return float(2.0 ** -np.clip(int(np.frexp(largest)[1]), -1000, 1000))


def rowwise(X: Array, dtype: np.dtype[Any]) -> Array:
    """X as the core takes it: of that type, each row contiguous (a slice of columns is fine)."""
    if X.dtype == dtype and X.strides[1] == X.itemsize and X.strides[0] >= 0:
        return X
    return np.ascontiguousarray(X, dtype)
