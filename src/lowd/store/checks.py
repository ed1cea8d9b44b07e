"""Checks of a value against its domain: type, shape, range, indices, and the facts it states."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from ..backends.protocol import Rows
from ..core.estimator import Reducer
from ..domains import (
    AtMostSize,
    Domain,
    Fact,
    Finite,
    Increasing,
    Index,
    MayBeNonfinite,
    NotStored,
    Renamed,
    Shape,
    Words,
)
from ..errors import StoreError
from ..values import VALUE_CLASSES
from .annotations import (
    RANGE_RULES,
    Rules,
    declared_fields,
    describe,
    find_kind,
    list_allowed,
    list_dtypes,
    list_options,
    split_rules,
)
from .facts import Node, state_model_facts

# Values in values: a map of a relation of corrected distances of a table is five deep.
MAX_DEPTH = 8
Item: TypeAlias = Any  # of a file, of whatever type
_INTEGERS = np.iinfo(np.int64)


def check_fields(
    held: dict[str, object], declared: dict[str, Domain], where: str, depth: int = 0
) -> Node:
    """The node of some named fields, checked but for what needs the sizes of others."""
    node = Node(where)
    for name, domain in declared.items():
        if name in held:
            path = f"{where}.{name}" if where else name
            _check(held[name], domain, (), path, node, depth)
    return node


def show(held: Item) -> str:
    if isinstance(held, np.ndarray) or issparse(held):
        sparse = "sparse " if issparse(held) else ""
        return f"a {sparse}{held.dtype} array of shape {held.shape}"
    if dataclasses.is_dataclass(held):
        return f"a {type(held).__name__}"
    shown = repr(held)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _check(held: object, domain: object, rules: Rules, where: str, node: Node, depth: int) -> None:
    domain, rules = split_rules(domain, rules)
    for option in list_options(domain):
        base, own = split_rules(option, rules)
        if _is_of(held, base, own):
            _CHECKS[find_kind(base) or ""](held, base, own, where, node, depth)
            return
    raise StoreError(f"{where} holds {show(held)}, but must be {describe(domain, rules)}")


def _is_of(held: Item, domain: Domain, rules: Rules) -> bool:
    """Is the value of the type, whatever its shape and entries?"""
    kind = find_kind(domain)
    if kind != "none" and any(isinstance(rule, NotStored) for rule in rules):
        return False
    if kind == "literal":
        return type(held) is str and held in get_args(domain)
    axes = [len(rule.axes) for rule in rules if isinstance(rule, Shape)]
    if kind in ("array", "sparse", "rows") and axes != [getattr(held, "ndim", None)]:
        return False
    if kind == "array":
        return isinstance(held, np.ndarray) and held.dtype in list_dtypes(domain)
    if kind in ("sparse", "rows"):
        entries = held.data if issparse(held) else held
        right = isinstance(entries, np.ndarray) and entries.dtype in (np.float32, np.float64)
        return right and (kind == "rows" or issparse(held))
    if kind == "value":
        name = type(held).__name__
        return name in VALUE_CLASSES and name in list_allowed(domain, rules)
    if kind == "model":
        return isinstance(held, domain) and hasattr(held, "map_")
    if kind == "float":
        return type(held) in (float, int)
    exact = {"none": type(None), "bool": bool, "int": int, "str": str, "tuple": tuple}
    return kind is not None and type(held) is exact[kind]


def _check_scalar(
    held: object, domain: object, rules: Rules, where: str, node: Node, depth: int
) -> None:
    del depth
    if type(held) is int and not _INTEGERS.min <= held <= _INTEGERS.max:
        raise StoreError(f"{where} holds {show(held)}, which no integer type can hold")
    _check_entries(held, domain, rules, where, node)


def _check_array(
    held: Rows, domain: object, rules: Rules, where: str, node: Node, depth: int
) -> None:
    del depth
    _check_shape(held.shape, rules, where, node)
    _check_entries(held.data if issparse(held) else held, domain, rules, where, node)


def _check_shape(shape: tuple[int, ...], rules: Rules, where: str, node: Node) -> None:
    for rule in (rule for rule in rules if isinstance(rule, Shape)):
        if len(shape) != len(rule.axes):
            named = ", ".join(map(str, rule.axes))
            raise StoreError(f"{where} has shape {shape}, but must have the axes ({named})")
        for axis, size in zip(rule.axes, shape, strict=True):
            if size == 0 and not rule.may_be_empty:
                raise StoreError(f"{where} has shape {shape}, but must not be empty")
            if isinstance(axis, str):
                node.set(axis, size, where)
            elif axis != size:
                raise StoreError(f"{where} has shape {shape}, but {size} must be {axis}")


def _check_entries(entries: Rows, domain: object, rules: Rules, where: str, node: Node) -> None:
    """Numbers and words: their ranges, and the sizes or words that they are."""
    number = np.asarray(entries).dtype.kind == "f"
    if number and not any(isinstance(rule, MayBeNonfinite) for rule in rules):
        rules = (Finite(), *rules)
    for rule in rules:
        if isinstance(rule, RANGE_RULES):
            missing = isinstance(entries, np.ndarray) and not isinstance(rule, Finite)
            with np.errstate(invalid="ignore"):
                inside = rule(entries) | (np.isnan(entries) if number and missing else False)
            if not np.all(inside):
                worst = np.asarray(entries)[~np.asarray(inside)].flat[0]
                raise StoreError(f"{where} holds {worst}, but must be {describe(domain, (rule,))}")
        elif isinstance(rule, Increasing) and (entries[1:] < entries[:-1]).any():
            raise StoreError(f"{where} must be sorted in increasing order")
        elif isinstance(rule, Words) and entries not in rule.words:
            words = " or ".join(map(repr, rule.words))
            raise StoreError(f"{where} holds {show(entries)}, but must be {words}")
        elif isinstance(rule, Fact):
            node.set(rule.name, entries, where)
        elif isinstance(rule, Index | AtMostSize):
            node.later.append(lambda rule=rule: _check_indices(entries, rule, where, node))  # type: ignore[misc]


def _check_indices(entries: ArrayLike, rule: Index | AtMostSize, where: str, node: Node) -> None:
    size = node.size(rule.size)
    least, most = (rule.least, size - 1) if isinstance(rule, Index) else (1, size)
    found = np.asarray(entries)
    if found.size and not least <= int(found.min()) <= int(found.max()) <= most:
        worst = int(found.min()) if int(found.min()) < least else int(found.max())
        raise StoreError(
            f"{where} holds {worst}, but must be from {least} to {most} ({rule.size} = {size})"
        )


def _check_tuple(
    held: tuple[object, ...],
    domain: object,
    rules: Rules,
    where: str,
    node: Node,
    depth: int,
) -> None:
    items = get_args(domain)
    if items[1:] == (Ellipsis,):
        _check_shape((len(held),), rules, where, node)
        items = (items[0],) * len(held)
    if len(items) != len(held):
        raise StoreError(f"{where} has {len(held)} items, but must have {len(items)}")
    for position, (part, item) in enumerate(zip(held, items, strict=True)):
        _check(part, item, (), f"{where}[{position}]", node, depth)


def _check_value(
    held: object, domain: object, rules: Rules, where: str, node: Node, depth: int
) -> None:
    del domain
    if depth == MAX_DEPTH:
        raise StoreError(f"{where}: values are nested more than {MAX_DEPTH} deep")
    declared = declared_fields(type(held))
    inner = check_fields(
        {name: getattr(held, name) for name in declared}, declared, where, depth + 1
    )
    if hasattr(held, "state_facts"):
        held.state_facts(inner)
    renamed = [rule.names for rule in rules if isinstance(rule, Renamed)]
    node.held.append((inner, renamed[0] if renamed else {}))


def _check_model(
    held: Reducer, domain: object, rules: Rules, where: str, node: Node, depth: int
) -> None:
    """A model in a value has been checked by itself; here its widths count."""
    del domain, depth
    inner = Node(where)
    state_model_facts(held, inner)
    renamed = [rule.names for rule in rules if isinstance(rule, Renamed)]
    node.held.append((inner, renamed[0] if renamed else {}))


_CHECKS: dict[str, Callable[..., None]] = {
    **dict.fromkeys(("none", "bool", "int", "float", "str", "literal"), _check_scalar),
    **dict.fromkeys(("array", "sparse", "rows"), _check_array),
    "tuple": _check_tuple,
    "value": _check_value,
    "model": _check_model,
}
