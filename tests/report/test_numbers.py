"""Every number of a report: recomputed by the Python code that the report prints."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

import lowd
from lowd import report
from lowd.cli import main
from lowd.evidence.quality.measures import TITLES
from lowd.report import figures
from lowd.report.figures import choose_spectrum


@pytest.fixture
def rows():
    """Columns in units that differ by factors of thousands, and two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5)) @ rng.normal(size=(5, 5)) * [1, 20, 0.01, 3000, 5] + 7
    X[::2] += [1, 40, 0.02, 0, 0]
    return X


@pytest.fixture
def table(rows, tmp_path, monkeypatch):
    """The rows as a file of the working directory."""
    monkeypatch.chdir(tmp_path)
    kinds = np.where(np.arange(len(rows)) % 2, "odd", "even")
    lines = [
        f"{','.join(map(repr, row.tolist()))},{kind}" for row, kind in zip(rows, kinds, strict=True)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,c,d,e,kind", *lines]))
    letters = np.random.default_rng(3).choice(list("abcd"), (40, 6))
    (tmp_path / "words.txt").write_text("\n".join(map("".join, letters)))


@pytest.fixture
def spectra(monkeypatch):
    """The models whose spectra are drawn."""
    shown = []
    monkeypatch.setattr(figures, "draw_scree", lambda one: shown.append(one) or "")
    return shown


def read_code(page):
    code = re.search(r"<h3>Python</h3><pre><code>(.*?)</code>", page, re.S)[1]
    return html.unescape(code)


def run_code(page, **names):
    """The names that the printed code defines, and what it prints as `printed`."""
    printed = []
    exec(read_code(page), names | {"print": printed.append, **names}, names)
    return names | {"printed": printed}


def read_measures(page):
    rows = re.findall(r'<tr><td>([^<]*)</td><td class="number">(-?[\d.]+)', page)
    names = {title: name for name, title in TITLES.items()}
    return {names.get(title, title.replace(" ", "_")): value for title, value in rows}


@pytest.mark.parametrize(
    "words",
    [
        "pca rows.csv --scale --drop kind",
        "pca rows.csv --drop kind",
        "pca rows.csv --standardize --label kind",
        "isomap rows.csv --standardize --drop kind --seed 4",
        "tsne rows.csv --standardize --label kind --seed 3 --max-iter 60",
        "mds rows.csv --metric manhattan --label kind",
        "gaussian-random-projection rows.csv --n-components 2 --drop kind",
        "map rows.csv --label kind",
        "classical-mds words.txt",
    ],
)
@pytest.mark.usefixtures("table")
@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
def test_the_printed_python_gives_every_number(words, tmp_path, spectra):
    assert main([*words.split(), "--report", "r.html", "-o", "map.npy"]) == 0
    page = (tmp_path / "r.html").read_text()
    made = run_code(page)
    np.testing.assert_allclose(made["Y"], np.load("map.npy"), rtol=1e-9, atol=1e-9)
    evaluation, stability = made["printed"]
    shown_stability, verdict = re.search(r"<b>Stability ([\d.]+), (\w+):</b>", page).groups()
    assert shown_stability == f"{stability.subsamples:.3f}"
    assert stability.verdict.startswith(verdict)
    shown = read_measures(page)
    assert shown == {name: f"{float(one):.3f}" for name, one in evaluation.measures.items()}
    assert ("knn_accuracy" in shown) == ("label" in words)
    assert len(spectra) == ("spectrum" in made) == ("words" not in words)
    for drawn in spectra:
        np.testing.assert_allclose(shares(drawn.model), shares(made["spectrum"]), rtol=1e-9)


def shares(model):
    return getattr(model, "explained_variance_ratio_", getattr(model, "eigenvalues_", None))


PREPARED = [
    lowd.Pipeline(lowd.PCA(2), drop=(3,), scale=True),
    lowd.Pipeline(lowd.Isomap(2, n_neighbors=9), scale=True, pca=4),
    lowd.Pipeline(lowd.MDS(2), scale=True, log1p=(1, 3)),
    lowd.Pipeline(lowd.Isomap(2, n_neighbors=9), scale=True, pca=3, correct_shrinkage=True),
    lowd.Pipeline(lowd.GaussianRandomProjection(2), impute="median", scale=True),
]


@pytest.mark.parametrize("model", PREPARED, ids=lambda model: "-".join(model.get_steps()))
def test_the_printed_python_shows_the_chain_as_it_was_fitted(model, rows, tmp_path, spectra):
    Y = model.fit_transform(rows)
    evaluation = lowd.evaluate(rows, model, n_neighbors=7)
    path = tmp_path / "r.html"
    report.write(path, model=model, X=rows, embedding=Y, evaluation=evaluation)
    page = path.read_text()
    made = run_code(page, X=rows)
    np.testing.assert_array_equal(made["Y"], Y)
    shown = read_measures(page)
    assert shown == {n: f"{float(one):.3f}" for n, one in made["printed"][0].measures.items()}
    np.testing.assert_allclose(shares(spectra[0].model), shares(made["spectrum"]), rtol=1e-12)
    assert f"<h1>{type(model.method).__name__} of data</h1>" in page
    assert "columns standardized" in page


def test_the_scree_plot_is_of_the_scaled_data(rows):
    """Two components of PCA(scale=True): the plot had 99 % on the first, the model 47 %."""
    model = lowd.PCA(2, scale=True).fit(rows)
    spectrum = choose_spectrum(model, rows).model
    np.testing.assert_allclose(
        spectrum.explained_variance_ratio_[:2], model.explained_variance_ratio_
    )
    assert len(spectrum.explained_variance_ratio_) == 5


@pytest.mark.parametrize(
    ("model", "standardized", "done"),
    [
        (lowd.PCA(2, scale=True), False, True),
        (lowd.Pipeline(lowd.PCA(2), scale=True), False, True),
        (lowd.PCA(2), True, True),
        (lowd.PCA(2), False, False),
    ],
)
@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
@pytest.mark.usefixtures("spectra")
def test_what_is_done_is_not_advised(model, standardized, done, rows, tmp_path):
    path = tmp_path / "r.html"
    report.write(
        path,
        model=model.fit(rows),
        X=rows,
        diagnosis=lowd.diagnose(rows),
        embedding=model.transform(rows),
        standardized=standardized,
    )
    page = path.read_text()
    assert ("different units" in page) == (not done)
    assert ("Done: columns scaled to standard deviation 1" in page) == done


@pytest.mark.usefixtures("spectra")
@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
@pytest.mark.parametrize("flag", ["--standardize", "--no-standardize"])
def test_what_map_has_done_is_not_advised(flag, rows, tmp_path, monkeypatch):
    """An identifier, a constant and different units: each is done, or advised if undone."""
    monkeypatch.chdir(tmp_path)
    table = np.column_stack([1000 + np.arange(len(rows)), np.full(len(rows), 7), rows])
    np.savetxt("rows.csv", table, delimiter=",", header="id,seven,a,b,c,d,e", comments="")
    assert main(["map", "rows.csv", flag, "--keep", "id", "--report", "r.html"]) == 0
    page = html.unescape((tmp_path / "r.html").read_text())
    data = page[page.index('id="diagnosis"') : page.index("Recommended methods")]
    assert ("standardize them" in data) == (flag == "--no-standardize")
    assert "drop them to save time" not in data
    assert "'seven' (constant)" in page
    assert "Leave them out of the features" not in data  # --keep id
