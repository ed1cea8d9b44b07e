"""Memory plans of the methods: the bytes of each large array of a fit beside its input, by name.

A method declares its plan as a class variable. A plan chooses no route: what a solver allocates it
asks of the solver (`axes_memory`, `spectrum_memory`, ...), which asks the function that chooses
its route.
"""

from __future__ import annotations

from ..core.estimator import Reducer
from ..core.memory import Sizes
from ..graph.search import BLOCK_ENTRIES, search_memory
from ..input.sample import MIN_SAMPLE_ROWS
from ..maps.blockwise import BLOCK_BYTES
from ..relations.perplexity_neighbors import count_needed_neighbors
from ..relations.residual_variance import residual_variance_memory
from .centered import matrix_memory, spectrum_memory
from .krylov import basis_memory
from .landmarks import count_candidates
from .laplacian import laplacian_memory
from .pca import axes_memory
from .smallest import Form, smallest_memory, surface_width
from .thresholds import ASSUMED_NEIGHBORS_IN_RADIUS, MAX_REGRESSION_CENTERS, MEDIAN_SAMPLE


def plan_pca(model: Reducer, s: Sizes) -> dict[str, int]:
    k = model._standardization().known_count
    kept = min(s.n, s.d) if k is None else k
    return {**axes_memory(s, k), "coordinates": s.n * kept * s.itemsize}


def plan_random_projection(model: Reducer, s: Sizes) -> dict[str, int]:
    k = model._n_dimensions(s.n, s.d)
    inverse = 4 * k * s.d * 8 if model.compute_inverse_components else 0
    return {
        "matrix": 3 * model._count_entries(k, s.d) * 8,
        "inverse": inverse,
        **_projection_memory(s, k),
    }


def plan_hadamard(model: Reducer, s: Sizes) -> dict[str, int]:
    block = min(2 * BLOCK_BYTES, 4 * s.n * s.d * 8) if s.is_sparse else 0  # of dense rows
    return {"dense rows": block, **_projection_memory(s, model._n_dimensions(s.n, s.d))}


def _projection_memory(s: Sizes, k: int) -> dict[str, int]:
    widened = s.n * s.d * 16 if s.itemsize < s.wide and not s.is_sparse else 0
    sample = 2 * s.rows(8) if s.is_sparse else (min(s.n, MIN_SAMPLE_ROWS) + 4) * s.d * s.itemsize
    return {"coordinates": s.n * k * s.itemsize, "float64 rows": widened, "sample": sample}


def plan_classical_mds(model: Reducer, s: Sizes) -> dict[str, int]:
    n, d, k = s.n, s.d, model.n_components
    if model._is_pca():
        return {**axes_memory(s, min(k, n, d)), "map": 8 * n * k * 8}
    given = model.metric == "precomputed"
    held = {
        "map": 8 * n * k * 8,
        "packed rows": 0 if given else 2 * s.rows(s.itemsize),
        "sparse products": _product_memory(s, n * s.take(model.n_landmarks).n),
    }
    if model.n_landmarks is not None:
        m = s.take(model.n_landmarks).n
        return {"distances": 4 * n * m * s.wide, "spectrum": spectrum_memory(m, k), **held}
    return {
        "distances": n * n * (s.wide - s.itemsize) * 2 if given else n * n * s.wide,
        "correction": {"none": 0, "lingoes": 5, "cailliez": 16}[model.correction] * n * n * 8,
        "spectrum": spectrum_memory(n, k, all_values=True),
        **held,
    }


def plan_kernel_pca(model: Reducer, s: Sizes) -> dict[str, int]:
    n, d, k = s.n, s.d, model.n_components
    if model._is_pca():
        kept = min(k or n, d)
        return {**axes_memory(s, None if k is None else kept), "map": 8 * n * kept * 8}
    given = model.kernel == "precomputed"
    sample = min(n, MEDIAN_SAMPLE) if model.gamma == "median" else 0
    taken = {"rows": 0 if given else 2 * s.rows(s.wide), "median": 3 * sample**2 * 8}
    centers = m = s.take(model.n_landmarks).n
    taken["sparse products"] = _product_memory(s, n * m)
    if model.n_landmarks is None:
        taken["kernel matrix"] = n * n * (2 * (s.wide - s.itemsize) if given else s.wide)
        taken["spectrum"] = spectrum_memory(n, k)
    else:
        kept = min(k or m, m)
        taken["kernel columns"] = 2 * n * m * s.wide
        taken["landmarks"] = 6 * m * m * 8 + basis_memory(m, kept)
        taken["map"] = 6 * n * kept * 8
    if model.fit_inverse_transform:
        matrices = 2 if model.preimage == "ridge" else 5
        taken["pre-images"] = (matrices * n * centers + 2 * centers**2 + 3 * n * d) * 8
    return taken


def plan_mds(model: Reducer, s: Sizes) -> dict[str, int]:
    n, k, landmarks = s.n, model.n_components, model._count_landmarks(s.n)
    fitted, given = s.take(landmarks), model.metric == "precomputed"
    m, wide = fitted.n, fitted.wide
    return {
        "distances": m * m * (wide + 2) + (n * n * wide if given else 0),
        "weights": 0 if model.weights is None and not given else 5 * m * m * 8,
        "spectrum": spectrum_memory(m, k),
        "map": 80 * n * k * 8 + (min(2 * BLOCK_BYTES, 6 * n * m * 8) if landmarks else 0),
        "packed rows": 0 if given else 2 * s.rows(s.itemsize),
        "sparse products": _product_memory(s, m * m),
    }


def plan_nonmetric_mds(model: Reducer, s: Sizes) -> dict[str, int]:
    m = s.take(model._count_landmarks(s.n)).n
    return {**plan_mds(model, s), "order of pairs": 17 * m * m}


def plan_isomap(model: Reducer, s: Sizes) -> dict[str, int]:
    n, k, m = s.n, model.n_components, model._count_landmarks(s.n)
    degree = min(n, 400) if model.radius is not None else 2 * (model.n_neighbors or 5)
    taken = {
        "rows": 0 if model.metric == "precomputed" else 3 * s.rows(8),
        "neighbors": _search_memory(model, s, model.radius) + 5 * n * degree * 8,
        "graph": 8 * n * degree * 12,
        "map": 8 * n * k * 8,
        "residual variance": residual_variance_memory(n, m or n, s.wide),
        "spectrum": spectrum_memory(m or n, k),
        "distances": matrix_memory(n, k, s.wide) if m is None else 3 * n * m * s.wide,
        "landmarks": 0 if m is None else count_candidates(n, m) ** 2 * s.wide,
    }
    if model.map == "regression":
        taken["regression"] = 8 * min(n, MAX_REGRESSION_CENTERS) ** 2 * 8
    return taken


def plan_affinity_method(model: Reducer, s: Sizes) -> dict[str, int]:
    radius, fitted = getattr(model, "radius", None), s.take(model._count_landmarks(s.n))
    m, wide, k = fitted.n, fitted.wide, model.n_components
    degree = ASSUMED_NEIGHBORS_IN_RADIUS if radius is not None else model._count_neighbors(m)
    if s.is_sparse and model._kind() != "rows":  # a graph, or the affinities of one
        degree = s.degree
    taken = {
        "rows": 2 * fitted.rows(wide),
        "neighbors": _search_memory(model, fitted, radius),
        "map": 6 * s.n * k * 8,
        "distances to landmarks": 3 * min(BLOCK_BYTES, s.n * m * 8) if m < s.n else 0,
    }
    if degree is None or (model._kind() == "affinity" and not s.is_sparse):
        return {**taken, "weights": m * m * (wide + 24), **laplacian_memory(m, k)}
    graph = 9 * m * min(degree, m) * 12  # copies of indices and values
    return {**taken, "graph": graph, **smallest_memory(m, k, "laplacian", degree, 0)}


def plan_alignment(model: Reducer, s: Sizes) -> dict[str, int]:
    n, d, landmarks = s.n, s.d, model.n_landmarks
    m, k = s.take(landmarks).n, model.n_components
    near = min(model.n_neighbors + 1, m)
    mapping = 0 if landmarks is None else n * (d + 6 * near + 4 * k) * 8
    return {
        "rows": m * d * (8 + 2 * s.itemsize),
        "neighbors": 10 * m * near * 8,
        **_alignment_memory(model, m, d, near),
        "map": mapping + 8 * n * k * 8,
    }


def _alignment_memory(model: Reducer, m: int, d: int, near: int) -> dict[str, int]:
    """Bytes of the alignment matrix and of its eigenvectors.

    Neighbors of a point on a surface have neighbors in common, and the matrix has a cheap factor;
    in a cloud of many dimensions it has more entries, and no factor. Rows of many columns may be
    either: the larger one counts.
    """
    if model.has_square_root:
        forms = {near: surface_width(m * near)}
    else:
        forms = {min(m, 3 * near): surface_width(m * 3 * near)}
        if d > 3:
            forms[min(m, near**2)] = m
    form: Form = "root" if model.has_square_root else "matrix"
    copies = 4 if model.has_square_root else 2  # the weights of LLE are kept
    plans = [
        {
            "matrix": copies * m * degree * 12,
            **smallest_memory(m, model.n_components, form, degree, width),
        }
        for degree, width in forms.items()
    ]
    return max(plans, key=lambda plan: sum(plan.values()))


def plan_tsne(model: Reducer, s: Sizes) -> dict[str, int]:
    n, perplexities = s.n, model._perplexities()
    k = model.n_neighbors or count_needed_neighbors(n, perplexities or (30.0,), None) + 1
    k = min(n, k)
    is_graph = s.is_sparse and model._kind() != "rows"
    if is_graph:
        k = max(k, s.degree)
    in_space = model.n_components == 3 and model._kernel() == "student"
    given = "precomputed" in (model.metric, model.affinity)
    return {
        "rows": 4 * s.rows(8) if is_graph else 0 if given else 3 * s.rows(8),
        "neighbors": n * k * 20 + _search_memory(model, s),
        "affinities": n * k * 60,
        "map": 20 * n * model.n_components * 8,
        "grid": min(1500 * n, 340_000_000) if in_space else 0,
    }


def plan_umap(model: Reducer, s: Sizes) -> dict[str, int]:
    fitted = s.take(model._count_landmarks(s.n))
    m, is_graph = fitted.n, s.is_sparse and model._kind() != "rows"
    k = max(s.degree, 1) if is_graph else min(model.n_neighbors, m)
    given = model.metric == "precomputed"
    # Rows that are no landmarks are mapped by 2k candidates each, with both of their memberships.
    candidates = (s.n - m) * 2 * k
    return {
        "rows": 4 * s.rows(8) if is_graph else 0 if given else 3 * fitted.rows(8),
        "neighbors": m * k * 20 + _search_memory(model, fitted),
        "graph": m * k * 100,
        "map": 30 * s.n * model.n_components * 8 + candidates * 140,
    }


def plan_neighbors(model: Reducer, s: Sizes) -> dict[str, int]:
    n, k = s.n, model.n_neighbors + 1
    distances = _search_memory(model, s)
    return {"rows": 3 * s.rows(8), "distances": distances, "neighbors": 8 * n * k * 12}


def _search_memory(model: Reducer, s: Sizes, radius: float | None = None) -> int:
    """Bytes of distances while neighbors are searched; given graphs and affinities have them."""
    if s.is_sparse and model._kind() != "rows":
        return 0
    return search_memory(s.n, model._metric()[0], radius, sparse=s.is_sparse)


def _product_memory(s: Sizes, n_pairs: int) -> int:
    """Bytes beside the distances of pairs of sparse rows: a block of products and its sums."""
    return 6 * min(n_pairs, BLOCK_ENTRIES) * 8 if s.is_sparse else 0
