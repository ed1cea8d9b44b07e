"""What a command says: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import LowdWarning
from .exits import sentence_of


class Talk:
    """The voice of one run."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.json = bool(given.get("json"))
        self.quiet = bool(given.get("quiet"))
        self.verbose = bool(given.get("verbose"))
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.columns: Sequence[str] = ()  # of the file that is worked on

    @property
    def shows_bar(self) -> bool:
        """A bar is for somebody who looks at it."""
        return not self.quiet and (sys.stderr.isatty() or self.verbose)

    def say(self, sentence: str) -> None:
        if not self.quiet:
            print(sentence, file=sys.stderr)

    def note(self, *sentences: str) -> None:
        """Said now, and kept for the JSON document."""
        for sentence in sentences:
            self.notes.append(sentence)
            self.say(f"note: {sentence}")

    def named(self, sentence: str) -> str:
        """The sentence with the names of columns, where a method saw their numbers only."""
        names = self.columns
        return re.sub(
            r"\bcolumn (\d+)\b",
            lambda found: f"column {names[int(found[1])]!r}" if names else found[0],
            sentence,
        )

    def detail(self, sentence: str) -> None:
        if self.verbose:
            self.say(sentence)

    def fail(self, error: BaseException) -> None:
        if isinstance(error, BrokenPipeError):
            # Python would complain once more when it flushes at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        if self.verbose:
            traceback.print_exception(error, file=sys.stderr)
        print(f"lowd: {sentence_of(error)}", file=sys.stderr)

    def result(self, document: dict[str, Any], text: str, piped: bool = False) -> None:
        """The outcome: one JSON document, or the text for people, which makes way for a map."""
        if self.json:
            document |= {"warnings": self.warnings, "notes": self.notes}
            json.dump(plain(document), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
            sys.stdout.write("\n")
        elif text and not self.quiet:
            print(text.rstrip("\n"), file=sys.stderr if piped else sys.stdout)
        sys.stdout.flush()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """The library's warnings within become sentences; those of others only if verbose."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                for warning in caught:
                    if self.verbose or issubclass(warning.category, LowdWarning):
                        self.warnings.append(self.named(" ".join(str(warning.message).split())))
        for sentence in dict.fromkeys(self.warnings):
            self.say(f"warning: {sentence}")


def plain(value: Any) -> Any:
    """Values JSON has: NumPy's become Python's, infinities and NaN become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], wide: bool = True) -> str:
    """Rows in a table as wide as the terminal."""
    from io import StringIO

    from rich import box
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=wide)
    for number, name in enumerate(header):
        grid.add_column(name, no_wrap=number == 0, overflow="fold")
    for row in rows:
        grid.add_row(*(item.replace("[", r"\[") for item in row))
    width = None if sys.stdout.isatty() else 100
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(grid)
    text = console.file.getvalue()
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
