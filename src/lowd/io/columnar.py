"""Read Parquet, Arrow (Feather), JSON lines, and JSON documents of records."""

from __future__ import annotations

import json
from typing import Any

from ..errors import FileFormatError
from . import frames
from .features import ReadFrame, choose_columns
from .options import Options
from .source import Source, require_memory

# Checked before polars reads the file: enough to see that it is not JSON lines.
CHECKED_JSON_LINES = 100
JSON_BYTES_PER_NUMBER = 8  # A number and its name take about eight characters.
MEMORY_PER_JSON_BYTE = 12  # of Python's objects for a document


def read_parquet(source: Source, options: Options) -> ReadFrame:
    return _read(source, options, "parquet")


def read_arrow(source: Source, options: Options) -> ReadFrame:
    return _read(source, options, "arrow")


def read_jsonl(source: Source, options: Options) -> ReadFrame:
    _check_json(source, CHECKED_JSON_LINES)
    try:
        found = _read(source, options, "jsonl")
    except FileFormatError:
        _check_json(source, None)  # raises an error that names the line
        _require_memory(source)  # objects of different types, which polars does not take
        records = [json.loads(line) for line in source.read_all().split(b"\n") if line.strip()]
        return _make_frame(source, records, options)
    return found._replace(locate=lambda row: f"line {row * options.every + 1}")


def read_json(source: Source, options: Options) -> ReadFrame:
    """A list of records, an object that holds one such list, or columns by name."""
    _require_memory(source)
    try:
        found = json.loads(source.read_all().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if source.read_head(2**16).partition(b"\n")[0].rstrip().endswith(b"}"):
            return read_jsonl(source, options)  # lines of objects are often called .json
        raise FileFormatError(f"{source.name} is not JSON ({error}).") from None
    if isinstance(found, dict):
        lists = [held for held in found.values() if _is_list_of_records(held)]
        columns = [held for held in found.values() if isinstance(held, list | dict)]
        sizes = {len(held) for held in columns}
        if len(lists) == 1:
            found = lists[0]
        elif len(columns) == len(found) and len(sizes) == 1 and 0 not in sizes:
            rows = [held if isinstance(held, list) else list(held.values()) for held in columns]
            found = [dict(zip(found, row, strict=True)) for row in zip(*rows, strict=True)]
    if isinstance(found, list) and found and all(isinstance(row, list) for row in found):
        found = [{f"x{j}": cell for j, cell in enumerate(row)} for row in found]
    if not _is_list_of_records(found):
        raise FileFormatError(
            f"{source.name} holds no table; a list of objects is expected, "
            '[{"name": value, ...}, ...], or columns by name.'
        )
    return _make_frame(source, found, options)


def _require_memory(source: Source) -> None:
    need = {"objects": MEMORY_PER_JSON_BYTE * source.size}
    require_memory(source, need, "Write one object per line, and call it .jsonl.")


def _is_list_of_records(found: object) -> bool:
    return isinstance(found, list) and bool(found) and all(isinstance(row, dict) for row in found)


def _make_frame(source: Source, records: list[dict[str, Any]], options: Options) -> ReadFrame:
    """Records as columns of text, which are read as those of a CSV file; nested ones by a dot."""
    rows = [_flatten(record) for record in records[:: options.every]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(names) * len(rows) > source.max_bytes:
        raise FileFormatError(
            f"{source.name}: the records have {len(names)} different names; a table is expected."
        )
    chosen = choose_columns(source, names, options, lambda names: len(names) * len(rows))
    frame = frames.make_columns({n: [row.get(n) for row in rows] for n in chosen})
    return ReadFrame(frame, source, lambda row: f"record {row * options.every + 1}", "records")


def _flatten(record: dict[str, Any]) -> dict[str, str | None]:
    flat: dict[str, str | None] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            parts = {f"{name}.{inner}": held for inner, held in value.items()}
        else:
            parts = {name: value}
        for key, held in parts.items():
            is_text = held is None or isinstance(held, str)
            flat[key] = held if is_text else json.dumps(held)
    return flat


def _read(source: Source, options: Options, kind: str) -> ReadFrame:
    lazy = frames.scan(source, kind)
    schema = lazy.collect_schema()
    rows = 0 if kind == "jsonl" else -(-frames.count_rows(source, lazy) // options.every)

    def cells(names: list[str]) -> int:
        if kind == "jsonl":
            return source.size // JSON_BYTES_PER_NUMBER
        # Lists of varying length count as one number: their type does not say how long they are.
        sizes = (getattr(schema[name], "size", None) for name in names)
        return sum(size if isinstance(size, int) else 1 for size in sizes) * rows

    chosen = choose_columns(source, schema.names(), options, cells)
    frame = frames.collect_columns(source, lazy, chosen, options.every)
    return ReadFrame(frame, source, lambda row: f"row {row * options.every}")


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
