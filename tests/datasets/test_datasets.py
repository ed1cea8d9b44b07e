"""Generated data have the geometry they promise; known data are found or explained."""

from __future__ import annotations

import numpy as np
import pytest

from lowd import datasets
from lowd.errors import DataError, MissingFileError, ParameterError

GENERATED = [
    datasets.swiss_roll,
    datasets.roll_with_hole,
    datasets.s_curve,
    datasets.severed_sphere,
    datasets.clusters,
]


@pytest.mark.parametrize("make", GENERATED, ids=lambda make: make.__name__)
def test_a_row_depends_on_the_seed_and_its_number_only(make):
    large, small = make(1500, seed=3, noise=0.1), make(40, seed=3, noise=0.1)
    for name in ("X", "truth", "color"):
        np.testing.assert_array_equal(getattr(large, name)[:40], getattr(small, name))
    assert not np.array_equal(make(40, seed=4).X, make(40, seed=3).X)
    assert np.std(make(1500, seed=3).X - large.X) == pytest.approx(0.1, rel=0.1)
    assert np.isfinite(large.X).all()
    assert len(large.X) == len(large.truth) == len(large.color) == 1500


@pytest.mark.parametrize("make", [datasets.swiss_roll, datasets.roll_with_hole, datasets.s_curve])
def test_short_steps_in_the_sheet_are_as_long_in_space(make):
    """The truth is isometric: near neighbors are as far apart in it as in the rows."""
    sample = make(4000)
    from scipy.spatial import cKDTree

    near = cKDTree(sample.truth).query(sample.truth, 4)[1][:, 1:]
    flat = np.linalg.norm(sample.truth[near] - sample.truth[:, None], axis=2)
    space = np.linalg.norm(sample.X[near] - sample.X[:, None], axis=2)
    assert np.median(space / flat) == pytest.approx(1, abs=0.002)


def test_the_hole_is_empty_and_its_surroundings_are_not():
    along, height = datasets.roll_with_hole(3000).truth.T
    middle = np.quantile(along, 0.5)
    assert not ((np.abs(along - middle) < 5) & (np.abs(height - 10.5) < 4)).any()
    assert ((np.abs(along - middle) < 5) & (np.abs(height - 10.5) > 4.3)).any()


def test_the_sphere_is_a_sphere_without_poles():
    sample = datasets.severed_sphere(2000)
    np.testing.assert_allclose(np.linalg.norm(sample.X, axis=1), 1)
    np.testing.assert_allclose(np.sin(sample.truth[:, 1]), sample.X[:, 2])
    assert np.abs(sample.X[:, 2]).max() < np.cos(np.pi / 8)
    assert sample.truth[:, 0].max() < 2 * np.pi - 0.55


def test_clusters_keep_their_distances_in_space():
    sample = datasets.clusters(60, n_clusters=3, n_features=7)
    gaps = np.linalg.norm(sample.X[:, None] - sample.X, axis=2)
    true = np.linalg.norm(sample.truth[:, None] - sample.truth, axis=2)
    np.testing.assert_allclose(gaps, true, atol=1e-12)
    np.testing.assert_array_equal(sample.labels, np.arange(60) % 3)


@pytest.mark.parametrize(
    "call", [lambda: datasets.swiss_roll(0), lambda: datasets.clusters(9, n_features=1)]
)
def test_impossible_sizes_are_refused(call):
    with pytest.raises(ParameterError):
        call()


def test_known_sets_are_listed_and_others_refused():
    assert {"digits", "mnist", "eurodist", "glove"} <= set(datasets.list_datasets())
    with pytest.raises(ParameterError, match="mnist"):
        datasets.load("mnits")


def test_a_missing_file_is_explained(tmp_path, monkeypatch):
    monkeypatch.delenv("LOWD_DATA", raising=False)
    with pytest.raises(MissingFileError, match=r"no data folder is set.*fetch_openml.*LOWD_DATA"):
        datasets.load("mnist")
    with pytest.raises(MissingFileError, match=r"glove6b_100d_top20k\.npz with X"):
        datasets.load("glove", tmp_path)


SIZES = {
    "mnist": (70000, 784),
    "isomap_faces": (698, 1024),
    "frey_faces": (1965, 560),
    "olivetti_faces": (400, 4096),
    "genotypes_europe": (156, 66147),
    "genotypes_world": (1092, 14079),
    "pbmc3k": (2638, 50),
    "glove": (20000, 100),
    "eurodist": (21, 21),
    "ekman": (14, 14),
    "stardist": (120, 120),
}


@pytest.mark.parametrize("name", SIZES)
def test_real_sets_are_what_they_are_said_to_be(name):
    try:
        found = datasets.load(name)
    except MissingFileError:
        pytest.skip("the data folder is not here; set LOWD_DATA")
    assert found.X.shape == SIZES[name]
    if name == "mnist":  # published counts of the digits
        counts = [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
        assert np.bincount(found.labels.astype(int)).tolist() == counts
    if found.kind == "distances":
        assert not np.diagonal(found.X).any()


def test_sets_are_read_from_the_folder(tmp_path, monkeypatch):
    D = np.array([[0.0, 3.0], [3.0, 0.0]])
    np.savez(tmp_path / "mds_dissimilarities.npz", eurodist_D=D, eurodist_names=["Paris", "Rome"])
    X, y = np.array([[0, 1], [2, -1]], np.int8), np.array([1, 0])
    names, locations = np.array(["French", "Tuscan"]), np.array([[46.0, 2.0], [43.0, 11.0]])
    file = tmp_path / "genotypes_hgdp_europe.npz"
    np.savez(file, X=X, y=y, label_names=names, pop_latlon=locations)
    monkeypatch.setenv("LOWD_DATA", str(tmp_path))
    roads = datasets.load("eurodist")
    assert roads.kind == "distances"
    assert roads.labels.tolist() == ["Paris", "Rome"]
    np.testing.assert_array_equal(roads.X, D)
    people = datasets.load("genotypes_europe")
    assert people.labels.tolist() == ["Tuscan", "French"]
    np.testing.assert_array_equal(people.truth, locations[::-1])
    np.savez(file, X=X)
    with pytest.raises(DataError, match="must hold X"):
        datasets.load("genotypes_europe")
