"""Lists of neighbors, and the search for the nearest rows under the Euclidean distance.

Rows are turned to their leading principal directions. Partial sums over these bound a distance from
below, which rules out most candidates in float32; the distances of the others are computed from the
rows themselves. So the result is exact, and only the time depends on the basis. Among very many
rows the search is approximate, and its recall is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array

from .. import _native, progress, random
from ..backend import chunks, threads
from ..parameters import Indices, Reals
from ..reuse import fingerprint, known_results
from ..threads import single_threaded_blas


class Neighbors(NamedTuple):
    """Lists of neighbors, nearest first: those of point i are entries indptr[i] : indptr[i + 1].

    Equal distances are in the order of the numbers. Weights are shares of 1 within each list; None
    stands for equal ones. The recall is the share of the true neighbors that a search has found: 1
    where it is exact.
    """

    indptr: Indices
    indices: Indices
    distances: Reals
    weights: Reals | None = None
    recall: float = 1.0

    @classmethod
    def of_table(cls, indices: Indices, distances: Reals, recall: float = 1.0) -> Neighbors:
        """From lists of one length, as rows of a table."""
        m, k = indices.shape
        indptr = np.arange(m + 1) * k
        return cls(indptr, indices.ravel(), distances.ravel(), None, recall)

    @classmethod
    def of_entries(cls, m: int, owners: Indices, indices: Indices, distances: Reals) -> Neighbors:
        """From entries of m lists in any order."""
        if (owners[1:] < owners[:-1]).any():
            order = np.argsort(owners, kind="stable")
            owners, indices, distances = owners[order], indices[order], distances[order]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=m))])
        return cls.of_unsorted(indptr, indices, distances)

    @classmethod
    def of_unsorted(cls, indptr: Indices, indices: Indices, distances: Reals) -> Neighbors:
        """From lists in which the neighbors may be in any order; copies."""
        near = cls(indptr, indices.astype(np.int32), distances.astype(np.float64))
        for some, owners in near.runs():
            numbers, lengths = near.indices[some], near.distances[some]
            ahead = (lengths[1:] > lengths[:-1]) | (owners[1:] != owners[:-1])
            ahead |= (lengths[1:] == lengths[:-1]) & (numbers[1:] > numbers[:-1])
            if not ahead.all():
                order = np.lexsort((numbers, lengths, owners))
                near.indices[some], near.distances[some] = numbers[order], lengths[order]
        return near

    def runs(self, entries: int = 2**22) -> Iterator[tuple[slice, Indices]]:
        """Entries of whole lists, some at a time, and the points in whose lists they are.

        The owners of all entries would take more memory than these do.
        """
        first, n = 0, len(self.indptr) - 1
        while first < n:
            end = int(np.searchsorted(self.indptr, self.indptr[first] + entries, side="right")) - 1
            last = max(first + 1, min(end, n))
            counts = np.diff(self.indptr[first : last + 1])
            some = slice(int(self.indptr[first]), int(self.indptr[last]))
            yield some, np.repeat(np.arange(first, last), counts)
            first = last

    @property
    def table(self) -> tuple[Indices, Reals]:
        """The numbers and the distances of lists of one length, as tables."""
        shape = len(self.indptr) - 1, int(self.indptr[1] - self.indptr[0])
        return self.indices.reshape(shape), self.distances.reshape(shape)

    @property
    def counts(self) -> Indices:
        return np.diff(self.indptr)

    @property
    def owners(self) -> Indices:
        """The number of the point in whose list each entry is."""
        return np.repeat(np.arange(len(self.indptr) - 1), self.counts)

    @property
    def nearest(self) -> Reals:
        """The distance of each point's first neighbor; infinity where it has none."""
        found = np.full(len(self.indptr) - 1, np.inf)
        some = self.counts > 0
        found[some] = self.distances[self.indptr[:-1][some]]
        return found

    def take(self, some: slice) -> Neighbors:
        """The lists of consecutive points."""
        begin, end = self.indptr[some.start], self.indptr[some.stop]
        indptr = self.indptr[some.start : some.stop + 1] - begin
        weights = None if self.weights is None else self.weights[begin:end]
        parts = self.indices[begin:end], self.distances[begin:end]
        return Neighbors(indptr, *parts, weights, self.recall)

    def keep(self, some: Indices) -> Neighbors:
        """The entries for which `some` is true; without weights, whose sum would not be 1."""
        counts, held = self.counts, self.counts > 0
        counts[held] = np.add.reduceat(some, self.indptr[:-1][held], dtype=counts.dtype)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        parts = self.indices[some], self.distances[some]
        return Neighbors(indptr, *parts, None, self.recall)

    def first(self, k: int) -> Neighbors:
        """The k first of each list; of a shorter one all."""
        counts = self.counts
        if counts.max(initial=0) <= k:
            return self
        if (counts == counts[0]).all():
            indices, distances = (part[:, :k] for part in self.table)
            return Neighbors.of_table(indices, distances, self.recall)
        some = np.zeros(len(self.indices), bool)
        for part, owners in self.runs():
            some[part] = np.arange(part.start, part.stop) - self.indptr[owners] < k
        return self.keep(some)

    def as_graph(self, n: int) -> csr_array:
        """The distances as sparse rows, for n points; stored zeros are distances."""
        small = len(self.indices) < np.iinfo(np.int32).max  # SciPy would search and convert
        indptr = self.indptr.astype(np.int32 if small else np.int64, copy=False)
        return csr_array((self.distances, self.indices, indptr), (len(indptr) - 1, n))


def joined(parts: Iterable[Neighbors]) -> Neighbors:
    """The lists of several blocks of points, one after the other."""
    counts, indices, distances, recalls = [], [], [], []
    for near in parts:
        counts.append(near.counts)
        indices.append(near.indices)
        distances.append(near.distances)
        recalls.append(near.recall)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return Neighbors(indptr, np.concatenate(indices), np.concatenate(distances), None, min(recalls))


def nearest_columns(D: Reals, k: int, own: Indices | None = None) -> Neighbors:
    """The k smallest entries of each row, by their columns; the row's own one is left out."""
    indices, found = np.empty((len(D), k), np.int32), np.empty((len(D), k))
    if k:
        _native.select_smallest(np.ascontiguousarray(D), own, indices, found, threads(D.size))
    return Neighbors.of_table(indices, found)


class RowIndex:
    """Rows prepared for queries: distances are factor · |q - x|, or factor · |q - x|² (no root)."""

    def __init__(self, X: Reals, root: bool = True, factor: float = 1.0) -> None:
        self.X, self.root, self.factor = X, root, factor
        sums = np.empty(X.shape[1])
        with np.errstate(over="ignore"):  # sums that overflow are no center
            largest = _native.column_sums(X, None, sums, None, 0, None, threads(X.size))
        center = sums / len(X)
        self.center = center if np.isfinite(center).all() else np.zeros(X.shape[1])
        # A power of two by which rows are scaled, so that squares neither over- nor underflow;
        # float32 is squared in float64.
        self.unit = 1.0 if X.dtype == np.float32 else unit_for(largest)
        largest += float(np.abs(self.center).max(initial=0))
        # Centered rows times this power of two have squares that float32 can hold.
        self.exponent = int(np.frexp(largest)[1]) if 0 < largest < np.inf else 0
        self.scale = float(2.0 ** np.clip(30 - self.exponent, -970, 970))

    @cached_property
    def single(self) -> bool:
        """Whether products of rows and basis are safe in float32."""
        return self.X.dtype == np.float32 and abs(self.exponent) < 90

    @cached_property
    def basis(self) -> Reals | None:
        some = self.X[:: -(-len(self.X) // 4096)]
        with np.errstate(over="ignore", invalid="ignore"):
            found = pruning_basis((some.astype(np.float64) - self.center) * self.scale)
        return found.astype(np.float32) if found is not None and self.single else found

    @cached_property
    def native(self) -> _native.NeighborIndex:  # type: ignore[type-arg]
        """Made when it is first worth it: few new rows do without."""
        return _native.neighbor_index(
            self.X,
            self.project(self.X),
            self.center,
            self.scale,
            self._error(),
            threads(),
            progress.step("neighbors"),
        )

    @cached_property
    def wide(self) -> RowIndex:
        """The same rows in float64, for new rows of that type."""
        return RowIndex(self.X.astype(np.float64), self.root, self.factor)

    def project(self, X: Reals) -> Reals:
        """Centered and scaled rows in the basis, in float32."""
        if self.basis is not None and self.single:
            out = np.empty((len(X), self.basis.shape[1]), np.float32)
            W = self.basis * np.float32(self.scale)
            _native.project(X, self.center, W, None, out, threads(X.size * W.shape[1]))
            return out
        if self.basis is None:
            Z = np.empty(X.shape, np.float32)
            for some in chunks(len(X), X.shape[1], 2**18):  # centered in float64, and then rounded
                Z[some] = (X[some].astype(np.float64) - self.center) * self.scale
            return Z
        V = self.basis.astype(np.float64) * self.scale
        Z = np.empty((len(X), V.shape[1]), np.float32)
        for some in chunks(len(X), X.shape[1], 2**18):
            part: Reals = X[some].astype(np.float64)
            turned: Reals = np.empty(Z[some].shape)
            _native.project(part, self.center, V, None, turned, threads(part.size * V.shape[1]))
            Z[some] = turned
        return Z

    def _error(self) -> float:
        """A bound on the error of a projected row, relative to the length of the centered row."""
        rounding = 2.0**-24
        if self.basis is None:
            return 1.01 * rounding
        d, m = self.basis.shape
        V = self.basis.astype(np.float64)
        skew = float(np.linalg.norm(V.T @ V - np.eye(m)))
        # The native core sums products in runs of at most 128.
        terms = min(d, 128) + d / 128 + 12 if self.single else 1 + d * 2.0**-29
        return float(skew + terms * rounding * np.sqrt(m))

    def nearest(
        self, k: int, most_exact: int = 200_000, least: float = 0.99, groups: int = 96
    ) -> Neighbors:
        """The k nearest others of each row: exact, or of more rows with that least recall."""
        n = len(self.X)
        how, out = (self.root, self.factor, self.unit), empty_lists(n, k)
        if n * n <= self._few_pairs or self._too_long(k):
            poll = progress.step("neighbors")
            _native.nearest(self.X, self.X, True, *how, *out, threads(n * self.X.size), poll)
        elif n <= most_exact:
            self.native.join(*how, *out, threads(), progress.step("neighbors"))
        else:
            return self._approximate(k, least, groups)
        return Neighbors.of_table(*out)

    def query(self, Q: Reals, k: int) -> Neighbors:
        """The k nearest rows of new ones."""
        if Q.dtype == np.float64 and self.X.dtype == np.float32:
            return self.wide.query(Q, k)
        Q, out = np.ascontiguousarray(Q, self.X.dtype), empty_lists(len(Q), k)
        largest = np.abs(Q).max(1, initial=0).astype(np.float64)
        # Rows whose squares float32 cannot hold are compared with every row, as few rows are ...
        many = len(Q) > 64 and len(Q) * len(self.X) > 2 * self._few_pairs
        near = np.full(len(Q), many and not self._too_long(k))
        near &= largest < 2.0**45 / self.scale
        # ... and those whose squares float64 cannot hold in units of their own.
        far = ~near & (largest * self.unit > 1e100) & (Q.dtype == np.float64)
        for some in (near, ~near & ~far):
            if some.any():
                whole = bool(some.all())
                part = out if whole else empty_lists(int(some.sum()), k)
                rows, Z = (Q if whole else Q[some]), None
                how, poll = (self.root, self.factor, self.unit), progress.step("neighbors")
                if some is near:
                    Z = self.project(rows)
                    self.native.query(rows, Z, *how, *part, threads(), poll)
                else:
                    n_threads = threads(len(rows) * self.X.size)
                    _native.nearest(rows, self.X, False, *how, *part, n_threads, poll)
                if not whole:
                    out[0][some], out[1][some] = part
        for i in np.flatnonzero(far):
            how = self.root, self.factor, min(self.unit, unit_for(float(largest[i])))
            one = out[0][i : i + 1], out[1][i : i + 1]
            _native.nearest(Q[i : i + 1], self.X, False, *how, *one, threads(self.X.size))
        return Neighbors.of_table(*out)

    def ranks(self, listed: Indices, rows: Indices | None = None) -> Indices:
        """Ranks of listed rows among all others, seen from `rows` (or all): how many are nearer."""
        out = np.empty(listed.shape, np.int32)
        how = rows, self.root, self.factor, self.unit, np.ascontiguousarray(listed, np.int32)
        poll = progress.step("ranks")
        _native.ranks(self.X, self.center, self.scale, *how, out, threads(), poll)
        return out

    def _approximate(self, k: int, least: float, near: int) -> Neighbors:
        """Pairs of near groups of rows, then neighbors of neighbors (NN-descent).

        Each group of rows is compared with more and more of the nearest others, at first so many,
        until the lists of a sample of rows have the recall that is asked for.
        """
        n, n_threads, poll = len(self.X), threads(), progress.step("neighbors")
        sample = random.subset(0, "recall", n, 768)  # a standard error of 0.001 at k = 10
        with_own = self.query(self.X[sample], k + 1).table[0]
        true = with_own != sample[:, None]
        true[true.all(1), k] = False  # among more than k duplicates a row may not find itself
        truth = with_own[true].reshape(-1, k)
        index = self.native
        candidates = index.candidate_lists(self.root, self.factor, self.unit, k, n_threads)
        centroids = np.empty((index.groups, index.coordinates), np.float32)
        index.centroids(centroids)
        out = empty_lists(n, k)
        while 4 * near < index.groups:
            groups = RowIndex(centroids).nearest(near).table[0]
            candidates.join(groups, n_threads, poll)
            if candidates.unpruned_fraction(n_threads, poll) < 8 * near / index.groups:
                break  # bounding boxes rule out nearly all others
            candidates.nn_descent(
                groups, 4, n_threads, poll
            )  # mostly the second round finds little
            candidates.copy_to(*out, n_threads)
            hits = (truth[:, :, None] == out[0][sample][:, None]).any(2)
            if hits.mean() >= least:
                return Neighbors.of_table(*out, float(hits.mean()))
            near *= 2
        candidates.join(None, n_threads, poll)  # all of them: the search is exact after all
        candidates.copy_to(*out, n_threads)
        return Neighbors.of_table(*out)

    @property
    def _few_pairs(self) -> int:
        """Pairs up to which brute force is faster than the index (measured at 2 to 64 columns)."""
        return 2**15 if self.X.shape[1] <= 8 else 2**17

    def _too_long(self, k: int) -> bool:
        """Whether lists of k neighbors are so long that the bounds rule out little."""
        return k > 1024 or 8 * k > len(self.X)


def empty_lists(n: int, k: int) -> tuple[Indices, Reals]:
    return np.full((n, k), -1, np.int32), np.full((n, k), np.inf)


def unit_for(largest: float) -> float:
    """A power of two that keeps squares of differences of such entries in the range of float64."""
    if largest == 0 or not np.isfinite(largest) or 1e-100 < largest < 1e100:
        return 1.0
    return float(2.0 ** -np.clip(int(np.frexp(largest)[1]), -1000, 1000))


def pruning_basis(
    rows: Reals, plain: int = 4, full: int = 128, by_features: int = 1024
) -> Reals | None:
    """Leading principal directions of a sample of rows, or None where they would prune too little.

    Up to `full` columns all directions are kept, as turning rows is cheap then; up to `plain`
    none, as nothing is saved; beyond `by_features` columns they come from the Gram matrix.
    """
    d, total = rows.shape[1], float(np.square(rows).sum())
    if d <= plain or not np.isfinite(total) or total <= 0:
        return None
    most = d if d <= full else min(d, 2 * full)
    if d <= by_features:
        values, V = _leading(_native_scatter(rows), most)
    else:
        rows = rows[:: -(-len(rows) // by_features)]
        total = float(np.square(rows).sum())
        if total <= 0:
            return None
        values, U = _leading(rows @ rows.T, min(most, len(rows)))
        some = values > 1e-6 * max(values[0], 0)
        values, V = values[some], np.linalg.qr(rows.T @ U[:, some])[0]
    if not len(values):
        return None
    share = np.cumsum(values) / total
    if d <= full:
        return np.ascontiguousarray(V) if share[d // 4] > 0.4 else None
    enough = int(np.searchsorted(share, 0.975)) + 1
    m = min(V.shape[1], -(-enough // 16) * 16)
    return np.ascontiguousarray(V[:, :m]) if share[m - 1] > 0.5 else None


def _native_scatter(rows: Reals) -> Reals:
    d = rows.shape[1]
    out = np.empty((d, d))
    n_threads = threads(len(rows) * d * d)
    _native.scatter(np.ascontiguousarray(rows), None, np.zeros(d), 1.0, out, n_threads)
    return out


def _leading(A: Reals, k: int) -> tuple[Reals, Reals]:
    """The k largest eigenpairs of a symmetric matrix, largest first."""
    n = len(A)
    with single_threaded_blas():
        if 2 * k > n:  # all vectors come sooner than some
            values, V = np.linalg.eigh(A)
        else:
            values, V = scipy.linalg.eigh(A, subset_by_index=(n - k, n - 1))
    return values[::-1][:k], V[:, ::-1][:, :k]


# -- one search for all who ask -------------------------------------------------------------------


def search_once(
    X: Reals,
    order: Callable[[], Indices],
    metric: tuple[object, ...],
    k: int,
    search: Callable[[int], Neighbors],
    wide: int = 20_000,
) -> Neighbors:
    """The k nearest others of each row; in a block `once`, of the same rows in whichever order.

    `order` is that by content. Rows of up to three columns are maps, which are searched for few
    neighbors only; of more rows than `wide`, longer lists would take time and memory.
    """
    results, (n, d) = known_results(), X.shape
    if results is None or n <= 1:
        return search(k)
    by_content = order()
    key = "neighbors", metric, fingerprint(X[by_content])
    known: SharedLists | None = results.get(key)
    near = None if known is None else known.first(k, by_content)
    if near is not None:
        return near
    # One more than needed shows ties at the last; t-SNE of few rows takes all others.
    width = min(k + 1, n - 1)
    if d > 3 and n <= wide:
        width = n - 1 if n <= 500 else max(width, min(results.n_neighbors, n - 1))
    near = search(width)
    if near.recall == 1:
        results.put(key, SharedLists.of(near, by_content))
    return near.first(k)


class SharedLists(NamedTuple):
    """Lists of one length, of rows in the order of their contents."""

    indices: Indices
    distances: Reals

    @classmethod
    def of(cls, near: Neighbors, order: Indices) -> SharedLists:
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        indices, distances = near.table
        return cls(rank[indices[order]], distances[order])

    def first(self, k: int, order: Indices) -> Neighbors | None:
        """The k first of each list, of rows in an order of their own; None if they are unknown.

        Equal distances are in the order of the rows; those at the end of the lists may go on.
        """
        n, width = self.indices.shape
        last = self.distances[:, -1]
        if k > width or (width < n - 1 and (self.distances[:, k - 1] == last).any()):
            return None
        indices, distances = np.empty((n, width), np.int32), np.empty((n, width))
        indices[order], distances[order] = order[self.indices], self.distances
        near = Neighbors.of_table(indices, distances)
        if (distances[:, 1:] == distances[:, :-1]).any():
            near = Neighbors.of_unsorted(near.indptr, near.indices, near.distances)
        return near.first(k)
