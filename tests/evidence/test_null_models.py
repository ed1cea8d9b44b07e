"""Two null models: noise is called noise, linear relations are called linear, and no more."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import datasets

import lowd
from lowd.evidence.null_models import compare_with_nulls

RNG = np.random.default_rng(0)
DIRECTIONS = RNG.normal(size=(2, 12))
SPHERE = RNG.normal(size=(600, 3))
SPHERE /= np.linalg.norm(SPHERE, axis=1)[:, None]
CENTERS = 4 * RNG.normal(size=(6, 20))
KNOWN = {
    "normal": (RNG.normal(size=(400, 15)), "noise"),
    "many columns": (RNG.normal(size=(300, 100)), "noise"),
    "more columns than rows": (RNG.normal(size=(100, 1500)), "noise"),
    "uniform": (RNG.uniform(size=(500, 3)), "noise"),
    "independent heavy tails": (RNG.lognormal(size=(400, 6)), "noise"),
    "correlated noise": (RNG.normal(size=(400, 5)) @ RNG.normal(size=(5, 5)), "linear"),
    "plane": (
        RNG.normal(size=(300, 2)) @ DIRECTIONS + 0.1 * RNG.normal(size=(300, 12)),
        "linear",
    ),
    "Swiss roll": (datasets.make_swiss_roll(500, random_state=0)[0], "structure"),
    "sphere": (SPHERE, "structure"),
    "blobs": (CENTERS[RNG.integers(0, 6, 300)] + RNG.normal(size=(300, 20)), "structure"),
    "wine": (datasets.load_wine().data / datasets.load_wine().data.std(0), "structure"),
    "iris": (datasets.load_iris().data, "structure"),
    "digits": (datasets.load_digits().data, "structure"),
}


def compare(X, seed=0):
    return compare_with_nulls(X, seed)


@pytest.mark.parametrize("name", KNOWN)
def test_the_simplest_null_model_that_holds_is_named(name):
    X, kind = KNOWN[name]
    found = compare(X)
    assert found.kind == kind
    if kind == "structure":
        assert found.claim == ""
        assert max(found.independent.ratio, found.linear.ratio) < 0.97
    else:
        test = found.independent if kind == "noise" else found.linear
        assert abs(test.ratio - 1) < 0.08
        assert f"p = {test.p_value:.2f}" in found.claim


def test_noise_is_rarely_taken_for_structure():
    """The test has a level of one draw in forty: more than 7 of 80 happen once in 1000."""
    rng = np.random.default_rng(1)
    kinds = [compare(rng.normal(size=(60, 4)), seed).kind for seed in range(80)]
    assert kinds.count("noise") >= 73


def test_neither_units_nor_a_large_offset_nor_sparse_storage_matter():
    X = KNOWN["Swiss roll"][0]
    found = compare(X)
    # Other bits draw other rows.
    np.testing.assert_allclose(compare(1e-30 * X).independent, found.independent, rtol=0.08)
    np.testing.assert_allclose(compare(X + 1e5).linear, found.linear, rtol=0.08)
    np.testing.assert_allclose(compare(csr_array(X)).linear, found.linear)


def test_order_of_rows_does_not_matter():
    X = KNOWN["wine"][0]
    np.testing.assert_allclose(compare(X[::-1]).linear, compare(X).linear)


def test_duplicates_have_no_logarithm_and_do_no_harm():
    X = np.repeat(RNG.normal(size=(30, 3)), 20, axis=0)
    found = compare(X)
    assert found.kind == "structure"
    assert np.isfinite(found.independent.ratio)


@pytest.mark.parametrize(
    "X", [np.zeros((50, 3)), RNG.normal(size=(50, 1)), RNG.normal(size=(9, 3))]
)
def test_too_little_to_compare_has_no_answer(X):
    assert compare(X) is None


def test_the_verdict_says_first_that_there_is_nothing_to_see():
    X = KNOWN["normal"][0]
    found = lowd.evaluate(X, lowd.TSNE(max_iter=50).fit_transform(X))
    assert found.verdict.startswith("There is no structure to see: neighbors are as far apart")
    assert found.to_dict()["structure"]["kind"] == "noise"
    plane = KNOWN["plane"][0]
    found = lowd.evaluate(plane, lowd.PCA(2).fit_transform(plane))
    assert found.verdict.startswith("Linear relations are all there is, and PCA shows them")
    digits = KNOWN["digits"][0]
    assert lowd.evaluate(digits, digits[:, :2]).verdict.startswith("Points")


def test_other_distances_are_not_compared():
    X = KNOWN["normal"][0]
    assert lowd.evaluate(X, X[:, :2], metric="manhattan").structure is None
