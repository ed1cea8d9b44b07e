"""Rules for the number of dimensions against spectra, formulas and shapes that are known."""

from __future__ import annotations

import json
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import norm

import lowd
from lowd.errors import ColumnTypeError, DataError, ParameterError
from lowd.evidence.dimension import MANIFOLD_RULES, RULES, SIGNAL_RULES, Dimensions, cross_validate
from lowd.evidence.null_models import analyze_parallel
from lowd.linalg import scree
from manifolds import roll


def subspace(k=4, n=300, d=25, noise=0.1, seed=0):
    """Points of k equal directions among d columns, with noise."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(d, k)))[0].T
    return rng.normal(size=(n, k)) @ axes + noise * rng.normal(size=(n, d))


def test_broken_stick_is_its_closed_form():
    assert_allclose(scree.broken_stick(4), [25 / 48, 13 / 48, 7 / 48, 3 / 48], rtol=1e-15)
    assert_allclose(scree.broken_stick(50).sum(), 1)
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.random((40_000, 3)), 1)
    lengths = np.diff(np.hstack([np.zeros((40_000, 1)), cuts, np.ones((40_000, 1))]))
    assert_allclose(np.sort(lengths)[:, ::-1].mean(0), scree.broken_stick(4), atol=3e-3)


def test_gavish_donoho_factor_is_the_published_one():
    assert scree.gavish_donoho_factor(1.0) == pytest.approx(2.858, abs=5e-4)
    for beta in np.linspace(0.02, 1, 15):
        approximate = 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43
        assert scree.gavish_donoho_factor(beta) == pytest.approx(approximate, abs=0.02)


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
def test_median_of_noise(beta):
    n = 800
    Z = np.random.default_rng(0).normal(size=(n, int(beta * n)))
    values = np.linalg.svd(Z, compute_uv=False) ** 2 / n
    assert np.median(values) == pytest.approx(scree.marchenko_pastur_median(beta), rel=0.02)


def test_profile_likelihood_is_the_likelihood():
    values = np.sort(np.random.default_rng(0).gamma(1, size=12))[::-1]
    direct = []
    for q in range(1, 12):
        a, b = values[:q], values[q:]
        squares = ((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()
        sd = np.sqrt(squares / 10)
        direct.append(norm.logpdf(a, a.mean(), sd).sum() + norm.logpdf(b, b.mean(), sd).sum())
    count, curve = scree.profile_likelihood(values)
    assert count == np.argmax(direct) + 1
    assert_allclose(np.diff(curve), np.diff(direct), rtol=1e-9)  # units add a constant


def test_rules_on_plain_spectra():
    values = np.array([5.0, 4, 0.4, 0.3, 0.2, 0.1])
    assert scree.count_for_variance(values, 0.9) == 3  # 9 of 10 is not more than 0.9
    assert scree.count_for_variance(values, 0.89) == 2
    assert scree.count_for_variance(values, 0.95) == 4
    assert scree.count_above_broken_stick(values) == 2
    assert scree.choose_by_rule("kaiser", values, 100, 6) == 2
    assert scree.elbow(values) == 2
    assert scree.count_above_broken_stick(np.ones(6)) == 0
    # Only the leading run counts: 0.30 < 0.52 ends it, though 0.28 > 0.27.
    assert scree.count_above_broken_stick(np.array([0.30, 0.28, 0.22, 0.20])) == 0


@pytest.mark.parametrize("k", [1, 4])
def test_a_flat_with_noise(k):
    found = lowd.dimension(subspace(k)).suggestions
    assert {*RULES} - {*found} <= {"local_pca"}
    for rule in (*SIGNAL_RULES, "elbow"):
        assert found[rule] == k, rule
    assert k <= found["kaiser"] <= k + 3  # columns of mere noise are stretched to variance 1
    assert k <= found["isomap"] <= k + 1
    assert found.get("local_pca", 99) > k  # noise is as large as neighborhoods are here


def test_agreement_of_a_flat():
    found = lowd.dimension(subspace(4, noise=0.02))
    assert (
        found.agreement == "Rules for components all give 4. Estimates for a manifold all give 4. "
        "Both agree."
    )


def test_noise_has_no_dimension():
    X = np.random.default_rng(0).normal(size=(300, 20))
    found = lowd.dimension(X).suggestions
    assert found["gavish_donoho"] == found["broken_stick"] == found["cross_validation"] == 0
    assert found["parallel"] <= 1  # one time in twenty the first component passes by accident
    assert found["variance_95"] > 15


def test_a_roll_is_curved_into_more():
    found = lowd.dimension(roll(700)[0])
    assert found.suggestions["isomap"] == found.suggestions["two_nn"] == 2
    assert found.suggestions["local_pca"] == found.suggestions["maximum_likelihood"] == 2
    assert found.suggestions["variance_95"] == 3
    one, two, three = found.curves["residual_variance"][:3]
    assert two < 0.1 * one
    assert three > 0.5 * two
    assert "disagree" in found.agreement


def test_of_a_long_strip_the_second_dimension_counts_too():
    found = lowd.dimension(np.random.default_rng(0).random((500, 2)) * [40, 5])
    assert found.suggestions["isomap"] == 2
    assert found.curves["residual_variance"][0] < 0.01


@pytest.mark.parametrize(("far", "count"), [(8, 4), (5, 3)])
def test_eigengap_counts_clusters(far, count):
    rng = np.random.default_rng(2)  # at a distance of 5 the clusters nearly touch
    X = np.vstack([rng.normal(size=(60, 5)) + far * np.eye(5)[c] for c in range(count)])
    assert lowd.dimension(X).suggestions["eigengap"] == count - 1


def test_eigengap_of_a_cube_is_its_dimension():
    X = np.random.default_rng(0).random((400, 3))
    assert lowd.dimension(X).suggestions["eigengap"] == 3


def test_cross_validation_has_a_minimum_and_is_the_formula():
    X = subspace(3, n=60, d=12, noise=0.3)
    count, errors = cross_validate(X, 0)
    assert count == 3
    assert (np.diff(errors[:4]) < 0).all()
    assert (errors[4:] > errors[3]).all()
    assert_allclose(cross_validate(X + 50, 0)[1], errors, rtol=1e-6)
    from lowd.evidence.dimension import _compute_block_errors

    rows, columns = np.arange(60) % 4 == 0, np.arange(12) % 3 == 0
    for Z in (X, X[:, :12][:20]):  # taller than wide, and not
        r = rows[: len(Z)]
        got = _compute_block_errors(Z, r, columns, 4)
        inner = Z[np.ix_(~r, ~columns)]
        U, S, V = np.linalg.svd(inner, full_matrices=False)
        for k in range(5):
            inverse = (V[:k].T / S[:k]) @ U[:, :k].T
            guess = Z[np.ix_(r, ~columns)] @ inverse @ Z[np.ix_(~r, columns)]
            assert_allclose(got[k], ((Z[np.ix_(r, columns)] - guess) ** 2).sum(), rtol=1e-8)


def test_parallel_analysis_shuffles_columns_by_a_seed():
    X = subspace(2, n=100, d=8)
    count, observed, limit = analyze_parallel(X, 10, 0)
    assert count == 2
    assert_allclose(observed, lowd.PCA().fit(X).explained_variance_ratio_, rtol=1e-10)
    assert_array_equal(limit, analyze_parallel(X, 10, 0)[2])
    assert (limit != analyze_parallel(X, 10, 1)[2]).any()
    # Columns keep their values, so the trace is kept: uncorrelated columns are their own limit.
    assert_allclose(analyze_parallel(X, 1, 0)[2].sum(), 1)


def test_curves_are_those_of_pca():
    X = subspace(3)
    found = lowd.dimension(X)
    model = lowd.PCA().fit(X)
    assert_allclose(found.curves["eigenvalues"], model.explained_variance_, rtol=1e-8)
    assert_allclose(found.curves["cumulative"], np.cumsum(model.explained_variance_ratio_))
    correlation = np.sort(np.linalg.eigvalsh(np.corrcoef(X.T)))[::-1]
    assert_allclose(found.curves["correlation_eigenvalues"], correlation, rtol=1e-8)
    wide = lowd.dimension(X[:12]).curves
    assert_allclose(wide["eigenvalues"], lowd.PCA(11).fit(X[:12]).explained_variance_, rtol=1e-8)


@pytest.mark.parametrize("rule", sorted({*get_args(scree.Rule)} - {"mle"}))  # PCA's own
def test_pca_by_a_rule(rule):
    X = subspace(4)
    model = lowd.PCA(rule, scale=rule == "kaiser").fit(X)
    assert model.n_components_ == 4 == lowd.dimension(X).suggestions[rule]
    assert model.transform(X[:3]).shape == (3, 4)
    assert lowd.PCA(rule).fit(np.random.default_rng(0).normal(size=(50, 1))).n_components_ == 1
    assert lowd.PCA(rule).fit(np.ones((20, 3))).n_components_ == 1
    assert lowd.PCA(rule).fit(X[:6]).n_components_ <= 6


def test_sparse_tables_and_types_say_the_same():
    X = np.round(np.maximum(subspace(3, n=80, d=10), 0), 2)
    dense = lowd.dimension(X)
    assert lowd.dimension(csr_array(X)).suggestions == dense.suggestions
    assert lowd.dimension(pd.DataFrame(X)).suggestions == dense.suggestions
    assert lowd.dimension((100 * X).astype(int)).suggestions == dense.suggestions


def test_scale_takes_the_units_out():
    X = subspace(2, n=120, d=6)
    other = X * [1, 10, 100, 1, 0.1, 1000]
    even = lowd.dimension(X, scale=True)
    assert lowd.dimension(other, scale=True).suggestions == even.suggestions
    assert lowd.dimension(other).suggestions != even.suggestions


def test_the_end_of_the_range_is_said():
    X = subspace(60, n=400, d=90, noise=0.01)
    found = lowd.dimension(X)
    assert "cross_validation" not in found.suggestions
    assert "cross_validation would be 50, the end of its range" in "".join(found.notes)
    assert {"isomap", "two_nn", "local_pca"}.isdisjoint(found.suggestions)
    assert "do not show more than about 17 dimensions" in "".join(found.notes)


@pytest.mark.parametrize("unit", [1e200, 7, 1e-30])
def test_a_unit_changes_nothing(unit):
    X = subspace(3, n=60, d=20, seed=1)
    assert lowd.dimension(unit * X).suggestions == lowd.dimension(X).suggestions


def test_what_is_refused():
    X = subspace(2, n=30, d=5)
    X[3, 2] = np.nan
    with pytest.raises(DataError, match="row 3, column 2"):
        lowd.dimension(X)
    with pytest.raises(ColumnTypeError, match="'b'"):
        lowd.dimension(pd.DataFrame({"a": [1.0, 2, 3], "b": list("xyz")}))
    with pytest.raises(DataError, match="varies"):
        lowd.dimension(np.ones((10, 3)))
    with pytest.raises(ParameterError, match="n_permutations=0"):
        lowd.dimension(subspace(), n_permutations=0)


@pytest.mark.parametrize("shape", [(3, 1), (3, 2), (5, 30), (40, 1), (12, 3)])
def test_small_data(shape):
    found = lowd.dimension(np.random.default_rng(0).normal(size=shape))
    assert found.suggestions["variance_95"] >= 1
    assert repr(found)


def test_disagreement_is_said():
    def of(**counts):
        return Dimensions(counts, {}, {}, {}, 10, 5).agreement

    assert "disagree: from 2 (parallel) to 9 (broken_stick)" in of(parallel=2, broken_stick=9)
    assert "curved into more" in of(parallel=6, two_nn=2)
    assert "noise has more" in of(parallel=2, two_nn=8)
    assert of(parallel=3, two_nn=3).endswith("Both agree.")
    mixed = of(parallel=1, cross_validation=8, gavish_donoho=2, two_nn=2)
    assert mixed.endswith("Their medians, 2 and 2, are close to each other.")
    assert "no component stands out" in of(parallel=0, two_nn=2)
    assert set(SIGNAL_RULES) | set(MANIFOLD_RULES) <= set(RULES)


def test_a_column_in_small_units_is_noted():
    X = subspace(3) * np.r_[1000, np.ones(24)]
    assert "column 0 accounts for" in lowd.dimension(X).notes[0]
    assert "scale=True" in lowd.dimension(X).notes[0]
    assert not lowd.dimension(X, scale=True).notes


def test_pages_and_plain_data():
    found = lowd.dimension(subspace(2, n=60, d=6))
    page = ElementTree.fromstring(found._repr_html_())
    assert len(list(page.iter("tr"))) == len(found.suggestions) + 1
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["suggestions"]["parallel"] == 2
    assert plain["agreement"] == found.agreement
    assert found.agreement in repr(found)
    assert "two_nn" in plain["intervals"]


def test_picture():
    pytest.importorskip("matplotlib")
    found = lowd.dimension(subspace(2, n=60, d=6))
    assert len(found.plot()[0].get_yticklabels()) == len(found.suggestions)


def test_of_many_answers_one_is_recommended():
    """Wide noisy data: from 2 to hundreds, and which of them to take."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6)) @ rng.normal(size=(6, 400)) * 0.4 + rng.normal(size=(150, 400))
    found = lowd.dimension(X)
    assert max(found.suggestions.values()) > 50
    assert found.recommended == ("parallel", 6)
    assert "Take 6 (parallel)" in repr(found)
    assert found.to_dict()["recommended"] == {"rule": "parallel", "n_components": 6}
    flat = lowd.dimension(lowd.datasets.swiss_roll(400, seed=5).X)
    assert flat.recommended == ("isomap", 2)


NORMALS = np.random.default_rng(0).normal(size=(500, 100))
CENTERS = np.random.default_rng(1).normal(size=(12, 30)) * 4
BALLS = CENTERS[np.arange(600) % 12] + np.random.default_rng(2).normal(size=(600, 30))
UNIT = NORMALS[:, :3] / np.linalg.norm(NORMALS[:, :3], axis=1)[:, None]


@pytest.mark.parametrize(
    ("X", "count"),
    [
        pytest.param(roll(700)[0], 2, id="a roll, where one component stands out"),
        pytest.param(UNIT, 3, id="a sphere, where none does"),
        pytest.param(BALLS, 11, id="clusters, where strong components hide weak ones"),
        pytest.param(NORMALS[:, :10], None, id="noise of ten columns"),
        pytest.param(NORMALS, None, id="noise of a hundred columns"),
        pytest.param(subspace(5, d=60), 5, id="factors"),
        pytest.param(lowd.PCA().fit_transform(subspace(5, d=60)), 5, id="components of factors"),
    ],
)
def test_what_is_recommended_where_the_answer_is_known(X, count):
    found = lowd.dimension(X)
    assert (found.recommended or ("", None))[1] == count
    if count is None:
        assert "There is no structure to see" in repr(found)
        assert found.to_dict()["recommended"] is None


def test_tracy_widom_finds_the_groups_of_genotypes():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, size=1500)
    centers = np.clip(p + 0.12 * rng.normal(size=(4, 1500)), 0.02, 0.98)

    def count(groups):
        X = rng.binomial(2, centers[np.arange(120) % groups]).astype(float)
        Z = (X - X.mean(0)) / np.maximum(X.std(0), 0.1)
        return scree.count_above_tracy_widom(np.linalg.eigvalsh(Z @ Z.T)[::-1])

    assert [count(groups) for groups in (1, 2, 3, 4)] == [0, 1, 2, 3]
