"""The commands: each takes the typed arguments and returns a `Result`.

`lowd METHOD` and `lowd map`, which chooses one, stand first.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..errors import DataError, MissingColumnError, ParameterError, UnsupportedError
from ..io.options import name_missing_features
from ..io.preparation import Preparation
from ..io.table import Column, Data, Table
from ..methods import COMMANDS, find_class_name, get_advice, get_summary
from .console import Console, format_table
from .options import (
    DEFAULT_N_NEIGHBORS,
    METHOD_COMMANDS,
    Arguments,
    Result,
    build_model,
    is_streamed,
)
from .preparing import Prepared, prepare_file
from .reading import (
    choose_metric,
    find_coordinates,
    get_classes,
    get_read_options,
    get_steps,
    match_rows,
    read,
    set_metric,
)
from .running import STDOUT, Outputs

if TYPE_CHECKING:
    from ..evidence.compare import Comparison
    from ..evidence.dimension import Dimensions
    from ..evidence.quality import Evaluation
    from ..plot.canvas import Axes, Panels
    from ..reducer import Reducer


def fit(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd METHOD data`."""
    # Find a wrong flag before reading a large file.
    model, steps = build_model(arguments["method"], arguments), get_steps(arguments)
    if is_streamed(arguments):
        from ..pipeline import Pipeline
        from .streaming import fit_blocks

        word = COMMANDS[arguments["method"]]
        steps = {name: value for name, value in steps.items() if value}
        if steps:
            model = Pipeline(model, **steps, backend=model.backend, n_jobs=model.n_jobs)
        return fit_blocks(model, arguments, console, word)
    _refuse_sample(arguments)
    prepared = prepare_file(arguments, console, diagnosing="report" in outputs)
    return _embed(model, prepared, arguments, console, outputs)


def choose(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd map data`: diagnose, act on the findings, choose the method by measuring, say why."""
    if arguments["method"] is not None:
        return fit({**arguments, "method": find_class_name(arguments["method"])}, console, outputs)
    if is_streamed(arguments):
        raise ParameterError("--memory and --cluster need the name of a method: -m pca.")
    _refuse_sample(arguments)
    prepared = prepare_file(arguments, console, diagnosing=True)
    from ..evidence.diagnosis.result import format_duration

    found = prepared.diagnosis
    assert found is not None
    for finding in found.findings:
        said = finding.topic == "structure"  # by the choice of the method
        if finding.action is None and finding.severity in ("error", "warning") and not said:
            console.note(str(finding))
    if not found.recommendations:
        raise DataError(
            f"{prepared.table.source}: no method suits these data; see `lowd diagnose`."
        )
    best = found.recommendations[0]
    reason = console.word(best.reason)
    name = {"TSNE": "t-SNE", "Columns": "the columns themselves"}.get(best.method, best.method)
    console.print(f"Chosen: {name}. {reason}")
    for other in found.recommendations[1:]:
        if other.axes:
            first, second = other.axes
            console.print(f"Beside it, -m pca: its axes are ({first}) and ({second}).")
    cost = found.costs.get(best.method)
    if cost is not None and cost.seconds > 10:
        console.note(f"The fit of all rows takes about {format_duration(cost.seconds)}.")
    model = build_model(best.method, {**arguments, **best.params})
    return _embed(model, prepared, arguments, console, outputs, reason)


def diagnose(arguments: Arguments, console: Console, _: Outputs) -> Result:
    """`lowd diagnose data`: missing values and text are findings here, not obstacles."""
    prepared = prepare_file(arguments, console, diagnosing=True, quiet=True)
    found = prepared.diagnosis
    assert found is not None
    lines = [repr(found)]
    if prepared.actions:
        lines += ["`lowd map` acts on it", *(f"  {line}" for line in prepared.actions)]
    return Result(found.to_dict(), console.word("\n".join(lines)))


def _refuse_sample(arguments: Arguments) -> None:
    if arguments.get("sample") is not None:
        raise ParameterError("--sample is for rows in blocks: give --memory or --cluster as well.")


def _embed(
    model: Reducer,
    prepared: Prepared,
    arguments: Arguments,
    console: Console,
    outputs: Outputs,
    reason: str | None = None,
) -> Result:
    """Fit the model, evaluate the embedding, write the files."""
    from ..pipeline import Pipeline

    table, X, reading = prepared.table, prepared.X, prepared.reading
    if prepared.width == 1 and arguments.get("n_components") is None:  # Two are the default.
        model.set_params(**{"n_components": 1} if "n_components" in model.get_params() else {})
    model = prepared.wrap(set_metric(model, table))
    if arguments.get("view"):
        from . import viewing

        viewing.check_packages()
    steps = model.get_steps() if isinstance(model, Pipeline) else {}
    reduced = not isinstance(X, np.ndarray) or "pca" in steps
    console.columns = () if reduced else reading.columns
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
        model.prepared_ = reading.to_dict()
        save(model, outputs.temporary("model"))
    if "plot" in outputs:
        from .. import plot

        plot.save(_draw(model, Y, table, reading.columns), outputs.temporary("plot"))
    if "report" in outputs:
        from .. import report

        stability = None
        with contextlib.suppress(DataError, ParameterError, UnsupportedError):  # too few rows
            stability = model.measure_stability(X)
        report.write(
            outputs.temporary("report"),
            model=model,
            X=X,
            embedding=Y,
            evaluation=evaluation,
            diagnosis=prepared.diagnosis,
            table=table,
            command=arguments["command"],
            reading=reading.reading,
            stability=stability,
        )
    progress.report("write", 1, 1)
    name, (n, k), d = type(method).__name__, Y.shape, X.shape[1]
    chosen = prepared.diagnosis.recommendations if reason and prepared.diagnosis else None
    document = {
        "method": name,
        "reason": reason,
        "areas": {} if chosen is None else {one.method: one.area for one in chosen},
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
        f"{name}{f' ({COMMANDS[name]})' if name in COMMANDS else ''}: {n} rows of {d} columns in "
        f"{k} dimensions, {seconds:.2g} s"
    ]
    if evaluation is not None:
        lines.append(str(evaluation))
    lines += [f"{role}: {path}" for role, path in outputs.paths.items() if path != STDOUT]
    result = Result(document, "\n".join(lines))
    if not arguments.get("view"):
        return result
    session = viewing.make_session(table, X, model, reading, steps)
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


def _calibrate(model: Reducer, X: Data, console: Console, max_rows: int = 5000) -> None:
    """Learn the confidence of new points from rows that an additional fit leaves out.

    For more than `max_rows` rows this fit would take noticeable time.
    """
    if X.shape[0] > max_rows:
        console.note(
            f"Confidence of new points is by a general curve, since there are more than "
            f"{max_rows} rows; in Python, model.calibrate_confidence(X) learns that "
            "of these data by one more fit."
        )
        return
    with contextlib.suppress(DataError, ParameterError, UnsupportedError):  # too few rows
        model.calibrate_confidence(X)


def _draw(
    model: Reducer, Y: NDArray[np.floating], table: Table, columns: Sequence[str]
) -> Axes | Panels:
    """Draw a scatter plot with the file's name, labels, identifiers and images."""
    from .. import plot
    from ..plot.embeddings import MAX_NAMED_POINTS

    is_flat = Y.shape[1] == 2
    images = table.thumbnails if is_flat else None
    few = is_flat and images is None and len(Y) <= MAX_NAMED_POINTS
    method = type(getattr(model, "method_", model)).__name__
    drawn = plot.scatter(
        Y,
        table.labels,
        images=images,
        text=list(map(str, table.ids)) if few and table.ids is not None else None,
        title=f"{method} of {Path(str(table.source)).name}",
        legend=table.label_name,
        model=model,
    )
    if method == "Columns" and not isinstance(drawn, np.ndarray):
        for name, write in zip(columns, (drawn.set_xlabel, drawn.set_ylabel), strict=False):
            write(name)
    return drawn


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


def transform(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd transform new --model FILE`: embed new points."""
    if is_streamed(arguments):
        from .streaming import transform_blocks

        return transform_blocks(arguments)
    from ..store import load

    model = load(arguments["model"])
    preparation = Preparation.of_model(model)
    options = preparation.get_read_options() | get_read_options(arguments)
    # Fill gaps with values of the training rows, not of these.
    if getattr(model, "impute", None) is not None:
        options["missing"] = "keep"
    try:
        table = read(arguments, console, **options)
    except MissingColumnError as error:
        if arguments["columns"] or not error.names:
            raise
        raise name_missing_features(error, str(arguments["data"])) from None
    Q = preparation.apply(table)
    columns: dict[str, Column] = {}
    if arguments["confidence"]:
        Y, columns["confidence"] = model.transform(Q, return_confidence=True)
    else:
        Y = model.transform(Q)
    Y = np.asarray(Y)
    write_embedding(outputs, table, Y, list(model.get_feature_names_out()), columns)
    name = type(getattr(model, "method_", model)).__name__
    document: dict[str, object] = {
        "method": name,
        "n_samples": len(Y),
        "n_components": Y.shape[1],
        "files": dict(outputs.paths),
    }
    text = f"{len(Y)} rows embedded by {name}: {outputs.paths['output']}"
    if columns:
        low = 0.05  # One in twenty rows with this confidence is mapped correctly.
        doubtful = int((columns["confidence"] < low).sum())
        document["doubtful_rows"] = doubtful
        text += (
            f"\n{doubtful} of them are unlike the training rows or mapped badly "
            f"(confidence below {low})"
        )
    return Result(document, text)


def evaluate(arguments: Arguments, console: Console, _: Outputs) -> Result:
    """`lowd evaluate data embedding`."""
    from ..evidence.quality import evaluate

    prepared = prepare_file(arguments, console)
    table, X = prepared.table, prepared.compute_rows()
    embedding = read({}, console, arguments["map"], missing="keep")
    chosen = [number for group in find_coordinates(embedding).values() for number in group]
    Y = embedding.X[:, chosen] if chosen else embedding.X
    if len(Y) != X.shape[0]:
        raise DataError(
            f"{arguments['map']} has {len(Y)} rows and {arguments['data']} has {X.shape[0]}; "
            "an embedding has one row for each row of the data."
        )
    Y = Y[match_rows(table, embedding)]
    evaluation = evaluate(
        X,
        Y,
        labels=get_classes(table if table.labels is not None else embedding),
        metric=arguments["metric"] or choose_metric(table),
        n_neighbors=arguments["n_neighbors"],
        random_state=arguments["seed"],
    )
    return Result(evaluation.to_dict(), console.word(repr(evaluation)))


def compare(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd compare data --methods pca,isomap`."""
    from ..evidence.compare import compare

    options: Arguments = {}
    if arguments["methods"]:
        words = arguments["methods"].split(",")
        options["methods"] = tuple(find_class_name(word) for word in words)
    prepared = prepare_file(arguments, console)
    table = prepared.table
    comparison = compare(
        prepared.compute_rows(),
        labels=get_classes(table),
        metric=choose_metric(table),
        n_neighbors=arguments["n_neighbors"],
        random_state=arguments["seed"],
        **options,
    )
    result = _plot_result(comparison, outputs)
    return result._replace(text=console.word(result.text))


def dimension(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd dimension data`."""
    from ..evidence.dimension import dimension

    prepared = prepare_file(arguments, console)
    X, metric = prepared.compute_rows("pca", "correct_shrinkage"), choose_metric(prepared.table)
    if metric != "euclidean":
        from ..methods.classical_mds import ClassicalMDS

        n_axes = min(len(prepared.table) - 1, 50)
        scaling = set_metric(ClassicalMDS(n_axes), prepared.table)
        X = np.asarray(scaling.fit_transform(X))
        console.note(f"The dimension is that of {n_axes} axes by classical scaling of distances.")
    result = _plot_result(dimension(X, random_state=arguments["seed"]), outputs)
    return result._replace(text=console.word(result.text))


def _plot_result(result: Comparison | Dimensions, outputs: Outputs) -> Result:
    if "plot" in outputs:
        from .. import plot

        plot.save(result.plot(), outputs.temporary("plot"))
    return Result(result.to_dict(), repr(result))


def methods(_arguments: Arguments, _console: Console, _: Outputs) -> Result:
    """`lowd methods`: which methods there are, when to use them, what they cost."""
    rows = []
    for word, name in METHOD_COMMANDS.items():
        use, cost = get_advice(name)
        summary = get_summary(name)
        rows.append({"command": word, "method": name, "summary": summary, "use": use, "cost": cost})
    header = ("command", "when to use it", "cost")
    lines = [(row["command"], f"{row['summary']} {row['use']}", row["cost"]) for row in rows]
    return Result({"methods": rows}, format_table(header, lines))


def info(arguments: Arguments, _console: Console, _: Outputs) -> Result:
    """`lowd info model.lowd`."""
    from ..store import load

    model = load(arguments["model"])
    method: Reducer = model.method_ if hasattr(model, "method_") else model
    steps = model.get_steps() if method is not model else {}
    learned = {
        name: _summarize(value)
        for name, value in sorted({**vars(method), **vars(model)}.items())
        if name.endswith("_") and name != "prepared_"
    }
    preparation = Preparation.of_model(model)
    parameters = method.get_params(deep=False)
    short: dict[str, object] = {
        "method": type(method).__name__,
        "n_samples": getattr(model, "n_samples_", None),
        "n_features": getattr(model, "n_features_in_", None),
        "n_components": len(model.get_feature_names_out()),
        "input": preparation.kind,
        "standardized": "scale" in steps,
        "steps": steps,
    }
    lines = [(name, str(value)) for name, value in short.items()]
    lines += [(f"  {name}", str(value)) for name, value in (parameters | learned).items()]
    columns = list(preparation.columns)
    document = short | {"parameters": parameters, "columns": columns, "learned": learned}
    return Result(document, format_table(("what", "value"), lines))


def _summarize(value: object) -> object:
    """Show small values as they are, large ones by their shape."""
    if isinstance(value, bool | int | float | str | np.generic | None):
        return value
    if isinstance(value, np.ndarray) and value.size <= 4:
        return value.tolist()
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return f"{' × '.join(map(str, shape))} {dtype}" if shape else type(value).__name__
