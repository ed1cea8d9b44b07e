"""Declared fields of a class: its parameters with their domains, and its state.

A field is one line in the body of a class, and everything that has to know of it reads that line:
the constructor, the check of a parameter with its error sentence, the command line and the forms of
the explorer, and the check of a model file (`store`).

    n_neighbors: Count | None = 5                                   # a parameter
    eigenvalues_: Reals = state("n_components")                     # learned in the fit
    landmarks_: Indices = state("n_landmarks of n_points")          # numbers below n_points
"""

from __future__ import annotations

import collections.abc
import json
import operator
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from functools import cache
from inspect import get_annotations, signature
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
)
from typing import get_type_hints as resolve

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .errors import DataError, ParameterError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Limit:
    """A bound of a number, such as Limit(">=", 1)."""

    sign: Literal[">", ">=", "<", "<=", "!="]
    bound: float

    def __call__(self, value: float) -> bool:
        compare = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
        return bool(compare.get(self.sign, operator.ne)(value, self.bound))

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"


class Finite:
    """Neither infinity nor NaN."""

    def __call__(self, value: float) -> bool:
        return bool(np.isfinite(value))

    def __str__(self) -> str:
        return "that is finite"


# Domains of parameters.
Count = Annotated[int, Limit(">=", 1)]
Steps = Annotated[int, Limit(">=", 0)]
Number = Annotated[float, Finite()]
Positive = Annotated[float, Limit(">", 0), Finite()]
NonNegative = Annotated[float, Limit(">=", 0), Finite()]
Share = Annotated[float, Limit(">", 0), Limit("<", 1)]
Fraction = Annotated[float, Limit(">=", 0), Limit("<=", 1)]
Radius = Annotated[float, Limit(">", 0)]  # infinite: every row is a neighbor of every other
Jobs = Annotated[int, Limit(">=", -1024), Limit("!=", 0)]
Seed = Annotated[int, Limit(">=", 0)] | np.random.RandomState | np.random.Generator | None
Metric = (
    Literal[
        "euclidean",
        "sqeuclidean",
        "cosine",
        "correlation",
        "manhattan",
        "chebyshev",
        "minkowski",
        "hamming",
        "jaccard",
        "canberra",
        "braycurtis",
        "dice",
        "hellinger",
        "haversine",
        "gower",
        "precomputed",
        "l1",
        "l2",
        "cityblock",
        "taxicab",
        "linf",
    ]
    | Callable[..., Any]
)
MetricParams = dict[str, Any] | None

# What a model holds, besides plain values. Reals are float32 or float64.
if TYPE_CHECKING:  # NumPy's own functions give arrays of any type
    Reals = NDArray[Any]
    Indices = NDArray[Any]
else:  # what a model file may hold
    Reals = NDArray[np.floating]
    Indices = NDArray[np.integer]
Graph = csr_array

# A symmetric matrix as its products with blocks of vectors.
Product = Callable[[Reals], Reals]

# An annotation: a class, a union or Annotated[...], for all of which typing has no class.
Domain: TypeAlias = Any


def state(sizes: str = "", *, init: Literal[False] = False) -> Any:
    """A field that a fit sets, and a model file holds; of an array with the names of its sizes.

    Sizes of one name are equal in a model. Indices are "of" a size: they are numbers below it.
    """
    return field(init=init, repr=False, metadata={"sizes": sizes})


class Held:
    """A part of a model that declares its state, so that a model file can hold it by its name."""

    classes: ClassVar[dict[str, type[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(init=False, eq=False, repr=False)(cls)
        Held.classes[cls.__name__] = cls


def remembered(function: F) -> F:
    """`functools.cache`, which type checkers take to refuse classes made by `dataclass`."""
    return cache(function)  # type: ignore[return-value]


@remembered
def parameters_of(cls: type[Any]) -> dict[str, Domain]:
    """The domain of each parameter."""
    hints = resolve(cls, include_extras=True)
    return {one.name: hints[one.name] for one in fields(cls) if one.init}


def resolve_annotations(cls: type[Any]) -> None:
    """Give the constructor types in place of their names, which `typing.get_type_hints` reads.

    A name means what it does in the module that declares the field. The signature, which people
    read, shows the names.
    """
    init: Any = cls.__init__
    init.__signature__ = signature(init)
    for owner in reversed(cls.__mro__):
        names = vars(sys.modules[owner.__module__])
        for name, text in get_annotations(owner).items():
            if isinstance(init.__annotations__.get(name), str):
                init.__annotations__[name] = eval(text, names)


@remembered
def state_of(cls: type[Any]) -> dict[str, tuple[Any, str]]:
    """The type of each field of the state, and the sizes of an array."""
    hints = resolve(cls)
    return {
        one.name: (hints[one.name], one.metadata.get("sizes", ""))
        for one in fields(cls)
        if not one.init or issubclass(cls, Held)
    }


@remembered
def defaults_of(cls: type[Any]) -> dict[str, Any]:
    """The default of each parameter."""
    return {one.name: one.default for one in fields(cls) if one.init}


def check_parameters(model: object) -> None:
    """Raise an error that names the first parameter outside its domain."""
    cls = type(model)
    for name, domain in parameters_of(cls).items():
        value = getattr(model, name)
        if not accepts(domain, value):
            raise ParameterError(
                f"{cls.__name__}({name}={value!r}): expected {describe(domain)}.", name
            )


def refuse_unused(model: object, names: Iterable[str], why: str) -> None:
    """Raise an error if one of these parameters was set although it would change nothing."""
    defaults = defaults_of(type(model))
    for name in names:
        value = getattr(model, name)
        if isinstance(value, np.ndarray) or value != defaults[name]:
            raise ParameterError(
                f"{type(model).__name__}({name}={value!r}) would be ignored: {why}; leave it at "
                f"{defaults[name]!r}.",
                name,
            )


def check_count(value: int | None, most: int, name: str, why: str) -> None:
    """Raise an error if a count is more than the data allow; `why` says what limits it."""
    if value is not None and value > most:
        raise ParameterError(
            f"{name}={value} exceeds {most} ({why}); use {advise_at_most(name, most)}.", name
        )


def check_landmarks(m: int, k: int | None, n: int) -> None:
    """Raise an error unless there are more landmarks than components, and no more than rows."""
    if not (k or 0) < m <= n:
        raise ParameterError(
            f"n_landmarks={m} must be more than n_components={k} and at most n_samples={n}.",
            "n_landmarks",
        )


def check_start(init: np.ndarray, n: int, k: int) -> Reals:
    """Given initial coordinates, which must be finite, of every row and of every axis."""
    if init.shape != (n, k) or not np.isfinite(init).all():
        raise DataError(
            f"init has the shape {init.shape}; expected finite numbers of shape ({n}, {k}): "
            "coordinates of every row."
        )
    return init


def advise_at_most(name: str, most: int) -> str:
    """What to set a count to: "k=5 or less", but not "k=1 or less", as 0 is none.

    >>> advise_at_most("n_neighbors", 5), advise_at_most("n_neighbors", 1)
    ('n_neighbors=5 or less', 'n_neighbors=1')
    """
    return f"{name}={most}" + (" or less" if most > 1 else "")


# -- domains --------------------------------------------------------------------------------------


def accepts(domain: Domain, value: object) -> bool:
    """Whether a value is in the domain that an annotation describes."""
    return _test_of(domain)(value)


def in_full(hint: Any) -> Any:
    """What an alias stands for, as NumPy's NDArray is one from Python 3.12 on."""
    meaning, inside = getattr(get_origin(hint) or hint, "__value__", None), get_args(hint)
    if meaning is None:
        return hint
    return meaning[inside] if inside else meaning


@cache
def _test_of(domain: Domain) -> Callable[[Any], bool]:
    """The test of a domain, made once: to take an annotation apart takes longer than to ask."""
    domain = in_full(domain)
    kind: Any = get_origin(domain)
    inside = get_args(domain)
    if kind is Annotated:
        test, limits = _test_of(inside[0]), inside[1:]
        return lambda value: test(value) and all(limit(value) for limit in limits)
    if kind in (Union, UnionType):
        tests = [_test_of(part) for part in inside]
        return lambda value: any(test(value) for test in tests)
    if kind is Literal:
        return lambda value: isinstance(value, str) and value in inside
    if kind is collections.abc.Callable:
        return callable
    if domain in (int, float):
        numbers = (int, np.integer, Integral) if domain is int else (float, int, np.number, Real)
        return lambda value: isinstance(value, numbers) and not isinstance(value, bool | np.bool_)
    if domain is bool:
        return lambda value: isinstance(value, bool | np.bool_)
    if domain is Any:
        return lambda value: True  # noqa: ARG005
    if domain is NoneType:
        return lambda value: value is None
    return lambda value: isinstance(value, kind or domain)


def describe(domain: Domain) -> str:
    """A domain in words, such as "int >= 1 or None"."""
    kind: Any = get_origin(domain)
    inside = get_args(domain)
    if kind is Annotated:
        limits = " and ".join(map(str, inside[1:]))
        return f"{describe(inside[0])} {limits}"
    if kind in (Union, UnionType):
        return " or ".join(map(describe, inside))
    if kind is Literal:
        return " or ".join(map(repr, inside))
    if kind is collections.abc.Callable:
        return "a callable"
    return "None" if domain is NoneType else getattr(domain, "__name__", str(domain))


def split_union(domain: Domain) -> list[Domain]:
    """The alternatives of a union, without their limits.

    >>> split_union(Positive | None)
    [<class 'float'>, <class 'NoneType'>]
    """
    kind: Any = get_origin(domain)
    inside = get_args(domain)
    if kind is Annotated:
        return split_union(inside[0])
    if kind in (Union, UnionType):
        return [part for option in inside for part in split_union(option)]
    return [domain]


def list_literals(domain: Domain) -> list[str]:
    """The words that a domain allows.

    >>> list_literals(Positive | Literal["auto"])
    ['auto']
    """
    parts: list[Any] = split_union(domain)
    origins: list[Any] = [get_origin(part) for part in parts]
    found = zip(parts, origins, strict=True)
    return [word for part, origin in found if origin is Literal for word in get_args(part)]


def read(domain: Domain, text: str) -> Any:
    """Turn what was typed on a command line or in a form into a value of the domain.

    >>> read(Positive | list[Any], "10,50"), read(dict[str, Any] | None, '{"p": 3}')
    ([10, 50], {'p': 3})
    """
    words = {"none": None, "true": True, "false": False}

    def several(text: str) -> list[Any]:
        if "," not in text:
            raise ValueError(text)
        values: list[Any] = json.loads(f"[{text}]")
        return values

    for kind in (lambda t: words[t.lower()], int, float, str, json.loads, several):
        try:
            value = kind(text)
        except (ValueError, KeyError):
            continue
        if accepts(domain, value):
            return value
    raise ParameterError(f"{text!r}: expected {describe(domain)}.")
