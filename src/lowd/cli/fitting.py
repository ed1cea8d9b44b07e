"""The command of each method, `lowd map`, which chooses one, and `lowd diagnose`."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from ..methods import COMMANDS, find_class_name
from .console import Console
from .files import STDOUT, Outputs
from .flags import build_model
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
    from ..evidence.diagnosis import Diagnosis
    from ..evidence.quality import Evaluation
    from ..plot.canvas import Axes, Panels
    from ..reducer import Reducer


MAX_CALIBRATED_ROWS = 5000  # For more rows a second fit would take noticeable time.


def fit(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd METHOD data`."""
    # Find a wrong flag before reading a large file.
    model, steps = build_model(arguments["method"], arguments), get_steps(arguments)
    if is_streamed(arguments):
        from .streaming import fit_blocks

        word = COMMANDS[arguments["method"]]
        return fit_blocks(_add_steps(model, steps), arguments, console, word)
    _refuse_sample(arguments)
    table, X, preparation = _read_rows(arguments, console)
    check_steps(table, steps)
    model = _add_steps(model, steps)
    return _embed(model, table, X, preparation, arguments, console, outputs)


def choose(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd map data`: diagnose, act on the findings, choose the best method, and say why."""
    if arguments["method"] is not None:
        return fit({**arguments, "method": find_class_name(arguments["method"])}, console, outputs)
    if is_streamed(arguments):
        raise ParameterError("--memory and --cluster need the name of a method: -m pca.")
    _refuse_sample(arguments)
    table, X, preparation = _read_unasked(arguments, console)
    found = _diagnose(table, X, preparation, arguments)
    for finding in found.findings:
        if finding.action is None and finding.severity in ("error", "warning"):
            console.note(str(finding))
    console.note(*_explain_actions(found, X, preparation.columns))
    if not found.recommendations:
        raise DataError(f"{table.source}: no method suits these data; see `lowd diagnose`.")
    best = found.recommendations[0]
    reason = console.word(best.reason)
    console.print(f"{best.method}: {reason}")
    model, steps = build_model(best.method, {**arguments, **best.params}), dict(best.steps)
    if dropped := set(steps.pop("drop", ())):
        kept = [j for j in range(X.shape[1]) if j not in dropped]
        table, X, preparation = _leave_out(sorted(dropped), kept, table, X, preparation)
        if isinstance(steps.get("log1p"), tuple):
            steps["log1p"] = tuple(kept.index(j) for j in steps["log1p"] if j in kept)
    model = _add_steps(model, steps)
    return _embed(model, table, X, preparation, arguments, console, outputs, reason, found)


def diagnose(arguments: Arguments, console: Console, _: Outputs) -> Result:
    """`lowd diagnose data`: missing values and text are findings here, not obstacles."""
    table, X, preparation = _read_unasked(arguments, console)
    found = _diagnose(table, X, preparation, arguments)
    lines = [repr(found)]
    if actions := _explain_actions(found, X, preparation.columns):
        lines += ["`lowd map` acts on it", *(f"  {line}" for line in actions)]
    return Result(found.to_dict(), console.word("\n".join(lines)))


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


def _read_rows(
    arguments: Arguments, console: Console, **more: Any
) -> tuple[Table, Data, Preparation]:
    """Read and prepare the data."""
    if arguments.get("missing") == "mean":  # a pipeline fills missing values, also in new rows
        more["missing"] = "keep"
    table = read(arguments, console, **more)
    return table, *prepare(table, get_read_options(arguments) | more)


def _read_unasked(arguments: Arguments, console: Console) -> tuple[Table, Data, Preparation]:
    """Read without refusing anything: missing values stay, and text is set aside.

    Files that hold only text are compared by Gower's distance.
    """
    more: Arguments = {}
    if arguments.get("missing") is None:
        more["missing"] = "keep"
    if not arguments.get("encode") and not arguments.get("gower"):
        more["text"] = "beside"
    try:
        table, X, preparation = _read_rows(arguments, console, **more)
    except ColumnTypeError as error:
        console.note(str(error))
        table, X, preparation = _read_rows({**arguments, "gower": True}, console)
    width = len(table.columns)
    # Tables of more columns hardly hold an outcome; their columns are alike.
    is_named = table.columns != name_columns(width) and 1 < width <= 100
    if table.labels is None and table.kind in ("rows", "table") and is_named:
        console.note(
            "No column was taken as the label: all of them count. If one is the class or an "
            "outcome of the rows, name it (label=...)."
        )
    return table, X, preparation


def _diagnose(table: Table, X: Data, preparation: Preparation, arguments: Arguments) -> Diagnosis:
    from ..evidence.diagnosis import diagnose

    columns = preparation.columns
    keep = arguments.get("keep") or ()
    wanted = match_columns(keep, columns, table.source, "keep") if keep else ()
    return diagnose(
        X,
        metric=choose_metric(table),
        columns=columns if isinstance(X, np.ndarray) and columns else None,
        steps=get_steps(arguments),
        keep=[columns.index(name) for name in wanted],
        random_state=arguments.get("seed"),
    )


def _explain_actions(found: Diagnosis, X: Data, columns: Sequence[str]) -> list[str]:
    """A line for each action: what is done, why, and the flags that undo it."""
    lines = []
    for finding in found.findings:
        if finding.action is None:
            continue
        flags = []
        for name, value in finding.action.params.items():
            if name == "drop":
                flags.append(f"--keep {shlex.quote(','.join(columns[j] for j in value))}")
            elif name == "impute":
                # Dropping rows is not an alternative where most rows have a missing value.
                complete = int(np.isfinite(X).all(1).sum())
                flags.append("--missing " + ("drop" if 2 * complete > len(X) else "error"))
            else:
                flags.append("--pca none" if name == "pca" else f"--no-{FLAGS[name]}")
        undoing = f"({' '.join(flags)} undoes it)"
        lines.append(f"{finding.action.description} {undoing}. {finding.sentence}")
    return lines


def _leave_out(
    dropped: list[int], kept: list[int], table: Table, X: Data, preparation: Preparation
) -> tuple[Table, Data, Preparation]:
    """Set columns aside: the first of them are written beside the embedding."""
    names, extra = preparation.columns, dict(table.extra)
    for j in dropped[:MAX_EXTRA_COLUMNS]:
        column = np.asarray(X[:, j])  # with identifiers and codes as whole as in the file
        is_whole = np.isfinite(column).all() and (np.rint(column) == column).all()
        extra[names[j]] = column.astype(np.int64) if is_whole else column
    columns, X = tuple(names[j] for j in kept), X[:, kept]
    table = replace(table, X=X, columns=columns, extra=extra)
    reading = {**preparation.reading, "columns": list(columns)}
    return table, X, replace(preparation, columns=columns, reading=reading)


def _embed(
    model: Reducer,
    table: Table,
    X: Data,
    preparation: Preparation,
    arguments: Arguments,
    console: Console,
    outputs: Outputs,
    reason: str | None = None,
    diagnosis: Diagnosis | None = None,
) -> Result:
    """Fit the model, evaluate the embedding, write the files."""
    from ..pipeline import Pipeline

    model = set_metric(model, table)
    if arguments.get("view"):
        from . import viewing

        viewing.check_packages()
    steps = model.get_steps() if isinstance(model, Pipeline) else {}
    reduced = not isinstance(X, np.ndarray) or "pca" in steps
    console.columns = () if reduced else preparation.columns
    start = time.perf_counter()
    Y = np.asarray(model.fit_transform(X))
    seconds = time.perf_counter() - start
    rows, method = X, model
    if isinstance(model, Pipeline):
        rows, method = model.prepare(X, training=True), model.method_
    evaluation = None
    if arguments["evaluate"]:
        evaluation = _evaluate(method, rows, Y, table, arguments.get("seed"), console)
    progress.report("write", 0, 1)
    names = list(model.get_feature_names_out())
    write_embedding(outputs, table, Y, names, _get_pointwise_trust(evaluation, len(Y)))
    if "model" in outputs:
        from ..store import save

        _calibrate(model, X, console)
        model.prepared_ = preparation.to_dict()
        save(model, outputs.temporary("model"))
    if "plot" in outputs:
        from .. import plot

        plot.save(_draw(model, Y, table), outputs.temporary("plot"))
    if "report" in outputs:
        from .. import report

        if diagnosis is None:
            diagnosis = _diagnose(table, X, preparation, arguments)
        stability = None
        with contextlib.suppress(DataError, ParameterError, UnsupportedError):  # too few rows
            stability = model.measure_stability(X)
        report.write(
            outputs.temporary("report"),
            model=model,
            X=X,
            embedding=Y,
            evaluation=evaluation,
            diagnosis=diagnosis,
            table=table,
            command=arguments["command"],
            reading=preparation.reading,
            stability=stability,
        )
    progress.report("write", 1, 1)
    name, (n, k), d = type(method).__name__, Y.shape, X.shape[1]
    document = {
        "method": name,
        "reason": reason,
        "steps": steps,
        "parameters": {n: v for n, v in method.get_params(deep=False).items() if n != "verbose"},
        "n_samples": n,
        "n_features": d,
        "n_components": k,
        "seconds": seconds,
        "seed": getattr(method, "seed_", None),
        "quality": evaluation.to_dict() if evaluation is not None else None,
        "files": dict(outputs.paths),
    }
    lines = [
        f"{name} ({COMMANDS[name]}): {n} rows of {d} columns in {k} dimensions, {seconds:.2g} s"
    ]
    if evaluation is not None:
        lines.append(str(evaluation))
    lines += [f"{role}: {path}" for role, path in outputs.paths.items() if path != STDOUT]
    result = Result(document, "\n".join(lines))
    if not arguments.get("view"):
        return result
    session = viewing.make_session(table, X, model, preparation, steps)
    session.add_panel(name, Y, model=model)
    return viewing.serve(session, arguments, result)


def _evaluate(
    model: Reducer,
    X: Data,
    Y: NDArray[np.floating],
    table: Table,
    seed: int | None,
    console: Console,
) -> Evaluation | None:
    """Measure the quality of the embedding; too few rows give none, without an error."""
    from ..evidence.quality import evaluate
    from ..evidence.quality.evaluation import scale_columns

    params = model.get_params(deep=False)
    try:
        found = evaluate(
            scale_columns(model, X),
            Y,
            labels=get_classes(table),
            metric=params.get("metric", "euclidean"),
            metric_params=params.get("metric_params"),
            n_neighbors=min(DEFAULT_N_NEIGHBORS, max(1, (len(Y) - 1) // 2)),
            random_state=seed,
            backend=model.backend,
            n_jobs=model.n_jobs,
        )
    except (DataError, ParameterError, UnsupportedError) as error:
        console.note(f"The embedding was not evaluated: {error}")
        return None
    return replace(found, notes=[console.word(note) for note in found.notes])


def _calibrate(model: Reducer, X: Data, console: Console) -> None:
    """Learn the confidence of new points from rows that an additional fit leaves out."""
    if X.shape[0] > MAX_CALIBRATED_ROWS:
        console.note(
            f"Confidence of new points is by a general curve, since there are more than "
            f"{MAX_CALIBRATED_ROWS} rows; in Python, model.calibrate_confidence(X) learns that "
            "of these data by one more fit."
        )
        return
    with contextlib.suppress(DataError, ParameterError, UnsupportedError):  # too few rows
        model.calibrate_confidence(X)


def _draw(model: Reducer, Y: NDArray[np.floating], table: Table) -> Axes | Panels:
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


def _get_pointwise_trust(evaluation: Evaluation | None, n: int) -> dict[str, Column]:
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
