"""Preparation of real data: genotypes and cells."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.neighbors import KNeighborsClassifier

import lowd

FOLDER = Path(os.environ.get("LOWD_DATA", Path(__file__).parents[4] / "shared" / "data"))


def _load(name):
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{name} is not here; set LOWD_DATA to its folder")
    return np.load(path, allow_pickle=False)


def test_units_of_known_tables():
    """Areas and lengths are scaled; four lengths of iris and pixels of digits are not."""
    cancer, iris, digits = (
        load(as_frame=True).data for load in (load_breast_cancer, load_iris, load_digits)
    )
    found = lowd.diagnose(cancer)
    assert found.recommendations[0].steps["scale"] is True
    assert "'worst area', 'mean area' account for" in found.about("scale")[0].sentence
    assert lowd.diagnose(iris).recommendations[0].steps == {}
    assert lowd.diagnose(digits[::3]).recommendations[0].steps == {}


def test_new_people_are_near_their_population():
    """1000 Genomes: components by Tracy and Widom's test, four continents apart."""
    held = _load("genotypes_1000g_phase1.npz")
    X, y = held["X"][:, ::4], held["superpop"]
    found = lowd.diagnose(X[::2])
    steps = found.recommendations[0].steps
    assert steps["scale"] is True
    assert 3 <= steps["pca"] <= 30
    model = lowd.Pipeline(lowd.PCA(3), **steps).fit(X[::2])
    judge = KNeighborsClassifier(5).fit(model.embedding_, y[::2])
    assert judge.score(model.transform(X[1::2]), y[1::2]) > 0.95


def test_projected_europeans_shrink_toward_the_middle():
    """HGDP: 78 people, thousands of SNPs; the correction restores the spread of new ones."""
    held = _load("genotypes_hgdp_europe.npz")
    X = held["X"][:, ::8].astype(np.float32)
    X[X < 0] = np.nan
    steps = {"impute": "mean", "scale": True, "pca": 3}
    spread = []
    for correct in (False, True):
        model = lowd.Pipeline(lowd.PCA(2), **steps, correct_shrinkage=correct).fit(X[::2])
        Y, Z = model.embedding_, model.transform(X[1::2])
        spread.append(float(np.linalg.norm(Z, axis=1).mean() / np.linalg.norm(Y, axis=1).mean()))
    assert spread[0] < 0.7
    assert spread[0] < spread[1]
    assert abs(spread[1] - 1) < abs(spread[0] - 1)


def test_components_of_cells_are_not_scaled():
    found = lowd.diagnose(_load("pbmc3k_pca50.npz")["X"][::3])
    assert found.recommendations[0].method == "TSNE"
    assert "scale" not in found.recommendations[0].steps


def test_a_size_beside_principal_components_does_not_make_the_map():
    """Fifty components of cells and their number of genes: the map was that number."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"PC{i}": rng.normal(size=300) / i for i in range(1, 13)})
    frame["n_genes"] = rng.integers(500, 2000, 300)
    found = lowd.diagnose(frame)
    assert found.recommendations[0].steps["drop"] == ("n_genes",)
    assert "scale" not in found.recommendations[0].steps


def longley():
    """Employment in the United States, 1947 to 1952 (Longley, 1967)."""
    return pd.DataFrame(
        {
            "deflator": [83.0, 88.5, 88.2, 89.5, 96.2, 98.1],
            "product": [234.3, 259.4, 258.1, 284.6, 329.0, 347.0],
            "unemployed": [235.6, 232.5, 368.2, 335.1, 209.9, 193.2],
            "armed": [159.0, 145.6, 161.6, 165.0, 309.9, 359.4],
            "employed": [60.3, 61.1, 60.2, 61.2, 63.2, 63.6],
        }
    )


def test_different_quantities_are_scaled_and_lengths_are_not():
    assert lowd.diagnose(longley()).steps == {"scale": True}
    years = longley().set_axis([str(1950 + 5 * j) for j in range(5)], axis=1)
    wide = pd.concat([years, years.rename(columns=lambda name: str(int(name) + 50))], axis=1)
    assert "scale" not in lowd.diagnose(wide).steps  # one quantity, by years


def test_a_logarithm_does_not_erase_its_column():
    """Of visits to doctors 19 % of the variance became .2 %, beside ages in years."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"visits": np.round(rng.lognormal(1, 1.2, 400)), "age": rng.normal(44, 11, 400)}
    )
    frame["school"] = rng.normal(11, 3, 400)
    found = lowd.diagnose(frame)
    assert found.steps["log1p"] == ("visits",)
    spread = np.asarray(found.pipeline(lowd.PCA(2)).fit(frame).prepare(frame)).std(0)
    assert spread.max() < 3 * spread.min()


def cells(zeros=0.35):
    rng = np.random.default_rng(0)
    rates = rng.lognormal(0 if zeros < 0.5 else -2, 1, 60)
    return rng.poisson(rates * rng.lognormal(0, 0.8, (300, 1)))


@pytest.mark.parametrize("zeros", [0.35, 0.7])
def test_counts_have_totals_zeros_and_a_large_variance(zeros):
    X = cells(zeros)
    assert abs((X == 0).mean() - zeros) < 0.15
    assert {"normalize", "log1p"} <= set(lowd.diagnose(X).steps)


def test_grades_and_pixels_are_no_counts():
    rng = np.random.default_rng(0)
    grades = rng.binomial(4, rng.beta(0.5, 2, (300, 30)))
    pixels = np.minimum(
        255, rng.gamma(0.3, 200, (300, 60)).astype(int) * rng.integers(1, 4, (300, 1))
    )
    calls = rng.poisson(rng.lognormal(-0.5, 1, 60), (300, 60))  # without any size of the rows
    for X in (grades, pixels, calls):
        assert (X == 0).mean() > 0.2
        assert not {"normalize", "log1p"} & set(lowd.diagnose(X).steps)
