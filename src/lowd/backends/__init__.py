"""Backends: where the arithmetic happens. Chosen once per call; methods never ask which."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from .. import threads
from ..errors import BackendUnavailableError, ParameterError
from .protocol import Backend

__all__ = ["Backend", "available", "resolve"]

# name -> (module, class, packages it needs), in order of preference for "auto".
_REGISTRY = {
    "native": (".native", "Native", ("lowd._native",)),
    "reference": (".reference", "Reference", ()),
    "torch": (".torch", "Torch", ("torch", "lowd._native")),
}

_EXTRAS = {"torch": " (pip install 'lowd[gpu]')"}


@cache
def _installed(name: str) -> bool:
    return not _missing(name)


def available() -> list[str]:
    """Names of the backends whose packages are installed (nothing is imported)."""
    return [name for name in _REGISTRY if _installed(name)]


def resolve(name: str, n_jobs: int | None) -> Backend:
    """The backend called `name` with its threads; "auto" is the first available one."""
    return _class(name)(threads=threads.count(n_jobs))


@cache
def _class(name: str) -> Callable[..., Backend]:
    if name == "auto":
        name = available()[0]
    if name not in _REGISTRY:
        raise ParameterError(f"backend={name!r}: expected 'auto' or one of {list(_REGISTRY)}.")
    if not _installed(name):
        raise BackendUnavailableError(
            f"backend={name!r} needs {', '.join(_missing(name))}; "
            f"install it{_EXTRAS.get(name, '')}, or set backend='auto' to use {available()[0]!r}."
        )
    module, cls, _ = _REGISTRY[name]
    return cast(Callable[..., Backend], getattr(import_module(module, __package__), cls))


def _missing(name: str) -> list[str]:
    return [package for package in _REGISTRY[name][2] if find_spec(package) is None]
