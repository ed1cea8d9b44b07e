"""`python -m lowd.accelerate`, and the notebook extension."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import sklearn.decomposition

import lowd.accelerate
from lowd.accelerate.__main__ import main

SCRIPT = """
import sys
import numpy as np
from sklearn.decomposition import TruncatedSVD
from neighbor import factor

X = np.random.default_rng(0).normal(size=(200, 20)) * factor
model = TruncatedSVD(2).fit(X)
print(__name__, sys.argv, type(model).__module__, TruncatedSVD.__mro__[1].__name__)
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "neighbor.py").write_text("factor = 2\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path / "script.py"


def _run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "lowd.accelerate", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
    )


def test_a_script_runs_unchanged(script, tmp_path):
    made = _run("--profile", script, "a", "-b", cwd=tmp_path.parent)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(f"__main__ ['{script}', 'a', '-b'] sklearn.decomposition Proxy")
    assert "TruncatedSVD.fit" in made.stderr
    assert "1 of 1 calls ran on lowd" in made.stderr


def test_a_module_runs_unchanged(script):
    made = _run("-m", "script", "--flag", cwd=script.parent)
    assert made.returncode == 0, made.stderr
    assert "'--flag'" in made.stdout
    assert "calls ran on lowd" not in made.stderr


def test_python_looks_for_modules_where_it_did(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "shown.py").write_text("import sys; print(sys.path, sys.argv, __name__, __file__)")
    for arguments, cwd in (((folder / "shown.py", "a"), tmp_path), (("-m", "shown", "b"), folder)):
        plain = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, check=True
        )
        assert _run(*arguments, cwd=cwd).stdout == plain.stdout


def test_usage(capsys):
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: python -m lowd.accelerate")
    for arguments in ([], ["--unknown"], ["-m"]):
        assert main(arguments) == 2
        assert "usage" in capsys.readouterr().err
    assert main(["nowhere.py"]) == 2
    assert "no file 'nowhere.py'" in capsys.readouterr().err


def test_exit_codes(tmp_path):
    assert _run("nowhere.py").returncode == 2
    (tmp_path / "fails.py").write_text("import sys; sys.exit(7)")
    assert _run(tmp_path / "fails.py").returncode == 7
    (tmp_path / "raises.py").write_text("raise RuntimeError('as it is')")
    made = _run(tmp_path / "raises.py")
    assert made.returncode == 1
    assert "RuntimeError: as it is" in made.stderr


NOTEBOOK = """
%load_ext lowd.accelerate
import lowd.accelerate
import numpy as np
from sklearn.decomposition import TruncatedSVD
TruncatedSVD(2).fit(np.random.default_rng(0).normal(size=(200, 20)))
print([(call.name, call.ran) for call in lowd.accelerate.profile().calls])
%unload_ext lowd.accelerate
from sklearn.decomposition import TruncatedSVD as Plain
print(Plain is TruncatedSVD.original)
"""


def test_the_extension_of_ipython(tmp_path):
    """As the cells of a notebook run it."""
    (tmp_path / "cells.ipy").write_text(NOTEBOOK)
    made = subprocess.run(
        [sys.executable, "-m", "IPython", "--quick", "--colors=NoColor", "cells.ipy"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "IPYTHONDIR": str(tmp_path)},
    )
    assert made.stdout.splitlines() == ["[('TruncatedSVD.fit', 'lowd')]", "True"], made.stderr


def test_the_notebook_extension():
    original = sklearn.decomposition.PCA
    lowd.accelerate.load_ipython_extension(None)
    model = sklearn.decomposition.PCA(2)
    assert type(model) is not original
    lowd.accelerate.unload_ipython_extension(None)
    assert sklearn.decomposition.PCA is original
    model.fit(np.random.default_rng(0).normal(size=(50, 4)))
