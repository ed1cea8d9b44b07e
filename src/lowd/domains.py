"""Domains: what a parameter, or a field of a stored value, may hold.

A domain is the annotation of a field: its type, and in `Annotated` the rules below. Constructors,
error messages and command-line flags derive from the domains of parameters (`core.parameters`), the
checks of a model file from those of values (`store.schema`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = float | NDArray[Any]
# An annotation: a class, a union, Annotated[...], for all of which typing has no class.
Domain: TypeAlias = Any
Truth: TypeAlias = bool | np.bool_ | NDArray[np.bool_]


@dataclass(frozen=True)
class AtLeast:
    bound: float

    def __call__(self, value: Numbers) -> Truth:
        return value >= self.bound

    def __str__(self) -> str:
        return f">= {self.bound}"


@dataclass(frozen=True)
class AtMost:
    bound: float

    def __call__(self, value: Numbers) -> Truth:
        return value <= self.bound

    def __str__(self) -> str:
        return f"<= {self.bound}"


@dataclass(frozen=True)
class Above:
    bound: float

    def __call__(self, value: Numbers) -> Truth:
        return value > self.bound

    def __str__(self) -> str:
        return f"> {self.bound}"


@dataclass(frozen=True)
class Below:
    bound: float

    def __call__(self, value: Numbers) -> Truth:
        return value < self.bound

    def __str__(self) -> str:
        return f"< {self.bound}"


@dataclass(frozen=True)
class Finite:
    def __call__(self, value: Numbers) -> Truth:
        return np.isfinite(value)

    def __str__(self) -> str:
        return "that is finite"


@dataclass(frozen=True)
class NotZero:
    def __call__(self, value: Numbers) -> Truth:
        return value != 0

    def __str__(self) -> str:
        return "other than 0"


Rule = AtLeast | AtMost | Above | Below | Finite | NotZero

Count = Annotated[int, AtLeast(1)]
Number = Annotated[float, Finite()]
Positive = Annotated[float, Above(0), Finite()]
NonNegative = Annotated[float, AtLeast(0), Finite()]
Share = Annotated[float, Above(0), Below(1)]
Fraction = Annotated[float, AtLeast(0), AtMost(1)]


# -- fields of stored values ----------------------------------------------------------------
#
# Floating-point numbers are finite unless `MayBeNonfinite` says otherwise.
# Sizes have names. A value shares them with the value that holds it:
#   n  training points, the columns of a relation `toward` new points
#   d  columns of new points
#   k  columns of the result
# and these words likewise: input (the kind of data), metric, kernel.


class Shape:
    """The axes of an array, or the length of a tuple, by names of sizes or as numbers.

    A size is at least 1 unless the array may be empty.
    """

    def __init__(self, *axes: str | int, may_be_empty: bool = False) -> None:
        self.axes, self.may_be_empty = axes, may_be_empty


@dataclass(frozen=True)
class Index:
    """Entries are numbers of the points that a size counts, or down to `least`."""

    size: str
    least: int = 0


@dataclass(frozen=True)
class AtMostSize:
    """A count that does not exceed a size."""

    size: str


@dataclass(frozen=True)
class Fact:
    """A count that is a size, or a word that the value shares with those around it."""

    name: str


@dataclass(frozen=True)
class Increasing:
    """Entries do not decrease."""


@dataclass(frozen=True)
class MayBeNonfinite:
    """NaN or infinity has a meaning."""


@dataclass(frozen=True)
class NotStored:
    """Held during a fit only: None in a file."""


class OneOf:
    """Which values may stand in the field, by their classes' names."""

    def __init__(self, *names: str) -> None:
        self.names = names


class Words:
    """The texts that are allowed."""

    def __init__(self, *words: str) -> None:
        self.words = words


class Renamed:
    """What a held value's sizes are called here; None: they are its own."""

    def __init__(self, **names: str | None) -> None:
        self.names = names


class Facts(Protocol):
    """Sizes and words that a value has in common with those around it.

    A value class that cannot say all by annotations has a method `state_facts(self, facts)`, which
    is called with fields of the declared types and shapes.
    """

    def set(self, name: str, value: int | str) -> None:
        """The size or word that follows from the fields."""

    def equate(self, one: str, other: str) -> None:
        """Two sizes are the same."""

    def require(self, holds: bool, field: str, need: str) -> None:
        """Refuse the file unless it holds; `need` says what the field must be."""


def advise_at_most(name: str, most: int) -> str:
    """What to set a count to: "k=5 or less", but not "k=1 or less", as 0 is none.

    >>> advise_at_most("n_neighbors", 5), advise_at_most("n_neighbors", 1)
    ('n_neighbors=5 or less', 'n_neighbors=1')
    """
    return f"{name}={most}" + (" or less" if most > 1 else "")
