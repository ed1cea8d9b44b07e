"""Fuzzy graphs of UMAP: what umap-learn computes of the same neighbors, and what must hold."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from lowd.backends.protocol import FuzzySum
from lowd.relations.targets import intersect_with_target, read_target
from lowd.solvers.layout import fit_curve
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

import lowd
from lowd.backends import resolve
from lowd.errors import DataError
from oracles import symmetrize

SETTINGS = ((1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (0.5, 1.0), (2.0, 1.0))


@pytest.fixture(scope="module")
def peer():
    """What umap-learn 0.5.12 computed (make_umap_learn.py)."""
    with np.load(Path(__file__).with_name("umap_learn.npz"), allow_pickle=False) as kept:
        return dict(kept)


def graph_of(peer, name):
    parts = (peer[f"{name}-{part}"] for part in ("data", "indices", "indptr"))
    n = len(peer["y"])
    return csr_array(tuple(parts), (n, n)).toarray()


def unite(peer, name, L, mix, ops):
    """Our graph of the peer's neighbors: the row itself first, and left out."""
    indices, d = peer[f"{name}-neighbors"][:, 1:], peer[f"{name}-distances"][:, 1:]
    n, k = indices.shape
    indptr = np.arange(0, n * k + 1, k)
    a, sigma, rho = ops.calibrate_rows(indptr, d.astype(np.float64).ravel(), FuzzySum(L))
    A = csr_array((a, indices.astype(np.int32).ravel(), indptr), (n, n))
    return csr_array(symmetrize(ops, A, mix)), rho, sigma


def test_curves_are_those_of_umap_learn(peer):
    for (min_dist, spread), expected in zip(peer["curves"], peer["ab"], strict=True):
        np.testing.assert_allclose(fit_curve(min_dist, spread), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "L", "mix"),
    [
        *(("digits", *setting) for setting in SETTINGS),
        *((name, L, 1.0) for name in ("duplicates", "ties") for L in (0.5, 2.0)),
    ],
)
def test_fuzzy_graph_is_that_of_umap_learn(peer, name, L, mix):
    W, rho, sigma = unite(peer, name, L, mix, resolve("auto", 1))
    np.testing.assert_allclose(rho, peer[f"{name}-{L}-{mix}-rho"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(sigma, peer[f"{name}-{L}-{mix}-sigma"], rtol=1e-5)
    np.testing.assert_allclose(W.toarray(), graph_of(peer, f"{name}-{L}-{mix}"), atol=1e-6)


@pytest.mark.parametrize("weight", [0.5, 0.8])
def test_graph_with_labels_is_that_of_umap_learn(peer, weight):
    ops = resolve("auto", 1)
    W = unite(peer, "digits", 1.0, 1.0, ops)[0]
    partly = np.where(np.arange(len(peer["y"])) % 3 == 0, -1, peer["y"])
    found = intersect_with_target(
        W, read_target(partly, len(partly), "categorical"), weight, 14, ops
    )
    np.testing.assert_allclose(found.toarray(), graph_of(peer, f"labels-{weight}"), atol=1e-6)


@pytest.mark.parametrize("weight", [0.3, 0.7])
def test_graph_with_numbers_is_that_of_umap_learn(peer, weight):
    ops = resolve("auto", 1)
    W, numbers = unite(peer, "digits", 1.0, 1.0, ops)[0], peer["numbers"]
    target = read_target(numbers, len(numbers), "euclidean")
    found = intersect_with_target(W, target, weight, 14, ops)
    # Its bisection, to 1e-5, of distances in float32 may take one step more or less than ours.
    np.testing.assert_allclose(found.toarray(), graph_of(peer, f"numbers-{weight}"), atol=1e-5)


def neighbors_of(peer):
    """umap-learn's pair, which counts the row itself."""
    return peer["digits-neighbors"], peer["digits-distances"].astype(np.float64)


def test_local_radii_are_those_of_umap_learn(peer):
    X = load_digits().data[:120]
    model = lowd.UMAP(dens_lambda=2.0, n_epochs=10).fit(X, neighbors=neighbors_of(peer))
    np.testing.assert_allclose(model.rad_orig_, peer["rad_orig"], atol=1e-4)


def test_graph_of_a_model_is_that_of_umap_learn(peer):
    model = lowd.UMAP(n_epochs=5).fit(load_digits().data[:120], neighbors=neighbors_of(peer))
    np.testing.assert_allclose(model.graph_.toarray(), graph_of(peer, "digits-1.0-1.0"), atol=1e-6)
    assert (model.a_, model.b_) == pytest.approx(tuple(peer["ab"][0]), rel=1e-6)


def test_memberships_are_1_of_the_nearest_and_fall_with_distance(rng):
    d = np.sort(rng.gamma(2, size=(50, 9)), axis=1)
    indptr = np.arange(0, 451, 9)
    rows = resolve("auto", 1).calibrate_rows(indptr, d.ravel(), FuzzySum(1.0))
    a = rows.affinities.reshape(d.shape)
    assert (a[:, 0] == 1).all()
    assert (np.diff(a, axis=1) <= 0).all()
    assert (a > 0).all()


@pytest.mark.parametrize(
    ("y", "metric", "sentence"),
    [
        (np.arange(5), "categorical", "y has shape (5,), but X has 9 rows"),
        (np.linspace(0, 1, 9), "categorical", "y of row 1 is 0.125, which is no class"),
        (np.full(9, np.nan), "euclidean", "y of row 0 is not finite"),
        (list("abcabcabc"), "euclidean", "measures numbers"),
        (np.zeros((9, 2)), "categorical", "takes one class"),
    ],
)
def test_targets_that_cannot_be_used(y, metric, sentence):
    with pytest.raises(DataError, match=re.escape(sentence)):
        read_target(y, 9, metric)


def test_classes_of_any_type():
    expected = [1, 0, -1, 1]
    for y in ([7, 3, -1, 7], [7.0, 3.0, np.nan, 7.0], ["b", "a", None, "b"]):
        held = np.array(y, object) if None in y else np.array(y)
        assert read_target(held, 4, "categorical").labels.tolist() == expected
    assert read_target(list("baab"), 4, "categorical").labels.tolist() == [1, 0, 0, 1]


def test_duplicates_have_the_class_that_they_agree_on():
    target = read_target([0, 0, 1, -1, 2, 2], 6, "categorical")
    merged = target.merge(np.array([0, 1, 1, 2, 2, 3]), 4)
    assert merged.labels.tolist() == [0, -1, 2, 2]
    numbers = read_target([1.0, 2.0, 4.0], 3, "euclidean").merge(np.array([0, 1, 1]), 2)
    assert numbers.numbers.ravel().tolist() == [1.0, 3.0]
