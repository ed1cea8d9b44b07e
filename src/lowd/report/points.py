"""The points of a report: what the page's script draws, as one JSON value."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plot.canvas import COLORS
from ..plot.colors import Classes, choose_coloring

MOST = 100_000  # points a canvas draws fluently; beyond, a picture of their density
VALUES = 2_000_000  # numbers of further columns in one page: 8 MB, 11 as text
TEXTS = 4_000_000  # characters
PIXELS = 12_000_000  # of all thumbnails together
AXES = 10


def packed(Y: NDArray[Any], names: list[str], evaluation: Any, table: Any) -> tuple[str, list[str]]:
    """The JSON for the page, and sentences on what was left out."""
    n, notes = len(Y), list[str]()
    palette = [[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in COLORS]
    axes = [
        {"name": name, "values": _base64(column, np.float32)}
        for name, column in zip(names[:AXES], Y.T[:AXES], strict=True)
    ]
    columns, room = [], VALUES
    for name, values, main, measured in _columns(evaluation, table, n):
        if room < n and not main:
            notes.append(f"The page holds as many columns as fit; {name!r} and later ones do not.")
            break
        columns.append(_column(name, values, measured) | {"main": main})
        room -= n
    ids = None if table is None or table.ids is None else [str(name) for name in table.ids]
    if ids is not None and sum(map(len, ids)) > TEXTS:
        ids = None
        notes.append("The identifiers are too long for one page; points have their row number.")
    made = {
        "n": n,
        "palette": palette,
        "axes": axes,
        "columns": columns,
        "ids": ids,
        "thumbnails": _thumbnails(table, n),
    }
    return embedded(made), notes


def embedded(value: Any) -> str:
    """JSON that is safe inside a script element: no text of the data can end it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _columns(evaluation: Any, table: Any, n: int) -> Iterator[tuple[str, Any, bool, bool]]:
    """Labels first, then how far each point is to be trusted, then all else there is.

    With each: does it stand beside a point that is pointed at, and is it a measure?
    """
    if table is not None and table.labels is not None:
        yield table.label_name, table.labels, True, False
    if evaluation is not None:
        for name, values in evaluation.pointwise.items():
            full = np.full(n, np.nan)
            full[evaluation.rows] = values
            yield name.replace("_", " "), full, name == "trustworthiness", True
    if table is not None:
        extra: Mapping[str, Any] = table.extra
        yield from ((name, values, False, False) for name, values in extra.items())
        if table.kind in ("rows", "genotypes") and isinstance(table.X, np.ndarray):
            names = map(str, table.columns)
            yield from ((name, table.X[:, i], False, False) for i, name in enumerate(names))


def _column(name: str, values: Any, measured: bool) -> dict[str, Any]:
    values = np.asarray(values)
    if values.dtype.kind not in "iufb" and len(set(map(str, values))) > max(40, len(values) // 2):
        return {"name": name, "kind": "text", "values": [str(one)[:200] for one in values]}
    colors = choose_coloring(values, len(values), "values" if measured else "auto")
    if isinstance(colors, Classes):
        return {
            "name": name,
            "kind": "class",
            "names": _names(colors, values),
            "rest": colors.has_rest,
            "counts": np.bincount(colors.codes, minlength=len(colors.names)).tolist(),
            "values": _base64(colors.codes, np.uint16),
        }
    numbers = np.where(np.isfinite(values), values, np.nan).astype(np.float64)
    known = numbers[np.isfinite(numbers)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return {
        "name": name,
        "kind": "number",
        "low": low,
        "high": high,
        "values": _base64(numbers, np.float32),
    }


def _names(classes: Classes, values: NDArray[Any]) -> list[str]:
    """A legend in a picture shortens long names; a page has room for them."""
    first = {int(code): row for row, code in reversed(list(enumerate(classes.codes)))}
    return [
        str(values[first[code]]) if name.endswith("…") and code in first else name
        for code, name in enumerate(classes.names)
    ]


def _base64(values: Any, dtype: Any) -> str:
    """Little-endian bytes of an array as text."""
    kind = np.dtype(dtype).newbyteorder("<")
    with np.errstate(over="ignore"):
        return base64.b64encode(np.ascontiguousarray(values, kind).tobytes()).decode("ascii")


def _thumbnails(table: Any, n: int) -> dict[str, Any] | None:
    """All small pictures on one sheet, which the page shows a part of."""
    pictures = None if table is None else table.thumbnails
    if pictures is None or len(pictures) != n or np.asarray(pictures).size > PIXELS:
        return None
    pictures = np.asarray(pictures, np.uint8)
    if pictures.ndim == 3:
        pictures = pictures[..., None]
    _, height, width, depth = pictures.shape
    across = int(np.ceil(np.sqrt(n * height / width)))
    down = -(-n // across)
    sheet = np.zeros((down * across, height, width, depth), np.uint8)
    sheet[:n] = pictures
    rows = sheet.reshape(down, across, height, width, depth).swapaxes(1, 2)
    image = rows.reshape(down * height, across * width, depth)
    return {
        "width": width,
        "height": height,
        "across": across,
        "sheet": f"data:image/png;base64,{base64.b64encode(png(image)).decode('ascii')}",
    }


def png(image: NDArray[np.uint8]) -> bytes:
    """The bytes of a PNG file: gray (1 channel), RGB (3) or RGBA (4).

    >>> png(np.zeros((2, 3, 1), np.uint8))[1:4]
    b'PNG'
    """
    height, width, depth = image.shape

    def chunk(name: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + body))
        return struct.pack(">I", len(body)) + name + body + check

    kind = {1: 0, 3: 2, 4: 6}[depth]
    lines = np.zeros((height, 1 + width * depth), np.uint8)  # each line begins with its filter: 0
    lines[:, 1:] = image.reshape(height, -1)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(lines.tobytes(), 6))
        + chunk(b"IEND", b"")
    )
