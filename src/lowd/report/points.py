"""Points of a report as one JSON value, which the script of the page draws."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..plot.canvas import COLORS, Classes, choose_coloring

if TYPE_CHECKING:
    from ..evidence.quality import Evaluation
    from ..io.table import Column, Table

# A canvas draws this many fluently; beyond, a density plot is shown.
MAX_INTERACTIVE_POINTS = 100_000
MAX_COLUMN_VALUES = 2_000_000  # Entries of further columns in one page: 8 MB, or 11 MB as text.
MAX_ID_CHARACTERS = 4_000_000  # Characters of all identifiers: 4 MB.
MAX_THUMBNAIL_PIXELS = 12_000_000  # Pixels of all thumbnails together.
MAX_PAGE_AXES = 10  # Axes of the embedding to choose from.
MAX_CLASSES = 40  # text columns with more distinct values are shown as text
MAX_CELL_CHARACTERS = 200  # Longer texts are cut.


def encode_points(
    Y: Column, names: list[str], evaluation: Evaluation | None, table: Table | None
) -> tuple[str, list[str]]:
    """Return the JSON for the page, and notes on what was left out."""
    n, notes = len(Y), list[str]()
    palette = [[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in COLORS]
    axes = [
        {"name": name, "values": _encode_array(column, np.float32)}
        for name, column in zip(names[:MAX_PAGE_AXES], Y.T[:MAX_PAGE_AXES], strict=True)
    ]
    columns, free = [], MAX_COLUMN_VALUES
    for name, values, main, is_measure in _list_columns(evaluation, table, n):
        if free < n and not main:
            notes.append(f"The page holds as many columns as fit; {name!r} and later ones do not.")
            break
        columns.append(_encode_column(name, values, is_measure) | {"main": main})
        free -= n
    ids = None if table is None or table.ids is None else [str(name) for name in table.ids]
    if ids is not None and sum(map(len, ids)) > MAX_ID_CHARACTERS:
        ids = None
        notes.append("The identifiers are too long for one page; points have their row number.")
    value = {
        "n": n,
        "palette": palette,
        "axes": axes,
        "columns": columns,
        "ids": ids,
        "thumbnails": _encode_thumbnails(table, n),
    }
    return encode_json(value), notes


def encode_json(value: object) -> str:
    """Encode JSON for a script element, such that no text of the data can end the element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class _PointColumn(NamedTuple):
    name: str
    values: Column
    main: bool = False  # shown next to a point under the mouse
    is_measure: bool = False


def _list_columns(
    evaluation: Evaluation | None, table: Table | None, n: int
) -> Iterator[_PointColumn]:
    """Yield labels first, then pointwise measures of quality, then all other columns."""
    if table is not None and table.labels is not None:
        yield _PointColumn(table.label_name, table.labels, main=True)
    if evaluation is not None:
        for name, values in evaluation.pointwise.items():
            full = np.full(n, np.nan)
            full[evaluation.rows] = values
            main = name == "trustworthiness"
            yield _PointColumn(name.replace("_", " "), full, main, is_measure=True)
    if table is not None:
        yield from (_PointColumn(name, values) for name, values in table.extra.items())
        if table.kind in ("rows", "genotypes") and isinstance(table.X, np.ndarray):
            names = map(str, table.columns)
            yield from (_PointColumn(name, table.X[:, i]) for i, name in enumerate(names))


def _encode_column(name: str, values: Column, is_measure: bool) -> dict[str, object]:
    values = np.asarray(values)
    many = max(MAX_CLASSES, len(values) // 2)
    if values.dtype.kind not in "iufb" and len(set(map(str, values))) > many:
        texts = [str(text)[:MAX_CELL_CHARACTERS] for text in values]
        return {"name": name, "kind": "text", "values": texts}
    colors = choose_coloring(values, len(values), "values" if is_measure else "auto", name)
    if isinstance(colors, Classes):
        return {
            "name": name,
            "kind": "class",
            "names": _get_full_names(colors, values),
            "others": colors.has_others,
            "counts": np.bincount(colors.codes, minlength=len(colors.names)).tolist(),
            "values": _encode_array(colors.codes, np.uint16),
        }
    numbers = np.where(np.isfinite(values), values, np.nan).astype(np.float64)
    known = numbers[np.isfinite(numbers)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return {
        "name": name,
        "kind": "number",
        "low": low,
        "high": high,
        "values": _encode_array(numbers, np.float32),
    }


def _get_full_names(classes: Classes, values: Column) -> list[str]:
    """The full names of classes, which the legend of a plot shortens."""
    first = {int(code): row for row, code in reversed(list(enumerate(classes.codes)))}
    return [
        str(values[first[code]]) if name.endswith("…") and code in first else name
        for code, name in enumerate(classes.names)
    ]


def _encode_array(values: Column, dtype: type[np.generic]) -> str:
    """Encode the little-endian bytes of an array in base64."""
    kind = np.dtype(dtype).newbyteorder("<")
    with np.errstate(over="ignore"):
        return base64.b64encode(np.ascontiguousarray(values, kind).tobytes()).decode("ascii")


def _encode_thumbnails(table: Table | None, n: int) -> dict[str, object] | None:
    """Put all thumbnails into one image; the page shows a part of it for each row."""
    images = None if table is None else table.thumbnails
    if images is None or len(images) != n or np.asarray(images).size > MAX_THUMBNAIL_PIXELS:
        return None
    images = np.asarray(images, np.uint8)
    if images.ndim == 3:
        images = images[..., None]
    image, across = tile_images(images)
    return {
        "width": images.shape[2],
        "height": images.shape[1],
        "across": across,
        "sheet": f"data:image/png;base64,{base64.b64encode(encode_png(image)).decode('ascii')}",
    }


def tile_images(images: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], int]:
    """Tile all images into one in reading order; return it and how many are in a line.

    >>> tile_images(np.zeros((5, 8, 8, 1), np.uint8))[0].shape
    (16, 24, 1)
    """
    n, height, width, depth = images.shape
    across = int(np.ceil(np.sqrt(n * height / width)))
    down = -(-n // across)
    sheet = np.zeros((down * across, height, width, depth), np.uint8)
    sheet[:n] = images
    lines = sheet.reshape(down, across, height, width, depth).swapaxes(1, 2)
    return lines.reshape(down * height, across * width, depth), across


def encode_png(image: NDArray[np.uint8]) -> bytes:
    """Encode an image as PNG: gray (1 channel), RGB (3) or RGBA (4).

    >>> encode_png(np.zeros((2, 3, 1), np.uint8))[1:4]
    b'PNG'
    """
    height, width, depth = image.shape

    def make_chunk(name: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + body))
        return struct.pack(">I", len(body)) + name + body + check

    kind = {1: 0, 3: 2, 4: 6}[depth]
    # Each line begins with the number of its filter: 0.
    lines = np.zeros((height, 1 + width * depth), np.uint8)
    lines[:, 1:] = image.reshape(height, -1)
    return (
        b"\x89PNG\r\n\x1a\n"
        + make_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
        + make_chunk(b"IDAT", zlib.compress(lines.tobytes(), 6))
        + make_chunk(b"IEND", b"")
    )
