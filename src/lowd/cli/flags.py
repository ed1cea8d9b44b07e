"""Command-line flags of a method, derived from the fields and the docstring of its class.

A field's annotation is the only declaration of a parameter (see `parameters`); its help is
the entry in the class's docstring.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeAlias, get_origin

from ..errors import ParameterError
from ..methods import COMMANDS, get_parameter_texts
from .options import METHOD_PANEL, Arguments, Option

if TYPE_CHECKING:
    from ..reducer import Reducer

Domain: TypeAlias = Any  # an annotation: a type, a union, a Literal or Annotated

MAX_METAVAR_CHARACTERS = 30  # Longer lists of choices go into the help text.
# The command line has flags of its own for these.
_OTHER_FLAGS = {"random_state", "backend", "n_jobs", "verbose"}
# A plot has two dimensions, whatever number a method computes by default (PCA: all).
DEFAULT_N_COMPONENTS = 2


METHOD_COMMANDS = {word: name for name, word in COMMANDS.items()}


def get_method_word(name: str) -> str:
    """The name of the command for a class."""
    return next(word for word, method in METHOD_COMMANDS.items() if method == name)


def make_flags(name: str) -> list[Option]:
    """One flag per field of the class."""
    from ..parameters import list_literals

    cls = get_class(name)
    texts = get_parameter_texts(name)
    options = []
    for field in (one for one in dataclasses.fields(cls) if one.init):
        if field.name in _OTHER_FLAGS:
            continue
        default = DEFAULT_N_COMPONENTS if field.name == "n_components" else field.default
        help_text = f"{texts.get(field.name, '')} Default: {_format_default(default)}.".strip()
        if field.type is bool or isinstance(default, bool):
            options.append(Option(field.name, help_text, METHOD_PANEL, bool, default))
            continue
        domain = _get_domain(cls, field.name)
        choices = tuple(list_literals(domain))
        metavar = "|".join([*choices, *_list_types(domain)]) or "text"
        if len(metavar) > MAX_METAVAR_CHARACTERS:
            help_text, metavar = f"{help_text} One of {', '.join(choices)}.", "name"
        options.append(
            Option(field.name, help_text, METHOD_PANEL, metavar=metavar, choices=choices)
        )
    return options


def build_model(name: str, arguments: Arguments) -> Reducer:
    """The unfitted model with the parameters that were typed."""
    from ..parameters import check_parameters

    cls = get_class(name)
    params: dict[str, object] = {}
    for field in (one for one in dataclasses.fields(cls) if one.init):
        value = arguments.get("seed" if field.name == "random_state" else field.name)
        if value is None and field.name == "n_components":
            value = DEFAULT_N_COMPONENTS
        if value is None or field.name == "verbose":
            continue
        if isinstance(value, str) and field.name != "backend":
            value = parse_value(name, field.name, value)
        params[field.name] = value
    model: Reducer = cls(**params)
    check_parameters(model)
    return model


def parse_value(name: str, parameter: str, text: str) -> object:
    """Read typed text as a value of the parameter's domain; an error names the flag."""
    import numpy as np

    from ..parameters import accepts, read

    domain = _get_domain(get_class(name), parameter)
    if text.endswith(".npy") and accepts(domain, np.empty(0)):
        return np.load(text, allow_pickle=False)
    try:
        return read(domain, text)
    except ParameterError as error:
        raise ParameterError(f"--{parameter.replace('_', '-')} {error}") from None


def get_class(name: str) -> type[Any]:
    """Import the class of a method."""
    from ..store import class_of

    cls: type[Any] = class_of(name)
    return cls


def _get_domain(cls: type, parameter: str) -> Domain:
    from ..parameters import parameters_of

    return parameters_of(cls)[parameter]


def _list_types(domain: Domain) -> list[str]:
    from ..parameters import split_union

    words: dict[object, str] = {int: "int", float: "float", list: "list", dict: "json"}
    words[type(None)] = "none"
    found = [words.get(get_origin(part) or part) for part in split_union(domain)]
    return list(dict.fromkeys(word for word in found if word))


def _format_default(default: object) -> str:
    return str(default).lower() if default is None or isinstance(default, bool) else str(default)
