"""Commands other than the methods: each takes the typed arguments and returns a `Result`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import DataError, MissingColumnError
from ..io.options import name_missing_features
from ..io.preparation import Preparation
from ..io.table import Column
from ..methods import find_class_name, get_advice, get_summary
from .console import Console, format_table
from .files import Outputs
from .fitting import write_embedding
from .flags import METHOD_COMMANDS
from .options import Arguments, is_streamed
from .preparing import prepare_file
from .reading import (
    choose_metric,
    find_coordinates,
    get_classes,
    get_read_options,
    match_rows,
    read,
    set_metric,
)
from .registry import Result

if TYPE_CHECKING:
    from ..evidence.compare import Comparison
    from ..evidence.dimension import Dimensions
    from ..reducer import Reducer

MAX_SCALED_AXES = 50  # by classical scaling, of distances whose dimension is asked for
LOW_CONFIDENCE = 0.05  # One in twenty rows with this confidence is mapped correctly.


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
        doubtful = int((columns["confidence"] < LOW_CONFIDENCE).sum())
        document["doubtful_rows"] = doubtful
        text += (
            f"\n{doubtful} of them are unlike the training rows or mapped badly "
            f"(confidence below {LOW_CONFIDENCE})"
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

        n_axes = min(len(prepared.table) - 1, MAX_SCALED_AXES)
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
