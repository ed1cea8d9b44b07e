"""The feature matrix of a frame: select numeric columns, encode text, set the others aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import ColumnTypeError, DataError, FileFormatError
from ..input.integers import MAX_EXACT_INTEGER, LargeInteger, list_large_integers
from . import frames
from .missing import handle_missing
from .options import (
    Options,
    check_column,
    describe_rounding,
    match_columns,
    pluralize,
    quote_names,
)
from .roles import Roles, get_column_kind, is_role_name, to_array
from .source import Source, fits_memory, require_memory
from .table import Column, Data, Kind, Table
from .vectors import stack_vectors

if TYPE_CHECKING:
    from .frames import DataType, Frame, Series

MAX_EXTRA_COLUMNS = 64  # Most columns kept in addition to the features, for coloring a plot.
# More levels are hardly categories, and would make a sparse matrix dense.
MAX_ONE_HOT_LEVELS = 1000
TABLE_REMEDY = (
    "Read fewer columns (columns=...) or each tenth row (every=10), or read it in blocks, "
    "which every method fits and transforms: lowd.open_blocks (Parquet, .npy), dask.dataframe."
)


class ReadFrame(NamedTuple):
    """A frame as it was read; `locate` describes where a row is in the file ("line 12").

    Columns that hold nothing but numbers may stay in the file: `read_numeric` reads those of the
    names in `numeric` as a matrix, so that they never are in memory twice, and says what it rounds.
    """

    frame: Frame
    name: str
    locate: Callable[[int], str]
    notes: tuple[str, ...] = ()
    # Names of all columns in order, if the frame does not hold them all.
    names: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    read_numeric: Callable[[list[str]], tuple[Column, list[LargeInteger]]] | None = None


def choose_columns(
    source: Source,
    names: Sequence[str],
    options: Options,
    cells: Callable[[list[str]], int],
    parts: int = 1,
) -> tuple[list[str], list[str]]:
    """The columns to read at all, and those whose integers must stay integers.

    `cells` counts the numbers of columns, which are read in so many `parts`. Columns that were not
    asked for are not read where memory is short.
    """
    chosen, exact = _project_columns(names, options, source.name)
    if options.columns is not None and not fits_memory(8 * cells(chosen) * (parts + 1) // parts):
        chosen, exact = _project_columns(names, options, source.name, extra=0)
    need = 8 * cells(chosen)
    require_memory(source, {"columns": need // parts, "matrix": need}, TABLE_REMEDY)
    return chosen, exact


def _project_columns(
    names: Sequence[str], options: Options, where: str, extra: int = MAX_EXTRA_COLUMNS
) -> tuple[list[str], list[str]]:
    explicit = [name for name in (options.id, options.label, options.vector) if name is not None]
    for name, what in ((options.id, "id"), (options.label, "label"), (options.vector, "vector")):
        if name is not None:
            check_column(name, names, where, what)
    for name in options.levels:
        check_column(name, names, where, "encode")
    exact = [*explicit, *options.levels, *(name for name in names if is_role_name(name))]
    if options.columns is None and options.drop is None:
        return list(names), exact
    drop = set(match_columns(options.drop, names, where, "drop")) - set(explicit)
    kept = [name for name in names if name not in drop]
    if options.columns is None:
        return kept, exact
    wanted = {*match_columns(options.columns, names, where, "columns"), *exact}
    others = [name for name in kept if name not in wanted][:extra]
    wanted |= set(others)
    return [name for name in kept if name in wanted], exact


def make_table(loaded: ReadFrame, options: Options) -> Table:
    """Turn a frame into a `Table`: features become X, other columns are kept as extras."""
    if not len(loaded.frame) and not loaded.numeric:
        raise FileFormatError(f"{loaded.name} holds no rows.")
    roles = Roles.find(loaded.frame, options, loaded.name, loaded.names)
    notes = [*loaded.notes, *roles.notes]
    frame, kept = loaded.frame, None
    levels: dict[str, Sequence[str]] = {}
    X: Data
    kind: Kind = "table" if options.gower and roles.vector is None else "rows"
    if roles.vector is not None:
        X = stack_vectors(frame[roles.vector], loaded.name, loaded.locate, notes)
        columns = tuple(f"{roles.vector}{j}" for j in range(X.shape[1]))
    elif options.gower:
        X, columns = (
            _parse_mixed(frames.select_columns(frame, roles.features).with_columns(**roles.dates)),
            tuple(roles.features),
        )
    else:
        here = [name for name in roles.features if name in frame.columns]
        days = {name: frames.to_days(dates) for name, dates in roles.dates.items()}
        if days:
            loaded = loaded._replace(frame=frame.with_columns(**days))
        numbers, text = _select_numeric(loaded, here, options.levels, notes)
        if options.encode is not True and (other := [n for n in text if n not in options.levels]):
            if options.text == "error" or len(other) == len(roles.features):
                _refuse_text(loaded.name, other, roles.label is None)
            hold = "holds" if len(other) == 1 else "hold"
            notes.append(
                f"Kept as extra columns, not features: {quote_names(other)}, which {hold} text (to "
                "use text: encode=True or gower=True)."
            )
            text = [name for name in text if name not in other]
            roles = roles._replace(
                features=[n for n in roles.features if n not in other], extra=[*roles.extra, *other]
            )
        X, columns = _make_matrix(loaded, roles.features, numbers, text, notes)
        for name in text:
            levels[name] = options.levels.get(name) or _find_levels(frame[name], loaded.name)
            X = _one_hot_encode(X, frame[name], levels[name], notes)
            columns += tuple(f"{name}={level}" for level in levels[name])
            notes.append(f"Column {name!r} was one-hot encoded as {len(levels[name])} columns.")
    if kind == "rows":
        X, kept = handle_missing(X, columns, loaded.name, loaded.locate, options.missing, notes)
    if kept is not None:
        frame = frame[kept]
    return Table(
        X,
        kind,
        columns,
        None if roles.id is None else to_array(frame[roles.id]),
        None if roles.label is None else to_array(frame[roles.label]),
        {name: to_array(frame[name]) for name in roles.extra},
        source=loaded.name,
        notes=tuple(notes),
        id_name=roles.id or "id",
        label_name=roles.label or "label",
        levels=levels,
    )


def _select_numeric(
    loaded: ReadFrame, features: list[str], levels: Mapping[str, Sequence[str]], notes: list[str]
) -> tuple[Frame, list[str]]:
    """The numeric features as a frame, and the names of the text columns to be encoded."""
    frame, text, empty, parsed = loaded.frame, [], [], {}
    for name in features:
        column = frame[name]
        kind = get_column_kind(column.dtype)
        if name in levels:
            text.append(name)
        elif column.null_count() == len(column):
            empty.append(name)
        elif kind == "text":
            numbers = _parse_numbers(loaded, name, notes)
            if numbers is None:
                text.append(name)
            else:
                parsed[name] = numbers
        elif kind != "number":
            _refuse_kind(loaded.name, name, column.dtype, kind)
    if empty:
        notes.append(f"Columns {quote_names(empty)} are empty and were left out.")
    names = [name for name in features if name not in {*text, *empty}]
    chosen = frames.select_columns(frame, names)
    return (chosen.with_columns(**parsed) if parsed else chosen), text


def _parse_mixed(frame: Frame) -> Frame:
    """Turn text columns that hold numbers into numbers; Gower's distance takes missing values."""
    texts = [c for c in frame.iter_columns() if get_column_kind(c.dtype) == "text"]
    numbers = {c.name: c.cast(str).str.strip_chars().cast(float, strict=False) for c in texts}
    gaps = {c.name: c.null_count() for c in texts}
    good = {n: c for n, c in numbers.items() if c.null_count() == gaps[n] < len(c)}
    return frame.with_columns(**good) if good else frame


def _parse_numbers(loaded: ReadFrame, name: str, notes: list[str]) -> Series | None:
    """Convert a text column that holds numbers: one bad entry is an error, not a category."""
    column = loaded.frame[name].cast(str).str.strip_chars()
    numbers = column.cast(float, strict=False)
    bad = numbers.is_null() & column.is_not_null() & ~column.is_in(frames.MISSING_WORDS)
    count = int(bad.sum())
    filled = len(column) - int(column.null_count())
    if count == 0:
        large = column.filter(numbers.abs() >= MAX_EXACT_INTEGER)
        if large.str.contains(r"^[+-]?\d+$").any():
            notes.append(describe_rounding([name], can_be_kept=True))
        return numbers
    if count > filled // 2:
        return None
    row = int(bad.arg_max() or 0)
    raise ColumnTypeError(
        f"{loaded.name}, {loaded.locate(row)}, column {name!r}: {column[row]!r} is not a number"
        + (f", nor are {count - 1} other entries of the column" if count > 1 else "")
        + f"; correct it, or leave the column out (drop={name!r})."
    )


def _refuse_text(where: str, text: list[str], unlabeled: bool) -> NoReturn:
    shown = text[0] if len(text) == 1 else text[:8]
    hint = f" If one of them is the class of each row, say label={text[0]!r}." if unlabeled else ""
    held = "columns {} hold" if text[1:] else "column {} holds"
    raise ColumnTypeError(
        f"{where}: {held.format(quote_names(text))} text or categories. Three remedies: "
        f"drop (drop={shown!r}), one-hot encode (encode=True), or keep them and use Gower's "
        f"distance (gower=True, with a method's metric='gower').{hint}"
    )


def _refuse_kind(where: str, name: str, dtype: DataType, kind: str) -> NoReturn:
    remedy = f"use it alone by vector={name!r}" if kind == "list" else f"drop={name!r}"
    raise ColumnTypeError(
        f"{where}: column {name!r} holds {dtype}, which is not a number; {remedy}."
    )


def _make_matrix(
    loaded: ReadFrame, features: list[str], numbers: Frame, text: list[str], notes: list[str]
) -> tuple[Column, tuple[str, ...]]:
    """The numeric features and their names, in the order of the file."""
    in_file = [name for name in features if name in set(loaded.numeric)]
    columns = tuple(name for name in features if name in {*in_file, *numbers.columns})
    if not columns and not text:
        raise DataError(
            f"{loaded.name}: no numeric column is left; see columns=, drop=, id= and label=."
        )
    large, rounded = None, list_large_integers(numbers)
    if loaded.read_numeric is not None and in_file:
        large, others = loaded.read_numeric(in_file)
        rounded += others
    if rounded:
        notes.append(describe_rounding((str(f.name) for f in rounded), can_be_kept=True))
    if not numbers.width:
        return (np.empty((len(loaded.frame), 0)) if large is None else large), columns
    small = frames.to_matrix(numbers)
    if large is None:
        return small, columns
    X = np.empty((len(large), len(columns)), np.result_type(large, small))
    X[:, [columns.index(name) for name in in_file]] = large
    X[:, [columns.index(name) for name in numbers.columns]] = small
    return X, columns


def _find_levels(column: Series, where: str) -> list[str]:
    """The different values of a column of text."""
    levels = [str(level) for level in np.unique(_to_texts(column)) if level != ""]
    if len(levels) > MAX_ONE_HOT_LEVELS:
        raise ColumnTypeError(
            f"{where}: column {column.name!r} has {len(levels)} different values, too many for "
            f"one-hot encoding; drop={column.name!r}."
        )
    return levels


def _one_hot_encode(X: Column, column: Series, levels: Sequence[str], notes: list[str]) -> Column:
    """Append a 0/1 column for each level; a missing or unknown value is 0 in all of them."""
    values = _to_texts(column)
    onehot = values[:, None] == np.array(levels, np.str_)
    unknown = np.flatnonzero(~onehot.any(1) & (values != ""))
    if len(unknown):
        found = quote_names(dict.fromkeys(values[unknown].tolist()), 3)
        notes.append(
            f"Column {column.name!r}: {pluralize(len(unknown), 'row')} with unknown levels, "
            f"{found}; they count as missing."
        )
    onehot = onehot.astype(X.dtype if X.shape[1] else np.float64)
    return np.hstack([X if X.shape[1] else np.empty((len(values), 0)), onehot])


def _to_texts(column: Series) -> NDArray[np.str_]:
    return to_array(column.cast(str))
