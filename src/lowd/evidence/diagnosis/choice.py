"""The choice of a method by measuring: several are fitted, and the simplest good map is taken.

A map is measured by the area under R_NX, which counts neighborhoods of all sizes, small ones most
(Lee, Peluffo-Ordóñez and Verleysen, 2015, Neurocomputing 169). Methods differ in what can be read
off their maps: axes and distances off those of a linear method, distances along a manifold off
Isomap's, neighbors alone off those of t-SNE and UMAP. So the simpler method is taken unless another
one is better by more than a margin.

The cost of a method is memory by its own plan, and seconds by a rough model.

Seconds were measured on two cores of an AMD EPYC server, for two components with default
parameters, on 1000 to 70,000 images of 50 and 784 columns and on a million rows in clusters. They
distinguish seconds from hours, within a factor of about three; another metric or machine may be
farther off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from ... import backend as memory
from ... import progress, random
from ...errors import (
    DataError,
    DisconnectedGraphWarning,
    LowdWarning,
    ParameterError,
    UnsupportedError,
)
from ...methods import METHODS
from ...methods.pca import PCA
from ...parameters import Reals, parameters_of
from ...reducer import Reducer
from ...spaces import Rows, space_of
from ...store import class_of
from ..null_models import Structure
from ..quality.measures import compute_pair_statistics
from .raw_data import MIN_NEIGHBORHOOD_SAMPLES, RawData, Sample
from .result import Cost, Finding, Recommendation, format_duration, list_some, pluralize

NAMES = {"TSNE": "t-SNE", "ClassicalMDS": "classical MDS"}  # of methods, in a sentence
READING = {
    "PCA": "Distances and axes can be read.",
    "ClassicalMDS": "Distances can be read.",
    "Isomap": "Distances along the manifold can be read, also large ones.",
    "TSNE": "Neighbors and groups can be read; distances between clusters mean nothing.",
    "UMAP": "Neighbors and groups can be read; distances between clusters mean nothing.",
}


def choose(
    data: RawData,
    sample: Sample | None,
    costs: dict[str, Cost],
    steps: dict[str, Any],
    structure: Structure | None,
    *,
    seed: int = 0,
    margin: float = 0.05,
    max_rows: int = 2000,
) -> list[Recommendation]:
    """The methods that were fitted to a sample of the prepared rows: that of choice, then by area.

    Of rows without structure, or with no more than linear relations, it is the linear method.
    """
    if len(data) < 4 or sample is None:  # which have no structure to embed
        return []
    by_rows = sample.is_euclidean
    linear = "PCA" if by_rows else "ClassicalMDS"
    width = sample.X.shape[1] if by_rows else 2
    if by_rows and width <= 2 and "pca" not in steps and isinstance(sample.X, np.ndarray):
        units = ", in standard deviations" if steps.get("scale") else ""
        which = "Two columns need no map: they are the axes"
        reason = f"{which if width == 2 else 'One column needs no map: it is the axis'}{units}."
        return [Recommendation("Columns", {}, reason, steps)]
    if len(sample) < MIN_NEIGHBORHOOD_SAMPLES:
        reason = f"{pluralize(len(sample), 'distinct row')} have no neighborhoods to measure. "
        params = _parameters(data, costs, linear, len(sample))
        return [Recommendation(linear, params, reason + READING[linear], steps)]
    part = sample
    if len(sample) > max_rows:
        part = sample.take(random.subset(seed, "choice", len(sample), max_rows))
    try:
        areas, neighbors = _measure(part, linear, min(2, width), seed)
    except DataError:  # which the metric cannot compare, as a finding says
        return []
    if linear not in areas:
        return []
    best = max(areas, key=lambda method: areas[method])
    chosen = next(method for method in areas if areas[method] >= areas[best] - margin)
    claim = "" if structure is None else structure.claim
    is_noise = structure is not None and structure.kind == "noise"
    if claim:
        chosen = linear
    order = sorted(areas, key=lambda method: (method != chosen, -areas[method]))
    recommended = []
    for method in order:
        params = _parameters(data, costs, method, len(data))
        if method == "Isomap":
            params["n_neighbors"] = neighbors
        reason = _explain(method, areas, linear, best, len(part)) + " " + READING[method]
        if claim and method == chosen:
            what = reason.removesuffix(f" {READING[method]}") if is_noise else reason
            reason = f"{claim} {what}"
        axes = _name_axes(data, sample, steps) if method == "PCA" else ()
        recommended.append(Recommendation(method, params, reason, steps, areas[method], axes))
    return recommended


def _measure(
    part: Sample, linear: str, n_components: int, seed: int, n_anchors: int = 500
) -> tuple[dict[str, float], int]:
    """Method -> area under R_NX, in order of simplicity; and Isomap's number of neighbors.

    A method that cannot be fitted to these rows is left out. Isomap with few neighbors takes
    detours, and with many it takes short cuts, so that several numbers are tried.
    """
    n = len(part)
    D = part.compute_distances()
    space = space_of(D, "precomputed")
    rows = np.sort(random.subset(seed, "anchors", n, min(n, n_anchors)))
    more: dict[str, Any] = {"n_components": n_components}
    more |= {} if part.is_euclidean else {"metric": "precomputed"}
    X: Any = part.items if part.is_euclidean else D
    near = [k for k in (7, 10, 15) if k < n]
    tried: list[tuple[str, dict[str, Any]]] = [
        (linear, {}),
        *(("Isomap", {"n_neighbors": k}) for k in near),
        ("TSNE", {"perplexity": _perplexity(n)}),
        ("UMAP", {"n_neighbors": min(15, n - 1)}),
    ]
    areas: dict[str, float] = {}
    best_neighbors = near[0] if near else 2
    for i, (method, params) in enumerate(tried):
        progress.report(f"choice: {NAMES.get(method, method)} of {n} rows", i, len(tried))
        try:
            with catch_warnings():
                simplefilter("ignore", LowdWarning)
                simplefilter("error", DisconnectedGraphWarning)  # geodesic distances are a guess
                model = class_of(method)(**params, **more)
                Y: Reals = np.asarray(model.fit_transform(X), np.float64)
        except (DataError, ParameterError, UnsupportedError, DisconnectedGraphWarning):
            continue
        found = compute_pair_statistics(space, Rows(Y), rows, np.arange(n), seed, None)
        area = float(found.auc.mean())
        if area > areas.get(method, -1.0):
            areas[method] = area
            best_neighbors = params["n_neighbors"] if method == "Isomap" else best_neighbors
    progress.report("choice", len(tried), len(tried))
    return areas, best_neighbors


def _perplexity(n: int) -> float:
    """Perplexity below a quarter of the rows, as t-SNE takes three times as many neighbors."""
    return float(max(2, min(30, (n - 1) // 4)))


def _parameters(data: RawData, costs: dict[str, Cost], method: str, n: int) -> dict[str, Any]:
    """Parameters of the fit to all rows; landmarks where all pairs would be too many."""
    params: dict[str, Any] = {"n_components": min(2, max(1, data.n_features or 2))}
    by_rows = data.metric == "euclidean"
    if method == "TSNE":
        params["perplexity"] = _perplexity(n)
    if not by_rows:
        params["metric"] = data.metric
        if data.metric_params is not None:
            params["metric_params"] = data.metric_params
    if method in ("Isomap", "ClassicalMDS"):
        heavy = method in costs and not costs[method].fits
        slow = method == "Isomap" or not by_rows
        if heavy or (slow and n > MAX_EXACT_ISOMAP_SAMPLES):
            params["n_landmarks"] = N_LANDMARKS
    return params


def _explain(method: str, areas: dict[str, float], linear: str, best: str, n: int) -> str:
    """How much of the neighborhoods the map keeps, beside that of the linear and of the best."""
    keeps = {name: f"{NAMES.get(name, name)} keeps {100 * a:.0f} %" for name, a in areas.items()}
    sentence = f"It keeps {100 * areas[method]:.0f} % of the neighborhoods"
    measured = f"(area under R_NX of {n} rows)"
    if method != linear:
        return f"{sentence} where {keeps[linear]} {measured}."
    if best == method:
        return f"{sentence}, and no other method keeps more {measured}."
    return f"{sentence}, and {keeps[best].replace(' keeps', ', the best, keeps')} {measured}."


def _name_axes(data: RawData, sample: Sample, steps: dict[str, Any]) -> tuple[str, ...]:
    """The principal axes in words, where few columns with names make up half of each."""
    if data.names is None or "pca" in steps or sample.X.shape[1] > 100:
        return ()
    dropped = set(data.index_columns(steps.get("drop", ())))
    names = [name for j, name in enumerate(data.names) if j not in dropped]
    with catch_warnings():
        simplefilter("ignore", LowdWarning)
        loadings = PCA(2).fit(sample.X).components_
    axes = []
    for loading in loadings:
        leading = np.argsort(-np.abs(loading), kind="stable")[:3]
        if np.square(loading[leading]).sum() < 0.5:
            return ()
        needed = int(np.searchsorted(np.cumsum(np.square(loading[leading])), 0.5)) + 1
        leading = leading[:needed]
        sign = np.sign(loading[leading[0]])
        terms = [f"{'+' if sign * loading[j] > 0 else '−'} {names[j]}" for j in leading]
        axes.append(" ".join(terms).removeprefix("+ "))
    return tuple(axes)


SLOW_SECONDS = 600.0  # ten minutes, from which a method is called slow
MAX_EXACT_ISOMAP_SAMPLES = 20_000  # all geodesic distances; beyond, those to landmarks
N_LANDMARKS = 1000  # that are recommended then


def _neighbor_seconds(n: int, d: int) -> float:
    """Neighbor search after a rotation of the rows: tiles of pairs, or near groups if many."""
    per_feature = 5e-12 * n * n if n <= 200_000 else 2.5e-7 * n
    return per_feature * min(d, 100) + 1e-10 * n * d * min(n, d)


_FIT_SECONDS: dict[str, Callable[[int, int], float]] = {
    "PCA": lambda n, d: 2e-9 * n * d,
    "GaussianRandomProjection": lambda n, d: 1e-11 * n * d * min(d, 300),
    "SparseRandomProjection": lambda n, d: 1e-9 * n * d,
    "HadamardRandomProjection": lambda n, d: 5e-10 * n * d,
    "ClassicalMDS": lambda n, d: 5e-9 * n * d,
    "MDS": lambda n, d: 6e-8 * n * n + 1e-11 * n * n * d,
    "NonMetricMDS": lambda n, d: 1e-7 * n * n + 1e-11 * n * n * d,
    "KernelPCA": lambda n, d: 5e-9 * n * d,
    "LaplacianEigenmaps": lambda n, d: _neighbor_seconds(n, d) + 2e-5 * n,
    "DiffusionMaps": lambda n, d: _neighbor_seconds(n, d) + n * (2e-5 + 1.8e-8 * min(n, 5000)),
    # Shortest paths between all rows, or three times as long ones to landmarks.
    "Isomap": lambda n, d: (
        _neighbor_seconds(n, d)
        + 1.2e-8 * n * (n if n <= MAX_EXACT_ISOMAP_SAMPLES else 3 * N_LANDMARKS)
    ),
    "LocallyLinearEmbedding": lambda n, d: _neighbor_seconds(n, d) + 2e-5 * n,
    "ModifiedLLE": lambda n, d: _neighbor_seconds(n, d) + 3e-5 * n,
    "HessianLLE": lambda n, d: _neighbor_seconds(n, d) + 3e-5 * n,
    "LTSA": lambda n, d: _neighbor_seconds(n, d) + 3e-5 * n,
    "SNE": lambda n, d: _neighbor_seconds(n, d) + 0.3 + 1e-6 * n * n,
    "TSNE": lambda n, d: _neighbor_seconds(n, d) + 0.4 + 9e-5 * n,
    "UMAP": lambda n, d: _neighbor_seconds(n, d) + 0.05 + 1.5e-5 * n,
}


def estimate_costs(data: RawData) -> dict[str, Cost]:
    """Method -> cost of a fit of these data; only methods that can take them."""
    n, d = len(data), max(data.n_features, 1)
    n_entries = data.X.nnz if data.is_sparse else None
    stored = d if n_entries is None else n_entries // n + 1  # entries of a row
    free = memory.free_memory()
    found = {}
    for method in METHODS:
        model = _make_model(method, data)
        if model is None or (data.is_sparse and not model._takes_sparse()):
            continue
        needed = model.estimate(n, d, data.dtype, n_entries=n_entries).bytes
        seconds = 0.01 + _FIT_SECONDS[method](n, stored)
        found[method] = Cost(needed, seconds, free is None or needed <= free)
    return found


def _make_model(method: str, data: RawData) -> Reducer | None:
    """The method with the metric of the data, or None if it has no metric.

    Parameters are the default ones, but two components where the default is all of them.
    """
    cls = class_of(method)
    params: dict[str, Any] = {} if cls().n_components is not None else {"n_components": 2}
    if data.kind != "rows" or data.metric != "euclidean":
        if "metric" not in parameters_of(cls):
            return None
        params |= {"metric": data.metric, "metric_params": data.metric_params}
    model: Reducer = cls(**params)
    return model


def check_costs(costs: dict[str, Cost]) -> Finding:
    """Methods that do not fit in memory, or take long."""
    heavy = [method for method, cost in costs.items() if not cost.fits]
    slow = [
        f"{method} (about {format_duration(cost.seconds)})"
        for method, cost in costs.items()
        if cost.fits and cost.seconds > SLOW_SECONDS
    ]
    named = {"too large for the memory": heavy, "slow": slow}
    parts = [f"{why}: {list_some(methods, 8)}" for why, methods in named.items() if methods]
    if not parts:
        longest = format_duration(max((cost.seconds for cost in costs.values()), default=0.0))
        return Finding(
            "fine", "cost", f"Every method fits in memory; the slowest takes about {longest}."
        )
    return Finding(
        "notice",
        "cost",
        f"Some methods are too costly with default parameters; {'; '.join(parts)}.",
        f"Fit landmarks (n_landmarks={N_LANDMARKS}) or a sample of the rows, and transform the "
        "others.",
        tuple(heavy),
    )
