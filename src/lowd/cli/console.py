"""What a command prints, and its exit code.

Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from itertools import zip_longest
from shutil import get_terminal_size
from textwrap import wrap
from typing import TypeAlias

from ..errors import (
    BackendUnavailableError,
    Cancelled,
    DataError,
    LowdError,
    LowdWarning,
    MissingPackageError,
    NotEnoughMemoryError,
    ParameterError,
    StoreError,
    UnsupportedError,
)
from .options import Arguments
from .wording import Wording

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"


class Console:
    """Printed messages, warnings and results of one command."""

    def __init__(
        self, arguments: Arguments, options: Sequence[str] = (), method: str | None = None
    ) -> None:
        self._wording = Wording(options, method)
        self.json = bool(arguments.get("json"))
        self.quiet = bool(arguments.get("quiet"))
        self.verbose = bool(arguments.get("verbose"))
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.reading: dict[str, object] | None = None  # how the data were read
        self.columns: Sequence[str] = ()  # columns of the file that is read

    @property
    def shows_bar(self) -> bool:
        """Whether to show a progress bar: on a terminal, or if details are asked for."""
        return not self.quiet and (sys.stderr.isatty() or self.verbose)

    def print(self, message: str) -> None:
        """Print a message on standard error, unless --quiet."""
        if not self.quiet:
            print(message, file=sys.stderr)

    def describe(self, *lines: str) -> None:
        """Print how a file was read, and keep it for the JSON document."""
        for line in map(self.word, lines):
            self.notes.append(line)
            self.print(line)

    def note(self, *messages: str) -> None:
        """Print notes now, and keep them for the JSON document."""
        for message in map(self.word, messages):
            self.notes.append(message)
            self.print(f"note: {message}")

    def word(self, message: str, parameter: str = "") -> str:
        """Reword a message with flags and names of columns."""
        return self._wording(message, parameter, self.columns)

    def print_error(self, error: BaseException, message: str) -> None:
        """Print why a command failed; with --verbose, the traceback too."""
        if isinstance(error, BrokenPipeError):
            # Otherwise Python would complain again when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        if self.verbose:
            traceback.print_exception(error, file=sys.stderr)
        message = self.word(message, getattr(error, "parameter", ""))
        print(f"lowd: {message}", file=sys.stderr)

    def print_result(self, document: dict[str, object], text: str, piped: bool = False) -> None:
        """Print the result: one JSON document, or the text for people.

        The text goes to standard error where the embedding is piped to standard output.
        """
        if self.json:
            first = {} if self.reading is None else {"reading": self.reading}
            document = {**first, **document, "warnings": self.warnings, "notes": self.notes}
            json.dump(to_json(document), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
            sys.stdout.write("\n")
        elif text and not self.quiet:
            print(text.rstrip("\n"), file=sys.stderr if piped else sys.stdout)
        sys.stdout.flush()

    @contextmanager
    def capture_warnings(self) -> Iterator[None]:
        """Turn the library's warnings into messages, and those of other packages if verbose."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                for warning in caught:
                    if self.verbose or issubclass(warning.category, LowdWarning):
                        message = " ".join(str(warning.message).split())
                        self.warnings.append(self.word(message))
        for message in dict.fromkeys(self.warnings):
            self.print(f"warning: {message}")


def to_json(value: object) -> JSON:
    """Convert to values that JSON has: NumPy's become Python's, infinities and NaN become null."""
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        return to_json(value.tolist())
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def get_width() -> int:
    """The width of the terminal, or 100 characters where there is none."""
    return get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A text table as wide as the terminal: cells are wrapped, but for those of the first column.

    >>> print(format_table(("name", "size"), [("a", "1"), ("long", "2")]))
    name  size
    ──────────
    a     1
    long  2
    """
    table = [tuple(header)] * bool(header) + [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > get_width() and max(widths[1:]) > 12:
        widths[1 + widths[1:].index(max(widths[1:]))] -= 1
    lines = []
    for number, row in enumerate(table):
        parts = [[row[0]], *(wrap(cell, w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        for words in zip_longest(*parts, fillvalue=""):
            cells = (f"{word:{width}}" for word, width in zip(words, widths, strict=True))
            lines.append("  ".join(cells).rstrip())
        if header and not number:
            lines.append("─" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)


class ExitCode(IntEnum):
    """Exit codes of `lowd` (see docs/command-line.md)."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DATA = 3
    MEMORY = 4
    EXISTS = 5
    MISSING_PACKAGE = 6
    INTERRUPTED = 130
    BROKEN_PIPE = 141  # like the exit code of a shell for `yes | head`


# The first class that matches counts, so special classes stand above general ones.
_CODES: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (BrokenPipeError, ExitCode.BROKEN_PIPE),
    (Cancelled, ExitCode.INTERRUPTED),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (MemoryError, ExitCode.MEMORY),
    (NotEnoughMemoryError, ExitCode.MEMORY),
    (FileExistsError, ExitCode.EXISTS),
    (BackendUnavailableError, ExitCode.MISSING_PACKAGE),
    (MissingPackageError, ExitCode.MISSING_PACKAGE),
    (DataError, ExitCode.DATA),
    (StoreError, ExitCode.DATA),
    (ParameterError, ExitCode.USAGE),
    (UnsupportedError, ExitCode.USAGE),
    (OSError, ExitCode.DATA),
    (LowdError, ExitCode.FAILED),
)


def get_exit_code(error: BaseException) -> ExitCode:
    """The exit code of an error; FAILED for an unexpected one."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.FAILED)


def format_error(error: BaseException) -> str:
    """The message for the user: the library's own unchanged, others with their class."""
    if isinstance(error, KeyboardInterrupt | Cancelled):
        return "stopped; nothing was written."
    if isinstance(error, LowdError) or (isinstance(error, OSError) and not error.strerror):
        return " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror.lower()}."
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({error}); use fewer rows or columns."
    return (
        f"unexpected {type(error).__name__}: {' '.join(str(error).split())} "
        "(--verbose shows the traceback; please report it)."
    )
