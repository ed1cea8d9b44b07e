"""Parquet, Arrow (Feather) and JSON lines."""

from __future__ import annotations

import json
from typing import Any

from numpy.typing import NDArray

from ..errors import FileFormatError
from . import frames
from .options import Options, matching
from .roles import JUDGMENTS, feature_kind
from .rows import Grid, affordable
from .source import Source


def read_parquet(source: Source, options: Options) -> Grid:
    return _read(source, options, "parquet")


def read_arrow(source: Source, options: Options) -> Grid:
    return _read(source, options, "arrow")


def read_jsonl(source: Source, options: Options) -> Grid:
    _check_json(source, 100)
    try:
        grid = _read(source, options, "jsonl")
    except FileFormatError:
        _check_json(source, None)  # names the line
        raise
    return grid._replace(place=lambda row: f"line {row * options.every + 1}")


def _read(source: Source, options: Options, kind: str) -> Grid:
    lazy = frames.scan(source, kind)
    schema: Any = lazy.collect_schema()
    rows = 0 if kind == "jsonl" else -(-frames.height(source, lazy) // options.every)

    def cells(names: list[str]) -> int:
        if kind == "jsonl":  # a number takes some eight characters with its name
            return source.size // 8
        return sum(_width(schema[name]) for name in names) * rows

    parts = 1 if kind == "jsonl" else frames.PARTS
    chosen, exact = affordable(source, schema.names(), options, cells, parts)
    numeric = [] if kind == "jsonl" or not rows else _numeric(schema, chosen, exact, options)
    frame = frames.collected(
        source, lazy, [name for name in chosen if name not in set(numeric)], options.every
    )

    def later(names: list[str]) -> NDArray[Any]:
        return frames.filled(source, lazy, names, rows, options.every)

    def place(row: int) -> str:
        return f"row {row * options.every}"

    return Grid(frame, source.name, place, (), tuple(chosen), tuple(numeric), later)


def _numeric(schema: Any, chosen: list[str], exact: list[str], options: Options) -> list[str]:
    """Columns that can be nothing but features."""
    if options.gower or options.vector is not None:
        return []
    wanted = chosen if options.columns is None else matching(options.columns, chosen, "", "columns")
    others = {*exact, *JUDGMENTS}
    return [n for n in wanted if n not in others and feature_kind(schema[n]) == "number"]


def _width(dtype: Any) -> int:
    """Numbers per entry; of a list with a length of its own nothing is known."""
    size = getattr(dtype, "size", None)
    return size if isinstance(size, int) else 1


def _check_json(source: Source, most: int | None) -> None:
    """Each line is an object; polars would say where a damage is by its byte only."""
    with source.open() as file:
        for number, line in enumerate(file, 1):
            if most is not None and number > most:
                return
            if not line.strip():
                continue
            place = f"{source.name}, line {number}"
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise FileFormatError(
                    f"{place} is not JSON ({error}); each line is one object, {{...}}."
                ) from None
            if not isinstance(entry, dict):
                raise FileFormatError(f"{place} is {line[:40]!r}; expected an object, {{...}}.")
