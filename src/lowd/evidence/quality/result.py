"""`Evaluation`: the quality measures of an embedding, with intervals and pointwise values."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...input.arguments import DataFrame
from ..null_models import Structure
from ..tables import html_list, html_row, to_data_frame
from ..types import Figure
from .damage import DamagedGroup, describe_damage
from .measures import DEFINITIONS, Measure
from .reliability import Reliability

MEASURE_GROUPS = {
    "neighborhoods": (
        "trustworthiness",
        "continuity",
        "neighbor_recall",
        "lcmc",
        "mrre_false",
        "mrre_missing",
        "bnx",
    ),
    "all scales": (
        "rnx_auc",
        "triplet_accuracy",
        "spearman",
        "pearson",
        "scale_normalized_stress",
        "stress1",
        "nonmetric_stress",
    ),
    "labels": (
        "knn_accuracy",
        "knn_accuracy_data",
        "neighborhood_hit",
        "label_trustworthiness",
        "label_continuity",
        "centroid_triplet_accuracy",
        "silhouette",
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Quality measures of an embedding. The result of `lowd.evaluate` and `model.evaluate`.

    Every measure is an attribute (`evaluation.trustworthiness`): a float with `.interval` (95 %,
    None if exact), `.better`, `.formula`, `.question` and `.k`. A measure that was not computed is
    None, and `notes` say why.

    Attributes
    ----------
    verdict : what can be read off the embedding, in a few sentences
    measures : dict of name -> Measure
    pointwise : dict of name -> one value for each of `rows`
    rows : indices of the rows that were evaluated; all if `exact`
    rnx_curve : K and R_NX(K)
    shepard : distances of pairs in the data and in the embedding
    model : values that the model itself reports, if there was one
    random_state : the seed of sampled rows, pairs and triplets, if one was given
    structure : is there structure to see in the data, and is it more than linear? None where the
        data are not rows with Euclidean distances
    damaged : groups of rows that are torn apart, laid on others or folded, the largest first; of
        5000 random rows if not all were evaluated
    reliability : promised and found confidence of new points, if the model's is calibrated
    n_samples, n_neighbors, metric, seconds
    exact : are rank-based measures computed from all rows?
    ties : share of rows whose k-th neighbor in the data is as far as the next
    duplicates : how many of the rows have a duplicate in the data
    notes : sentences on what was sampled, left out, or limits the interpretation
    """

    measures: dict[str, Measure]
    pointwise: dict[str, NDArray[np.float64]]
    rows: NDArray[np.int64]
    rnx_curve: tuple[NDArray[np.int64], NDArray[np.float64]] | None
    shepard: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    n_samples: int
    n_neighbors: int
    metric: str
    exact: bool
    seconds: float
    ties: float
    duplicates: int
    notes: list[str] = field(default_factory=list)
    model: dict[str, float] = field(default_factory=dict)
    random_state: int | None = None
    reliability: Reliability | None = None
    structure: Structure | None = None
    damaged: list[DamagedGroup] = field(default_factory=list)

    def __getattr__(self, name: str) -> Measure | None:
        if name in DEFINITIONS:
            return self.measures.get(name)
        if "measures" not in vars(self):  # during unpickling
            raise AttributeError(name)
        raise AttributeError(f"an evaluation has no {name!r}; its measures: {list(self.measures)}.")

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *DEFINITIONS])

    @property
    def verdict(self) -> str:
        """What can be read off the embedding, in a few sentences."""
        claim = "" if self.structure is None else self.structure.claim
        is_noise = self.structure is not None and self.structure.kind == "noise"
        damage = "" if is_noise else describe_damage(self.damaged)  # noise is torn everywhere
        return " ".join(part for part in (claim, give_verdict(self.measures), damage) if part)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without pointwise values."""
        return {
            "verdict": self.verdict,
            "structure": None if self.structure is None else self.structure.to_dict(),
            "damaged": [
                {
                    **group._asdict(),
                    "rows": group.rows.tolist(),
                    "sentence": describe_damage([group]),
                }
                for group in self.damaged
            ],
            "n_samples": self.n_samples,
            "n_neighbors": self.n_neighbors,
            "metric": self.metric,
            "exact": self.exact,
            "rows": len(self.rows),
            "seconds": self.seconds,
            "ties": self.ties,
            "duplicates": self.duplicates,
            "measures": {
                name: {
                    "value": float(one),
                    "interval": None if one.interval is None else list(one.interval),
                    "better": one.better,
                    "formula": one.formula,
                    "k": one.k,
                }
                for name, one in self.measures.items()
            },
            "model": self.model,
            "reliability": None if self.reliability is None else self.reliability.to_dict(),
            "notes": self.notes,
        }

    def to_frame(self) -> DataFrame:
        """One row per measure, as a pandas DataFrame."""
        records = [
            {
                "measure": name,
                "value": float(one),
                "low": np.nan if one.interval is None else one.interval[0],
                "high": np.nan if one.interval is None else one.interval[1],
                "better": one.better,
                "k": one.k,
                "formula": one.formula,
            }
            for name, one in self.measures.items()
        ]
        return to_data_frame(records, "measure")

    def plot(self, **options: Any) -> Figure:
        """The R_NX curve (`lowd.plot.rnx`); see also `lowd.plot.shepard` and `quality`."""
        # Imported by name: plots are a higher layer, and need matplotlib.
        return import_module("lowd.plot").rnx(self, **options)

    def __repr__(self) -> str:
        lines = [self._headline(), "", *textwrap.wrap(self.verdict, 100)]
        for title, rows in self._table():
            lines += ["", f"{title}:"]
            lines += [
                f"  {name:<26}{value:<26} {better:<8} {why}" for name, value, better, why in rows
            ]
        if self.model:
            lines += ["", "of the model:"]
            lines += [f"  {name:<26}{value:.4g}" for name, value in self.model.items()]
        if self.reliability is not None:
            lines += ["", "confidence of left-out rows:", *self.reliability.to_lines()]
        if self.notes:
            lines += ["", *(f"* {note}" for note in self.notes)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        text = html.escape
        out = [f"<p>{text(self._headline())}</p><p>{text(self.verdict)}</p><table>"]
        for title, rows in self._table():
            out.append(f"<tr><th colspan='4' style='text-align:left'>{text(title)}</th></tr>")
            out += [html_row(row) for row in rows]
        out += [html_row([name, f"{value:.4g}", "", ""]) for name, value in self.model.items()]
        out.append("</table>")
        if self.reliability is not None:
            table = "\n".join(self.reliability.to_lines())
            out.append(f"<p>Confidence of left-out rows</p><pre>{text(table)}</pre>")
        return "".join([*out, html_list(self.notes)])

    def _headline(self) -> str:
        how = "all rows" if self.exact else f"{len(self.rows)} sampled rows against all"
        return (
            f"Embedding of {self.n_samples} rows ({self.metric} distances, {self.n_neighbors} "
            f"neighbors, {how}, {self.seconds:.2f} s)"
        )

    def _table(self) -> list[tuple[str, list[tuple[str, str, str, str]]]]:
        tables: list[tuple[str, list[tuple[str, str, str, str]]]] = []
        for title, names in MEASURE_GROUPS.items():
            held = [self.measures[name] for name in names if name in self.measures]
            if held:
                tables.append(
                    (title, [(one.name, repr(one), one.better, one.question) for one in held])
                )
        return tables


# -- the verdict ----------------------------------------------------------------------------------

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
        text = _grade(trust, *words, f"{near} often far in the data", "trustworthiness")
        if (recall := measures.get("neighbor_recall")) is not None:
            text = f"{text[:-1]}, recall {recall:.2f})"
        parts.append(text)
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
