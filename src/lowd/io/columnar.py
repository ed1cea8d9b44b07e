"""Read Parquet, Arrow (Feather) and JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import FileFormatError
from ..input.integers import LargeInteger
from . import frames
from .features import ReadFrame, choose_columns
from .options import Options, match_columns
from .roles import QUALITY_COLUMNS, get_column_kind
from .source import Source
from .table import Column

if TYPE_CHECKING:
    from .frames import DataType

# Checked before polars reads the file: enough to see that it is not JSON lines.
CHECKED_JSON_LINES = 100
JSON_BYTES_PER_NUMBER = 8  # A number and its name take about eight characters.


def read_parquet(source: Source, options: Options) -> ReadFrame:
    return _read(source, options, "parquet")


def read_arrow(source: Source, options: Options) -> ReadFrame:
    return _read(source, options, "arrow")


def read_jsonl(source: Source, options: Options) -> ReadFrame:
    _check_json(source, CHECKED_JSON_LINES)
    try:
        grid = _read(source, options, "jsonl")
    except FileFormatError:
        _check_json(source, None)  # raises an error that names the line
        raise
    return grid._replace(locate=lambda row: f"line {row * options.every + 1}")


def _read(source: Source, options: Options, kind: str) -> ReadFrame:
    lazy = frames.scan(source, kind)
    schema = lazy.collect_schema()
    rows = 0 if kind == "jsonl" else -(-frames.count_rows(source, lazy) // options.every)

    def cells(names: list[str]) -> int:
        if kind == "jsonl":
            return source.size // JSON_BYTES_PER_NUMBER
        return sum(_count_numbers(schema[name]) for name in names) * rows

    parts = 1 if kind == "jsonl" else frames.MATRIX_PARTS
    chosen, exact = choose_columns(source, schema.names(), options, cells, parts)
    numeric = [] if kind == "jsonl" or not rows else _list_numeric(schema, chosen, exact, options)
    frame = frames.collect_columns(
        source, lazy, [name for name in chosen if name not in set(numeric)], options.every
    )
    frames.check_texts(source, frame)

    def read_numeric(names: list[str]) -> tuple[Column, list[LargeInteger]]:
        return frames.read_matrix(source, lazy, names, rows, options.every)

    def locate(row: int) -> str:
        return f"row {row * options.every}"

    return ReadFrame(frame, source.name, locate, (), tuple(chosen), tuple(numeric), read_numeric)


def _list_numeric(
    schema: Mapping[str, DataType], chosen: list[str], exact: list[str], options: Options
) -> list[str]:
    """Columns that can only be features."""
    if options.gower or options.vector is not None:
        return []
    wanted = (
        chosen if options.columns is None else match_columns(options.columns, chosen, "", "columns")
    )
    others = {*exact, *QUALITY_COLUMNS}
    return [n for n in wanted if n not in others and get_column_kind(schema[n]) == "number"]


def _count_numbers(dtype: DataType) -> int:
    """How many numbers an entry holds, as far as its type says: 1 for lists of varying length."""
    size = getattr(dtype, "size", None)
    return size if isinstance(size, int) else 1


def _check_json(source: Source, max_lines: int | None) -> None:
    """Check that each line is an object, because polars gives only the byte of an error."""
    with source.open() as file:
        for number, line in enumerate(file, 1):
            if max_lines is not None and number > max_lines:
                return
            if not line.strip():
                continue
            where = f"{source.name}, line {number}"
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise FileFormatError(
                    f"{where} is not JSON ({error}); each line is one object, {{...}}."
                ) from None
            if not isinstance(entry, dict):
                raise FileFormatError(f"{where} is {line[:40]!r}; expected an object, {{...}}.")
