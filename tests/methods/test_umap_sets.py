"""Fuzzy graphs of UMAP: what umap-learn computes of the same neighbors, and what must hold."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from lowd.errors import DataError
from lowd.methods import umap
from lowd.methods.umap import (
    UMAP,
    diffuse,
    fading,
    fit_similarity,
    intersect_with_target,
    local_radii,
    look_up,
    memberships,
    merge_target,
    read_target,
)
from lowd.spaces import Neighbors, symmetrized

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


def unite(peer, name, connectivity, mix):
    """Our graph of the peer's neighbors: the row itself comes first there, and is left out."""
    indices, d = peer[f"{name}-neighbors"][:, 1:], peer[f"{name}-distances"][:, 1:]
    near = Neighbors.of_table(indices.astype(np.int32), d.astype(np.float64))
    mu, rho, sigma = memberships(near, connectivity)
    return symmetrized(near, mu, mix), rho, sigma


def test_curves_are_those_of_umap_learn(peer):
    for (min_dist, spread), expected in zip(peer["curves"], peer["ab"], strict=True):
        np.testing.assert_allclose(fit_similarity(min_dist, spread), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "connectivity", "mix"),
    [
        *(("digits", *setting) for setting in SETTINGS),
        *((name, some, 1.0) for name in ("duplicates", "ties") for some in (0.5, 2.0)),
    ],
)
def test_fuzzy_graph_is_that_of_umap_learn(peer, name, connectivity, mix):
    W, rho, sigma = unite(peer, name, connectivity, mix)
    setting = f"{name}-{connectivity}-{mix}"
    np.testing.assert_allclose(rho, peer[f"{setting}-rho"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(sigma, peer[f"{setting}-sigma"], rtol=1e-5)
    np.testing.assert_allclose(W.toarray(), graph_of(peer, setting), atol=1e-6)


@pytest.mark.parametrize("weight", [0.5, 0.8])
def test_graph_with_labels_is_that_of_umap_learn(peer, weight):
    W, n = unite(peer, "digits", 1.0, 1.0)[0], len(peer["y"])
    partly = read_target(np.where(np.arange(n) % 3 == 0, -1, peer["y"]), n, "categorical")
    found = intersect_with_target(W, partly, "categorical", weight, 14)
    np.testing.assert_allclose(found.toarray(), graph_of(peer, f"labels-{weight}"), atol=1e-6)


@pytest.mark.parametrize("weight", [0.3, 0.7])
def test_graph_with_numbers_is_that_of_umap_learn(peer, weight):
    W, n = unite(peer, "digits", 1.0, 1.0)[0], len(peer["numbers"])
    target = read_target(peer["numbers"], n, "euclidean")
    found = intersect_with_target(W, target, "euclidean", weight, 14)
    # Its bisection, to 1e-5, of distances in float32 may take one step more or less than ours.
    np.testing.assert_allclose(found.toarray(), graph_of(peer, f"numbers-{weight}"), atol=1e-5)


def neighbors_of(peer):
    """umap-learn's pair, which counts the row itself."""
    return peer["digits-neighbors"], peer["digits-distances"].astype(np.float64)


def test_local_radii_are_those_of_umap_learn(peer):
    X = load_digits().data[:120]
    model = UMAP(dens_lambda=2.0, n_epochs=10).fit(X, neighbors=neighbors_of(peer))
    np.testing.assert_allclose(model.rad_orig_, peer["rad_orig"], atol=1e-4)


def test_graph_of_a_model_is_that_of_umap_learn(peer):
    model = UMAP(n_epochs=5).fit(load_digits().data[:120], neighbors=neighbors_of(peer))
    np.testing.assert_allclose(model.graph_.toarray(), graph_of(peer, "digits-1.0-1.0"), atol=1e-6)
    assert (model.a_, model.b_) == pytest.approx(tuple(peer["ab"][0]), rel=1e-6)


def test_memberships_are_1_of_the_nearest_and_fall_with_distance(rng):
    d = np.sort(rng.gamma(2, size=(50, 9)), axis=1)
    near = Neighbors.of_table(np.zeros((50, 9), np.int32), d)
    mu = memberships(near, 1.0)[0].reshape(d.shape)
    assert (mu[:, 0] == 1).all()
    assert (np.diff(mu, axis=1) <= 0).all()
    assert (mu > 0).all()


def test_weights_fade_where_a_list_ends():
    near = Neighbors.of_table(np.zeros((2, 4), np.int32), np.array([[1.0, 2, 4, 5], [1, 2, 3, 4]]))
    faded = fading(near, np.array([5.0, np.inf])).reshape(2, 4)
    np.testing.assert_allclose(faded, [[1, 1, 1, 0], [1, 1, 1, 1]])


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
        read_target(np.asarray(y), 9, metric)


def test_classes_of_any_type():
    expected = [1, 0, -1, 1]
    for y in ([7, 3, -1, 7], [7.0, 3.0, np.nan, 7.0], ["b", "a", None, "b"]):
        held = np.array(y, object) if None in y else np.array(y)
        assert read_target(held, 4, "categorical").tolist() == expected
    assert read_target(np.array(list("baab")), 4, "categorical").tolist() == [1, 0, 0, 1]


def test_duplicates_have_the_class_that_they_agree_on():
    target = read_target(np.array([0, 0, 1, -1, 2, 2]), 6, "categorical")
    points = np.array([0, 1, 1, 2, 2, 3])
    assert merge_target(target, "categorical", points, 4).tolist() == [0, -1, 2, 2]
    numbers = read_target(np.array([1.0, 2.0, 4.0]), 3, "euclidean")
    merged = merge_target(numbers, "euclidean", np.array([0, 1, 1]), 2)
    assert merged.ravel().tolist() == [1.0, 3.0]


def test_entries_are_looked_up_by_row_and_column():
    A = csr_array(np.array([[0, 2.0, 0], [3, 0, 0], [0, 0, 5]]))
    pattern = csr_array(np.array([[1, 1, 0], [1, 0, 1], [0, 0, 0]]))
    assert look_up(A, pattern, -1.0).tolist() == [-1, 2, 3, -1]


def test_local_radii_are_logs_of_weighted_means():
    owners, weights = np.array([0, 0, 1]), np.array([1.0, 3.0, 2.0])
    found = local_radii(owners, weights, np.array([4.0, 8.0, 5.0]), 3)
    np.testing.assert_allclose(found[:2], np.log([7.0, 5.0]))
    assert np.isfinite(found).all()  # also of a point without edges


def test_diffused_coordinates_are_orthogonal_and_smooth(rng):
    """On a ring of points: what is left of noise are its slowest waves."""
    n = 60
    W = csr_array(np.roll(np.eye(n), 1, 1) + np.roll(np.eye(n), -1, 1))
    Y = diffuse(W, rng.normal(size=(n, 2)))
    np.testing.assert_allclose(Y.T @ Y / n, np.eye(2), atol=1e-9)
    rough = np.square(np.diff(Y, axis=0)).sum() / np.square(Y).sum()
    assert rough < 0.1


def test_training_points_are_mapped_near_their_coordinates_without_being_remembered(monkeypatch):
    monkeypatch.setattr(umap, "approach", lambda Y, *_: Y)
    X = load_digits().data
    model = UMAP().fit(X)
    gap = np.linalg.norm(model.transform(X) - model.embedding_, axis=1)
    assert np.median(gap) < 0.01 * np.ptp(model.embedding_)


def test_parameters_that_are_set_after_a_fit_do_not_change_its_map():
    X = np.random.default_rng(0).normal(size=(60, 5))
    model = UMAP(n_neighbors=8, n_epochs=20, spread=2.0).fit(X)
    expected = model.transform(X[:9] + 0.1)
    model.set_params(n_neighbors=20, spread=1.0, repulsion_strength=9.0, local_connectivity=3.0)
    np.testing.assert_array_equal(model.transform(X[:9] + 0.1), expected)
