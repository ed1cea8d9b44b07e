"""A file as every command takes it: read, and prepared as its columns ask for, in one way."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, UnsupportedError
from ..io.arrays import name_columns
from ..io.features import MAX_EXTRA_COLUMNS
from ..io.options import match_columns
from ..io.preparation import Preparation, prepare
from ..io.table import Data, Table
from .console import Console
from .options import FLAGS, Arguments
from .reading import choose_metric, get_read_options, get_steps, read

if TYPE_CHECKING:
    from ..evidence.diagnosis import Diagnosis, Finding
    from ..reducer import Reducer

MAX_COMPARED_ROWS = 10_000  # Distances between texts have no fast search.
# Metrics that columns in other units spoil; others compare angles, or which entries are equal.
LENGTHS = ("euclidean", "sqeuclidean", "manhattan", "chebyshev", "minkowski")


@dataclass(frozen=True)
class Prepared:
    """The rows of a file without the columns that are left out, and the steps before a method."""

    table: Table
    X: Data
    reading: Preparation  # how new rows are read
    steps: Arguments
    actions: Sequence[str] = ()  # what is done, why, and how it is undone
    diagnosis: Diagnosis | None = None

    @property
    def width(self) -> int:
        """How many columns a method gets; 0 where it gets no rows of numbers."""
        columns = self.X.shape[1] if self.table.kind not in ("distances", "strings", "table") else 0
        return int(self.steps.get("pca") or columns)

    def wrap(self, method: Reducer) -> Reducer:
        """The method, in a pipeline if there are steps before it."""
        from ..pipeline import Pipeline

        if not self.steps:
            return method
        return Pipeline(method, **self.steps, backend=method.backend, n_jobs=method.n_jobs)

    def compute_rows(self, *without: str) -> Data:
        """The rows after all steps, or after some, where no model is fitted that holds them."""
        from ..pipeline import Preparation as Steps

        steps = {name: value for name, value in self.steps.items() if name not in without}
        if not steps:
            return self.X
        dtype = np.float32 if self.X.dtype == np.float32 else np.float64
        return Steps.learn(self.X, **steps).apply(self.X, dtype, training=True)


def prepare_file(
    arguments: Arguments, console: Console, *, diagnosing: bool = False, quiet: bool = False
) -> Prepared:
    """Read a file and decide how its rows are prepared; with `diagnosing`, all else as well."""
    given = read_anything(arguments, console)
    return prepare_table(*given, arguments, console, diagnosing=diagnosing, quiet=quiet)


def prepare_table(
    table: Table,
    X: Data,
    reading: Preparation,
    arguments: Arguments,
    console: Console,
    *,
    diagnosing: bool = False,
    quiet: bool = False,
) -> Prepared:
    """The same for a file that was read."""
    from ..evidence.diagnosis import decide, diagnose

    chooses = diagnosing and arguments.get("method", "") is None and not quiet  # `lowd map`
    if chooses and table.reading is not None and table.reading.trouble:
        raise DataError(f"{table.source}: {table.reading.trouble}")
    width = len(table.columns)
    # Tables of more columns hardly hold an outcome; their columns are alike.
    is_named = table.columns != name_columns(width) and 1 < width <= 100
    if table.labels is None and table.kind in ("rows", "table") and is_named and not quiet:
        console.note(
            "No column was taken as the label: all of them count. If one is the class or an "
            "outcome of the rows, name it (label=...)."
        )
    typed, metric = get_steps(arguments), choose_metric(table)
    check_steps(table, typed)
    if metric != "euclidean" and not diagnosing:
        return Prepared(table, X, reading, {})
    if str(arguments.get("metric") or "euclidean") not in LENGTHS:
        typed = {"normalize": False, "log1p": False, "scale": False, "pca": None} | typed
    held = table.reading.columns if table.reading is not None else ()
    if {c.kind for c in held if c.role == "feature"} == {"latitude", "longitude"}:
        typed = {"log1p": False, "scale": False} | typed  # degrees, both of them
    names = reading.columns
    keep = arguments.get("keep") or ()
    wanted = match_columns(keep, names, table.source, "keep") if keep else ()
    options: dict[str, Any] = {
        "metric": metric,
        "columns": names if isinstance(X, np.ndarray) and names else None,
        "steps": typed,
        "keep": [names.index(name) for name in wanted],
        "recognized": table.reading is not None,
        "random_state": arguments.get("seed"),
    }
    diagnosis = diagnose(X, **options) if diagnosing else None
    found = decide(X, **options) if diagnosis is None else diagnosis
    actions = explain_actions(found.findings, X, names)
    steps = dict(found.steps) if metric == "euclidean" else {}
    if not quiet:
        console.note(*actions)
    if dropped := set(steps.pop("drop", ())):
        kept = [j for j in range(X.shape[1]) if j not in dropped]
        table, X, reading = _leave_out(sorted(dropped), kept, table, X, reading)
        if isinstance(steps.get("log1p"), tuple):
            steps["log1p"] = tuple(kept.index(j) for j in steps["log1p"] if j in kept)
    steps = {name: value for name, value in steps.items() if value}
    return Prepared(table, X, reading, steps, actions, diagnosis)


def read_anything(arguments: Arguments, console: Console) -> tuple[Table, Data, Preparation]:
    """Read without refusing missing values.

    Where words are compared by Gower's distance unasked, they are one-hot encoded if there are so
    many rows that distances of all pairs would take minutes.
    """
    more: Arguments = {}
    if arguments.get("missing") in (None, "mean"):  # The pipeline fills them, also in new rows.
        more["missing"] = "keep"
    table = read(arguments, console, **more)
    if table.kind == "table" and not arguments.get("gower") and len(table) > MAX_COMPARED_ROWS:
        console.note(
            f"Text is one-hot encoded (encode=True), since Gower's distances between {len(table)} "
            "rows take minutes (gower=True)."
        )
        arguments = {**arguments, "encode": True, "columns": list(table.columns)}
        table = read(arguments, console, **more)
    return table, *prepare(table, get_read_options(arguments) | more)


def check_steps(table: Table, steps: Arguments) -> None:
    """Raise if rows should be prepared but there are none."""
    if any(steps.values()) and (table.kind in ("distances", "strings", "table")):
        name = next(name for name, value in steps.items() if value)
        raise UnsupportedError(
            f"--{FLAGS[name]} needs a table of numbers; {table.source} holds {table.kind}."
        )


def explain_actions(findings: Sequence[Finding], X: Data, columns: Sequence[str]) -> list[str]:
    """A line for each action: what is done, why, and the flags that undo it."""
    lines = []
    for finding in findings:
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
