"""Every finding has data that show it and data that do not."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

import lowd
from diagnosis_data import CLOUD, changed, clean, two_clouds, with_nan
from lowd import progress
from lowd.errors import ColumnTypeError, DataError, ParameterError, UnsupportedError
from lowd.evidence.diagnosis.rows import check_outliers, count_components
from manifolds import roll

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
SPHERE = np.random.default_rng(0).normal(size=(700, 3))
SPHERE /= np.linalg.norm(SPHERE, axis=1)[:, None]


def test_independent_columns_have_no_structure_and_not_ten_dimensions():
    X = np.random.default_rng(0).normal(size=(600, 100))
    found = lowd.diagnose(X)
    assert "There is no structure to see" in found.about("structure")[0].sentence
    assert found.worst == "warning"
    assert found.steps == {}  # of noise all components are noise
    assert found.intrinsic_dimension == {}
    (dimension,) = found.about("intrinsic dimension")
    assert "do not show more than about 18 dimensions" in dimension.sentence
    assert json.loads(json.dumps(found.to_dict()))["structure"]["kind"] == "noise"


@pytest.mark.parametrize("columns", [3, 20])
def test_a_sphere_is_not_linear(columns):
    turned = SPHERE @ np.linalg.qr(np.random.default_rng(1).normal(size=(columns, 3)))[0].T
    found = lowd.diagnose(turned)
    (finding,) = found.about("shape")
    assert found.shape == "non-linear"
    assert "of 2 dimensions, such as a circle or a sphere, which takes 3" in finding.sentence
    assert "Keep 3 components" in finding.remedy
    assert "more than linear relations" in found.about("structure")[0].sentence


def test_rows_at_three_times_the_radius_among_many_columns_are_far():
    X = np.random.default_rng(0).normal(size=(800, 50))
    X *= 7 / np.linalg.norm(X, axis=1)[:, None]
    assert not lowd.diagnose(X).about("outliers")[0].affected
    X[:10] *= 3
    assert set(lowd.diagnose(X).about("outliers")[0].affected) == set(range(10))


def test_principal_components_are_not_reduced_again():
    """Their permutations are like themselves, so that no component stands out."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(500, 5)) @ rng.normal(size=(5, 60)) + rng.normal(size=(500, 60))
    found = lowd.diagnose(lowd.PCA().fit_transform(F))
    assert "look like principal components" in found.about("components")[0].sentence
    assert found.steps == {}
    assert found.structure.kind == "linear"
    assert lowd.diagnose(F).about("components") == []


def test_counts_with_few_zeros_are_counts():
    rng = np.random.default_rng(0)
    rates = np.exp(rng.normal(size=(3, 60)))[rng.integers(0, 3, 600)]
    X = rng.poisson(rates * rng.lognormal(0, 0.6, size=(600, 1)))
    assert 0.3 < (X == 0).mean() < 0.5
    assert {"normalize", "log1p"} <= set(lowd.diagnose(X).steps)


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


def test_clean_data_are_fine():
    found = lowd.diagnose(CLOUD @ np.triu(np.ones((4, 4))))  # columns that have to do with others
    assert {finding.severity for finding in found} == {"fine"}
    assert found.worst == "fine"
    assert found.structure.kind == "linear"
    assert found.shape == "linear"
    assert found.recommendations


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
    D = np.linalg.norm(CLOUD[:, None] - CLOUD, axis=2)
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
    assert {one["method"] for one in plain["recommendations"]} >= {"PCA", "TSNE", "UMAP"}
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


def test_measured_integers_and_genes_are_no_identifiers():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 90, size=(99, 4)), columns=["age", "ID1", "year", "index"])
    assert not lowd.diagnose(table).about("identifiers")
    table["late"] = table["class"] = 0  # each is constant in its first rows
    table = pd.concat([table] * 30, ignore_index=True)
    table.loc[2500:, ["late", "class"]] = 1
    assert not lowd.diagnose(table).about("codes")
