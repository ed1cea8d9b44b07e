"""Replace classes of scikit-learn and umap-learn by the proxies, and restore them."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from .imports import AfterImport
from .table import REPLACEMENTS, Replacement

UMAP_MODULE = "umap"

_originals: dict[tuple[str, str], Any] = {}
_proxies: dict[tuple[str, str], Any] = {}


def bind() -> None:
    """Replace every name of the table; names that a module does not define are skipped."""
    now = [one for one in REPLACEMENTS if one.module != UMAP_MODULE]
    # Import all modules before replacing the first, so that they import originals from each other.
    modules = {one.module: import_module(one.module) for one in now}
    for one in now:
        _replace(modules[one.module], one)
    # umap-learn takes seconds to import and may be missing, so it is replaced when it is imported.
    if UMAP_MODULE in sys.modules:
        _replace_umap(sys.modules[UMAP_MODULE])
    elif _after_umap not in sys.meta_path:
        sys.meta_path.insert(0, _after_umap)


def unbind() -> None:
    """Restore the originals."""
    if _after_umap in sys.meta_path:
        sys.meta_path.remove(_after_umap)
    for (module, name), original in _originals.items():
        setattr(import_module(module), name, original)
    _originals.clear()


def is_bound() -> bool:
    """Whether the originals are replaced by the proxies."""
    return bool(_originals)


def list_replaced() -> dict[tuple[str, str], Any]:
    """The modules and names that are replaced now, with the originals."""
    return dict(_originals)


def _replace_umap(module: ModuleType) -> None:
    for one in REPLACEMENTS:
        if one.module == UMAP_MODULE:
            _replace(module, one)


def _replace(module: ModuleType, one: Replacement) -> None:
    key = one.module, one.name
    original = getattr(module, one.name, None)
    if original is None or key in _originals:
        return
    if key not in _proxies:
        _proxies[key] = one.make_proxy(original)
    _originals[key] = original
    setattr(module, one.name, _proxies[key])


_after_umap = AfterImport(UMAP_MODULE, _replace_umap)
