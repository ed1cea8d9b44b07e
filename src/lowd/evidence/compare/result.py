"""What a comparison found: runs, their ranks and how they were found."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ...errors import DataError, MissingPackageError, ParameterError
from ..quality.column_scale import DOMINANT_COLUMN_CONSEQUENCE
from ..quality.measures import DEFINITIONS
from ..quality.result import MEASURE_GROUPS

# Near and far at all scales; false and lost neighbors; distances.
CRITERIA = ("rnx_auc", "trustworthiness", "continuity", "scale_normalized_stress")


class Stability(NamedTuple):
    """Mean Procrustes disparity of maps that should be the same: 0 the same, 1 unrelated.

    None where it was not asked for, or could not be found.
    """

    seeds: float | None
    subsamples: float | None


@dataclass(frozen=True, eq=False)
class Run:
    """One method with one setting: its fitted model, its map, and what became of it.

    `error` is the sentence of what went wrong, if anything did; `warnings` are those of the
    library. `seconds` is the time of the fit, without a search for neighbors that was shared.
    """

    name: str
    params: dict[str, Any]
    model: Any
    embedding: NDArray[Any] | None = None
    evaluation: Any = None
    seconds: float = 0.0
    stability: Stability | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        state = "failed" if self.error else f"{self.seconds:.2f} s"
        return f"Run({self.name!r}, {state})"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Runs of several methods on the same rows, and their order. Made by `lowd.compare`.

    Attributes
    ----------
    runs : every run, in the order asked for; `comparison["PCA"]` is one by name
    ranking : names of the runs that could be judged, the best first
    best : the first of these runs
    scores : name -> mean rank over the `criteria` (1 is the best possible)
    criteria : measures that were ranked; each counts the same
    labels, n_samples, n_neighbors, metric, seconds, cancelled, notes
    """

    runs: tuple[Run, ...]
    criteria: tuple[str, ...]
    scores: dict[str, float]
    labels: NDArray[Any] | None
    n_samples: int
    n_neighbors: int
    metric: str
    judged_by: str
    seconds: float
    cancelled: bool = False
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, runs: Sequence[Run], criteria: Sequence[str], *, planned: int, **facts: Any
    ) -> Self:
        scores = mean_ranks(runs, tuple(criteria))
        notes = [
            f"Ranked by the mean rank over {', '.join(criteria)}, measured against "
            f"{facts['judged_by']}."
        ]
        judged = [run.evaluation for run in runs if run.evaluation is not None]
        notes += [
            note for one in judged[:1] for note in one.notes if DOMINANT_COLUMN_CONSEQUENCE in note
        ]
        if len(runs) < planned:
            notes.append(f"Cancelled: {planned - len(runs)} of {planned} runs are missing.")
        notes += [f"{run.name} failed: {run.error}" for run in runs if run.error]
        notes += [f"{run.name}: {sentence}" for run in runs for sentence in run.warnings]
        return cls(tuple(runs), tuple(criteria), scores, notes=notes, **facts)

    @property
    def ranking(self) -> list[str]:
        return sorted(self.scores, key=lambda name: self.scores[name])  # stable: as asked for

    @property
    def best(self) -> Run:
        if not self.scores:
            raise DataError("no run could be judged; `notes` say why.")
        return self[self.ranking[0]]

    def __getitem__(self, name: str) -> Run:
        for run in self.runs:
            if run.name == name:
                return run
        raise ParameterError(f"no run is named {name!r}; there are {[r.name for r in self.runs]}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; without models and places."""
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

    def _plain(self, run: Run) -> dict[str, Any]:
        judged = run.evaluation
        return {
            "name": run.name,
            "params": {key: plain_value(value) for key, value in run.params.items()},
            "mean_rank": self.scores.get(run.name),
            "seconds": run.seconds,
            "stability": None if run.stability is None else run.stability._asdict(),
            "error": run.error,
            "warnings": list(run.warnings),
            "measures": {} if judged is None else judged.to_dict()["measures"],
        }

    def to_frame(self) -> Any:
        """One row per run, the best first and failed ones last, as a pandas DataFrame."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise MissingPackageError(
                "to_frame needs pandas: pip install pandas; or use to_dict."
            ) from None
        return pandas.DataFrame([self._row(run) for run in self._ordered()]).set_index("run")

    def _ordered(self) -> list[Run]:
        judged = [self[name] for name in self.ranking]
        return [*judged, *(run for run in self.runs if run.name not in self.scores)]

    def _row(self, run: Run) -> dict[str, Any]:
        judged = {} if run.evaluation is None else run.evaluation.measures
        row: dict[str, Any] = {"run": run.name, "mean_rank": self.scores.get(run.name, np.nan)}
        names = dict.fromkeys([*self.criteria, *judged])
        row |= {name: float(judged[name]) if name in judged else np.nan for name in names}
        stable = run.stability or Stability(None, None)
        row |= {"stability_seeds": stable.seeds, "stability_subsamples": stable.subsamples}
        return row | {"seconds": run.seconds, "error": run.error}

    def plot(self, labels: Any = None, **options: Any) -> Any:
        """All maps side by side, the best first (`lowd.plot.compare`)."""
        # A string: plots stand above this module, and need matplotlib.
        return import_module("lowd.plot").compare(self, labels, **options)

    def _headline(self) -> str:
        return (
            f"{len(self.runs)} maps of {self.n_samples} rows ({self.metric} distances, "
            f"{self.n_neighbors} neighbors, {self.seconds:.1f} s)"
        )

    def _table(self) -> list[list[str]]:
        head = ["", "mean rank", *(name.replace("_", " ") for name in self.criteria)]
        return [[*head, "seeds", "subsamples", "fit"], *map(self._cells, self._ordered())]

    def _cells(self, run: Run) -> list[str]:
        def shown(value: Any, digits: int = 3) -> str:
            return "–" if value is None else f"{float(value):.{digits}f}"

        measures = {} if run.evaluation is None else run.evaluation.measures
        stable = run.stability or Stability(None, None)
        values = [shown(measures.get(name)) for name in self.criteria]
        fit = "failed" if run.error else f"{run.seconds:.2f} s"
        rank = shown(self.scores.get(run.name), 2)
        return [run.name, rank, *values, shown(stable.seeds), shown(stable.subsamples), fit]

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
        for row in rows:
            name, *cells = (text(cell) for cell in row)
            values = "".join(f"<td style='text-align:right'>{cell}</td>" for cell in cells)
            out.append(f"<tr><td style='text-align:left'>{name}</td>{values}</tr>")
        notes = "".join(f"<li>{text(note)}</li>" for note in self.notes)
        return "".join([*out, f"</table><ul>{notes}</ul>"])


def check_criteria(criteria: Sequence[str], labels: Any) -> None:
    """Before anything is run: will every map have these measures?"""
    known = [
        name for name in DEFINITIONS if labels is not None or name not in MEASURE_GROUPS["labels"]
    ]
    bad = [name for name in criteria if name not in known]
    if bad or not len(criteria) or isinstance(criteria, str):
        raise ParameterError(f"criteria={criteria!r}: expected a list of some of {known}.")


def mean_ranks(runs: Sequence[Run], criteria: tuple[str, ...]) -> dict[str, float]:
    """Run -> mean of its ranks over the criteria; equal numbers share their ranks."""
    done = [run for run in runs if run.evaluation is not None]
    judged = [run for run in done if set(criteria) <= set(run.evaluation.measures)]
    if not judged:
        return {}
    ranks = []
    for name in criteria:
        numbers = np.array([float(run.evaluation.measures[name]) for run in judged])
        sign = {"higher": -numbers, "lower": numbers, "nearer 0": np.abs(numbers)}
        ranks.append(rankdata(sign[DEFINITIONS[name].better]))
    means = np.mean(ranks, axis=0)
    return {run.name: float(mean) for run, mean in zip(judged, means, strict=True)}


def plain_value(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain_value(one) for one in value]
    return getattr(value, "__name__", None) or repr(value)[:80]
