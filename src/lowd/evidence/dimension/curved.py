"""Rules that follow a bent sheet or a graph, and need no axes."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse import csr_array

from ... import random
from ...backends.protocol import Backend, Float64, Neighbors
from ..diagnosis.shape import SAMPLE, ways
from ..diagnosis.subject import Sample

GAIN = 0.01  # residual variance that one more dimension must save,
NOTHING = 0.001  # unless it halves what is left, and that is more than this
GAPS = 15  # eigenvalues among which the largest gap is looked for
ZERO = 0.01  # a smaller eigenvalue is that of a piece which hangs by a thread; all count alike


def residual_elbow(
    sample: Sample, guess: float, ops: Backend, seed: int
) -> tuple[int, Float64] | None:
    """Where Isomap's residual variance stops falling (Tenenbaum et al., 2000).

    The fewest dimensions after which one more saves less than 0.01, and does not halve it either:
    of a long sheet the first dimension alone leaves little.
    """
    found = ways(sample, guess, ops, seed)
    if found is None:
        return None
    left, next_left = found.geodesic[:-1], found.geodesic[1:]
    halved = (left > NOTHING) & (next_left < left / 2)
    enough = np.flatnonzero((left - next_left < GAIN) & ~halved)
    return (int(enough[0]) + 1 if len(enough) else len(found.geodesic)), found.geodesic


def eigengap(near: Neighbors, k: int) -> tuple[int, Float64]:
    """Eigenvectors before the largest step of the graph's normalized Laplacian, by ratio.

    The constant one is left out, so c clusters give c - 1: so many axes tell them apart. Without
    clusters no step stands out, and the answer says little.
    """
    n = len(near.indices)
    k = min(k, near.indices.shape[1])
    starts = np.arange(0, n * k + 1, k)
    A = csr_array((np.ones(n * k), near.indices[:, :k].ravel(), starts), shape=(n, n))
    W = A.maximum(csr_array(A.T)).toarray()
    root = 1 / np.sqrt(W.sum(0))
    L = np.eye(n) - W * root * root[:, None]
    most = min(GAPS + 1, n - 1)
    values = np.maximum(eigvalsh(L, subset_by_index=[1, most]), 0)
    steps = np.diff(np.log(np.maximum(values, ZERO)))
    return int(np.argmax(steps)) + 1, values


def small_sample(sample: Sample, seed: int) -> Sample:
    """Few enough rows for a dense spectrum of their graph."""
    if len(sample) <= SAMPLE:
        return sample
    return sample.at(random.subset(seed, "eigengap", len(sample), SAMPLE))
