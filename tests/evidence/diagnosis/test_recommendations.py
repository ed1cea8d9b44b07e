"""Diagnosis: the shape of data, the methods recommended for it, and their costs."""

from __future__ import annotations

from dataclasses import replace
from warnings import catch_warnings, simplefilter

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs

import lowd
from diagnosis_data import CLOUD, changed, clean, two_clouds
from lowd.errors import IndefiniteWarning, ParameterError
from lowd.evidence.diagnosis.choice import _FIT_SECONDS
from lowd.evidence.diagnosis.raw_data import read_data
from lowd.evidence.diagnosis.rows import compute_residual_variances
from manifolds import roll


def test_the_residual_variance_is_that_of_isomap():
    X = roll(300, 1)[0]
    sample = read_data(X).take(np.arange(300))
    found = compute_residual_variances(sample, 2.0, 0)
    model = lowd.Isomap(10, n_neighbors=found.n_neighbors).fit(X)
    assert model.n_graph_components_ == 1
    assert_allclose(found.geodesic, model.residual_variance_, atol=1e-8)
    Y = lowd.PCA(3).fit_transform(X)
    i, j = np.triu_indices(300, 1)
    lengths = model.geodesic_distances_[i, j]
    apart = np.linalg.norm(Y[i, :2] - Y[j, :2], axis=1)
    assert_allclose(found.linear[1], 1 - np.corrcoef(lengths, apart)[0, 1] ** 2, atol=1e-8)


def test_shapes():
    assert lowd.diagnose(roll(500)[0]).shape == "non-linear"
    square = np.random.default_rng(0).random((500, 2)) @ [[1, 0, 0], [0, 0.6, 0.8]]
    assert lowd.diagnose(square).shape == "linear"
    t = np.linspace(0, 2 * np.pi, 300)
    assert lowd.diagnose(np.column_stack([np.cos(t), np.sin(t)])).shape == "non-linear"
    ball = np.random.default_rng(0).normal(size=(400, 60))
    assert lowd.diagnose(ball).shape == "high-dimensional"


DATA = {
    "cloud": (CLOUD, {}),
    "scales": (changed(c2=1000 * CLOUD[:, 2]), {}),
    "roll": (roll(700)[0], {}),
    "components": (two_clouds(), {}),
    "ball": (np.random.default_rng(0).normal(size=(200, 60)), {}),
    "sparse": (csr_array(np.maximum(CLOUD, 0)), {}),
    "distances": (np.linalg.norm(CLOUD[:, None] - CLOUD, axis=2), {"metric": "precomputed"}),
    "manhattan": (CLOUD, {"metric": "manhattan"}),
    "table": (pd.DataFrame({"a": CLOUD[:40, 0], "b": ["x", "y"] * 20}), {}),
    "gower": (pd.DataFrame({"a": CLOUD[:40, 0], "b": ["x", "y"] * 20}), {"metric": "gower"}),
    "few": (CLOUD[:6], {}),
    "one column": (CLOUD[:, :1], {}),
}


@pytest.mark.parametrize("name", DATA)
def test_what_is_recommended_fits(name):
    X, options = DATA[name]
    found = lowd.diagnose(X, **options)
    assert found.recommendations
    for advice in found.recommendations:
        more = {"max_iter": 50} if advice.method == "TSNE" else {}
        with catch_warnings():  # of distances that are not Euclidean
            simplefilter("ignore", IndefiniteWarning)
            model = replace(advice, params={**advice.params, **more}).build().fit(X)
        assert len(model.transform(X)) == found.n_samples
        assert advice.reason.endswith(".")


def test_many_curved_dimensions_get_tsne_and_round_numbers_are_no_duplicates():
    from sklearn.datasets import load_digits

    digits = load_digits().data[:500]  # whole numbers up to 16; no two images are equal
    found = lowd.diagnose(digits)
    assert found.recommendations[0].method == "TSNE"
    assert "where PCA keeps" in found.recommendations[0].reason
    assert all(finding.severity == "fine" for finding in found.about("duplicate rows"))


def test_a_curved_manifold_gets_isomap_with_a_connected_graph():
    found = lowd.diagnose(roll(500)[0])
    first = found.recommendations[0]
    assert first.method == "Isomap"
    assert found.connected_components[first.params["n_neighbors"]] == 1
    Y = lowd.Isomap(**first.params).fit_transform(roll(500)[0])
    along = roll(500)[1][:, 0]
    assert abs(np.corrcoef(Y[:, 0], along)[0, 1]) > 0.99


def test_costs_are_those_of_the_methods():
    found = clean().costs
    assert set(found) == set(lowd.methods.METHODS)
    assert found["Isomap"].bytes == lowd.Isomap().estimate(120, 4).bytes
    assert found["PCA"].bytes == lowd.PCA(2).estimate(120, 4).bytes
    assert all(cost.fits and cost.seconds > 0 for cost in found.values())
    assert "LTSA" not in lowd.diagnose(DATA["sparse"][0]).costs
    square = lowd.diagnose(DATA["distances"][0], metric="precomputed").costs
    assert "PCA" not in square
    assert square["MDS"].bytes == lowd.MDS(metric="precomputed").estimate(120, 1).bytes


@pytest.mark.parametrize(
    ("method", "rows", "seconds"),
    [
        ("UMAP", 10_000, 0.20),
        ("UMAP", 70_000, 1.48),
        ("UMAP", 1_000_000, 33.5),
        ("TSNE", 70_000, 4.79),
        ("TSNE", 1_000_000, 109),
        ("LaplacianEigenmaps", 1_000_000, 54.4),
    ],
)
def test_estimated_seconds_are_those_that_were_measured(method, rows, seconds):
    """Within a factor of three of fits of 50 columns on two cores, November 2026."""
    assert 1 / 3 < _FIT_SECONDS[method](rows, 50) / seconds < 3


def test_what_does_not_fit_is_named(monkeypatch):
    monkeypatch.setattr("lowd.backend.free_memory", lambda: 2**16)
    found = lowd.diagnose(CLOUD)
    (cost,) = found.about("cost")
    assert cost.severity == "notice"
    assert "MDS" in cost.affected
    assert "PCA" not in cost.affected
    assert "landmarks" in cost.remedy


@pytest.mark.parametrize(("n", "d", "groups"), [(60, 5, 3), (60, 10, 5), (100, 5, 4), (150, 10, 8)])
def test_clusters_are_not_called_curved(n, d, groups):
    """Shortest paths lead from one cluster to the next, which PCA seemed to fold."""
    X = make_blobs(n, d, centers=groups, random_state=0)[0]
    found = lowd.diagnose(X)
    assert found.shape != "non-linear"
    assert found.recommendations[0].method != "Isomap"


def test_separate_components_get_one_advice():
    """Two rolls far apart: curved each, and no map of both unrolls them."""
    X = np.vstack([roll(300)[0], roll(300)[0] + 200])
    found = lowd.diagnose(X)
    assert found.recommendations[0].method == "TSNE"
    connectivity, shape = found.about("connectivity")[0], found.about("shape")[0]
    assert "Take TSNE" in connectivity.remedy
    for finding in (connectivity, shape):
        assert not finding.remedy.startswith("Use a manifold method")
        assert "PCA" not in finding.remedy


def test_a_finding_carries_its_remedy():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.arange(99), "b": rng.normal(size=99), "c": rng.normal(size=99)})
    table["d"] = table["b"]
    table["region"] = rng.integers(1, 9, 99)
    found = lowd.diagnose(table)
    acts = {finding.topic: finding.action.params for finding in found if finding.action}
    assert acts == {
        "identifiers": {"drop": ("id",)},
        "codes": {"drop": ("region",)},
        "duplicate columns": {"drop": ("d",)},
    }
    model = found.pipeline().fit(table)
    assert model.drop == ("id", "region", "d")
    assert found.to_dict()["findings"][0]["action"]["params"]
    kept = lowd.diagnose(table, keep=["region"], steps={"scale": False})
    assert kept.recommendations[0].steps == {"drop": ("id", "d")}
    assert (
        "drop"
        not in lowd.diagnose(table[["id", "b", "c"]], recognized=True).recommendations[0].steps
    )
    with pytest.raises(ParameterError, match="'whiten' is no step"):
        lowd.diagnose(table, steps={"whiten": True})
