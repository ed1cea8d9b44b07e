"""Annotations of fields as domains: what a value must be, in kinds that can be checked."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Hashable
from functools import cache
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
from scipy.sparse import csr_array

from ..backends.protocol import DType
from ..core.estimator import Reducer
from ..domains import (
    Above,
    AtLeast,
    AtMost,
    Below,
    Domain,
    Finite,
    NotStored,
    NotZero,
    OneOf,
    Shape,
)
from ..values import VALUE_CLASSES

Rules: TypeAlias = tuple[object, ...]  # in Annotated
# Of `type X = ...`, which Python has from 3.12 on.
TYPE_ALIASES: tuple[Any, ...] = tuple(filter(None, [getattr(typing, "TypeAliasType", None)]))
RANGE_RULES = (AtLeast, AtMost, Above, Below, Finite, NotZero)


class NotDeclaredError(TypeError):
    """A field has no domain that can be checked, so its class cannot be stored."""


def declared_fields(cls: type) -> dict[str, Domain]:
    """Field -> domain of a value class; NotDeclaredError if one cannot be checked."""
    return _declared_fields(cast(Hashable, cls))


@cache
def _declared_fields(cls: type) -> dict[str, Domain]:
    hints = get_type_hints(cls, include_extras=True)
    declared = {entry.name: hints[entry.name] for entry in dataclasses.fields(cls)}
    for name, domain in declared.items():
        _require_declared(domain, (), f"{cls.__name__}.{name}")
    return declared


def _require_declared(domain: object, rules: Rules, where: str) -> None:
    base, rules = split_rules(domain, rules)
    options = list_options(base)
    if len(options) > 1:
        for option in options:
            _require_declared(option, rules, where)
        return
    kind = find_kind(base)
    shaped = any(isinstance(rule, Shape) for rule in rules)
    if kind is None or (kind in ("array", "sparse", "rows") and not shaped):
        hidden = any(isinstance(rule, NotStored) for rule in rules)
        if not hidden:
            raise NotDeclaredError(f"{where}: {domain} says too little to check what a file holds")
    if kind == "tuple":
        for item in get_args(base):
            if item is not Ellipsis:
                _require_declared(item, (), where)


def split_rules(domain: object, rules: Rules = ()) -> tuple[Domain, Rules]:
    """The class of an annotation, and its rules with those of the annotations around it."""
    while True:
        origin = get_origin(domain) or domain
        if isinstance(origin, TYPE_ALIASES):  # NumPy's NDArray from 2.5 on
            given = get_args(domain)
            domain = origin.__value__[given] if given else origin.__value__
        elif origin is Annotated:
            domain, *more = get_args(domain)
            rules = (*rules, *more)
        else:
            return domain, rules


def list_options(domain: object) -> tuple[Domain, ...]:
    """The members of a union, or the domain itself."""
    if get_origin(domain) in (Union, types.UnionType):
        return get_args(domain)
    return (domain,)


_KINDS_OF_TYPES = {type(None): "none", bool: "bool", int: "int", float: "float", str: "str"}


def find_kind(domain: object) -> str | None:
    """How values of a domain are checked; None: they cannot be."""
    origin = get_origin(domain) or domain
    if domain is Any:
        return "rows"  # dense or sparse: scipy's classes have no types
    if origin is Literal:
        return "literal"
    if origin is np.ndarray:
        return "array"
    if origin is csr_array:
        return "sparse"
    if origin is tuple:
        return "tuple"
    if isinstance(origin, type) and issubclass(origin, Reducer):
        return "model"
    if isinstance(origin, type) and (origin in _KINDS_OF_TYPES or _classes(origin)):
        return _KINDS_OF_TYPES.get(origin, "value")
    return None


def _classes(domain: Domain) -> tuple[str, ...]:
    """Names of the value classes that are of a class, or have the methods of a protocol."""
    if domain.__name__ in VALUE_CLASSES:
        return (domain.__name__,)
    if not getattr(domain, "_is_protocol", False):
        return ()
    protocols = [base for base in domain.__mro__ if getattr(base, "_is_protocol", False)]
    public = (name for base in protocols for name in vars(base))
    methods = {name for name in public if name == "__call__" or not name.startswith("_")}
    return tuple(
        name for name, cls in VALUE_CLASSES.items() if all(hasattr(cls, m) for m in methods)
    )


def describe(domain: Domain, rules: Rules) -> str:
    """A domain in words, for an error message."""
    domain, rules = split_rules(domain, rules)
    if len(options := list_options(domain)) > 1:
        return " or ".join(describe(option, rules) for option in options)
    kind = find_kind(domain)
    if kind == "literal":
        return " or ".join(map(repr, get_args(domain)))
    if kind == "array":
        axes = [", ".join(map(str, rule.axes)) for rule in rules if isinstance(rule, Shape)]
        types = " or ".join(sorted(str(dtype) for dtype in list_dtypes(domain)))
        return f"a {types} array with the axes ({' '.join(axes)})"
    if kind == "value":
        return "a value of class " + " or ".join(list_allowed(domain, rules))
    words = {
        "model": "a fitted method",
        "none": "None",
        "sparse": "a sparse matrix",
        "rows": "an array or a sparse matrix",
    }
    limits = " and ".join(str(rule) for rule in rules if isinstance(rule, RANGE_RULES))
    plain = words.get(kind or "", getattr(domain, "__name__", str(domain)))
    return f"{plain} {limits}".rstrip()


def list_dtypes(domain: object) -> set[DType]:
    """The types of entries that an annotation NDArray[...] allows, in the machine's byte order."""
    (scalar,) = get_args(get_args(domain)[1])
    if (get_origin(scalar) or scalar) is np.floating:
        return {np.dtype(np.float32), np.dtype(np.float64)}
    return {np.dtype(scalar)}


def list_allowed(domain: Domain, rules: Rules) -> tuple[str, ...]:
    """Names of the value classes that may stand in a field."""
    allowed = [rule.names for rule in rules if isinstance(rule, OneOf)]
    return allowed[0] if allowed else _classes(get_origin(domain) or domain)
