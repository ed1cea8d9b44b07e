"""The result of a demonstration: figures, and numbers next to published ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

SKLEARN = "scikit-learn's class"  # the source of many numbers


class Number(NamedTuple):
    """A number computed here, the published number, and its source."""

    what: str
    here: float | str
    known: float | str | None = None
    source: str = ""


@dataclass(frozen=True, repr=False)
class Demonstration:
    """Result of a demonstration; printing it shows the table of numbers."""

    name: str
    title: str
    look: str  # what the figures show
    numbers: tuple[Number, ...]
    pictures: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain data for JSON."""
        return asdict(self) | {
            "numbers": [number._asdict() for number in self.numbers],
            "pictures": [str(path) for path in self.pictures],
        }

    def __repr__(self) -> str:
        rows = [("", "here", "known", ""), *map(_format_row, self.numbers)]
        width = [max(len(row[column]) for row in rows) for column in range(3)]
        table = [
            f"  {what:<{width[0]}}  {here:>{width[1]}}  {known:>{width[2]}}  {source}".rstrip()
            for what, here, known, source in rows
        ]
        lines = [line for text in (self.look, *self.notes) for line in wrap(text, 98)]
        files = [str(path) for path in self.pictures]
        return "\n".join([self.title, *table, *(f"  {line}" for line in (*lines, *files))])


def _format_row(number: Number) -> tuple[str, str, str, str]:
    known = "" if number.known is None else _format_value(number.known)
    return number.what, _format_value(number.here), known, number.source


def _format_value(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
