"""CSV, TSV and their relatives; what is wrong is named by line and column."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError
from . import frames
from .layout import Layout, sniff
from .options import Options, counted
from .rows import WAYS, Grid, affordable
from .source import Source, require

_BEGINNING = 2**20  # bytes that are looked at before anything is read
_NUL = (
    "{place} holds a NUL byte, so this is not a table of text; check the file, or name its format "
    "(format='parquet', ...)."
)


def read(source: Source, options: Options) -> Grid:
    text = _as_utf8(source, options.encoding)
    check_beginning(text)
    layout = sniff(text, options)
    if layout.delimiter == " ":
        text = _single_spaces(text)
    rows = int(text.size / layout.line / options.every)
    chosen, exact = affordable(text, layout.names, options, lambda names: rows * len(names))
    try:
        frame = frames.from_text(
            text,
            layout.names,
            chosen,
            exact,
            options.every,
            separator=layout.delimiter,
            skip_rows=layout.skip,
            decimal_comma=layout.decimal_comma,
        )
    except FileFormatError as error:
        raise FileFormatError(_explanation(text, layout) or str(error)) from None

    frame, kept, notes = _without_blank_lines(frame)
    last = layout.names[-1]
    gaps = options.missing != "error" and last in chosen and frame[last].null_count()
    if gaps and (problem := _explanation(text, layout)):  # a short row is no missing value
        raise FileFormatError(problem)

    def place(row: int) -> str:
        return _place(text, layout, (row if kept is None else int(kept[row])) * options.every)

    return Grid(frame, source.name, place, (*layout.notes, *notes))


def _without_blank_lines(frame: Any) -> tuple[Any, NDArray[np.intp] | None, list[str]]:
    """polars makes a row of nothing from an empty line; also the numbers of the rows kept."""
    if not frame.width or not len(frame) or not frame.to_series(0).null_count():
        return frame, None, []
    blank = np.ones(len(frame), bool)
    for column in frame.iter_columns():
        blank &= column.is_null().to_numpy()
        if not blank.any():
            return frame, None, []
    rows = np.flatnonzero(~blank)
    return frame[rows], rows, [f"Left out: {counted(int(blank.sum()), 'empty line')}."]


def _as_utf8(source: Source, encoding: str | None) -> Source:
    if encoding is None or encoding.lower().replace("-", "") in ("utf8", "utf8sig"):
        head = source.head(2**16)
        if b"\r" in head and b"\n" not in head:  # lines as Macintoshes once had them
            return Source(source.name, data=source.everything().replace(b"\r", b"\n"))
        return source
    require(source, {"text": 4 * source.size}, "Convert it to UTF-8 first (iconv).")
    try:
        return Source(source.name, data=source.everything().decode(encoding).encode())
    except (LookupError, UnicodeError) as error:
        raise FileFormatError(f"{source.name} is not encoded in {encoding!r}: {error}.") from None


def check_beginning(source: Source) -> None:
    """Binary files and other encodings show themselves in the first lines."""
    head = source.head(_BEGINNING)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileFormatError(
            f"{source.name} is encoded in UTF-16; read it with encoding='utf-16', or save it as "
            "UTF-8."
        )
    for number, line in enumerate(head.splitlines(keepends=True), 1):
        whole = line.endswith(b"\n") or len(head) == source.size  # no character is cut in two
        problem = _wrong_bytes(line, f"{source.name}, line {number}")
        if problem and (whole or b"\0" in line):
            raise FileFormatError(problem)


def _wrong_bytes(line: bytes, place: str) -> str:
    if b"\0" in line:
        return _NUL.format(place=place)
    try:
        line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return (
            f"{place}: byte {line[error.start]:#04x} at character {error.start + 1} is not UTF-8; "
            "if the file is in Latin-1 (older spreadsheets), read it with encoding='latin-1'."
        )
    return ""


def _single_spaces(source: Source) -> Source:
    """Columns that are aligned by spaces: one space each, none at the ends of lines."""
    require(source, {"text": 3 * source.size}, WAYS)
    text = re.sub(rb"[ \t]+", b" ", source.everything())
    return Source(source.name, data=re.sub(rb"(?m)^ | (?=\r?$)", b"", text))


def _records(source: Source, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each row, after comments and header."""

    def lines() -> Iterator[str]:
        with source.open() as file:
            for number, line in enumerate(file, 1):
                if problem := _wrong_bytes(line, f"{source.name}, line {number}"):
                    raise FileFormatError(problem)
                yield line.decode("utf-8-sig")

    reader = csv.reader(lines(), delimiter=layout.delimiter)
    start = 1
    for count, row in enumerate(reader):
        if count >= layout.skip:
            yield start, row
        start = reader.line_num + 1


def _explanation(source: Source, layout: Layout) -> str:
    """What is wrong with the first bad row; empty if all rows look well."""
    width, line = len(layout.names), 1
    try:
        for line, row in _records(source, layout):
            if row and len(row) != width:
                return f"{source.name}, line {line}: {_fields(row, layout)}."
    except csv.Error as error:
        return (
            f"{source.name}, line {line} cannot be split ({error}); is a quotation mark not closed?"
        )
    except FileFormatError as error:
        return str(error)
    return ""


def _fields(row: list[str], layout: Layout) -> str:
    return (
        f"{len(row)} fields where {len(layout.names)} are expected (the columns are separated by "
        f"{layout.delimiter!r}; another one is set by delimiter=...)"
    )


def _place(source: Source, layout: Layout, row: int) -> str:
    """Where that row is; a row that is too short is an error of its own."""
    try:
        line, fields = next(islice(_records(source, layout), row, None))
    except (csv.Error, StopIteration):
        return f"row {row}"
    if len(fields) < len(layout.names):
        raise FileFormatError(f"{source.name}, line {line}: {_fields(fields, layout)}.")
    return f"line {line}"
