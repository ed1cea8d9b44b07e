"""Demonstrations: numbers beside published ones, figures, and what raises."""

from __future__ import annotations

import json
import math
import os
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import procrustes
from sklearn.linear_model import LinearRegression

import demonstrations as demos
from demonstrations import agreement, drawing, tables
from demonstrations.colors import count_ordered_steps
from demonstrations.pca_failures import compute_best_cut
from demonstrations.pca_steps import X
from lowd import datasets, plot
from lowd.errors import ExistingFileError, MissingFileError, ParameterError

pytest.importorskip("matplotlib", reason="pictures need matplotlib")

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("LOWD_DATA", ROOT.parent / "shared" / "data"))
NEEDS = {
    "face-pose": "isomap_faces",
    "face-expression": "frey_faces",
    "eigenfaces": "olivetti_faces",
    "genes-geography": "genotypes_europe",
    "words": "glove",
}


def found(name):
    """The folder with the data of a demonstration, or the test is skipped."""
    try:
        if name in NEEDS:
            datasets.load(NEEDS[name], FOLDER)
    except MissingFileError:
        pytest.skip(f"{name} needs its data set in the folder LOWD_DATA")
    return FOLDER if name in NEEDS else "nowhere"


def number(demo, what):
    (one,) = [one for one in demo.numbers if one.what == what]
    return one.here


# What legends, scales, titles and notes say: every kind of mark is among them.
MARKS = {
    "swiss-roll": ["length along the roll"],
    "digits": ["digit"],
    "face-pose": ["images do not fit", "axis 1: the head turns", "Isomap, geodesic distances"],
    "face-expression": ["frame of the film", "images do not fit", "a thin line joins frames"],
    "eigenfaces": ["weight of a pixel", "negative", "positive"],
    "genes-geography": [
        "R² of latitude 0.71, of longitude 0.61",
        "not a map",
        "a person, by two components",
        "where the population lives",
        "from there to the mean of its people",
    ],
    "city-distances": ["by classical MDS", "true position", "error"],
    "colors": ["joined in the order of wavelengths", "pairs", "isotonic regression"],
    "words": ["animals", "words by the angle"],
    "pca-steps": ["row", "mean", "what is lost", "on the first axis", "reconstructed", "error"],
    "pca-failures": [
        "first principal axis",
        "second principal axis",
        "inner ring",
        "outer ring",
        "directions of the sources",
    ],
}


def list_texts(figure):
    """All texts of a figure: titles, labels, ticks, notes, legends and scales."""
    from matplotlib.text import Text

    figure = figure if hasattr(figure, "findobj") else np.ravel(figure)[0]
    return [text.get_text() for text in figure.get_figure(root=True).findobj(Text)]


@pytest.mark.parametrize("name", list(demos.DEMOS))
def test_demonstration(name, tmp_path, monkeypatch):
    """Runs once: figures that are not empty, explained marks, and the published numbers."""
    folder = tmp_path / "not" / "there yet"
    texts, save = [], drawing.save
    monkeypatch.setattr(
        drawing, "save", lambda one, *a, **kw: (texts.extend(list_texts(one)), save(one, *a, **kw))
    )
    demo = demos.run(name, folder, found(name))
    missing = [mark for mark in MARKS[name] if not any(mark in text for text in texts)]
    assert not missing
    assert demo.name == name
    assert demo.look.endswith(".")
    check_pictures(demo, folder)
    check_numbers(demo)
    OWN.get(name, lambda _: None)(demo)


def check_pictures(demo, folder):
    from PIL import Image  # comes with matplotlib

    assert {path.name for path in demo.pictures} == {path.name for path in folder.iterdir()}
    for path in demo.pictures:
        assert path.name.startswith(demo.name)
        pixels = np.asarray(Image.open(path).convert("RGB").reduce(4))
        assert min(pixels.shape[:2]) > 75
        assert 0.005 < (pixels.min(axis=2) < 240).mean() < 0.9
        assert len(np.unique(pixels @ [65536, 256, 1])) > 50


def check_numbers(demo):
    """Where a number is known ours is that; other draws, folds or ties make some differ a bit."""
    near = {"digits": 0.06, "face-pose": 0.02, "face-expression": 0.02}.get(demo.name, 0.01)
    for one in demo.numbers:
        assert one.what in str(demo)
        assert one.source or one.known is None
        assert isinstance(one.here, str) or math.isfinite(one.here)
        if isinstance(one.known, float | int):
            assert one.here == pytest.approx(one.known, abs=near, rel=0.001), one
    plain = json.loads(json.dumps(demo.to_dict()))
    assert [one["what"] for one in plain["numbers"]] == [one.what for one in demo.numbers]


def roll_is_laid_flat_by_those_that_can(demo):
    r2 = {}
    for one in demo.numbers:
        method, _, what = one.what.partition(": ")
        if what == "R² of length, height":
            r2[method] = [float(word) for word in one.here.split()]
            known = [float(word) for word in (one.known or one.here).split()]
            assert r2[method] == pytest.approx(known, abs=0.0015), one
    assert len(r2) == 14
    for method, least in (("Isomap", 0.97), ("LTSA", 0.99), ("ModifiedLLE", 0.99)):
        assert min(r2[method]) > least, method
    for method in ("HessianLLE", "LocallyLinearEmbedding", "LaplacianEigenmaps"):
        assert r2[method][0] > 0.95, method
    for method in ("PCA", "ClassicalMDS", "MDS", "NonMetricMDS"):
        assert r2[method][0] < 0.3, method


def tsne_parts_the_digits_best(demo):
    right = [one.here for one in demo.numbers if "same digit" in one.what]
    assert right == sorted(right, reverse=True)
    assert right[0] > 0.95
    assert "mnist.npz" in demo.notes[0]  # which is why there are no twos


def city_maps_are_the_true_ones(demo):
    assert number(demo, "Denver as a new point: error, km") < 60
    roads, air = (
        one.here for one in demo.numbers if one.what == "  error after Procrustes alignment, km"
    )
    assert air < 60
    assert air < roads < 300


def rings_are_parted_by_the_kernel_only(demo):
    assert number(demo, "  separated by one threshold on PCA's first axis") < 0.8
    assert number(demo, "  and on kernel PCA's") == 1


def words_find_their_kin(demo):
    assert number(demo, "nearest to frog") == "snake, frogs, monkey"
    assert number(demo, "king - man + woman") == "queen"
    assert number(demo, "  the embedding") > 0.8


def genes_are_those_of_a_plain_decomposition(demo):
    """The steps in the plainest NumPy, and scikit-learn's regression."""
    people = datasets.load("genotypes_europe", FOLDER)
    counts = np.where(people.X < 0, np.nan, people.X.astype(float))
    p = np.nanmean(counts, axis=0) / 2
    with np.errstate(all="ignore"):
        Z = np.nan_to_num((counts - 2 * p) / np.sqrt(2 * p * (1 - p)))
    _, vectors = np.linalg.eigh(Z @ Z.T)
    Y = vectors[:, -2:]
    latitude = LinearRegression().fit(Y, people.truth[:, 0]).score(Y, people.truth[:, 0])
    assert number(demo, "divided by √2p(1-p): R² of latitude") == pytest.approx(latitude, abs=1e-3)
    assert number(demo, "mean of a population to its home, median, km") == pytest.approx(646, abs=2)
    assert "not a map" in demo.look


OWN = {
    "genes-geography": genes_are_those_of_a_plain_decomposition,
    "swiss-roll": roll_is_laid_flat_by_those_that_can,
    "digits": tsne_parts_the_digits_best,
    "city-distances": city_maps_are_the_true_ones,
    "pca-failures": rings_are_parted_by_the_kernel_only,
    "words": words_find_their_kin,
}


# -- what the demonstrations measure with --------------------------------------------------------


def test_order_of_a_circle():
    angle = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    ring = np.c_[np.cos(angle), np.sin(angle)]
    assert count_ordered_steps(ring) == count_ordered_steps(-ring[:, ::-1]) == 14
    assert count_ordered_steps(np.random.default_rng(0).normal(size=(14, 2))) < 7


def test_best_cut():
    group = np.array([True, True, False, False])
    assert compute_best_cut(np.arange(4), group) == compute_best_cut(-np.arange(4), group) == 1
    assert compute_best_cut(np.array([0, 2, 1, 3]), group) == 0.75


# -- tables and measures ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["eurodist", "UScitiesD", "ekman"])
def test_tables_are_the_published_ones(name):
    try:
        published = datasets.load(name, FOLDER)
    except MissingFileError:
        pytest.skip("needs mds_dissimilarities.npz in the folder LOWD_DATA")
    embedded = {
        "eurodist": lambda: tables.europe().distances,
        "UScitiesD": lambda: tables.united_states().distances,
        "ekman": lambda: tables.ekman().similarity,
    }[name]()
    np.testing.assert_allclose(embedded, published.X, atol=1e-12)


def test_tables_have_known_entries():
    """Spot checks that need no file: from the printed tables."""
    europe, states, (lights, similarity) = tables.europe(), tables.united_states(), tables.ekman()
    assert europe.distances[europe.names.index("Stockholm"), europe.names.index("Rome")] == 2707
    assert states.distances[states.names.index("Miami"), states.names.index("Seattle")] == 2734
    assert similarity[lights.index("628"), lights.index("651")] == 0.85
    for D in (europe.distances, states.distances, similarity):
        np.testing.assert_array_equal(D, D.T)
        assert (np.diag(D) == 0).all()


def test_flat_embeddings_have_true_distances():
    """New York to Los Angeles by the haversine formula, and along a meridian."""
    here = agreement.project_to_plane([[40.71, -74.01], [34.05, -118.24]], center=(40.71, -74.01))
    assert np.linalg.norm(here[1] - here[0]) == pytest.approx(3936, abs=3)
    degree = agreement.project_to_plane([[10.0, 5.0], [11.0, 5.0]])
    np.testing.assert_allclose(degree[1] - degree[0], [0, 111.19], atol=0.01)


def test_the_procrustes_transform_is_scipys():
    rng = np.random.default_rng(0)
    Y, target = rng.normal(size=(2, 30, 2))
    turned = agreement.fit_procrustes(Y, target)(Y)
    size = ((target - target.mean(0)) ** 2).sum()
    expected = procrustes(target, Y)[2]
    assert agreement.compute_rmse(turned, target) ** 2 * 30 / size == pytest.approx(expected)
    mirror = 3 * target[:, ::-1] + [5, -2]
    np.testing.assert_allclose(agreement.fit_procrustes(mirror, target)(mirror), target, atol=1e-12)


def test_explained_is_the_regressions_score():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(50, 2))
    truth = Y @ rng.normal(size=(2, 3)) + rng.normal(size=(50, 3))
    line = LinearRegression().fit(Y[:40], truth[:40, 1])
    expected = line.score(Y[:40], truth[:40, 1]), line.score(Y[40:], truth[40:, 1])
    assert agreement.compute_r2(truth[:40], Y[:40])[1] == pytest.approx(expected[0])
    new = agreement.compute_new_r2(truth[:40], Y[:40], truth[40:], Y[40:])
    assert new[1] == pytest.approx(expected[1])
    assert agreement.compute_r2(truth[:, 0], Y).shape == (1,)


def test_recognized_by_the_nearest():
    old, names = np.array([[0.0], [1.0], [5.0]]), np.array(["a", "b", "c"])
    new = np.array([[0.2], [0.9], [2.0], [4.0]])
    assert agreement.compute_nearest_accuracy(old, names, new, np.array(["a", "b", "b", "c"])) == 1
    assert (
        agreement.compute_nearest_accuracy(old, names, new, np.array(["b", "b", "b", "a"])) == 0.5
    )


# -- what is refused ----------------------------------------------------------------------------


def test_unknown_names_are_answered_with_the_known_ones(tmp_path):
    with pytest.raises(ParameterError, match="'swissroll': expected one of swiss-roll, digits"):
        demos.run("swissroll", tmp_path)


@pytest.mark.parametrize("name", list(NEEDS))
def test_missing_data_say_how_to_get_them(name, tmp_path, monkeypatch):
    monkeypatch.delenv("LOWD_DATA", raising=False)
    with pytest.raises(MissingFileError, match=r"get it from .* LOWD_DATA"):
        demos.run(name, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_pictures_are_not_replaced_unasked(tmp_path):
    first = demos.run("colors", tmp_path).pictures[0]
    before = first.read_bytes()
    with pytest.raises(ExistingFileError, match=r"colors\.png already exists"):
        demos.run("colors", tmp_path)
    with pytest.raises(ExistingFileError, match="is a file; name a folder"):
        demos.run("colors", first)
    assert demos.run("colors", tmp_path, force=True).pictures[0].read_bytes() == before


def test_an_interrupted_picture_leaves_nothing(tmp_path, monkeypatch):
    def half(_, path, **__):
        Path(path).write_bytes(b"half a picture")
        raise KeyboardInterrupt

    monkeypatch.setattr(drawing, "save", half)
    with pytest.raises(KeyboardInterrupt):
        demos.run("colors", tmp_path)
    assert not list(tmp_path.iterdir())


def test_both_axes_are_drawn():
    """With ten points no point lies two deviations away: the long arrow was left out."""
    panel = plot.pca_steps(X)[3]
    panel.get_figure().draw_without_rendering()
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    tips = np.array([arrow.xy for arrow in panel.texts])
    assert len(tips) == 2
    assert ((tips > [left, low]) & (tips < [right, high])).all()


# -- the scripts --------------------------------------------------------------------------------


def test_every_demonstration_has_a_script_and_a_page():
    if not (ROOT / "docs").is_dir():
        pytest.skip("this copy has no documents")
    for name in demos.DEMOS:
        assert (ROOT / "examples" / f"{name.replace('-', '_')}.py").is_file()
        page = (ROOT / "docs" / "demos" / f"{name}.md").read_text(encoding="utf-8")
        assert f"../images/demos/{name}.png" in page


@pytest.mark.parametrize("name", list(demos.DEMOS))
def test_scripts_run(name, tmp_path, monkeypatch, capsys):
    found(name)
    monkeypatch.setenv("LOWD_DATA", str(FOLDER))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / f"{name.replace('-', '_')}.py"))
    assert list(tmp_path.glob("*.png")) or "pca_failures" in name.replace("-", "_")
    assert capsys.readouterr().out or name in ("face-expression", "genes-geography")
