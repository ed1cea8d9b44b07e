"""Label-based measures: kNN accuracy, neighborhood hit, silhouette, class centroids.

They reward clusters that the data may not have: compare them with their values in the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from ...errors import DataError
from ...parameters import Indices, Reals
from ...spaces import Rows, space_of
from ..types import MetricLike, MetricParams
from .measures import Measure
from .triplets import score_centroid_triplets

MAX_BLOCK_VOTES = 2**24  # counted at a time: 64 MiB
MAX_CENTROID_CLASSES = 200  # all triplets of more centroids would be above 4 million
MAX_CENTROID_DISTANCES = 20_000_000  # of rows to centroids: 160 MB in float64


def encode_labels(labels: ArrayLike, n: int) -> NDArray[np.int64]:
    """Class labels as integers 0, 1, ...: one per row, at least two classes."""
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


def score_knn_votes(near: Indices, codes: NDArray[np.int64], own: NDArray[np.int64]) -> Reals:
    """1 where the majority of the neighbors has the class of the row.

    Tied votes go to the class of the nearest of the tied voters.
    """
    m, c = len(near), int(codes.max()) + 1
    right = np.empty(m)
    step = max(1, MAX_BLOCK_VOTES // c)
    for i in range(0, m, step):
        voters = codes[near[i : i + step]]
        counts = np.zeros((len(voters), c), np.int32)
        at = np.arange(len(voters))[:, None]
        np.add.at(counts, (at, voters), 1)
        leads = counts[at, voters] == counts.max(1)[:, None]
        winner = np.take_along_axis(voters, leads.argmax(1)[:, None], 1)[:, 0]
        right[i : i + step] = winner == codes[own[i : i + step]]
    return right


def compute_neighborhood_hits(
    near: Indices, codes: NDArray[np.int64], own: NDArray[np.int64]
) -> Reals:
    """Share of each row's neighbors that have its class."""
    return np.asarray((codes[near] == codes[own][:, None]).mean(1), np.float64)


def compute_silhouettes(
    class_sums: Reals, codes: NDArray[np.int64], own: NDArray[np.int64]
) -> Reals:
    """Silhouettes from the sums of each row's distances to every class; singletons have 0."""
    sizes = np.bincount(codes).astype(np.float64)
    classes, at = codes[own], np.arange(len(own))
    inside = class_sums[at, classes] / np.maximum(sizes[classes] - 1, 1)
    means = class_sums / sizes
    means[at, classes] = np.inf
    outside = means.min(1)
    larger = np.maximum(inside, outside)
    width = (outside - inside) / np.where(larger > 0, larger, 1)
    return np.where(sizes[classes] > 1, width, 0.0)


def compare_centroids(
    X: Any,
    Y: Reals,
    metric: MetricLike,
    params: MetricParams,
    codes: NDArray[np.int64],
) -> dict[str, Measure]:
    """Measures by the centroids of classes, for rows of numbers with up to 200 classes."""
    c, n = int(codes.max()) + 1, len(codes)
    no_centroids = callable(metric) or metric in ("precomputed", "gower", "hamming", "jaccard")
    if no_centroids or c > MAX_CENTROID_CLASSES:
        return {}
    share = csr_array((1 / np.bincount(codes)[codes], (codes, np.arange(n))), shape=(c, n))
    centroids = share @ X
    centroids = np.asarray(centroids.toarray() if issparse(centroids) else centroids, np.float64)
    data, embedding = space_of(centroids, metric, params), Rows(share @ Y)
    values = {}
    if c > 2:
        accuracy = score_centroid_triplets(data.pairwise(), embedding.pairwise())
        values["centroid_triplet_accuracy"] = accuracy
    if n * c <= MAX_CENTROID_DISTANCES:
        gap = compute_separation(data.toward(X), codes)
        gap -= compute_separation(embedding.toward(Y), codes)
        pairs = np.triu_indices(c, 1)
        values["label_trustworthiness"] = float(1 - np.maximum(gap, 0)[pairs].mean())
        values["label_continuity"] = float(1 - np.maximum(-gap, 0)[pairs].mean())
    return {name: Measure(name, value) for name, value in values.items()}


def compute_separation(D: Reals, codes: NDArray[np.int64]) -> Reals:
    """Separability of each two classes, from distances of rows to the centroids.

    2 (DSC - 1/2), where DSC is the share of their rows that are nearer to their own centroid.
    """
    c = D.shape[1]
    own = D[np.arange(len(codes)), codes][:, None]
    nearer = (own < D) + 0.5 * (own == D)
    right = np.stack([nearer[codes == a].sum(0) for a in range(c)])
    sizes = np.bincount(codes)
    return np.asarray(2 * (right + right.T) / (sizes[:, None] + sizes) - 1)
