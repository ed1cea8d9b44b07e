"""`Diagnosis`: findings, costs and recommendations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any, Literal, NamedTuple, TypeAlias

from ...backend import readable
from ...errors import DataError
from ...pipeline import STEP_PARAMETERS, Pipeline
from ...reducer import Reducer
from ...store import class_of
from ..null_models import Structure
from ..tables import html_paragraphs

Severity: TypeAlias = Literal["error", "warning", "notice", "fine"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "notice", "fine")
MAX_AFFECTED = 100  # rows or columns that a finding holds: enough to look at
_COLORS = {"error": "#b3261e", "warning": "#9a5b00", "notice": "#1f5fa8", "fine": "#2e7d32"}


@dataclass(frozen=True)
class Action:
    """What a finding calls for: parameters of `lowd.Pipeline`, and the same in words.

    Columns are named where the data are a table, and numbered where they are an array.
    """

    params: dict[str, Any]
    description: str

    def __str__(self) -> str:
        return self.description


@dataclass(frozen=True)
class Finding:
    """The result of one check: severity, what was found and what to do about it.

    `action` is the remedy as `lowd map` and `Diagnosis.pipeline` apply it; None if there is none,
    or if it is for a person to decide.
    """

    severity: Severity
    topic: str
    sentence: str
    remedy: str = ""
    affected: tuple[int | str, ...] = ()  # rows, columns or methods, the first of them
    action: Action | None = None

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".rstrip()


@dataclass(frozen=True)
class Recommendation:
    """A method with its parameters, why, and the steps of a `lowd.Pipeline` before it.

    `area` is that under R_NX of its map of a sample, if it was measured, and `axes` are those of
    a linear map in words, where they can be named. `build` returns the model, not fitted.
    """

    method: str
    params: dict[str, Any]
    reason: str
    steps: dict[str, Any] = field(default_factory=dict)
    area: float | None = None
    axes: tuple[str, ...] = ()

    def build(self) -> Reducer:
        """The method, or the pipeline that prepares the rows for it."""
        method: Reducer = class_of(self.method)(**self.params)
        return Pipeline(method, **self.steps) if self.steps else method

    def __str__(self) -> str:
        made = f"{self.method}({_format_params(self.params)})"
        if self.steps:
            made = f"Pipeline({made}, {_format_params(self.steps)})"
        return f"{made}: {self.reason}"


@dataclass(frozen=True)
class Cost:
    """Cost of a fit: bytes by the method's memory plan, seconds as a rough estimate."""

    bytes: int
    seconds: float
    fits: bool


class Dimension(NamedTuple):
    """An intrinsic dimension with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Diagnosis:
    """The result of `lowd.diagnose`.

    Attributes
    ----------
    findings : list of `Finding`, most severe first; checks that found nothing are among them, as
        "fine"
    recommendations : list of `Recommendation`, the chosen one first
    steps : those of a `lowd.Pipeline` that the findings call for
    structure : is there structure to see, and is it more than linear? None where the data are not
        rows with Euclidean distances
    costs : method -> `Cost(bytes, seconds, fits)` of two components with default parameters
    intrinsic_dimension : estimator -> (value, low, high)
    shape : "linear", "non-linear", "high-dimensional" or "unknown"
    residual_variance : "linear" and "geodesic" -> 1 - r² with the geodesic distances of the
        neighbor graph, for 1, 2, ... dimensions
    connected_components : number of neighbors -> number of components of the neighbor graph
    n_samples, n_features, n_searched : rows, columns, and rows whose neighbors were searched
    notes : sentences on checks that do not apply
    """

    findings: list[Finding]
    recommendations: list[Recommendation]
    steps: dict[str, Any]
    structure: Structure | None
    costs: dict[str, Cost]
    intrinsic_dimension: dict[str, Dimension]
    shape: str
    residual_variance: dict[str, list[float]]
    connected_components: dict[int, int]
    n_samples: int
    n_features: int
    n_searched: int
    notes: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def about(self, topic: str) -> list[Finding]:
        """The findings on one topic."""
        return [finding for finding in self.findings if finding.topic == topic]

    def pipeline(self, method: Reducer | None = None) -> Reducer:
        """The first recommendation as a model, not fitted: what `lowd map` fits.

        A `lowd.Pipeline` with the steps that the findings call for, or the method alone. With
        another `method`, which is not fitted either, this one is prepared in the same way.

        >>> import lowd, numpy as np
        >>> X = np.random.default_rng(0).normal(size=(200, 3)) * [1, 1, 1000]
        >>> lowd.diagnose(X).pipeline()
        Pipeline(method=PCA(n_components=2), scale=True)
        """
        if method is not None:
            return Pipeline(method, **self.steps) if self.steps else method
        if not self.recommendations:
            raise DataError("no method suits these data; see the findings.")
        return self.recommendations[0].build()

    @property
    def worst(self) -> Severity:
        """The highest severity among the findings."""
        return min((f.severity for f in self.findings), key=SEVERITIES.index, default="fine")

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dictionaries and numbers, as JSON takes them."""
        return {
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "n_searched": self.n_searched,
            "findings": [{**asdict(f), "affected": list(f.affected)} for f in self.findings],
            "steps": self.steps,
            "structure": None if self.structure is None else self.structure.to_dict(),
            "recommendations": [asdict(advice) for advice in self.recommendations],
            "costs": {method: asdict(cost) for method, cost in self.costs.items()},
            "intrinsic_dimension": {
                name: found._asdict() for name, found in self.intrinsic_dimension.items()
            },
            "shape": self.shape,
            "residual_variance": self.residual_variance,
            "connected_components": {
                str(k): count for k, count in self.connected_components.items()
            },
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        lines = [f"Diagnosis of {self._size()}"]
        lines += [f"  {f.severity:8} {f}" for f in self.findings]
        if self.recommendations:
            lines.append("Recommended")
            lines += [f"  {i}. {advice}" for i, advice in enumerate(self.recommendations, 1)]
        if self.costs:
            lines.append("Cost of a fit (memory beside the data; seconds are a rough estimate)")
            lines += [f"  {line}" for line in self._cost_lines()]
        lines += [f"Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _size(self) -> str:
        return f"{self.n_samples} rows" + (f", {self.n_features} columns" * (self.n_features > 0))

    def _cost_lines(self) -> Iterator[str]:
        for method, cost in self.costs.items():
            room = "" if cost.fits else "  does not fit in memory"
            yield f"{method:26} {readable(cost.bytes):>9} {format_duration(cost.seconds):>8}{room}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="color:{_COLORS[f.severity]}"><b>{f.severity}</b></td>'
            f"<td>{escape(f.topic)}</td>"
            f'<td style="text-align:left">{escape(f.sentence)}<br/><i>{escape(f.remedy)}</i></td>'
            "</tr>"
            for f in self.findings
        )
        advice = "".join(f"<li>{escape(str(item))}</li>" for item in self.recommendations)
        costs = "".join(
            f"<tr><td>{escape(method)}</td><td>{readable(cost.bytes)}</td>"
            f"<td>{format_duration(cost.seconds)}</td><td>{'yes' if cost.fits else 'no'}</td></tr>"
            for method, cost in self.costs.items()
        )
        return (
            f"<div><p><b>Diagnosis of {self._size()}</b></p><table>{rows}</table>"
            f"<p><b>Recommended</b></p><ol>{advice}</ol>"
            "<details><summary>Cost of a fit (seconds are a rough estimate)</summary>"
            "<table><tr><th>method</th><th>memory</th><th>time</th><th>fits</th></tr>"
            f"{costs}</table></details>{html_paragraphs(self.notes)}</div>"
        )


def merge_actions(findings: list[Finding]) -> dict[str, Any]:
    """Parameters of a pipeline that acts on all findings; columns of several are joined."""
    merged: dict[str, Any] = {}
    for finding in findings:
        for name, value in finding.action.params.items() if finding.action else ():
            earlier = merged.get(name)
            if isinstance(value, tuple) and isinstance(earlier, tuple):
                value = tuple(dict.fromkeys((*earlier, *value)))
            merged[name] = True if earlier is True else value
    return {name: merged[name] for name in STEP_PARAMETERS if name in merged}


def _format_params(params: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items())


def format_duration(seconds: float) -> str:
    """Seconds, minutes or hours in about two digits."""
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def pluralize(count: int, what: str) -> str:
    """A count with its noun.

    >>> pluralize(1, "row"), pluralize(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {what}" + "s" * (count != 1)


def list_some(names: list[str], limit: int = 5) -> str:
    """The first names for a sentence, and how many more there are.

    >>> list_some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = ", ".join(names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
