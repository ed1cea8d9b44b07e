"""Read CSV, TSV and similar text, and strings; errors are named by line and column."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, FileFormatError
from . import frames
from .features import TABLE_REMEDY, ReadFrame, choose_columns
from .layout import (
    BLANKS,
    BODY_LINES,
    Layout,
    count_footer_lines,
    find_delimiter,
    find_layout,
    split,
)
from .options import Options
from .source import Source, require_memory
from .table import Table
from .words import is_number, pluralize, quote

if TYPE_CHECKING:
    from .frames import Frame

_HEAD_BYTES = (2**18, 2**21, 2**24)  # Read until there are enough lines to find the layout.
_ENOUGH_LINES = 20
_FOOTER_ROWS = 40  # Last rows among which a footer is looked for.
_CHUNK_BYTES = 2**22
BYTES_PER_CELL = 40  # text, number and matrix
MAX_STRING_CHARACTERS = 10_000  # The edit-distance table of two such strings has 10^8 entries.
_BOMS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def read(source: Source, options: Options) -> ReadFrame:
    text, encoding = _convert_to_utf8(source, options.encoding)
    layout = _find_layout(text, options)
    if layout.delimiter in (" ", BLANKS):
        text = _collapse_spaces(text, layout.delimiter)
    records = _Records(text, layout, options.every)
    names = list(layout.names) + [""] * (layout.width > len(layout.names))
    lines = _read_head(text).count(b"\n") or 1
    rows = int(lines * text.size / len(_read_head(text)) / options.every)
    chosen = choose_columns(
        text, layout.names, options, lambda names: rows * len(names), BYTES_PER_CELL
    )
    try:
        frame = frames.read_text(
            text,
            names,
            chosen + names[len(layout.names) :],
            options.every,
            separator=layout.mark,
            skip_lines=layout.first - 1,
        )
    except FileFormatError as error:
        raise FileFormatError(records.find_bad() or str(error)) from None
    # A short row is an error, not a missing value, and so is a cell after the last name.
    last, notes = names[-1], list(layout.notes)
    count = count_footer_lines(frame.tail(_FOOTER_ROWS).rows()) if options.every == 1 else 0
    if last in frame.columns and (frame.get_column(last).null_count() or last == ""):
        if problem := records.find_bad(count):
            raise FileFormatError(problem)
        frame = frame.drop("") if last == "" else frame
    if count:
        shown = " ".join(cell for cell in frame.row(len(frame) - count) if cell)
        notes.append(f"{pluralize(count, 'line')} below the table left out: {quote(shown)}.")
        frame = frame.head(len(frame) - count)
    frame, records.kept = _drop_blank_rows(frame)
    form = layout.form + (f", {encoding}" if encoding != "utf-8" else "")
    return ReadFrame(
        frame,
        source,
        records.locate,
        form,
        tuple(notes),
        layout.doubts,
        layout.units,
        layout.declared,
        frozenset(chosen.index(layout.names[j]) for j in layout.quoted if layout.names[j] in chosen)
        if max(layout.quoted, default=-1) < len(layout.names)
        else frozenset(),
    )


class _Records:
    """The records of a text from its first row on, and where they are in the file."""

    def __init__(self, source: Source, layout: Layout, every: int) -> None:
        self._source, self._layout, self._every = source, layout, every
        self.kept: NDArray[np.intp] | None = None  # the rows that hold something

    def locate(self, row: int) -> str:
        number = (row if self.kept is None else int(self.kept[row])) * self._every
        return f"line {self._lines[number]}" if number < len(self._lines) else f"row {row}"

    @cached_property
    def _lines(self) -> list[int]:
        try:
            return [line for line, _ in self]
        except (csv.Error, FileFormatError):
            return []

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        with self._source.open() as file:
            for _ in range(self._layout.first - 1):
                file.readline()
            lines = (line.decode("utf-8-sig", "replace") for line in file)
            reader = csv.reader(lines, delimiter=self._layout.mark)
            start = self._layout.first
            for cells in reader:
                yield start, cells
                start = self._layout.first + reader.line_num

    def find_bad(self, footer: int = 0) -> str:
        """Describe the first row of another width; return an empty text if there is none.

        So many of the last lines may be short, as they are remarks below the table.
        """
        width, line, seen = self._layout.width, self._layout.first, 0
        least = min(width, len(self._layout.names))
        last = [(0, 0)] * 0
        try:
            for line, cells in self:
                seen += 1
                if len(cells) > width or any(cell.strip() for cell in cells[least:]):
                    return self._describe(line, cells)
                if cells and len(cells) < least and any(cell.strip() for cell in cells):
                    last.append((line, len(cells)))
                elif last and cells:
                    return self._describe(*last[0])
        except csv.Error as error:
            return (
                f"{self._source.name}, line {line} cannot be split ({error}); is a quotation mark "
                "not closed?"
            )
        if last and (len(last) == seen or (len(last) > footer and self._every == 1)):
            return self._describe(*last[0])
        return ""

    def _describe(self, line: int, cells: list[str] | int) -> str:
        count = cells if isinstance(cells, int) else len(cells)
        return (
            f"{self._source.name}, line {line}: {pluralize(count, 'field')} where "
            f"{len(self._layout.names)} are expected (the columns are separated by "
            f"{self._layout.delimiter!r}; another one is set by delimiter=..., skip=... leaves out "
            "lines above the table, and remarks below it are left out where they are text)"
        )


def _find_layout(source: Source, options: Options) -> Layout:
    text, whole = _read_lines(source)
    layout = find_layout(text, options.delimiter, options.header, options.skip, whole)
    if layout is None:
        raise FileFormatError(f"{source.name} holds no rows.")
    if options.delimiter is not None and layout.width == 1:
        better = find_delimiter(text.split("\n"))
        found = find_layout(text, better, options.header, options.skip, whole)
        if found is not None and found.width > 1:
            raise DataError(
                f"{source.name}: delimiter={options.delimiter!r} makes one column only, while "
                f"{better!r} makes {found.width}; say delimiter={better!r}, or leave it out."
            )
    if layout.header and whole and len(split(text.split("\n"), layout.delimiter)) < 2:
        raise FileFormatError(
            f"{source.name} holds a header and no rows (header=False takes it for a row)."
        )
    return layout


def _read_head(source: Source) -> bytes:
    """The first bytes, with enough lines if there are so many."""
    head = b""
    for size in _HEAD_BYTES:
        head = source.read_head(size)
        if head.count(b"\n") >= _ENOUGH_LINES or len(head) < size:
            break
    if b"\n" not in head and source.size > len(head):
        raise FileFormatError(
            f"{source.name}: the first line is longer than 16 MiB, so this is hardly a table "
            "of text; check the file, or name its format (format='parquet', ...)."
        )
    return head


def _read_lines(source: Source) -> tuple[str, bool]:
    """The first lines, and whether they are all."""
    head = _read_head(source)
    return head.decode("utf-8-sig", "replace"), len(head) == source.size


def _drop_blank_rows(frame: Frame) -> tuple[Frame, NDArray[np.intp] | None]:
    """Drop the rows that hold nothing, as empty lines do; also return the numbers of the others."""
    if not frame.width or not len(frame) or not frame.to_series(0).null_count():
        return frame, None
    blank = np.ones(len(frame), bool)
    for column in frame.iter_columns():
        blank &= column.is_null().to_numpy()
        if not blank.any():
            return frame, None
    rows = np.flatnonzero(~blank)
    return frame[rows], rows


def _convert_to_utf8(source: Source, encoding: str | None) -> tuple[Source, str]:
    """The text in UTF-8 with usual line ends, and the encoding that it had."""
    head = source.read_head(2**16)
    named = encoding or next((name for bom, name in _BOMS.items() if head.startswith(bom)), None)
    if named is None or named.lower().replace("-", "") in ("utf8", "utf8sig"):
        if _is_utf8(source):
            if b"\r" in head and b"\n" not in head:  # line ends of the classic Mac OS
                source = source.replace_data(source.read_all().replace(b"\r", b"\n"))
            return source, "utf-8"
        if named is not None:
            raise FileFormatError(f"{source.name} is not encoded in {named!r}.")
        named = "windows-1252"  # older spreadsheets; it has no impossible text, so it is said
    require_memory(source, {"text": 4 * source.size}, "Convert it to UTF-8 first (iconv).")
    try:
        errors = "replace" if encoding is None and named == "windows-1252" else "strict"
        return source.replace_data(source.read_all().decode(named, errors).encode()), named
    except (LookupError, UnicodeError) as error:
        raise FileFormatError(f"{source.name} is not encoded in {named!r}: {error}.") from None


def _is_utf8(source: Source) -> bool:
    """Whether all of it is UTF-8; a NUL byte is no text at all."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines, is_valid, chunk = 1, True, b" "
    with source.open() as file:
        while chunk:
            chunk = file.read(_CHUNK_BYTES)
            if b"\0" in chunk:
                line = lines + chunk[: chunk.index(b"\0")].count(b"\n")
                raise FileFormatError(
                    f"{source.name}, line {line} holds a NUL byte, so this is not a table of text; "
                    "check the file, or name its format (format='parquet', ...)."
                )
            lines += chunk.count(b"\n")
            if is_valid:
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError:
                    is_valid = False
    return is_valid


def _collapse_spaces(source: Source, delimiter: str) -> Source:
    """Strip the lines; replace the blanks between aligned columns by one space, or by a tab."""
    require_memory(source, {"text": 3 * source.size}, TABLE_REMEDY)
    text = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", source.read_all())
    if delimiter == BLANKS:
        return source.replace_data(re.sub(rb"[ \t]{2,}|\t", b"\t", text))
    return source.replace_data(re.sub(rb"[ \t]+", b" ", text))


def looks_like_table(source: Source) -> bool:
    """Do the first lines split into the same number of fields, or hold one number each?"""
    text, _ = _read_lines(source)
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    lines = lines[:BODY_LINES]
    if not lines:
        return True
    rows = [line.cells for line in split(lines, find_delimiter(lines))]
    widths = [len(row) for row in rows] or [1]
    width = max(set(widths), key=widths.count)
    if width == 1:
        return all(is_number(row[0]) for row in rows[1:] or rows)
    numbers = any(is_number(cell) for row in rows[1:] or rows for cell in row)
    return widths.count(width) >= 0.9 * len(rows) and numbers


def read_strings(source: Source, options: Options) -> Table:
    """A text file of strings, one per line, for edit distances."""
    require_memory(source, {"text": 6 * source.size}, "Use fewer lines.")
    text, _ = _convert_to_utf8(source, options.encoding)
    lines = text.read_all().decode("utf-8-sig").split("\n")
    lines = lines[:-1] if not lines[-1] else lines
    lines = lines[:: options.every]
    strings = [line.strip() for line in lines if line.strip()]
    if not strings:
        raise FileFormatError(f"{source.name} holds no strings.")
    longest = max(range(len(strings)), key=lambda row: len(strings[row]))
    if len(strings[longest]) > MAX_STRING_CHARACTERS:
        raise FileFormatError(
            f"{source.name}: a line has {len(strings[longest])} characters, too many for edit "
            f"distances ({MAX_STRING_CHARACTERS} at most); is it a table? Then say format='csv'."
        )
    notes = [f"{source.name}: {len(strings)} strings, to be compared by edit distance."]
    if len(strings) < len(lines):
        notes.append(f"Left out: {pluralize(len(lines) - len(strings), 'empty line')}.")
    return Table(
        strings,
        "strings",
        ("text",),
        np.array(strings),
        source=source.name,
        notes=tuple(notes),
        id_name="text",
    )
