"""Roles of columns: identifier, label, vector, features and further columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ..errors import ColumnTypeError
from . import frames
from .options import Options, check_column, match_columns, quote_names, split_patterns
from .table import Column

if TYPE_CHECKING:
    from .frames import DataType, Frame, Series

# Usual names of such columns, in lower case; earlier ones win.
_ID_COLUMNS = (
    *("id", "ids", "index", "idx", "uid", "uuid", "guid", "key", "rowid", "row_id", "sample"),
    *("sample_id", "barcode", "cell_id", "name", "names", "filename", "file"),
)
_LABEL_COLUMNS = (
    *("label", "labels", "class", "classes", "target", "species", "category", "cell_type"),
    *("celltype", "population", "cluster", "group", "digit", "person", "subject", "outcome"),
    *("response", "diagnosis", "progression", "y"),
)
MAX_UNNAMED_SHARE = 0.01  # Largest share of empty entries in a column of row names.
# Quality columns of an embedding that lowd wrote.
QUALITY_COLUMNS = ("trust", "trustworthiness", "continuity", "confidence")


class Roles(NamedTuple):
    """Names of the columns by role; `notes` say what was recognized."""

    id: str | None
    label: str | None
    vector: str | None
    features: list[str]
    extra: list[str]
    notes: list[str]
    dates: dict[str, Series]  # the features that hold dates

    @classmethod
    def find(cls, frame: Frame, options: Options, where: str, every: Sequence[str] = ()) -> Roles:
        """Find the roles of `every` column: as given, or from names and values.

        Columns that are not in the frame are features.
        """
        names, here = list(every or frame.columns), set(frame.columns)
        explicit = {name for name in (options.id, options.label, options.vector) if name}
        for what in ("id", "label", "vector"):
            if (name := getattr(options, what)) is not None:
                check_column(name, names, where, what)
        taken = explicit | set(split_patterns(options.columns, names))
        dates = {n: read for n in frame.columns if (read := frames.read_dates(frame[n]))}
        free = [n for n in frame.columns if n not in taken and n not in dates]
        notes: list[str] = []
        id_ = options.id or _find_id(frame, free, notes)
        uses_text = bool(options.encode or options.gower)  # the caller said what to do with text
        label = options.label or _find_label(frame, [n for n in free if n != id_], uses_text, notes)
        others = [n for n in names if n not in {id_, label, options.vector}]
        vector = options.vector
        if vector is None and here == set(names):
            vector = _find_vector(frame, others, options, notes)
        uses_dates = options.dates or options.gower
        aside: list[str] = []
        if vector is not None:
            features = []
        elif options.columns is not None:
            wanted = set(match_columns(options.columns, names, where, "columns"))
            features = [n for n in others if n in wanted]
            _check_dates([n for n in features if n in dates], dates, uses_dates, where)
        else:
            aside = [n for n in others if n in dates and (not uses_dates or len(dates[n]) > 1)]
            features = [n for n in others if n not in QUALITY_COLUMNS and n not in aside]
            if aside:
                notes.append(_describe_dates(aside, uses_dates))
            if judged := [n for n in others if n in QUALITY_COLUMNS]:
                notes.append(f"Kept as extra columns, not features: {quote_names(judged)}.")
        extra = [n for n in others if n != vector and n not in set(features)]
        used = {n: read[0] for n, read in dates.items() if n in set(features)}
        if used:
            notes.append(f"Dates of {quote_names(used)} count in days.")
        return cls(id_, label, vector, features, extra, notes, used)


def _describe_dates(aside: list[str], uses_dates: bool) -> str:
    why = (
        "with an ambiguous order of day and month (write 2020-12-31)"
        if uses_dates
        else "(to use them, in days: dates=True)"
    )
    hold = "holds" if len(aside) == 1 else "hold"
    return f"Kept as extra columns, not features: {quote_names(aside)}, which {hold} dates {why}."


def _check_dates(
    names: list[str], dates: dict[str, list[Series]], uses_dates: bool, where: str
) -> None:
    """Refuse date features if they are ambiguous or nobody said how to use them."""
    for name in names:
        if not uses_dates:
            raise ColumnTypeError(
                f"{where}: column {name!r} holds dates, which are not numbers; say dates=True for "
                f"days, or leave it out (drop={name!r})."
            )
        if len(dates[name]) > 1:
            raise ColumnTypeError(
                f"{where}: column {name!r} holds dates with an ambiguous order of day and "
                f"month, as 3/4/2020; write them as 2020-12-31."
            )


def is_role_name(name: str) -> bool:
    """Whether this could be the name of an identifier or a label."""
    return _normalize_name(name) in {*_ID_COLUMNS, *_LABEL_COLUMNS} or _normalize_name(
        name
    ).endswith("_id")


def is_label_name(name: str) -> bool:
    """Whether this is a usual name for the classes or the outcome of the rows."""
    return _normalize_name(name) in _LABEL_COLUMNS


def get_column_kind(dtype: DataType) -> Literal["number", "text", "list", "other"]:
    """The possible use of a column with a given polars type."""
    name = str(dtype).partition("(")[0]
    if dtype.is_numeric() or name == "Boolean":
        return "number"
    if name in ("String", "Categorical", "Enum"):
        return "text"
    return "list" if name in ("List", "Array") else "other"


def to_array(column: Series) -> Column:
    """Convert a column to an array: text stays text (empty if missing), numbers stay numbers.

    Integers of 128 bits, which NumPy does not have, become text.
    """
    if get_column_kind(column.dtype) == "number" and not str(column.dtype).endswith("128"):
        return np.asarray(column.to_numpy())
    if get_column_kind(column.dtype) == "list":
        return np.array([str(entry) for entry in column.to_list()])
    entries = column.to_list()
    return np.array(["" if entry is None else str(entry) for entry in entries], dtype=np.str_)


def _normalize_name(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _find_id(frame: Frame, names: list[str], notes: list[str]) -> str | None:
    """Find a column with a usual name, or else of text, whose values differ in every row."""
    named = [
        n for n in names if _normalize_name(n) in _ID_COLUMNS or _normalize_name(n).endswith("_id")
    ]
    named.sort(
        key=lambda n: (
            _ID_COLUMNS.index(_normalize_name(n))
            if _normalize_name(n) in _ID_COLUMNS
            else len(_ID_COLUMNS)
        )
    )
    for name in named:
        kind = str(frame[name].dtype)
        if (kind == "String" or kind.lstrip("U").startswith("Int")) and _is_unique(frame[name]):
            notes.append(f"Column {name!r} was taken as the identifier (another one: id=...).")
            return name
    for name in names:
        if str(frame[name].dtype) == "String" and _has_different_texts(frame[name]):
            if _is_mostly_numbers(frame[name]):
                continue
            notes.append(
                f"Column {name!r} holds a different text in every row and was taken as the "
                "identifier (another one: id=...)."
            )
            return name
    return None


def _find_label(frame: Frame, names: list[str], uses_text: bool, notes: list[str]) -> str | None:
    """Find a column with a usual name, or else the only text column with few values."""
    by_name = {
        _normalize_name(n): n for n in reversed(names) if _normalize_name(n) in _LABEL_COLUMNS
    }
    for normalized in _LABEL_COLUMNS:
        name = by_name.get(normalized)
        if name is None or get_column_kind(frame[name].dtype) not in ("number", "text"):
            continue
        coordinate = normalized == "y" and (
            str(frame[name].dtype).startswith("Float")
            or any(_normalize_name(n) == "x" for n in names)
        )
        if not coordinate:
            notes.append(f"Column {name!r} was taken as the label (another one: label=...).")
            return name
    texts = [n for n in names if get_column_kind(frame[n].dtype) == "text" and not uses_text]
    texts = [
        n for n in texts if frame[n].null_count() < len(frame) and not _is_mostly_numbers(frame[n])
    ]
    if len(texts) == 1 and frame[texts[0]].n_unique() <= max(2, min(50, len(frame) // 2)):
        notes.append(
            f"Column {texts[0]!r} holds text with few different values and was taken as the label "
            f"(otherwise: label=..., or drop={texts[0]!r})."
        )
        return texts[0]
    return None


def _find_vector(frame: Frame, names: list[str], options: Options, notes: list[str]) -> str | None:
    """Find the only column of lists if there are no numeric columns."""
    kinds = {n: get_column_kind(frame[n].dtype) for n in names}
    lists = [n for n, kind in kinds.items() if kind == "list"]
    if options.columns is not None or len(lists) != 1 or "number" in kinds.values():
        return None
    notes.append(f"Column {lists[0]!r} holds lists and was taken as the rows (vector=...).")
    if others := [n for n in names if n != lists[0]]:
        notes.append(f"Columns {quote_names(others)} are kept as extra columns.")
    return lists[0]


def _has_different_texts(column: Series) -> bool:
    """Whether values differ in all but a few empty rows: words such as "null" read as missing."""
    known = column.drop_nulls()
    enough = len(column) - len(known) <= MAX_UNNAMED_SHARE * len(column)
    return bool(len(known) > 1 and enough and known.n_unique() == len(known))


def _is_unique(column: Series) -> bool:
    return bool(column.null_count() == 0 and column.n_unique() == len(column))


def _is_mostly_numbers(column: Series) -> bool:
    numbers = column.cast(str).str.strip_chars().cast(float, strict=False)
    filled = len(column) - column.null_count()
    return bool(len(column) - numbers.null_count() > filled // 2)
