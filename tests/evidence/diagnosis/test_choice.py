"""The method of choice: the simplest whose area under R_NX is within .05 of the best."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_s_curve,
    make_swiss_roll,
)

import lowd
from lowd.plot.embeddings import name_axis

FOLDER = Path(os.environ.get("LOWD_DATA", Path(__file__).parents[4] / "shared" / "data"))


def line():
    rng = np.random.default_rng(0)
    return np.outer(rng.random(400), rng.normal(size=5)) + 0.01 * rng.normal(size=(400, 5))


def load(name, rows):
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{name} is not here; set LOWD_DATA to its folder")
    held = np.load(path, allow_pickle=False)
    X = next(held[part] for part in held.files if held[part].ndim >= 2)
    return X.reshape(len(X), -1)[:rows].astype(float)


SETS = {
    "line": (line, "PCA"),
    "iris": (lambda: load_iris(as_frame=True).data, "PCA"),
    "independent columns": (lambda: np.random.default_rng(0).normal(size=(500, 8)), "PCA"),
    "roll": (lambda: make_swiss_roll(1000, random_state=0)[0], "Isomap"),
    "S-curve": (lambda: make_s_curve(800, random_state=0)[0], "Isomap"),
    "wine": (lambda: load_wine(as_frame=True).data, "TSNE"),
    "breast cancer": (lambda: load_breast_cancer(as_frame=True).data, "TSNE"),
    "digits": (lambda: load_digits().data[:900], "TSNE"),
    "cells": (lambda: load("pbmc3k_pca50.npz", 900), "TSNE"),
    "words": (lambda: load("glove6b_100d_top20k.npz", 900), "TSNE"),
    "faces": (lambda: load("olivetti_faces.npz", 400)[:, ::4], "TSNE"),
}


@pytest.mark.parametrize("name", SETS)
def test_what_an_expert_would_take(name):
    make, expected = SETS[name]
    assert lowd.diagnose(make()).recommendations[0].method == expected


def area_by_definition(X, Y):
    """Area under R_NX over ln K (Lee et al., 2015), by sets of neighbors."""
    n = len(X)
    orders = [np.argsort(cdist(Z, Z) - np.diag(np.full(n, np.inf)), 1)[:, 1:] for Z in (X, Y)]
    total = weights = 0.0
    for k in range(1, n - 1):
        shared = [len(set(a[:k]) & set(b[:k])) for a, b in zip(*orders, strict=True)]
        q = np.mean(shared) / k
        total += ((n - 1) * q - k) / (n - 1 - k) / k
        weights += 1 / k
    return total / weights


def test_the_areas_are_those_of_the_definition():
    X = np.random.default_rng(0).normal(size=(60, 3)) ** 3
    found = {one.method: one for one in lowd.diagnose(X, steps={"scale": False}).recommendations}
    for method in ("PCA", "UMAP"):
        Y = found[method].build().fit_transform(X)
        assert found[method].area == pytest.approx(area_by_definition(X, Y), abs=0.01)
    shown = f"It keeps {100 * found['UMAP'].area:.0f} % of the neighborhoods where PCA keeps"
    assert found["UMAP"].reason.startswith(shown)


def test_two_columns_are_drawn():
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(60, 2)) * [1, 40], columns=["a", "b"]
    )
    found = lowd.diagnose(frame)
    (chosen,) = found.recommendations
    assert chosen.method == "Columns"
    model = found.pipeline().fit(frame)
    np.testing.assert_allclose(model.embedding_, (frame - frame.mean()) / frame.std(ddof=0))
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), frame)
    assert [name_axis(model, j) for j in (0, 1)] == ["a", "b"]


def test_axes_of_the_linear_map_are_named_where_few_columns_make_them_up():
    rng = np.random.default_rng(0)
    size, color = rng.normal(size=(2, 200, 1))
    X = np.hstack([size * [3, -3], color * [2, 2], rng.normal(size=(200, 2))])
    X += 0.1 * rng.normal(size=X.shape)
    frame = pd.DataFrame(X, columns=["length", "lightness", "red", "green", "rest", "other"])
    steps = {"scale": False, "pca": None}
    linear = {one.method: one for one in lowd.diagnose(frame, steps=steps).recommendations}["PCA"]
    assert set(linear.axes[0].replace("−", "+").split(" + ")) == {"length", "lightness"}
    assert "−" in linear.axes[0]
    assert set(linear.axes[1].split(" + ")) == {"red", "green"}
    plain = lowd.diagnose(X, steps=steps).recommendations
    assert all(not one.axes for one in plain)


def test_another_method_is_prepared_in_the_same_way():
    wine = load_wine(as_frame=True).data
    found = lowd.diagnose(wine)
    assert found.steps == {"scale": True}
    assert repr(found.pipeline(lowd.Isomap(2))) == "Pipeline(method=Isomap(), scale=True)"


def test_few_rows_have_no_neighborhoods():
    found = lowd.diagnose(np.random.default_rng(0).normal(size=(6, 4)))
    (only,) = found.recommendations
    assert only.method == "PCA"
    assert "6 distinct rows have no neighborhoods" in only.reason
