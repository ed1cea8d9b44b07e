"""What a column is, decided on all of its rows: an ordered list of rules.

Each rule looks at one column and returns its kind with the reason, or None; the first that knows
wins. A rule changes nothing. `settle` looks at all columns at once: pairs, and blocks of rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import words
from .words import quote

if TYPE_CHECKING:
    from .frames import Series

Numbers = NDArray[np.float64]
MANY_LEVELS = 60  # more different words are hardly categories
LONG_TEXT = 200  # characters
MAYBE_IDENTIFIER = "could be an identifier"


class Kind(StrEnum):
    """What the cells of a column stand for."""

    QUANTITY = "quantity"
    COUNT = "count"
    BOOLEAN = "yes or no"
    CODE = "code"  # numbers that name something, as states from 1 to 50
    CATEGORY = "category"
    NAME = "name"  # text that names each row
    TEXT = "text"
    IDENTIFIER = "identifier"
    ROW_NUMBER = "row number"
    DATE = "date"
    TIME = "time"  # and parts of dates: month, hour
    YEAR = "year"
    LATITUDE = "latitude"
    LONGITUDE = "longitude"
    VECTOR = "vector"  # a list of numbers in each cell
    CONSTANT = "constant"
    EMPTY = "empty"


NUMBERS = (Kind.QUANTITY, Kind.COUNT, Kind.BOOLEAN, Kind.LATITUDE, Kind.LONGITUDE)
LEVELS = (Kind.CATEGORY, Kind.CODE, Kind.BOOLEAN)


class Decision(NamedTuple):
    """A kind, why, and what is doubtful about it."""

    kind: Kind
    why: str
    doubt: str = ""


@dataclass(eq=False)
class Column:
    """A column and what is known of all of its cells."""

    name: str
    position: int
    cells: Series  # text as written, or the type that the file declares
    filled: int  # cells that hold something
    distinct: int
    numbers: int  # cells that hold a number
    shortest: int = 0  # characters
    longest: int = 0
    is_digits: bool = False  # whether each cell holds digits only
    padded: int = 0  # cells that begin with a zero, as 007
    infinite: int = 0  # cells that hold inf, which count as missing
    notation: str = ""  # how the numbers are written, if it is not 1065.5
    affix: str = ""
    unit: str = ""
    is_quoted: bool = False  # numbers in quotes, while others have none
    has_dates: bool = False
    is_clear: bool = False  # whether these dates can be read in one way only
    levels: list[str] = field(default_factory=list)  # the most frequent texts
    values: Numbers | None = None  # the numbers; NaN is missing
    notes: list[str] = field(default_factory=list)
    kind: Kind = Kind.TEXT
    why: str = ""
    doubt: str = ""

    @classmethod
    def of_numbers(cls, name: str, position: int, values: Any) -> Column:
        """A column of an array, which has no text."""
        filled = int(np.isfinite(values).sum())
        column = cls(name, position, values, filled, 0, filled)
        column.set_values(values)
        return column

    @property
    def rows(self) -> int:
        return len(self.cells)

    @property
    def is_number(self) -> bool:
        return self.values is not None

    @property
    def missing(self) -> int:
        """Cells without a value that can be used."""
        return self.rows - (len(self.known) if self.is_number else self.filled)

    @cached_property
    def known(self) -> Numbers:
        """The numbers without the missing ones."""
        if self.values is None:
            return np.empty(0)
        finite = np.isfinite(self.values)
        return self.values if finite.all() else self.values[finite]

    @cached_property
    def is_whole(self) -> bool:
        return bool(len(self.known)) and bool((self.known == np.trunc(self.known)).all())

    @cached_property
    def low(self) -> float:
        return float(self.known.min())

    @cached_property
    def high(self) -> float:
        return float(self.known.max())

    @cached_property
    def key(self) -> str:
        return words.normalize(self.name)

    @cached_property
    def parts(self) -> list[str]:
        return words.split_name(self.name)

    def set_values(self, values: Numbers, distinct: int | None = None) -> None:
        """Take these numbers, of which some may be missing."""
        for name in ("known", "is_whole", "low", "high"):
            self.__dict__.pop(name, None)
        self.values = values
        self.distinct = len(np.unique(self.known)) if distinct is None else distinct
        self.numbers = len(self.known)

    def decide(self, given: Kind | None = None) -> None:
        """Take the kind that is given, or that of the first rule that knows the column."""
        found = next(found for rule in RULES if (found := rule(self)) is not None)
        found = found if given is None else Decision(given, "as given")
        self.kind, self.why, self.doubt = found


def _empty(c: Column) -> Decision | None:
    return None if c.filled else Decision(Kind.EMPTY, "no cell is filled")


def _constant(c: Column) -> Decision | None:
    if c.distinct > 1 or c.rows < 2 or str(c.cells.dtype).startswith(("List", "Array")):
        return None
    texts = (str(cell) for cell in c.cells.drop_nulls())
    return Decision(
        Kind.CONSTANT,
        f"every {'cell' if not c.missing else 'filled cell'} is "
        f"{quote(next(text for text in texts if not words.is_missing(text)))}",
    )


def _date(c: Column) -> Decision | None:
    if not c.has_dates:
        return None
    doubt = "" if c.is_clear else "day and month could be either way round, or have no year"
    return Decision(Kind.DATE, "every cell is a date", doubt)


def _row_number(c: Column) -> Decision | None:
    whole = c.is_whole and c.rows > 2 and len(c.known) == c.rows and c.name != "x"  # of x and y
    if not whole or np.any(np.diff(c.known) != 1) or _are_years(c):
        return None
    named = c.key in words.ROW_NAMES | words.IDENTIFIERS or c.key.endswith("id")
    if c.known[0] not in (0, 1) and not (c.position == 0 and c.key == "row"):
        return None
    why = f"counts the rows from {c.known[0]:g}"
    if c.key in words.TIMES | words.TIME_PARTS | words.YEARS:
        return Decision(Kind.TIME, "counts the rows, and is named as a time")
    if named or c.rows > 9:
        doubt = "" if named or c.position == 0 else "not the first column, and not named so"
        return Decision(Kind.ROW_NUMBER, why, doubt)
    return None


def _row_name(c: Column) -> Decision | None:
    """Names of rows as R writes them: 1.1, 1.2, ..., in a first column without a name."""
    if c.position or c.key not in ("row", "unnamed0", "rownames") or not c.is_number:
        return None
    unique = c.distinct == len(c.known) == c.rows and not _are_years(c)
    why = "named so, all different" if c.key == "rownames" else "a first column without a name"
    return Decision(Kind.IDENTIFIER, why) if unique else None


def _long_number(c: Column) -> Decision | None:
    if not c.is_whole or not c.is_digits:
        return None
    if c.longest > 16 and c.shortest > 11:
        return Decision(Kind.IDENTIFIER, f"has {c.longest} digits")
    if c.padded <= 0.02 * c.filled:
        return None
    if c.key in words.TIME_PARTS:
        return Decision(Kind.TIME, "a part of a date")
    few = c.distinct <= min(MANY_LEVELS, c.rows / 3)
    return Decision(Kind.CODE if few else Kind.IDENTIFIER, "has leading zeros")


def _coordinate(c: Column) -> Decision | None:
    if not c.is_number:
        return None
    name = {c.key, *c.parts}
    if {"delta", "diff", "d"} & name:
        return None
    if (name & words.LATITUDES or c.key.startswith("latitud")) and -90 <= c.low <= c.high <= 90:
        return Decision(Kind.LATITUDE, "named so, within 90 degrees")
    if (name & words.LONGITUDES or c.key.startswith("longitud")) and -180 <= c.low <= c.high <= 360:
        return Decision(Kind.LONGITUDE, "named so, within 180 degrees")
    return None


def _year(c: Column) -> Decision | None:
    if not c.is_number or c.distinct < 2:
        return None
    ends = c.key.endswith(("yr", "year", "ybirth", "yob")) or c.key.startswith("yearb")
    named = ends or any(part in words.YEARS for part in c.parts[:1] + c.parts[-1:])
    in_time = c.low >= 1400 and c.high <= 2200
    short = c.distinct < 100 and c.low >= 30 and c.high <= 99
    if c.is_whole and named and (in_time or short or (c.key in words.YEARS and _is_axis(c))):
        return Decision(Kind.YEAR, f"named so, from {c.low:g} to {c.high:g}")
    if in_time and c.key in words.TIMES | words.YEARS:
        return Decision(Kind.TIME, f"years with fractions, from {c.low:.6g} to {c.high:.6g}")
    if _are_years(c) and _is_axis(c):
        return Decision(Kind.YEAR, f"in order from {c.low:g} to {c.high:g}", "not named so")
    return None


def _are_years(c: Column) -> bool:
    """Whether the numbers alone look like years."""
    return c.is_whole and 1700 <= c.low < c.high - 2 and c.high <= 2030 and c.rows > 5


def _number_date(c: Column) -> Decision | None:
    """yyyymmdd, yyyymm, yymmdd, and seconds since 1970."""
    if not c.is_whole or c.distinct < 3:
        return None
    named = bool(words.DATES & {*c.parts, c.key})
    years, months, days = c.known // 10000, c.known // 100 % 100, c.known % 100
    if c.low >= 17000101 and c.high <= 21001231 and _are_dates(years, months, days):
        doubt = "" if named else "not named so"
        return Decision(Kind.DATE, "every number is a date, as 20201231", doubt)
    if named and c.low >= 170001 and c.high <= 210012 and ((days >= 1) & (days <= 12)).all():
        return Decision(Kind.DATE, "every number is a year and a month, as 202012")
    if named and c.low >= 10101 and c.high <= 991231:
        orders = ((years, months, days), (days, years, months), (days, months, years))
        if any(_are_dates(1900 + y, m, d) for y, m, d in orders):
            return Decision(Kind.DATE, "every number is a date of six digits")
    rises = bool((np.diff(c.known) >= 0).all())
    for unit, name in ((1, "seconds"), (1000, "milliseconds")):
        in_range = 3e8 * unit <= c.low and c.high <= 2.2e9 * unit
        if in_range and (named or (rises and c.low > 9e8 * unit)):
            return Decision(Kind.TIME, f"{name} since 1970")
    return None


def _are_dates(years: Numbers, months: Numbers, days: Numbers) -> bool:
    if not ((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all():
        return False
    try:
        for y, m, d in {(int(y), int(m), int(d)) for y, m, d in zip(years, months, days)}:  # noqa: B905
            date(y, m, d)
    except ValueError:
        return False
    return True


def _time(c: Column) -> Decision | None:
    if not c.is_number:
        return None
    ends = bool(c.parts) and c.parts[-1] in ("month", "weekday", "hour", "week", "quarter")
    part = c.key in words.TIME_PARTS or ends or c.key.endswith(("month", "weekday"))
    small = c.is_whole and c.low >= 0 and c.high <= 366
    if part and small and (c.distinct <= 53 or _is_axis(c)):
        return Decision(Kind.TIME, "a part of a date by its name")
    if c.key in words.TIMES | words.TIME_PARTS and len(c.known) > 9:
        if (np.diff(c.known) > 0).all():
            return Decision(Kind.TIME, "named so, and rising")
        if c.key in words.TIMES and _is_axis(c):
            return Decision(Kind.TIME, "named so, and in order")
    return None


def _is_axis(c: Column) -> bool:
    """Whether the values rise in equal steps, or start over and over again."""
    if len(c.known) < 3:
        return False
    steps = np.diff(c.known)
    if (steps > 0).all() or (steps < 0).all():
        return bool(np.ptp(steps) <= 0.02 * abs(steps).max())  # years with fractions are rounded
    if c.distinct > len(c.known) / 2:
        return False
    up = steps > 0
    even = ((steps == 0) | (steps == np.median(steps[up]))).mean() if up.any() else 0
    restarts = c.known[1:][steps < 0]  # a cycle falls back to where it began
    cyclic = up.mean() > 0.5 and len(restarts) and (restarts == c.low).mean() > 0.8
    return bool((steps >= 0).all() or even > 0.6 or cyclic)


def _boolean(c: Column) -> Decision | None:
    if c.is_number:
        if c.distinct == 2 and c.is_whole and c.high - c.low == 1 and c.low in (0, 1):
            return Decision(Kind.BOOLEAN, f"only {c.low:g} and {c.high:g}")
        return None
    pair = {level.strip().lower() for level in c.levels}
    if c.distinct == 2 and len(pair & words.TRUE) == len(pair & words.FALSE) == 1:
        return Decision(Kind.BOOLEAN, f"only {quote(c.levels[0])} and {quote(c.levels[1])}")
    return None


def _identifier(c: Column) -> Decision | None:
    if not c.is_whole or c.low < 0:
        return None
    if c.key in ("id", "ids", "uid") and c.distinct > 12:
        return Decision(Kind.IDENTIFIER, f"named so, {c.distinct:,} different")
    unique = c.distinct == len(c.known)
    last = c.parts[-1] if c.parts else ""
    named = c.key in words.IDENTIFIERS and (unique or c.key not in words.WEAK_IDENTIFIERS)
    if len(c.parts) <= 3:
        named |= last in words.IDENTIFIER_ENDS or (unique and last in ("no", "num", "number"))
    if c.key.endswith(("id", "code", "cod", "num", "fips")):
        named |= last not in words.NO_IDENTIFIERS
    first = c.position <= 1 and c.name != "x" and c.rows > 20 and c.high <= 20 * c.rows
    if not named and first and unique and (np.diff(c.known) > 0).all():
        why = "whole numbers, each larger than the one before"
        return Decision(Kind.IDENTIFIER, why, "not named so")
    if not named:
        return None
    if c.distinct <= 12 and c.distinct < c.rows / 2:
        return Decision(Kind.CODE, f"{c.distinct} whole numbers, named as an identifier")
    some = "all" if unique else f"{c.distinct:,}"
    return Decision(Kind.IDENTIFIER, f"whole numbers, named so, {some} different")


def _code(c: Column) -> Decision | None:
    if not c.is_whole or c.low < 0:
        return None
    if c.is_quoted and _is_dense(c):
        return Decision(Kind.CODE, "numbers in quotes, while others have none")
    if c.distinct > max(MANY_LEVELS, c.rows / 2):
        return None
    bare = re.sub(r"\d+$", "", c.key)
    last = c.parts[-1] if c.parts else ""
    dense = _is_dense(c)
    ends = bare.endswith(("race", "region", "ethnicity", "religion")) and dense
    ends |= last in words.CODES - words.AMBIGUOUS_CODES and len(c.parts) <= 2 and dense
    if not (ends or {c.key, bare} & words.CODES):
        return None
    if (c.key in words.AMBIGUOUS_CODES and not dense) or (c.key == "school" and c.high <= 25):
        return None  # years at school rather than the number of a school
    if c.distinct == c.rows > 3:
        return Decision(Kind.IDENTIFIER, "whole numbers, named so, all different")
    return Decision(Kind.CODE, f"{c.distinct} whole numbers that name a {last or bare}")


def _is_dense(c: Column) -> bool:
    """Whether the numbers count something through: 1, 2, 3, ... with few gaps."""
    return c.low in (0, 1) and c.distinct > 2 and c.high <= 1.3 * c.distinct


def _quantity(c: Column) -> Decision | None:
    if not c.is_number:
        return None
    how = f", {c.notation}" if c.notation else ""
    counted = {"count", "counts", "n", "number", "num"} & set(c.parts)
    if c.is_whole and c.low >= 0 and (c.low == 0 or counted):
        return Decision(Kind.COUNT, f"whole numbers from {c.low:g} to {c.high:g}{how}")
    doubt = ""
    if c.is_whole and c.distinct <= 5 and c.rows >= 30 and c.low == 1:
        doubt = "could be a code"
    elif c.is_whole and not how and c.distinct == c.rows > 50 and c.low > 9999:
        named = {"x", "y", "z", "coord", "easting", "northing"} & set(c.parts)
        doubt = MAYBE_IDENTIFIER if c.shortest == c.longest and not named else ""
    return Decision(Kind.QUANTITY, f"numbers from {c.low:.6g} to {c.high:.6g}{how}", doubt)


def _text(c: Column) -> Decision:
    if str(c.cells.dtype).startswith(("List", "Array")):
        return Decision(Kind.VECTOR, "a list in every cell")
    if 0.5 * c.filled < c.numbers < c.filled and c.distinct <= 0.5 * c.filled:
        odd = f"{c.filled - c.numbers:,} of {c.filled:,} cells are no numbers"
        return Decision(Kind.CATEGORY, odd, "could be numbers")
    spaced = sum(level.count(" ") > 4 for level in c.levels) > len(c.levels) / 2
    named = c.key.endswith("id") or bool(words.IDENTIFIER_ENDS & set(c.parts))
    if c.distinct == c.filled and (c.rows > 2 or named or c.key in ("name", "names")):
        if c.longest > LONG_TEXT or spaced:
            return Decision(Kind.TEXT, "long text, different in every row")
        kind = Kind.IDENTIFIER if named else Kind.NAME
        return Decision(kind, "different in every row" + ", named so" * named)
    if c.distinct > max(0.5 * c.filled, 5) or spaced or c.longest > LONG_TEXT:
        first = c.key in words.NAMES or c.position == 0
        if c.distinct > 0.9 * c.filled and not spaced and first and c.rows > 2:
            return Decision(Kind.NAME, "nearly different in every row")
        return Decision(Kind.TEXT, f"{c.distinct:,} different texts in {c.filled:,} rows")
    if named and c.distinct > 12 and c.parts[-1:] == ["id"]:
        return Decision(Kind.IDENTIFIER, f"named so, {c.distinct:,} different")
    return Decision(Kind.CATEGORY, f"{c.distinct:,} different words")


# The order is the design: what is surer, or would mislead more if it were used, comes first.
RULES = (
    *(_empty, _constant, _date, _row_number, _row_name, _long_number, _coordinate, _year),
    *(_number_date, _time, _boolean, _identifier, _code, _quantity, _text),
)


def settle(columns: list[Column]) -> None:
    """What only all columns together show."""
    kinds = {c.kind for c in columns}
    if len({Kind.LATITUDE, Kind.LONGITUDE} & kinds) == 1:  # they are one thing, or nothing
        for c in columns:
            if c.kind in (Kind.LATITUDE, Kind.LONGITUDE):
                is_named = c.key in words.LATITUDES | words.LONGITUDES - {"long"}
                doubt = f"a {c.kind} without its partner" if is_named else ""
                low, high = f"{c.low:.6g}", f"{c.high:.6g}"
                c.kind, c.why, c.doubt = Kind.QUANTITY, f"numbers from {low} to {high}", doubt
    unsure = [c for c in columns if c.doubt == MAYBE_IDENTIFIER]
    for c in unsure if len(unsure) > 1 else []:  # hardly several of them; these are measured
        c.doubt = ""
    times = [c for c in columns if c.kind in (Kind.YEAR, Kind.TIME, Kind.DATE) and c.is_number]
    for c in columns if times else []:
        if c.kind not in (Kind.QUANTITY, Kind.COUNT) or not c.is_whole or len(c.known) < c.rows:
            continue
        ends = np.flatnonzero(np.diff(c.known))
        if not 2 < c.distinct == len(ends) + 1 <= c.rows / 2:
            continue  # not each number in one block of rows
        for time in times:
            steps = np.diff(time.known) if len(time.known) == c.rows else np.zeros(c.rows - 1)
            if (steps[ends] < 0).mean() > 0.9 and (np.delete(steps, ends) > 0).mean() > 0.9:
                c.kind, c.why = Kind.CODE, f"in blocks in which {quote(time.name)} starts over"
