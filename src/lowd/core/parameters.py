"""Parameter domains, declared once as annotations.

The annotation of a field is its only declaration: the constructor, the checks, the error
sentences, the command line and the explorer's forms are all derived from it.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import json
import types
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from numbers import Integral, Real
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from ..domains import Above as Above
from ..domains import AtLeast as AtLeast
from ..domains import AtMost as AtMost
from ..domains import Below as Below
from ..domains import Count as Count
from ..domains import Domain as Domain
from ..domains import Finite as Finite
from ..domains import Fraction as Fraction
from ..domains import NonNegative as NonNegative
from ..domains import NotZero as NotZero
from ..domains import Number as Number
from ..domains import Positive as Positive
from ..domains import Share as Share
from ..errors import ParameterError

Check = Callable[[object], bool]
ParameterValue: TypeAlias = Any  # of the type that its domain says

Radius = Annotated[float, Above(0)]  # infinite: every row is a neighbor of every other
Jobs = Annotated[int, AtLeast(-1024), NotZero()]
Seed = Annotated[int, AtLeast(0)] | np.random.RandomState | np.random.Generator | None
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
        "gower",
        "precomputed",
    ]
    | Callable[..., Any]
)
MetricParams = dict[str, Any] | None


@cache
def domains(cls: type) -> dict[str, Domain]:
    """Parameter name -> declared domain."""
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


@cache
def checks(cls: type) -> tuple[tuple[str, Check], ...]:
    """Parameter name -> test of its value."""
    return tuple((name, _check(domain)) for name, domain in domains(cls).items())


def check_params(obj: object) -> None:
    """Raise ParameterError for the first field whose value is outside its domain."""
    for name, accepted in checks(cast(Hashable, type(obj))):
        if not accepted(getattr(obj, name)):
            domain = domains(cast(Hashable, type(obj)))[name]
            raise ParameterError(
                f"{type(obj).__name__}({name}={getattr(obj, name)!r}): expected {describe(domain)}."
            )


def refuse_unused(obj: object, names: Iterable[str], why: str) -> None:
    """Raise if one of the parameters was set although it would change nothing."""
    defaults = _defaults(cast(Hashable, type(obj)))
    for name in names:
        if getattr(obj, name) != defaults[name]:
            raise ParameterError(
                f"{type(obj).__name__}({name}={getattr(obj, name)!r}) would be ignored: {why}; "
                f"leave it at {defaults[name]!r}."
            )


@cache
def _defaults(cls: type) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(cls)}


def check_count(k: int | None, limit: int, why: str) -> None:
    """Raise an error if there are more components than the data allow."""
    if k is not None and k > limit:
        raise ParameterError(f"n_components={k} exceeds {limit} ({why}); use at most {limit}.")


def check_landmarks(m: int, k: int | None, n: int) -> None:
    """Raise an error unless there are more landmarks than components, and no more than rows."""
    if not (k or 0) < m <= n:
        raise ParameterError(
            f"n_landmarks={m} must be more than n_components={k} and at most n_samples={n}."
        )


def read_positive(obj: object, name: str) -> tuple[float, ...]:
    """The values > 0 of a parameter that is one number or several."""
    given = getattr(obj, name)
    several = given if isinstance(given, list | tuple) else [given]
    if not several or not all(accepts(Positive, one) for one in several):
        raise ParameterError(f"{type(obj).__name__}({name}={given!r}): expected numbers > 0.")
    return tuple(float(one) for one in several)


def accepts(domain: object, value: object) -> bool:
    """Is the value inside the domain?"""
    return _check(domain)(value)


@cache
def _check(domain: object) -> Check:
    """The test of a domain, made once: to take an annotation apart takes longer than to ask."""
    origin = get_origin(domain)
    if origin is Annotated:
        base, *rules = get_args(domain)
        tests = (_check(base), *rules)
        return _all_of(tests)
    if origin in (Union, types.UnionType):
        return _any_of(tuple(map(_check, get_args(domain))))
    if origin is Literal:
        words = get_args(domain)
        return lambda value: isinstance(value, str) and value in words
    if origin is collections.abc.Callable:
        return callable
    return _CHECKS_OF_TYPES.get(domain) or (
        lambda value: isinstance(value, cast(type, origin or domain))
    )


def _all_of(tests: tuple[Check, ...]) -> Check:
    def check(value: object) -> bool:
        for test in tests:  # noqa: SIM110 - `all` takes twice the time
            if not test(value):
                return False
        return True

    return check


def _any_of(tests: tuple[Check, ...]) -> Check:
    def check(value: object) -> bool:
        for test in tests:  # noqa: SIM110
            if test(value):
                return True
        return False

    return check


# The classes that numbers mostly have come first: the others take 0.1 ms to decide once.
_CHECKS_OF_TYPES: dict[Domain, Check] = {
    Any: lambda _: True,
    type(None): lambda value: value is None,
    bool: lambda value: isinstance(value, (bool, np.bool_)),
    int: lambda value: (
        isinstance(value, (int, np.integer, Integral)) and not isinstance(value, bool)
    ),
    float: lambda value: (
        isinstance(value, (float, int, np.floating, np.integer, Real))
        and not isinstance(value, (bool, np.bool_))
    ),
}


def describe(domain: object) -> str:
    """The domain in words, for error messages and help texts."""
    origin = get_origin(domain)
    if origin is Annotated:
        base, *rules = get_args(domain)
        return f"{describe(base)} " + " and ".join(map(str, rules))
    if origin in (Union, types.UnionType):
        return " or ".join(map(describe, get_args(domain)))
    if origin is Literal:
        return " or ".join(map(repr, get_args(domain)))
    if origin is collections.abc.Callable:
        return "a callable"
    return "None" if domain is type(None) else getattr(domain, "__name__", str(domain))


def split_union(domain: object) -> list[Domain]:
    """The alternatives of a union, without their rules.

    >>> split_union(Positive | None)
    [<class 'float'>, <class 'NoneType'>]
    """
    origin = get_origin(domain)
    if origin is Annotated:
        return split_union(get_args(domain)[0])
    if origin in (Union, types.UnionType):
        return [part for option in get_args(domain) for part in split_union(option)]
    return [domain]


def list_literals(domain: object) -> list[str]:
    """The words that a domain allows.

    >>> list_literals(Positive | Literal["auto"])
    ['auto']
    """
    literals = (part for part in split_union(domain) if get_origin(cast(object, part)) is Literal)
    return [word for part in literals for word in get_args(part)]


def read(domain: object, text: str) -> ParameterValue:
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
