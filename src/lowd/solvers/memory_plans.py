"""Memory plans: the bytes of each large array of a fit beside its input, by name.

A method declares its plan as a class variable. Routes are asked of the solvers, which choose them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.declarations import Sizes
from ..relations.perplexity_graph import MAX_FULL_POINTS, NEIGHBORS_PER_PERPLEXITY
from ..relations.residual_variance import residual_variance_memory
from .centered import forms_matrix, spectrum_memory
from .krylov import basis_memory
from .landmarks import count_candidates
from .pca import axes_memory
from .smallest import is_dense
from .thresholds import (
    ASSUMED_NEIGHBORS_IN_RADIUS,
    MAX_REGRESSION_CENTERS,
    MAX_SPECTRUM_SAMPLES,
    MEDIAN_SAMPLE,
)

# Metrics whose neighbors are searched by an index, without blocks of all distances.
INDEXED_METRICS = ("euclidean", "cosine", "correlation")
DISTANCE_BLOCK_ENTRIES = 2**23  # distances that a search without an index holds at a time


def plan_pca(model: Any, s: Sizes) -> dict[str, int]:
    k = model._count()
    kept = min(s.n, s.d) if k is None else k
    return {**axes_memory(s.n, s.d, k, s.itemsize), "coordinates": s.n * kept * s.itemsize}


def plan_random_projection(model: Any, s: Sizes) -> dict[str, int]:
    k = model._n_dimensions(s.n, s.d)
    return {"matrix": 2 * k * s.d * 8, "coordinates": s.n * k * s.itemsize}


def plan_hadamard(model: Any, s: Sizes) -> dict[str, int]:
    return {"coordinates": s.n * model._n_dimensions(s.n, s.d) * s.itemsize}


def plan_classical_mds(model: Any, s: Sizes) -> dict[str, int]:
    n, d, k = s.n, s.d, model.n_components
    if model._is_pca():
        return {**axes_memory(n, d, min(k, n, d), s.itemsize), "map": 8 * n * k * 8}
    given = model.metric == "precomputed"
    held = {"map": 8 * n * k * 8, "packed rows": 0 if given else 2 * n * d * s.itemsize}
    if model.n_landmarks is not None:
        m = min(model.n_landmarks, n)
        return {"distances": 4 * n * m * s.wide, "spectrum": spectrum_memory(m, k), **held}
    return {
        "distances": n * n * (s.wide - s.itemsize) * 2 if given else n * n * s.wide,
        "correction": {"none": 0, "lingoes": 5, "cailliez": 16}[model.correction] * n * n * 8,
        "spectrum": spectrum_memory(n, k, all_values=True),
        **held,
    }


def plan_kernel_pca(model: Any, s: Sizes) -> dict[str, int]:
    n, d, k = s.n, s.d, model.n_components
    if model.kernel == "linear" and model.n_landmarks is None:
        kept = min(k or n, d)
        axes = axes_memory(n, d, None if k is None else kept, s.itemsize)
        return {**axes, "map": 8 * n * kept * 8}
    given = model.kernel == "precomputed"
    sample = min(n, MEDIAN_SAMPLE) if model.gamma == "median" else 0
    taken = {"rows": 0 if given else 2 * n * d * s.wide, "median": 3 * sample**2 * 8}
    if model.n_landmarks is None:
        centers = n
        taken["kernel matrix"] = 2 * n * n * (s.wide - s.itemsize if given else s.wide)
        taken["spectrum"] = spectrum_memory(n, k)
    else:
        centers = m = min(model.n_landmarks, n)
        kept = min(k or m, m)
        taken["kernel columns"] = 2 * n * m * s.wide
        taken["landmarks"] = 6 * m * m * 8 + basis_memory(m, kept)
        taken["map"] = 6 * n * kept * 8
    if model.fit_inverse_transform:
        copies = 2 if model.preimage == "ridge" else 5
        taken["pre-images"] = (copies * n * centers + 2 * centers**2 + 3 * n * d) * 8
    return taken


def plan_mds(model: Any, s: Sizes) -> dict[str, int]:
    n, k, landmarks = s.n, model.n_components, model._count_landmarks(s.n)
    m = n if landmarks is None else min(n, landmarks)
    wide, given = 8 if m <= 1000 else s.itemsize, model.metric == "precomputed"
    return {
        "distances": m * m * (wide + 2) + (n * n * wide if given else 0),
        "weights": 0 if model.weights is None and not given else 5 * m * m * 8,
        "spectrum": spectrum_memory(m, k),
        "map": 80 * n * k * 8 + (2**27 if landmarks else 0),
        "packed rows": 0 if given else 2 * n * s.d * s.itemsize,
    }


def plan_nonmetric_mds(model: Any, s: Sizes) -> dict[str, int]:
    landmarks = model._count_landmarks(s.n)
    m = s.n if landmarks is None else min(s.n, landmarks)
    return {**plan_mds(model, s), "order of pairs": 17 * m * m}


def plan_isomap(model: Any, s: Sizes) -> dict[str, int]:
    n, k, m = s.n, model.n_components, model._count_landmarks(s.n)
    by_radius = model.radius is not None
    degree = min(n, 400) if by_radius else 2 * (model.n_neighbors or 5)
    indexed = not by_radius and model.metric in INDEXED_METRICS
    taken = {
        "rows": 0 if model.metric == "precomputed" else 3 * n * s.d * 8,
        "neighbors": 5 * n * degree * 8 if indexed else 3 * _distance_block(n),
        "graph": 8 * n * degree * 12,
        "map": 8 * n * k * 8,
        "residual variance": residual_variance_memory(n, m or n, s.wide),
    }
    if m is None:
        held = n if forms_matrix(n, k) else n // 2 + 1  # else each pair once
        taken |= {"distances": n * held * s.wide, "spectrum": spectrum_memory(n, k)}
    else:
        taken |= {"distances": 3 * n * m * s.wide, "spectrum": spectrum_memory(m, k)}
        taken["landmarks"] = count_candidates(n, m) ** 2 * s.wide
    if model.map == "regression":
        taken["regression"] = 8 * min(n, MAX_REGRESSION_CENTERS) ** 2 * 8
    return taken


def plan_affinity_method(model: Any, s: Sizes) -> dict[str, int]:
    landmarks, radius = model._count_landmarks(s.n), getattr(model, "radius", None)
    k, m = model.n_components, s.n if landmarks is None else min(s.n, landmarks)
    degree = ASSUMED_NEIGHBORS_IN_RADIUS if radius is not None else model._count_neighbors(m)
    wide = 8 if m <= MAX_SPECTRUM_SAMPLES else s.itemsize
    indexed = model.metric in INDEXED_METRICS and radius is None
    taken = {
        "rows": 2 * m * s.d * wide,
        "neighbors": 0 if indexed else 3 * _distance_block(m),
        "map": 6 * s.n * k * 8,
        "spectrum": basis_memory(m, k),
    }
    if degree is None or model._kind() == "affinity":
        taken["weights"] = m * m * (wide + 24)
        taken["spectrum"] += 5 * m * m * 8 if m <= MAX_SPECTRUM_SAMPLES else 0
    else:
        taken["graph"] = 12 * m * min(degree, m) * 12
        # Measured on rolls of 20,000 and 60,000 rows.
        taken["coarse levels"] = int(8 * m * min(degree, m) * np.log2(max(m, 2)))
    if m < s.n:
        taken["distances to landmarks"] = 2**26 * 3
    return taken


def plan_alignment(model: Any, s: Sizes) -> dict[str, int]:
    """Fill of the factor as measured for surfaces (d <= 3) and for clouds."""
    n, d, landmarks = s.n, s.d, model.n_landmarks
    m, by_root = n if landmarks is None else min(n, landmarks), model.has_square_root
    k, near = model.n_components, min(model.n_neighbors + 1, m)
    entries = near if by_root else 3 * near if d <= 3 else near**2
    fill = entries * (3.5 if by_root and d > 3 else 0.7) * np.log2(max(m, 2))
    dense = is_dense(m, k, by_root=by_root)
    mapping = 0 if landmarks is None else n * (d + 6 * near + 4 * k) * 8
    return {
        "rows": m * d * (8 + 2 * s.itemsize),
        "neighbors": 10 * m * near * 8,
        "matrix": 4 * m * min(m, entries) * 12 + (9 * m * m * 8 if dense else 0),
        "factor": 0 if dense else 16 * m * min(m, int(fill)),
        "eigenvectors": basis_memory(m, k),
        "map": mapping + 8 * n * k * 8,
    }


def plan_tsne(model: Any, s: Sizes) -> dict[str, int]:
    n = s.n
    perplexity = max(model._perplexities(), default=model.n_neighbors or 30)
    k = model.n_neighbors or int(NEIGHBORS_PER_PERPLEXITY * perplexity) + 1
    k = n if n <= MAX_FULL_POINTS else min(n, k)
    by_index = model._kind() == "rows"
    in_space = model.n_components == 3 and model._kernel() == "student"
    given = "precomputed" in (model.metric, model.affinity)
    return {
        "rows": 0 if given else 3 * n * s.d * 8,
        "neighbors": n * k * 20 + (0 if by_index else 3 * _distance_block(n)),
        "affinities": n * k * 60,
        "map": 20 * n * model.n_components * 8,
        "grid": min(1500 * n, 340_000_000) if in_space else 0,
    }


def plan_neighbors(model: Any, s: Sizes) -> dict[str, int]:
    n, k = s.n, model.n_neighbors + 1
    block = 0 if model.metric in INDEXED_METRICS else 3 * _distance_block(n)
    return {"rows": 3 * n * s.d * 8, "distances": block, "neighbors": 8 * n * k * 12}


def _distance_block(n: int) -> int:
    return min(DISTANCE_BLOCK_ENTRIES, n * n) * 8
