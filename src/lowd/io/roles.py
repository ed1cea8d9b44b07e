"""Which column names the rows, which one gives their class, and which ones are features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .options import Options, matching, one, patterns, quoted

# Names that people give to such columns, in lower case; earlier ones win.
_IDS = (
    *("id", "ids", "index", "idx", "uid", "uuid", "guid", "key", "rowid", "row_id", "sample"),
    *("sample_id", "barcode", "cell_id", "name", "names", "filename", "file"),
)
_LABELS = (
    *("label", "labels", "class", "classes", "target", "species", "category", "cell_type"),
    *("celltype", "population", "cluster", "group", "digit", "y"),
)
# Of the points of a map, which lowd wrote.
JUDGMENTS = ("trust", "trustworthiness", "continuity", "confidence")


class Roles(NamedTuple):
    id: str | None
    label: str | None
    vector: str | None
    features: list[str]
    extra: list[str]
    notes: list[str]

    @classmethod
    def of(cls, frame: Any, options: Options, where: str, every: Sequence[str] = ()) -> Roles:
        """Of the names of `every` column, those that are not in the frame are features."""
        names, here = list(every or frame.columns), set(frame.columns)
        explicit = {name for name in (options.id, options.label, options.vector) if name}
        for what in ("id", "label", "vector"):
            if (name := getattr(options, what)) is not None:
                one(name, names, where, what)
        taken = explicit | set(patterns(options.columns, names))
        free = [n for n in frame.columns if n not in taken]
        notes: list[str] = []
        id_ = options.id or _find_id(frame, free, notes)
        told = bool(options.encode or options.gower)  # what to do with text
        label = options.label or _find_label(frame, [n for n in free if n != id_], told, notes)
        rest = [n for n in names if n not in {id_, label, options.vector}]
        vector = options.vector
        if vector is None and here == set(names):
            vector = _find_vector(frame, rest, options, notes)
        if vector is not None:
            features = []
        elif options.columns is not None:
            wanted = set(matching(options.columns, names, where, "columns"))
            features = [n for n in rest if n in wanted]
        else:
            features = [n for n in rest if n not in JUDGMENTS]
            if judged := [n for n in rest if n in JUDGMENTS]:
                notes.append(f"Kept beside the rows, not in them: {quoted(judged)}.")
        extra = [n for n in rest if n != vector and n not in set(features)]
        return cls(id_, label, vector, features, extra, notes)


def recognizable(name: str) -> bool:
    """Could this name be that of an identifier or a label?"""
    return _like(name) in {*_IDS, *_LABELS} or _like(name).endswith("_id")


def feature_kind(dtype: Any) -> Literal["number", "text", "list", "other"]:
    name = str(dtype).partition("(")[0]
    if dtype.is_numeric() or name == "Boolean":
        return "number"
    if name in ("String", "Categorical", "Enum"):
        return "text"
    return "list" if name in ("List", "Array") else "other"


def plain(column: Any) -> NDArray[Any]:
    """A column as an array: text stays text (missing: empty), numbers stay numbers."""
    if feature_kind(column.dtype) == "number":
        return np.asarray(column.to_numpy())
    if feature_kind(column.dtype) == "list":
        return np.array([str(entry) for entry in column.to_list()])
    entries = column.cast(str).to_list()
    return np.array(["" if entry is None else entry for entry in entries], dtype=np.str_)


def _like(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _find_id(frame: Any, names: list[str], notes: list[str]) -> str | None:
    """By name if its values differ in every row, else the first text that does."""
    named = [n for n in names if _like(n) in _IDS or _like(n).endswith("_id")]
    named.sort(key=lambda n: _IDS.index(_like(n)) if _like(n) in _IDS else len(_IDS))
    for name in named:
        kind = str(frame[name].dtype)
        if (kind == "String" or kind.lstrip("U").startswith("Int")) and _distinct(frame[name]):
            notes.append(f"Column {name!r} was taken as the identifier (another one: id=...).")
            return name
    for name in names:
        if str(frame[name].dtype) == "String" and len(frame) > 1 and _distinct(frame[name]):
            if _mostly_numbers(frame[name]):
                continue
            notes.append(
                f"Column {name!r} holds a different text in every row and was taken as the "
                "identifier (another one: id=...)."
            )
            return name
    return None


def _find_label(frame: Any, names: list[str], told: bool, notes: list[str]) -> str | None:
    """By name, else the only column of text with few values, if text is not to be used."""
    by_name = {_like(n): n for n in reversed(names) if _like(n) in _LABELS}
    for like in _LABELS:
        name = by_name.get(like)
        if name is None or feature_kind(frame[name].dtype) not in ("number", "text"):
            continue
        coordinate = like == "y" and (
            str(frame[name].dtype).startswith("Float") or any(_like(n) == "x" for n in names)
        )
        if not coordinate:
            notes.append(f"Column {name!r} was taken as the label (another one: label=...).")
            return name
    texts = [n for n in names if feature_kind(frame[n].dtype) == "text" and not told]
    texts = [
        n for n in texts if frame[n].null_count() < len(frame) and not _mostly_numbers(frame[n])
    ]
    if len(texts) == 1 and frame[texts[0]].n_unique() <= max(2, min(50, len(frame) // 2)):
        notes.append(
            f"Column {texts[0]!r} holds text with few different values and was taken as the label "
            f"(otherwise: label=..., or drop={texts[0]!r})."
        )
        return texts[0]
    return None


def _find_vector(frame: Any, names: list[str], options: Options, notes: list[str]) -> str | None:
    """The only column of lists, where there are no columns of numbers."""
    kinds = {n: feature_kind(frame[n].dtype) for n in names}
    lists = [n for n, kind in kinds.items() if kind == "list"]
    if options.columns is not None or len(lists) != 1 or "number" in kinds.values():
        return None
    notes.append(f"Column {lists[0]!r} holds lists and was taken as the rows (vector=...).")
    if others := [n for n in names if n != lists[0]]:
        notes.append(f"Columns {quoted(others)} are kept beside them.")
    return lists[0]


def _distinct(column: Any) -> bool:
    return bool(column.null_count() == 0 and column.n_unique() == len(column))


def _mostly_numbers(column: Any) -> bool:
    numbers = column.cast(str).str.strip_chars().cast(float, strict=False)
    filled = len(column) - column.null_count()
    return bool(len(column) - numbers.null_count() > filled // 2)
