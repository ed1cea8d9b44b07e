"""The shape of the package: lazy imports, one home for each optional package, documents."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

import lowd
from lowd.methods import METHODS
from test_house import MODULES, PACKAGE, imported_names

# A package that is not always there, or slow to import, has one file that imports it; scikit-learn
# is always there where there is a model.
HOMES = {
    "sklearn": {
        "reducer",
        "callbacks",
        "methods.pca",
        "methods.classical_mds",
        "input.validation",
        "datasets.folder",
        "accelerate.originals",
    },
    "dask": {"tasks"},
    "distributed": {"tasks"},
    "threadpoolctl": {"threads"},
    "zarr": {"io.block_files"},
    "rich": set(),
    "typer": set(),
    "pandas": {"evidence.tables"},
    "polars": {"io.frames"},
    "anndata": {"io.h5ad"},
    "openpyxl": {"io.spreadsheet"},
    "PIL": {"io.images"},
    "pyarrow": {"input.entries"},
    "joblib": set(),
    "starlette": {"explorer.server"},
    "uvicorn": {"explorer.server"},
    "anywidget": {"explorer.widget"},
    "matplotlib": {"plot.canvas"},
    "torch": {"on_torch.arrays"},
    "triton": {"on_torch.arrays"},
}


def test_one_home_for_each_package():
    imports = {module: list(imported_names(module)) for module in MODULES}
    for package, homes in HOMES.items():
        users = {
            module
            for module, names in imports.items()
            if any(f"{name}.".startswith(f"{package}.") for name in names)
        }
        assert users == homes, package


def _fresh(script):
    run = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    return run.stdout.strip()


def test_import_is_lazy():
    """`import lowd` brings no scientific package, and a fit none but the three it needs."""
    heavy = {"numpy", "scipy", "sklearn", "pandas", "dask", "rich", "joblib"}
    names = f"{heavy} & set(sys.modules)"
    script = f"import lowd, sys; dir(lowd), lowd.errors, lowd.progress; print({names})"
    assert _fresh(script) == "set()"
    extras = {"polars", "dask", "distributed", "matplotlib", "torch"}  # scikit-learn brings others
    fit = "lowd.PCA(1).fit([[1, 2], [3, 5]])"
    assert _fresh(f"import lowd, sys; {fit}; print({extras} & set(sys.modules))") == "set()"


def test_import_loads_few_modules():
    """Import time is the number of modules: two of lowd's own, and few of the standard library."""
    script = (
        "import sys; before = set(sys.modules); import lowd; print(*(set(sys.modules) - before))"
    )
    loaded = _fresh(script).split()
    assert sum(name.split(".")[0] == "lowd" for name in loaded) <= 3, sorted(loaded)
    assert len(loaded) <= 60, sorted(loaded)  # NumPy alone has twice as many


def test_import_has_no_side_effects():
    script = """
import logging, os, threading
before = dict(os.environ), threading.active_count()
import lowd
lowd.PCA, lowd.save, lowd.estimate
print(before == (dict(os.environ), threading.active_count()), logging.getLogger("lowd").handlers)
"""
    assert _fresh(script) == "True []"


def test_importing_a_class_has_no_effect():
    """No warning, no use of NumPy's global random state, and no thread that a fork would lose."""
    script = """
import os, warnings
import numpy as np
import scipy.linalg, sklearn.decomposition  # BLAS begins its threads
from lowd.methods import METHODS
tasks = lambda: len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 0
before, working = np.random.get_state()[1].tolist(), tasks()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import lowd
    [getattr(lowd, name) for name in METHODS]
ours = [w for w in caught if issubclass(w.category, lowd.errors.LowdWarning)]
print(ours, np.random.get_state()[1].tolist() == before, tasks() - working)
"""
    assert _fresh(script) == "[] True 0"


def test_public_names():
    assert set(METHODS) < set(lowd.__all__) <= set(dir(lowd))
    for name in lowd.__all__:
        assert getattr(lowd, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'TSNEE'"):
        _ = lowd.TSNEE
    namespace = {}
    exec("from lowd import *", namespace)
    assert set(METHODS) <= set(namespace)


def test_one_version_everywhere():
    """Written in the package, where the build reads it; citation and changes agree."""
    version = lowd.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    repository = PACKAGE.parents[1]
    if not (repository / "CITATION.cff").is_file():
        pytest.skip("an installed package has no CITATION.cff")
    citation = (repository / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^version: (\S+)$", citation, re.MULTILINE) == [version]
    changes = (repository / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## \[(.+?)\]", changes, re.MULTILINE)[0] == version
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    source = repository / project["tool"]["scikit-build"]["metadata"]["version"]["input"]
    assert source.read_text("utf-8").count(f'__version__ = "{version}"') == 1


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_documented(name):
    """A page, and a docstring with an example that runs as a doctest."""
    text = getattr(lowd, name).__doc__
    for section in ("Parameters", "Attributes", "References", "Examples"):
        assert f"{section}\n    ---" in text, section
    assert ">>> " in text
    assert "New rows" in text or "New points" in text
    assert "Cost" in text
    repository = PACKAGE.parents[1]
    if (repository / "docs").is_dir():
        pages = {page.stem for page in (repository / "docs/methods").glob("*.md")}
        assert {name, METHODS[name], re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()} & pages


@pytest.mark.parametrize("name", METHODS)
def test_every_attribute_of_the_docstring_is_there(name):
    from cases import CASES, LARGE, LLE_METHODS, fitted

    learned, alike = set(), LLE_METHODS if name in LLE_METHODS else (name,)
    for case in [*CASES, *LARGE]:
        if case.method in alike:
            learned |= {a for a in vars(fitted(case)) if a.endswith("_")}
    cls = getattr(lowd, name)
    learned |= {a for a in dir(cls) if a.endswith("_") and not a.startswith("_")}
    learned |= {"moments_", "target_", "feature_names_in_"}  # of batches, targets, data frames
    learned |= {"inverse_components_"}  # where they are asked for
    text = cls.__doc__.split("Attributes\n")[1].split("References\n")[0]
    for attribute in re.findall(r"\b[a-z]\w*_(?=\W)", text):
        assert attribute in learned, attribute


def test_dir_shows_the_public_names_only():
    assert set(dir(lowd)) == {*lowd.__all__, "__doc__", "__version__"}
    assert all(hasattr(lowd, name) for name in dir(lowd))


def test_errors_are_of_one_family():
    from lowd import errors

    for name, kind in vars(errors).items():
        if (
            isinstance(kind, type)
            and issubclass(kind, Exception)
            and kind.__module__ == "lowd.errors"
        ):
            family = errors.LowdWarning if issubclass(kind, Warning) else errors.LowdError
            assert issubclass(kind, family), name
            assert kind.__doc__
