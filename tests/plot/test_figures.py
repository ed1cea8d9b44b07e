"""Figures: saved in files, displayed by notebooks and windows, and without matplotlib."""

from __future__ import annotations

import io
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib import rcParams
from matplotlib.figure import Figure

import lowd
from lowd import plot
from lowd.errors import MissingPackageError, ParameterError
from lowd.plot import canvas
from pictures import ring


@pytest.mark.parametrize(
    ("kind", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_save_writes_all_three_kinds(tmp_path, kind, begin):
    path = tmp_path / f"map.{kind}"
    plot.save(plot.scatter(ring(5), list("abcde")), path)
    assert path.read_bytes().startswith(begin)
    with pytest.raises(ParameterError, match="svg"):
        plot.save(plot.scatter(ring(5)), tmp_path / "map.bmp")


def test_what_is_outside_the_axes_is_saved_too():
    """Axes of the user, without room for a legend."""
    figure = Figure(figsize=(3, 3), dpi=100)
    ax = figure.add_axes((0.05, 0.05, 0.94, 0.94))
    plot.scatter(ring(6), [f"a rather long name {i // 2}" for i in range(6)], ax=ax)
    file = io.BytesIO()
    plot.save(ax, file, format="png")
    from matplotlib.image import imread

    file.seek(0)
    assert imread(file).shape[1] > 3 * canvas.DPI + 50


def test_pyplot_and_settings_stay_untouched():
    before = dict(rcParams)
    plot.scatter(ring(9), list("abcabcabc"))
    assert dict(rcParams) == before
    script = (
        "import sys; from lowd import plot; plot.scatter([[0.0, 1.0], [1.0, 0.0]]);"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "False"


@pytest.fixture
def pyplot(monkeypatch):
    """pyplot without open figures, before and after; IPython is not running."""
    from matplotlib import pyplot

    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    pyplot.close("all")
    yield pyplot
    pyplot.close("all")


def make_ipython(shell):
    return SimpleNamespace(get_ipython=lambda: shell, version_info=(9, 0, 0))


def test_a_notebook_displays_figures(pyplot, monkeypatch):
    """pyplot has them, so that its backend displays them at the end of a cell."""
    plot.scatter(ring(5))
    assert pyplot.get_fignums() == []  # a script that draws files
    monkeypatch.setitem(sys.modules, "IPython", make_ipython(object()))
    ax = plot.scatter(ring(5))
    panels = plot.compare([ring(5), ring(5)])
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert figures == [ax.get_figure(), panels[0].get_figure()]
    figure = Figure()
    plot.scatter(ring(5), ax=figure.add_subplot())  # the user's own figure is left alone
    with canvas.hide_figures():
        plot.scatter(ring(5))
    assert len(pyplot.get_fignums()) == 2
    monkeypatch.setitem(sys.modules, "IPython", make_ipython(None))  # imported, not running
    plot.scatter(ring(5))
    assert len(pyplot.get_fignums()) == 2


def test_a_report_displays_nothing(pyplot, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "IPython", make_ipython(object()))
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = lowd.PCA(2)
    Y = model.fit_transform(X)
    found = lowd.evaluate(X, model, n_neighbors=5)
    lowd.report.write(tmp_path / "r.html", model=model, X=X, embedding=Y, evaluation=found)
    assert pyplot.get_fignums() == []


def test_show_displays_figures_where_there_are_windows(pyplot, monkeypatch):
    monkeypatch.setattr(pyplot, "get_backend", lambda: "QtAgg")
    ax = plot.scatter(ring(5))
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == [ax.get_figure()]


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    canvas.load_matplotlib.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'lowd\[app\]'"):
        plot.scatter(ring(3))
    monkeypatch.undo()
    assert canvas.load_matplotlib() is not None


def test_save_names_the_folder_that_is_missing(tmp_path):
    axes = plot.scatter([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    with pytest.raises(lowd.errors.MissingFileError, match=r"the folder .*none does not exist"):
        plot.save(axes, tmp_path / "none" / "map.png")
