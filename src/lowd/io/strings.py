"""Read a text file of strings, one per line, for edit distances."""

from __future__ import annotations

import numpy as np

from ..errors import FileFormatError
from .delimited import check_text
from .options import Options, pluralize
from .source import Source, require_memory
from .table import Table

MAX_STRING_CHARACTERS = 10_000  # The edit-distance table of two such strings has 10^8 entries.


def read(source: Source, options: Options) -> Table:
    require_memory(source, {"text": 6 * source.size}, "Use fewer lines.")
    if options.encoding is None:
        check_text(source)
    try:
        text = source.read_all().decode(options.encoding or "utf-8-sig")
    except (LookupError, UnicodeError) as error:
        raise FileFormatError(f"{source.name} cannot be decoded: {error}.") from None
    lines = text.replace("\r", "\n").split("\n") if "\n" not in text else text.split("\n")
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
