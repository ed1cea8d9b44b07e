"""The command of each method, and `lowd map`, which chooses one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..errors import DataError, ParameterError, UnsupportedError
from ..io.table import Column, Data, Table
from .console import Console
from .files import STDOUT, Outputs
from .flags import METHOD_COMMANDS, build_model
from .options import DEFAULT_N_NEIGHBORS, Arguments
from .reading import Preparation, choose_metric, get_classes, prepare, read, set_metric
from .registry import Result

if TYPE_CHECKING:
    from ..core.estimator import Reducer
    from ..evidence.diagnosis import Diagnosis
    from ..evidence.quality import Evaluation


def fit(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd METHOD data`."""
    # A wrong flag is found before a large file is read.
    model = build_model(arguments["method"], arguments)
    return Run.start(arguments, console, outputs).embed(model)


def choose(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd map data`: diagnose, take the best method, say why."""
    run = Run.start(arguments, console, outputs)
    for finding in run.diagnosis.findings:
        if finding.severity in ("error", "warning"):
            console.note(f"{finding.sentence} {finding.remedy}".strip())
    if not run.diagnosis.recommendations:
        raise DataError(f"{run.table.source}: no method suits these data; see `lowd diagnose`.")
    best = run.diagnosis.recommendations[0]
    console.print(f"{best.method}: {best.reason}")
    return run.embed(build_model(best.method, {**arguments, **best.params}), best.reason)


@dataclass
class Run:
    """One fit from the command line: the data, what was typed, and the files to write."""

    arguments: Arguments
    console: Console
    outputs: Outputs
    table: Table
    X: Data
    preparation: Preparation

    @classmethod
    def start(cls, arguments: Arguments, console: Console, outputs: Outputs) -> Run:
        """Read and prepare the data."""
        table = read(arguments, console)
        return cls(arguments, console, outputs, table, *prepare(table, arguments))

    @cached_property
    def diagnosis(self) -> Diagnosis:
        from ..evidence.diagnosis import diagnose

        named = isinstance(self.X, np.ndarray) and self.preparation.columns
        return diagnose(
            self.X,
            metric=choose_metric(self.table),
            columns=self.preparation.columns if named else None,
            random_state=self.arguments.get("seed"),
        )

    def embed(self, model: Reducer, reason: str | None = None) -> Result:
        """Fit the model, evaluate the embedding, write the files."""
        model = set_metric(model, self.table)
        self.console.columns = self.preparation.columns if isinstance(self.X, np.ndarray) else ()
        start = time.perf_counter()
        Y = np.asarray(model.fit_transform(self.X))
        seconds = time.perf_counter() - start
        evaluation = self._evaluate(model, Y) if self.arguments["evaluate"] else None
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
        return Result(document, self._format(document, evaluation))

    def _evaluate(self, model: Reducer, Y: NDArray[np.floating]) -> Evaluation | None:
        """Quality measures of the embedding; with few rows there are none, which is no error."""
        from ..evidence.quality import evaluate
        from ..evidence.quality.column_scale import scale_columns

        params = model.get_params(deep=False)
        try:
            found = evaluate(
                scale_columns(model, self.X),
                Y,
                labels=get_classes(self.table),
                metric=params.get("metric", "euclidean"),
                metric_params=params.get("metric_params"),
                n_neighbors=min(DEFAULT_N_NEIGHBORS, max(1, (len(Y) - 1) // 2)),
                random_state=self.arguments.get("seed"),
                backend=model.backend,
                n_jobs=model.n_jobs,
            )
            return replace(found, notes=[self.console.name_columns(note) for note in found.notes])
        except (DataError, ParameterError, UnsupportedError) as error:
            self.console.note(f"The embedding was not evaluated: {error}")
            return None

    def _write(
        self, model: Reducer, Y: NDArray[np.floating], evaluation: Evaluation | None
    ) -> None:
        names = list(model.get_feature_names_out())
        trust = get_pointwise_trust(evaluation, len(Y))
        write_embedding(self.outputs, self.table, Y, names, trust)
        if "model" in self.outputs:
            from ..store import save

            model.prepared_ = self.preparation.to_dict()
            save(model, self.outputs.temporary("model"))
        if "plot" in self.outputs:
            from .. import plot

            plot.save(plot.scatter(Y, self.table.labels), self.outputs.temporary("plot"))
        if "report" in self.outputs:
            from .. import report

            report.write(
                self.outputs.temporary("report"),
                model=model,
                X=self.X,
                embedding=Y,
                evaluation=evaluation,
                diagnosis=self.diagnosis,
                table=self.table,
                command=self.arguments["command"],
                reading=self.preparation.reading,
                standardized=self.preparation.mean is not None,
            )

    def _format(self, document: Mapping[str, object], evaluation: Evaluation | None) -> str:
        """The result as text."""
        name = document["method"]
        word = next(word for word, method in METHOD_COMMANDS.items() if method == name)
        lines = [
            f"{name} ({word}): {document['n_samples']} rows of {document['n_features']} columns in "
            f"{document['n_components']} dimensions, {document['seconds']:.2g} s"
        ]
        if evaluation is not None:
            lines.append(str(evaluation))
        paths = self.outputs.paths
        lines += [f"{role}: {path}" for role, path in paths.items() if path != STDOUT]
        return "\n".join(lines)


def get_pointwise_trust(evaluation: Evaluation | None, n: int) -> dict[str, Column]:
    """Per-point quality as columns; rows that were not sampled have NaN."""
    columns: dict[str, Column] = {}
    for name in ("trustworthiness", "continuity"):
        if evaluation is not None and name in evaluation.pointwise:
            column = np.full(n, np.nan)
            column[evaluation.rows] = evaluation.pointwise[name]
            columns[name] = column
    return columns


def write_embedding(
    outputs: Outputs,
    table: Table,
    Y: NDArray[np.floating],
    names: list[str],
    columns: Mapping[str, Column],
) -> None:
    """Write identifiers, labels, coordinates and further columns of each row."""
    from .. import io

    embedding = table.with_embedding(Y, names, {**table.extra, **columns})
    io.write(outputs.temporary("output"), embedding, force=True)
