"""Columns of the rows, as the page colors, filters and shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..input.arguments import Input
from ..io.table import Column, Data
from ..plot.colors import is_continuous, natural_sort_key

Role: TypeAlias = Literal["label", "id", "feature", "other"]
Kind: TypeAlias = Literal["category", "number", "text"]

# Most categories of a text column; columns with more are searched, not colored.
MAX_CATEGORIES = 256
MAX_CATEGORY_NUMBERS = 20  # Most distinct whole numbers of a label that count as classes.
MAX_FEATURE_COLUMNS = 256  # Columns listed by name; row details and sliders have all of them.
# Entries of all listed features, which are summarized at the start in 1 s.
MAX_FEATURE_VALUES = 2**27
HISTOGRAM_BINS = 32
HISTOGRAM_ROWS = 100_000  # Rows sampled for a histogram; its bars are then off by about a pixel.


@dataclass(frozen=True, eq=False)
class PageColumn:
    """A column: categories by their codes (-1 is missing), numbers (NaN is missing), or text."""

    key: str
    name: str
    role: Role
    kind: Kind
    values: Column
    categories: tuple[str, ...] = ()
    summary: Mapping[str, object] = field(default_factory=dict)

    def describe(self) -> dict[str, object]:
        """The column's entry in the list of columns."""
        entry: dict[str, object] = {"key": self.key, "name": self.name, "role": self.role}
        entry["kind"] = self.kind
        if self.kind == "category":
            entry["categories"] = list(self.categories)
        return {**entry, **self.summary}

    def select(self, rows: slice | NDArray[np.int64]) -> Column:
        """The values of some rows in the form that the page receives."""
        if self.kind == "number":
            with np.errstate(over="ignore"):
                return np.ascontiguousarray(self.values[rows], np.float32)
        return np.ascontiguousarray(self.values[rows])

    def get_value(self, row: int) -> str | float | int | None:
        """The value of one row in full."""
        value = self.values[row]
        if self.kind == "category":
            return self.categories[value] if value >= 0 else None
        if self.kind == "text":
            return None if value is None else str(value)
        number = value.item()
        return number if np.isfinite(number) else None

    def get_words(self, rows: slice | NDArray[np.int64]) -> Column:
        """The values of some rows for a file."""
        if self.kind != "category":
            return self.values[rows]
        words = np.array([*self.categories, None], object)
        return words[self.values[rows]]

    def find(self, text: str) -> NDArray[np.bool_]:
        """The rows whose value contains the text, ignoring case."""
        wanted = text.casefold()
        if self.kind == "category":
            hits = np.array([wanted in word.casefold() for word in self.categories] + [False])
            return np.asarray(hits[self.values])
        words = (value is not None and wanted in str(value).casefold() for value in self.values)
        return np.fromiter(words, bool, len(self.values))


def make_column(key: str, name: str, role: Role, given: Column) -> PageColumn:
    """Choose how a column is shown."""
    values = np.asarray(given)
    if values.dtype.kind == "b":
        values = np.where(values, "true", "false")
    if values.dtype.kind in "iuf":
        limit = MAX_CATEGORY_NUMBERS if role == "label" else 0
        if not limit or is_continuous(values, limit, name):
            return _make_number(key, name, role, values)
    words = _to_words(values)
    distinct = {word for word in words if word is not None}
    if role == "id" or len(distinct) > min(MAX_CATEGORIES, max(12, len(words) // 2)):
        longest = max((len(word) for word in distinct), default=0)
        text = np.array(words, object)
        return PageColumn(key, name, role, "text", text, (), {"longest": longest})
    names = sorted(distinct, key=natural_sort_key)
    code_of = {word: code for code, word in enumerate(names)}
    codes = np.array([-1 if word is None else code_of[word] for word in words], np.int16)
    counts = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
    missing = int((codes < 0).sum())
    summary = {"counts": counts, "missing": missing}
    return PageColumn(key, name, role, "category", codes, tuple(names), summary)


def _make_number(key: str, name: str, role: Role, values: Column) -> PageColumn:
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    step = max(1, len(known) // HISTOGRAM_ROWS)
    span = (low, high) if high > low else (low, low + 1)
    counts, edges = np.histogram(known[::step].astype(np.float64), HISTOGRAM_BINS, span)
    summary = {
        "low": low,
        "high": high,
        "integer": values.dtype.kind in "iu",
        "missing": len(values) - len(known),
        "histogram": {"edges": edges.tolist(), "counts": (counts * step).tolist()},
    }
    return PageColumn(key, name, role, "number", values, (), summary)


def _to_words(values: Column) -> list[str | None]:
    """The text of each value, whole numbers without a point; None for missing values."""
    if values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()]
    return [
        None
        if value is None or value != value
        else str(int(value))
        if isinstance(value, float) and value.is_integer()
        else str(value)
        for value in values.tolist()
    ]


def list_features(X: Data, names: Sequence[str]) -> Iterator[tuple[str, Column]]:
    """The columns of X that the page lists: the first ones if there are many values."""
    if not hasattr(X, "shape") or not hasattr(X, "dtype") or len(X.shape) != 2:
        return
    n, d = X.shape
    count = min(d, MAX_FEATURE_COLUMNS, max(1, MAX_FEATURE_VALUES // max(n, 1)))
    columns = X.tocsc() if issparse(X) else X
    for j in range(count):
        name = names[j] if j < len(names) else f"column {j}"
        yield name, read_feature(columns, j)


def read_feature(X: Input, j: int) -> Column:
    """One column of a dense or sparse matrix."""
    return np.asarray(X[:, [j]].toarray()).ravel() if issparse(X) else np.asarray(X[:, j])
