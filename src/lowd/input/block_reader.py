"""What a block of rows is read by, and which rows of the whole data it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..backends.protocol import Rows
from ..errors import DataError, LowdError

BlockResult: TypeAlias = Any  # of a function of a block, whichever that is
UNKNOWN_LENGTH_BITS = 32  # a row of a block is numbered by (block, row) where lengths are unknown


class BlockReader(NamedTuple):
    """A block that is read when it is needed, by whichever process computes with it."""

    read: Callable[[], Rows]
    n_rows: int | None  # None: not known before it is read
    source: str = ""  # the file that it is of
    first_row: int = 0  # of it, in that file

    def read_block(self, number: int) -> Rows:
        """The rows; an error names the block and its file."""
        try:
            return self.read()
        except Exception as error:
            where = Where(number, None, self.source)
            raise DataError(f"{where} cannot be read: {type(error).__name__}: {error}") from error


class Where(NamedTuple):
    """Which rows of the whole data a block holds."""

    number: int
    start: int | None  # the number of its first row, where all lengths before it are known
    source: str = ""
    first_row: int = 0  # in that source

    def describe(self, row: int, column: int | None = None) -> str:
        """A row of the block, and an entry of it, by all names that it has."""
        known = self.start is not None
        name = f"row {self.start + row}" if self.start is not None else f"row {row}"
        name += "" if known else f" of block {self.number}"
        name += "" if column is None else f", column {column}"
        parts = [f"block {self.number}"] if known else []
        parts += [f"row {self.first_row + row} of {self.source}"] if self.source else []
        return f"{name} ({', '.join(parts)})" if parts else name

    def __str__(self) -> str:
        return f"block {self.number}" + (f" ({self.source})" if self.source else "")

    @property
    def first_index(self) -> int:
        """Number of the first row; where lengths are unknown, the block's number must do."""
        return self.number << UNKNOWN_LENGTH_BITS if self.start is None else self.start


class BlockFunction(Protocol):
    """What is computed of one block: a function of a module, so that it can travel."""

    def __call__(self, rows: Rows, where: Where, /, *given: Any) -> BlockResult: ...


@dataclass(frozen=True)
class Job:
    """What all tasks of one computation share; sent to each worker once."""

    function: Callable[..., Any]
    given: tuple[Any, ...]
    sources: tuple[tuple[str, int], ...] | None

    def apply(self, block: Rows, where: Where) -> BlockResult:
        """The function of one block, whose errors name the block."""
        try:
            return self.function(block, where, *self.given)
        except LowdError:
            raise
        except Exception as error:
            error.add_note(f"in {where}")
            raise
