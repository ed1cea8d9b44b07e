"""Read CSV, TSV and similar text; errors are named by line and column."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError
from . import frames
from .features import TABLE_REMEDY, ReadFrame, choose_columns
from .layout import Layout, sniff
from .options import Options, pluralize
from .source import Source, require_memory

if TYPE_CHECKING:
    from .frames import Frame

CHECKED_BYTES = 2**20  # Checked for NUL bytes and the encoding before anything is parsed.
_NUL_MESSAGE = (
    "{where} holds a NUL byte, so this is not a table of text; check the file, or name its format "
    "(format='parquet', ...)."
)


def read(source: Source, options: Options) -> ReadFrame:
    text = _convert_to_utf8(source, options.encoding)
    check_text(text)
    layout = sniff(text, options)
    if layout.delimiter == " ":
        text = _collapse_spaces(text)
    rows = int(text.size / layout.line_bytes / options.every)
    chosen, exact = choose_columns(text, layout.names, options, lambda names: rows * len(names))
    try:
        frame = frames.read_text(
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
        raise FileFormatError(_find_bad_row(text, layout) or str(error)) from None

    frames.check_texts(source, frame)
    frame, kept, notes = _drop_blank_lines(frame)
    last = layout.names[-1]
    gaps = options.missing != "error" and last in chosen and frame[last].null_count()
    # A short row is an error, not a missing value.
    if gaps and (problem := _find_bad_row(text, layout)):
        raise FileFormatError(problem)

    def locate(row: int) -> str:
        return _locate(text, layout, (row if kept is None else int(kept[row])) * options.every)

    return ReadFrame(frame, source.name, locate, (*layout.notes, *notes))


def _drop_blank_lines(frame: Frame) -> tuple[Frame, NDArray[np.intp] | None, list[str]]:
    """Drop the rows that polars makes from empty lines; also return the numbers of kept rows."""
    if not frame.width or not len(frame) or not frame.to_series(0).null_count():
        return frame, None, []
    blank = np.ones(len(frame), bool)
    for column in frame.iter_columns():
        blank &= column.is_null().to_numpy()
        if not blank.any():
            return frame, None, []
    rows = np.flatnonzero(~blank)
    return frame[rows], rows, [f"Left out: {pluralize(int(blank.sum()), 'empty line')}."]


def _convert_to_utf8(source: Source, encoding: str | None) -> Source:
    if encoding is None or encoding.lower().replace("-", "") in ("utf8", "utf8sig"):
        head = source.read_head(2**16)
        if b"\r" in head and b"\n" not in head:  # line ends of the classic Mac OS
            return source.replace_data(source.read_all().replace(b"\r", b"\n"))
        return source
    require_memory(source, {"text": 4 * source.size}, "Convert it to UTF-8 first (iconv).")
    try:
        return source.replace_data(source.read_all().decode(encoding).encode())
    except (LookupError, UnicodeError) as error:
        raise FileFormatError(f"{source.name} is not encoded in {encoding!r}: {error}.") from None


def check_text(source: Source) -> None:
    """Raise if the first lines show a binary file or another encoding."""
    head = source.read_head(CHECKED_BYTES)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileFormatError(
            f"{source.name} is encoded in UTF-16; read it with encoding='utf-16', or save it as "
            "UTF-8."
        )
    for number, line in enumerate(head.splitlines(keepends=True), 1):
        # Otherwise the sample may end within a character.
        whole = line.endswith(b"\n") or len(head) == source.size
        problem = _describe_wrong_bytes(line, f"{source.name}, line {number}")
        if problem and (whole or b"\0" in line):
            raise FileFormatError(problem)


def _describe_wrong_bytes(line: bytes, where: str) -> str:
    if b"\0" in line:
        return _NUL_MESSAGE.format(where=where)
    try:
        line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return (
            f"{where}: byte {line[error.start]:#04x} at character {error.start + 1} is not UTF-8; "
            "if the file is in Latin-1 (older spreadsheets), read it with encoding='latin-1'."
        )
    return ""


def _collapse_spaces(source: Source) -> Source:
    """Strip the lines and replace runs of spaces between aligned columns by one space."""
    require_memory(source, {"text": 3 * source.size}, TABLE_REMEDY)
    text = re.sub(rb"[ \t]+", b" ", source.read_all())
    return source.replace_data(re.sub(rb"(?m)^ | (?=\r?$)", b"", text))


def _iterate_records(source: Source, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each row, after comments and header."""

    def lines() -> Iterator[str]:
        with source.open() as file:
            for number, line in enumerate(file, 1):
                if problem := _describe_wrong_bytes(line, f"{source.name}, line {number}"):
                    raise FileFormatError(problem)
                yield line.decode("utf-8-sig")

    reader = csv.reader(lines(), delimiter=layout.delimiter)
    start = 1
    for count, row in enumerate(reader):
        if count >= layout.skip:
            yield start, row
        start = reader.line_num + 1


def _find_bad_row(source: Source, layout: Layout) -> str:
    """Describe the first bad row; return an empty text if there is none."""
    width, line = len(layout.names), 1
    try:
        for line, row in _iterate_records(source, layout):
            if row and len(row) != width:
                return f"{source.name}, line {line}: {_describe_fields(row, layout)}."
    except csv.Error as error:
        return (
            f"{source.name}, line {line} cannot be split ({error}); is a quotation mark not closed?"
        )
    except FileFormatError as error:
        return str(error)
    return ""


def _describe_fields(row: list[str], layout: Layout) -> str:
    return (
        f"{len(row)} fields where {len(layout.names)} are expected (the columns are separated by "
        f"{layout.delimiter!r}; another one is set by delimiter=...)"
    )


def _locate(source: Source, layout: Layout, row: int) -> str:
    """Return the line of a row; raise if the row is too short."""
    try:
        line, fields = next(islice(_iterate_records(source, layout), row, None))
    except (csv.Error, StopIteration):
        return f"row {row}"
    if len(fields) < len(layout.names):
        raise FileFormatError(f"{source.name}, line {line}: {_describe_fields(fields, layout)}.")
    return f"line {line}"
