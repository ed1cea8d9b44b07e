"""Recommended methods and parameters, with reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from .cost_estimates import MAX_EXACT_ISOMAP_SAMPLES, N_LANDMARKS
from .raw_data import MIN_NEIGHBORHOOD_SAMPLES, RawData
from .result import Cost, Finding, Recommendation
from .shape import CURVED_REMEDY, Shape

MIN_SAMPLES_RECOMMENDED = 4  # fewer rows have no structure to embed
MAX_LOST_IN_TWO_DIMENSIONS = 0.1  # residual variance beyond which distances in a plane mislead
MIN_TANGENT_NEIGHBORS = 7  # that show a local tangent space
MAX_TANGENT_DIMENSION = 20.0  # intrinsic, beyond which there is no tangent space to estimate
ISOMAP_N_NEIGHBORS = 5  # of Isomap
MAX_PERPLEXITY = 30  # t-SNE's default


class DataProperties(NamedTuple):
    """What recommendations are based on."""

    data: RawData
    n_prepared: int  # columns after the steps of a pipeline
    shape: Shape
    dimension: float | None  # intrinsic
    n_components: int  # connected components of the neighbor graph
    connecting_neighbors: int | None  # the fewest that connect it, if not too many
    isomap_neighbors: int | None  # for which Isomap has the least residual variance
    lost_in_two_dimensions: float  # Isomap's residual variance there
    has_outliers: bool

    @property
    def is_separated(self) -> bool:
        """Several components that only too many neighbors would connect?"""
        return self.n_components > 1 and self.connecting_neighbors is None


def recommend(
    properties: DataProperties, costs: dict[str, Cost], steps: dict[str, object]
) -> list[Recommendation]:
    """Suitable methods after these steps, the best first; none that would fail on the data."""
    found = _recommend_methods(properties, costs)
    prepared = properties.data.metric == "euclidean" and not properties.data.non_numeric
    return [replace(each, steps=steps) for each in found] if prepared else found


def explain_shape(finding: Finding, best: Recommendation, is_separated: bool) -> Finding:
    """The finding on the shape with the remedy that the first recommendation is."""
    if finding.remedy != CURVED_REMEDY or best.method != "TSNE":
        return finding
    if is_separated:
        sentence = finding.sentence.replace("The rows lie", "The largest component lies")
        remedy = "Each component can be unrolled alone (Isomap); for a map of all take TSNE."
        return replace(finding, sentence=sentence, remedy=remedy)
    remedy = "Take TSNE for two dimensions; Isomap unrolls it in as many as it has."
    return replace(finding, remedy=remedy)


def _recommend_methods(properties: DataProperties, costs: dict[str, Cost]) -> list[Recommendation]:
    data = properties.data
    if len(data) < MIN_SAMPLES_RECOMMENDED:
        return []
    if data.non_numeric and data.metric == "euclidean":
        params = {"n_components": 2, "metric": "gower", **_landmarks(data, costs, "ClassicalMDS")}
        reason = "compares numbers and categories together."
        return [Recommendation("ClassicalMDS", params, reason)]
    linear = _recommend_linear(properties, costs)
    if len(data) < MIN_NEIGHBORHOOD_SAMPLES:
        return [linear]
    tsne = _recommend_tsne(properties)
    if properties.is_separated:
        return [tsne, linear]
    if properties.shape == "non-linear":
        manifold = _recommend_manifold(properties, costs)
        if properties.lost_in_two_dimensions > MAX_LOST_IN_TWO_DIMENSIONS:
            return [tsne, *manifold, linear]
        return [*manifold, tsne, linear]
    if properties.shape == "high-dimensional":
        return [tsne, linear]
    return [linear, tsne]


def _recommend_linear(properties: DataProperties, costs: dict[str, Cost]) -> Recommendation:
    data = properties.data
    euclidean = data.metric == "euclidean"
    source = "lowd.dimension" if euclidean else "the intrinsic dimension"
    further = "" if properties.dimension is None else f"; for further computation see {source}"
    if euclidean:
        params: dict[str, object] = {"n_components": min(2, properties.n_prepared)}
        reason = "is the best linear embedding of the distances, exact, fast and invertible"
        return Recommendation("PCA", params, f"{reason}{further}.")
    return Recommendation(
        "ClassicalMDS",
        {"n_components": 2, **_metric(data), **_landmarks(data, costs, "ClassicalMDS")},
        f"is the best linear embedding of these distances{further}.",
    )


def _recommend_tsne(properties: DataProperties) -> Recommendation:
    """Neighborhoods: perplexity below a quarter of the rows, as t-SNE takes three times as many."""
    perplexity = float(max(2, min(MAX_PERPLEXITY, (len(properties.data) - 1) // 4)))
    reason = (
        "preserves neighborhoods and shows clusters; their sizes and the distances between them "
        "are not meaningful"
    )
    dimension = properties.dimension
    lost = properties.lost_in_two_dimensions > MAX_LOST_IN_TWO_DIMENSIONS
    if properties.is_separated:
        reason = (
            f"the neighbor graph has {properties.n_components} connected components, which it "
            "shows as clusters; distances between them are not meaningful"
        )
    elif lost and dimension is not None and dimension > 2.5:
        reason = f"two axes cannot hold {dimension:.0f} dimensions, so it {reason}"
    params = {"n_components": 2, "perplexity": perplexity, **_metric(properties.data)}
    return Recommendation("TSNE", params, f"{reason}.")


def _recommend_manifold(properties: DataProperties, costs: dict[str, Cost]) -> list[Recommendation]:
    """Methods for curved manifolds; local ones need dense rows with Euclidean distances."""
    data = properties.data
    wanted = properties.isomap_neighbors or ISOMAP_N_NEIGHBORS
    k = max(wanted, properties.connecting_neighbors or ISOMAP_N_NEIGHBORS)
    k = min(k, len(data) - 2)
    params = {"n_components": 2, "n_neighbors": k}
    found = [
        Recommendation(
            "Isomap",
            {**params, **_metric(data), **_landmarks(data, costs, "Isomap")},
            f"the rows lie on a curved manifold, whose geodesic distances {k} neighbors show best.",
        )
    ]
    dimension = properties.dimension
    local = data.metric == "euclidean" and not data.is_sparse and not properties.has_outliers
    flat = dimension is not None and dimension < MAX_TANGENT_DIMENSION
    if local and flat and k >= MIN_TANGENT_NEIGHBORS:
        reason = "aligns local tangent spaces; better for manifolds with holes."
        found.append(Recommendation("LTSA", params, reason))
    return found


def _metric(data: RawData) -> dict[str, object]:
    if data.metric == "euclidean":
        return {}
    params = {} if data.metric_params is None else {"metric_params": data.metric_params}
    return {"metric": data.metric, **params}


def _landmarks(data: RawData, costs: dict[str, Cost], method: str) -> dict[str, int]:
    """Landmarks where all pairs would not fit in memory, or would raise a warning."""
    heavy = method in costs and not costs[method].fits
    slow = method == "Isomap" or data.metric != "euclidean"
    many = slow and len(data) > MAX_EXACT_ISOMAP_SAMPLES
    return {"n_landmarks": N_LANDMARKS} if heavy or many else {}
