"""Detect the layout of a text table: delimiter, header and decimal sign."""

from __future__ import annotations

import csv
import re
from collections import Counter
from typing import NamedTuple

from ..errors import DataError, FileFormatError
from .frames import MISSING_WORDS
from .options import Options, pluralize, quote_names
from .source import Source

_SAMPLE_BYTES = 2**20  # Bytes read to detect the layout.
_MAX_HEADER_BYTES = 2**24  # Enough for a header of a million columns.
_SAMPLE_LINES = 50  # Lines split to detect the layout.
# Fewer numbers that count up may be a row; from this many on they are a header.
_MIN_COUNTED_NAMES = 10
# A semicolon goes before a comma, which may be a decimal sign; a space comes last.
_DELIMITERS = ("\t", ";", ",", "|", " ")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_DELIMITER_NAMES = {"\t": "a tab", " ": "a space"}


class Layout(NamedTuple):
    """Layout of a text table."""

    delimiter: str
    names: tuple[str, ...]
    skip: int  # records before the first row: comments and the header
    decimal_comma: bool
    line_bytes: float  # mean length of a line
    notes: tuple[str, ...]


def sniff(source: Source, options: Options) -> Layout:
    """Find delimiter, header and names: as given, or from the first lines."""
    text = _read_first_lines(source)
    comments = _count_comments(text)
    lines = text[comments:][: _SAMPLE_LINES + 1]
    if not any(line.strip() for line in lines):
        raise FileFormatError(f"{source.name} holds no rows.")
    delimiter = options.delimiter or _detect_delimiter(lines, source.suffix)
    rows = _split(lines, delimiter)
    _check_delimiter(source, options.delimiter, lines, rows)
    header = _is_header(rows) if options.header is None else options.header
    body = rows[1:] if header else rows
    width = _find_width(body) if body else len(rows[0])
    if header and not body:
        raise FileFormatError(f"{source.name} holds a header and no rows.")
    names, name_notes = _name_columns(source, rows[0] if header else None, width)
    found = [f"{_DELIMITER_NAMES.get(delimiter, repr(delimiter))} separates the columns"]
    found += ["the first line names them" if header else "no line names them"]
    decimal = delimiter != "," and _has_decimal_comma(body)
    found += ["the decimal sign is a comma"] if decimal else []
    mean = sum(len(line.encode()) + 1 for line in lines) / len(lines)
    notes = (f"{source.name}: {', '.join(found)}.", *name_notes)
    return Layout(delimiter, names, comments + header, decimal, mean, notes)


def _read_first_lines(source: Source) -> list[str]:
    """Return the complete lines at the beginning."""
    head = source.read_head(_SAMPLE_BYTES)
    if head.count(b"\n") < 2 and source.size > _SAMPLE_BYTES:
        head = source.read_head(_MAX_HEADER_BYTES)
        if b"\n" not in head and source.size > _MAX_HEADER_BYTES:
            raise FileFormatError(
                f"{source.name}: the first line is longer than 16 MiB, so this is hardly a table "
                "of text; check the file, or name its format (format='parquet', ...)."
            )
    lines = [line.rstrip("\r") for line in head.decode("utf-8-sig", "replace").split("\n")]
    return lines[:-1] if source.size > len(head) and len(lines) > 1 else lines


def _count_comments(lines: list[str]) -> int:
    """Count comments and empty lines at the beginning."""
    count = 0
    while count < len(lines) and (lines[count].startswith("#") or not lines[count].strip()):
        count += 1
    return count


def _detect_delimiter(lines: list[str], suffix: str) -> str:
    order = ("\t", *_DELIMITERS) if suffix in (".tsv", ".tab") else _DELIMITERS
    widths = {mark: Counter(map(len, _split(lines[:_SAMPLE_LINES], mark))) for mark in order}
    for mark, seen in widths.items():
        width, count = seen.most_common(1)[0]
        if width > 1 and count >= 0.8 * seen.total():
            return mark
    best = max(order, key=lambda mark: max(widths[mark]))  # if ragged, a bad row is named later
    return best if max(widths[best]) > 1 else ","


def _check_delimiter(
    source: Source, given: str | None, lines: list[str], rows: list[list[str]]
) -> None:
    if given is None or _find_width(rows) > 1:
        return
    better = _detect_delimiter(lines, source.suffix)
    if (width := _find_width(_split(lines, better))) > 1:
        raise DataError(
            f"{source.name}: delimiter={given!r} makes one column only, while {better!r} makes "
            f"{width}; say delimiter={better!r}, or leave it out."
        )


def _split(lines: list[str], delimiter: str) -> list[list[str]]:
    if delimiter == " ":
        lines = [" ".join(line.split()) for line in lines]
    try:
        ended = (f"{line}\n" for line in lines)
        return [row for row in csv.reader(ended, delimiter=delimiter) if row]
    except csv.Error:
        return [line.split(delimiter) for line in lines]


def _find_width(rows: list[list[str]]) -> int:
    return Counter(map(len, rows)).most_common(1)[0][0]


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return bool(_DECIMAL_COMMA.fullmatch(cell))
    return True


def _is_header(rows: list[list[str]]) -> bool:
    """Words and no numbers; the counts 0, 1, 2, ... that stand for names; or numbers as names.

    Numbers are names after an empty cell, above the names or the counts of the rows.
    """
    first = [cell.strip() for cell in rows[0]]
    numbers = [cell for cell in first if is_number(cell)]
    if not numbers:
        return any(cell not in MISSING_WORDS for cell in first)
    indexed = first[0] in MISSING_WORDS  # the index of a data frame has no name
    counted = first[1:] if indexed else first
    named = [row[0].strip() for row in rows[1:]]
    if indexed and len(named) > 1 and (named == counted[: len(named)] or _is_counted(named)):
        return len(set(counted)) == len(counted)
    minimum = 2 if indexed else _MIN_COUNTED_NAMES
    return len(counted) >= minimum and _is_counted(counted)


def _is_counted(cells: list[str]) -> bool:
    """Whether the numbers are 0, 1, 2, ... or 1, 2, 3, ..."""
    return cells[:2] in (["0", "1"], ["1", "2"]) and all(
        cell == str(j + int(cells[0])) for j, cell in enumerate(cells)
    )


def _has_decimal_comma(rows: list[list[str]]) -> bool:
    cells = [cell for row in rows for cell in row]
    commas = sum(bool(_DECIMAL_COMMA.fullmatch(cell)) for cell in cells)
    points = sum("." in cell and is_number(cell) for cell in cells)
    return commas > 0 and points == 0


def _name_columns(
    source: Source, header: list[str] | None, width: int
) -> tuple[tuple[str, ...], list[str]]:
    if header is None:
        return tuple(f"x{j}" for j in range(width)), []
    names, notes = [name.strip() for name in header], []
    if len(names) == width - 1:  # R does not name the column of row names
        names.insert(0, "")
    if len(names) != width:
        raise FileFormatError(
            f"{source.name}: the header has {pluralize(len(names), 'name')}, but the rows have "
            f"{pluralize(width, 'field')}; correct it, or say header=False or delimiter=... ."
        )
    if unnamed := [j for j, name in enumerate(names) if not name]:
        names = [name or ("index" if j == 0 else f"x{j}") for j, name in enumerate(names)]
        notes.append(f"Columns without a name are called {quote_names(names[j] for j in unnamed)}.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{source.name}: two columns are named {twice[0]!r}; rename one of them.")
    return tuple(names), notes


def looks_like_table(source: Source) -> bool:
    """Do the first lines split into the same number of fields, or hold one number each?"""
    lines = [
        line for line in _read_first_lines(source) if line.strip() and not line.startswith("#")
    ][:_SAMPLE_LINES]
    if not lines:
        return True
    rows = _split(lines, _detect_delimiter(lines, source.suffix))
    width = _find_width(rows)
    if width == 1:
        return all(is_number(row[0]) for row in rows[1:] or rows)
    same = sum(len(row) == width for row in rows)
    numbers = any(is_number(cell) for row in rows[1:] or rows for cell in row)
    return same >= 0.9 * len(rows) and numbers
