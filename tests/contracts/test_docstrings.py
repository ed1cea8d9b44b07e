"""Docstrings in the format of numpydoc: types and defaults as they are in the signature."""

from __future__ import annotations

import ast
import inspect
import itertools
import re

import pytest
from lowd.core.docstrings import TEXTS, complete_docstring

import lowd
from lowd.methods import METHODS

# They mean the same everywhere, and are described in docs/how-it-works.
COMMON = {"backend", "n_jobs", "verbose", "self"}
CLASSES = [*METHODS, "Pipeline", "NeighborsTransformer"]
FUNCTIONS = [name for name in lowd.__all__ if inspect.isfunction(getattr(lowd, name))]


def read_entries(text, section):
    """Name -> type, of a section of a docstring: entries `name, name : type`."""
    found = inspect.cleandoc(text).partition(f"{section}\n{'-' * len(section)}\n")[2]
    found = re.split(r"\n\n(?=[A-Z]\w+\n---)", found)[0]
    entries = {}
    for names, kind in re.findall(r"^(\w[\w, ]*) : (.+)$", found, re.M):
        entries |= dict.fromkeys(names.split(", "), kind)
    return entries


@pytest.mark.parametrize("name", [*CLASSES, *FUNCTIONS])
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


def test_every_attribute_has_its_type():
    for name in CLASSES:
        _check_attributes(inspect.cleandoc(getattr(lowd, name).__doc__))


def _check_attributes(text):
    entries = read_entries(text, "Attributes")
    section = text.partition("Attributes\n----------\n")[2].partition("\n\n")[0]
    lines = [line for line in section.splitlines() if not line.startswith(" ")]
    assert lines
    assert all(" : " in line for line in lines), lines
    types = r"(ndarray|csr_array) of shape \(.+\)|float|int|bool|str|tuple|Reducer|PCA|Moments"
    for attribute, kind in entries.items():
        assert re.match(types, kind), f"{attribute} : {kind}"


@pytest.mark.parametrize("section", ["Parameters", "Attributes"])
def test_shared_texts_are_filled_in(section):
    """Entries in a row may have one text, below the last of them, unless they have a shared one."""
    for name in METHODS:
        _check_shared_texts(inspect.cleandoc(getattr(lowd, name).__doc__), section)


def _check_shared_texts(text, section):
    lines = text.partition(f"{section}\n----------\n")[2].partition("\n\n")[0].splitlines()
    assert lines[-1].startswith("    ")
    for line, below in itertools.pairwise(lines):
        names = line.partition(" : ")[0].split(", ")
        if all(one in TEXTS for one in names):
            assert below.startswith("    "), line


def test_a_text_of_its_own_is_kept():
    own = "Parameters\n----------\nmetric : str\n    Of strings.\nrandom_state : int\nx : int\n"
    entry = "random_state : int\n"
    assert complete_docstring(own) == own.replace(entry, f"{entry}    {TEXTS['random_state']}\n")


def test_every_function_says_what_it_returns():
    for name in FUNCTIONS:
        text = inspect.cleandoc(getattr(lowd, name).__doc__)
        assert ("Returns\n-------\n" in text) == (name != "save"), name
