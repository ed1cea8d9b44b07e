"""Putting the proxies in the place of the originals, and back."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from .table import REPLACEMENTS, Replacement

_originals: dict[tuple[str, str], Any] = {}
_proxies: dict[tuple[str, str], Any] = {}


def bind() -> None:
    """Replace every name of the table; what a module has no name of is left out."""
    # All are imported before the first is replaced: what they import of each other stays original.
    modules = {one.module: import_module(one.module) for one in REPLACEMENTS}
    for one in REPLACEMENTS:
        _replace(modules[one.module], one)


def unbind() -> None:
    """Put the originals back."""
    for (module, name), original in _originals.items():
        setattr(import_module(module), name, original)
    _originals.clear()


def is_bound() -> bool:
    """Are the proxies in place?"""
    return bool(_originals)


def replaced() -> dict[tuple[str, str], Any]:
    """Module and name of what is replaced now, and the original."""
    return dict(_originals)


def _replace(module: ModuleType, one: Replacement) -> None:
    key = one.module, one.name
    original = getattr(module, one.name, None)
    if original is None or key in _originals:
        return
    if key not in _proxies:
        _proxies[key] = one.make_proxy(original)
    _originals[key] = original
    setattr(module, one.name, _proxies[key])
