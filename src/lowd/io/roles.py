"""What each column is for: feature, label, identifier, or kept beside the map."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from . import words
from .kinds import LEVELS, MANY_LEVELS, NUMBERS, Column, Kind, Numbers
from .options import Options, check_column, match_columns, split_patterns
from .words import pluralize, quote, quote_names

MAX_CLASSES = 20  # Most different whole numbers that are classes.
MAX_GOWER_LEVELS = 40
MIN_FILLED = 0.5  # Smallest share of known values in a feature, if there are others.
COMPARED_COLUMNS, COMPARED_ROWS = 150, 3000  # for columns that were computed from others
SURE = 1 - 1e-6  # correlation of a column with what it was computed from
FEW_ROWS = 4  # Fewer rows make no map.


class Role(StrEnum):
    """What a column is used for."""

    FEATURE = "feature"
    LABEL = "label"
    IDENTIFIER = "identifier"
    VECTOR = "vector"
    BESIDE = "beside"


@dataclass
class Roles:
    """The role of each column by name, and why; whether numbers and words are used together."""

    roles: dict[str, Role]
    why: dict[str, str]
    is_mixed: bool = False
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    trouble: str = ""  # why there is nothing to map

    def of(self, role: Role) -> list[str]:
        return [name for name, own in self.roles.items() if own == role]

    def get(self, role: Role) -> str | None:
        return next(iter(self.of(role)), None)

    def set(self, name: str, role: Role, why: str) -> None:
        self.roles[name], self.why[name] = role, why


def find_roles(columns: list[Column], options: Options, where: str) -> Roles:
    """Roles of all columns: as given, or from kinds, names and values."""
    names = [c.name for c in columns]
    for what in ("label", "id", "vector"):
        if (given := getattr(options, what)) is not None:
            check_column(given, names, where, what)
    roles = Roles(dict.fromkeys(names, Role.BESIDE), {c.name: str(c.kind) for c in columns})
    exactly = set(split_patterns(options.columns, names)) & set(names)
    wanted = set(match_columns(options.columns, names, where, "columns"))
    usual = words.IDENTIFIERS | words.ROW_NAMES | words.NAMES | {*words.LABELS}
    free = [c for c in columns if c.name not in exactly and c.name != options.vector]
    free = [c for c in free if c.key not in words.QUALITY_COLUMNS]
    nameable = [c for c in free if c.name not in wanted or c.key in usual]
    identifier = _find_identifier(roles, nameable, options)
    label = _find_label(roles, [c for c in nameable if c is not identifier], options)
    free = [c for c in free if c is not identifier and c is not label]
    vectors = [c for c in free if c.kind == Kind.VECTOR]
    numbers = [c for c in free if c.kind in NUMBERS]
    if options.vector is not None:
        roles.set(options.vector, Role.VECTOR, "as given")
        return roles
    if options.columns is None and len(vectors) == 1 and not numbers:
        roles.set(vectors[0].name, Role.VECTOR, "a list in every cell")
        return roles
    taken = {c.name for c in (identifier, label) if c is not None}
    if options.columns is not None:
        chosen = wanted - taken
        roles.is_mixed = bool(options.gower)
        if not options.encode and not options.gower:  # patterns may match text, names mean it
            texts = [c for c in free if c.name in chosen - exactly and c.values is None]
            texts = [c for c in texts if c.kind != Kind.DATE and c.filled]
            chosen -= {c.name for c in texts}
            for c in texts:
                why = f"{c.kind}; to use text: encode=True or gower=True"
                roles.set(c.name, Role.BESIDE, why)
    else:
        chosen = _choose_features(roles, free, numbers, columns, options)
        kept = match_columns(options.keep, names, where, "keep") if options.keep else []
        chosen |= set(kept)
        for name in kept:
            roles.set(name, Role.FEATURE, "as given")
    features = [c for c in columns if c.name in chosen]
    for c in features:
        roles.set(c.name, Role.FEATURE, c.why)
    roles.trouble = _find_trouble(features, columns, roles)
    return roles


def _choose_features(
    roles: Roles, free: list[Column], numbers: list[Column], columns: list[Column], options: Options
) -> set[str]:
    levels = [c for c in free if c.kind in LEVELS and _has_few_levels(c)]
    if not options.gower:  # a code is no feature for want of others
        levels = [c for c in levels if c.kind != Kind.CODE]
    label = next((c for c in columns if roles.roles[c.name] == Role.LABEL), None)
    aside = {c.name: why for c, why in _find_derived(numbers)}
    aside |= _find_dummies(numbers, columns)
    sparse = [c for c in numbers if len(c.known) < MIN_FILLED * c.rows]
    if len(numbers) - len(sparse) > 1:
        aside |= {c.name: f"{1 - len(c.known) / c.rows:.0%} missing" for c in sparse}
    infinite = [c for c in numbers if c.infinite]
    if len(numbers) - len(infinite) > 1:
        aside |= {c.name: f"{pluralize(c.infinite, 'infinite value')}" for c in infinite}
    for name, why in aside.items():
        roles.set(name, Role.BESIDE, why)
    numbers = [c for c in numbers if c.name not in aside]
    levels = [c for c in levels if c.name not in aside]
    texts = [c for c in levels if c.kind != Kind.BOOLEAN]
    amounts = [c for c in numbers if c.kind != Kind.BOOLEAN]
    few = len(amounts) < 2 and len(numbers) < 5
    roles.is_mixed = bool(options.gower)
    if options.gower is None and not options.encode:
        roles.is_mixed = bool(texts) and (few or len(texts) > len(numbers))
        counted = f"{pluralize(len(texts), 'column')} of words and {len(numbers)} of numbers"
        if roles.is_mixed and numbers:
            gaps = ", missing values left out" * any(c.missing for c in (*numbers, *texts))
            roles.notes.append(
                f"{counted} are compared together{gaps} (gower=False takes the numbers)."
            )
        elif not roles.is_mixed and len(texts) > len(numbers) / 2:
            roles.notes.append(f"Of {counted}, the numbers are compared (gower=True takes both).")
    chosen = {c.name for c in numbers}
    if roles.is_mixed:
        chosen |= {c.name for c in levels}
        chosen |= {c.name for c in free if c.kind == Kind.DATE and options.gower and c.is_clear}
        weak = label is not None and label.key not in words.STRONG_LABELS and not options.label
        if label is not None and weak and label.kind == Kind.CATEGORY:
            chosen.add(label.name)  # the only words are what there is to compare
    if label is not None and label.name not in chosen:
        for c in columns:
            if c.name in chosen and _is_recoding(c, label):
                chosen.discard(c.name)
                roles.set(c.name, Role.BESIDE, f"one-to-one with the label {quote(label.name)}")
    if options.encode:
        chosen |= {c.name for c in free if c.kind in (Kind.CATEGORY, Kind.CODE, Kind.TEXT)}
        chosen |= set(options.levels) & {c.name for c in columns}
    if options.dates:
        chosen |= {c.name for c in free if c.kind == Kind.DATE and c.is_clear}
    return chosen


def _find_identifier(roles: Roles, columns: list[Column], options: Options) -> Column | None:
    """The column that names the rows: a name rather than a number, a number rather than a count."""
    ranks = []
    for c in columns:
        if c.name == options.id:
            ranks.append((0, c.position, c))
        elif c.name == options.label or (c.kind == Kind.ROW_NUMBER and c.key in words.TIMES):
            continue
        elif c.kind == Kind.NAME:
            named = c.key in words.NAMES | words.IDENTIFIERS or c.position <= 1
            ranks.append((1 if named else 2, c.position, c))
        elif c.kind == Kind.IDENTIFIER and c.distinct == c.rows:
            ranks.append((2, c.position, c))
        elif c.kind == Kind.ROW_NUMBER:
            ranks.append((3 if c.position == 0 else 4, c.position, c))
    if not ranks:
        return next((c for c in columns if c.name == options.id), None)
    chosen = min(ranks, key=lambda rank: rank[:2])[2]
    why = "as given" if chosen.name == options.id else chosen.why
    roles.set(chosen.name, Role.IDENTIFIER, why)
    return chosen


def _find_label(roles: Roles, columns: list[Column], options: Options) -> Column | None:
    """By its name, or the last or only words; always with few different values."""
    if options.label is not None:
        chosen = next((c for c in columns if c.name == options.label), None)
        if chosen is not None:
            roles.set(chosen.name, Role.LABEL, "as given")
        return chosen
    kinds = [c.kind for c in columns]
    ranks = [(*_rank_label(c, columns, kinds), c) for c in columns]
    rank, _, why, label = min(ranks, key=lambda found: found[:2], default=(9, 0, "", None))
    uses_text = bool(options.encode or options.gower)  # a person said what to do with text
    if label is None or rank == 9 or (uses_text and rank > 2):
        return None
    roles.set(label.name, Role.LABEL, why)
    if rank > 4:
        roles.doubts.append(f"{quote(label.name)} was taken as the label (label=...)")
    return label


def _rank_label(c: Column, columns: list[Column], kinds: list[Kind]) -> tuple[int, int, str]:
    is_text = c.kind == Kind.CATEGORY
    named = c.key in words.LABELS
    few = 2 <= c.distinct <= (MANY_LEVELS if is_text or named else MAX_CLASSES)
    few &= c.distinct <= c.rows / 2 or (
        c.key in words.STRONG_LABELS and c.distinct < max(c.rows, 5)
    )
    whole = c.is_number and c.is_whole and c.kind in NUMBERS
    nothing = 9, 0, ""
    if c.key in words.OUTCOMES and c.kind in NUMBERS and not (few and whole):
        several = sum(kind in NUMBERS for kind in kinds) > 2
        return (7, 0, "named as an outcome") if several else nothing
    if not few or not (c.kind in LEVELS or whole):
        return nothing
    why = f"named so, {c.distinct} values"
    coordinate = c.key == "y" and any(other.key == "x" for other in columns)
    counted = c.kind == Kind.COUNT and (c.key == "event" or c.distinct > MAX_CLASSES)
    if named and not coordinate and not counted:
        return 1, words.LABELS.index(c.key), why
    if c.parts and c.parts[-1] in words.STRONG_LABELS and c.kind != Kind.COUNT:
        return 2, c.position, why
    if is_text and c is columns[-1]:
        return 3, 0, f"the last column, {c.distinct} words"
    if is_text and kinds.count(Kind.CATEGORY) == 1:
        return 4, 0, f"the only words, {c.distinct} different"
    last = c is columns[-1] and len(columns) > 2
    if c.kind == Kind.BOOLEAN and last and kinds.count(Kind.BOOLEAN) == 1:
        return 5, 0, "the last column, yes or no"
    if c.position in (0, columns[-1].position) and _is_class(c, columns):
        return 6, -c.position, f"{c.distinct} whole numbers beside measured ones"
    return nothing


def _is_class(c: Column, columns: list[Column]) -> bool:
    """0, 1, 2, ... in a file without names, where all others are measured or are pixels."""
    others = [other for other in columns if other is not c and other.is_number]
    others = [other for other in others if other.distinct > 1]
    if c.name != f"x{c.position}" or len(others) < 2:
        return False
    measured = sum(not other.is_whole for other in others) > 0.7 * len(others)
    return c.low in (0, 1) and c.high < c.distinct + 1 and (measured or len(others) > 50)


def _is_recoding(c: Column, label: Column, min_rows: int = 10) -> bool:
    """Whether each value of a column stands for one value of the label, and the reverse."""
    if c.rows < min_rows or not 2 <= c.distinct <= min(MANY_LEVELS, c.rows / 3):
        return False
    if abs(c.distinct - label.distinct) > 1:  # one of them may write a value as missing
        return False
    first, second = (
        np.unique(one.values, return_inverse=True)
        if one.values is not None
        else np.unique(one.cells.cast(str).fill_null("").to_numpy(), return_inverse=True)
        for one in (c, label)
    )
    pairs = len(np.unique(first[1] * len(second[0]) + second[1]))
    return pairs == len(first[0]) == len(second[0])


def _has_few_levels(c: Column) -> bool:
    return 2 <= c.distinct <= max(2, min(MAX_GOWER_LEVELS, c.rows / 3))


def _find_derived(numbers: list[Column]) -> list[tuple[Column, str]]:
    """Columns computed from one other: its logarithm or its square."""
    chosen = [c for c in numbers if c.kind != Kind.BOOLEAN and c.distinct > 5][:COMPARED_COLUMNS]
    if len(chosen) < 2:
        return []
    n = chosen[0].rows
    rows = np.linspace(0, n - 1, min(n, COMPARED_ROWS)).astype(np.intp)
    X = np.array([c.values[rows] for c in chosen if c.values is not None], np.float64)
    X = X[:, np.isfinite(X).all(0)]
    if X.shape[1] < 20:
        return []
    found: dict[int, tuple[Column, str]] = {}
    with np.errstate(all="ignore"):
        Z = _standardize(X)
        for form, F in (("log of {}", np.log(X)), ("square of {}", X**2)):
            G = _standardize(F)
            R = np.nan_to_num(Z @ G.T / X.shape[1])
            for i, j in np.argwhere(np.abs(R) > SURE).tolist():
                both = np.abs(R[j, i]) > SURE  # nearly linear: which one was first is unknown
                if i == j or i in found or j in found or (i < j and both):
                    continue
                rest = np.median(np.abs(Z[i] - np.sign(R[i, j]) * G[j]))
                if rest < 1e-3 * np.median(np.abs(Z[i] - np.median(Z[i]))):
                    found[i] = chosen[i], form.format(quote(chosen[j].name))
    return [found[i] for i in sorted(found)]


def _standardize(X: Numbers) -> Numbers:
    Z: Numbers = (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True)
    return Z


def _find_dummies(numbers: list[Column], columns: list[Column]) -> dict[str, str]:
    """Columns of 0 and 1 that mark one value of a code or a year kept beside."""
    flags = [c for c in numbers if c.kind == Kind.BOOLEAN]
    kinds = (Kind.CODE, Kind.YEAR, Kind.IDENTIFIER, Kind.TIME)
    codes = [c for c in columns if c.is_number and c.kind in kinds and c.distinct > 2]
    found = {}
    for flag in flags:
        marked = np.asarray(flag.values) == 1
        for code in codes:
            values = np.asarray(code.values)
            if marked.any() and np.array_equal(values == values[marked][0], marked):
                found[flag.name] = f"marks one value of {quote(code.name)}"
                break
    return found


def _find_trouble(features: list[Column], columns: list[Column], roles: Roles) -> str:
    """Why these rows make no map, and what helps."""
    rows = columns[0].rows if columns else 0
    keys = {c.key for c in columns}
    if features and rows < FEW_ROWS:
        return f"a map needs at least {FEW_ROWS} rows; this table has {rows}."
    if len(columns) <= 3 and any(pair <= keys for pair in words.GRAPHS):
        return "the rows are the edges of a graph, not points; compute distances of its nodes."
    if len(features) > 1:
        return ""
    if features:
        name = features[0].name
        times = (Kind.TIME, Kind.DATE, Kind.YEAR)
        axis = next((c for c in columns if c.kind in times), None)
        against = f"draw it against {quote(axis.name)}, or " if axis else ""
        return (
            f"one feature is left, {quote(name)}, and a map needs two or more; {against}"
            "keep another column as a feature (keep=...)."
        )
    if len(columns) == 1:
        return (
            f"the only column, {quote(columns[0].name)}, holds {columns[0].kind}; is it split "
            "at another mark (delimiter=...), or below title lines (skip=...)?"
        )
    held: dict[str, list[str]] = {}
    for c in columns:
        is_beside = roles.roles[c.name] == Role.BESIDE
        held.setdefault(roles.why[c.name] if is_beside else str(c.kind), []).append(c.name)
    told = "; ".join(f"{quote_names(names, 3)}: {what}" for what, names in held.items())
    is_long = sum(c.kind in LEVELS for c in columns) > 1
    pivot = " If each row is a cell of a table, pivot it first." if is_long else ""
    return (
        f"no column can be a feature ({told}); name one that is (keep=..., "
        f"or kind={{'NAME': 'category'}}).{pivot}"
    )
