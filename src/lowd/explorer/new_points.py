"""New points: their coordinates in every panel with a model, and their confidence."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..errors import LowdError, MissingColumnError, UnsupportedError
from ..io.options import name_missing_features
from ..io.preparation import Preparation
from ..io.reading import read_bytes
from ..io.table import Column, Data, Table
from .replies import RequestError, describe_error, list_or_none
from .session import MAX_PANEL_DIMENSIONS, Panel, Session, read_feature

if TYPE_CHECKING:
    from ..reducer import Reducer

UPLOAD_FORMATS = ("csv", "parquet", "arrow", "jsonl", "npy")
MAX_NEW_ROWS = 20_000
MAX_SLIDERS = 2000

Mapped: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64] | None]


@dataclass(frozen=True, eq=False)
class NewPoints:
    """Rows that were sent, with their coordinates and confidence in each panel."""

    key: str
    table: Table
    mapped: Mapping[str, Mapped]

    def make_columns(self, session: Session) -> dict[str, Column]:
        """Collect identifiers, coordinates and confidence for a file."""
        names = self.table.ids
        columns: dict[str, Column] = {"id": np.arange(len(self.table)) if names is None else names}
        for key, (Y, confidence) in self.mapped.items():
            panel = session.panels.get(key)
            name = panel.name if panel else key
            name = name if f"{name} 1" not in columns else f"{name} ({key})"
            columns |= {f"{name} {j + 1}": Y[:, j] for j in range(Y.shape[1])}
            if confidence is not None:
                columns[f"{name} confidence"] = confidence
        return columns


class Uploads:
    """The new points of a session."""

    def __init__(self, session: Session) -> None:
        self._session, self._kept = session, dict[str, NewPoints]()
        self._lock = threading.Lock()

    def add(self, data: bytes, name: str) -> dict[str, object]:
        """Read rows that were sent and map them."""
        tables: dict[int, Table] = {}

        def read(panel: Panel) -> Data:
            preparation = panel.preparation or self._session.preparation
            if preparation is None:
                raise RequestError(409, "unavailable", "the columns of the data are not known.")
            if id(preparation) not in tables:
                tables[id(preparation)] = read_table(data, name, preparation, panel.model)
            return preparation.apply(tables[id(preparation)])

        mapped, failed = _map_rows(self._session, read)
        if not mapped and failed:
            raise failed[0][1]
        if not mapped:
            raise RequestError(
                409,
                "unavailable",
                "no panel has a model.",
                "Run a method, or start with a saved model: lowd view MODEL --data FILE.",
            )
        table = next(iter(tables.values()))
        with self._lock:
            points = NewPoints(f"q{secrets.token_hex(4)}", table, mapped)
            self._kept[points.key] = points
            # The oldest one goes first.
            while len(self._kept) > 20:
                self._kept.pop(next(iter(self._kept)))
        return {
            "key": points.key,
            "n": len(table),
            "ids": None if table.ids is None else [str(name) for name in table.ids],
            "notes": list(table.notes),
            **_describe(mapped, failed),
        }

    def get(self, key: str) -> NewPoints:
        if key not in self._kept:
            raise RequestError(404, "not_found", f"there are no new points {key!r}.")
        return self._kept[key]

    def remove(self, key: str) -> None:
        self.get(key)
        self._kept.pop(key, None)


def read_table(data: bytes, name: str, preparation: Preparation, model: Reducer | None) -> Table:
    """Read rows of a file or of the page in the same way as the training rows."""
    if preparation.kind not in ("rows", "table"):
        raise UnsupportedError(f"new points of {preparation.kind} are mapped by `lowd transform`.")
    options = preparation.get_read_options()
    # Fill gaps with values of the training rows, not of these.
    if getattr(model, "impute", None) is not None:
        options["missing"] = "keep"
    try:
        return read_bytes(data, name, UPLOAD_FORMATS, MAX_NEW_ROWS, **options)
    except MissingColumnError as error:
        raise name_missing_features(error, name) if error.names else error from None


def list_sliders(session: Session, row: int) -> list[dict[str, object]]:
    """The features of a row, with the range of each."""
    X = _get_rows(session)
    d = min(X.shape[1], MAX_SLIDERS)
    values = _read_row(X, row)[:d]
    low, high = _get_ranges(session)
    names = session.feature_names
    return [
        {
            "index": j,
            "name": names[j] if j < len(names) else f"column {j}",
            "value": float(values[j]) if np.isfinite(values[j]) else float(low[j]),
            "low": float(low[j]),
            "high": float(high[j]),
        }
        for j in range(d)
    ]


def move_row(session: Session, row: int, changes: Mapping[str, object]) -> dict[str, object]:
    """Map a row with other values of some features."""
    X = _get_rows(session)
    changed = _read_row(X, row).copy()
    is_float = X.dtype.kind == "f"
    limits: Any = (np.finfo if is_float else np.iinfo)(X.dtype)
    most = float(limits.max) if is_float else int(limits.max)
    for index, value in changes.items():
        if not index.isdecimal() or len(index) > 12 or int(index) >= len(changed):
            raise RequestError(422, "bad_request", f"there is no feature {index!r}.")
        if not isinstance(value, int | float) or not abs(value) <= most:
            raise RequestError(422, "bad_request", f"feature {index}: expected a finite number.")
        changed[int(index)] = value
    Q = changed[None].astype(X.dtype)
    return _describe(*_map_rows(session, lambda _: Q))


def _get_rows(session: Session) -> NDArray[np.floating]:
    X = session.X
    plain = X is not None and hasattr(X, "dtype") and X.dtype.kind in "iuf"
    if not plain or session.metric == "precomputed":
        raise RequestError(409, "unavailable", "the rows have no numbers that could be changed.")
    rows: NDArray[np.floating] = X
    return rows


def _read_row(X: Data, row: int) -> NDArray[np.float64]:
    found = X[[row]].toarray() if issparse(X) else X[row]
    return np.asarray(found, np.float64).ravel()


def _get_ranges(session: Session) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smallest and largest value of each feature that has a slider."""
    X = session.X
    d = min(X.shape[1], MAX_SLIDERS)
    low, high = np.zeros(d), np.zeros(d)
    columns = X.tocsc() if issparse(X) else X
    for j in range(d):
        values = read_feature(columns, j)
        known = values[np.isfinite(values)]
        low[j], high[j] = (known.min(), known.max()) if len(known) else (0, 0)
    return low, high


Failures: TypeAlias = list[tuple[str, Exception]]


def _map_rows(
    session: Session, get_rows: Callable[[Panel], Data]
) -> tuple[dict[str, Mapped], Failures]:
    """Compute coordinates and confidence of rows in every panel with a model."""
    mapped: dict[str, Mapped] = {}
    failed: Failures = []
    for key, panel in list(session.panels.items()):
        if panel.model is None:
            continue
        try:
            mapped[key] = transform(panel.model, get_rows(panel))
        except (LowdError, ValueError) as error:
            failed.append((key, error))
    return mapped, failed


def transform(model: Reducer, Q: Data) -> Mapped:
    """Map new points, with their confidence where the model knows it."""
    confidence: NDArray[np.float64] | None = None
    try:
        Y, confidence = model.transform(Q, return_confidence=True)
    except UnsupportedError:
        Y = model.transform(Q)
    return np.asarray(Y, np.float64)[:, :MAX_PANEL_DIMENSIONS], confidence


def _describe(mapped: Mapping[str, Mapped], failed: Failures) -> dict[str, object]:
    return {
        "panels": {
            key: {
                "coordinates": [list_or_none(y) for y in Y],
                "confidence": None if confidence is None else list_or_none(confidence),
            }
            for key, (Y, confidence) in mapped.items()
        },
        "failed": [
            {"panel": key, "fault": describe_error(error)[1]._asdict()} for key, error in failed
        ],
    }
