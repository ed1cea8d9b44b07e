"""Command-line flags of a method, derived from the fields and the docstring of its class.

A field's annotation is the only declaration of a parameter (see `core.parameters`); its help is
the entry in the class's docstring.
"""

from __future__ import annotations

import dataclasses
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin

from .. import methods
from ..errors import ParameterError
from ..methods import METHODS
from .options import METHOD_PANEL, Arguments, Option

if TYPE_CHECKING:
    from ..core.estimator import Reducer

Domain: TypeAlias = Any  # an annotation: a type, a union, a Literal, Annotated

MAX_METAVAR_CHARACTERS = 30  # longer lists of choices go into the help text
# The command line has its own flags for these.
_OTHER_FLAGS = {"random_state", "backend", "n_jobs", "verbose"}
# A plot has two dimensions, whatever a method computes by default (PCA: all of them).
DEFAULT_N_COMPONENTS = 2


# The module's name is the shortest: `lle`.
METHOD_COMMANDS = {module.replace("_", "-"): name for name, module in METHODS.items()}


def read_docstring(name: str) -> str:
    """The docstring of a method's class, read from its file: importing all takes a second."""
    path = Path(methods.__file__).with_name(f"{METHODS[name]}.py")
    found = re.search(
        rf'^class {name}\b[^\n]*:\n    """(.*?)"""', path.read_text("utf-8"), re.S | re.M
    )
    return textwrap.dedent("    " + found[1]) if found else ""


def get_summary(name: str) -> str:
    """The first line of a method's docstring."""
    return read_docstring(name).partition("\n")[0]


def get_advice(name: str) -> tuple[str, str]:
    """When to use a method, and what it costs: the text before and after "Cost:"."""
    text = read_docstring(name).partition("Parameters\n")[0].removeprefix(get_summary(name))
    use, _, cost = " ".join(text.split()).partition("Cost: ")
    return use.strip(), re.split(r" New (?:rows|points)", cost)[0]


def get_parameter_texts(name: str) -> dict[str, str]:
    """Parameter -> its description in the method's docstring; entries in a row may share one."""
    section = read_docstring(name).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for entries, text in re.findall(r"((?:^\w.* : .*\n)+)((?:    .*\n?)+)", section, re.M):
        for names in re.findall(r"^(\w[\w, ]*) : ", entries, re.M):
            found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found


def make_flags(name: str) -> list[Option]:
    """One flag per field of the class."""
    cls = get_class(name)
    texts: dict[str, str] = {}
    for parent in reversed(cls.__mro__):
        if parent.__name__ in METHODS:
            texts |= get_parameter_texts(parent.__name__)
    options = []
    for field in dataclasses.fields(cls):
        if field.name in _OTHER_FLAGS:
            continue
        default = DEFAULT_N_COMPONENTS if field.name == "n_components" else field.default
        help_text = f"{texts.get(field.name, '')} Default: {_format_default(default)}.".strip()
        if field.type is bool or isinstance(default, bool):
            options.append(Option(field.name, help_text, METHOD_PANEL, bool, default))
            continue
        domain = _get_domain(cls, field.name)
        choices = tuple(_list_literals(domain))
        metavar = "|".join([*choices, *_list_types(domain)]) or "text"
        if len(metavar) > MAX_METAVAR_CHARACTERS:
            help_text, metavar = f"{help_text} One of {', '.join(choices)}.", "name"
        options.append(
            Option(field.name, help_text, METHOD_PANEL, metavar=metavar, choices=choices)
        )
    return options


def build_model(name: str, arguments: Arguments) -> Reducer:
    """The unfitted model with the parameters that were typed."""
    from ..core.parameters import check_params

    cls = get_class(name)
    params: dict[str, object] = {}
    for field in dataclasses.fields(cls):
        value = arguments.get("seed" if field.name == "random_state" else field.name)
        if value is None and field.name == "n_components":
            value = DEFAULT_N_COMPONENTS
        if value is None or field.name == "verbose":
            continue
        if isinstance(value, str) and field.name != "backend":
            value = parse_value(name, field.name, value)
        params[field.name] = value
    model: Reducer = cls(**params)
    check_params(model)
    return model


def parse_value(name: str, parameter: str, text: str) -> object:
    """What was typed as a value of the parameter's domain; the error names the flag."""
    import numpy as np

    from ..core.parameters import accepts, read

    domain = _get_domain(get_class(name), parameter)
    if text.endswith(".npy") and accepts(domain, np.empty(0)):
        return np.load(text, allow_pickle=False)
    try:
        return read(domain, text)
    except ParameterError as error:
        raise ParameterError(f"--{parameter.replace('_', '-')} {error}") from None


def get_class(name: str) -> type[Any]:
    """The class of a method, imported."""
    from ..store import class_of

    cls: type[Any] = class_of(name)
    return cls


def _get_domain(cls: type, parameter: str) -> Domain:
    from ..core.parameters import domains

    return domains(cls)[parameter]


def _split_union(domain: Domain) -> list[Domain]:
    """The alternatives of a union, without their rules."""
    if _is_literal(domain):
        return [domain]
    if hasattr(domain, "__metadata__"):
        return _split_union(get_args(domain)[0])
    inner = get_args(domain) if "Union" in str(get_origin(domain)) else ()
    return [part for option in inner for part in _split_union(option)] if inner else [domain]


def _is_literal(domain: Domain) -> bool:
    origin: object = get_origin(domain)
    return origin is Literal


def _list_literals(domain: Domain) -> list[str]:
    literals = [part for part in _split_union(domain) if _is_literal(part)]
    return [word for part in literals for word in get_args(part)]


def _list_types(domain: Domain) -> list[str]:
    words: dict[object, str] = {int: "int", float: "float", list: "list", dict: "json"}
    words[type(None)] = "none"
    found = [words.get(get_origin(part) or part) for part in _split_union(domain)]
    return list(dict.fromkeys(word for word in found if word))


def _format_default(default: object) -> str:
    return str(default).lower() if default is None or isinstance(default, bool) else str(default)
