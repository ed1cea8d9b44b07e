"""Candidates of a comparison: from names, models and parameter grids to models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ParameterError
from ...methods import METHODS, find_class_name, simplify_name
from ...parameters import check_parameters
from ...reducer import Reducer
from ...store import class_of
from ..types import MetricLike, MetricParams, Transformer

Params: TypeAlias = dict[str, Any]  # parameters of an estimator, as of get_params
MAX_TITLE_VALUE = 20  # characters of a parameter's value in the name of a run
# Parameters that do not change what is computed, and are not part of a run's name.
UNNAMED_PARAMS = ("backend", "n_jobs", "verbose", "random_state")


class Candidate(NamedTuple):
    """A model to fit a clone of, its name, and the parameters in the name."""

    name: str
    model: Transformer
    params: Params


@dataclass(frozen=True)
class SharedParams:
    """Parameters of all methods that are given by name, and of the evaluation."""

    n_components: int
    random_state: int
    backend: str
    n_jobs: int | None
    metric: MetricLike
    metric_params: MetricParams


def collect_candidates(
    methods: object, grid: Mapping[str, Any], shared: SharedParams
) -> list[Candidate]:
    """All methods and combinations of parameters, each validated before anything is run."""
    named = _name_methods(methods)
    if not named:
        raise ParameterError("methods is empty: name at least one of " + f"{list(METHODS)}.")
    by_method = _split_grid(grid, [name for name, _ in named])
    found: list[Candidate] = []
    for name, given in named:
        model, own = _make_model(given, shared)
        own = {} if isinstance(methods, dict) else own  # these have names of their own
        for combination in _combine(name, model, by_method.get(name, {})):
            candidate = clone(model, **combination)
            if isinstance(candidate, Reducer):
                check_parameters(candidate)
            params = own | combination
            found.append(Candidate(_make_unique(_title(name, params), found), candidate, params))
    return found


def clone(model: Transformer, **changes: Any) -> Transformer:
    """An unfitted model with the same parameters but for the changes."""
    make = cast(Callable[..., Transformer], type(model))
    return make(**(model.get_params(deep=False) | changes))


def _name_methods(methods: object) -> list[tuple[str, object]]:
    if isinstance(methods, dict):
        return [(str(name), model) for name, model in methods.items()]
    if isinstance(methods, str | type) or not isinstance(methods, Iterable):
        methods = [methods]
    return [(_class_name(one), one) for one in methods]


def _class_name(method: object) -> str:
    if isinstance(method, str):
        return find_class_name(method)
    return method.__name__ if isinstance(method, type) else type(method).__name__


def _split_grid(grid: Mapping[str, Any], names: list[str]) -> Mapping[str, Mapping[str, Any]]:
    """Method -> parameter -> values; with one method the grid may be that of its parameters."""
    if grid and len(set(names)) == 1 and not set(grid) & set(names):
        return {names[0]: grid}
    names_by_spelling = {simplify_name(name): name for name in names}
    grid = {names_by_spelling.get(simplify_name(name), name): grid[name] for name in grid}
    unknown = [name for name in grid if name not in names]
    if unknown:
        raise ParameterError(f"grid has {unknown[0]!r}, which is not among methods={names}.")
    return grid


def _make_model(given: object, shared: SharedParams) -> tuple[Transformer, Params]:
    """A model, and those of its parameters that are neither the default nor shared."""
    if isinstance(given, str):
        given = class_of(find_class_name(given))
    if isinstance(given, type):
        model = given()
        known = model.get_params(deep=False)
        return clone(model, **{name: v for name, v in vars(shared).items() if name in known}), {}
    if not hasattr(given, "fit_transform") or not hasattr(given, "get_params"):
        raise ParameterError(
            f"methods: {given!r} is neither a name nor a model with fit_transform."
        )
    model = cast(Transformer, given)
    params, known = model.get_params(deep=False), _default_params(model) | vars(shared)
    own = {name: value for name, value in params.items() if name not in UNNAMED_PARAMS}
    return model, {name: v for name, v in own.items() if not _are_equal(v, known[name])}


def _default_params(model: Transformer) -> Params:
    return type(model)().get_params(deep=False)


def _are_equal(a: object, b: object) -> bool:
    return a is b or bool(np.array_equal(cast(ArrayLike, a), cast(ArrayLike, b)))


def _combine(name: str, model: Transformer, grid: Mapping[str, Any]) -> list[Params]:
    """Every combination of the values in the grid."""
    known = model.get_params(deep=False)
    for parameter, values in grid.items():
        if parameter not in known:
            raise ParameterError(
                f"grid: {name} has no parameter {parameter!r}; it has {sorted(known)}."
            )
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ParameterError(
                f"grid: {name}'s {parameter}={values!r} is one value; write [{values!r}]."
            )
    lists = [list(values) for values in grid.values()]
    return [dict(zip(grid, combination, strict=True)) for combination in product(*lists)]


def _title(name: str, params: Params) -> str:
    inside = ", ".join(f"{key}={_abbreviate(value)}" for key, value in params.items())
    return f"{name}({inside})" if inside else name


def _abbreviate(value: object) -> str:
    text: str = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= MAX_TITLE_VALUE else f"{text[: MAX_TITLE_VALUE - 1]}…"


def _make_unique(name: str, found: list[Candidate]) -> str:
    taken = {one.name for one in found}
    tries = (name, *(f"{name} #{i}" for i in range(2, len(found) + 3)))
    return next(one for one in tries if one not in taken)
