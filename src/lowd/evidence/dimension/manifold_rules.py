"""Rules for manifolds and graphs: Isomap's residual variance, and the eigengap."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse import csr_array

from ... import random
from ...neighbor_graph import NeighborGraph
from ...parameters import Reals
from ..diagnosis.neighbor_graph import build_knn_graph
from ..diagnosis.raw_data import Sample
from ..diagnosis.residual_variance import GEODESIC_SAMPLES, compute_residual_variances

MIN_RESIDUAL_GAIN = 0.01  # residual variance that one more dimension must save,
NEGLIGIBLE_RESIDUAL = 0.001  # unless it halves a residual variance above this
MAX_GAP_EIGENVALUES = 15  # among which the largest gap is sought: more are no clusters
MIN_EIGENVALUE = 0.01  # smaller ones belong to nearly separate components, and count alike


def find_residual_elbow(sample: Sample, guess: float, seed: int) -> tuple[int, Reals] | None:
    """Where Isomap's residual variance stops falling (Tenenbaum et al., 2000).

    The fewest dimensions after which one more saves less than 0.01, and does not halve it either:
    on a long strip the first dimension alone leaves little.
    """
    found = compute_residual_variances(sample, guess, seed)
    if found is None:
        return None
    left, next_left = found.geodesic[:-1], found.geodesic[1:]
    halved = (left > NEGLIGIBLE_RESIDUAL) & (next_left < left / 2)
    enough = np.flatnonzero((left - next_left < MIN_RESIDUAL_GAIN) & ~halved)
    return (int(enough[0]) + 1 if len(enough) else len(found.geodesic)), found.geodesic


def find_eigengap(near: NeighborGraph, k: int) -> tuple[int, Reals]:
    """Number of eigenvectors before the largest gap of the normalized graph Laplacian, by ratio.

    The constant one is left out, so c clusters give c - 1: so many components separate them.
    Without clusters no gap is large, and the result says little.
    """
    n = len(near.indices)
    k = min(k, near.indices.shape[1])
    A = build_knn_graph(near, k, np.ones(n * k))
    W = A.maximum(csr_array(A.T)).toarray()
    root = 1 / np.sqrt(W.sum(0))
    L = np.eye(n) - W * root * root[:, None]
    last = min(MAX_GAP_EIGENVALUES + 1, n - 1)
    values = np.maximum(eigvalsh(L, subset_by_index=[1, last]), 0)
    gaps = np.diff(np.log(np.maximum(values, MIN_EIGENVALUE)))
    return int(np.argmax(gaps)) + 1, values


def subsample(sample: Sample, seed: int) -> Sample:
    """Few enough rows for a dense spectrum of their graph."""
    if len(sample) <= GEODESIC_SAMPLES:
        return sample
    return sample.take(random.subset(seed, "eigengap", len(sample), GEODESIC_SAMPLES))
