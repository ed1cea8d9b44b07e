"""Which method, with which settings, and why."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...store import class_of
from .result import Cost, Recommendation

LANDMARKS = 1000
MISLEADING = 0.1  # share of the distances that a picture may lose
ENOUGH = 7  # neighbors that show a tangent plane
FLAT = 20  # intrinsic dimensions beyond which no sheet is looked for


class Facts(NamedTuple):
    """What the advice rests on."""

    n: int  # rows
    d: int  # columns of numbers
    metric: Any
    metric_params: dict[str, Any] | None
    sparse: bool
    mixed: bool  # are there columns that are no numbers?
    shape: str
    dimension: float | None
    owned: bool  # does one column own the variance?
    pieces: int  # of the neighbor graph
    joined: int | None  # neighbors that make it one piece, if not too many
    follows: int | None  # neighbors whose graph follows a sheet best
    lost: float  # share of the distances along it that Isomap's map of two dimensions loses
    outliers: int


def advise(facts: Facts, costs: dict[str, Cost]) -> list[Recommendation]:
    """Methods by how well they suit, best first; none that the data would break."""
    if facts.n < 4:
        return []
    if facts.mixed and facts.metric == "euclidean":
        return [
            Recommendation(
                "ClassicalMDS",
                {"n_components": 2, "metric": "gower", **_landmarks(facts, costs, "ClassicalMDS")},
                "compares numbers and categories together.",
            )
        ]
    linear = _linear(facts, costs)
    if facts.n < 10:
        return [linear]
    picture = _picture(facts)
    if facts.pieces > 1 and facts.joined is None:
        return [picture, linear]
    if facts.shape == "non-linear":
        sheets = _sheets(facts, costs)
        crowded = facts.lost > MISLEADING
        return [picture, *sheets, linear] if crowded else [*sheets, picture, linear]
    if facts.shape == "high-dimensional":
        return [picture, linear]
    return [linear, picture]


def _linear(facts: Facts, costs: dict[str, Cost]) -> Recommendation:
    keep = "" if facts.dimension is None else f"; for further computation see {_advice(facts)}"
    if facts.metric == "euclidean":
        params: dict[str, Any] = {"n_components": min(2, facts.d)}
        why = "keeps distances as well as a flat map can, is exact, fast and can be undone"
        if facts.owned:
            params["scale"] = True
            why += "; scale=True, as one column would be the first axis"
        return Recommendation("PCA", params, why + keep + ".")
    return Recommendation(
        "ClassicalMDS",
        {"n_components": 2, **_measure(facts), **_landmarks(facts, costs, "ClassicalMDS")},
        "keeps these distances as well as a flat map can" + keep + ".",
    )


def _advice(facts: Facts) -> str:
    return "lowd.dimension" if facts.metric == "euclidean" else "the intrinsic dimension"


def _picture(facts: Facts) -> Recommendation:
    """Neighborhoods: t-SNE needs fewer than a third of the rows as neighbors."""
    perplexity = float(max(2, min(30, (facts.n - 1) // 4)))
    why = "keeps neighborhoods and shows clusters; do not read sizes or distances between them"
    if facts.pieces > 1 and facts.joined is None:
        why = f"the rows fall into {facts.pieces} pieces, of which it makes clusters; distances "
        why += "between them mean little"
    elif facts.lost > MISLEADING and facts.dimension is not None and facts.dimension > 2.5:
        why = f"two axes cannot hold {facts.dimension:.0f} dimensions, so it " + why
    params = {"n_components": 2, "perplexity": perplexity, **_measure(facts)}
    return Recommendation("TSNE", params, why + ".")


def _sheets(facts: Facts, costs: dict[str, Cost]) -> list[Recommendation]:
    """Methods that flatten a bent sheet; the local ones need Euclidean dense rows."""
    k = min(max(facts.follows or 5, facts.joined or 5), facts.n - 2)
    shared = {"n_components": 2, "n_neighbors": k}
    ways = {**shared, **_measure(facts), **_landmarks(facts, costs, "Isomap")}
    found = [
        Recommendation(
            "Isomap", ways, f"the rows lie on something bent, and {k} neighbors follow it best."
        )
    ]
    local = facts.metric == "euclidean" and not facts.sparse and not facts.outliers
    if local and facts.dimension is not None and facts.dimension < FLAT and k >= ENOUGH:
        found.append(
            Recommendation(
                "LTSA", shared, "flattens it from local pieces; better where there are holes."
            )
        )
    return found


def _measure(facts: Facts) -> dict[str, Any]:
    if facts.metric == "euclidean":
        return {}
    params = {} if facts.metric_params is None else {"metric_params": facts.metric_params}
    return {"metric": facts.metric, **params}


def _landmarks(facts: Facts, costs: dict[str, Cost], method: str) -> dict[str, Any]:
    """Landmarks where all pairs would not fit or would warn."""
    crowded = method in costs and not costs[method].fits
    many = facts.n > 20_000 and (method == "Isomap" or facts.metric != "euclidean")
    assert "n_landmarks" in class_of(method).__dataclass_fields__
    return {"n_landmarks": LANDMARKS} if crowded or many else {}
