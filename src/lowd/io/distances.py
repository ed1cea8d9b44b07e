"""Detect distance matrices, from a flag or from the shape and values."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import squareform

from ..errors import DataError
from .source import Source, require_memory
from .table import Column, Table

MIN_DISTANCE_ROWS = 3  # A smaller square is just as likely a table.
COMPARED_ROWS = 1024  # Rows compared with columns at a time, so that both blocks stay in the cache.
# Relative tolerance: the distances may have been written with six or seven digits.
SYMMETRY_TOLERANCE = 1e-6


def detect_distances(table: Table, wanted: bool | None) -> Table:
    """Mark a table as distances if that was asked for or recognized; a note says which."""
    X = table.X
    if table.kind != "rows" or issparse(X):
        if wanted:
            raise DataError(f"{table.source} holds {table.kind}, not a matrix of distances.")
        return table
    if X.ndim == 1 or (wanted and X.ndim == 2 and X.shape[1] == 1):
        return _expand_condensed(table, wanted)
    if wanted:
        if X.shape[0] != X.shape[1]:
            raise DataError(
                f"{table.source} has {X.shape[0]} rows and {X.shape[1]} columns; a matrix of "
                "distances is square, or condensed to one column of n (n - 1) / 2 numbers."
            )
        return _mark_distances(
            table, f"{table.source} was read as a matrix of distances, as asked for."
        )
    if wanted is None and _looks_like_distances(X):
        return _mark_distances(
            table,
            f"{table.source} is square, symmetric and zero on its diagonal, so it was taken as a "
            "matrix of distances (distances=False reads it as rows).",
        )
    return table


def _expand_condensed(table: Table, wanted: bool | None) -> Table:
    values = np.asarray(table.X, np.float64).ravel()
    n = (1 + math.isqrt(1 + 8 * len(values))) // 2
    if wanted is False or n * (n - 1) // 2 != len(values) or n < 2:
        raise DataError(
            f"{table.source} holds {len(values)} numbers in one dimension; expected rows × "
            "columns, or the n (n - 1) / 2 distances of n points."
        )
    require_memory(Source(table.source), {"distances": 8 * n * n}, "Use fewer points.")
    note = (
        f"{table.source} holds n (n - 1) / 2 numbers for n = {n} and was taken as condensed "
        "distances."
    )
    ids = table.ids if table.ids is not None and len(table.ids) == n else None
    square = dataclasses.replace(table, X=squareform(values), ids=ids, labels=None, extra={})
    return _mark_distances(dataclasses.replace(square, columns=()), note)


def _mark_distances(table: Table, note: str) -> Table:
    """Return a table of distances whose rows have the names of its columns."""
    default = all(name == f"x{j}" for j, name in enumerate(table.columns))
    ids = table.ids if table.ids is not None or default else np.array(table.columns)
    return dataclasses.replace(table, kind="distances", ids=ids).add_notes(note)


def _looks_like_distances(X: Column) -> bool:
    n = len(X)
    if n < MIN_DISTANCE_ROWS or X.shape != (n, n) or np.diagonal(X).any():
        return False
    positive = 0
    for start in range(0, n, COMPARED_ROWS):
        rows, columns = X[start : start + COMPARED_ROWS], X[:, start : start + COMPARED_ROWS].T
        if rows.min() < 0 or not np.allclose(rows, columns, rtol=SYMMETRY_TOLERANCE, atol=0):
            return False
        positive += int(np.count_nonzero(rows))
    # Unlike the adjacency matrix of a graph, which is mostly zero.
    return positive >= n * (n - 1) // 2
