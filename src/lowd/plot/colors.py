"""What color a point has: by class, by value, or none."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, ParameterError
from .canvas import COLORS, MARKERS, PALE, drawing

Coloring = Literal["auto", "classes", "values"]
FEW = 20  # whole numbers with more distinct values are values
MOST = 40  # classes in a legend; the smallest ones beyond are one class "others"


class Classes(NamedTuple):
    """Names of classes, and the class of each point."""

    names: list[str]
    codes: NDArray[np.int64]
    title: str | None
    rest: bool = False  # is the last class what has no color of its own?

    def color(self, code: int) -> str:
        return PALE if self._plain(code) else COLORS[code % len(COLORS)]

    def marker(self, code: int) -> str:
        return "." if self._plain(code) else MARKERS[code // len(COLORS)]

    def rgb(self) -> NDArray[np.float64]:
        """One color per class."""
        return np.array(
            [drawing().colors.to_rgb(self.color(code)) for code in range(len(self.names))]
        )

    def _plain(self, code: int) -> bool:
        return self.rest and code == len(self.names) - 1


class Values(NamedTuple):
    """A number for each point; NaN has no color."""

    numbers: NDArray[np.float64]
    title: str | None
    cmap: Any = "viridis"
    edge: float = 0.0  # share of the numbers beyond each end of the scale

    def scale(self) -> Any:
        """Colors of the range of the numbers."""
        finite = self.numbers[np.isfinite(self.numbers)]
        low, high = np.quantile(finite, [self.edge, 1 - self.edge]) if len(finite) else (0, 1)
        norm = drawing().colors.Normalize(low, high if high > low else low + 1)
        named = isinstance(self.cmap, str)
        return drawing().ScalarMappable(
            norm, drawing().colormaps[self.cmap] if named else self.cmap
        )

    def shades(self) -> NDArray[np.float64]:
        """One color per point."""
        shades = np.array(self.scale().to_rgba(self.numbers), np.float64)
        shades[~np.isfinite(self.numbers)] = drawing().colors.to_rgba(PALE)
        return shades


def coloring(labels: Any, n: int, kind: Coloring = "auto") -> Classes | Values | None:
    """Classes or values, as asked for or as the labels look."""
    if kind not in ("auto", "classes", "values"):
        raise ParameterError(f"kind={kind!r}: expected 'auto' or 'classes' or 'values'.")
    if labels is None:
        return None
    title = getattr(labels, "name", None)
    given = np.asarray(labels)
    if given.shape != (n,):
        raise DataError(
            f"labels have shape {given.shape}, but the map has {n} points; give one per point."
        )
    title = str(title) if title else None
    if kind == "values" or (kind == "auto" and _continuous(given)):
        return Values(_numbers(given), title)
    return _classes(given, title)


def _continuous(given: NDArray[Any]) -> bool:
    if given.dtype.kind not in "iuf":
        return False
    finite = given[np.isfinite(given)]
    whole = bool((finite == np.round(finite)).all())
    return not whole or len(np.unique(finite)) > FEW


def _numbers(given: NDArray[Any]) -> NDArray[np.float64]:
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "labels are no numbers, so they cannot be shown as values; use kind='classes'."
        ) from None


def _classes(given: NDArray[Any], title: str | None) -> Classes:
    missing = np.array([one is None or one != one for one in given.tolist()], bool)
    keys, codes = _sorted_keys(given[~missing])
    names = [_name(key) for key in keys]
    sizes = np.bincount(codes, minlength=len(names))
    full = np.full(len(given), -1, np.int64)
    full[~missing] = codes
    if len(names) > MOST:
        kept = np.sort(np.argsort(-sizes, kind="stable")[: MOST - 1])
        new = np.full(len(names) + 1, -1, np.int64)  # the last entry is for -1, which is missing
        new[kept] = np.arange(len(kept))
        others = f"{len(names) - len(kept)} others"
        names, full = [names[code] for code in kept], new[full]
    else:
        others = "missing"
    if not (full < 0).any():
        return Classes(names, full, title)
    return Classes([*names, others], np.where(full < 0, len(names), full), title, rest=True)


def _sorted_keys(given: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Distinct labels in order: numbers by size, words by their letters and numbers in them."""
    words = given.astype(str) if given.dtype.kind == "O" else given
    keys, codes = np.unique(words, return_inverse=True)
    names = keys.tolist()
    if words.dtype.kind not in "US":
        return names, codes.astype(np.int64)
    order = sorted(range(len(names)), key=lambda i: _by_numbers(names[i]))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return [names[i] for i in order], rank[codes]


def _by_numbers(name: str) -> list[tuple[int, int, str]]:
    """So that "day 9" comes before "day 10"."""
    parts = re.split(r"(\d+)", str(name))
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _name(key: Any) -> str:
    if isinstance(key, float) and key == int(key):
        return str(int(key))
    name = str(key)
    return name if len(name) <= 28 else f"{name[:27]}…"
