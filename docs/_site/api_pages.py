"""Pages of the reference: the members they list, and docstrings as reStructuredText."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

# What scikit-learn adds to every estimator for its metadata routing, and what a method declares.
LEFT_OUT = ("set_fit_request", "set_transform_request", "allows_missing", "adds_rows_up")
# |x| is a norm and px* a pattern in docstrings, but substitutions and emphasis to Sphinx.
MARKUP = re.compile(r"(`[^`]*`)|(?<!^)([|*])")


def list_own_methods(module: str, name: str) -> list[str]:
    """Public methods and properties of a class that the library defines, not its base classes."""
    owner = getattr(import_module(module), name)
    if owner.__name__ != name:  # another name of a class, which has a page of its own
        return []
    found = []
    for member in sorted(dir(owner)):
        home = next((base for base in owner.__mro__ if member in vars(base)), None)
        if member.startswith("_") or member in LEFT_OUT or home is None:
            continue
        value = inspect.getattr_static(owner, member)
        callable_or_property = isinstance(value, property | classmethod | staticmethod)
        if (callable_or_property or inspect.isfunction(value)) and (
            home.__module__.startswith("lowd")
        ):
            found.append(member)
    return found


def escape_markup(*event: Any) -> None:
    """Escape bars and asterisks outside of backticks and examples."""
    lines: list[str] = event[-1]
    in_example = False
    for i, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            lines[i] = MARKUP.sub(lambda found: found[1] or f"\\{found[2]}", line)


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", escape_markup, priority=400)  # numpydoc has 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}
