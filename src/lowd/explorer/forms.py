"""Forms of the methods, made from the declarations of their parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from ..errors import ParameterError
from ..input.arguments import Foreign
from ..methods import METHODS, get_advice, get_parameter_texts, get_summary
from ..parameters import (
    Limit,
    accepts,
    check_parameters,
    list_literals,
    parameters_of,
    read,
    split_union,
)
from ..store import class_of

# The page already has the rows, and shows two or three dimensions.
_HIDDEN = {"backend", "n_jobs", "verbose", "metric_params"}
_OTHER_INPUT = {"precomputed", "gower"}
_FIRST = {
    *("n_components", "n_neighbors", "perplexity", "min_dist", "metric", "kernel", "gamma"),
    *("scale", "n_landmarks", "alpha", "t", "max_iter"),
}
DEFAULT_DIMENSIONS = 2


class Limits(NamedTuple):
    """The range of a number; None where there is no limit."""

    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False


@cache
def list_methods() -> list[dict[str, object]]:
    """Every method with its form."""
    return [make_form(name) for name in METHODS]


def make_form(name: str) -> dict[str, object]:
    """Describe a method, and its parameters with types, limits, defaults and help."""
    cls = class_of(name)
    texts = get_parameter_texts(name)
    fields = [describe_field(cls, field, texts) for field in dataclasses.fields(cls) if field.init]
    return {
        "name": name,
        "title": get_summary(name).partition(":")[0].rstrip("."),
        "summary": f"{get_summary(name)} {get_advice(name)[0]}".strip(),
        "live": name in ("SNE", "TSNE", "UMAP"),
        "parameters": [field for field in fields if field is not None],
    }


def describe_field(
    cls: type[Any], field: dataclasses.Field[Any], texts: Mapping[str, str]
) -> dict[str, object] | None:
    """A field of the form; None for what a form cannot ask for."""
    domain = parameters_of(cls)[field.name]
    parts = split_union(domain)
    words = [word for word in list_literals(domain) if word not in _OTHER_INPUT]
    number = float if float in parts else int if int in parts else None
    if field.name in _HIDDEN or not (number or bool in parts or words or str in parts):
        return None
    kind = "text"
    if number is not None:
        kind = "number" if number is float else "integer"
    elif bool in parts:
        kind = "boolean"
    elif words:
        kind = "choice"
    default = DEFAULT_DIMENSIONS if field.name == "n_components" else field.default
    plain = isinstance(default, bool | int | float | str | None)
    return {
        "name": field.name,
        "help": texts.get(field.name, ""),
        "default": default if plain else None,
        "kind": kind,
        "optional": type(None) in parts,
        **get_limits(domain)._asdict(),
        "choices": words or None,
        "advanced": field.name not in _FIRST,
    }


def get_limits(domain: Foreign) -> Limits:
    """The limits of the first number in a domain.

    >>> from lowd.parameters import Share
    >>> get_limits(Share | None)
    Limits(low=0, high=1, low_open=True, high_open=True)
    """
    origin: object = get_origin(domain)
    if origin is not Annotated:
        found = [get_limits(part) for part in get_args(domain)]
        return next((limits for limits in found if limits != Limits()), Limits())
    limits = Limits()
    for rule in get_args(domain)[1:]:
        if isinstance(rule, Limit) and rule.sign in (">", ">="):
            limits = limits._replace(low=rule.bound, low_open=rule.sign == ">")
        elif isinstance(rule, Limit) and rule.sign in ("<", "<="):
            limits = limits._replace(high=rule.bound, high_open=rule.sign == "<")
    return limits


def build_model(name: object, parameters: object) -> Foreign:
    """Make the unfitted model of a filled form; an error names the parameter."""
    if not isinstance(name, str) or name not in METHODS:
        raise ParameterError(f"there is no method {name!r}.")
    if not isinstance(parameters, dict):
        raise ParameterError("parameters: expected an object.")
    cls: type[Any] = class_of(name)
    known = parameters_of(cls)
    asked = {entry["name"] for entry in make_form(name)["parameters"]}  # type: ignore[attr-defined]
    values: dict[str, Any] = {}
    if "n_components" in known:
        values["n_components"] = DEFAULT_DIMENSIONS
    for parameter, value in parameters.items():
        if parameter not in asked:
            raise ParameterError(f"{name} has no parameter {parameter!r} that can be set here.")
        if isinstance(value, str) and not accepts(known[parameter], value):
            value = read(known[parameter], value)
        if value is None and not accepts(known[parameter], None):
            continue
        values[parameter] = value
    model = cls(**values)
    check_parameters(model)
    return model
