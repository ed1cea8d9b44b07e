"""What keeps the house in order: layers, few files on the way of a fit, complete docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import MISSING
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import lowd
from lowd.methods import METHODS
from lowd.parameters import defaults_of, parameters_of, state_of

PACKAGE = Path(lowd.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
# A module imports from its own layer and from those before it, also inside functions.
LAYERS = [
    {"errors", "parameters", "progress", "random", "threads", "callbacks", "other_libraries"},
    {"backend"},
    {"blocks", "input", "reuse", "tasks"},
    {"spaces", "linalg"},
    {"confidence"},
    {"reducer"},
    {"methods", "neighbor_graph", "pipeline", "store"},
    {"evidence"},
    {"on_torch"},
    {"datasets", "explorer", "io", "plot", "report"},
    {"cli", "__main__"},
    {"accelerate"},
]
# Imports that go up, each inside a function and each with its reason.
UPWARD = {
    # torch registers what it computes when it is asked for.
    ("backend", "on_torch"),
    # Methods of objects for what is built on these objects, when they are called.
    ("reducer", "evidence"),
    ("evidence.quality.result", "plot"),
    ("evidence.compare.result", "plot"),
    ("evidence.dimension", "plot"),
    # What names rows or is a code is told by the rules for columns of files.
    ("evidence.diagnosis.columns", "io"),
}
# The list of methods is data, and the version a text.
FREE = ("lowd.__version__", "lowd._native", "lowd.methods.METHODS")


def imported_names(module):
    """Absolute names of all that a module imports, wherever in the file."""
    path = MODULES[module]
    package = ["lowd", *module.split(".")][: len(path.relative_to(PACKAGE).parts)]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{start}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            named = node.args[0] if node.args else None
            text = ast.unparse(named).strip("f'\"") if named else ""
            yield text.replace("{__package__}", "lowd") + "."


def layer_of(module):
    top = module.split(".")[0]
    return next(level for level, names in enumerate(LAYERS) if top in names)


def test_every_module_has_a_layer_and_a_first_line():
    for module, path in MODULES.items():
        assert module == "__init__" or layer_of(module) >= 0, module
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), module


def test_imports_go_down():
    upward = {
        (module, name.split(".")[1])
        for module in MODULES
        if module != "__init__"
        for name in imported_names(module)
        if name.startswith("lowd.") and not name.startswith(FREE)
        if layer_of(name.split(".")[1]) > layer_of(module)
    }
    assert upward == UPWARD


def test_the_test_itself_sees_imports():
    assert "lowd.errors.ParameterError" in set(imported_names("parameters"))
    assert "lowd.threads" in set(imported_names("backend"))
    assert "lowd.evidence.quality." in set(imported_names("reducer"))


# -- the way of a fit -------------------------------------------------------------------------

# What all fits call on the way, and nobody has to read for a method.
SERVICES = {"errors", "parameters", "progress", "random", "threads", "callbacks", "backend"}
SERVICES |= {"blocks", "tasks", "input/arguments", "input/entries"}
SERVICES |= {"reuse"}
MOST_FILES = 15
MORE_FILES = {"sparse": 2, "blocks": 1, "neighbors": 1}  # what another kind of data takes besides
FEW_STEPS = {"TSNE": {"max_iter": 20}, "SNE": {"max_iter": 20}, "UMAP": {"n_epochs": 10}}


def make_data(kind, X):
    if kind == "sparse":
        return csr_array(X)
    if kind == "blocks":
        return lowd.open_blocks([X[:150], X[150:]])
    return X


def files_of(call):
    """The files of the package in which something runs, without services."""
    seen = set()

    def see(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            seen.add(frame.f_code.co_filename.removeprefix(f"{PACKAGE}/").removesuffix(".py"))

    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(seen - SERVICES)


@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in METHODS
        for kind in ("rows", "sparse", "blocks", "neighbors")
        if kind in getattr(lowd, name).takes | {"rows"}
    ],
)
def test_a_fit_touches_few_files(name, kind):
    cls = getattr(lowd, name)
    X = np.random.default_rng(0).normal(size=(400, 6))
    given = {"neighbors": lowd.neighbors(X, 91)} if kind == "neighbors" else {}
    data, model = make_data(kind, X), cls(n_components=2, **FEW_STEPS.get(name, {}))
    model.fit(data, **given)  # imports and caches
    touched = files_of(lambda: model.fit(data, **given))
    assert len(touched) <= MOST_FILES + MORE_FILES.get(kind, 0), touched


# -- docstrings -------------------------------------------------------------------------------

CLASSES = [*METHODS, "Pipeline", "NeighborsTransformer"]
EVERYWHERE = {"embedding_", "n_components_", "n_samples_", "n_features_in_", "feature_names_in_"}
# Of a fit of blocks, of a table or of `calibrate_confidence`: they are in docs/how-it-works.
EVERYWHERE |= {"columns_", "prepared_", "left_out_", "n_rows_", "sampled_rows_"}
EVERYWHERE |= {"extension_recall_", "sampled_recall_", "seed_"}


def documented(cls, section):
    """The entries of a section of a docstring, as it stands in the source: name -> type, text."""
    text = inspect.cleandoc(cls.__doc__).partition(f"{section}\n{'-' * len(section)}\n")[2]
    text = re.split(r"\n\n(?=[A-Z]\w+\n---)", text)[0]
    entries = {}
    for names, kind, body in re.findall(r"^(\w[\w, ]*) : (.*)\n((?:    .*\n?)+)", text, re.M):
        entries |= dict.fromkeys(names.split(", "), (kind, " ".join(body.split())))
    return entries


def properties_of(cls):
    return {name for name in dir(cls) if name.endswith("_") and name[0] != "_"}


@pytest.mark.parametrize("name", CLASSES)
def test_docstrings_are_complete(name):
    """In the source, where people and their editors read them."""
    cls = getattr(lowd, name)
    parameters, attributes = (documented(cls, section) for section in ("Parameters", "Attributes"))
    assert set(parameters) == set(parameters_of(cls))
    learned = {one for one in state_of(cls) if one[0] != "_"} | properties_of(cls)
    assert set(attributes) <= learned, "documented, but not there"
    own = {one for one in state_of(cls) if one[0] != "_"} - EVERYWHERE
    assert own <= set(attributes), "there, but not documented"
    for one, (kind, _) in parameters.items():
        default = defaults_of(cls)[one]
        text = kind.partition(", default=")[2]
        if default is MISSING:
            assert not text, one
        elif isinstance(default, bool | int | float | str | None):
            assert ast.literal_eval(text) == default, one
    types = r"(ndarray|csr_array) of shape \(.+\)|float|int|bool|str|tuple|"
    types += "Reducer|Preparation|Moments"
    for one, (kind, _) in attributes.items():
        assert re.match(types, kind), f"{one} : {kind}"


@pytest.mark.parametrize(
    "parameter", ["backend", "n_jobs", "verbose", "metric_params", "on_disconnected"]
)
def test_what_means_the_same_everywhere_has_the_same_text(parameter):
    texts = {}
    for name in CLASSES:
        entry = documented(getattr(lowd, name), "Parameters").get(parameter)
        if entry:
            texts.setdefault(entry, []).append(name)
    assert len(texts) == 1, texts
