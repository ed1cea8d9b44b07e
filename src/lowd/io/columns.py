"""The columns of a table: numbers in any notation, odd cells, words for missing values, dates.

Cells stay text as written until a column's kind is decided on all rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ColumnTypeError
from . import frames, words
from .frames import TextFacts
from .kinds import MANY_LEVELS, NUMBERS, Column, Kind, Numbers, settle
from .words import pluralize, quote

if TYPE_CHECKING:
    from .frames import Frame, Series

BATCH = 256  # columns measured at a time, so that few are in memory twice
FEW_ODD = 0.05  # Share of cells that may be no numbers in a column of numbers.
MANY_ODD = 0.5  # With more of them it is a column of text.
FEW_WORDS = 2  # Different texts between numbers that are no codes.
SHOWN_ODD_CELLS = 3
SAMPLE = 2000  # Cells that show whether it is worth looking for numbers.
SENTINELS = (-9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999, -8, -88, -888, 88, 888)
_LIKE_A_NUMBER = r"^[\s$€£¥(+\u2212\u2013-]*[.,]?\d"


class Notation(NamedTuple):
    """How numbers are written: 1.065,00 € has the decimal mark "," and the thousands mark "."."""

    decimal: str = "."
    thousands: str = ""
    affix: str = ""

    def __str__(self) -> str:
        parts = ["decimal comma"] if self.decimal == "," else []
        parts += [f"thousands marked by {self.thousands!r}"] if self.thousands else []
        return ", ".join(parts + ([f"with {self.affix!r}"] if self.affix else []))


PLAIN = Notation()
# Of those that fit equally many cells the first: 3,283 beside 557 has a mark of thousands.
NOTATIONS = (
    *(PLAIN, Notation(thousands=","), Notation(","), Notation(",", "."), Notation(thousands=" ")),
    *(Notation(",", " "), Notation(thousands="'")),
)


def read_columns(
    frame: Frame,
    names: Sequence[str],
    locate: Callable[[int], str],
    where: str = "",
    *,
    kinds: Mapping[str, str] | None = None,
    decimal: str | None = None,
    as_text: Collection[str] = (),
    units: Mapping[str, str] | None = None,
    quoted: Collection[int] = (),
) -> list[Column]:
    """All columns of a frame, whose cells are text or have a type, with their kinds.

    Numbers in columns `as_text` may have words between them. `decimal` is the mark that a person
    named; `kinds` are those that a person named, or that the columns had before.
    """
    given = {name: Kind(kind) for name, kind in (kinds or {}).items()}
    columns: list[Column] = []
    for start in range(0, frame.width, BATCH):
        columns += _measure(frame[:, start : start + BATCH], names)
    unread = [c for c in columns if c.values is None and str(c.cells.dtype) == "String"]
    decimal_comma = decimal == ","
    for c in sorted(unread, key=lambda c: c.filled - c.numbers):
        notation = _find_notation(c, decimal, decimal_comma)
        decimal_comma |= notation.decimal == ","
        odd = c.filled - c.numbers
        few = odd <= FEW_ODD * c.filled or (odd <= 2 and c.numbers >= 4)
        forced = given.get(c.name) in NUMBERS and c.numbers
        if c.numbers and ((few and c.name not in as_text) or forced):
            c.set_values(_to_array(frames.parse_numbers(c.cells, *notation)))
            _note_odd_cells(c, locate)
        else:
            _read_text(c)
            words_between = odd < MANY_ODD * c.filled and c.name not in {*as_text, *given}
            if words_between and not c.has_dates:
                _refuse_words(c, notation, locate, where)
    for c in columns:
        c.unit, c.is_quoted = (units or {}).get(c.name, ""), c.position in quoted
        if c.is_number and str(c.cells.dtype) in ("String", "Int64"):
            c.is_digits = c.longest > 11 or c.padded > 0
            if c.is_digits and str(c.cells.dtype) == "String":
                digits = ~c.cells.str.contains(r"[^\d\s+-]")
                c.is_digits = bool((digits | frames.find_missing(c.cells)).all())
            _remove_sentinels(c)
        c.decide(given.get(c.name))
        if c.kind == Kind.BOOLEAN and not c.is_number:
            lower = c.cells.str.strip_chars().str.to_lowercase()
            flags = np.where(lower.is_in(list(words.TRUE)).to_numpy(), 1.0, np.nan)
            c.set_values(np.where(lower.is_in(list(words.FALSE)).to_numpy(), 0.0, flags))
    settle(columns)
    return columns


def _measure(part: Frame, names: Sequence[str]) -> list[Column]:
    """Columns with the facts of all cells, and the values of those that hold plain numbers only."""
    texts = [c.name for c in part.iter_columns() if str(c.dtype) == "String"]
    facts: dict[str, tuple[TextFacts, Series]] = {}
    if texts:
        measured, numbers = frames.measure_texts(frames.select_columns(part, texts))
        facts = dict(zip(texts, zip(measured, numbers.iter_columns(), strict=True), strict=True))
    columns = []
    for cells in part.iter_columns():
        position = int(cells.name)
        name = names[position]
        if cells.name not in facts:
            columns.append(_read_typed(cells, names))
            continue
        found, values = facts[cells.name]
        filled, count, distinct, shortest, longest, padded, infinite = found
        c = Column(name, position, cells, filled, distinct, count, shortest, longest, padded=padded)
        c.infinite = infinite
        if 0 < filled == count:
            parsed = _to_array(values)
            if np.nanmax(np.abs(parsed)) < 2**53:  # above, different digits are the same number
                distinct = values.n_unique() - (filled < c.rows)
            c.set_values(parsed, distinct)
        elif filled:
            known = cells.filter(~frames.find_missing(cells))
            c.filled, c.distinct = len(known), known.n_unique()
            lengths = known.str.len_bytes().to_numpy()
            c.shortest, c.longest = int(lengths.min(initial=longest)), int(lengths.max(initial=0))
            c.numbers = int(frames.parse_numbers(cells).count())
        columns.append(c)
    return columns


def _read_typed(cells: Series, names: Sequence[str]) -> Column:
    """A column whose type the file declares."""
    position = int(cells.name)
    kind, filled = str(cells.dtype).partition("(")[0], len(cells) - cells.null_count()
    if kind in ("Categorical", "Enum"):
        return _measure(cells.cast(str).to_frame(), names)[0]
    if kind in ("List", "Array", "Struct", "Object", "Binary"):
        return Column(names[position], position, cells, filled, filled, 0)
    distinct = cells.n_unique() - (filled < len(cells))
    c = Column(names[position], position, cells, filled, distinct, 0)
    if frames.is_number(cells.dtype):
        values = _to_array(cells.cast(float))
        c.filled = c.numbers = int(np.isfinite(values).sum())
        c.set_values(values, distinct if c.filled == filled else None)
        c.infinite = int(cells.is_infinite().sum()) if cells.dtype.is_float() else 0
        if cells.dtype.is_integer() and c.filled:
            lengths = cells.cast(str).str.len_bytes().drop_nulls().to_numpy()
            c.shortest, c.longest, c.is_digits = int(lengths.min()), int(lengths.max()), True
    elif cells.dtype.is_temporal():
        c.has_dates = c.is_clear = True
    return c


def _to_array(numbers: Series) -> Numbers:
    values: Numbers = numbers.to_numpy()
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, np.nan)


def _find_notation(c: Column, decimal: str | None, decimal_comma: bool) -> Notation:
    """How the numbers in a text are written; also counts them."""
    step = max(1, c.rows // SAMPLE)
    sample = c.cells.gather_every(step).drop_nulls()
    if not c.filled or sample.str.contains(_LIKE_A_NUMBER).sum() < len(sample) / 5:
        return PLAIN
    affixes = sample.str.replace_all(r"[0-9.,'()+\u2212\u2013\s-]", "")
    found = [a for a in frames.count_levels(affixes, 6) if not words.is_missing(a)]
    first = found[0] if found else ""
    is_affix = first in words.CURRENCIES or (len(first) < 6 and first.lower() in words.UNITS)
    # One letter is a unit only after a space: 12 m, but not the codes 12a and 12b.
    if len(first) == 1 and first.isalpha():
        is_affix = bool(sample.str.contains(rf"\d\s+{first}$").any())
    between = rf"\d\s*{re.escape(first)}\s*\d"  # codes, as 05000US06001
    is_affix = is_affix and not sample.str.contains(between).any()
    affix = first if is_affix and first else ""
    candidates = [n._replace(affix=affix) for n in NOTATIONS] + [PLAIN] * bool(affix)
    if decimal is not None:
        candidates = [n for n in candidates if n.decimal == decimal]
    counts = [int(frames.parse_numbers(c.cells, *n).count()) for n in candidates]
    c.numbers = best = max(counts)
    fitting = [n for n, count in zip(candidates, counts, strict=True) if count == best]
    chosen = fitting[0]
    if chosen.thousands == "," and decimal_comma and any(n.decimal == "," for n in fitting):
        chosen = next(n for n in fitting if n.decimal == ",")
    elif chosen.thousands == "," and any(n.decimal == "," for n in fitting):
        c.notes.append(f"{quote(c.name)}: ',' was read as a mark of thousands (decimal=',').")
    c.notation, c.affix = str(chosen), chosen.affix
    return chosen


def _list_odd_cells(c: Column, numbers: Series) -> list[int]:
    """Rows whose cells are neither numbers nor words for missing values."""
    odd = numbers.is_null() & ~frames.find_missing(c.cells)
    return [int(row) for row in np.flatnonzero(odd.to_numpy())]


def _note_odd_cells(c: Column, locate: Callable[[int], str]) -> None:
    if c.numbers == c.filled or c.values is None:
        return
    missing = np.isnan(c.values) & ~frames.find_missing(c.cells).to_numpy()
    rows = np.flatnonzero(missing).tolist()
    shown = rows[:SHOWN_ODD_CELLS]
    cells = ", ".join(f"{quote(str(c.cells[row]), 15)} in {locate(row)}" for row in shown)
    more = f" and {len(rows) - len(shown):,} more" if rows[len(shown) :] else ""
    if rows:
        are = "is no number" if len(rows) == 1 else "are no numbers"
        c.notes.append(f"{quote(c.name)}: {cells}{more} {are}, and taken as missing.")


def _refuse_words(c: Column, notation: Notation, locate: Callable[[int], str], where: str) -> None:
    """Raise if words stand between numbers that are no codes."""
    numbers = frames.parse_numbers(c.cells, *notation)
    rows = _list_odd_cells(c, numbers)
    between = set(c.cells.gather(rows[:SAMPLE]).to_list())
    is_measured = bool((numbers.drop_nulls() % 1 != 0).any())
    is_measured |= len(between) <= FEW_WORDS and numbers.n_unique() > c.numbers / 2
    if not rows or not is_measured or any(re.search(r"\d", text) for text in between):
        return  # codes, or ranges
    others = f", nor are {len(rows) - 1:,} other entries of the column" if rows[1:] else ""
    name = c.name
    raise ColumnTypeError(
        f"{where}, {locate(rows[0])}, column {name!r}: {str(c.cells[rows[0]])!r} is not a number"
        f"{others}; correct it, leave the column out (drop={name!r}), or say what it is "
        f"(kind={{{name!r}: 'quantity'}} takes words as missing; or 'category', 'text')."
    )


def _read_text(c: Column) -> None:
    """Levels of a column of text, and whether it holds dates."""
    if not c.filled:
        return
    missing = frames.find_missing(c.cells)
    known = c.cells.filter(~missing)
    stripped = known.str.strip_chars()
    c.distinct = stripped.n_unique()
    found = frames.count_levels(c.cells.filter(missing).str.strip_chars(), 20)
    kept = [level for level in found if level.lower() in words.LEVELS_TOO]
    c.levels = list(frames.count_levels(stripped, MANY_LEVELS + 1)) + kept
    c.has_dates = all(re.search(r"\d", level) for level in c.levels[:20])
    if c.has_dates:
        readings = frames.read_dates(known)
        c.has_dates, c.is_clear = bool(readings) or frames.has_dates(known), len(readings) == 1
    if kept and c.distinct <= MANY_LEVELS:
        c.distinct += len(kept)
        c.filled += sum(found[level] for level in kept)


def _remove_sentinels(c: Column) -> None:
    """Find 9999 and its like where they are far from all other values."""
    for _ in range(3):
        if len(c.known) < 4 or c.values is None:
            return
        value = next((v for v in (c.low, c.high) if v in SENTINELS or _is_no_year(v, c)), None)
        if value is None:
            return
        others = c.known[c.known != value]
        times = len(c.known) - len(others)
        if len(others) < 3:
            return
        low, high = float(others.min()), float(others.max())
        gap = value - high if value > high else low - value
        span = max(high - low, abs(high) / 2, 1e-300)
        below = value <= -9 and low >= 0 and times > 1
        if value and not (
            below or gap > 3 * span or (times > 1 and gap > span and abs(value) > 900)
        ):
            return
        c.filled -= times
        c.set_values(np.where(c.values == value, np.nan, c.values))
        c.notes.append(
            f"{quote(c.name)}: {value:g} ({pluralize(times, 'time')}) was taken as missing, as the "
            f"others {f'end at {high:g}' if value > high else f'begin at {low:g}'}."
        )


def _is_no_year(value: float, c: Column) -> bool:
    """Whether it is 0 among years."""
    if value or not c.is_whole:
        return False
    years = c.known[c.known != 0]
    return bool(1900 <= years.min(initial=2101) < years.max(initial=0) <= 2100)
