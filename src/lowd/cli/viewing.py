"""`lowd view`, and `--view` of other commands: open the explorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..errors import DataError, ParameterError
from ..io.preparation import Preparation
from ..io.table import Data, Table
from ..methods import find_class_name
from ..pipeline import Pipeline
from .console import Console
from .options import PREPARING, Arguments, Result, build_model
from .preparing import Prepared, prepare_file, prepare_table, read_anything
from .reading import (
    choose_metric,
    find_coordinates,
    get_read_options,
    match_rows,
    read,
    set_metric,
)
from .running import Outputs

if TYPE_CHECKING:
    from ..explorer.session import Session
    from ..reducer import Reducer


def view(arguments: Arguments, console: Console, outputs: Outputs) -> Result:
    """`lowd view FILE`: an embedding, data to embed, or a saved model with data."""
    check_packages()
    if Path(arguments["file"]).suffix == ".lowd":
        session = view_model(arguments, console)
    else:
        session = view_table(arguments, console)
    if "html" in outputs:
        from ..explorer import Explorer

        Explorer(session).save(outputs.temporary("html"))
        files = dict(outputs.paths)
        text = f"{session.n} rows, {len(session.panels)} panels: {files['html']}"
        return Result({"n_samples": session.n, "files": files}, text)
    return serve(session, arguments)


def check_packages() -> None:
    """Raise now whatever would go wrong after the fit."""
    from ..explorer import server  # noqa: F401


def serve(session: Session, arguments: Arguments, result: Result | None = None) -> Result:
    """Start the explorer; the result shows the link, and then the command waits for Ctrl-C."""
    from ..explorer import Explorer

    explorer = Explorer(session)
    host = arguments.get("host") or "127.0.0.1"
    explorer.serve(host, arguments.get("port") or 0, arguments.get("token"))
    if arguments.get("browser", True):
        explorer.open_browser()
    document: dict[str, object] = {"n_samples": session.n, "panels": len(session.panels)}
    text = ""
    if result is not None:
        document, text = result.document, f"{result.text}\n"
    document = {**document, "url": explorer.url}
    return Result(document, f"{text}{explorer.url}\nCtrl-C ends the explorer.", explorer.wait)


def view_table(arguments: Arguments, console: Console) -> Session:
    """Show a file of coordinates, with or without the data, or data that are embedded first."""
    # Coordinates are features whatever they look like; other columns to keep are those of the data.
    keep = None if arguments["data"] else arguments["keep"]
    keep = arguments["coordinates"] or keep
    given = read_anything({**arguments, "data": arguments["file"], "keep": keep}, console)
    table = given[0]
    found: dict[str, list[int]] = {}
    if not arguments["methods"]:
        found = find_coordinates(table, arguments["coordinates"])
    if not found:
        if arguments["data"]:
            raise ParameterError(
                f"{arguments['file']} has no columns of coordinates; name them by --coordinates, "
                "or leave out --data."
            )
        return embed_table(prepare_table(*given, arguments, console), arguments)
    return view_map(table, found, arguments, console)


def view_map(
    table: Table, found: dict[str, list[int]], arguments: Arguments, console: Console
) -> Session:
    """The coordinates in a file; other columns of numbers are shown alongside."""
    from ..explorer.session import Session

    used = {number for numbers in found.values() for number in numbers}
    Y = np.asarray(table.X)
    beside = {
        str(name): Y[:, number]
        for number, name in enumerate(table.columns)
        if number not in used and str(name) not in table.extra
    }
    shown = replace(table, columns=(), extra={**table.extra, **beside}, kind="rows")
    title = Path(str(table.source)).name
    if arguments["data"] is None:
        session = Session(replace(shown, X=np.empty((len(table), 0))), title=title)
        rows: NDArray[np.intp] | slice = slice(None)
    else:
        flags = {option.name: arguments.get(option.name) for option in PREPARING}
        flags["keep"] = arguments["keep"]
        prepared = prepare_file({**flags, "data": arguments["data"]}, console)
        data = prepared.table
        if len(data) != len(table):
            raise DataError(
                f"{arguments['file']} has {len(table)} rows and {arguments['data']} has "
                f"{len(data)}; an embedding has one row for each row of the data."
            )
        rows = match_rows(data, table)
        extra = {name: np.asarray(column)[rows] for name, column in shown.extra.items()}
        merged = replace(
            data,
            labels=data.labels if table.labels is None else table.labels[rows],
            label_name=data.label_name if table.labels is None else table.label_name,
            ids=data.ids if table.ids is None else table.ids[rows],
            extra={**data.extra, **extra},
        )
        session = Session(
            merged,
            X=prepared.X,
            compared=prepared.compute_rows(),
            metric=arguments["metric"] or choose_metric(data),
            preparation=prepared.reading,
            steps=prepared.steps,
            title=title,
        )
    for name, numbers in found.items():
        axes = [str(table.columns[number]) for number in numbers]
        session.add_panel(name, Y[:, numbers][rows], axes=axes)
    return session


def embed_table(prepared: Prepared, arguments: Arguments) -> Session:
    """Fit methods to data, one panel each."""
    first = "pca" if choose_metric(prepared.table) == "euclidean" else "classical-mds"
    words = (arguments["methods"] or first).split(",")  # more can be run in the page
    names = [find_class_name(word.strip()) for word in words]
    models = [build_model(name, {"seed": arguments["seed"]}) for name in names]
    table, X, reading = prepared.table, prepared.X, prepared.reading
    return fit_session(table, X, reading, models, prepared.steps, arguments["metric"])


def fit_session(
    table: Table,
    X: Data,
    preparation: Preparation | None,
    models: Sequence[Reducer],
    steps: Arguments,
    metric: str | None = None,
) -> Session:
    """Make a session with one panel per fitted method."""
    fitted = []
    for number, method in enumerate(models):
        progress.report("methods", number, len(models))
        chosen = set_metric(method, table)
        if metric is not None and "metric" in chosen.get_params():
            chosen.set_params(metric=metric)
        model: Reducer = Pipeline(chosen, **steps) if steps else chosen
        fitted.append((type(method).__name__, model, np.asarray(model.fit_transform(X))))
    progress.report("methods", len(models), len(models))
    session = make_session(table, X, fitted[0][1], preparation, steps, metric)
    for name, model, Y in fitted:
        session.add_panel(name, Y, model=model)
    return session


def make_session(
    table: Table,
    X: Data,
    model: Reducer,
    preparation: Preparation | None,
    steps: Arguments,
    metric: str | None = None,
) -> Session:
    """Make a session without panels that compares rows by the model's distances."""
    from ..explorer.session import Session

    compared, method = X, model
    if isinstance(model, Pipeline):
        compared, method = model.prepare(X, training=True), model.method_
    own = getattr(method, "metric", "euclidean")
    params = getattr(method, "metric_params", None)
    return Session(
        table,
        X=X,
        compared=compared,
        metric=metric or own,
        metric_params=None if metric else params,
        steps=steps,
        preparation=preparation,
        title=Path(str(table.source)).name,
    )


def view_model(arguments: Arguments, console: Console) -> Session:
    """Show a saved model with the data that it was fitted on, or with others."""
    from ..store import load

    if arguments["data"] is None:
        raise ParameterError(f"{arguments['file']} is a model; name its data: --data FILE.")
    model = load(arguments["file"])
    preparation = Preparation.of_model(model)
    options = preparation.get_read_options() | get_read_options(arguments)
    if getattr(model, "impute", None) is not None:
        options["missing"] = "keep"
    table = read(arguments, console, arguments["data"], **options)
    X = preparation.apply(table)
    if isinstance(X, np.ndarray):
        table = replace(table, X=X, columns=preparation.columns or table.columns)
    steps = model.get_steps() if isinstance(model, Pipeline) else {}
    session = make_session(table, X, model, preparation, steps)
    Y = getattr(model, "embedding_", None)
    if Y is None or len(Y) != len(table):
        Y = model.transform(X)
    name = type(model.method_ if isinstance(model, Pipeline) else model).__name__
    session.add_panel(name, Y, model=model)
    return session
