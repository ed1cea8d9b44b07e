"""Who is near whom, for every kind of distance: the index where there is one, else blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from .. import progress
from ..backends.protocol import Array, Backend, Neighbors
from ..distances.callables import CallableDistances
from ..distances.metrics import Distances, is_indexed
from ..distances.precomputed import PrecomputedDistances
from ..distances.protocol import DistanceRelation
from ..domains import advise_at_most
from ..errors import ParameterError
from ..input.sample import Items, n_rows, take_rows

BLOCK_ENTRIES = 2**23  # distances computed at a time, 64 MB in float64
# Relative difference of distances that are taken for the same.
TIE_TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}


def count_points(base: DistanceRelation, Q: Items = None) -> int:
    """How many training points a relation has; given distances tell by those of new points."""
    if isinstance(base, PrecomputedDistances) and base.rows is not None:
        return len(base.rows)
    if isinstance(base, PrecomputedDistances) and Q is not None:
        return int(Q.shape[1])
    return n_rows(base.training_points())


def check_n_neighbors(k: int, n: int) -> None:
    """Raise an error if there are not more rows than neighbors."""
    if n == 1:
        raise ParameterError(f"n_neighbors={k}, but n_samples=1: a single row has no neighbors.")
    if k >= n:
        raise ParameterError(
            f"n_neighbors={k} needs at least {k + 1} rows, but there are {n}; "
            f"use {advise_at_most('n_neighbors', n - 1)}."
        )


def find_neighbors(base: DistanceRelation, k: int, ops: Backend) -> Neighbors:
    """The k nearest training points of each training point, itself left out by its number."""
    n = count_points(base)
    check_n_neighbors(k, n)
    if isinstance(base, Distances) and not issparse(base.X):
        return ops.index(base.X, base.measure, base.params, base.center).others(k)
    return _collect(
        (
            ops.distance_index(D, np.arange(i, i + len(D))).nearest(k)
            for i, D in _blocks(base, None, ops)
        ),
        n,
    )


def find_nearest(base: DistanceRelation, Q: Items, k: int, ops: Backend) -> Neighbors:
    """The k nearest training points of new points."""
    if isinstance(base, Distances) and not issparse(base.X) and not issparse(Q):
        index = ops.index(base.X, base.measure, base.params, base.center)
        return index.query(base.prepare(Q), k)
    return _collect((ops.distance_index(D).nearest(k) for _, D in _blocks(base, Q, ops)), n_rows(Q))


def search_memory(
    n: int,
    metric: str | Callable[..., object],
    radius: float | None = None,
    *,
    sparse: bool = False,
) -> int:
    """Bytes of the distances that a search among n rows holds at a time."""
    if is_indexed(metric) and radius is None and not sparse:
        return 0
    arrays = 4 if sparse else 3  # with the sparse product of the rows
    return arrays * min(BLOCK_ENTRIES, n * n) * 8


def to_csr(near: Neighbors, n: int) -> csr_array:
    """The same as sparse rows of distances to n points, nearest first."""
    m, k = near.indices.shape
    starts = np.arange(0, m * k + 1, k) if k else np.zeros(m + 1, np.int64)
    return csr_array((near.distances.ravel(), near.indices.ravel(), starts), shape=(m, n))


def replace_rows(near: csr_array, rows: NDArray[np.int64], by: csr_array) -> csr_array:
    """Replace some rows of a sparse matrix."""
    order = np.arange(near.shape[0])
    order[rows] = near.shape[0] + np.arange(len(rows))
    return csr_array(csr_array(vstack([near, by]))[order])


def find_within(base: DistanceRelation, Q: Items | None, radius: float, ops: Backend) -> csr_array:
    """Distances up to a radius (the sphere included) as sparse rows; stored zeros are distances.

    A distance that is the radius but for rounding counts.

    Among the training points (Q is None) a point is no neighbor of itself.
    """
    parts = []
    n = count_points(base, Q)
    for i, D in _blocks(base, Q, ops):
        near = radius * (1 + TIE_TOLERANCE[D.dtype]) >= D
        if Q is None:
            near[np.arange(len(D)), np.arange(i, i + len(D))] = False
        at = np.nonzero(near)
        starts = np.concatenate([[0], np.cumsum(near.sum(1))])
        parts.append((D[at].astype(np.float64), at[1].astype(np.int32), starts))
    data = np.concatenate([part[0] for part in parts])
    indices = np.concatenate([part[1] for part in parts])
    counts = np.concatenate([[0], *(np.diff(part[2]) for part in parts)])
    return csr_array((data, indices, np.cumsum(counts)), shape=(len(counts) - 1, n))


def _blocks(base: DistanceRelation, Q: Items | None, ops: Backend) -> Iterator[tuple[int, Array]]:
    """(first row, distances of some rows to all training points), block after block."""
    if Q is None and isinstance(base, CallableDistances):  # each pair is measured once
        yield 0, base.among(ops)
        return
    items, numbers = _numbered_points(base) if Q is None else (Q, np.arange(n_rows(Q)))
    n, m = count_points(base, Q), len(numbers)
    step = max(1, BLOCK_ENTRIES // max(n, 1))
    for i in range(0, m, step):
        D = base.toward(take_rows(items, numbers[i : i + step]), ops)
        yield i, D
        progress.report("neighbors", i + len(D), m)


def _numbered_points(base: DistanceRelation) -> tuple[Any, NDArray[np.int64]]:
    """The training points, as numbers of rows that need not be copied all at once."""
    if isinstance(base, PrecomputedDistances) and base.rows is not None:
        return base.D, base.rows
    items = base.training_points()
    return items, np.arange(n_rows(items))


def _collect(parts: Iterator[Neighbors], m: int) -> Neighbors:
    found = list(parts)
    if not found:
        return Neighbors(np.empty((m, 0), np.int32), np.empty((m, 0)))
    return Neighbors(
        np.concatenate([part.indices for part in found]),
        np.concatenate([part.distances for part in found]),
    )
