"""Every finding has data that show it and data that do not."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from warnings import catch_warnings, simplefilter
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs

import lowd
from lowd import progress
from lowd.backends import resolve
from lowd.errors import (
    ColumnTypeError,
    DataError,
    IndefiniteWarning,
    ParameterError,
    UnsupportedError,
)
from lowd.evidence.diagnosis.cost_estimates import _FIT_SECONDS
from lowd.evidence.diagnosis.neighbor_graph import check_outliers, count_components
from lowd.evidence.diagnosis.raw_data import read_data
from lowd.evidence.diagnosis.residual_variance import compute_residual_variances
from manifolds import roll

RNG = np.random.default_rng(0)
CLOUD = RNG.normal(size=(120, 4))


def changed(X=CLOUD, **columns):
    """A copy of some data with columns replaced: c2=values."""
    X = X.copy()
    for name, values in columns.items():
        X[:, int(name[1:])] = values
    return X


def with_nan():
    X = CLOUD.copy()
    X[7, 2] = np.nan
    X[9, 1] = np.inf
    return X


def two_clouds():
    return np.vstack([CLOUD, CLOUD[:60] + 100])


def crossed(draw="laplace"):
    """Independent numbers along two directions at 37 degrees."""
    drawn = getattr(np.random.default_rng(1), draw)(size=(600, 2))
    return drawn @ [[1, 0], [0.8, 0.6]]


BAD = {
    "missing": ("error", with_nan()),
    "constant": ("notice", changed(c1=3.0)),
    "duplicate columns": ("warning", changed(c3=CLOUD[:, 0])),
    "correlation": ("notice", changed(c3=CLOUD[:, 0] + 0.1 * CLOUD[:, 3])),
    "scale": ("warning", changed(c2=1000 * CLOUD[:, 2])),
    "duplicate rows": ("notice", np.vstack([CLOUD, CLOUD[:5]])),
    "outliers": ("warning", np.vstack([CLOUD, [[30.0, 30, 30, 30]]])),
    "connectivity": ("warning", two_clouds()),
    "hubness": ("notice", np.random.default_rng(0).normal(size=(400, 60))),
    "shape": ("notice", roll(500)[0]),
}


@pytest.mark.parametrize("topic", BAD)
def test_what_is_wrong_is_found_and_what_is_not_is_fine(topic):
    severity, X = BAD[topic]
    (found,) = lowd.diagnose(X).about(topic)
    assert found.severity == severity
    assert found.remedy
    (fine,) = clean().about(topic)
    assert fine.severity == "fine"
    assert fine.sentence
    assert not fine.remedy


@cache
def clean():
    return lowd.diagnose(CLOUD)


def test_clean_data_are_fine():
    assert clean().worst == "fine"
    assert {finding.severity for finding in clean()} == {"fine"}
    assert clean().shape == "linear"
    assert clean().recommendations[0].method == "PCA"


def test_most_severe_first():
    X = np.vstack([with_nan(), CLOUD[:5]])
    order = [finding.severity for finding in lowd.diagnose(X)]
    assert order == sorted(order, key=["error", "warning", "notice", "fine"].index)
    assert order[0] == "error"


def test_missing_entries_are_named_by_row_and_column():
    table = pd.DataFrame(with_nan(), columns=["a", "b", "size", "d"])
    (found,) = lowd.diagnose(table).about("missing")
    assert "row 7, column 'size'" in found.sentence
    assert "in 2 of 120 rows and 2 of 4 columns" in found.sentence
    (found,) = lowd.diagnose(with_nan(), columns=["a", "b", "size", "d"]).about("missing")
    assert "column 'size'" in found.sentence
    sparse = csr_array(with_nan())
    assert "row 7, column 2" in lowd.diagnose(sparse).about("missing")[0].sentence


def test_a_column_of_gaps_is_to_be_dropped_first():
    X = changed(c1=np.where(np.arange(120) < 100, np.nan, 1.0))
    assert "Drop column 1 first" in lowd.diagnose(X).about("missing")[0].remedy


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame, lambda t: pl.DataFrame(t).to_arrow()]
)
def test_text_has_three_remedies(frame):
    names = [f"n{i}" for i in range(60)]
    X = frame({"a": CLOUD[:60, 0], "kind": ["x", "y"] * 30, "name": names, "b": CLOUD[:60, 1]})
    found = lowd.diagnose(X)
    (text,) = found.about("categories")
    assert text.severity == "error"
    assert text.affected == ("kind", "name")
    for remedy in ("Drop", "OneHotEncoder", "gower"):
        assert remedy in text.remedy
    assert found.n_features == 2
    assert found.recommendations[0].params["metric"] == "gower"
    assert not clean().about("categories")


def test_dates_are_found_and_numbers_as_text_refused():
    X = CLOUD[:30, :3]
    frame = pd.DataFrame(X, columns=list("abc")).assign(when=pd.Timestamp("2020-01-01"))
    rows = np.column_stack([X.astype(object), frame["when"].astype(object)])
    for made, name in ((frame, "when"), (rows, "x3")):
        (finding,) = lowd.diagnose(made).about("dates")
        assert finding.sentence.startswith(f"{name!r} holds dates")
        assert finding.affected == (name,)
    for wrong in (X.astype(str), frame[["when"]].to_numpy()):
        with pytest.raises(ColumnTypeError, match="diagnose needs numbers, but row 0, column 0"):
            lowd.diagnose(wrong)


def test_text_among_rows_of_objects():
    found = lowd.diagnose([[1.0, "a", 3], [2.0, "b", None], [4.0, "c", 5]])
    assert found.about("categories")[0].affected == ("x1",)
    assert "row 1, column 'x2'" in found.about("missing")[0].sentence


def test_outliers_are_named_by_their_row():
    far = np.insert(CLOUD, 30, [40.0, 0, 0, 0], axis=0)
    assert lowd.diagnose(far).about("outliers")[0].affected == (30,)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("draw", ["normal", "exponential", "random"])
def test_a_boundary_has_no_outliers(d, draw):
    X = getattr(np.random.default_rng(3), draw)(size=(800, d))
    found = check_outliers(lowd.neighbors(X, 15), 15, np.arange(800), "", d)
    assert found.severity == "fine"


def test_in_one_dimension_it_takes_more_to_be_an_outlier():
    near = lowd.neighbors(np.random.default_rng(3).normal(size=(800, 1)), 15)
    assert check_outliers(near, 15, np.arange(800), "", 1).severity == "fine"
    assert check_outliers(near, 15, np.arange(800), "", 100).severity == "warning"


def test_components_are_counted_for_every_graph():
    X = np.vstack([CLOUD[:30], CLOUD[30:50] * 0.1 + 9, CLOUD[50:54] + 40])
    near = lowd.neighbors(X, 20)
    from scipy.sparse.csgraph import connected_components

    counts = []
    for k in range(1, 21):
        A = np.zeros((54, 54))
        A[np.repeat(np.arange(54), k), near.indices[:, :k].ravel()] = 1
        counts.append(connected_components(A, directed=False)[0])
    assert count_components(near).tolist() == counts
    assert counts[0] > counts[-1]


def test_the_smallest_number_of_neighbors_that_connects():
    found = lowd.diagnose(two_clouds())
    sentence = found.about("connectivity")[0].sentence
    assert (
        "2 connected components, of 120, 60 rows; 40 neighbors do not connect it either" in sentence
    )
    assert found.connected_components[15] == 2
    assert found.recommendations[0].method == "TSNE"
    connecting = next(k for k, count in clean().connected_components.items() if count == 1)
    assert f"{connecting} neighbors are enough" in clean().about("connectivity")[0].sentence


def test_hubness_is_the_skewness_of_how_often_a_row_is_chosen():
    from scipy.stats import skew

    X = BAD["hubness"][1]
    counts = np.bincount(lowd.neighbors(X, 15).indices.ravel(), minlength=len(X))
    (found,) = lowd.diagnose(X).about("hubness")
    assert f"skewness {skew(counts):.1f}" in found.sentence
    assert f"neighbors of {counts.max()} rows" in found.sentence
    assert found.affected == (int(counts.argmax()),)


def test_the_residual_variance_is_that_of_isomap():
    X = roll(300, 1)[0]
    sample = read_data(X).take(np.arange(300))
    found = compute_residual_variances(sample, 2.0, resolve("auto", None), 0)
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
    assert lowd.diagnose(np.column_stack([np.cos(t), np.sin(t)])).shape == "linear"
    ball = np.random.default_rng(0).normal(size=(400, 60))
    assert lowd.diagnose(ball).shape == "high-dimensional"


@pytest.mark.parametrize("draw", ["laplace", "random"])
def test_directions_at_an_angle(draw):
    found = lowd.diagnose(crossed(draw))
    assert found.shape == "non-orthogonal"
    angle = int(found.about("shape")[0].sentence.split(" at ")[1].split()[0])
    assert angle == pytest.approx(37, abs=5)


def test_right_angles_and_normal_clouds_are_not_called_oblique():
    drawn = np.random.default_rng(1).laplace(size=(600, 2))
    assert lowd.diagnose(drawn * [1, 0.5]).shape == "linear"
    assert lowd.diagnose(crossed("normal")).shape == "linear"
    # PCA's axes mix what is nearly at right angles: no reason to look for other directions.
    assert lowd.diagnose(drawn @ [[1, 0.05], [0.05, 1]]).shape == "linear"


DATA = {
    "cloud": (CLOUD, {}),
    "scales": (BAD["scale"][1], {}),
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
    assert "two axes cannot hold" in found.recommendations[0].reason
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
    ("case", "method"),
    [
        ("umap-10k", "UMAP"),
        ("umap-70k", "UMAP"),
        ("umap-million", "UMAP"),
        ("tsne-70k", "TSNE"),
        ("tsne-million", "TSNE"),
        ("laplacian-million", "LaplacianEigenmaps"),
    ],
)
def test_estimated_seconds_are_those_of_the_benchmark(case, method):
    """Within a factor of three, on the machine that both were measured on."""
    file = Path(__file__).parents[3] / "benchmarks" / "results" / "latest.json"
    found = json.loads(file.read_text())["cases"][case]
    measured = np.median(found["tools"]["lowd"]["warm"] or found["tools"]["lowd"]["first"])
    assert 1 / 3 < _FIT_SECONDS[method](*found["shape"]) / measured < 3


def test_what_does_not_fit_is_named(monkeypatch):
    monkeypatch.setattr("lowd.core.memory.available", lambda: 2**20)
    found = lowd.diagnose(CLOUD)
    (cost,) = found.about("cost")
    assert cost.severity == "notice"
    assert "MDS" in cost.affected
    assert "PCA" not in cost.affected
    assert "landmarks" in cost.remedy


def test_a_sample_says_so_and_is_seeded():
    X = np.random.default_rng(0).normal(size=(500, 3))
    found = lowd.diagnose(X, max_samples=100, random_state=1)
    assert found.n_searched == 100
    assert "100 of 500 rows" in found.about("sample")[0].sentence
    assert "in a sample of 100 rows" in found.about("connectivity")[0].sentence
    assert lowd.diagnose(X, max_samples=100, random_state=1) == found
    assert (
        lowd.diagnose(X, max_samples=100, random_state=2).connected_components
        != found.connected_components
    )
    assert not clean().about("sample")


def test_dense_sparse_and_types_say_the_same():
    X = np.vstack([np.maximum(CLOUD, 0), CLOUD[:3]])
    X = np.vstack([X, X[:2]])
    dense = lowd.diagnose(X)
    sparse = lowd.diagnose(csr_array(X))
    assert dense.about("duplicate rows") == sparse.about("duplicate rows")
    assert dense.about("scale") == sparse.about("scale")
    assert dense.connected_components == sparse.connected_components
    whole = (100 * X).astype(np.int64)
    assert (
        lowd.diagnose(whole).connected_components
        == lowd.diagnose(whole.astype(np.float32)).connected_components
    )


def test_distances_that_are_none():
    D = DATA["distances"][0]
    found = lowd.diagnose(D, metric="precomputed")
    assert found.shape == "linear"
    assert (
        found.connected_components
        == lowd.diagnose(1e200 * D, metric="precomputed").connected_components
        == clean().connected_components
    )
    for entry, value, topic in [
        ((0, 1), np.nan, "missing"),
        ((0, 1), 5.0, "symmetry"),
        ((2, 2), 1.0, "diagonal"),
    ]:
        wrong = D.copy()
        wrong[entry] = value
        found = lowd.diagnose(wrong, metric="precomputed")
        assert found.about(topic)[0].severity == "error"
    negative = D.copy()
    negative[0, 1] = negative[1, 0] = -1
    assert lowd.diagnose(negative, metric="precomputed").about("sign")


def test_words_by_a_callable():
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "one"]

    def apart(a, b):
        return abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b, strict=False))

    found = lowd.diagnose(words, metric=apart)
    assert found.n_samples == 11
    assert "1 of 11 rows are duplicates" in found.about("duplicate rows")[0].sentence
    with pytest.raises(DataError, match="callable metric"):
        lowd.diagnose(words)


def test_a_metric_that_cannot_compare_is_a_finding():
    X = np.vstack([CLOUD, np.zeros(4)])
    (found,) = lowd.diagnose(X, metric="cosine").about("metric")
    assert found.severity == "error"
    assert "no direction" in found.sentence


def test_what_is_no_data_is_refused():
    with pytest.raises(DataError, match="0 rows"):
        lowd.diagnose(np.empty((0, 3)))
    with pytest.raises(DataError, match="square"):
        lowd.diagnose(CLOUD, metric="precomputed")
    with pytest.raises(ParameterError, match="metric"):
        lowd.diagnose(CLOUD, metric="euclid")
    with pytest.raises(ParameterError, match="n_neighbors=0"):
        lowd.diagnose(CLOUD, n_neighbors=0)
    with pytest.raises(UnsupportedError, match="sparse graph"):
        lowd.diagnose(csr_array(np.eye(3)), metric="precomputed")


def test_smallest_and_dullest_data():
    for X in ([[1.0]], [[1.0, 2.0]], np.ones((30, 3)), np.full((5, 2), np.nan)):
        found = lowd.diagnose(X)
        assert found.findings
        assert repr(found)
    assert lowd.diagnose(np.ones((30, 3))).about("constant")[0].severity == "error"
    for size in (1e-200, 1e200):
        found = lowd.diagnose(size * CLOUD)
        assert found.about("range")[0].severity == "error"
        assert found.connected_components == clean().connected_components


def test_pages_and_plain_data():
    odd = '<script>&"'
    table = pd.DataFrame(changed(c1=2.0), columns=["a", odd, "c", "d"])
    found = lowd.diagnose(table)
    page = ElementTree.fromstring(found._repr_html_())
    text = "".join(page.itertext())
    assert odd in text
    assert not list(page.iter("script"))
    assert len(list(page.iter("tr"))) == len(found.findings) + len(found.costs) + 1
    plain = json.loads(json.dumps(found.to_dict()))
    keys = {"severity", "topic", "sentence", "remedy", "affected"}
    assert keys <= plain["findings"][0].keys()
    assert plain["recommendations"][0]["method"] == "PCA"
    assert plain["intrinsic_dimension"]["two_nn"]["value"] > 0
    assert "Recommended" in repr(found)


def test_progress_and_cancel():
    stages = []

    def listen(stage, *_):
        stages.append(stage)
        if stage == "diagnosis":
            raise KeyboardInterrupt

    with progress.listening(listen), pytest.raises(KeyboardInterrupt):
        lowd.diagnose(CLOUD)
    assert stages[0] == "columns"


@pytest.mark.parametrize(("n", "d", "groups"), [(30, 5, 3), (60, 10, 5), (100, 5, 4), (150, 10, 8)])
def test_clusters_are_not_called_curved(n, d, groups):
    """Shortest paths lead from one cluster to the next, which PCA seemed to fold."""
    X = make_blobs(n, d, centers=groups, random_state=0)[0]
    found = lowd.diagnose(X)
    assert found.shape != "non-linear"
    assert found.recommendations[0].method != "Isomap"


def test_former_names_stay():
    found = lowd.diagnose(np.vstack([two_clouds(), CLOUD[:5]]))
    assert found.pieces == found.connected_components
    assert found.n_looked == found.n_searched
    assert found.about("copied rows") == found.about("duplicate rows") != []
    assert found.about("copied rows")[0].places == found.about("duplicate rows")[0].affected
    document = found.to_dict()
    assert document["pieces"] == document["connected_components"]
    assert document["findings"][0]["places"] == document["findings"][0]["affected"]


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
    table["zip"] = rng.integers(1000, 9999, 99)
    found = lowd.diagnose(table)
    acts = {finding.topic: finding.action.params for finding in found if finding.action}
    assert acts == {
        "identifiers": {"drop": ("id",)},
        "codes": {"drop": ("zip",)},
        "duplicate columns": {"drop": ("d",)},
    }
    model = found.pipeline().fit(table)
    assert model.drop == ("id", "zip", "d")
    assert found.to_dict()["findings"][0]["action"]["params"]
    kept = lowd.diagnose(table, keep=["zip"], steps={"scale": False})
    assert kept.recommendations[0].steps == {"drop": ("id", "d")}
    with pytest.raises(ParameterError, match="'whiten' is no step"):
        lowd.diagnose(table, steps={"whiten": True})


def test_measured_integers_and_genes_are_no_identifiers():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 90, size=(99, 4)), columns=["age", "ID1", "year", "index"])
    assert not lowd.diagnose(table).about("identifiers")
