"""Every parameter that changes an embedding is shown on the page of its method."""

from __future__ import annotations

import re

import pytest

import lowd
from lowd.methods import METHODS
from lowd.parameters import state_of
from scripts import ROOT, load_script

figures = load_script("examples/parameter_figures.py")
table = load_script("examples/parameter_table.py")
PAGES = ROOT / "docs" / "methods"
PICTURES = ROOT / "docs" / "images" / "parameters"


def page_of(method):
    name = figures.page_name(method)
    name = "locally_linear_embedding" if name == "lle" else name
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", METHODS)
def test_the_page_of_a_method_is_complete(method):
    check_every_parameter_is_drawn_or_said_to_change_nothing(method)
    check_every_picture_is_there(method)
    check_every_attribute_is_one(method)
    check_the_method_is_named_in_other_libraries(method)


def check_every_parameter_is_drawn_or_said_to_change_nothing(method):
    drawn = {row.parameter for row in table.ROWS if row.method == method}
    drawn |= set(table.DRAWN_ELSEWHERE.get(method, ()))
    said = {name for name in table.NOT_DRAWN if "." not in name}
    said |= {name.partition(".")[2] for name in table.NOT_DRAWN if name.startswith(f"{method}.")}
    parameters = set(getattr(lowd, method)().get_params())
    assert parameters - drawn - said == set()
    assert drawn - parameters == set()


def check_every_picture_is_there(method):
    page = figures.page_name(method)
    wanted = {name for name in figures.FIGURES if name.rpartition("-")[0] == page}
    assert f"{page}-fails" in wanted
    assert set(re.findall(r"images/parameters/([\w-]+)\.png", page_of(method))) == wanted
    for parameter in table.DRAWN_ELSEWHERE.get(method, ()):
        assert f"images/{page}/{page}-{parameter}.png" in page_of(method)


def check_every_attribute_is_one(method):
    """The table of a page names what the class has."""
    section = page_of(method).partition("\n## Attributes\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"(?<!without )`([a-z]\w*_)`", section))
    cls = getattr(lowd, method)
    assert section
    assert named <= set(state_of(cls)) | set(dir(cls))


def test_every_picture_is_drawn_and_every_file_shown():
    assert {path.stem for path in PICTURES.glob("*.png")} == set(figures.FIGURES)


def check_the_method_is_named_in_other_libraries(method):
    names = page_of(method).partition("## In other libraries\n\n")[2].partition("\n\n")[0]
    for library in ("scikit-learn", "openTSNE", "umap-learn", "scanpy", "R"):
        assert re.search(rf"^\|[^|]*\b{library}\b", names, re.MULTILINE), library
    assert "## References" in page_of(method)
