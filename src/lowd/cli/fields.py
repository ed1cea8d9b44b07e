"""From a method's fields to flags, and from what was typed to a model.

A field's annotation is the only declaration of a parameter (see `params`); its help is the line
of the class's docstring.
"""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from .. import methods
from ..errors import ParameterError
from ..methods import METHODS
from .options import METHOD, Option

_WIDEST = 30  # characters of choices that still stand beside a flag
# The command line has its own flags for these.
_ELSEWHERE = {"random_state", "backend", "n_jobs", "verbose"}
# A map to look at has two dimensions, whatever a method takes by default (PCA: all of them).
DIMENSIONS = 2


def _commands() -> dict[str, str]:
    """The module's name is short (`lle`); where methods share one, the class has to say it."""
    shared = Counter(METHODS.values())
    spelled = {
        name: module if shared[module] == 1 else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        for name, module in METHODS.items()
    }
    return {word.replace("_", "-"): name for name, word in spelled.items()}


COMMANDS = _commands()
_SPELLINGS = COMMANDS | {name.lower(): name for name in METHODS}


def class_name(word: str) -> str:
    """The class for `lle`, `kernel_pca` or `LocallyLinearEmbedding`."""
    plain = word.strip().lower()
    name = _SPELLINGS.get(plain.replace("_", "-")) or _SPELLINGS.get(plain)
    if name is None:
        raise ParameterError(f"there is no method {word!r}; there are {', '.join(COMMANDS)}.")
    return name


def docstring(name: str) -> str:
    """The text of a method's class, read from its file: importing all takes a second."""
    path = Path(methods.__file__).with_name(f"{METHODS[name]}.py")
    found = re.search(
        rf'^class {name}\b[^\n]*:\n    """(.*?)"""', path.read_text("utf-8"), re.S | re.M
    )
    return textwrap.dedent("    " + found[1]) if found else ""


def summary(name: str) -> str:
    """The first sentence of a method."""
    return docstring(name).partition("\n")[0]


def advice(name: str) -> tuple[str, str]:
    """When to use a method, and what it costs: the text before and after "Cost:"."""
    text = docstring(name).partition("Parameters\n")[0].removeprefix(summary(name))
    use, _, rest = " ".join(text.split()).partition("Cost: ")
    return use.strip(), re.split(r" New (?:rows|points)", rest)[0]


def texts(name: str) -> dict[str, str]:
    """Parameter -> what its method says about it."""
    section = docstring(name).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found = {}
    for names, text in re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", section, re.M):
        for parameter in names.split(","):
            found[parameter.strip()] = " ".join(text.split())
    return found


def flags(name: str) -> list[Option]:
    """One flag per field of the class."""
    cls = _class(name)
    spoken: dict[str, str] = {}
    for parent in reversed(cls.__mro__):
        if parent.__name__ in METHODS:
            spoken |= texts(parent.__name__)
    options = []
    for field in dataclasses.fields(cls):
        if field.name in _ELSEWHERE:
            continue
        default = default_of(field)
        help_text = f"{spoken.get(field.name, '')} Default: {_shown(default)}.".strip()
        if field.type is bool or isinstance(default, bool):
            options.append(Option(field.name, help_text, METHOD, bool, default))
            continue
        choices = tuple(_literals(_domain(cls, field.name)))
        metavar = "|".join([*choices, *_kinds(_domain(cls, field.name))]) or "text"
        if len(metavar) > _WIDEST:
            help_text, metavar = f"{help_text} One of {', '.join(choices)}.", "name"
        options.append(Option(field.name, help_text, METHOD, metavar=metavar, choices=choices))
    return options


def default_of(field: dataclasses.Field[Any]) -> Any:
    """The default on the command line: the field's own, but for the number of dimensions."""
    return DIMENSIONS if field.name == "n_components" else field.default


def build(name: str, given: dict[str, Any]) -> Any:
    """The unfitted model for what was typed."""
    from ..core.parameters import check_params

    cls = _class(name)
    params: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        value = given.get("seed" if field.name == "random_state" else field.name)
        if value is None and field.name == "n_components":
            value = DIMENSIONS
        if value is None or field.name == "verbose":
            continue
        if isinstance(value, str) and field.name != "backend":
            value = read(name, field.name, value)
        params[field.name] = value
    model = cls(**params)
    check_params(model)
    return model


def read(name: str, parameter: str, text: str) -> Any:
    """What was typed as a value of the parameter's domain; the error names the flag."""
    import numpy as np

    from ..core.parameters import accepts, read

    domain = _domain(_class(name), parameter)
    if text.endswith(".npy") and accepts(domain, np.empty(0)):
        return np.load(text, allow_pickle=False)
    try:
        return read(domain, text)
    except ParameterError as error:
        raise ParameterError(f"--{parameter.replace('_', '-')} {error}") from None


def _class(name: str) -> Any:
    from ..store import class_of

    return class_of(name)


def _domain(cls: type, parameter: str) -> Any:
    from ..core.parameters import domains

    return domains(cls)[parameter]


def _parts(domain: Any) -> list[Any]:
    """The alternatives of a union, without their rules."""
    if get_origin(domain) is Literal:
        return [domain]
    if hasattr(domain, "__metadata__"):
        return _parts(get_args(domain)[0])
    inner = get_args(domain) if "Union" in str(get_origin(domain)) else ()
    return [part for option in inner for part in _parts(option)] if inner else [domain]


def _literals(domain: Any) -> list[str]:
    return [
        word for part in _parts(domain) if get_origin(part) is Literal for word in get_args(part)
    ]


def _kinds(domain: Any) -> list[str]:
    words = {int: "int", float: "float", type(None): "none", list: "list", dict: "json"}
    found = [words.get(get_origin(part) or part) for part in _parts(domain)]
    return list(dict.fromkeys(word for word in found if word))


def _shown(default: Any) -> str:
    return str(default).lower() if default is None or isinstance(default, bool) else str(default)
