"""From names, models and grids of settings to the list of what is run."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...core.estimator import Reducer
from ...core.parameters import check_params
from ...errors import ParameterError
from ...methods import METHODS
from ...store import class_of


class Candidate(NamedTuple):
    """A model to fit a copy of, its name, and the settings that name it."""

    name: str
    model: Any
    params: dict[str, Any]


def candidates(
    methods: Any, grid: dict[str, Any] | None, common: dict[str, Any]
) -> list[Candidate]:
    """All combinations, each checked before anything is run."""
    named = _named(methods)
    if not named:
        raise ParameterError("methods is empty: name at least one of " + f"{list(METHODS)}.")
    by_method = _by_method(grid or {}, [name for name, _ in named])
    found: list[Candidate] = []
    for name, given in named:
        model, settings = _model(given, common)
        settings = {} if isinstance(methods, dict) else settings  # these have names of their own
        for combination in _combinations(name, model, by_method.get(name, {})):
            tried = fresh(model, **combination)
            if isinstance(tried, Reducer):
                check_params(tried)
            params = settings | combination
            found.append(Candidate(_unique(_title(name, params), found), tried, params))
    return found


def fresh(model: Any, **changes: Any) -> Any:
    """The same model with other settings, not fitted."""
    return type(model)(**(model.get_params(deep=False) | changes))


def _named(methods: Any) -> list[tuple[str, Any]]:
    if isinstance(methods, dict):
        return [(str(name), model) for name, model in methods.items()]
    if isinstance(methods, str | type) or not isinstance(methods, Iterable):
        methods = [methods]
    return [(_class_name(one), one) for one in methods]


def _class_name(method: Any) -> str:
    if isinstance(method, str):
        return method
    return method.__name__ if isinstance(method, type) else type(method).__name__


def _by_method(grid: dict[str, Any], names: list[str]) -> dict[str, dict[str, Any]]:
    if grid and len(set(names)) == 1 and not set(grid) & set(names):
        return {names[0]: grid}
    unknown = [name for name in grid if name not in names]
    if unknown:
        raise ParameterError(f"grid has {unknown[0]!r}, which is not among methods={names}.")
    return grid


def _model(given: Any, common: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A model, and those of its settings that are neither the default nor common."""
    if isinstance(given, str):
        if given not in METHODS:
            raise ParameterError(f"methods: {given!r}; expected some of {list(METHODS)}.")
        given = class_of(given)
    if isinstance(given, type):
        model = given()
        known = model.get_params(deep=False)
        return fresh(model, **{name: one for name, one in common.items() if name in known}), {}
    if not hasattr(given, "fit_transform") or not hasattr(given, "get_params"):
        raise ParameterError(
            f"methods: {given!r} is neither a name nor a model with fit_transform."
        )
    defaults = type(given)().get_params(deep=False)
    now = given.get_params(deep=False)
    quiet = ("backend", "n_jobs", "verbose", "random_state")
    known = defaults | common
    return given, {k: v for k, v in now.items() if k not in quiet and not _same(v, known[k])}


def _same(a: Any, b: Any) -> bool:
    return a is b or bool(np.array_equal(a, b))


def _combinations(name: str, model: Any, settings: dict[str, Any]) -> list[dict[str, Any]]:
    known = model.get_params(deep=False)
    for parameter, values in settings.items():
        if parameter not in known:
            raise ParameterError(
                f"grid: {name} has no parameter {parameter!r}; it has {sorted(known)}."
            )
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ParameterError(
                f"grid: {name}'s {parameter}={values!r} is one value; write [{values!r}]."
            )
    lists = [list(values) for values in settings.values()]
    return [dict(zip(settings, combination, strict=True)) for combination in product(*lists)]


def _title(name: str, params: dict[str, Any]) -> str:
    def short(value: Any) -> str:
        shown = getattr(value, "__name__", None) or repr(value)
        return shown if len(shown) <= 20 else f"{shown[:19]}…"

    inside = ", ".join(f"{key}={short(value)}" for key, value in params.items())
    return f"{name}({inside})" if inside else name


def _unique(name: str, found: list[Candidate]) -> str:
    taken = {one.name for one in found}
    tries = (name, *(f"{name} #{i}" for i in range(2, len(found) + 3)))
    return next(one for one in tries if one not in taken)
