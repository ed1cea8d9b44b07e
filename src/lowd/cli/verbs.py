"""The commands that are no method: each takes what was typed and returns document and text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..errors import ColumnTypeError, DataError
from .fields import COMMANDS, advice, class_name, summary
from .files import Outputs
from .fitting import Answer, Run, write_map
from .reading import classes_of, metric_of, options_of, prepare, prepared_of, read
from .talk import Talk, table


def transform(given: dict[str, Any], talk: Talk, outputs: Outputs) -> Answer:
    """`lowd transform new --model FILE`."""
    from ..store import load

    model = load(given["model"])
    prepared = prepared_of(model)
    rows = read(given, talk, **(prepared.options() | options_of(given)))
    Q = prepared(rows)
    more = {}
    if given["confidence"]:
        Y, more["confidence"] = model.transform(Q, return_confidence=True)
    else:
        Y = model.transform(Q)
    Y = np.asarray(Y)
    write_map(outputs, rows, Y, list(model.get_feature_names_out()), more)
    document: dict[str, Any] = {
        "method": type(model).__name__,
        "n_samples": len(Y),
        "n_components": Y.shape[1],
        "files": dict(outputs.paths),
    }
    text = f"{len(Y)} rows placed by {type(model).__name__}: {outputs.paths['output']}"
    if more:
        doubtful = int((more["confidence"] < 0.05).sum())
        document["doubtful_rows"] = doubtful
        text += f"\n{doubtful} of them lie far from all training rows (confidence below 0.05)"
    return document, text


def diagnose(given: dict[str, Any], talk: Talk, outputs: Outputs) -> Answer:
    """`lowd diagnose data`."""
    try:
        run = Run.begun(given, talk, outputs)
    except ColumnTypeError as error:  # text is a finding here, and no obstacle
        talk.note(str(error))
        run = Run.begun({**given, "gower": True}, talk, outputs)
    found = run.diagnosis
    return found.to_dict(), repr(found)


def evaluate(given: dict[str, Any], talk: Talk, _: Outputs) -> Answer:
    """`lowd evaluate data map`."""
    from ..evidence.quality import evaluate

    rows = read(given, talk)
    X, _prepared = prepare(rows, given)
    places = read({}, talk, given["map"])
    Y = coordinates(places)
    if len(Y) != X.shape[0]:
        raise DataError(
            f"{given['map']} has {len(Y)} rows and {given['data']} has {X.shape[0]}; "
            "a map has one row for each row of the data."
        )
    Y = Y[_order(rows, places)]
    made = evaluate(
        X,
        Y,
        labels=classes_of(rows if rows.labels is not None else places),
        metric=given["metric"] or metric_of(rows),
        n_neighbors=given["n_neighbors"],
        random_state=given["seed"],
    )
    return made.to_dict(), repr(made)


def coordinates(places: Any) -> Any:
    """The columns of a map file that are coordinates: `isomap0`, `isomap1`; else all numbers."""
    names = list(places.columns or ())
    stems = {class_name(word).lower() for word in COMMANDS}
    chosen = [
        number
        for number, name in enumerate(names)
        if (found := re.fullmatch(r"(.*?)\d+", str(name))) and found[1] in stems
    ]
    return places.X[:, chosen] if chosen else places.X


def _order(rows: Any, places: Any) -> Any:
    """The map's row for each row of the data: by identifier where both have one."""
    if rows.ids is None or places.ids is None:
        return slice(None)
    found = {str(name): number for number, name in enumerate(places.ids)}
    names = [str(name) for name in rows.ids]
    if len(found) != len(names):
        return slice(None)
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(f"{places.source}: the map has no row for the identifier {missing[0]!r}.")
    return np.array([found[name] for name in names])


def compare(given: dict[str, Any], talk: Talk, outputs: Outputs) -> Answer:
    """`lowd compare data --methods pca,isomap`."""
    from ..evidence.compare import compare

    options: dict[str, Any] = {}
    if given["methods"]:
        options["methods"] = tuple(class_name(word) for word in given["methods"].split(","))
    rows = read(given, talk)
    X, _ = prepare(rows, given)
    made = compare(
        X,
        labels=classes_of(rows),
        metric=metric_of(rows),
        n_neighbors=given["n_neighbors"],
        random_state=given["seed"],
        **options,
    )
    if "plot" in outputs:
        from .. import plot

        plot.save(made.plot(), outputs.part("plot"))
    return made.to_dict(), repr(made)


def dimension(given: dict[str, Any], talk: Talk, outputs: Outputs) -> Answer:
    """`lowd dimension data`."""
    from ..evidence.dimension import dimension

    X, _ = prepare(read(given, talk), given)
    made = dimension(X, random_state=given["seed"])
    if "plot" in outputs:
        from .. import plot

        plot.save(made.plot(), outputs.part("plot"))
    return made.to_dict(), repr(made)


def methods(_given: dict[str, Any], _talk: Talk, _: Outputs) -> Answer:
    """`lowd methods`: what there is, when to use it, what it costs."""
    rows = [
        {
            "command": word,
            "method": name,
            "summary": summary(name),
            "use": advice(name)[0],
            "cost": advice(name)[1],
        }
        for word, name in COMMANDS.items()
    ]
    header = ("command", "when to use it", "cost")
    lines = [(row["command"], f"{row['summary']} {row['use']}", row["cost"]) for row in rows]
    return {"methods": rows}, table(header, lines)


def info(given: dict[str, Any], _talk: Talk, _: Outputs) -> Answer:
    """`lowd info model.lowd`."""
    from ..store import load

    model = load(given["model"])
    learned = {
        name: _described(value)
        for name, value in sorted(vars(model).items())
        if name.endswith("_") and name not in ("map_", "inverse_", "prepared_")
    }
    prepared = prepared_of(model)
    document = {
        "method": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "n_samples": getattr(model, "n_samples_", None),
        "n_features": getattr(model, "n_features_in_", None),
        "n_components": len(model.get_feature_names_out()),
        "input": prepared.kind,
        "columns": list(prepared.columns),
        "standardized": prepared.mean is not None,
        "learned": learned,
    }
    lines = [(name, str(value)) for name, value in document.items() if name not in _LONG]
    lines += [(f"  {name}", str(value)) for name, value in document["parameters"].items()]
    lines += [(f"  {name}", str(value)) for name, value in learned.items()]
    return document, table(("what", "value"), lines, wide=False)


_LONG = ("parameters", "learned", "columns")


def _described(value: Any) -> Any:
    """Small values as they are, large ones by their shape."""
    if isinstance(value, bool | int | float | str | np.generic | None):
        return value
    if isinstance(value, np.ndarray) and value.size <= 4:
        return value.tolist()
    shape = getattr(value, "shape", None)
    return f"{' × '.join(map(str, shape))} {value.dtype}" if shape else type(value).__name__


def demo(given: dict[str, Any], talk: Talk, _: Outputs) -> Answer:
    """`lowd demo NAME`: a classic demonstration; without a name, the list of them."""
    from .. import demos

    if not given["name"]:
        rows = list(demos.DEMOS.items())
        return {"demos": dict(rows)}, table(("demo", "what it shows"), rows)
    folder = given["output"] or f"lowd-{given['name']}"
    talk.say(f"the pictures go to {folder}")
    made = demos.run(given["name"], folder, given["data"], force=given["force"])
    return made.to_dict(), str(made)
