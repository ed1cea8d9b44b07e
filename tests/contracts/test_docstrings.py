"""Docstrings of functions in the format of numpydoc; those of classes are in test_house."""

from __future__ import annotations

import ast
import inspect
import re

import pytest

import lowd

# They mean the same everywhere, and are described in docs/how-it-works.
COMMON = {"backend", "n_jobs", "verbose", "self"}
FUNCTIONS = [name for name in lowd.__all__ if inspect.isfunction(getattr(lowd, name))]


def read_entries(text, section):
    """Name -> type, of a section of a docstring: entries `name, name : type`."""
    found = inspect.cleandoc(text).partition(f"{section}\n{'-' * len(section)}\n")[2]
    found = re.split(r"\n\n(?=[A-Z]\w+\n---)", found)[0]
    entries = {}
    for names, kind in re.findall(r"^(\w[\w, ]*) : (.+)$", found, re.M):
        entries |= dict.fromkeys(names.split(", "), kind)
    return entries


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_has_its_type_and_default(name):
    documented = getattr(lowd, name)
    entries = read_entries(documented.__doc__, "Parameters")
    signature = inspect.signature(documented).parameters
    assert set(entries) - COMMON == set(signature) - COMMON
    for parameter, kind in entries.items():
        default = signature[parameter].default
        text = kind.partition(", default=")[2]
        if default is inspect.Parameter.empty:
            assert not text, parameter
        elif isinstance(default, bool | int | float | str | None):
            assert text, parameter
            assert ast.literal_eval(text) == default, parameter
        assert kind.partition(", default=")[0], parameter


def test_every_function_says_what_it_returns():
    for name in FUNCTIONS:
        text = inspect.cleandoc(getattr(lowd, name).__doc__)
        assert ("Returns\n-------\n" in text) == (name != "save"), name
