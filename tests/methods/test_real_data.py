"""Data that people know: what each graph method makes of them."""

from __future__ import annotations

import os
from copy import copy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree
from sklearn.neighbors import KNeighborsClassifier

import lowd

FOLDER = Path(os.environ.get("LOWD_DATA", Path(__file__).parents[3] / "shared" / "data"))


def _file(name):
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{name} is not here; set LOWD_DATA to its folder")
    return path


@cache
def _mnist(rows):
    with np.load(_file("mnist.npz"), allow_pickle=False) as arrays:
        X, y = arrays["X"][:rows].astype(np.float32) / 255, arrays["y"][:rows]
    return lowd.PCA(50).fit_transform(X), y


def _cells():
    path = FOLDER / "pbmc3k_pca50.npz"
    if not path.exists():
        pytest.skip("pbmc3k_pca50.npz is not here; set LOWD_DATA to its folder")
    with np.load(path, allow_pickle=False) as arrays:
        return arrays["X"][:2000], arrays["y"][:2000]


def _accuracy(coordinates, labels, new=None, new_labels=None):
    """Share of points whose 15 nearest training points vote for their class."""
    tree = cKDTree(coordinates)
    if new is None:
        near = tree.query(coordinates, 16)[1][:, 1:]
        wanted = labels
    else:
        near, wanted = tree.query(new, 15)[1], new_labels
    votes = np.apply_along_axis(np.bincount, 1, labels[near], minlength=10)
    return (votes.argmax(1) == wanted).mean()


# What 15 neighbors in two dimensions said of the class when this was written, less two points.
MNIST = {
    "Isomap": (lowd.Isomap(2, n_neighbors=15), 0.49),
    "LocallyLinearEmbedding": (lowd.LocallyLinearEmbedding(2, n_neighbors=15), 0.43),
    "ModifiedLLE": (lowd.ModifiedLLE(2, n_neighbors=15), 0.60),
    "HessianLLE": (lowd.HessianLLE(2, n_neighbors=15), 0.51),
    "LTSA": (lowd.LTSA(2, n_neighbors=15), 0.64),
    "LaplacianEigenmaps": (lowd.LaplacianEigenmaps(2, n_neighbors=15), 0.70),
    "DiffusionMaps": (lowd.DiffusionMaps(2), 0.37),
}


@pytest.mark.parametrize("name", ["mnist", "pbmc3k"])
def test_new_rows_lie_with_their_kind_on_a_tsne_map(name):
    """Each of 2000 rows held out once, against the maps' own accuracy, each point left out."""
    X, y = _mnist(2000) if name == "mnist" else _cells()
    own, new = [], []
    for fold in range(10):
        out = np.arange(len(X)) % 10 == fold
        model = lowd.TSNE(max_iter=500).fit(X[~out])
        own.append(_accuracy(model.embedding_, y[~out]))
        new.append(_accuracy(model.embedding_, y[~out], model.transform(X[out]), y[out]))
    assert np.mean(own) > 0.7
    assert np.mean(new) > np.mean(own) - 0.02


def test_new_genotypes_lie_with_their_population():
    """14079 noisy columns: probabilities of plain distances point at hubs."""
    with np.load(_file("genotypes_1000g_phase1.npz"), allow_pickle=False) as arrays:
        X, y = arrays["X"].astype(np.float32), arrays["y"]
    chosen = np.random.default_rng(0).permutation(len(X))[: len(X) // 5]
    out = np.isin(np.arange(len(X)), chosen)
    model = lowd.TSNE().fit(X[~out])
    plain = copy(model)
    plain._radii = None  # the neighbors of new rows are then ranked by plain distances
    judge = KNeighborsClassifier(5).fit(model.embedding_, y[~out])
    found = judge.score(model.transform(X[out]), y[out])
    assert found >= judge.score(plain.transform(X[out]), y[out]) + 0.02


@pytest.mark.parametrize("name", MNIST)
@pytest.mark.filterwarnings("ignore::lowd.errors.LowdWarning")
def test_digits_lie_with_their_kind(name):
    model, least = MNIST[name]
    X, y = _mnist(4000)
    old, new = slice(0, 3500), slice(3500, 4000)
    coordinates = model.fit_transform(X[old])
    assert _accuracy(coordinates, y[old]) >= least
    assert _accuracy(coordinates, y[old], model.transform(X[new]), y[new]) >= least - 0.06


def test_frey_faces():
    """560 pixels of a face in motion: pictures that follow each other are near in the map."""
    with np.load(_file("frey_faces.npz"), allow_pickle=False) as file:
        X = file[file.files[0]].astype(np.float64)
    X = X.reshape(len(X), -1)
    train, new = X[::2], X[1::2]
    model = lowd.LocallyLinearEmbedding(2, n_neighbors=12).fit(train)
    assert (model.residuals_ < 1e-6).all()
    Y = np.empty((len(X), 2))
    Y[::2], Y[1::2] = model.embedding_, model.transform(new)
    steps = np.linalg.norm(np.diff(Y, axis=0), axis=1)
    shuffled = np.random.default_rng(0).permutation(len(Y))
    apart = np.linalg.norm(np.diff(Y[shuffled], axis=0), axis=1)
    assert np.median(steps) < 0.35 * np.median(apart)
