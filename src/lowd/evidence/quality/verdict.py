"""One sentence on what can be read off an embedding, from its quality measures."""

from __future__ import annotations

from collections.abc import Mapping

# From which value on neighborhoods are called reliable, and mostly reliable. A map of random
# numbers has 0.5; t-SNE of the handwritten digits 0.99, their PCA 0.83.
RELIABLE_NEIGHBORS = 0.95
MOSTLY_RELIABLE_NEIGHBORS = 0.85
# The same for the order of distances in random triplets; chance is 0.5.
RELIABLE_TRIPLET_ACCURACY = 0.9
MOSTLY_RELIABLE_TRIPLET_ACCURACY = 0.75


def give_verdict(measures: Mapping[str, float]) -> str:
    """What can be read off the embedding, in one sentence.

    >>> give_verdict({"trustworthiness": 0.97, "continuity": 0.9, "triplet_accuracy": 0.6})
    'Points that are near in the embedding are near in the data (trustworthiness 0.97), most \
neighbors in the data are near in the embedding (continuity 0.90), and large distances say \
little (triplet accuracy 0.60).'
    """
    parts = []
    if (trust := measures.get("trustworthiness")) is not None:
        near = "points that are near in the embedding are"
        words = f"{near} near in the data", f"{near} mostly near in the data"
        parts.append(_grade(trust, *words, f"{near} often far in the data", "trustworthiness"))
    if (continuity := measures.get("continuity")) is not None:
        near = "neighbors in the data are"
        words = f"{near} near in the embedding", f"most {near} near in the embedding"
        parts.append(_grade(continuity, *words, f"{near} often torn apart", "continuity"))
    if (triplets := measures.get("triplet_accuracy")) is not None:
        words = "large distances keep their order", "large distances roughly keep their order"
        limits = RELIABLE_TRIPLET_ACCURACY, MOSTLY_RELIABLE_TRIPLET_ACCURACY
        parts.append(
            _grade(triplets, *words, "large distances say little", "triplet accuracy", limits)
        )
    text = ", and ".join(parts) if len(parts) < 3 else f"{parts[0]}, {parts[1]}, and {parts[2]}"
    return text[:1].upper() + text[1:] + "." if text else ""


def _grade(
    value: float,
    reliable: str,
    mostly: str,
    not_reliable: str,
    measure: str,
    limits: tuple[float, float] = (RELIABLE_NEIGHBORS, MOSTLY_RELIABLE_NEIGHBORS),
) -> str:
    words = reliable if value >= limits[0] else mostly if value >= limits[1] else not_reliable
    return f"{words} ({measure} {value:.2f})"
