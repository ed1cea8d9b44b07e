"""Read the data of a command, and prepare new points in the same way as the training points."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..errors import DataError, ParameterError, UnsupportedError
from ..io.options import match_columns
from ..io.table import Column, Table
from ..methods import METHODS
from .console import Console, format_table
from .options import Arguments, Result

if TYPE_CHECKING:
    from ..reducer import Reducer
    from .running import Outputs

MAX_SHOWN_COLUMNS = 60  # A longer list of columns fills several screens.


def read(arguments: Arguments, console: Console, path: str | None = None, **more: Any) -> Table:
    """Read a file (see `lowd.io.read`), and say first how it was read."""
    from .. import io

    is_data = path is None
    path = arguments["data"] if path is None else path
    progress.report(f"read {path}", 0, 1)
    table = io.read(path, **(get_read_options(arguments) | more))
    progress.report(f"read {path}", 1, 1)
    console.describe(*table.describe())
    if is_data:
        console.columns = table.columns
        console.reading = None if table.reading is None else table.reading.to_dict()
    return table


def show(arguments: Arguments, console: Console, _: Outputs) -> Result:
    """`lowd read FILE`: each column with its kind, its role, why, and the flag that changes it."""
    table = read(arguments, console, missing=arguments.get("missing") or "keep")
    if table.reading is None:
        return Result({"source": table.source, "kind": table.kind, "n_samples": len(table)}, "")
    columns = table.reading.columns[:MAX_SHOWN_COLUMNS]
    rows = []
    for c in columns:
        why = c.why + (f"; {c.missing:,} missing" if c.missing else "")
        rows.append((c.name, ", ".join(e[:12] for e in c.examples), c.kind, c.role, why, c.flag))
    text = format_table(("column", "holds", "kind", "role", "why", "to change it"), rows)
    if more := len(table.reading.columns) - len(columns):
        text += f"\nand {more:,} more columns (--json lists them)"
    if table.reading.trouble:
        text += f"\nNo map: {console.word(table.reading.trouble)}"
    return Result({"source": table.source, "n_samples": len(table)}, text)


def get_read_options(arguments: Arguments) -> Arguments:
    """The typed keywords of `lowd.io.read`."""
    unchanged = (
        *("columns", "drop", "label", "id", "keep", "vector", "format", "skip", "decimal"),
        *("missing", "every", "delimiter", "encoding", "header", "distances", "array", "gower"),
    )
    options = {name: arguments.get(name) for name in unchanged}
    switches = ("encode", "dates")
    options |= {name: arguments.get(name) or None for name in switches}
    if kinds := arguments.get("kind"):
        pairs = [pair.rpartition("=") for given in kinds for pair in given.split(",")]
        options["kind"] = {name: kind for name, _, kind in pairs}
    if (size := arguments.get("size")) is not None:
        try:
            width, height = (int(part) for part in size.lower().split("x"))
        except ValueError:
            raise ParameterError(f"--size {size!r}: expected WIDTHxHEIGHT, as 64x64.") from None
        options["size"] = width, height
    return {name: value for name, value in options.items() if value is not None}


def get_steps(arguments: Arguments) -> Arguments:
    """The typed steps of a pipeline, including those that were switched off."""
    names = {"scale": "standardize", "normalize": "normalize", "log1p": "log1p"}
    typed = {step: arguments.get(flag) for step, flag in names.items()}
    typed |= {"correct_shrinkage": arguments.get("correct_shrinkage") or None}
    typed |= {"impute": "mean" if arguments.get("missing") == "mean" else None}
    steps = {step: value for step, value in typed.items() if value is not None}
    if (count := arguments.get("pca")) is not None:
        if count.lower() != "none" and not (count.isdecimal() and int(count)):
            raise ParameterError(f"--pca {count}: expected a number of components, or none.")
        steps["pca"] = None if count.lower() == "none" else int(count)
    return steps


def set_metric(model: Reducer, table: Table) -> Reducer:
    """Set the metric that the table needs: precomputed distances, or Gower's."""
    metric = choose_metric(table)
    if metric == "euclidean" or "method" in model.get_params(deep=False):
        return model
    mixed = table.kind == "table"
    if "metric" not in model.get_params():
        raise UnsupportedError(
            f"{type(model).__name__} takes rows, and {table.source} holds {table.kind}; take a "
            "method of distances: classical-mds, mds, nonmetric-mds, isomap, tsne"
            + (
                "; or encode words (--encode), or keep words beside the rows (--no-gower)."
                if mixed
                else "."
            )
        )
    changed: Reducer = model.set_params(metric=metric)
    return changed


def choose_metric(table: Table) -> str:
    """The metric that a kind of file needs."""
    kinds = {"distances": "precomputed", "strings": "precomputed", "table": "gower"}
    return kinds.get(table.kind, "euclidean")


def get_classes(table: Table) -> Column | None:
    """The labels if they are classes, because class measures cannot use other numbers."""
    from ..plot.canvas import is_continuous

    if table.labels is None:
        return None
    # Up to 20 whole numbers are classes; a plot shows fewer as classes rather than values.
    is_value = is_continuous(np.asarray(table.labels), 20, table.label_name)
    few = len(set(np.asarray(table.labels).tolist())) < 2  # one class tells nothing apart
    return None if is_value or few else table.labels


def match_rows(table: Table, embedding: Table) -> NDArray[np.intp] | slice:
    """The embedding's row for each row of the data, matched by identifier where both have one."""
    if table.ids is None or embedding.ids is None:
        return slice(None)
    row_of_id = {str(name): number for number, name in enumerate(embedding.ids)}
    names = [str(name) for name in table.ids]
    if len(row_of_id) != len(names):
        return slice(None)
    missing = [name for name in names if name not in row_of_id]
    if missing:
        raise DataError(f"{embedding.source}: there is no row for the identifier {missing[0]!r}.")
    return np.array([row_of_id[name] for name in names])


def find_coordinates(table: Table, named: str | None = None) -> dict[str, list[int]]:
    """Find the embeddings in a table: name -> the numbers of its columns.

    Those that are named; else columns as `tsne0` and `tsne1`, or x and y; else all of a table of
    up to three columns of numbers.
    """
    columns = [str(name) for name in table.columns or ()]
    if named:
        wanted = match_columns(named, columns, str(table.source), "coordinates")
        return {"embedding": [columns.index(name) for name in wanted]}
    stems = {name.lower() for name in METHODS} | {"columns", "dim", "component"}
    groups: dict[str, list[int]] = {}
    for number, name in enumerate(columns):
        stem = re.fullmatch(r"(.*?)[ _-]?\d+", name.lower())
        if stem and re.sub(r"[\W_]", "", stem[1]) in stems:
            groups.setdefault(stem[1], []).append(number)
    if groups:
        return groups
    lower = [name.lower() for name in columns]
    if {"x", "y"} <= set(lower):
        return {"embedding": [lower.index(name) for name in "xyz" if name in lower]}
    if table.kind == "rows" and 0 < len(columns) <= 3:
        return {"embedding": list(range(len(columns)))}
    return {}
