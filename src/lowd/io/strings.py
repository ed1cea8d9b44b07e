"""A text file of strings, one per line, to be compared by edit distance."""

from __future__ import annotations

import numpy as np

from ..errors import FileFormatError
from .delimited import check_beginning
from .options import Options, counted
from .source import Source, require
from .table import Table

_LONGEST = 10_000  # characters; the table of two such strings has 10^8 entries


def read(source: Source, options: Options) -> Table:
    require(source, {"text": 6 * source.size}, "Use fewer lines.")
    if options.encoding is None:
        check_beginning(source)
    try:
        text = source.everything().decode(options.encoding or "utf-8-sig")
    except (LookupError, UnicodeError) as error:
        raise FileFormatError(f"{source.name} cannot be decoded: {error}.") from None
    lines = text.replace("\r", "\n").split("\n") if "\n" not in text else text.split("\n")
    lines = lines[:-1] if not lines[-1] else lines
    lines = lines[:: options.every]
    strings = [line.strip() for line in lines if line.strip()]
    if not strings:
        raise FileFormatError(f"{source.name} holds no strings.")
    longest = max(range(len(strings)), key=lambda row: len(strings[row]))
    if len(strings[longest]) > _LONGEST:
        raise FileFormatError(
            f"{source.name}: a line has {len(strings[longest])} characters, too many for edit "
            f"distances ({_LONGEST} at most); is it a table? Then say format='csv'."
        )
    notes = [f"{source.name}: {len(strings)} strings, to be compared by edit distance."]
    if len(strings) < len(lines):
        notes.append(f"Left out: {counted(len(lines) - len(strings), 'empty line')}.")
    return Table(
        strings,
        "strings",
        ("text",),
        np.array(strings),
        source=source.name,
        notes=tuple(notes),
        id_name="text",
    )
