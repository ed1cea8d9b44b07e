"""The command of each method, and `lowd map`, which chooses one."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import progress
from ..errors import DataError, ParameterError, UnsupportedError
from .fields import COMMANDS, build
from .files import STDOUT, Outputs
from .reading import Prepared, classes_of, metric_of, prepare, read, suited
from .talk import Talk

Answer = tuple[dict[str, Any], str]


def fit(given: dict[str, Any], talk: Talk, outputs: Outputs) -> Answer:
    """`lowd METHOD data`."""
    model = build(given["method"], given)  # a wrong flag is found before a large file is read
    return Run.begun(given, talk, outputs).mapped(model)


def choose(given: dict[str, Any], talk: Talk, outputs: Outputs) -> Answer:
    """`lowd map data`: diagnose, take the best method, say why."""
    run = Run.begun(given, talk, outputs)
    for finding in run.diagnosis.findings:
        if finding.severity in ("error", "warning"):
            talk.note(f"{finding.sentence} {finding.remedy}".strip())
    if not run.diagnosis.recommendations:
        raise DataError(f"{run.table.source}: no method suits these data; see `lowd diagnose`.")
    best = run.diagnosis.recommendations[0]
    talk.say(f"{best.method}: {best.reason}")
    return run.mapped(build(best.method, {**given, **best.params}), best.reason)


@dataclass
class Run:
    """Data on their way to a map."""

    given: dict[str, Any]
    talk: Talk
    outputs: Outputs
    table: Any
    X: Any
    prepared: Prepared

    @classmethod
    def begun(cls, given: dict[str, Any], talk: Talk, outputs: Outputs) -> Run:
        table = read(given, talk)
        return cls(given, talk, outputs, table, *prepare(table, given))

    @cached_property
    def diagnosis(self) -> Any:
        from ..evidence.diagnosis import diagnose

        named = isinstance(self.X, np.ndarray) and self.prepared.columns
        return diagnose(
            self.X,
            metric=metric_of(self.table),
            columns=self.prepared.columns if named else None,
            random_state=self.given.get("seed"),
        )

    def mapped(self, model: Any, reason: str | None = None) -> Answer:
        """Fit, judge, write."""
        model = suited(model, self.table)
        self.talk.columns = self.prepared.columns if isinstance(self.X, np.ndarray) else ()
        start = time.perf_counter()
        Y = np.asarray(model.fit_transform(self.X))
        seconds = time.perf_counter() - start
        evaluation = self._judged(model, Y) if self.given["evaluate"] else None
        progress.report("write", 0, 1)
        self._write(model, Y, evaluation)
        progress.report("write", 1, 1)
        document = {
            "method": type(model).__name__,
            "reason": reason,
            "parameters": {n: v for n, v in model.get_params(deep=False).items() if n != "verbose"},
            "n_samples": len(Y),
            "n_features": self.X.shape[1],
            "n_components": Y.shape[1],
            "seconds": seconds,
            "seed": getattr(model, "seed_", None),
            "quality": evaluation.to_dict() if evaluation is not None else None,
            "files": dict(self.outputs.paths),
        }
        return document, _text(document, evaluation)

    def _judged(self, model: Any, Y: Any) -> Any:
        """The evidence; a map of few rows has none, and is a map all the same."""
        from ..evidence.quality import evaluate
        from ..evidence.quality.units import as_seen_by

        params = model.get_params(deep=False)
        try:
            found = evaluate(
                as_seen_by(model, self.X),
                Y,
                labels=classes_of(self.table),
                metric=params.get("metric", "euclidean"),
                metric_params=params.get("metric_params"),
                n_neighbors=min(15, max(1, (len(Y) - 1) // 2)),
                random_state=self.given.get("seed"),
                backend=model.backend,
                n_jobs=model.n_jobs,
            )
            return replace(found, notes=[self.talk.named(note) for note in found.notes])
        except (DataError, ParameterError, UnsupportedError) as error:
            self.talk.note(f"The map was not evaluated: {error}")
            return None

    def _write(self, model: Any, Y: Any, evaluation: Any) -> None:
        names = list(model.get_feature_names_out())
        write_map(self.outputs, self.table, Y, names, trust_of(evaluation, len(Y)))
        if "model" in self.outputs:
            from ..store import save

            model.prepared_ = self.prepared.saved()
            save(model, self.outputs.part("model"))
        if "plot" in self.outputs:
            from .. import plot

            plot.save(plot.scatter(Y, self.table.labels), self.outputs.part("plot"))
        if "report" in self.outputs:
            from .. import report

            report.write(
                self.outputs.part("report"),
                model=model,
                X=self.X,
                embedding=Y,
                evaluation=evaluation,
                diagnosis=self.diagnosis,
                table=self.table,
                command=self.given["command"],
                reading=self.prepared.reading,
                standardized=self.prepared.mean is not None,
            )


def trust_of(evaluation: Any, n: int) -> dict[str, Any]:
    """Per-point trust as columns; rows that were not sampled have none."""
    columns = {}
    for name in ("trustworthiness", "continuity"):
        if evaluation is not None and name in evaluation.pointwise:
            column = np.full(n, np.nan)
            column[evaluation.rows] = evaluation.pointwise[name]
            columns[name] = column
    return columns


def write_map(outputs: Outputs, table: Any, Y: Any, names: list[str], more: dict[str, Any]) -> None:
    """Identifiers, labels, coordinates and what is known of each row."""
    from .. import io

    made = table.mapped(Y, names, {**table.extra, **more})
    io.write(outputs.part("output"), made, force=True)


def _text(document: dict[str, Any], evaluation: Any) -> str:
    """The outcome for people."""
    word = next(word for word, name in COMMANDS.items() if name == document["method"])
    lines = [
        f"{document['method']} ({word}): {document['n_samples']} rows of {document['n_features']} "
        f"columns in {document['n_components']} dimensions, {document['seconds']:.2g} s"
    ]
    if evaluation is not None:
        lines.append(str(evaluation))
    lines += [f"{role}: {path}" for role, path in document["files"].items() if path != STDOUT]
    return "\n".join(lines)
