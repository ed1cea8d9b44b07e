"""What an explorer shows: rows with their columns, the data behind them, and embeddings."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from ..errors import DataError
from ..evidence.quality.evaluation import make_data_space
from ..input.arguments import Input, MetricName
from ..io.preparation import Preparation
from ..io.table import Column, Data, Table
from ..pipeline import Pipeline
from ..plot.canvas import is_continuous, natural_sort_key
from ..plot.embeddings import name_axis
from ..spaces import Space
from .replies import RequestError

if TYPE_CHECKING:
    from ..reducer import Reducer

# -- columns of the rows -------------------------------------------------------------------------

Role: TypeAlias = Literal["label", "id", "feature", "other"]
Kind: TypeAlias = Literal["category", "number", "text"]

MAX_CATEGORY_NUMBERS = 20  # Most distinct whole numbers of a label that count as classes.
MAX_FEATURE_COLUMNS = 256  # Columns listed by name; row details and sliders have all of them.
# Entries of all listed features, which are summarized at the start in 1 s.
MAX_FEATURE_VALUES = 2**27


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
    # Columns with more categories are searched, not colored.
    if role == "id" or len(distinct) > min(256, max(12, len(words) // 2)):
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
    # Of so many rows the bars are off by about a pixel.
    step = max(1, len(known) // 100_000)
    span = (low, high) if high > low else (low, low + 1)
    counts, edges = np.histogram(known[::step].astype(np.float64), 32, span)
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


# -- the session ---------------------------------------------------------------------------------

MAX_PANEL_DIMENSIONS = 3
MAX_PANELS = 32  # A million points of three dimensions take 12 MB in each panel.


@dataclass(frozen=True, eq=False)
class Panel:
    """An embedding of the rows, or of some of them; the others have NaN coordinates."""

    key: str
    name: str
    coordinates: NDArray[np.float32]
    axes: tuple[str, ...]
    model: Reducer | None = None
    rows: NDArray[np.int64] | None = None  # None stands for all rows
    # The preparation of new points where it differs from the session's.
    preparation: Preparation | None = None
    notes: tuple[str, ...] = ()

    @property
    def held_rows(self) -> NDArray[np.int64]:
        """Indices of the rows that the panel shows."""
        return np.arange(len(self.coordinates)) if self.rows is None else self.rows

    def describe(self) -> dict[str, object]:
        """The panel's entry in the list of panels."""
        held = self.coordinates[self.held_rows]
        low, high = held.min(0), held.max(0)
        method = get_method(self.model)
        return {
            "key": self.key,
            "name": self.name,
            "method": None if method is None else type(method).__name__,
            "parameters": {} if method is None else list_parameters(method),
            "dimensions": self.coordinates.shape[1],
            "axes": list(self.axes),
            "extent": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
            "rows": None if self.rows is None else len(self.rows),
            "has_model": self.model is not None,
            "notes": list(self.notes),
        }


class Session:
    """Rows, columns, data, panels. Panels may come and go while others read.

    `X` holds the rows as models take them; `compared` holds those between which distances are
    computed, after the steps of a pipeline. Jobs fit on X with the same `steps`.
    """

    def __init__(
        self,
        table: Table,
        *,
        X: Data = None,
        compared: Data = None,
        metric: MetricName = "euclidean",
        metric_params: dict[str, Any] | None = None,
        steps: Mapping[str, Any] | None = None,
        preparation: Preparation | None = None,
        title: str = "",
        features: bool = True,
    ) -> None:
        self.n = len(table)
        if not self.n:
            raise DataError("there are no rows to show.")
        self.title = title or "lowd"
        self.X, self.metric, self.metric_params = X, metric, metric_params
        self.compared = X if compared is None else compared
        self.steps = {name: value for name, value in (steps or {}).items() if value}
        self.preparation = preparation
        self.feature_names = tuple(map(str, table.columns)) if X is not None else ()
        self.columns = _make_columns(table, X if features else None, self.feature_names)
        self.labels, self.label_name = table.labels, table.label_name
        self.thumbnails = to_thumbnails(table.thumbnails, self.n)
        self.panels: dict[str, Panel] = {}
        self.selection: NDArray[np.int64] = np.empty(0, np.int64)
        self.revision = 0
        self.lock = threading.RLock()
        self._count = 0

    def add_panel(
        self,
        name: str,
        Y: ArrayLike,
        *,
        model: Reducer | None = None,
        rows: NDArray[np.int64] | None = None,
        preparation: Preparation | None = None,
        axes: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Panel:
        """Add an embedding of all rows, or of `rows`."""
        coordinates = self.spread(to_coordinates(Y, name), rows)
        k = coordinates.shape[1]
        names = list(axes)[:k] or [f"{name} {j + 1}" for j in range(k)]
        if model is not None and not axes:
            names = [name_axis(model, j) for j in range(k)]
        with self.lock:
            if len(self.panels) >= MAX_PANELS:
                raise RequestError(
                    409, "conflict", f"there are already {MAX_PANELS} panels.", "Close some."
                )
            key = f"p{self._count}"
            self._count += 1
            panel = Panel(
                key, name, coordinates, tuple(names), model, rows, preparation, tuple(notes)
            )
            self.panels[key] = panel
            self.revision += 1
        return panel

    def spread(self, Y: NDArray[np.float32], rows: NDArray[np.int64] | None) -> NDArray[np.float32]:
        """Place the coordinates of some rows among all; the others are NaN."""
        count = self.n if rows is None else len(rows)
        if len(Y) != count:
            raise DataError(f"an embedding has {len(Y)} rows, but there are {count}.")
        if rows is None:
            return Y
        spread = np.full((self.n, Y.shape[1]), np.nan, np.float32)
        spread[rows] = Y
        return spread

    def remove_panel(self, key: str) -> None:
        with self.lock:
            self.get_panel(key)
            del self.panels[key]
            self.revision += 1

    def get_panel(self, key: str) -> Panel:
        panel = self.panels.get(key)
        if panel is None:
            raise RequestError(404, "not_found", f"there is no panel {key!r}.", "Reload the page.")
        return panel

    def get_column(self, key: str) -> PageColumn:
        found = next((column for column in self.columns if column.key == key), None)
        if found is None:
            raise RequestError(404, "not_found", f"there is no column {key!r}.", "Reload the page.")
        return found

    @cached_property
    def space(self) -> Space | None:
        """The data with their distances, or None if only coordinates are known."""
        if self.compared is None:
            return None
        return make_data_space(self.compared, self.metric, self.metric_params)

    def check_rows(self, given: object, least: int = 1) -> NDArray[np.int64]:
        """Read the row numbers of a request: sorted, each once."""
        if not isinstance(given, list) or not all(type(row) is int for row in given):
            raise RequestError(422, "bad_request", "rows: expected a list of row numbers.")
        if given and not 0 <= min(given) <= max(given) < self.n:
            raise RequestError(422, "bad_request", f"rows: expected 0 to {self.n - 1}.")
        rows = np.unique(np.array(given, np.int64))
        if len(rows) < least:
            raise RequestError(
                422, "bad_request", f"{len(rows)} rows are selected.", f"Select {least} or more."
            )
        return rows


def get_method(model: Reducer | None) -> Reducer | None:
    """The method itself, without the steps of a pipeline before it."""
    return model.method_ if isinstance(model, Pipeline) else model


def list_parameters(method: Reducer) -> dict[str, object]:
    """The parameters that can be shown: numbers and words."""
    shown = method.get_params(deep=False)
    hidden = ("verbose", "n_jobs", "backend")
    return {
        name: value
        for name, value in shown.items()
        if name not in hidden and isinstance(value, bool | int | float | str | None)
    }


def to_coordinates(Y: ArrayLike, name: str) -> NDArray[np.float32]:
    """Convert coordinates for the page: up to three columns of float32."""
    full = np.asarray(Y, np.float64)
    full = full[:, None] if full.ndim == 1 else full
    if full.ndim != 2 or not full.shape[1]:
        raise DataError(
            f"the embedding {name!r} has shape {full.shape}: expected (n_samples, 1 to 3)."
        )
    held = full[:, :MAX_PANEL_DIMENSIONS]
    if not np.isfinite(held).all():
        raise DataError(f"the embedding {name!r} holds NaN or infinity; leave out such rows.")
    with np.errstate(over="ignore"):
        coordinates = np.ascontiguousarray(held, np.float32)
    if not np.isfinite(coordinates).all():
        raise DataError(f"the embedding {name!r} has coordinates beyond float32; divide them.")
    return coordinates


def to_thumbnails(images: ArrayLike | None, n: int) -> NDArray[np.uint8] | None:
    """Convert images to bytes (n, height, width, 1, 3 or 4); floats are scaled to 0..255."""
    if images is None:
        return None
    given = np.asarray(images)
    given = given[..., None] if given.ndim == 3 else given
    if given.ndim != 4 or len(given) != n or given.shape[3] not in (1, 3, 4):
        raise DataError(
            f"images have shape {np.shape(images)}: expected ({n}, height, width), or with 3 or 4 "
            "colors."
        )
    # Larger images are thinned out to 128 pixels.
    step = -(-max(given.shape[1:3]) // 128)
    given = given[:, ::step, ::step]
    if given.dtype == np.uint8:
        return given
    low, high = float(given.min()), float(given.max())
    scaled = (given - low) * (255 / (high - low) if high > low else 0)
    return np.asarray(scaled, np.uint8)


def _make_columns(table: Table, X: Data, names: Sequence[str]) -> list[PageColumn]:
    """List the label first, then identifiers, other columns and features."""
    found: list[tuple[str, Any, Column]] = []
    if table.labels is not None:
        found.append((table.label_name, "label", table.labels))
    if table.ids is not None:
        found.append((table.id_name, "id", table.ids))
    found += [(name, "other", np.asarray(values)) for name, values in table.extra.items()]
    found += [(name, "feature", values) for name, values in list_features(X, names)]
    return [
        make_column(f"c{number}", str(name), role, values)
        for number, (name, role, values) in enumerate(found)
    ]
