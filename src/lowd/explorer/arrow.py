"""Encode columns as an Arrow stream for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from ..io import frames
from ..io.table import Column

ARROW_TYPE = "application/vnd.apache.arrow.stream"


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
