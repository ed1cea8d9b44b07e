"""Options of `lowd.io.read`, validated once, and the selection of columns by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from ..errors import DataError, MissingColumnError, ParameterError

if TYPE_CHECKING:
    from .genotypes import Alleles

Names: TypeAlias = str | Sequence[str] | None
Missing: TypeAlias = Literal["error", "drop", "mean", "keep"]
Text: TypeAlias = Literal["error", "beside"]

MAX_QUOTED_NAMES = 8  # Most names quoted in a message.
MAX_COMPARED_NAMES = 10_000  # With this many names difflib takes a second.


@dataclass(frozen=True)
class Options:
    """See `lowd.io.read`, which documents every field."""

    columns: Names = None
    drop: Names = None
    label: str | None = None
    id: str | None = None
    vector: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    encoding: str | None = None
    missing: Missing = "error"
    text: Text = "error"
    encode: bool | Mapping[str, Sequence[str]] = False
    gower: bool = False
    dates: bool = False
    distances: bool | None = None
    every: int = 1
    array: str | None = None
    size: tuple[int, int] | None = None
    color: bool | None = None
    alleles: Alleles | None = None

    @property
    def levels(self) -> Mapping[str, Sequence[str]]:
        """The text columns whose one-hot levels are given."""
        return self.encode if isinstance(self.encode, Mapping) else {}

    def __post_init__(self) -> None:
        if self.missing not in get_args(Missing):
            raise ParameterError(
                f"read(missing={self.missing!r}): expected 'error', 'drop', 'mean' or 'keep'."
            )
        if self.text not in get_args(Text):
            raise ParameterError(f"read(text={self.text!r}): expected 'error' or 'beside'.")
        if self.every < 1:
            raise ParameterError(f"read(every={self.every}): expected an integer >= 1.")
        if self.encode and self.gower:
            raise ParameterError("read(encode=..., gower=True): choose one of the two.")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ParameterError(f"read(delimiter={self.delimiter!r}): expected one character.")
        if self.size is not None and (len(self.size) != 2 or min(self.size) < 1):
            raise ParameterError(f"read(size={self.size}): expected (width, height) in pixels.")


def split_patterns(names: Names, among: Sequence[str]) -> tuple[str, ...]:
    """Split column patterns at commas; a column's own name stays whole."""
    given, whole = [names] if isinstance(names, str) else list(names or ()), set(among)
    parts = (part for name in given for part in ([name] if name in whole else name.split(",")))
    return tuple(part if part in whole else part.strip() for part in parts if part.strip())


def match_columns(names: Names, among: Sequence[str], where: str, what: str) -> list[str]:
    """Select the names that match a pattern, in their own order; every pattern must match."""
    wanted, whole = split_patterns(names, among), set(among)
    found = {pattern for pattern in wanted if pattern in whole}
    missing = []
    for pattern in wanted:
        if pattern in whole:
            continue
        matched = [name for name in among if fnmatchcase(name, pattern)]
        found.update(matched)
        missing += [] if matched else [pattern]
    if missing:
        hint = _suggest_names(missing[0], among)
        raise MissingColumnError(
            f"{where}: {what}={missing[0]!r} matches no column; {hint}.", tuple(missing), hint
        )
    return [name for name in among if name in found]


def name_missing_features(error: MissingColumnError, source: str) -> DataError:
    """The error for new points that lack columns which the model was fitted to."""
    names = error.names
    return DataError(
        f"{source}: {pluralize(len(names), 'column')} that the model needs "
        f"{'is' if len(names) == 1 else 'are'} missing: {quote_names(names)}; {error.hint}."
    )


def check_column(name: str, among: Sequence[str], where: str, what: str) -> str:
    """Return a column's name; raise if there is no such column."""
    if name not in among:
        raise MissingColumnError(
            f"{where}: there is no column {what}={name!r}; {_suggest_names(name, among)}."
        )
    return name


def quote_names(names: Iterable[str], most: int = MAX_QUOTED_NAMES) -> str:
    """List names for a message: 'a', 'b' and 3 more."""
    every = list(names)
    others = f" and {len(every) - most} more" if every[most:] else ""
    return ", ".join(map(repr, every[:most])) + others


def describe_rounding(columns: Iterable[str], *, can_be_kept: bool = False) -> str:
    """The note on columns whose integers were rounded to floats, with other roles for them."""
    names = list(columns)
    one = quote_names(names[:1])
    keep = f" To keep all digits: id={one} or label={one}." if can_be_kept else ""
    return (
        f"Column{'s' * (len(names) > 1)} {quote_names(names)}: integers beyond 2**53 were rounded, "
        f"as floating point cannot tell them apart.{keep} To leave them out: drop={one}."
    )


def pluralize(count: int, thing: str) -> str:
    """A count with its noun: 1 row, 2 rows."""
    return f"{count} {thing}" + "s" * (count != 1)


def _suggest_names(name: str, among: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, among[:MAX_COMPARED_NAMES], 3)
    return f"did you mean {quote_names(near)}?" if near else f"the columns are {quote_names(among)}"
