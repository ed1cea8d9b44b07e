"""The command of each method, and `lowd map`, which chooses one."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..errors import ColumnTypeError, DataError, ParameterError, UnsupportedError
from ..io.arrays import name_columns
from ..io.features import MAX_EXTRA_COLUMNS
from ..io.options import match_columns
from ..io.preparation import Preparation, prepare
from ..io.table import Column, Data, Table
from ..methods import find_class_name
from .console import Console
from .files import STDOUT, Outputs
from .flags import build_model, get_method_word
from .options import DEFAULT_N_NEIGHBORS, FLAGS, Arguments, is_streamed
from .reading import (
    check_steps,
    choose_metric,
    get_classes,
    get_read_options,
    get_steps,
    read,
    set_metric,
)
from .registry import Result

if TYPE_CHECKING:
    from ..evidence.compare import Stability
    from ..evidence.diagnosis import Diagnosis
    from ..evidence.quality import Evaluation
    from ..plot.canvas import Axes, Panels
    from ..reducer import Reducer


# Tables of more columns hardly hold an outcome; their columns are alike.
MAX_COLUMNS_OF_OUTCOME = 100
MAX_CALIBRATED_ROWS = 5000  # For more rows a second fit would take noticeable time.


def fit(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd METHOD data`."""
    # Find a wrong flag before reading a large file.
    model, steps = build_model(arguments["method"], arguments), get_steps(arguments)
    if is_streamed(arguments):
        from .streaming import fit_blocks

        word = get_method_word(arguments["method"])
        return fit_blocks(_add_steps(model, steps), arguments, console, word)
    _refuse_sample(arguments)
    run = Run.start(arguments, console, outputs)
    check_steps(run.table, steps)
    return run.embed(_add_steps(model, steps))


def choose(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd map data`: diagnose, act on the findings, choose the best method, and say why."""
    if arguments["method"] is not None:
        return fit({**arguments, "method": find_class_name(arguments["method"])}, console, outputs)
    if is_streamed(arguments):
        raise ParameterError("--memory and --cluster need the name of a method: -m pca.")
    _refuse_sample(arguments)
    run = Run.start_unasked(arguments, console, outputs)
    found = run.diagnosis
    for finding in found.findings:
        if finding.action is None and finding.severity in ("error", "warning"):
            console.note(str(finding))
    for line in run.explain_actions():
        console.note(line)
    if not found.recommendations:
        raise DataError(f"{run.table.source}: no method suits these data; see `lowd diagnose`.")
    best = found.recommendations[0]
    reason = console.word(best.reason)
    console.print(f"{best.method}: {reason}")
    model = build_model(best.method, {**arguments, **best.params})
    steps = run.leave_out_columns(best.steps)
    return run.embed(_add_steps(model, steps), reason)


def _refuse_sample(arguments: Arguments) -> None:
    if arguments.get("sample") is not None:
        raise ParameterError("--sample is for rows in blocks: give --memory or --cluster as well.")


def _add_steps(model: Reducer, steps: Arguments) -> Reducer:
    """Make the model, in a pipeline if there are steps before it."""
    from ..pipeline import Pipeline

    wanted = {name: value for name, value in steps.items() if value}
    if not wanted:
        return model
    return Pipeline(model, **wanted, backend=model.backend, n_jobs=model.n_jobs)


@dataclass
class Run:
    """One fit from the command line: the data, the typed arguments, and the files to write."""

    arguments: Arguments
    console: Console
    outputs: Outputs
    table: Table
    X: Data
    preparation: Preparation

    @classmethod
    def start(cls, arguments: Arguments, console: Console, outputs: Outputs, **more: Any) -> Run:
        """Read and prepare the data."""
        if arguments.get("missing") == "mean":  # a pipeline fills missing values, also in new rows
            more["missing"] = "keep"
        table = read(arguments, console, **more)
        reading = get_read_options(arguments) | more
        return cls(arguments, console, outputs, table, *prepare(table, reading))

    @classmethod
    def start_unasked(cls, arguments: Arguments, console: Console, outputs: Outputs) -> Run:
        """Read without refusing anything: missing values stay, and text is set aside.

        Files that hold only text are compared by Gower's distance.
        """
        more: Arguments = {}
        if arguments.get("missing") is None:
            more["missing"] = "keep"
        if not arguments.get("encode") and not arguments.get("gower"):
            more["text"] = "beside"
        try:
            run = cls.start(arguments, console, outputs, **more)
        except ColumnTypeError as error:
            console.note(str(error))
            run = cls.start({**arguments, "gower": True}, console, outputs)
        if run.may_hide_outcome():
            console.note(
                "No column was taken as the label: all of them count. If one is the class or an "
                "outcome of the rows, name it (label=...)."
            )
        return run

    def may_hide_outcome(self) -> bool:
        """Whether a table of few named columns has no label."""
        table = self.table
        named = table.columns != name_columns(len(table.columns))
        few = 1 < len(table.columns) <= MAX_COLUMNS_OF_OUTCOME
        return table.labels is None and table.kind in ("rows", "table") and named and few

    @cached_property
    def diagnosis(self) -> Diagnosis:
        from ..evidence.diagnosis import diagnose

        columns = self.preparation.columns
        named = isinstance(self.X, np.ndarray) and columns
        keep = self.arguments.get("keep") or ()
        wanted = match_columns(keep, columns, self.table.source, "keep") if keep else ()
        return diagnose(
            self.X,
            metric=choose_metric(self.table),
            columns=columns if named else None,
            steps=get_steps(self.arguments),
            keep=[columns.index(name) for name in wanted],
            random_state=self.arguments.get("seed"),
        )

    def explain_actions(self) -> list[str]:
        """Print a line for each action: what was done, why, and the flag that undoes it."""
        lines = []
        for finding in self.diagnosis.findings:
            if finding.action is not None:
                flags = self._list_undoing_flags(finding.action.params)
                what = finding.action.description
                lines.append(f"{what} ({flags} undoes it). {finding.sentence}")
        return lines

    def _list_undoing_flags(self, params: Arguments) -> str:
        flags = []
        for name, value in params.items():
            if name == "drop":
                names = ",".join(self.preparation.columns[j] for j in value)
                flags.append(f"--keep {shlex.quote(names)}")
            elif name == "impute":
                # Dropping rows is not an alternative where most rows have a missing value.
                complete = int(np.isfinite(self.X).all(1).sum())
                flags.append("--missing " + ("drop" if 2 * complete > len(self.X) else "error"))
            else:
                flags.append("--pca none" if name == "pca" else f"--no-{FLAGS[name]}")
        return " ".join(flags)

    def leave_out_columns(self, steps: Arguments) -> Arguments:
        """Set aside the columns that `drop` names; return the other steps for what is left."""
        dropped = set(steps.get("drop", ()))
        if not dropped:
            return steps
        kept = [j for j in range(self.X.shape[1]) if j not in dropped]
        names = self.preparation.columns
        aside = sorted(dropped)[:MAX_EXTRA_COLUMNS]
        extra = {names[j]: _restore_integers(np.asarray(self.X[:, j])) for j in aside}
        columns = tuple(names[j] for j in kept)
        self.X = self.X[:, kept]
        self.table = replace(
            self.table, X=self.X, columns=columns, extra={**self.table.extra, **extra}
        )
        reading = {**self.preparation.reading, "columns": list(columns)}
        self.preparation = replace(self.preparation, columns=columns, reading=reading)
        index = {j: position for position, j in enumerate(kept)}
        left = {name: value for name, value in steps.items() if name != "drop"}
        if isinstance(left.get("log1p"), tuple):
            left["log1p"] = tuple(index[j] for j in left["log1p"] if j in index)
        return left

    def embed(self, model: Reducer, reason: str | None = None) -> Result:
        """Fit the model, evaluate the embedding, write the files."""
        model = set_metric(model, self.table)
        from ..pipeline import Pipeline

        if self.arguments.get("view"):
            from . import viewing

            viewing.check_packages()

        steps = model.get_steps() if isinstance(model, Pipeline) else {}
        reduced = not isinstance(self.X, np.ndarray) or "pca" in steps
        self.console.columns = () if reduced else self.preparation.columns
        start = time.perf_counter()
        Y = np.asarray(model.fit_transform(self.X))
        seconds = time.perf_counter() - start
        rows, method = self.X, model
        if isinstance(model, Pipeline):
            rows, method = model.prepare(self.X, training=True), model.method_
        evaluation = self._evaluate(method, rows, Y) if self.arguments["evaluate"] else None
        progress.report("write", 0, 1)
        self._write(model, Y, evaluation)
        progress.report("write", 1, 1)
        params = method.get_params(deep=False)
        document = {
            "method": type(method).__name__,
            "reason": reason,
            "steps": steps,
            "parameters": {n: v for n, v in params.items() if n != "verbose"},
            "n_samples": len(Y),
            "n_features": self.X.shape[1],
            "n_components": Y.shape[1],
            "seconds": seconds,
            "seed": getattr(method, "seed_", None),
            "quality": evaluation.to_dict() if evaluation is not None else None,
            "files": dict(self.outputs.paths),
        }
        result = Result(document, self._format(document, evaluation))
        if not self.arguments.get("view"):
            return result
        from . import viewing

        session = viewing.make_session(self.table, self.X, model, self.preparation, steps)
        session.add_panel(type(method).__name__, Y, model=model)
        return viewing.serve(session, self.arguments, result)

    def _evaluate(self, model: Reducer, X: Data, Y: NDArray[np.floating]) -> Evaluation | None:
        """Measure the quality of the embedding; too few rows give none, without an error."""
        from ..evidence.quality import evaluate
        from ..evidence.quality.column_scale import scale_columns

        params = model.get_params(deep=False)
        try:
            found = evaluate(
                scale_columns(model, X),
                Y,
                labels=get_classes(self.table),
                metric=params.get("metric", "euclidean"),
                metric_params=params.get("metric_params"),
                n_neighbors=min(DEFAULT_N_NEIGHBORS, max(1, (len(Y) - 1) // 2)),
                random_state=self.arguments.get("seed"),
                backend=model.backend,
                n_jobs=model.n_jobs,
            )
            return replace(found, notes=[self.console.word(note) for note in found.notes])
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

            self._calibrate(model)
            model.prepared_ = self.preparation.to_dict()
            save(model, self.outputs.temporary("model"))
        if "plot" in self.outputs:
            from .. import plot

            plot.save(draw_embedding(model, Y, self.table), self.outputs.temporary("plot"))
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
                stability=self._measure_stability(model),
            )

    def _measure_stability(self, model: Reducer) -> Stability | None:
        """Measure how much the embedding changes with the sample; None for too few rows."""
        with contextlib.suppress(DataError, ParameterError, UnsupportedError):
            stability: Stability = model.measure_stability(self.X)
            return stability
        return None

    def _calibrate(self, model: Reducer) -> None:
        """Learn the confidence of new points from rows that an additional fit leaves out."""
        if self.X.shape[0] > MAX_CALIBRATED_ROWS:
            self.console.note(
                f"Confidence of new points is by a general curve, since there are more than "
                f"{MAX_CALIBRATED_ROWS} rows; in Python, model.calibrate_confidence(X) learns that "
                "of these data by one more fit."
            )
            return
        # There may be too few rows.
        with contextlib.suppress(DataError, ParameterError, UnsupportedError):
            model.calibrate_confidence(self.X)

    def _format(self, document: Mapping[str, object], evaluation: Evaluation | None) -> str:
        """Format the result as text."""
        name = document["method"]
        word = get_method_word(str(name))
        lines = [
            f"{name} ({word}): {document['n_samples']} rows of {document['n_features']} columns in "
            f"{document['n_components']} dimensions, {document['seconds']:.2g} s"
        ]
        if evaluation is not None:
            lines.append(str(evaluation))
        paths = self.outputs.paths
        lines += [f"{role}: {path}" for role, path in paths.items() if path != STDOUT]
        return "\n".join(lines)


def _restore_integers(column: Column) -> Column:
    """Turn whole numbers back into the integers that identifiers and codes were in the file."""
    whole = np.isfinite(column).all() and bool((np.rint(column) == column).all())
    return column.astype(np.int64) if whole else column


def draw_embedding(model: Reducer, Y: NDArray[np.floating], table: Table) -> Axes | Panels:
    """Draw a scatter plot with the file's name, labels, identifiers and images."""
    from .. import plot
    from ..plot.embeddings import MAX_NAMED_POINTS

    is_flat = Y.shape[1] == 2
    images = table.thumbnails if is_flat else None
    few = is_flat and images is None and len(Y) <= MAX_NAMED_POINTS
    method = type(getattr(model, "method_", model)).__name__
    return plot.scatter(
        Y,
        table.labels,
        images=images,
        text=list(map(str, table.ids)) if few and table.ids is not None else None,
        title=f"{method} of {Path(str(table.source)).name}",
        legend=table.label_name,
        model=model,
    )


def get_pointwise_trust(evaluation: Evaluation | None, n: int) -> dict[str, Column]:
    """Return the quality of each point as columns; rows that were not sampled have NaN."""
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
