"""Command-line flags of a method, derived from the fields and the docstring of its class.

A field's annotation is the only declaration of a parameter (see `parameters`); its help is
the entry in the class's docstring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, get_origin

from ..errors import ParameterError
from ..methods import COMMANDS, get_parameter_texts
from .options import METHOD_PANEL, Arguments, Option

if TYPE_CHECKING:
    from ..reducer import Reducer

Domain: TypeAlias = Any  # an annotation: a type, a union, a Literal or Annotated

# A plot has two dimensions, whatever number a method computes by default (PCA: all).
DEFAULT_N_COMPONENTS = 2


METHOD_COMMANDS = {word: name for name, word in COMMANDS.items()}


def make_flags(name: str) -> list[Option]:
    """One flag per field of the class, but for those that the command line has flags of its own."""
    from ..parameters import defaults_of, list_literals, parameters_of, split_union
    from ..store import class_of

    cls = class_of(name)
    texts, defaults = get_parameter_texts(name), defaults_of(cls)
    typed: dict[object, str] = {
        int: "int",
        float: "float",
        list: "list",
        dict: "json",
        type(None): "none",
    }
    options = []
    for parameter, domain in parameters_of(cls).items():
        if parameter in ("random_state", "backend", "n_jobs", "verbose"):
            continue
        default = defaults[parameter]
        if parameter == "n_components":
            default = DEFAULT_N_COMPONENTS
        shown = str(default).lower() if default in (None, True, False) else default
        text = f"{texts.get(parameter, '')} Default: {shown}.".strip()
        if isinstance(default, bool):
            options.append(Option(parameter, text, METHOD_PANEL, bool, default))
            continue
        choices = tuple(list_literals(domain))
        kinds = [typed.get(get_origin(part) or part) for part in split_union(domain)]
        metavar = "|".join([*choices, *dict.fromkeys(kind for kind in kinds if kind)]) or "text"
        if len(metavar) > 30:
            text, metavar = f"{text} One of {', '.join(choices)}.", "name"
        options.append(Option(parameter, text, METHOD_PANEL, metavar=metavar, choices=choices))
    return options


def build_model(name: str, arguments: Arguments) -> Reducer:
    """The unfitted model with the parameters that were typed."""
    from ..parameters import check_parameters, parameters_of
    from ..store import class_of

    cls: type[Any] = class_of(name)
    params: dict[str, object] = {}
    for parameter, domain in parameters_of(cls).items():
        value = arguments.get("seed" if parameter == "random_state" else parameter)
        if value is None and parameter == "n_components":
            value = DEFAULT_N_COMPONENTS
        if value is None or parameter == "verbose":
            continue
        if isinstance(value, str) and parameter != "backend":
            value = _parse(domain, parameter, value)
        params[parameter] = value
    model: Reducer = cls(**params)
    check_parameters(model)
    return model


def _parse(domain: Domain, parameter: str, text: str) -> object:
    """Read typed text as a value of the parameter's domain; an error names the flag."""
    import numpy as np

    from ..parameters import accepts, read

    if text.endswith(".npy") and accepts(domain, np.empty(0)):
        return np.load(text, allow_pickle=False)
    try:
        return read(domain, text)
    except ParameterError as error:
        raise ParameterError(f"--{parameter.replace('_', '-')} {error}") from None
