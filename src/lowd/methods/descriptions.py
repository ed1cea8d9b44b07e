"""What the docstring of each method says: summary, advice, and a text for every parameter."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from ..core.docstrings import complete_docstring
from . import METHODS


def read_docstring(name: str) -> str:
    """The docstring of a method's class, read from its file: importing all takes a second."""
    path = Path(__file__).with_name(f"{METHODS[name]}.py")
    found = re.search(
        rf'^class {name}\b[^\n]*:\n    """(.*?)"""', path.read_text("utf-8"), re.S | re.M
    )
    return complete_docstring(textwrap.dedent("    " + found[1])) if found else ""


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


def collect_parameter_texts(cls: type) -> dict[str, str]:
    """Parameter -> its description, also where a parent's docstring has it."""
    texts: dict[str, str] = {}
    for parent in reversed(cls.__mro__):
        if parent.__name__ in METHODS:
            texts |= get_parameter_texts(parent.__name__)
    return texts
