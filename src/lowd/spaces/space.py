"""Spaces: points with a metric. Who is how far from whom, among them and from new points.

There are several kinds, and `space_of` makes the one that the data and the metric need: here rows
with a named metric, objects with a callable one, and a matrix of given distances; in other files of
this folder sparse rows, tables, given neighbors and rows in blocks. What a method asks of a space
it asks of each of them in the same words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from .. import _native, progress, random
from ..backend import allocate, chunks, overridable, threads
from ..errors import DataError, ParameterError
from ..parameters import Held, Indices, Metric, MetricParams, Reals, state, state_of
from .matrices import (
    along_a_line,
    far_if_missing,
    hash_rows,
    hash_symmetric,
)
from .neighbors import Neighbors, RowIndex, joined, nearest_columns, search_once


class Measure(NamedTuple):
    """How a named metric is computed: by a measure of the native core, and of which rows."""

    name: str
    factor: float | None = None  # of the Euclidean distance or its square
    unit_length: bool = False
    centered: bool = False  # each row, before its length is made 1
    rooted: bool = False  # each entry, before that
    amounts: bool = False  # entries are 0 or more


METRICS = {
    "euclidean": Measure("euclidean", 1.0),
    "sqeuclidean": Measure("sqeuclidean", 1.0),
    # On unit vectors half the squared distance is 1 - cos, without its cancellation.
    "cosine": Measure("sqeuclidean", 0.5, unit_length=True),
    "correlation": Measure("sqeuclidean", 0.5, unit_length=True, centered=True),
    "manhattan": Measure("manhattan"),
    "chebyshev": Measure("chebyshev"),
    "minkowski": Measure("minkowski"),
    "hamming": Measure("hamming"),
    "jaccard": Measure("jaccard"),
    # Roots of shares of 1 are unit vectors.
    "hellinger": Measure("euclidean", 0.5**0.5, unit_length=True, rooted=True, amounts=True),
    "canberra": Measure("canberra"),
    "braycurtis": Measure("braycurtis", amounts=True),
    "dice": Measure("dice"),
    "haversine": Measure("haversine"),
}
# Names that other libraries have for some of them.
SAME = {
    **dict.fromkeys(("l1", "cityblock", "taxicab"), "manhattan"),
    "l2": "euclidean",
    "linf": "chebyshev",
}


@overridable
def space_of(X: Any, metric: Metric = "euclidean", params: MetricParams = None) -> Space:
    """The space of validated training data, after a check of the metric and its parameters.

    X holds rows, objects for a callable metric, or with metric="precomputed" the distances between
    all of them, of which NaN is one that is not known. Other kinds of data are registered where
    their space is.
    """
    if callable(metric):
        return Objects(X if isinstance(X, np.ndarray) else list(X), metric, dict(params or {}))
    check_metric(metric, params)
    if metric == "precomputed":
        return Matrix(X)
    name, p = named_metric(metric, params)
    if name not in METRICS:
        raise ParameterError(f"metric={metric!r} needs a table of columns, not rows.", "metric")
    rows = prepare_rows(X, name)
    return Rows(copied(rows) if rows is X else rows, name, p)


def check_metric(metric: str, params: MetricParams) -> None:
    """Raise an error for parameters that the metric does not know, or not such ones."""
    known = {"minkowski": {"p"}, "gower": {"weights"}}.get(metric, set())
    if odd := set(params or {}) - known:
        raise ParameterError(
            f"metric={metric!r} knows no parameter {sorted(odd)[0]!r}.", "metric_params"
        )
    p = (params or {}).get("p", 2.0)
    if not isinstance(p, int | float) or isinstance(p, bool) or not 1 <= p < np.inf:
        raise ParameterError(
            f"metric_params={{'p': {p!r}}}: expected a number >= 1 (for infinity: 'chebyshev').",
            "metric_params",
        )


def named_metric(metric: str, params: MetricParams) -> tuple[str, float]:
    """A checked metric, by the own name of minkowski's order where it has one, and that order."""
    if metric != "minkowski":
        return SAME.get(metric, metric), 2.0
    p = float((params or {}).get("p", 2.0))
    return {1.0: "manhattan", 2.0: "euclidean"}.get(p, metric), p


class Space(Held):
    """Points and a metric. A subclass defines `n`, `distances`, `toward`, `take`, and its state.

    Its constructor takes the fields of its state, which it does not check, and copies nothing.
    """

    @property
    def n(self) -> int:
        """How many points there are."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its distances."""
        return np.dtype(np.float64)

    @property
    def rows(self) -> Any:
        """The points as rows of numbers, dense or sparse or in blocks; None where they are not."""
        return None

    def distances(self, points: Indices) -> Reals:
        """Distances of some of the points to all of them."""
        raise NotImplementedError

    def toward(self, Q: Any) -> Reals:
        """Distances of new points to all points."""
        raise NotImplementedError

    def take(self, points: Indices) -> Self:
        """The space of some of the points."""
        raise NotImplementedError

    def merge(self, first_row: Indices, point_of_row: Indices) -> Self:  # noqa: ARG002
        """The space of distinct points: of several points at distance 0 from each other one."""
        return self.take(first_row)

    def fingerprint(self) -> Indices:
        """A number of each point that its content determines, and not its place."""
        raise NotImplementedError

    def kept(self) -> Self:
        """What a model keeps of the space, to place new points."""
        return self

    def pairwise(self) -> Reals:
        """Distances between all points, for methods that need all at once; not to be changed."""
        what = f"the distances of {self.n} points"
        out = allocate((self.n, self.n), self.dtype, what, "use landmarks")
        for some in chunks(self.n, self.n):
            out[some] = self.distances(np.arange(some.start, some.stop))
            progress.report("distances", some.stop, self.n)
        return out

    def nearest(self, k: int) -> Neighbors:
        """The k nearest others of each point; of given neighbors as many as there are, up to k."""
        return joined(
            nearest_columns(D, k, points) for points, D in self._blocks(self.n, self.distances)
        )

    def query(self, Q: Any, k: int) -> Neighbors:
        """The k nearest points of new ones, or all if there are fewer."""
        k, count = min(k, self.n), count_rows(Q)
        if count == 0:
            return Neighbors.of_table(np.empty((0, k), np.int32), np.empty((0, k)))
        found = self._blocks(count, lambda some: self.toward(take_rows(Q, some)))
        return joined(nearest_columns(D, k) for _, D in found)

    def within(self, radius: float, Q: Any = None) -> Neighbors:
        """The points within a radius (the sphere included) of new points, or of each other.

        A distance that exceeds the radius by no more than rounding counts as equal to it.
        """
        parts = []
        new = Q is not None
        count = count_rows(Q) if new else self.n
        measure = (lambda some: self.toward(take_rows(Q, some))) if new else self.distances
        for rows, D in self._blocks(count, measure):
            inside = radius * (1 + tie_tolerance(D)) >= D
            if not new:
                inside[np.arange(len(rows)), rows] = False
            row, column = np.nonzero(inside)
            parts.append(Neighbors.of_entries(len(D), row, column, D[inside]))
        return joined(parts)

    def _blocks(
        self, count: int, measure: Callable[[Indices], Reals]
    ) -> Iterator[tuple[Indices, Reals]]:
        """Numbers of some rows and what is measured of them, block after block."""
        for some in chunks(count, self.n):
            rows = np.arange(some.start, some.stop)
            yield rows, measure(rows)
            progress.report("neighbors", some.stop, count)

    @cached_property
    def line(self) -> Reals | None:
        """Where the points lie along a line; None if they are not rows of numbers."""
        return None if self.rows is None else along_a_line(self.rows)

    def order(self, *attached: Reals) -> Indices:
        """The points in an order by their content, and by what else is known of each.

        Methods whose rounding grows, or that draw points, take them in this order: permuted rows
        then give the permuted result. Rows are sorted along a line, on which units, offsets and
        constant columns change nothing; those at one place, and other points, by a hash.
        """
        line = self.line
        if line is not None and np.isfinite(line).all():
            order = np.argsort(line, kind="stable")
            if not attached and np.diff(line[order]).all():
                return order
            last = [self.fingerprint(), line]
        else:
            last = [self.fingerprint()]
        columns = [column for part in attached for column in np.reshape(part, (self.n, -1)).T]
        return np.lexsort((*columns, *last))

    def draw(self, m: int, seed: int, stream: str) -> Indices:
        """m random points in that order: the same ones in whichever order the points come."""
        return self.order()[random.subset(seed, stream, self.n, m)]

    def __getstate__(self) -> dict[str, Any]:
        """Without what is cached, as it follows from the rest."""
        return {name: held for name, held in vars(self).items() if name in state_of(type(self))}


class Rows(Space):
    """Dense rows of numbers with a named metric; `prepare_rows` was done to them."""

    X: Reals = state("n_points n_features")
    metric: str = state()
    p: float = state()  # minkowski's order

    def __init__(self, X: Reals, metric: str = "euclidean", p: float = 2.0) -> None:
        self.X, self.metric, self.p = X, metric, p

    @property
    def n(self) -> int:
        return len(self.X)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype

    @property
    def rows(self) -> Reals:
        return self.X

    @property
    def measure(self) -> tuple[str, tuple[float, ...]]:
        """The native core's measure and its parameters."""
        name, factor = METRICS[self.metric][:2]
        return name, (self.p,) if name == "minkowski" else () if factor is None else (factor,)

    @cached_property
    def center(self) -> Reals | None:
        """The mean, where differences are computed from it: that saves time."""
        return None if METRICS[self.metric].factor is None else finite_mean(self.X)

    @cached_property
    def index(self) -> RowIndex:
        name, (factor,) = self.measure
        return RowIndex(self.X, name == "euclidean", factor)

    @cached_property
    def _wide(self) -> Rows:
        """The same rows in float64, for new rows of that type."""
        return Rows(self.X.astype(np.float64), self.metric, self.p)

    def prepare(self, Q: Any) -> Reals:
        """New rows as they are compared, dense; those that the metric cannot use are refused."""
        return prepare_rows(Q.toarray() if issparse(Q) else Q, self.metric)

    def distances(self, points: Indices) -> Reals:
        return measure_rows(self.X[points], self.X, *self.measure, self.center)

    def toward(self, Q: Reals) -> Reals:
        if Q.dtype == np.float64 and self.X.dtype == np.float32:
            return self._wide.toward(Q)
        Q = np.ascontiguousarray(self.prepare(Q), self.X.dtype)
        return measure_rows(Q, self.X, *self.measure, self.center)

    def pairwise(self) -> Reals:
        return measure_rows(self.X, self.X, *self.measure, self.center)

    def nearest(self, k: int) -> Neighbors:
        if self.center is None:
            return super().nearest(k)
        return search_once(
            self.X,
            lambda: self.fingerprint().argsort(kind="stable"),
            (self.metric, self.p),
            k,
            lambda k: nearest_rows(self.index, k),
        )

    def query(self, Q: Reals, k: int) -> Neighbors:
        if self.center is None:
            return super().query(Q, k)
        return query_rows(self.index, self.prepare(Q), min(k, self.n))

    def take(self, points: Indices) -> Rows:
        taken = Rows(picked(self.X, points), self.metric, self.p)
        if len(points) == self.n and "line" in vars(self):  # all of them, in another order
            taken.line = None if self.line is None else self.line[points]
        return taken

    def fingerprint(self) -> Indices:
        return hash_rows(self.X)


class Objects(Space):
    """Objects of any kind, or rows of numbers, with a callable metric of two of them.

    It is symmetric, so each pair is measured once, when it is first asked for.
    """

    items: Any = state()  # a list of objects, or an array of rows
    metric: Callable[..., Any] = state()
    params: dict[str, Any] = state()
    numbers: Indices = state("n_points")  # of the objects, which errors name

    def __init__(
        self,
        items: Sequence[Any] | Reals,
        metric: Callable[..., Any],
        params: dict[str, Any],
        numbers: Indices | None = None,
    ) -> None:
        self.items, self.metric, self.params = items, metric, params
        self.numbers = np.arange(len(items)) if numbers is None else numbers

    @property
    def n(self) -> int:
        return len(self.items)

    @cached_property
    def matrix(self) -> Reals:
        """The distances of all pairs, in the fit."""
        n, number = self.n, self.numbers.tolist()
        D = allocate((n, n), np.float64, f"the distances of {n} objects", "fit fewer")
        for i in range(n):
            D[i, i] = 0
            for j in range(i):
                D[i, j] = D[j, i] = self._measure(
                    self.items[i], self.items[j], number[i], number[j]
                )
            progress.report("distances", i + 1, n)
        self._check_symmetry(D)
        return D

    def pairwise(self) -> Reals:
        return self.matrix

    def distances(self, points: Indices) -> Reals:
        if "matrix" not in vars(self) and 2 * len(points) < self.n:
            return self._toward(take_rows(self.items, points), self.numbers[points])
        return self.matrix[points]

    def nearest(self, k: int) -> Neighbors:
        return nearest_columns(self.matrix, k, np.arange(self.n))

    def within(self, radius: float, Q: Any = None) -> Neighbors:
        if Q is None:
            self.pairwise()  # so that no pair is measured twice
        return super().within(radius, Q)

    def toward(self, Q: Sequence[Any]) -> Reals:
        return self._toward(Q, np.arange(len(Q)))

    def _toward(self, Q: Sequence[Any], numbers: Indices) -> Reals:
        D, number = np.empty((len(Q), self.n)), self.numbers.tolist()
        for i, q in enumerate(Q):
            for j, item in enumerate(self.items):
                D[i, j] = self._measure(q, item, int(numbers[i]), number[j])
            progress.report("distances", i + 1, len(Q))
        return D

    def take(self, points: Indices) -> Objects:
        items = take_rows(self.items, points)
        taken = Objects(items, self.metric, self.params, self.numbers[points])
        if "matrix" in vars(self):
            vars(taken)["matrix"] = self.matrix[np.ix_(points, points)]
        return taken

    def kept(self) -> Objects:
        copied = isinstance(self.items, np.ndarray)
        items = self.items.copy() if copied else list(self.items)
        return Objects(items, self.metric, self.params, self.numbers)

    def fingerprint(self) -> Indices:
        if isinstance(self.items, np.ndarray) and self.items.ndim == 2:
            return hash_rows(self.items)
        return hash_objects(self.items)

    def _measure(self, a: object, b: object, i: int, j: int) -> float:
        try:
            given = self.metric(a, b, **self.params)
        except Exception as error:
            error.add_note(f"raised by metric={name_callable(self.metric)}, objects {i} and {j}")
            raise
        try:
            distance = float(given)
        except (TypeError, ValueError):
            raise DataError(
                f"metric={name_callable(self.metric)} gave {given!r} for objects {i} and {j}; "
                "a distance is one number."
            ) from None
        if not 0 <= distance < np.inf:
            raise DataError(
                f"metric={name_callable(self.metric)} gave {distance} for objects {i} and {j}; "
                "a distance is finite and not negative."
            )
        return distance

    def _check_symmetry(self, D: Reals, tolerance: float = 1e-6, least: int = 1000) -> None:
        """Refuse a metric that is not 0 between an object and itself, or not symmetric.

        Distances of new points are computed in the other direction, so that an asymmetric metric
        would map a training point elsewhere. At least 1000 of the pairs, and one for each object,
        are enough to notice it.
        """
        n, number, name = self.n, self.numbers.tolist(), name_callable(self.metric)
        largest = tolerance * D.max(initial=0)
        for i in range(n):
            own = self._measure(self.items[i], self.items[i], number[i], number[i])
            if own > largest:
                raise DataError(
                    f"metric={name} gives {own:.6g} for object {number[i]} and itself, not 0; a "
                    "distance is needed: is this a similarity s? Then return sqrt(s(a, a) + "
                    "s(b, b) - 2 s(a, b))."
                )
        if n * (n - 1) // 2 <= least:
            row, column = np.tril_indices(n, -1)
        else:
            draws = np.arange(max(least, n))
            row = draws % (n - 1) + 1
            bits = random.bits(0, "symmetry of a metric", draws)
            column = (bits % row.astype(np.uint64)).astype(np.int64)
        for i, j in zip(row.tolist(), column.tolist(), strict=True):
            reverse = self._measure(self.items[j], self.items[i], number[j], number[i])
            if abs(D[i, j] - reverse) > largest:
                raise DataError(
                    f"metric={name} is not symmetric: {D[i, j]:.6g} for objects ({number[i]}, "
                    f"{number[j]}) but {reverse:.6g} for ({number[j]}, {number[i]}); return "
                    "the mean of both directions if that is what you want."
                )


class Matrix(Space):
    """Given distances between all points; a new point comes as its distances to all of them.

    A model keeps `columns`, the numbers of its points among these, and not the matrix.
    """

    columns: Indices = state("n_points of n_features")
    n_features: int = state()
    D: Reals | None = None  # in the fit

    def __init__(
        self,
        D: Reals | None = None,
        columns: Indices | None = None,
        n_features: int | None = None,
    ) -> None:
        if D is not None and columns is None:
            columns, n_features = np.arange(len(D)), len(D)
        assert columns is not None
        assert n_features is not None
        self.D, self.columns, self.n_features = D, columns, n_features

    @property
    def n(self) -> int:
        return len(self.columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64) if self.D is None else self.D.dtype

    def pairwise(self) -> Reals:
        assert self.D is not None, "a model keeps no distances between training points"
        return self.D

    def distances(self, points: Indices) -> Reals:
        return self.pairwise()[points]

    def toward(self, Q: Reals) -> Reals:
        in_order = np.array_equal(self.columns, np.arange(self.n_features))
        return np.ascontiguousarray(Q if in_order else Q[:, self.columns])

    def nearest(self, k: int) -> Neighbors:
        """The k nearest others; a distance that is not known is the farthest."""
        return joined(
            nearest_columns(far_if_missing(D), k, points)
            for points, D in self._blocks(self.n, self.distances)
        )

    def query(self, Q: Reals, k: int) -> Neighbors:
        return nearest_columns(far_if_missing(self.toward(Q)), min(k, self.n))

    def take(self, points: Indices) -> Matrix:
        D = None if self.D is None else self.D[np.ix_(points, points)]
        return Matrix(D, self.columns[points], self.n_features)

    def kept(self) -> Matrix:
        return Matrix(None, self.columns, self.n_features)

    def fingerprint(self) -> Indices:
        return hash_symmetric(self.pairwise())


# -- what the native core does for rows ------------------------------------------------------------


@overridable
def measure_rows(
    Q: Reals, X: Reals, measure: str, params: tuple[float, ...], center: Reals | None = None
) -> Reals:
    """A measure of all rows Q to all rows X; half of them are computed where Q is X.

    The measures are the distances and kernels that `_native.pairwise` lists, and those of
    `measure_pairs`. Rows near the center are compared faster.
    """
    what = f"the distances of {len(Q)} to {len(X)} rows"
    out = allocate((len(Q), len(X)), X.dtype, what, "use landmarks")
    n_threads, poll = threads(len(Q) * X.size), progress.step("distances")
    if measure in PAIRED:
        for some in chunks(len(Q), X.size, 2**17):
            out[some] = measure_pairs(Q[some, None], X, measure)
            poll(some.stop, len(Q))
        return out
    _native.pairwise(Q, X, measure, params, center, Q is X, out, n_threads, poll)  # type: ignore[arg-type]
    return out


PAIRED = ("canberra", "braycurtis", "dice", "haversine")  # which the native core does not have


def measure_pairs(A: Reals, B: Reals, measure: str) -> Reals:
    """One of these distances between corresponding rows, which are broadcast; in float64."""
    A, B = A.astype(np.float64), B.astype(np.float64)
    if measure == "haversine":  # of latitude and longitude, on a sphere of radius 1
        half = np.square(np.sin((A - B) / 2))
        chord = half[..., 0] + np.cos(A[..., 0]) * np.cos(B[..., 0]) * half[..., 1]
        return np.asarray(2 * np.arcsin(np.sqrt(np.minimum(chord, 1))))
    if measure == "dice":
        A, B = (A != 0).astype(np.float64), (B != 0).astype(np.float64)
    gap, size = np.abs(A - B), np.abs(A) + np.abs(B)
    if measure != "canberra":
        return np.asarray(gap.sum(-1) / size.sum(-1))
    return np.asarray(np.divide(gap, size, out=np.zeros_like(gap), where=size > 0).sum(-1))


@overridable
def copied(X: Reals) -> Reals:
    """A copy, which the user does not change."""
    return X.copy()


@overridable
def picked(X: Reals, points: Indices) -> Reals:
    """Some of the rows, in this order."""
    return np.asarray(X[points])


@overridable
def nearest_rows(index: RowIndex, k: int) -> Neighbors:
    """The k nearest others of each row."""
    return index.nearest(k)


@overridable
def query_rows(index: RowIndex, Q: Reals, k: int) -> Neighbors:
    """The k nearest rows of new ones."""
    return index.query(Q, k)


def finite_mean(X: Reals) -> Reals:
    """The mean of the rows, rounded; the origin where their sum overflows."""
    sums = np.empty(X.shape[1])
    largest = _native.column_sums(X, None, sums, None, 0, None, threads(X.size))
    return rounded_mean(sums, len(X), largest)


def rounded_mean(sums: Reals, n: int, largest: float) -> Reals:
    """A mean to 24 bits of the largest entry, as near to the rows as that of sums in any order."""
    mean = sums / n
    if not np.isfinite(mean).all() or not np.isfinite(largest):
        return np.zeros(len(sums))
    unit = np.ldexp(1.0, max(int(np.frexp(largest)[1]) - 24, -1000))
    return np.asarray(np.round(mean / unit) * unit)


# -- rows of any kind ------------------------------------------------------------------------------


def count_rows(items: Any) -> int:
    """The number of rows of any kind of data."""
    return int(items.shape[0]) if hasattr(items, "shape") else len(items)


def take_rows(items: Any, some: Indices) -> Any:
    """Some rows of any kind of data."""
    if hasattr(items, "take") and not isinstance(items, np.ndarray):
        return items.take(some)
    return items[some] if hasattr(items, "shape") else [items[i] for i in some]


def prepare_rows(X: Reals, metric: str) -> Reals:
    """Rows as a metric compares them, in their type: centered and of length 1, or as they are.

    Rows that it cannot use are refused. The distance 1 of an empty set to all others, for one, is a
    mere convention, and in a neighbor graph it would be a short circuit.
    """
    counted = metric in ("jaccard", "dice", "braycurtis")
    empty = ~np.asarray(X.any(1)) if counted else np.zeros(1, bool)
    if empty.any():
        raise DataError(
            f"row {_numbers_of(empty)} is an empty set (all entries are 0), which shares nothing "
            "with any other; drop it or use metric='hamming'."
        )
    measure = METRICS[metric]
    if measure.amounts and X.min(initial=0) < 0:
        row, column = (int(at[0]) for at in np.nonzero(X < 0))
        raise DataError(
            f"metric={metric!r} compares amounts, but row {row}, column {column} is "
            f"{X[row, column]:g}; use metric='manhattan'."
        )
    if metric == "haversine":
        _check_places(X)
    if not measure.unit_length:
        return np.ascontiguousarray(X)
    out, lost = np.empty(X.shape, X.dtype), np.zeros(len(X), bool)
    for some in chunks(len(X), X.shape[1], 2**18):
        rows = X[some].astype(np.float64)
        if measure.rooted:
            rows = np.sqrt(rows)
        if measure.centered:
            lost[some] = rows.min(1) == rows.max(1)  # less their rounded mean they might not be 0
            rows -= rows.mean(1, keepdims=True)
        largest = np.abs(rows).max(1, keepdims=True, initial=0)
        lost[some] |= largest[:, 0] == 0
        rows /= np.where(largest > 0, largest, 1)  # whose squares are in range
        lengths = np.sqrt(np.square(rows).sum(1, keepdims=True))
        out[some] = rows / np.where(lengths > 0, lengths, 1)
    refuse_directionless(lost, measure.centered)
    return out


def _check_places(X: Reals) -> None:
    """Raise an error unless the columns may be latitudes and longitudes in radians."""
    if X.shape[1] != 2 or np.abs(X[:, 0]).max(initial=0) > np.pi / 2 * (1 + 1e-6):
        raise DataError(
            "metric='haversine' needs two columns, latitude (from -π/2 to π/2) and longitude in "
            f"radians, got {X.shape[1]} columns; for degrees pass numpy.radians(X)."
        )


def refuse_directionless(lost: Indices, centered: bool) -> None:
    """Raise an error if some rows have no angle with others."""
    if lost.any():
        reason = "its entries are all equal" if centered else "it is zero"
        raise DataError(
            f"row {_numbers_of(lost)} has no direction ({reason}), so angles to it mean nothing; "
            "drop it or use metric='euclidean'."
        )


def _numbers_of(some: Indices) -> str:
    rows = np.flatnonzero(some)
    return ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")


def tie_tolerance(D: Reals) -> float:
    """The relative difference of distances that count as equal."""
    return 1e-9 if D.dtype == np.float64 else 1e-6


# -- objects and their metric ----------------------------------------------------------------------


def name_callable(function: Callable[..., Any]) -> str:
    """The name of a user's function for a message."""
    return str(getattr(function, "__qualname__", None) or repr(function))


def hash_objects(items: Sequence[Any]) -> Indices:
    """Hashes of text, numbers, arrays, and of sequences of such; of other objects 0."""
    return np.array([_hash_object(item) for item in items], np.uint64)


def _hash_object(item: object) -> int:
    digest = hashlib.blake2b(digest_size=8)
    return int.from_bytes(digest.digest(), "little") if _feed(digest, item) else 0


def _feed(digest: hashlib.blake2b, item: object) -> bool:
    """Add the content of an object; False where it is not known."""
    if isinstance(item, list | tuple):
        digest.update(f"[{len(item)}".encode())
        return all(_feed(digest, part) for part in item)
    if isinstance(item, set | frozenset):
        digest.update(f"{{{len(item)}".encode())
        return all(_feed(digest, part) for part in sorted(map(_hash_object, item)))
    if isinstance(item, np.ndarray) and item.dtype != object:
        digest.update(f"a{item.dtype}{item.shape}".encode() + item.tobytes())
        return True
    if isinstance(item, str | bytes | int | float | np.generic | None):
        kind = "n" if isinstance(item, int | float | np.number) else type(item).__name__
        digest.update(f"{kind}{item!r}".encode())
        return True
    return False
