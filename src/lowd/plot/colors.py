"""Colors of points: by class, by value, or none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, ParameterError
from ..io.words import is_label_name
from .canvas import COLORS, MARKERS, PALE_COLOR, load_matplotlib

if TYPE_CHECKING:
    from ..io.table import Column
    from .canvas import Colormap, ScalarMappable

Coloring = Literal["auto", "classes", "values"]
MAX_CLASS_NUMBERS = 12  # integers with more distinct values are colored as values
MAX_LEGEND_CLASSES = 40  # These fill two columns; smaller classes beyond are merged into "others".

MAX_LABEL_CHARACTERS = 28  # longest name of a class in a legend


class Classes(NamedTuple):
    """Names of classes, and the class of each point."""

    names: list[str]
    codes: NDArray[np.int64]
    title: str | None
    has_others: bool = False  # whether the last class gathers all that have no color of their own

    def color(self, code: int) -> str:
        return PALE_COLOR if self._plain(code) else COLORS[code % len(COLORS)]

    def marker(self, code: int) -> str:
        return "." if self._plain(code) else MARKERS[code // len(COLORS)]

    def rgb(self) -> NDArray[np.float64]:
        """One color per class."""
        return np.array(
            [load_matplotlib().colors.to_rgb(self.color(code)) for code in range(len(self.names))]
        )

    def _plain(self, code: int) -> bool:
        return self.has_others and code == len(self.names) - 1


class Values(NamedTuple):
    """A number for each point; NaN has no color."""

    numbers: NDArray[np.float64]
    title: str | None
    cmap: str | Colormap = "viridis"
    clipped: float = 0.0  # share of the numbers beyond each end of the scale
    least: float = 0.0  # range of the scale, which grows at its upper end, or at its lower if < 0

    def scale(self) -> ScalarMappable:
        """The color scale over the range of the numbers."""
        finite = self.numbers[np.isfinite(self.numbers)]
        low, high = np.quantile(finite, [self.clipped, 1 - self.clipped]) if len(finite) else (0, 1)
        if high - low < abs(self.least):
            low, high = (low, low + self.least) if self.least > 0 else (high + self.least, high)
        norm = load_matplotlib().colors.Normalize(low, high if high > low else low + 1)
        named = isinstance(self.cmap, str)
        return load_matplotlib().ScalarMappable(
            norm, load_matplotlib().colormaps[self.cmap] if named else self.cmap
        )

    def to_rgba(self) -> NDArray[np.float64]:
        """One color per point."""
        rgba = np.array(self.scale().to_rgba(self.numbers), np.float64)
        rgba[~np.isfinite(self.numbers)] = load_matplotlib().colors.to_rgba(PALE_COLOR)
        return rgba


def choose_coloring(
    labels: ArrayLike | None, n: int, kind: Coloring = "auto", title: str | None = None
) -> Classes | Values | None:
    """Color points by class or by value, as asked for or as suits the labels."""
    if kind not in ("auto", "classes", "values"):
        raise ParameterError(f"kind={kind!r}: expected 'auto' or 'classes' or 'values'.")
    if labels is None:
        return None
    title = title or getattr(labels, "name", None)
    given = np.asarray(labels)
    if given.shape != (n,):
        raise DataError(
            f"labels have shape {given.shape}, but the embedding has {n} points; give one per "
            "point."
        )
    title = str(title) if title else None
    if kind == "values" or (kind == "auto" and is_continuous(given, name=title)):
        return Values(_to_numbers(given), title)
    return _make_classes(given, title)


def is_continuous(
    given: Column, max_classes: int = MAX_CLASS_NUMBERS, name: str | None = None
) -> bool:
    """Whether labels are values: numbers with fractions, or many distinct integers.

    Codes of classes under the name of a label ("y", "person") are classes, however many.
    """
    if given.dtype.kind not in "iuf":
        return False
    finite = given[np.isfinite(given)]
    if not (finite == np.round(finite)).all():
        return True
    distinct, counts = np.unique(finite, return_counts=True)
    if len(distinct) <= max_classes:
        return False
    # Codes begin at 0 or 1, leave none out, and have several rows each; a count or an age has gaps,
    # and rare values at its ends.
    is_code = distinct[0] in (0, 1) and distinct[-1] - distinct[0] == len(distinct) - 1
    return not (name and is_label_name(name) and is_code and counts.min() > 1)


def _to_numbers(given: Column) -> NDArray[np.float64]:
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "labels are not numbers, so they cannot be shown as values; use kind='classes'."
        ) from None


def _make_classes(given: Column, title: str | None) -> Classes:
    missing = np.array([label is None or label != label for label in given.tolist()], bool)
    keys, codes = _sort_labels(given[~missing])
    names = [_format_label(key) for key in keys]
    sizes = np.bincount(codes, minlength=len(names))
    full = np.full(len(given), -1, np.int64)
    full[~missing] = codes
    if len(names) > MAX_LEGEND_CLASSES:
        kept = np.sort(np.argsort(-sizes, kind="stable")[: MAX_LEGEND_CLASSES - 1])
        # The last entry is for -1, which stands for a missing label.
        new = np.full(len(names) + 1, -1, np.int64)
        new[kept] = np.arange(len(kept))
        others = f"{len(names) - len(kept)} others"
        names, full = [names[code] for code in kept], new[full]
    else:
        others = "missing"
    if not (full < 0).any():
        return Classes(names, full, title)
    return Classes([*names, others], np.where(full < 0, len(names), full), title, has_others=True)


def _sort_labels(given: Column) -> tuple[list[str | float], NDArray[np.int64]]:
    """Distinct labels in natural order: numbers by size, words by their letters and numbers."""
    words = given.astype(str) if given.dtype.kind == "O" else given
    keys, codes = np.unique(words, return_inverse=True)
    names = keys.tolist()
    if words.dtype.kind not in "US":
        return names, codes.astype(np.int64)
    order = sorted(range(len(names)), key=lambda i: natural_sort_key(names[i]))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return [names[i] for i in order], rank[codes]


def natural_sort_key(name: str) -> list[tuple[int, int, str]]:
    """The key of a natural order, in which "day 9" comes before "day 10"."""
    parts = re.split(r"(\d+)", str(name))
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _format_label(key: str | float) -> str:
    if isinstance(key, float) and key == int(key):
        return str(int(key))
    name = str(key)
    short = f"{name[: MAX_LABEL_CHARACTERS - 1]}…"
    return name if len(name) <= MAX_LABEL_CHARACTERS else short
