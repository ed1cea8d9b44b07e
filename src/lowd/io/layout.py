"""Where the table is on a page: delimiter, title lines, header, units, rows, footer.

A page is what people write around their numbers: a title, comments, names in one or two lines,
units below them, and sources and totals at the end. All functions are pure, of a few lines of text.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from .words import is_missing, is_number, is_unit, pluralize, quote, quote_names

MAX_TITLE_LINES = 30
BODY_LINES = 100  # Lines compared with the header and with each other.
BLANKS = "  "  # two or more, where the cells of an aligned table hold single ones
# Of equally good ones the first: a semicolon may separate decimal commas.
DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "pipe", " ": "space"}
DELIMITERS |= {BLANKS: "blank"}
# Types and roles of columns in the second and third line of a file of Orange; the content decides
# where the kind is empty.
_ORANGE_KINDS = dict.fromkeys(("continuous", "c", "string", "s", "text", "time", "t"), "")
_ORANGE_KINDS |= dict.fromkeys(("discrete", "d"), "category")
_ORANGE_ROLES = {"class": "label", "meta": "beside", "m": "beside", "ignore": "drop", "i": "drop"}
_PROSE = 0.6  # Spaces separate words, too.


class Line(NamedTuple):
    """The cells of a record, and the number of the line where it starts, from 1."""

    number: int
    cells: list[str]


@dataclass(frozen=True)
class Layout:
    """Names and place of the columns, where the rows start, and what was noticed on the way."""

    delimiter: str
    names: tuple[str, ...]
    first: int  # number of the line where the rows start
    header: int = 0  # number of the line with the names; 0 if there is none
    width: int = 0  # cells of a row, which may be one more than there are names
    units: dict[str, str] = field(default_factory=dict)
    quoted: frozenset[int] = frozenset()  # columns of numbers in quotes, where others have none
    declared: dict[str, tuple[str, str]] = field(default_factory=dict)  # name -> kind and role
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """What separates the cells when the blanks between them have been collapsed."""
        return "\t" if self.delimiter == BLANKS else self.delimiter

    @property
    def form(self) -> str:
        """The layout in words."""
        separator = DELIMITERS.get(self.delimiter, repr(self.delimiter))
        header = f"header in line {self.header}" if self.header else "no header"
        return f"{separator}-separated, {header}" if self.width > 1 else header


def find_layout(
    text: str,
    delimiter: str | None = None,
    header: bool | None = None,
    skip: int | None = None,
    whole: bool = True,
) -> Layout | None:
    """The layout of a page, of which `text` are the first lines; None if they hold nothing."""
    lines = list(io.StringIO(text, newline=""))
    declared = re.match(r"\ufeff?\"?sep=(.)\"?\r?\n", text, re.IGNORECASE)
    start = skip if skip is not None else _skip_comments(lines, 1 if declared else 0)
    mark = delimiter or (declared and declared[1]) or find_delimiter(lines[start:])
    found = split(lines, mark, start)
    found = found if whole or len(found) < 2 else found[:-1]  # the last one may be cut off
    if not found:
        return None
    width = _find_width(found)
    above = 0 if skip is not None else _skip_titles(found, width)
    table, notes, doubts = found[above:], [], []
    if above:
        titles = "; ".join(quote(" ".join(line.cells).strip()) for line in found[:above][:2])
        notes.append(f"{pluralize(above, 'line')} above the table skipped: {titles}.")
        if any(sum(map(is_number, line.cells)) > 1 for line in found[:above]):
            doubts.append("lines with numbers were skipped above the table (skip=0)")
    layout = _find_names(table, width, header, notes, doubts)
    return replace(
        layout,
        delimiter=mark,
        quoted=_find_quoted(lines[layout.first - 1 :], mark),
        notes=tuple(notes),
        doubts=tuple(doubts),
    )


def split(lines: Sequence[str], delimiter: str, skip: int = 0, strict: bool = False) -> list[Line]:
    """The records of lines that hold anything; a table by spaces may be aligned."""
    if delimiter == " ":
        lines = [" ".join(line.split()) + "\n" for line in lines]
    elif delimiter == BLANKS:
        lines = [re.sub(r"[ \t]{2,}|\t", "\t", line.strip()) + "\n" for line in lines]
        delimiter = "\t"
    records, number = [], skip + 1
    reader = csv.reader(lines[skip:], delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                records.append(Line(number, cells))
            number = skip + reader.line_num + 1
    except csv.Error:
        if strict:
            raise
    return records


def find_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that most lines agree on, better if it makes more cells and the header too."""
    scores = {mark: _judge(lines[: 2 * BODY_LINES], mark) for mark in DELIMITERS}
    best = max(scores, key=lambda mark: scores[mark])
    return best if scores[best] > 0 else ","


def count_footer_lines(rows: Sequence[Sequence[str | None]]) -> int:
    """How many of the last rows are remarks: text in the first cell, and hardly anything else."""
    if not rows or len(rows[0]) < 3:
        return 0
    count, has_remark, texts = 0, False, Counter(row[0] for row in rows)
    for row in reversed(rows):
        text = (row[0] or "").strip()
        is_remark = bool(text) and not is_number(text) and texts[row[0]] == 1
        others = [cell for cell in row[1:] if cell and cell.strip()]
        is_full = len(others) > (len(row) // 8 if is_remark else 0) or any(map(is_number, others))
        if is_full or (text and not is_remark):
            break
        count, has_remark = count + 1, has_remark or is_remark
    body = rows[: len(rows) - count]
    filled = sum(bool(cell and cell.strip()) for row in body for cell in row)
    usual = filled / max(1, len(body))
    return count if has_remark and body and usual > len(rows[0]) / 2 else 0


def _judge(lines: Sequence[str], delimiter: str) -> float:
    """Share of lines with the usual number of cells, more if these are many."""
    rows = [line.cells for line in split(lines, delimiter)]
    widths = Counter(map(len, rows))
    width = max(widths, key=lambda w: (widths[w], w), default=1)
    by_space = delimiter in (" ", BLANKS)
    if width < 2 or (by_space and widths[width] < 0.9 * len(rows[1:])):
        return 0.0
    # A delimiter within text or dates is not the one of the header.
    in_header = any(len(row) in (width, width - 1) for row in rows[:3])
    score = widths[width] / len(rows) * math.log2(width) * (1 if in_header else 0.3)
    return score * _PROSE if by_space else score


def _skip_comments(lines: Sequence[str], start: int) -> int:
    """Lines to skip: comments and empty lines, but not a last one that is the header (#id)."""
    last = start
    if last < len(lines) and lines[last].startswith("/*"):
        return next((i + 1 for i, line in enumerate(lines) if "*/" in line), start)
    comments = [start]
    while last < len(lines) and (
        not lines[last].strip() or lines[last].lstrip().startswith(("#", "%", "//"))
    ):
        last += 1
        comments += [last] if lines[last - 1].strip() else []
    if len(comments) == 1 or last == len(lines):
        return last
    header, first = lines[comments[-1] - 1], lines[last]
    for delimiter in ("\t", ";", ",", "|"):
        if 0 < header.count(delimiter) == first.count(delimiter):
            return comments[-1] - 1
    names, cells = header.lstrip("#%/ ").split(), first.split()
    same = len(names) == len(cells) > 1 and all(map(is_number, cells))
    return comments[-1] - 1 if same and not any(map(is_number, names)) else last


def _find_width(lines: Sequence[Line]) -> int:
    """The usual number of cells; of equals the larger."""
    widths = Counter(len(line.cells) for line in lines[1 : BODY_LINES + 1])
    widths = widths or Counter([len(lines[0].cells)])
    header = len(lines[0].cells)
    return max(widths, key=lambda width: (widths[width], width == header, width))


def _skip_titles(lines: Sequence[Line], width: int) -> int:
    """How many lines are above the table: those with fewer filled cells than a header has."""
    for i, line in enumerate(lines[:MAX_TITLE_LINES]):
        filled = sum(bool(cell.strip()) for cell in line.cells)
        short = len(line.cells) == width - 1 and not any(map(is_number, line.cells))
        if (len(line.cells) >= width or short) and filled >= min(width - 1, width // 2 + 1):
            return i
    return 0


def _find_names(
    table: list[Line], width: int, header: bool | None, notes: list[str], doubts: list[str]
) -> Layout:
    names = [cell.strip() for cell in table[0].cells]
    body = [_fit(line.cells, width) for line in table[1 : BODY_LINES + 1]]
    ends_empty = bool(body) and not any(row[-1].strip() for row in body)
    if body and len(names) == width - 1 and not ends_empty and not all(map(is_number, names)):
        names.insert(0, "")  # R writes no name above the names of the rows
        if len({row[0] for row in body}) < len(body):
            doubts.append(
                "the lines have one cell more than the header; the first was taken as unnamed"
            )
    names = _fit(names, width)
    why, is_sure = _judge_header(names, body)
    if not (bool(why) if header is None else header):
        return Layout("", tuple(f"x{j}" for j in range(width)), table[0].number, width=width)
    if header is None and not is_sure:
        doubts.append(f"the first line was taken as the header, as {why} (header=False)")
    if declared := _read_declarations(names, body):
        notes.append("Lines 2 and 3 of the header hold types and roles, as Orange writes them.")
        first = table[3].number if len(table) > 3 else table[-1].number + 1
        named = _name_all(names, notes)
        kinds = {named[j]: what for j, what in declared.items()}
        return Layout("", named, first, table[0].number, width, declared=kinds)
    names, units, used = _read_second_line(names, body, notes)
    rest = body[used - 1 : used]
    if rest and not names[0] and _names_index(rest[0]) and any(map(any, body[used:])):
        names[0], used = rest[0][0].strip(), used + 1  # pandas names the index in a line of its own
    if ends_empty and not names[-1] and width > 1:
        names = names[:-1]  # each line ends with a delimiter
    first = table[used].number if used < len(table) else table[-1].number + 1
    return Layout("", _name_all(names, notes), first, table[0].number, width, units)


def _judge_header(names: list[str], body: list[list[str]]) -> tuple[str, bool]:
    """Why the first line is a header (empty if it is none), and whether that is sure."""
    numbers = [name for name in names if is_number(name)]
    if not body:
        return ("" if numbers else "there is only one line"), not numbers
    columns = list(zip(*body, strict=True))
    numeric = [_is_numeric(column) for column in columns]
    named = [bool(n) and not is_number(n) and not is_missing(n) for n in names]
    odd = [n for n, text, number in zip(names, named, numeric, strict=True) if text and number]
    spread = [j for j, name in enumerate(names) if is_number(name)]
    if odd and (len(odd) > 1 or len(odd) >= sum(numeric) - len(spread) or sum(named) > 1):
        return f"{quote(odd[0])} stands above numbers", True
    if len(spread) >= 2 and _is_series([names[j] for j in spread]):
        same = sum(_is_series([row[j].strip() for j in spread]) for row in body)
        if same < max(1, len(body) / 2) or (not odd and len(spread) < len(names)):
            return f"{names[spread[0]]}, {names[spread[1]]}, ... are numbers in order", True
    if names[0] == "" and all(names[1:]) and len(set(names)) == len(names) > 1:
        rows = [row[0].strip() for row in body]
        is_listed = _is_series(rows) or rows == numbers[: len(rows)]
        is_index = all(re.fullmatch(r"\d+|.*[A-Za-z].*", row) for row in rows)
        if is_listed or (is_index and len(set(rows)) == len(rows)):
            why = "the first cell is empty, above the names of the rows"
            return why, is_listed or not numbers
    if any(numeric[j] for j in spread) or len(spread) > len(names) // 3:
        return "", True
    filled = [name for name in names if name]
    if len(set(filled)) < len(filled) and not odd:
        return "", False
    below = sum(n in column for n, column in zip(names, columns, strict=True) if n)
    if below > len(names) // 4:
        return "", True
    lengths = [max(map(len, column)) for column in columns]
    if any(len(n) > max(40, 2 * length) for n, length in zip(names, lengths, strict=True)):
        return "", False
    return "its words are found nowhere below", bool(odd) or not any(numeric)


def _read_declarations(names: list[str], body: list[list[str]]) -> dict[int, tuple[str, str]]:
    """Kind and role of columns by number, if two lines below the names declare them."""
    if len(body) < 3:
        return {}
    types, roles = ([cell.strip().lower() for cell in line] for line in body[:2])
    flags = [role.split() for role in roles]
    known = [kind in _ORANGE_KINDS for kind in types]
    listed = [  # or all values of a category
        " " in kind and {row[j].strip().lower() for row in body[2:]} <= {*kind.split(), "", "?"}
        for j, kind in enumerate(types)
    ]
    declared = all(k or v for k, v in zip(known, listed, strict=True)) and any(known)
    if not declared or any(f not in _ORANGE_ROLES and "=" not in f for fs in flags for f in fs):
        return {}
    return {
        j: (
            _ORANGE_KINDS.get(types[j], "category"),
            next((_ORANGE_ROLES[f] for f in flags[j] if f in _ORANGE_ROLES), ""),
        )
        for j in range(len(names))
    }


def _read_second_line(
    names: list[str], body: list[list[str]], notes: list[str]
) -> tuple[list[str], dict[str, str], int]:
    """Names, units, and the number of lines that hold them: names in two lines, or a unit below."""
    if len(body) < 3:
        return names, {}, 1
    second = [cell.strip() for cell in body[0]]
    if all(re.fullmatch(r"[-=_+*:]*", cell) for cell in second) and any(second):
        return names, {}, 2  # a ruler
    columns = list(zip(*body[1:], strict=True))
    numeric = [j for j, column in enumerate(columns) if _is_numeric(column)]
    text = [j for j in numeric if second[j] and not is_number(second[j])]
    odd = any(is_number(cell) for cell in second) or any(is_missing(second[j]) for j in text)
    if odd or not text or 2 * len(text) < len(numeric):
        return names, {}, 1
    filled = [name for name in names if name]
    are_groups = len(set(filled)) < len(filled)  # one name above several columns
    if not are_groups and 2 * sum(is_unit(second[j]) for j in text) >= len(text):
        notes.append("The second line of the header holds units.")
        units = {n: unit.strip("()[] ") for n, unit in zip(names, second, strict=True) if unit}
        return names, units, 2
    notes.append("The names are in two lines and were joined.")
    above, joined = "", []
    for first, lower in zip(names, second, strict=True):
        above = first or above  # a merged cell names the columns to its right
        joined.append(lower if lower == above or not above else f"{above} {lower}".strip())
    return joined, {}, 2


def _names_index(cells: list[str]) -> bool:
    """Whether a line holds a word in its first cell, and nothing else."""
    first, *others = (cell.strip() for cell in cells)
    return bool(first) and not is_number(first) and not any(others) and bool(others)


def _name_all(names: list[str], notes: list[str]) -> tuple[str, ...]:
    """Name the unnamed, and tell equal names apart."""
    made: dict[str, None] = {}
    repeated: dict[str, None] = {}
    for j, name in enumerate(names):
        name = name.lstrip("#").strip() if j == 0 else name.strip()
        name = name or ("row" if j == 0 else f"x{j}")
        new, k = name, 1
        while new in made:
            k += 1
            new = f"{name} ({k})"
        if new != name:
            repeated[name] = None
        made[new] = None
    if repeated:
        notes.append(f"Several columns are named {quote_names(repeated)}; they were numbered.")
    return tuple(made)


def _find_quoted(lines: Sequence[str], delimiter: str) -> frozenset[int]:
    """Columns whose numbers are in quotes, if the numbers of other columns are not."""
    quoted: set[int] = set()
    plain: set[int] = set()
    if delimiter.strip(" ") and any('"' in line for line in lines[:BODY_LINES]):
        mark = re.escape(delimiter)
        cell = re.compile(rf'(?:^|{mark})("(?:[^"]|"")*"|[^{mark}\r\n]*)')
        for line in lines[:BODY_LINES]:
            for j, text in enumerate(cell.findall(line)):
                if re.fullmatch(r'"\d+"', text):
                    quoted.add(j)
                elif re.fullmatch(r"-?[\d.]+", text):
                    plain.add(j)
    return frozenset(quoted - plain) if plain - quoted else frozenset()


def _is_numeric(column: Sequence[str]) -> bool:
    filled = [cell for cell in column if not is_missing(cell)]
    return bool(filled) and sum(map(is_number, filled)) >= 0.8 * len(filled)


def _is_series(names: Sequence[str]) -> bool:
    """Whole numbers that rise in equal steps, as years do, or 0, 1, 2, ..."""
    if len(names) < 2 or not all(re.fullmatch(r"\d{1,6}", name) for name in names):
        return False
    steps = {int(b) - int(a) for a, b in pairwise(names)}
    start = int(names[0])
    years = all(1700 <= int(name) <= 2150 for name in names) and min(steps) > 0
    return years or (len(steps) == 1 and min(steps) > 0 and (start <= 1 or len(names) > 2))


def _fit(cells: list[str], width: int) -> list[str]:
    return (cells + [""] * (width - len(cells)))[:width]
