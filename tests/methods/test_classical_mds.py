"""Classical scaling: worked numbers, invariants, distances that are not Euclidean, peers."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn import manifold

import lowd
from case_data import edit_distance, rows_like
from cases import close, fit
from lowd.errors import IndefiniteWarning, UnsupportedError

TRIANGLE = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
STAR = np.array([[0.0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]])


def scaled(D, k=2, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteWarning)
        return lowd.ClassicalMDS(k, metric="precomputed", **params).fit(np.asarray(D, float))


def centered(D2):
    """-1/2 H D2 H, as the textbooks write it."""
    H = np.eye(len(D2)) - 1 / len(D2)
    return -0.5 * H @ D2 @ H


# -- worked numbers ---------------------------------------------------------------------------


def test_the_triangle():
    B = centered(TRIANGLE**2)
    np.testing.assert_allclose(9 * B, [[25, -2, -23], [-2, 52, -50], [-23, -50, 73]], atol=1e-12)
    model = scaled(TRIANGLE)
    np.testing.assert_allclose(model.eigenvalues_, [12.964148, 3.702519], atol=5e-7)
    np.testing.assert_allclose(
        model.embedding_,
        [[-0.658129, 1.531223], [-2.152311, -1.070203], [2.810440, -0.461020]],
        atol=5e-7,
    )
    np.testing.assert_allclose(model.d2_mean_, [25 / 3, 34 / 3, 41 / 3])
    np.testing.assert_allclose(cdist(model.embedding_, model.embedding_), TRIANGLE, atol=1e-12)


def test_a_new_corner_by_its_distances_alone():
    model = scaled(TRIANGLE)
    found = model.transform([[5.0, 4.0, 3.0]])
    np.testing.assert_allclose(found, [[1.316258, -3.062446]], atol=5e-7)
    np.testing.assert_allclose(cdist(found, model.embedding_), [[5, 4, 3]])
    off = np.sqrt([[6.0, 9.0, 14.0]])
    np.testing.assert_allclose(model.transform(off), [[-0.289047, 0.166020]], atol=5e-7)
    np.testing.assert_allclose(model.residual(off), [4.0])
    np.testing.assert_allclose(model.residual([[5.0, 4.0, 3.0]]), [0], atol=1e-9)


def test_inner_products_from_any_corner():
    """With object r at the origin, centering gives the same matrix for every r."""
    D2 = TRIANGLE**2
    H = np.eye(3) - 1 / 3
    for r in range(3):
        G = (D2[:, [r]] + D2[[r]] - D2) / 2
        np.testing.assert_allclose(H @ G @ H, centered(D2), atol=1e-12)
    np.testing.assert_allclose((D2[:, [0]] + D2[[0]] - D2) / 2, np.diag([0, 9, 16]))


def test_the_star_and_its_corrections():
    """A center at 1 from three leaves that are 2 apart: no Euclidean picture."""
    model = scaled(STAR)
    np.testing.assert_allclose(model.spectrum_, [2, 2, 0, -0.25], atol=1e-12)
    assert (model.n_positive_, model.n_negative_) == (2, 1)
    assert model.negative_eigenvalue_mass_ == pytest.approx(0.25 / 4.25)
    assert model.gof_ == pytest.approx((4 / 4.25, 1.0))
    lingoes = scaled(STAR, correction="lingoes")
    assert lingoes.correction_constant_ == pytest.approx(0.25)
    np.testing.assert_allclose(lingoes.spectrum_, [2.25, 2.25, 0, 0], atol=1e-9)
    cailliez = scaled(STAR, correction="cailliez")
    assert cailliez.correction_constant_ == pytest.approx(0.366025, abs=5e-7)
    np.testing.assert_allclose(cailliez.spectrum_, [2.799038, 2.799038, 0, 0], atol=5e-7)
    for corrected in (lingoes, cailliez):
        assert corrected.n_negative_ == 0
        np.testing.assert_allclose(corrected.transform(STAR), corrected.embedding_, atol=1e-9)


def test_negative_eigenvalues_are_announced():
    with pytest.warns(IndefiniteWarning, match=r"5\.9%"):
        lowd.ClassicalMDS(2, metric="precomputed").fit(STAR)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lowd.ClassicalMDS(2, metric="precomputed").fit(TRIANGLE)
        corrected = lowd.ClassicalMDS(2, metric="precomputed", correction="lingoes")
        corrected.set_params().fit(STAR)


# -- cities -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dissimilarities():
    default = Path(__file__).parents[3] / "shared" / "data"
    path = Path(os.environ.get("LOWD_DATA", default)) / "mds_dissimilarities.npz"
    if not path.is_file():
        pytest.skip("needs mds_dissimilarities.npz in the folder LOWD_DATA")
    with np.load(path, allow_pickle=False) as kept:
        return dict(kept)


@pytest.mark.parametrize(
    ("name", "leading", "smallest", "fit_of"),
    [
        ("UScitiesD", (9582144.3, 1686820.2), -35478.9, (0.995410, 0.999102)),
        ("eurodist", (19538377.1, 11856555.3), -2251844.3, (0.753754, 0.867913)),
    ],
)
def test_cities(dissimilarities, name, leading, smallest, fit_of):
    model = scaled(dissimilarities[f"{name}_D"])
    np.testing.assert_allclose(model.eigenvalues_, leading, atol=0.06)
    assert model.spectrum_.min() == pytest.approx(smallest, abs=0.06)
    assert model.gof_ == pytest.approx(fit_of, abs=5e-7)


def test_the_number_of_negative_eigenvalues_of_european_roads(dissimilarities):
    assert scaled(dissimilarities["eurodist_D"]).n_negative_ == 9


def test_a_city_added_by_its_distances_alone(dissimilarities):
    """Nine cities make the map; the tenth is embedded, within 15 miles in a thousand."""
    D = dissimilarities["UScitiesD_D"]
    whole = scaled(D).embedding_
    for city in range(10):
        others = np.delete(np.arange(10), city)
        model = scaled(D[np.ix_(others, others)])
        found = model.transform(D[[city]][:, others])
        error = np.abs(cdist(found, model.embedding_)[0] - cdist(whole[[city]], whole[others])[0])
        assert error.max() < 0.04 * D.max()


def test_maps_that_are_exactly_flat(dissimilarities):
    for name, rounding in (("guerry", 1e-5), ("stardist", 1e-3)):  # as many digits as were kept
        D = dissimilarities[f"{name}_D"]
        model = scaled(D)
        assert np.abs(cdist(model.embedding_, model.embedding_) - D).max() < rounding * D.max()
        assert model.negative_eigenvalue_mass_ < 2 * rounding


def test_an_asymmetric_table_is_refused(dissimilarities):
    with pytest.raises(lowd.errors.DataError, match="symmetric"):
        scaled(dissimilarities["morse_asym_D"])


# -- invariants -------------------------------------------------------------------------------


def test_euclidean_distances_give_principal_components():
    X, Q = rows_like(50, 5, 1), rows_like(9, 5, 2)
    pca = lowd.PCA(3).fit(X)
    model = scaled(cdist(X, X), 3)
    turn = np.sign((model.embedding_ * pca.transform(X)).sum(0))
    close(model.embedding_, pca.transform(X) * turn)
    close(model.transform(cdist(Q, X)), pca.transform(Q) * turn)
    close(model.eigenvalues_, 49 * pca.explained_variance_)
    np.testing.assert_allclose(model.embedding_.mean(0), 0, atol=1e-12)


def test_a_constant_added_to_squared_distances_changes_nothing():
    """Only differences count: that is why the rows' norms are not needed."""
    X, Q = rows_like(30, 4, 1), rows_like(5, 4, 2)
    model = scaled(cdist(X, X), 2)
    D2 = cdist(Q, X, "sqeuclidean")
    close(model.transform(np.sqrt(D2 + 7)), model.transform(np.sqrt(D2)))


def test_distances_are_reproduced_at_full_rank():
    X = rows_like(30, 4)
    D = cdist(X, X)
    model = scaled(D, 4)
    np.testing.assert_allclose(cdist(model.embedding_, model.embedding_), D, atol=1e-9)
    nested = scaled(D, 2)
    close(nested.embedding_, model.embedding_[:, :2])


def test_the_euclidean_shortcut_has_the_same_answer(dtype):
    """metric='euclidean' is PCA inside; the distances themselves give the same map."""
    X, Q = rows_like(60, 5, 1, dtype), rows_like(9, 5, 2, dtype)
    short = lowd.ClassicalMDS(3).fit(X)
    D = cdist(X, X).astype(dtype)
    long = lowd.ClassicalMDS(3, metric="precomputed").fit(D)
    close(short.embedding_, long.embedding_, dtype)
    close(short.eigenvalues_, long.eigenvalues_, dtype)
    close(short.transform(Q), long.transform(cdist(Q, X).astype(dtype)), dtype)
    close(short.d2_mean_, long.d2_mean_, dtype)
    close(short.d2_grand_mean_, long.d2_grand_mean_, dtype)
    close(short.residual(Q), long.residual(cdist(Q, X).astype(dtype)), dtype, 10)


def test_only_rows_can_be_restored():
    X = rows_like(40, 4)
    model = lowd.ClassicalMDS(2).fit(X)
    pca = lowd.PCA(2).fit(X)
    close(model.inverse_transform(model.transform(X)), pca.inverse_transform(pca.transform(X)))
    with pytest.raises(UnsupportedError, match="metric='euclidean'"):
        scaled(cdist(X, X)).inverse_transform(np.zeros((1, 2)))


def test_landmarks_are_exact_where_they_span_the_space():
    X, Q = rows_like(200, 3, 1), rows_like(20, 3, 2)
    for params in ({"metric": "euclidean"}, {"metric": "minkowski", "metric_params": {"p": 2}}):
        model = lowd.ClassicalMDS(3, n_landmarks=20, **params).fit(X)
        np.testing.assert_allclose(
            cdist(model.embedding_, model.embedding_), cdist(X, X), atol=1e-8
        )
        np.testing.assert_allclose(
            cdist(model.transform(Q), model.embedding_), cdist(Q, X), atol=1e-8
        )
    assert len(set(model.landmarks_.tolist())) == 20


def test_all_points_as_landmarks_is_the_exact_method():
    X, Q = rows_like(60, 4, 1), rows_like(9, 4, 2)
    exact = fit(lowd.ClassicalMDS(2, metric="manhattan"), X)
    model = fit(lowd.ClassicalMDS(2, metric="manhattan", n_landmarks=60), X)
    close(model.embedding_, exact.embedding_)
    close(model.transform(Q), exact.transform(Q))


def test_landmarks_announce_negative_eigenvalues_too():
    X = np.random.default_rng(0).random((200, 30))
    with pytest.warns(IndefiniteWarning):
        lowd.ClassicalMDS(2, metric="chebyshev", n_landmarks=100).fit(X)


def test_the_iterative_spectrum_is_the_dense_one(dtype):
    """Beyond a thousand points the eigenvectors come from products."""
    X = np.random.default_rng(0).random((1100, 4)) * [4, 2, 1, 0.5]
    D = cdist(X, X, "cityblock").astype(dtype)
    model = fit(lowd.ClassicalMDS(2, metric="precomputed"), D)
    values, vectors = np.linalg.eigh(centered(D.astype(np.float64) ** 2))
    close(model.eigenvalues_, values[::-1][:2], dtype)
    Y = vectors[:, ::-1][:, :2] * np.sqrt(values[::-1][:2])
    close(np.abs(model.embedding_), np.abs(Y), dtype)
    share = -values[values < 0].sum() / np.abs(values).sum()
    assert model.negative_eigenvalue_mass_ == pytest.approx(share, rel=0.1)  # a quadrature
    assert not model.negative_mass_is_exact_
    assert model.residual_ < 1e-4


def test_each_answer_to_a_non_euclidean_metric():
    """Dropping loses variance; either constant makes the distances Euclidean; new points follow."""
    X, Q = rows_like(40, 6, 1), rows_like(8, 6, 2)
    dropped = fit(lowd.ClassicalMDS(2, metric="chebyshev"), X)
    assert dropped.negative_eigenvalue_mass_ > 0.01
    for correction in ("lingoes", "cailliez"):
        model = lowd.ClassicalMDS(39, metric="chebyshev", correction=correction)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lowd.errors.RankWarning)
            model.fit(X)
        assert model.negative_eigenvalue_mass_ < 1e-8
        D = cdist(X, X, "chebyshev")
        c, off = model.correction_constant_, ~np.eye(40, dtype=bool)
        expected = np.sqrt(D**2 + 2 * c) if correction == "lingoes" else D + c
        found = cdist(model.embedding_, model.embedding_)
        np.testing.assert_allclose(found[off], expected[off], rtol=1e-5)
        # The smallest such constant: a little less is not enough.
        less = np.where(
            off, np.sqrt(D**2 + 1.98 * c) if correction == "lingoes" else D + 0.99 * c, 0
        )
        assert np.linalg.eigvalsh(centered(less**2)).min() < -1e-9
        assert np.isfinite(model.transform(Q)).all()
        close(model.transform(X[:3]), model.embedding_[:3], factor=1e3)


# -- peers and strings -----------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(manifold, "ClassicalMDS"), reason="scikit-learn 1.8 brought it")
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_same_as_scikit_learn(metric):
    X = rows_like(60, 5)
    given = cdist(X, X, "cityblock") if metric == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = manifold.ClassicalMDS(n_components=3, metric=metric).fit(given)
    model = fit(lowd.ClassicalMDS(3, metric=metric), given)
    close(model.eigenvalues_, peer.eigenvalues_)
    turn = np.sign((model.embedding_ * peer.embedding_).sum(0))
    close(model.embedding_, peer.embedding_ * turn)


def test_words_by_their_edit_distance():
    """Families of words stay together, and a new word joins its own."""
    families = [
        ["karate", "karats", "karat"],
        ["mitten", "kitten", "smitten"],
        ["zoo", "zoos", "zo"],
    ]
    words = [word for family in families for word in family]
    assert edit_distance("kitten", "sitting") == 3
    model = fit(lowd.ClassicalMDS(3, metric=edit_distance), words)
    close(model.transform(words), model.embedding_)
    for new, family in (("karates", 0), ("bitten", 1), ("zooms", 2)):
        distances = cdist(model.transform([new]), model.embedding_)[0].reshape(3, 3).mean(1)
        assert distances.argmin() == family


def test_each_pair_of_objects_is_measured_once():
    calls = []

    def metric(a, b):
        calls.append((a, b))
        return abs(a - b)

    model = lowd.ClassicalMDS(1, metric=metric).fit([1.0, 2.0, 4.0, 8.0])
    assert len({frozenset(pair) for pair in calls[:6] if pair[0] != pair[1]}) == 6
    assert len(calls) == 6 + 4 + 6  # the pairs; each object with itself, and the pairs reversed
    model.transform([3.0])
    assert len(calls) == 16 + 4
    np.testing.assert_allclose(
        np.abs(np.subtract.outer(*[model.embedding_[:, 0]] * 2)),
        np.abs(np.subtract.outer(*[[1.0, 2, 4, 8]] * 2)),
        atol=1e-9,
    )


def test_negative_share_that_is_printed_as_zero_is_no_warning(rng):
    """Distances rounded to 0.0005: 0.03 % of the spectrum is negative."""
    X = rng.normal(size=(40, 2))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(-1))
    almost = np.round(D / 5e-4) * 5e-4
    model = lowd.ClassicalMDS(2, metric="precomputed").fit(almost)
    assert 1e-4 < model.negative_eigenvalue_mass_ < 5e-4
    with pytest.warns(IndefiniteWarning, match=r"0\.[1-9]% of the spectrum"):
        lowd.ClassicalMDS(2, metric="precomputed").fit(np.round(D, 2))


def test_the_unit_of_distances_does_not_count_dimensions():
    """Eigenvalues are positive beyond rounding of the largest, however small that is."""
    X = rows_like(40, 5)
    for unit in (1e-9, 1.0, 1e9):
        model = lowd.ClassicalMDS(2, metric="precomputed").fit(cdist(X, X) * unit)
        assert (model.n_positive_, model.n_negative_) == (5, 0)


def test_squared_distances_among_landmarks_are_reported():
    X = rows_like(60, 5)
    model = lowd.ClassicalMDS(2, metric="manhattan", n_landmarks=20)
    model = fit(model, X)
    squares = cdist(X[model.landmarks_], X[model.landmarks_], "cityblock") ** 2
    close(model.d2_mean_, squares.mean(0))
    assert model.d2_grand_mean_ == pytest.approx(squares.mean())
