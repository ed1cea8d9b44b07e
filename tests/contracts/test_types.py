"""`Any` stands behind a named alias that says what it is, or in *given and **options."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import lowd

PACKAGE = Path(lowd.__file__).parent
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
# Whatever a module or a backend has under a name.
ALLOWED = {
    ("__init__.py", "__getattr__", "return"),
    ("plot/__init__.py", "__getattr__", "return"),
    ("backends/planned.py", "Planned.__getattr__", "return"),
}
# Classes and arguments of scikit-learn, which has no types, in their own signatures.
FOREIGN = ("accelerate/",)


def list_annotations(tree, owner=()):
    """(qualified name, what is annotated, annotation) of arguments, results and variables."""
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        inner = (*owner, node.name) if named else owner
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            found = [(one.arg, one.annotation) for one in listed]
            yield from ((".".join(inner), *one) for one in [*found, ("return", node.returns)])
        elif isinstance(node, ast.AnnAssign):
            yield ".".join(inner), ast.unparse(node.target), node.annotation
        yield from list_annotations(node, inner)


def find_bare(text):
    """Where an annotation is `Any` itself, which says nothing."""
    return {
        (owner, name)
        for owner, name, annotation in list_annotations(ast.parse(text))
        if isinstance(annotation, ast.Name) and annotation.id == "Any"
    }


def test_any_has_a_name():
    own = [file for file in FILES if not file.startswith(FOREIGN)]
    texts = {file: (PACKAGE / file).read_text("utf-8") for file in own}
    assert {(file, *one) for file, text in texts.items() for one in find_bare(text)} == ALLOWED


def test_every_alias_of_any_says_what_it_is():
    """A comment beside it, or on the line before."""
    silent = []
    for file in FILES:
        lines = ["", *(PACKAGE / file).read_text("utf-8").splitlines()]
        for before, line in itertools.pairwise(lines):
            if ": TypeAlias = Any" in line and "#" not in line and not before.startswith("#"):
                silent.append(f"{file}: {line}")
    assert not silent


def test_a_bare_any_is_seen():
    text = "class A:\n    x: Any = 1\n    def f(self, y: Any, **more: Any) -> Any: ..."
    assert find_bare(text) == {("A", "x"), ("A.f", "y"), ("A.f", "return")}
