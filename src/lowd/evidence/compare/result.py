"""`Comparison`: runs of several methods, ranked by the quality of their embeddings."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from ...errors import DataError, ParameterError
from ...input.arguments import DataFrame
from ...parameters import Reals
from ..quality import Evaluation, Measure
from ..quality.evaluation import DOMINANT_COLUMN_CONSEQUENCE
from ..quality.measures import DEFINITIONS
from ..quality.result import MEASURE_GROUPS
from ..tables import html_list, html_row, to_data_frame
from ..types import Figure, Transformer

# Neighborhoods of all sizes; false and missing neighbors; distances.
CRITERIA = ("rnx_auc", "trustworthiness", "continuity", "scale_normalized_stress")


# Disparities up to which an embedding is called stable, and similar: shares of its variance that
# another sample of the rows moves.
MAX_STABLE_DISPARITY, MAX_SIMILAR_DISPARITY = 0.05, 0.3


class Stability(NamedTuple):
    """Mean Procrustes disparity of embeddings that should be the same: 0 identical, 1 unrelated.

    Attributes
    ----------
    seeds : over other seeds; None where these change nothing, which says nothing of stability
    subsamples : over random 80 % of the rows, on the rows that both embeddings have

    None where it was not requested, or could not be computed.
    """

    seeds: float | None
    subsamples: float | None

    @property
    def verdict(self) -> str:
        """What the disparity of subsamples means, in words."""
        if self.subsamples is None:
            return "not measured"
        if self.subsamples <= MAX_STABLE_DISPARITY:
            return "stable: a sample of the rows gives the same embedding"
        if self.subsamples <= MAX_SIMILAR_DISPARITY:
            return "similar: a sample of the rows changes parts of the embedding"
        return "unstable: the arrangement depends on the sample; do not read distances across it"


@dataclass(frozen=True, eq=False)
class Run:
    """One method with its parameters: fitted model, embedding and evaluation.

    `error` is the message of an error, if there was one; `warnings` are those of the library.
    `seconds` is the time of the fit, without the shared neighbor search.
    """

    name: str
    params: dict[str, Any]
    model: Transformer
    embedding: Reals | None = None
    evaluation: Evaluation | None = None
    seconds: float = 0.0
    stability: Stability | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        state = "failed" if self.error else f"{self.seconds:.2f} s"
        return f"Run({self.name!r}, {state})"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Runs of several methods on the same rows, and their ranking. The result of `lowd.compare`.

    Attributes
    ----------
    runs : every run, in the given order; `comparison["PCA"]` is one by name
    ranking : names of the runs that could be evaluated, the best first
    best : the first of these runs
    scores : name -> mean rank over the `criteria` (1 is the best possible)
    criteria : measures that were ranked; each counts the same
    labels, n_samples, n_neighbors, metric, seconds, cancelled, notes
    """

    runs: tuple[Run, ...]
    criteria: tuple[str, ...]
    scores: dict[str, float]
    labels: NDArray[np.generic] | None
    n_samples: int
    n_neighbors: int
    metric: str
    judged_by: str
    seconds: float
    cancelled: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def ranking(self) -> list[str]:
        return sorted(self.scores, key=lambda name: self.scores[name])  # stable: in the given order

    @property
    def best(self) -> Run:
        if not self.scores:
            raise DataError("no run could be evaluated; `notes` say why.")
        return self[self.ranking[0]]

    def __getitem__(self, name: str) -> Run:
        for run in self.runs:
            if run.name == name:
                return run
        raise ParameterError(f"no run is named {name!r}; there are {[r.name for r in self.runs]}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without models and embeddings."""
        return {
            "n_samples": self.n_samples,
            "n_neighbors": self.n_neighbors,
            "metric": self.metric,
            "judged_by": self.judged_by,
            "criteria": list(self.criteria),
            "ranking": self.ranking,
            "seconds": self.seconds,
            "cancelled": self.cancelled,
            "notes": self.notes,
            "runs": [self._plain(run) for run in self.runs],
        }

    def _plain(self, run: Run) -> dict[str, object]:
        found = run.evaluation
        return {
            "name": run.name,
            "params": {key: to_json_value(value) for key, value in run.params.items()},
            "mean_rank": self.scores.get(run.name),
            "seconds": run.seconds,
            "stability": None if run.stability is None else run.stability._asdict(),
            "error": run.error,
            "warnings": list(run.warnings),
            "measures": {} if found is None else found.to_dict()["measures"],
        }

    def to_frame(self) -> DataFrame:
        """One row per run, the best first and failed ones last, as a pandas DataFrame."""
        return to_data_frame((self._row(run) for run in self._sort_runs()), "run")

    def _sort_runs(self) -> list[Run]:
        ranked = [self[name] for name in self.ranking]
        return [*ranked, *(run for run in self.runs if run.name not in self.scores)]

    def _row(self, run: Run) -> dict[str, object]:
        measures = _get_measures(run)
        row: dict[str, object] = {"run": run.name, "mean_rank": self.scores.get(run.name, np.nan)}
        names = dict.fromkeys([*self.criteria, *measures])
        row |= {name: float(measures[name]) if name in measures else np.nan for name in names}
        stable = run.stability or Stability(None, None)
        row |= {"stability_seeds": stable.seeds, "stability_subsamples": stable.subsamples}
        return row | {"seconds": run.seconds, "error": run.error}

    def plot(self, labels: ArrayLike | None = None, **options: Any) -> Figure:
        """All embeddings side by side, the best first (`lowd.plot.compare`)."""
        # Imported by name: plots are a higher layer, and need matplotlib.
        return import_module("lowd.plot").compare(self, labels, **options)

    def _headline(self) -> str:
        return (
            f"{len(self.runs)} embeddings of {self.n_samples} rows ({self.metric} distances, "
            f"{self.n_neighbors} neighbors, {self.seconds:.1f} s)"
        )

    def _table(self) -> list[list[str]]:
        head = ["", "mean rank", *(name.replace("_", " ") for name in self.criteria)]
        stability = ["stability", *["seeds"] * self._has_seeds()]
        return [[*head, *stability, "fit"], *map(self._cells, self._sort_runs())]

    def _has_seeds(self) -> bool:
        return any(
            run.stability is not None and run.stability.seeds is not None for run in self.runs
        )

    def _cells(self, run: Run) -> list[str]:
        measures = _get_measures(run)
        values = [_format(measures.get(name)) for name in self.criteria]
        stable = run.stability or Stability(None, None)
        values += [_format(stable.subsamples)] + [_format(stable.seeds)] * self._has_seeds()
        fit = "failed" if run.error else f"{run.seconds:.2f} s"
        return [run.name, _format(self.scores.get(run.name), 2), *values, fit]

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        return "\n".join([self._headline(), "", *lines, "", *(f"* {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        text = html.escape
        head, *rows = self._table()
        out = [f"<p>{text(self._headline())}</p><table><tr>"]
        out += [f"<th>{text(cell)}</th>" for cell in head]
        out.append("</tr>")
        out += [html_row(row, align="right") for row in rows]
        return "".join([*out, "</table>", html_list(self.notes)])


def check_criteria(criteria: Sequence[str], has_labels: bool) -> None:
    """Will every embedding have these measures? Checked before anything is run."""
    known = [name for name in DEFINITIONS if has_labels or name not in MEASURE_GROUPS["labels"]]
    bad = [name for name in criteria if name not in known]
    if bad or not len(criteria) or isinstance(criteria, str):
        raise ParameterError(f"criteria={criteria!r}: expected a list of some of {known}.")


def compute_mean_ranks(runs: Sequence[Run], criteria: tuple[str, ...]) -> dict[str, float]:
    """Run -> mean of its ranks over the criteria; ties get mid-ranks."""
    evaluated = {run.name: _get_measures(run) for run in runs if run.evaluation is not None}
    evaluated = {name: m for name, m in evaluated.items() if set(criteria) <= set(m)}
    if not evaluated:
        return {}
    ranks = []
    for name in criteria:
        values = np.array([float(measures[name]) for measures in evaluated.values()])
        loss = {"higher": -values, "lower": values, "nearer 0": np.abs(values)}
        ranks.append(rankdata(loss[DEFINITIONS[name].better]))
    means = np.mean(ranks, axis=0)
    return {name: float(mean) for name, mean in zip(evaluated, means, strict=True)}


def collect_notes(
    runs: Sequence[Run], criteria: Sequence[str], reference: str, n_planned: int
) -> list[str]:
    """How runs are ranked, which are missing or failed, and their warnings."""
    notes = [f"Ranked by the mean rank over {', '.join(criteria)}, evaluated against {reference}."]
    evaluations = [run.evaluation for run in runs if run.evaluation is not None]
    if evaluations:  # a dominant column is the same for all
        notes += [n for n in evaluations[0].notes if DOMINANT_COLUMN_CONSEQUENCE in n]
    if any(run.stability is not None and run.stability.subsamples is not None for run in runs):
        notes.append(
            "Stability: share of the embedding's variance that a fit to random 80 % of the rows "
            "moves (Procrustes disparity): 0 none, 1 all."
        )
        notes += [
            f"{run.name} is {run.stability.verdict}."
            for run in runs
            if run.stability is not None and (run.stability.subsamples or 0) > MAX_SIMILAR_DISPARITY
        ]
    if len(runs) < n_planned:
        notes.append(f"Cancelled: {n_planned - len(runs)} of {n_planned} runs are missing.")
    notes += [f"{run.name} failed: {run.error}" for run in runs if run.error]
    return notes + [f"{run.name}: {message}" for run in runs for message in run.warnings]


def _get_measures(run: Run) -> dict[str, Measure]:
    return {} if run.evaluation is None else run.evaluation.measures


def _format(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{float(value):.{digits}f}"


def to_json_value(value: object) -> object:
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [to_json_value(one) for one in value]
    return getattr(value, "__name__", None) or repr(value)[:80]
