"""From the columns of a table to rows: features, labels, identifiers; missing values; distances."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import squareform

from ..errors import ColumnTypeError, DataError, FileFormatError
from ..input.entries import list_large_integers
from . import frames
from .columns import read_columns
from .kinds import Column as Cells
from .kinds import Kind
from .options import Missing, Options, check_column, describe_rounding, match_columns
from .roles import Role, Roles, find_roles
from .source import Source, fits_memory, require_memory
from .table import Column, ColumnReading, Data, Reading, Table
from .words import IDENTIFIERS, LABELS, normalize, pluralize, quote_names

if TYPE_CHECKING:
    from .frames import Frame, Series

MAX_EXTRA_COLUMNS = 64  # Most columns kept in addition to the features, for coloring a plot.
# More levels are hardly categories, and would make a sparse matrix dense.
MAX_ONE_HOT_LEVELS = 1000
MIN_DISTANCE_ROWS = 3  # A smaller square is just as likely a table.
COMPARED_ROWS = 1024  # Rows compared with columns at a time, so that both blocks stay in the cache.
# Relative tolerance: the distances may have been written with six or seven digits.
SYMMETRY_TOLERANCE = 1e-6
CORRELATION_TOLERANCE = 0.005  # of correlations, which are often written with two digits
MAX_CORRELATED = 2000  # More things are hardly compared by correlations; spares a look at all.
SHOWN_LINES = 6  # of rows that are left out
TABLE_REMEDY = (
    "Read fewer columns (columns=...) or each tenth row (every=10), or read it in blocks, "
    "which every method fits and transforms: lowd.open_blocks (Parquet, .npy), dask.dataframe."
)


class ReadFrame(NamedTuple):
    """A frame as it was read; `locate` describes where a row is in the file ("line 12")."""

    frame: Frame
    source: Source
    locate: Callable[[int], str]
    form: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    units: Mapping[str, str] = {}
    declared: Mapping[str, tuple[str, str]] = {}  # kinds and roles that the file gives
    quoted: frozenset[int] = frozenset()


def choose_columns(
    source: Source,
    names: Sequence[str],
    options: Options,
    cells: Callable[[list[str]], int],
    bytes_per_cell: int = 16,
) -> list[str]:
    """The columns to read at all; those not asked for are left out where memory is short.

    `cells` counts the cells of columns, which take so many bytes while they are read.
    """
    chosen = _project_columns(names, options, source.name)
    if options.columns is not None and not fits_memory(bytes_per_cell * cells(chosen)):
        chosen = _project_columns(names, options, source.name, extra=0)
    need = cells(chosen)
    parts = {"columns": (bytes_per_cell - 8) * need, "matrix": 8 * need}
    require_memory(source, parts, TABLE_REMEDY)
    return chosen


def _project_columns(
    names: Sequence[str], options: Options, where: str, extra: int = MAX_EXTRA_COLUMNS
) -> list[str]:
    explicit = set(options.levels)
    for what in ("id", "label", "vector"):
        if (name := getattr(options, what)) is not None:
            explicit.add(check_column(name, names, where, what))
    for name in options.levels:
        check_column(name, names, where, "encode")
    drop = set(match_columns(options.drop, names, where, "drop")) - explicit
    kept = [name for name in names if name not in drop]
    if options.columns is None:
        return kept
    wanted = {*match_columns(options.columns, names, where, "columns"), *explicit}
    wanted |= {n for n in kept if normalize(n) in IDENTIFIERS or normalize(n) in LABELS}
    wanted |= set([name for name in kept if name not in wanted][:extra])
    return [name for name in kept if name in wanted]


def make_table(loaded: ReadFrame, options: Options) -> Table:
    """Turn a frame into a `Table`: features become X, other columns are kept as extras."""
    where = loaded.source.name
    if not len(loaded.frame):
        raise FileFormatError(f"{where} holds no rows.")
    frame, all_names = frames.number_columns(loaded.source, loaded.frame)
    options = _add_declared(options, {n: d for n, d in loaded.declared.items() if n in all_names})
    as_text = {n for n in (options.id, options.label, options.vector, *options.levels) if n}
    columns = read_columns(
        frame,
        all_names,
        loaded.locate,
        where,
        kinds={n: kind for n, kind in (options.kind or {}).items() if n in all_names},
        decimal=options.decimal,
        as_text=as_text,
        units=loaded.units,
        quoted=loaded.quoted,
    )
    if (matrix := _find_matrix(columns, loaded, options)) is not None:
        return matrix
    roles = find_roles(columns, options, where)
    by_name = {c.name: c for c in columns}
    notes = [*loaded.notes, *(note for c in columns for note in c.notes), *roles.notes]
    features = [by_name[name] for name in roles.of(Role.FEATURE)]
    levels: dict[str, Sequence[str]] = {}
    X: Data
    vector = roles.get(Role.VECTOR)
    if vector is not None:
        X = stack_vectors(by_name[vector].cells, vector, where, loaded.locate, notes)
        names = tuple(f"{vector}{j}" for j in range(X.shape[1]))
        kept = np.ones(len(X), bool)
    else:
        features = _check_features(features, roles, options, where, notes)
        if not features:
            raise DataError(f"{where}: {roles.trouble or 'no column is left as a feature.'}")
        kept = _find_filled_rows(features)
        if roles.is_mixed:
            X, names = frames.make_columns({c.name: _to_mixed(c) for c in features}), ()
        else:
            numbers = {c.name: _to_numbers(c, notes) for c in features if not _is_text(c, options)}
            X = frames.to_matrix(numbers) if numbers else np.empty((len(frame), 0))
            names = tuple(numbers)
            for c in features:
                if _is_text(c, options):
                    levels[c.name] = options.levels.get(c.name) or _find_levels(c, where)
                    X = _one_hot_encode(X, c, levels[c.name], notes)
                    names += tuple(f"{c.name}={level}" for level in levels[c.name])
        names = names or tuple(c.name for c in features)
    blank = ~kept
    left_out = _list_rows(blank, "without any value", loaded.locate)
    if not kept.all():
        X = X.filter(kept) if roles.is_mixed else X[kept]
    if not roles.is_mixed:
        rows = np.flatnonzero(kept)
        told = [] if options.missing == "drop" else notes  # those are listed below
        X, chosen = handle_missing(
            X, names, where, lambda row: loaded.locate(int(rows[row])), options.missing, told
        )
        if chosen is not None:
            dropped = kept.copy()
            kept = np.zeros(len(frame), bool)
            kept[rows[chosen]] = True
            left_out += _list_rows(dropped & ~kept, "with missing values", loaded.locate)
    identifier = roles.get(Role.IDENTIFIER)
    ids = None if identifier is None else to_array(by_name[identifier], is_id=True)[kept]
    if identifier is None and not kept.all():  # then the lines tell the rows apart
        lines = [loaded.locate(int(row)).split() for row in np.flatnonzero(kept)]
        identifier, ids = lines[0][0], np.array([int(line[-1]) for line in lines])
    label = roles.get(Role.LABEL)
    reading = _tell(loaded, columns, roles, notes, left_out, blank)
    return Table(
        X,
        "table" if roles.is_mixed else "rows",
        names,
        ids,
        None if label is None else to_array(by_name[label])[kept],
        {name: to_array(by_name[name])[kept] for name in roles.of(Role.BESIDE)},
        source=where,
        notes=(*notes, *left_out, *reading.doubts),
        id_name=identifier or "id",
        label_name=label or "label",
        levels=levels,
        reading=reading,
    )


def _add_declared(options: Options, declared: Mapping[str, tuple[str, str]]) -> Options:
    """The options with what a file says of its columns; what a person says goes first."""
    if not declared:
        return options
    labels = [name for name, (_, role) in declared.items() if role == "label"]
    label = labels[0] if options.label is None and labels else options.label
    asked = {options.label, options.id, *(options.kind or {})}
    beside = {n for n, (_, role) in declared.items() if role in ("beside", "drop")} - asked
    kinds = {n: kind for n, (kind, _) in declared.items() if kind and n not in beside}
    kinds |= dict.fromkeys(beside, "text")
    return dataclasses.replace(options, label=label, kind={**kinds, **(options.kind or {})})


def _tell(
    loaded: ReadFrame,
    columns: list[Cells],
    roles: Roles,
    notes: Sequence[str],
    left_out: Sequence[str],
    blank: NDArray[np.bool_],
) -> Reading:
    flags = {Role.FEATURE: "--drop {}", Role.BESIDE: "--keep {}", Role.VECTOR: "--drop {}"}
    told, doubts = [], [*loaded.doubts, *roles.doubts]
    for c in columns:
        role = roles.roles[c.name]
        name = f"'{c.name}'" if " " in c.name else c.name
        flag = flags.get(role, f"--{role} NAME").replace("--identifier", "--id").format(name)
        is_open = c.doubt or c.kind in (Kind.CODE, Kind.IDENTIFIER, Kind.YEAR, Kind.TIME)
        flag += f", --kind {name}=KIND" if is_open else ""
        if role == Role.BESIDE and c.kind in (Kind.CATEGORY, Kind.TEXT, Kind.NAME):
            flag = "--encode or --gower"
        why = c.why if roles.why[c.name] in (c.why, str(c.kind)) else f"{c.why}; "
        why += "" if why == c.why else roles.why[c.name]
        examples = tuple(str(cell) for cell in c.cells.head(3).to_list() if cell is not None)
        missing = 0 if c.kind == Kind.EMPTY else _count_missing(c, blank)
        said = c.name, c.kind, role, why, c.doubt, flag, examples
        told.append(ColumnReading(*said, missing, min(c.infinite, missing)))
        if c.doubt:
            doubts.append(f"{c.name!r}: {c.kind}, {c.doubt} (kind={{{c.name!r}: ...}})")
    told = [t._replace(why=roles.why[t.name]) if t.role == Role.BESIDE else t for t in told]
    commas = sum(c.notation.startswith("decimal comma") for c in columns)
    form = loaded.form + (", decimal comma" if commas else ", decimal point" if loaded.form else "")
    return Reading(
        form,
        len(loaded.frame),
        tuple(told),
        tuple(notes),
        tuple(left_out),
        tuple(doubts),
        roles.trouble,
    )


def _count_missing(c: Cells, blank: NDArray[np.bool_]) -> int:
    """Cells without a value in the rows that are not left out as blank."""
    if not c.missing or not blank.any():
        return c.missing
    cells = c.cells.filter(blank)
    is_text = c.values is None and str(cells.dtype) == "String"
    known = np.isfinite(c.values[blank]) if c.values is not None else cells.is_not_null().to_numpy()
    return c.missing - int((frames.find_missing(cells).to_numpy() if is_text else ~known).sum())


def _list_rows(
    chosen: NDArray[np.bool_], what: str, locate: Callable[[int], str]
) -> tuple[str, ...]:
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return ()
    shown = [locate(int(row)) for row in rows[:SHOWN_LINES]]
    word = shown[0].partition(" ")[0] + ("s" if len(rows) > 1 else "")
    numbers = ", ".join(line.partition(" ")[2] for line in shown)
    more = ", ..." if len(rows) > SHOWN_LINES else ""
    return (f"{pluralize(len(rows), 'row')} {what} ({word} {numbers}{more})",)


# -- features --------------------------------------------------------------------------------------


def _is_text(c: Cells, options: Options) -> bool:
    if c.name in options.levels or (options.encode and c.kind == Kind.CODE):
        return True
    return c.values is None and c.kind != Kind.DATE


def _check_features(
    features: list[Cells], roles: Roles, options: Options, where: str, notes: list[str]
) -> list[Cells]:
    """The features without empty columns; those that the options cannot use raise."""
    if empty := [c.name for c in features if not c.filled]:
        notes.append(f"Columns {quote_names(empty)} are empty and were left out.")
        for name in empty:
            roles.set(name, Role.BESIDE, "empty")
    features = [c for c in features if c.filled]
    for c in features:
        if c.kind == Kind.DATE and c.values is None and not roles.is_mixed:
            _check_date(c, bool(options.dates), where)
        if c.kind == Kind.VECTOR or str(c.cells.dtype).startswith(("Struct", "Object", "Binary")):
            remedy = f"use it alone by vector={c.name!r}" if c.kind == Kind.VECTOR else ""
            raise ColumnTypeError(
                f"{where}: column {c.name!r} holds {c.cells.dtype}, which is not a number; "
                f"{remedy or f'drop={c.name!r}'}."
            )
    text = [c.name for c in features if _is_text(c, options) and c.name not in options.levels]
    if text and not options.encode and not roles.is_mixed:
        _refuse_text(where, text, roles.get(Role.LABEL) is None)
    return features


def _check_date(c: Cells, is_wanted: bool, where: str) -> None:
    if not is_wanted:
        raise ColumnTypeError(
            f"{where}: column {c.name!r} holds dates, which are not numbers; say dates=True for "
            f"days, or leave it out (drop={c.name!r})."
        )
    if len(frames.read_dates(c.cells)) != 1:
        raise ColumnTypeError(
            f"{where}: column {c.name!r} holds dates with an ambiguous order of day and "
            f"month, as 3/4/2020, or in an unusual form; write them as 2020-12-31."
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


def _find_filled_rows(features: list[Cells]) -> NDArray[np.bool_]:
    """Rows that have a value in any feature; all, if none has."""
    filled = np.zeros(features[0].rows, bool)
    for c in features:
        if c.values is not None:
            filled |= np.isfinite(c.values)
        elif str(c.cells.dtype) == "String":
            filled |= ~frames.find_missing(c.cells).to_numpy()
        else:
            filled |= c.cells.is_not_null().to_numpy()
        if filled.all():
            break
    return filled if filled.any() else ~filled


def _to_numbers(c: Cells, notes: list[str]) -> Series | Column:
    """The numbers of a feature, in the type of the file if it has one."""
    if c.values is None:
        notes.append(f"Dates of {c.name!r} count in days.")
        return frames.to_days(frames.read_dates(c.cells)[0])
    typed = frames.is_number(c.cells.dtype)
    if list_large_integers(c.cells.to_frame()) if typed else c.is_digits and c.high >= 2**53:
        notes.append(describe_rounding([c.name], can_be_kept=True))
    exact = typed and len(c.known) == c.rows - c.cells.null_count()
    return c.cells if exact else c.values


def _to_mixed(c: Cells) -> Series | Column | list[str | None]:
    """A feature for Gower's distance: numbers, dates, or text."""
    if c.kind == Kind.DATE and (dates := frames.read_dates(c.cells)):
        return dates[0]
    if c.values is not None and c.kind not in (Kind.CODE, Kind.CATEGORY):
        return c.values
    return [text or None for text in to_array(c, is_id=True).tolist()]


def _find_levels(c: Cells, where: str) -> list[str]:
    levels = [level for level in np.unique(to_array(c, is_id=True)).tolist() if level]
    if len(levels) > MAX_ONE_HOT_LEVELS:
        raise ColumnTypeError(
            f"{where}: column {c.name!r} has {len(levels)} different values, too many for "
            f"one-hot encoding; drop={c.name!r}."
        )
    return levels


def _one_hot_encode(X: Column, c: Cells, levels: Sequence[str], notes: list[str]) -> Column:
    """Append a 0/1 column for each level; a missing or unknown value is 0 in all of them."""
    values = to_array(c, is_id=True)
    onehot = values[:, None] == np.array(levels, np.str_)
    unknown = np.flatnonzero(~onehot.any(1) & (values != ""))
    if len(unknown):
        found = quote_names(dict.fromkeys(values[unknown].tolist()), 3)
        notes.append(
            f"Column {c.name!r}: {pluralize(len(unknown), 'row')} with unknown levels, "
            f"{found}; they count as missing."
        )
    notes.append(f"Column {c.name!r} was one-hot encoded as {len(levels)} columns.")
    return np.hstack([X, onehot.astype(X.dtype if X.shape[1] else np.float64)])


def to_array(c: Cells, is_id: bool = False) -> Column:
    """A column as it is written beside a map: numbers as numbers, identifiers as they came."""
    cells = c.cells
    kind = str(cells.dtype).partition("(")[0]
    if kind == "String":
        written = is_id or c.values is None or c.padded or c.is_digits or c.affix
        if c.values is None or written:
            missing = frames.find_missing(cells).to_numpy() if c.kind != Kind.TEXT else None
            texts = cells.str.strip_chars() if not is_id else cells
            array = np.array(texts.fill_null("").to_list(), np.str_)
            return array if missing is None else np.where(missing & _hides(c), "", array)
        values = c.values
        whole = c.is_whole and len(c.known) == c.rows and abs(c.known).max() < 2**53
        return values.astype(np.int64) if whole else values
    if frames.is_number(cells.dtype) and not kind.endswith("128"):
        return np.asarray(cells.to_numpy())
    return np.array(["" if entry is None else str(entry) for entry in cells.to_list()], np.str_)


def _hides(c: Cells) -> bool:
    """Whether words for missing values are no levels here."""
    return not any(level.lower() in ("none", "unknown", "missing", "nil") for level in c.levels)


# -- lists of numbers ------------------------------------------------------------------------------


def stack_vectors(
    column: Series, name: str, where: str, locate: Callable[[int], str], notes: list[str]
) -> Column:
    """Make a matrix whose row i is the list in row i; lists in text are read as JSON."""
    if not str(column.dtype).startswith(("List", "Array")):
        return _parse_json(column, name, where, locate, notes)
    lengths = column.list.len() if str(column.dtype).startswith("List") else column.arr.len()
    if column.null_count() or lengths.n_unique() != 1 or not lengths[0]:
        _refuse_lists(column.to_list(), name, where, locate)
    values = column.explode()
    if not values.dtype.is_numeric():
        raise ColumnTypeError(
            f"{where}: column {name!r} holds {column.dtype}, not lists of numbers."
        )
    if list_large_integers(values.to_frame()):
        notes.append(describe_rounding([name]))
    kind = np.float32 if str(values.dtype) == "Float32" else np.float64
    return np.asarray(values.to_numpy(), kind).reshape(len(column), int(lengths[0]))


def _parse_json(
    column: Series, name: str, where: str, locate: Callable[[int], str], notes: list[str]
) -> Column:
    try:
        lists = [json.loads(entry) for entry in column.to_list()]
        if len({len(entry) for entry in lists}) != 1 or not lists[0]:
            _refuse_lists(lists, name, where, locate)
        if list_large_integers(lists):
            notes.append(describe_rounding([name]))
        return np.array(lists, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise ColumnTypeError(
            f"{where}: column vector={name!r} does not hold lists of numbers."
        ) from None


def _refuse_lists(
    lists: list[object], name: str, where: str, locate: Callable[[int], str]
) -> NoReturn:
    width = len(lists[0]) if isinstance(lists[0], list) else 0
    wrong = (
        (row, entry)
        for row, entry in enumerate(lists)
        if not isinstance(entry, list) or len(entry) != width or not entry
    )
    row, entry = next(wrong, (0, lists[0]))
    raise DataError(
        f"{where}, {locate(row)}, column {name!r}: a list of {width or 'some'} numbers is "
        f"expected, got {str(entry)[:60]}."
    )


# -- missing values --------------------------------------------------------------------------------


def handle_missing(
    X: Column,
    columns: Sequence[str],
    where: str,
    locate: Callable[[int], str],
    missing: Missing,
    notes: list[str],
) -> tuple[Column, NDArray[np.intp] | None]:
    """Return X without missing or infinite values, and the kept rows if some were dropped."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # One pass is enough: a NaN or infinity anywhere shows in the sum.
            return X, None
    good = np.isfinite(X)
    if good.all():
        return X, None
    count, within = int((~good).sum()), int((~good.all(0)).sum())
    n_infinite = count - int(np.isnan(X).sum())
    infinite = f", {n_infinite:,} of them infinite" if n_infinite else ""
    if missing == "error":
        row, column = map(int, np.argwhere(~good)[0])
        what = "the value is missing" if np.isnan(X[row, column]) else "infinity"
        can_drop = 2 * int(good.all(1).sum()) > len(X)  # otherwise few rows would be left
        remedy = "Drop such rows (missing='drop'), fill them" if can_drop else "Fill them"
        raise DataError(
            f"{where}, {locate(row)}, column {columns[column]!r}: {what} "
            f"({pluralize(count, 'such value')} in "
            f"{pluralize(within, 'column')}). {remedy} with the "
            f"column's mean (missing='mean'), or leave the column out "
            f"(drop={columns[column]!r})."
        )
    if missing == "keep":
        return np.where(good, X, np.nan), None
    if missing == "drop":
        kept = np.flatnonzero(good.all(1))
        if not len(kept):
            raise DataError(f"{where}: every row has a missing value; try missing='mean'.")
        notes.append(f"Left out for missing values: {pluralize(len(X) - len(kept), 'row')}.")
        return X[kept], kept
    counts = good.sum(0)
    if not counts.all():
        name = columns[int(np.argmin(counts))]
        raise DataError(f"{where}: column {name!r} has no value at all; drop={name!r}.")
    means = np.where(good, X, 0).sum(0, dtype=np.float64) / counts
    notes.append(
        f"Filled with the mean of the column: {pluralize(count, 'missing value')}{infinite}."
    )
    return np.where(good, X, means.astype(X.dtype)), None


# -- distances -------------------------------------------------------------------------------------


def detect_distances(table: Table, wanted: bool | None) -> Table:
    """Mark a table as distances if that was asked for or recognized; a note says which."""
    X = table.X
    if table.kind != "rows" or issparse(X):
        if wanted and table.kind != "distances":
            raise DataError(f"{table.source} holds {table.kind}, not a matrix of distances.")
        return table
    if X.ndim == 1 or (wanted and X.ndim == 2 and X.shape[1] == 1):
        return _expand_condensed(table, wanted)
    if wanted and X.shape[0] != X.shape[1]:
        raise DataError(
            f"{table.source} has {X.shape[0]} rows and {X.shape[1]} columns; a matrix of "
            "distances is square, or condensed to one column of n (n - 1) / 2 numbers."
        )
    if wanted:
        note = f"{table.source} was read as a matrix of distances, as asked for."
        return _mark_distances(table, X, note)
    found = _recognize(X) if wanted is None else None
    return (
        table if found is None else _mark_distances(table, found[1], f"{table.source} {found[0]}")
    )


def _find_matrix(columns: list[Cells], loaded: ReadFrame, options: Options) -> Table | None:
    """A table of distances or correlations between its columns, with the names of its rows."""
    n, k = len(loaded.frame), len(columns)
    if options.distances is False or options.columns or not MIN_DISTANCE_ROWS <= n <= k <= n + 4:
        return None
    for start in range(k - n, -1, -1):
        block, others = columns[start : start + n], columns[:start] + columns[start + n :]
        numbers = [c.values for c in block if c.values is not None]
        found = _recognize(np.stack(numbers, 1)) if len(numbers) == n else None
        if found is None:
            continue
        named = [c for c in others if c.kind in (Kind.NAME, Kind.IDENTIFIER, Kind.ROW_NUMBER)]
        roles = Roles({c.name: Role.BESIDE for c in columns}, {c.name: c.kind for c in columns})
        for c in block:
            roles.set(c.name, Role.FEATURE, "part of a matrix")
        for c in named[:1]:
            roles.set(c.name, Role.IDENTIFIER, "names the rows of the matrix")
        note = f"The table {found[0]}"
        names = tuple(c.name for c in block)
        table = Table(
            found[1],
            columns=names,
            ids=to_array(named[0], is_id=True) if named else None,
            source=loaded.source.name,
            notes=loaded.notes,
            id_name=named[0].name if named else "id",
            reading=_tell(loaded, columns, roles, [*loaded.notes, note], (), np.zeros(n, bool)),
        )
        return _mark_distances(table, found[1], note)
    return None


def _recognize(X: Column) -> tuple[str, Column] | None:
    """What a square matrix holds, and the distances in it; a triangle of it is enough."""
    n = len(X)
    if n < MIN_DISTANCE_ROWS or X.shape != (n, n):
        return None
    diagonal = np.diagonal(X)
    undo = "(distances=False reads it as rows)."
    if not diagonal.any() and _looks_like_distances(X):
        return (
            "is square, symmetric and zero on its diagonal, so it was taken as a matrix of "
            f"distances {undo}",
            X,
        )
    if n > MAX_CORRELATED:
        return None
    D = np.asarray(X, np.float64)
    if np.isnan(D[np.triu_indices(n, 1)]).all() and np.isfinite(D[np.tril_indices(n, -1)]).all():
        D = np.where(np.isnan(D), D.T, D)  # a lower triangle
        np.fill_diagonal(D, np.where(np.isnan(diagonal), np.nanmax(abs(D)) <= 1, diagonal))
    if not np.isfinite(D).all() or not np.allclose(D, D.T, rtol=1e-3, atol=1e-6):
        return None
    scale, what = np.diagonal(D), ""
    if np.allclose(scale, 1, atol=CORRELATION_TOLERANCE):
        if (abs(D) <= 1 + CORRELATION_TOLERANCE).all():
            what = "correlations r, which"
    elif (scale > 0).all() and (np.outer(scale, scale) * 1.001 >= D**2).all() and n > 3:
        D, what = D / np.sqrt(np.outer(scale, scale)), "covariances, of which the correlations r"
    elif not scale.any() and np.isnan(X).any() and D.min() >= 0 and D.any():
        return f"is a triangle, zero on its diagonal, so it was taken as distances {undo}", D
    if not what:
        return None
    distances = np.sqrt(np.maximum(0, 2 - 2 * D))
    np.fill_diagonal(distances, 0)
    return f"holds {what} give the distances, √(2 − 2r) {undo}", distances


def _expand_condensed(table: Table, wanted: bool | None) -> Table:
    values = np.asarray(table.X, np.float64).ravel()
    n = (1 + math.isqrt(1 + 8 * len(values))) // 2
    if wanted is False or n * (n - 1) // 2 != len(values) or n < 2:
        raise DataError(
            f"{table.source} holds {len(values)} numbers in one dimension; expected rows × "
            "columns, or the n (n - 1) / 2 distances of n points."
        )
    require_memory(Source(table.source), {"distances": 8 * n * n}, "Use fewer points.")
    note = (
        f"{table.source} holds n (n - 1) / 2 numbers for n = {n} and was taken as condensed "
        "distances."
    )
    ids = table.ids if table.ids is not None and len(table.ids) == n else None
    square = dataclasses.replace(table, ids=ids, labels=None, extra={}, columns=())
    return _mark_distances(square, squareform(values), note)


def _mark_distances(table: Table, D: Column, note: str) -> Table:
    """Return a table of distances whose rows have the names of its columns."""
    default = all(name == f"x{j}" for j, name in enumerate(table.columns))
    ids = table.ids if table.ids is not None or default else np.array(table.columns)
    return dataclasses.replace(table, X=D, kind="distances", ids=ids).add_notes(note)


def _looks_like_distances(X: Column) -> bool:
    n, positive = len(X), 0
    for start in range(0, n, COMPARED_ROWS):
        rows, columns = X[start : start + COMPARED_ROWS], X[:, start : start + COMPARED_ROWS].T
        # Written so that NaN is not >= 0.
        if not rows.min() >= 0 or not np.allclose(rows, columns, rtol=SYMMETRY_TOLERANCE, atol=0):
            return False
        positive += int(np.count_nonzero(rows))
    # Unlike the adjacency matrix of a graph, which is mostly zero.
    return positive >= n * (n - 1) // 2
