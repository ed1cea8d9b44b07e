"""From columns to a matrix: which columns are features, and what the others are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import ColumnTypeError, DataError, FileFormatError
from . import frames
from .gaps import without_gaps
from .options import Options, counted, matching, one, quoted
from .roles import Roles, feature_kind, plain, recognizable
from .source import Source, fits, require
from .table import Kind, Table
from .vectors import stacked

_MOST_EXTRA = 64  # further columns kept for coloring a map
_MOST_LEVELS = 1000  # 0/1 columns that one column of text may become
WAYS = (
    "Read fewer columns (columns=...) or each tenth row (every=10), or read it in blocks by dask "
    "(dask.dataframe, to_dask_array), which every method maps and PCA and the random projections "
    "fit."
)


class Grid(NamedTuple):
    """A frame as it was read; `place` says in words where a row is in the file.

    Columns that are numbers and nothing else may stay in the file: `later` reads those of the
    names in `numeric` as a matrix, so that they never exist twice.
    """

    frame: Any
    name: str
    place: Callable[[int], str]
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # of all columns in their order, if not of the frame alone
    numeric: tuple[str, ...] = ()
    later: Callable[[list[str]], NDArray[Any]] | None = None


def affordable(
    source: Source,
    names: Sequence[str],
    options: Options,
    cells: Callable[[list[str]], int],
    parts: int = 1,
) -> tuple[list[str], list[str]]:
    """The columns to read at all, and those whose integers must stay integers.

    `cells` counts the numbers of columns, which are read in so many `parts`. Columns that were not
    asked for are left alone where memory is short.
    """
    chosen, exact = projection(names, options, source.name)
    if options.columns is not None and not fits(8 * cells(chosen) * (parts + 1) // parts):
        chosen, exact = projection(names, options, source.name, extra=0)
    need = 8 * cells(chosen)
    require(source, {"columns": need // parts, "matrix": need}, WAYS)
    return chosen, exact


def projection(
    names: Sequence[str], options: Options, where: str, extra: int = _MOST_EXTRA
) -> tuple[list[str], list[str]]:
    explicit = [name for name in (options.id, options.label, options.vector) if name is not None]
    for name, what in ((options.id, "id"), (options.label, "label"), (options.vector, "vector")):
        if name is not None:
            one(name, names, where, what)
    for name in options.levels:
        one(name, names, where, "encode")
    exact = [*explicit, *options.levels, *(name for name in names if recognizable(name))]
    if options.columns is None and options.drop is None:
        return list(names), exact
    drop = set(matching(options.drop, names, where, "drop")) - set(explicit)
    kept = [name for name in names if name not in drop]
    if options.columns is None:
        return kept, exact
    wanted = {*matching(options.columns, names, where, "columns"), *exact}
    others = [name for name in kept if name not in wanted][:extra]
    wanted |= set(others)
    return [name for name in kept if name in wanted], exact


def arrange(grid: Grid, options: Options) -> Table:
    """Features become X; identifiers, labels and other columns stay beside it."""
    if not len(grid.frame) and not grid.numeric:
        raise FileFormatError(f"{grid.name} holds no rows.")
    roles = Roles.of(grid.frame, options, grid.name, grid.names)
    notes = [*grid.notes, *roles.notes]
    frame, kept = grid.frame, None
    levels: dict[str, Sequence[str]] = {}
    kind: Kind = "table" if options.gower and roles.vector is None else "rows"
    if roles.vector is not None:
        X = stacked(frame[roles.vector], grid.name, grid.place)
        columns = tuple(f"{roles.vector}{j}" for j in range(X.shape[1]))
    elif options.gower:
        X, columns = _mixed(frames.picked(frame, roles.features)), tuple(roles.features)
    else:
        here = [name for name in roles.features if name in frame.columns]
        numbers, text = _numbers(grid, here, options.levels, notes)
        if options.encode is not True and (other := [n for n in text if n not in options.levels]):
            _refuse_text(grid.name, other, roles.label is None)
        X, columns = _matrix(grid, roles.features, numbers, text)
        for name in text:
            levels[name] = options.levels.get(name) or _levels(frame[name], grid.name)
            X = _encoded(X, frame[name], levels[name], notes)
            columns += tuple(f"{name}={level}" for level in levels[name])
            notes.append(f"Column {name!r} became {len(levels[name])} columns of 0 and 1.")
    if kind == "rows":
        X, kept = without_gaps(X, columns, grid.name, grid.place, options.missing, notes)
    if kept is not None:
        frame = frame[kept]
    return Table(
        X,
        kind,
        columns,
        None if roles.id is None else plain(frame[roles.id]),
        None if roles.label is None else plain(frame[roles.label]),
        {name: plain(frame[name]) for name in roles.extra},
        source=grid.name,
        notes=tuple(notes),
        id_name=roles.id or "id",
        label_name=roles.label or "label",
        levels=levels,
    )


def _numbers(
    grid: Grid, features: list[str], levels: Mapping[str, Any], notes: list[str]
) -> tuple[Any, list[str]]:
    """The numeric features as a frame, and the names of those that hold text or are to."""
    frame, text, empty, mended = grid.frame, [], [], {}
    for name in features:
        column = frame[name]
        kind = feature_kind(column.dtype)
        if name in levels:
            text.append(name)
        elif column.null_count() == len(column):
            empty.append(name)
        elif kind == "text":
            numbers = _as_numbers(grid, name)
            if numbers is None:
                text.append(name)
            else:
                mended[name] = numbers
        elif kind != "number":
            _refuse_kind(grid.name, name, column.dtype, kind)
    if empty:
        notes.append(f"Columns {quoted(empty)} are empty and were left out.")
    names = [name for name in features if name not in {*text, *empty}]
    chosen = frames.picked(frame, names)
    return (chosen.with_columns(**mended) if mended else chosen), text


def _mixed(frame: Any) -> Any:
    """A table whose columns of text hold text; missing values are Gower's business."""
    texts = [c for c in frame.iter_columns() if feature_kind(c.dtype) == "text"]
    numbers = {c.name: c.cast(str).str.strip_chars().cast(float, strict=False) for c in texts}
    held = {c.name: c for c in texts}
    good = {n: c for n, c in numbers.items() if c.null_count() == held[n].null_count() < len(c)}
    return frame.with_columns(**good) if good else frame


def _as_numbers(grid: Grid, name: str) -> Any | None:
    """A column of text that holds numbers: with one bad entry it is an error, not a category."""
    column = grid.frame[name].cast(str).str.strip_chars()
    numbers = column.cast(float, strict=False)
    bad = numbers.is_null() & column.is_not_null() & ~column.is_in(frames.NOTHING)
    count = int(bad.sum())
    filled = len(column) - int(column.null_count())
    if count == 0:
        return numbers
    if count > filled // 2:
        return None
    row = int(bad.arg_max())
    raise ColumnTypeError(
        f"{grid.name}, {grid.place(row)}, column {name!r}: {column[row]!r} is not a number"
        + (f", nor are {count - 1} other entries of the column" if count > 1 else "")
        + f"; correct it, or leave the column out (drop={name!r})."
    )


def _refuse_text(where: str, text: list[str], unlabeled: bool) -> NoReturn:
    shown = text[0] if len(text) == 1 else text[:8]
    way = f" If one of them is the class of each row, say label={text[0]!r}." if unlabeled else ""
    raise ColumnTypeError(
        f"{where}: {'columns' if text[1:] else 'column'} {quoted(text)} hold{'s' * (not text[1:])} "
        f"text or categories. Three ways on: drop (drop={shown!r}), encode as columns of 0 and 1 "
        "(encode=True), or keep them and use Gower's distance (gower=True, with a method's "
        f"metric='gower').{way}"
    )


def _refuse_kind(where: str, name: str, dtype: Any, kind: str) -> NoReturn:
    way = f"use it alone by vector={name!r}" if kind == "list" else f"drop={name!r}"
    raise ColumnTypeError(f"{where}: column {name!r} holds {dtype}, which is no number; {way}.")


def _matrix(
    grid: Grid, features: list[str], numbers: Any, text: list[str]
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The numeric features and their names, in the order of the file."""
    later = [name for name in features if name in set(grid.numeric)]
    columns = tuple(name for name in features if name in {*later, *numbers.columns})
    if not columns and not text:
        raise DataError(
            f"{grid.name}: no numeric column is left; see columns=, drop=, id= and label=."
        )
    read = grid.later(later) if grid.later is not None and later else None
    if not numbers.width:
        return (np.empty((len(grid.frame), 0)) if read is None else read), columns
    here = frames.matrix(numbers)
    if read is None:
        return here, columns
    X = np.empty((len(read), len(columns)), np.result_type(read, here))
    X[:, [columns.index(name) for name in later]] = read
    X[:, [columns.index(name) for name in numbers.columns]] = here
    return X, columns


def _levels(column: Any, where: str) -> list[str]:
    """The different values of a column of text."""
    levels = [str(level) for level in np.unique(_texts(column)) if level != ""]
    if len(levels) > _MOST_LEVELS:
        raise ColumnTypeError(
            f"{where}: column {column.name!r} has {len(levels)} different values, too many for "
            f"columns of 0 and 1; drop={column.name!r}."
        )
    return levels


def _encoded(X: NDArray[Any], column: Any, levels: Sequence[str], notes: list[str]) -> NDArray[Any]:
    """X with a column of 0 and 1 for each level; a missing or unknown value is 0 in all of them."""
    values = _texts(column)
    onehot = values[:, None] == np.array(levels, np.str_)
    strange = np.flatnonzero(~onehot.any(1) & (values != ""))
    if len(strange):
        found = quoted(dict.fromkeys(values[strange].tolist()), 3)
        notes.append(
            f"Column {column.name!r}: {counted(len(strange), 'row')} with values that were not "
            f"there before, {found}; they count as missing."
        )
    onehot = onehot.astype(X.dtype if X.shape[1] else np.float64)
    return np.hstack([X if X.shape[1] else np.empty((len(values), 0)), onehot])


def _texts(column: Any) -> NDArray[np.str_]:
    return plain(column.cast(str))
