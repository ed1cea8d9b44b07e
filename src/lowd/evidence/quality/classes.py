"""Measures by labels. They reward clusters that the data may not have: compare both spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ...backends.protocol import Array, Backend, Float64, Ints
from ...distances.metrics import data_kind, distances_of
from ...errors import DataError
from ...input.validation import Data
from .measures import Measure, mean_of
from .triplets import centroid_triplets

BLOCK = 2**24  # votes counted together
MOST = 200  # classes, of whose means all triplets are asked
MOST_TO_MEANS = 20_000_000  # distances of rows to them


def class_codes(labels: Any, n: int) -> NDArray[np.int64]:
    """Labels as whole numbers 0, 1, ...: one per row, at least two classes."""
    given = np.asarray(labels)
    if given.shape != (n,):
        raise DataError(
            f"labels needs one entry per row: expected shape ({n},), got {given.shape}."
        )
    if given.dtype == object:
        missing = [row for row, label in enumerate(given) if label is None or label != label]
        given = np.array([str(label) for label in given])
    else:
        missing = list(np.flatnonzero(np.isnan(given))) if given.dtype.kind == "f" else []
    if missing:
        raise DataError(f"the label of row {missing[0]} is missing; drop such rows or name them.")
    if given.dtype.kind == "f" and (given != np.round(given)).any():
        raise DataError(
            "labels holds numbers that are no classes; leave labels out, or cut them into classes "
            "(numpy.digitize)."
        )
    names, codes = np.unique(given, return_inverse=True)
    if len(names) < 2:
        raise DataError(f"labels: all rows are of class {names[0]!r}; at least two are needed.")
    return np.asarray(codes.reshape(-1), np.int64)


def votes(near: Ints, codes: NDArray[np.int64], own: NDArray[np.int64]) -> Float64:
    """1 where most neighbors are of the row's class; a drawn vote goes to the nearest voter's."""
    m, c = len(near), int(codes.max()) + 1
    right = np.empty(m)
    step = max(1, BLOCK // c)
    for i in range(0, m, step):
        voters = codes[near[i : i + step]]
        counts = np.zeros((len(voters), c), np.int32)
        at = np.arange(len(voters))[:, None]
        np.add.at(counts, (at, voters), 1)
        leads = counts[at, voters] == counts.max(1)[:, None]
        winner = np.take_along_axis(voters, leads.argmax(1)[:, None], 1)[:, 0]
        right[i : i + step] = winner == codes[own[i : i + step]]
    return right


def hits(near: Ints, codes: NDArray[np.int64], own: NDArray[np.int64]) -> Float64:
    """The share of a row's neighbors that are of its class."""
    return np.asarray((codes[near] == codes[own][:, None]).mean(1), np.float64)


def silhouettes(sums: Float64, codes: NDArray[np.int64], own: NDArray[np.int64]) -> Float64:
    """From the sums of each row's distances to every class; a row alone in its class has 0."""
    sizes = np.bincount(codes).astype(np.float64)
    mine, at = codes[own], np.arange(len(own))
    inside = sums[at, mine] / np.maximum(sizes[mine] - 1, 1)
    means = sums / sizes
    means[at, mine] = np.inf
    outside = means.min(1)
    larger = np.maximum(inside, outside)
    width = (outside - inside) / np.where(larger > 0, larger, 1)
    return np.where(sizes[mine] > 1, width, 0.0)


def class_means(
    X: Any, Y: Array, metric: Any, params: Any, codes: NDArray[np.int64], ops: Backend
) -> dict[str, Measure]:
    """Measures by the means of 2 to MOST classes, where there are such: of rows of numbers."""
    c, n = int(codes.max()) + 1, len(codes)
    if data_kind(metric) != "rows" or metric in ("hamming", "jaccard") or c > MOST:
        return {}
    share = csr_array((1 / np.bincount(codes)[codes], (codes, np.arange(n))), shape=(c, n))
    means = share @ X
    means = np.asarray(means.toarray() if issparse(means) else means, np.float64)
    near = distances_of(Data(means, means.dtype), metric, params)
    far = distances_of(Data(share @ Y, Y.dtype), "euclidean", None)
    found = {}
    if c > 2:
        kept = centroid_triplets(near.among(ops), far.among(ops))
        found["centroid_triplet_accuracy"] = kept
    if n * c <= MOST_TO_MEANS:
        gap = separations(near.toward(X, ops), codes) - separations(far.toward(Y, ops), codes)
        pairs = np.triu_indices(c, 1)
        found["label_trustworthiness"] = float(1 - np.maximum(gap, 0)[pairs].mean())
        found["label_continuity"] = float(1 - np.maximum(-gap, 0)[pairs].mean())
    return {name: Measure(name, value) for name, value in found.items()}


def separations(D: Array, codes: NDArray[np.int64]) -> Float64:
    """How far apart each two classes are, from distances of rows to the means of classes.

    Twice the share of their rows that are nearer to the own mean than to the other's, less 1.
    """
    c = D.shape[1]
    own = D[np.arange(len(codes)), codes][:, None]
    nearer = (own < D) + 0.5 * (own == D)
    right = np.stack([nearer[codes == a].sum(0) for a in range(c)])
    sizes = np.bincount(codes)
    return np.asarray(2 * (right + right.T) / (sizes[:, None] + sizes) - 1)


def label_measures(
    near_data: Ints | None,
    near_map: Ints,
    rows: NDArray[np.int64],
    codes: NDArray[np.int64],
    n: int,
) -> dict[str, tuple[Measure, Float64]]:
    """Name -> (measure, value of each row)."""
    k = near_map.shape[1]
    values = {"knn_accuracy": votes(near_map, codes, rows)}
    if near_data is not None:
        values["knn_accuracy_data"] = votes(near_data, codes, rows)
    values["neighborhood_hit"] = hits(near_map, codes, rows)
    return {name: (mean_of(name, value, n, k), value) for name, value in values.items()}
