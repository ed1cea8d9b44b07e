"""Options of `lowd.io.read`, validated once, and the selection of columns by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from ..errors import DataError, MissingColumnError, ParameterError
from .kinds import Kind
from .words import pluralize, quote_names

if TYPE_CHECKING:
    from .genotypes import Alleles

Names: TypeAlias = str | Sequence[str] | None
Missing: TypeAlias = Literal["error", "drop", "mean", "keep"]

MAX_COMPARED_NAMES = 10_000  # With this many names difflib takes a second.


@dataclass(frozen=True)
class Options:
    """See `lowd.io.read`, which documents every field."""

    columns: Names = None
    drop: Names = None
    label: str | None = None
    id: str | None = None
    keep: Names = None
    kind: Mapping[str, str] | None = None
    vector: str | None = None
    header: bool | None = None
    skip: int | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: Missing = "error"
    encode: bool | Mapping[str, Sequence[str]] = False
    gower: bool | None = None
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
        kinds = [str(kind) for kind in Kind]
        for name, kind in (self.kind or {}).items():
            if kind not in kinds:
                raise ParameterError(
                    f"read(kind={{{name!r}: {kind!r}}}): expected one of {', '.join(kinds)}."
                )
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"read(decimal={self.decimal!r}): expected '.' or ','.")
        if self.skip is not None and self.skip < 0:
            raise ParameterError(f"read(skip={self.skip}): expected a number of lines >= 0.")
        if self.every < 1:
            raise ParameterError(f"read(every={self.every}): expected an integer >= 1.")
        if self.encode and self.gower:
            raise ParameterError("read(encode=..., gower=True): choose one of the two.")
        if self.delimiter is not None and len(self.delimiter) != 1 and self.delimiter != "  ":
            raise ParameterError(
                f"read(delimiter={self.delimiter!r}): expected one character, or two blanks."
            )
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


def describe_rounding(columns: Iterable[str], *, can_be_kept: bool = False) -> str:
    """The note on columns whose integers were rounded to floats, with other roles for them."""
    names = list(columns)
    one = quote_names(names[:1])
    keep = f" To keep all digits: id={one} or label={one}." if can_be_kept else ""
    return (
        f"Column{'s' * (len(names) > 1)} {quote_names(names)}: integers beyond 2**53 were rounded, "
        f"as floating point cannot tell them apart.{keep} To leave them out: drop={one}."
    )


def _suggest_names(name: str, among: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, among[:MAX_COMPARED_NAMES], 3)
    return f"did you mean {quote_names(near)}?" if near else f"the columns are {quote_names(among)}"
