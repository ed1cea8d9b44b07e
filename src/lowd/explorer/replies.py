"""Requests of the page, and what answers them: JSON, Arrow streams, files and faults."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    Cancelled,
    DataError,
    LowdError,
    MissingPackageError,
    NotEnoughMemoryError,
    ParameterError,
    TooManyRowsError,
    UnsupportedError,
)
from ..io import frames
from ..io.table import Column

JSON_TYPE, PNG_TYPE, HTML_TYPE = "application/json", "image/png", "text/html; charset=utf-8"
ARROW_TYPE = "application/vnd.apache.arrow.stream"
FILE_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}

# -- what went wrong -----------------------------------------------------------------------------


class Fault(NamedTuple):
    """What went wrong, and how to remedy it."""

    code: str
    message: str
    remedy: str = ""


class RequestError(LowdError):
    """A request that cannot be answered; `status` is the HTTP status."""

    def __init__(self, status: int, code: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.status, self.fault = status, Fault(code, message, remedy)


# The first class that matches counts.
_STATUS: tuple[tuple[type[BaseException], int, str, str], ...] = (
    (NotEnoughMemoryError, 413, "too_large", "Take fewer rows."),
    (MemoryError, 413, "too_large", "Take fewer rows."),
    (TooManyRowsError, 413, "too_large", "Split it, or map it with `lowd transform`."),
    (Cancelled, 409, "cancelled", ""),
    (ParameterError, 422, "bad_request", "Change the value and try again."),
    (UnsupportedError, 422, "bad_request", "Choose another method or other parameters."),
    (MissingPackageError, 409, "unavailable", "Install the package and start again."),
    (DataError, 422, "bad_request", "Change the data and try again."),
    (LowdError, 422, "failed", ""),
)


def describe_error(error: BaseException) -> tuple[int, Fault]:
    """The HTTP status and the fault for any error."""
    if isinstance(error, RequestError):
        return error.status, error.fault
    text = " ".join(str(error).split())
    for kind, status, code, remedy in _STATUS:
        if isinstance(error, kind):
            return status, Fault(code, text, remedy)
    message = f"unexpected {type(error).__name__}: {text}"
    return 500, Fault("failed", message, "The terminal shows where; please report it.")


# -- requests and replies -------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """A request independent of its transport, with query and body as they came."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @classmethod
    def parse(cls, method: str, target: str, body: bytes = b"") -> Request:
        """Make a request from a path with its query."""
        path, _, query = target.partition("?")
        return cls(method, path, dict(parse_qsl(query)), body)

    def read_json(self) -> dict[str, Any]:
        try:
            content = json.loads(self.body)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise RequestError(400, "bad_request", "the request body is not a JSON object.")
        return content

    def read_int(self, name: str, default: int, low: int, high: int) -> int:
        text = self.query.get(name, str(default))
        if not re.fullmatch(r"\d{1,12}", text) or not low <= int(text) <= high:
            raise RequestError(
                400, "bad_request", f"{name}={text!r}: expected a number from {low} to {high}."
            )
        return int(text)


@dataclass(frozen=True)
class Reply:
    """An HTTP status, a content type, the bytes, and further headers."""

    status: int
    type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def to_json(value: object, status: int = 200) -> Reply:
    """Make a reply of JSON; NaN in it would be a bug."""
    return Reply(status, JSON_TYPE, json.dumps(value, allow_nan=False).encode("utf-8"))


def to_arrow(data: bytes) -> Reply:
    return Reply(200, ARROW_TYPE, data)


def to_file(columns: Mapping[str, Column], kind: object, name: str) -> Reply:
    """Make a reply that is saved as a file."""
    if not isinstance(kind, str) or kind not in FILE_TYPES:
        raise RequestError(422, "bad_request", f"format={kind!r}: expected csv or parquet.")
    with BytesIO() as file:
        frames.write(frames.make_frame(columns), file, kind)
        return Reply(200, FILE_TYPES[kind], file.getvalue(), attach(f"{name}.{kind}"))


def attach(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="lowd-{name}"'}


# -- columns as Arrow streams --------------------------------------------------------------------


def encode_columns(columns: Mapping[str, Column]) -> bytes:
    """Return the bytes of an Arrow stream of these columns.

    >>> len(encode_columns({"x": np.zeros(3, np.float32)})) > 0
    True
    """
    with BytesIO() as file:
        frames.write(frames.make_frame(columns), file, "arrow stream")
        return file.getvalue()


def encode_points(Y: NDArray[np.float32]) -> bytes:
    """Encode coordinates as columns x, y and z; y is 0 if there is one dimension."""
    columns = {name: np.ascontiguousarray(y) for name, y in zip("xyz", Y.T, strict=False)}
    if Y.shape[1] == 1:
        columns["y"] = np.zeros(len(Y), np.float32)
    return encode_columns(columns)


def list_or_none(numbers: Sequence[float] | Column) -> list[float | None]:
    """List numbers for JSON, which has neither NaN nor infinity: None stands for these."""
    return [float(x) if np.isfinite(x) else None for x in numbers]
