"""Checks of a loaded model against the declared domains of its values, before anything uses it.

A map hands its arrays to compiled code, so what a file says must agree with itself: types, shapes,
ranges of indices, finite numbers, and the sizes that values share (the rows of an embedding are as
many as the points that distances are measured to). Every field is declared where its class is, by
its annotation (`domains`); here the declarations are read.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from ..backends.protocol import Array, Float64, Moments, Rows
from ..confidence.calibration import LeftOutRows
from ..confidence.support import MatrixSupport, RowSupport
from ..core.estimator import Reducer
from ..domains import (
    Above,
    AtLeast,
    AtMost,
    AtMostSize,
    Below,
    Count,
    Fact,
    Finite,
    Increasing,
    Index,
    MayBeNonfinite,
    NotStored,
    NotZero,
    OneOf,
    Positive,
    Renamed,
    Shape,
    Words,
)
from ..errors import StoreError
from ..input.tables import Table
from ..maps.protocol import Map
from ..values import VALUE_CLASSES

# Values in values: a map of a relation of corrected distances of a table is five deep.
MAX_DEPTH = 8
_RULES = (AtLeast, AtMost, Above, Below, Finite, NotZero)
_INTEGERS = np.iinfo(np.int64)


# Learned attributes that maps, inverses and further fits read.
LEARNED: dict[str, Any] = {
    "map_": Annotated[Map, Renamed(n=None)],
    "inverse_": Annotated[
        Map,
        OneOf(
            "LinearMap",
            "BarycentricMap",
            "RidgePreimage",
            "FixedPointPreimage",
            "PipelineInverse",
            "AwaitingRows",
        ),
        Renamed(d="k", k="d", n=None, input=None, metric=None, kernel=None),
    ],
    "support_": Annotated[RowSupport | MatrixSupport, Renamed(n=None, rows=None, seen="rows")],
    "left_out_": LeftOutRows,
    "moments_": Moments,
    "columns_": Annotated[Table, Renamed(rows=None)],
    "_n_features_out": Count,
    "n_features_in_": Count,
    "feature_names_in_": Annotated[NDArray[np.object_], Shape("d")],
    "n_samples_": Positive,
    "n_components_": Annotated[int, Fact("k")],
    "embedding_": Annotated[Array, Shape("rows", "k")],
    "components_": Annotated[Rows, Shape("k", "d")],
    "inverse_components_": Annotated[Array, Shape("d", "k")],
    "mean_": Annotated[Float64, Shape("d")],
    "scale_": Annotated[Float64, Shape("d"), Above(0)],
    "graph_": Annotated[csr_array, Shape("rows", "rows"), AtLeast(0)],
    "landmarks_": Annotated[NDArray[np.int64], Shape("landmarks"), Index("rows")],
    "distinct_": Annotated[NDArray[np.int64], Shape("rows"), AtLeast(0)],
    "d2_grand_mean_": float,
    "seed_": Annotated[int, AtLeast(0)],
    "text_columns_": tuple[str, ...],
}
_REQUIRED = ("map_", "_n_features_out", "n_features_in_")
# What an inverse is computed from when it is asked for.
_REQUIRED_BY_METHOD = {
    "GaussianRandomProjection": ("components_",),
    "SparseRandomProjection": ("components_",),
}
_MAPS_BY_METHOD = {
    "HadamardRandomProjection": {"map_": Annotated[Map, OneOf("HadamardMap")]},
    "SparseRandomProjection": {"components_": Annotated[csr_array, Shape("k", "d")]},
    "GaussianRandomProjection": {"components_": Annotated[Array, Shape("k", "d")]},
    "Pipeline": {"map_": Annotated[Map, OneOf("PipelineMap")]},
}


class NotDeclaredError(TypeError):
    """A field has no domain that can be checked, so its class cannot be stored."""


@dataclass
class Node:
    """The sizes and words of one value, those it holds, and what is checked when all are known."""

    where: str
    facts: dict[str, tuple[int | str, str]] = field(default_factory=dict)  # with where from
    equal: list[tuple[str, str]] = field(default_factory=list)
    held: list[tuple[Node, dict[str, str | None]]] = field(default_factory=list)
    later: list[Callable[[], None]] = field(default_factory=list)

    def set(self, name: str, value: int | str, source: str | None = None) -> None:
        source = source or self.where
        known, first = self.facts.setdefault(name, (value, source))
        if known != value:
            raise StoreError(f"{source} has {name} = {value!r}, but {first} has {known!r}")

    def equate(self, one: str, other: str) -> None:
        self.equal.append((one, other))

    def require(self, holds: bool, field: str, need: str) -> None:
        if not holds:
            raise StoreError(f"{self.where}.{field} must be {need}")

    def size(self, name: str) -> int:
        if name not in self.facts:
            raise StoreError(f"{self.where}: nothing says what {name} is")
        return int(self.facts[name][0])

    def resolve(self) -> None:
        """Share facts upward and downward, then check what depends on them."""
        self._gather()
        self._spread()

    def _gather(self) -> None:
        for node, names in self.held:
            node._gather()
            for name, (value, source) in node.facts.items():
                if (own := names.get(name, name)) is not None:
                    self.set(own, value, source)
        self._equate()

    def _spread(self) -> None:
        self._equate()
        for node, names in self.held:
            for own, (value, source) in self.facts.items():
                same = [] if own in names else [own]
                for name in [*same, *(inner for inner, outer in names.items() if outer == own)]:
                    node.set(name, value, source)
            node._spread()
        for check in self.later:
            check()

    def _equate(self) -> None:
        for one, other in (pair for both in self.equal for pair in (both, both[::-1])):
            if one in self.facts:
                self.set(other, *self.facts[one])


def check_model(model: Reducer) -> None:
    """Raise StoreError where what a fitted model has learned does not agree with itself."""
    learned = model.__dict__
    for name in _REQUIRED + _REQUIRED_BY_METHOD.get(type(model).__name__, ()):
        if name not in learned:
            raise StoreError(f"{name} is missing")
    if model._kind() == "table" and "columns_" not in learned:
        raise StoreError("columns_ is missing")
    declared = {name: LEARNED[name] for name in learned if name in LEARNED}
    node = check_fields(learned, {**declared, **_MAPS_BY_METHOD.get(type(model).__name__, {})}, "")
    state_model_facts(model, node)
    node.resolve()
    parameters = {entry.name for entry in dataclasses.fields(model)}
    for name in learned.keys() - parameters - LEARNED.keys():
        _require_plain(learned[name], name)


def state_model_facts(model: Reducer, node: Node) -> None:
    """The widths of a model, and the words that its parameters give."""
    node.set("d", model.n_features_in_, "n_features_in_")
    node.set("k", model._n_features_out, "_n_features_out")
    node.set("input", model._kind(), f"the data that {type(model).__name__} takes")
    for word in ("metric", "kernel"):
        if isinstance(getattr(model, word, None), str):
            node.set(word, getattr(model, word), f"the parameter {word}")


PREPARED = "prepared_"


def _require_plain(held: object, where: str) -> None:
    """An attribute that no map reads is data: numbers, texts, arrays, tuples of these.

    How a file was read (`prepared_`, of the command line) is a dict of them.
    """
    if isinstance(held, tuple) or (isinstance(held, dict) and where == PREPARED):
        for item in held.values() if isinstance(held, dict) else held:
            _require_plain(item, where)
    elif not (held is None or isinstance(held, bool | int | float | str | np.ndarray | csr_array)):
        raise StoreError(f"{where} holds {_show(held)}, but must be numbers or text")


def check_fields(
    held: dict[str, Any], declared: dict[str, Any], where: str, depth: int = 0
) -> Node:
    """The node of some named fields, checked but for what needs the sizes of others."""
    node = Node(where)
    for name, domain in declared.items():
        if name in held:
            path = f"{where}.{name}" if where else name
            _check(held[name], domain, (), path, node, depth)
    return node


def declared_fields(cls: type[Any]) -> dict[str, Any]:
    """Field -> domain of a value class; NotDeclaredError if one cannot be checked."""
    return _declared_fields(cast(Hashable, cls))


@cache
def _declared_fields(cls: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(cls, include_extras=True)
    declared = {entry.name: hints[entry.name] for entry in dataclasses.fields(cls)}
    for name, domain in declared.items():
        _require_declared(domain, (), f"{cls.__name__}.{name}")
    return declared


def _require_declared(domain: object, rules: tuple[object, ...], where: str) -> None:
    base, rules = _split(domain, rules)
    options = _options(base)
    if len(options) > 1:
        for option in options:
            _require_declared(option, rules, where)
        return
    kind = _kind_of(base)
    shaped = any(isinstance(rule, Shape) for rule in rules)
    if kind is None or (kind in ("array", "sparse", "rows") and not shaped):
        hidden = any(isinstance(rule, NotStored) for rule in rules)
        if not hidden:
            raise NotDeclaredError(f"{where}: {domain} says too little to check what a file holds")
    if kind == "tuple":
        for item in get_args(base):
            if item is not Ellipsis:
                _require_declared(item, (), where)


# -- domains --------------------------------------------------------------------------------


def _split(domain: object, rules: tuple[object, ...] = ()) -> tuple[Any, tuple[Any, ...]]:
    while get_origin(domain) is Annotated:
        domain, *more = get_args(domain)
        rules = (*rules, *more)
    return domain, rules


def _options(domain: object) -> tuple[Any, ...]:
    if get_origin(domain) in (Union, types.UnionType):
        return get_args(domain)
    return (domain,)


_PLAIN = {type(None): "none", bool: "bool", int: "int", float: "float", str: "str"}


def _kind_of(domain: object) -> str | None:
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
    if isinstance(origin, type) and (origin in _PLAIN or _classes(origin)):
        return _PLAIN.get(origin, "value")
    return None


def _classes(domain: type) -> tuple[str, ...]:
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


def _describe(domain: Any, rules: tuple[object, ...]) -> str:
    domain, rules = _split(domain, rules)
    if len(options := _options(domain)) > 1:
        return " or ".join(_describe(option, rules) for option in options)
    kind = _kind_of(domain)
    if kind == "literal":
        return " or ".join(map(repr, get_args(domain)))
    if kind == "array":
        axes = [", ".join(map(str, rule.axes)) for rule in rules if isinstance(rule, Shape)]
        types = " or ".join(sorted(str(dtype) for dtype in _dtypes(domain)))
        return f"a {types} array with the axes ({' '.join(axes)})"
    if kind == "value":
        return "a value of class " + " or ".join(_allowed(get_origin(domain) or domain, rules))
    words = {
        "model": "a fitted method",
        "none": "None",
        "sparse": "a sparse matrix",
        "rows": "an array or a sparse matrix",
    }
    limits = " and ".join(str(rule) for rule in rules if isinstance(rule, _RULES))
    plain = words.get(kind or "", getattr(domain, "__name__", str(domain)))
    return f"{plain} {limits}".rstrip()


def _dtypes(domain: object) -> set[np.dtype[Any]]:
    """The types of entries that an annotation NDArray[...] allows, in the machine's byte order."""
    (scalar,) = get_args(get_args(domain)[1])
    if (get_origin(scalar) or scalar) is np.floating:
        return {np.dtype(np.float32), np.dtype(np.float64)}
    return {np.dtype(scalar)}


def _allowed(domain: type, rules: tuple[object, ...]) -> tuple[str, ...]:
    allowed = [rule.names for rule in rules if isinstance(rule, OneOf)]
    return allowed[0] if allowed else _classes(domain)


# -- values ---------------------------------------------------------------------------------


def _check(
    held: object, domain: object, rules: tuple[object, ...], where: str, node: Node, depth: int
) -> None:
    domain, rules = _split(domain, rules)
    for option in _options(domain):
        base, own = _split(option, rules)
        if _is_of(held, base, own):
            _CHECKS[_kind_of(base) or ""](held, base, own, where, node, depth)
            return
    raise StoreError(f"{where} holds {_show(held)}, but must be {_describe(domain, rules)}")


def _is_of(held: Any, domain: Any, rules: tuple[object, ...]) -> bool:
    """Is the value of the type, whatever its shape and entries?"""
    kind = _kind_of(domain)
    if kind != "none" and any(isinstance(rule, NotStored) for rule in rules):
        return False
    if kind == "literal":
        return type(held) is str and held in get_args(domain)
    axes = [len(rule.axes) for rule in rules if isinstance(rule, Shape)]
    if kind in ("array", "sparse", "rows") and axes != [getattr(held, "ndim", None)]:
        return False
    if kind == "array":
        return isinstance(held, np.ndarray) and held.dtype in _dtypes(domain)
    if kind in ("sparse", "rows"):
        entries = held.data if issparse(held) else held
        right = isinstance(entries, np.ndarray) and entries.dtype in (np.float32, np.float64)
        return right and (kind == "rows" or issparse(held))
    if kind == "value":
        name = type(held).__name__
        return name in VALUE_CLASSES and name in _allowed(get_origin(domain) or domain, rules)
    if kind == "model":
        return isinstance(held, domain) and hasattr(held, "map_")
    if kind == "float":
        return type(held) in (float, int)
    exact = {"none": type(None), "bool": bool, "int": int, "str": str, "tuple": tuple}
    return kind is not None and type(held) is exact[kind]


def _show(held: Any) -> str:
    if isinstance(held, np.ndarray) or issparse(held):
        sparse = "sparse " if issparse(held) else ""
        return f"a {sparse}{held.dtype} array of shape {held.shape}"
    if dataclasses.is_dataclass(held):
        return f"a {type(held).__name__}"
    shown = repr(held)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _check_scalar(
    held: object, domain: object, rules: tuple[object, ...], where: str, node: Node, depth: int
) -> None:
    del depth
    if type(held) is int and not _INTEGERS.min <= held <= _INTEGERS.max:
        raise StoreError(f"{where} holds {_show(held)}, which no integer type can hold")
    _check_entries(held, domain, rules, where, node)


def _check_array(
    held: Rows, domain: object, rules: tuple[object, ...], where: str, node: Node, depth: int
) -> None:
    del depth
    _check_shape(held.shape, rules, where, node)
    _check_entries(held.data if issparse(held) else held, domain, rules, where, node)


def _check_shape(shape: tuple[int, ...], rules: tuple[object, ...], where: str, node: Node) -> None:
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


def _check_entries(
    entries: Rows, domain: object, rules: tuple[object, ...], where: str, node: Node
) -> None:
    """Numbers and words: their ranges, and the sizes or words that they are."""
    number = np.asarray(entries).dtype.kind == "f"
    if number and not any(isinstance(rule, MayBeNonfinite) for rule in rules):
        rules = (Finite(), *rules)
    for rule in rules:
        if isinstance(rule, _RULES):
            missing = isinstance(entries, np.ndarray) and not isinstance(rule, Finite)
            with np.errstate(invalid="ignore"):
                inside = rule(entries) | (np.isnan(entries) if number and missing else False)
            if not np.all(inside):
                worst = np.asarray(entries)[~np.asarray(inside)].flat[0]
                raise StoreError(f"{where} holds {worst}, but must be {_describe(domain, (rule,))}")
        elif isinstance(rule, Increasing) and (entries[1:] < entries[:-1]).any():
            raise StoreError(f"{where} must be sorted in increasing order")
        elif isinstance(rule, Words) and entries not in rule.words:
            words = " or ".join(map(repr, rule.words))
            raise StoreError(f"{where} holds {_show(entries)}, but must be {words}")
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
    rules: tuple[object, ...],
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
    held: object, domain: object, rules: tuple[object, ...], where: str, node: Node, depth: int
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
    held: Reducer, domain: object, rules: tuple[object, ...], where: str, node: Node, depth: int
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


def storable_classes() -> Iterator[type]:
    """The value classes whose fields are all declared."""
    for cls in VALUE_CLASSES.values():
        try:
            declared_fields(cls)
        except NotDeclaredError:
            continue
        yield cls
