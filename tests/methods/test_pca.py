"""Principal component analysis: worked numbers, invariants, all routes, hard data, peers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from scipy.sparse import csr_array
from sklearn import decomposition
from sklearn.datasets import load_digits, load_iris

import lowd
from case_data import rows_like
from cases import close
from lowd.errors import RankWarning, ScaleWarning
from oracles import angles, exact_axes

HOURS = np.array([[10.0, 90.0], [6.0, 68.0], [20.0, 95.0]])


# -- worked numbers ---------------------------------------------------------------------------


def test_hours_and_scores():
    model = lowd.PCA().fit(HOURS)
    np.testing.assert_allclose(model.explained_variance_, [244.711872, 13.621461], atol=5e-7)
    np.testing.assert_allclose(model.explained_variance_ratio_, [0.947272, 0.052728], atol=5e-7)
    np.testing.assert_allclose(model.singular_values_, [22.122923, 5.219475], atol=5e-7)
    np.testing.assert_allclose(
        model.components_, [[0.407524, 0.913194], [0.913194, -0.407524]], atol=5e-7
    )
    np.testing.assert_allclose(
        model.transform(HOURS),
        [[4.359721, -4.135692], [-17.360654, 1.177059], [13.000933, 2.958632]],
        atol=5e-7,
    )
    np.testing.assert_allclose(model.transform([[12, 80]]), [[-3.957176, 1.765938]], atol=5e-7)
    population = lowd.PCA(ddof=0).fit(HOURS)
    np.testing.assert_allclose(population.explained_variance_, [163.141248, 9.080974], atol=5e-7)


def test_hours_and_scores_reconstructed():
    model = lowd.PCA(1).fit(HOURS)
    back = model.inverse_transform(model.transform(HOURS))
    expected = [[13.776691, 88.314606], [4.925116, 68.479680], [17.298193, 96.205714]]
    np.testing.assert_allclose(back, expected, atol=5e-7)
    assert ((HOURS - back) ** 2).sum() == pytest.approx(27.242923, abs=5e-7)


def test_hours_and_scores_standardized():
    model = lowd.PCA(scale=True).fit(HOURS)
    np.testing.assert_allclose(model.explained_variance_, [1.830256, 0.169744], atol=5e-7)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(model.components_, [[half, half], [half, -half]], atol=1e-9)
    scores = model.transform(HOURS)
    np.testing.assert_allclose(scores[:, 0], [0.082835, -1.392384, 1.309549], atol=5e-7)
    population = lowd.PCA(scale=True, ddof=0).fit_transform(HOURS)
    np.testing.assert_allclose(population[:, 0], [0.101452, -1.705315, 1.603863], atol=5e-7)
    np.testing.assert_allclose(population[:, 1], [-0.581836, 0.264161, 0.317675], atol=5e-7)
    expected = [[12.422377, 85.174696], [4.900208, 70.190753], [18.677415, 97.634551]]
    for ddof in (0, 1):
        one = lowd.PCA(1, scale=True, ddof=ddof).fit(HOURS)
        back = one.inverse_transform(one.transform(HOURS))
        np.testing.assert_allclose(back, expected, atol=5e-7)


def test_the_gram_trick_by_hand():
    X = np.array([[1.0, 0, 2, 1], [0, 3, 1, -1], [2, 1, 0, 0]])
    G = (X - X.mean(0)) @ (X - X.mean(0)).T
    np.testing.assert_allclose(9 * G, [[34, -29, -5], [-29, 43, -14], [-5, -14, 19]], atol=1e-12)
    with pytest.warns(RankWarning, match="2"):
        model = lowd.PCA(3).fit(X)
    np.testing.assert_allclose(model.scatter_eigenvalues_, [23 / 3, 3, 0], atol=1e-12)
    np.testing.assert_allclose(model.explained_variance_ratio_[:2], [0.71875, 0.28125], atol=1e-12)
    V = model.components_[:2] * np.sign(model.components_[:2, [1, 2]].max(1))[:, None]
    np.testing.assert_allclose(V[0], [-0.334367, 0.780189, -0.167183, -0.501550], atol=5e-7)
    np.testing.assert_allclose(V[1], [-0.617213, 0, 0.771517, 0.154303], atol=5e-7)
    scores = model.transform(X)
    assert (scores[:, 2] == 0).all()
    expected = [[-1.708987, 0.925820], [2.136233, 0.462910], [-0.427247, -1.388730]]
    np.testing.assert_allclose(scores[:, :2], expected, atol=5e-7)


def test_through_the_origin_or_through_the_mean():
    X = np.array([[10.0, 0], [10, 1], [10, 2], [10, 3]])
    origin = lowd.PCA(1, center=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        origin.fit(X)
        mean = lowd.PCA(1).fit(X)
    np.testing.assert_allclose(origin.components_, [[0.988666, 0.150135]], atol=5e-7)
    left = X - origin.inverse_transform(origin.transform(X))
    assert (left**2).sum() == pytest.approx(4.888645, abs=5e-7)
    assert (origin.mean_ == 0).all()
    np.testing.assert_allclose(mean.components_, [[0, 1]], atol=1e-12)
    np.testing.assert_allclose(mean.transform(X)[:, 0], [-1.5, -0.5, 0.5, 1.5])
    np.testing.assert_allclose(mean.inverse_transform(mean.transform(X)), X, atol=1e-12)


# -- invariants ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ddof", [0, 1])
def test_scores_and_variances(ddof):
    X = rows_like(80, 6)
    model = lowd.PCA(4, ddof=ddof).fit(X)
    V, Z = model.components_, model.transform(X)
    np.testing.assert_allclose(V @ V.T, np.eye(4), atol=1e-12)
    P = V.T @ V
    np.testing.assert_allclose(P @ P, P, atol=1e-12)
    np.testing.assert_allclose(Z.mean(0), 0, atol=1e-12)
    expected = np.diag(model.explained_variance_)
    np.testing.assert_allclose(np.cov(Z.T, ddof=ddof), expected, atol=1e-12)
    # What is not reconstructed is the variance that was not kept.
    left = ((X - model.inverse_transform(Z)) ** 2).sum()
    everything = lowd.PCA(ddof=ddof).fit(X)
    assert left == pytest.approx((80 - ddof) * everything.explained_variance_[4:].sum())
    assert everything.explained_variance_ratio_.sum() == pytest.approx(1)
    assert model.total_variance_ == pytest.approx(np.var(X, axis=0, ddof=ddof).sum())
    assert model.noise_variance_ == pytest.approx(everything.explained_variance_[4:].mean())
    assert model.n_samples_ == 80


def test_no_direction_beats_the_first(rng):
    X = rows_like(80, 6)
    best = lowd.PCA(1).fit(X).explained_variance_[0]
    W = rng.normal(size=(6, 1000))
    W /= np.linalg.norm(W, axis=0)
    assert (X @ W).var(0, ddof=1).max() < best * (1 + 1e-12)


def test_kept_distances():
    """The sum of squared distances between projected rows is 2 n tr(V'SV): PCA keeps rows apart."""
    X = rows_like(40, 6)
    model = lowd.PCA(3).fit(X)
    Z = model.transform(X)
    squares = ((Z[:, None] - Z) ** 2).sum()
    assert squares == pytest.approx(2 * 40 * model.scatter_eigenvalues_.sum())


def test_the_flat_through_the_mean_is_never_worse(rng):
    X = rows_like(40, 5)
    for k in (1, 2, 3):
        model = lowd.PCA(k).fit(X)
        left = ((X - model.inverse_transform(model.transform(X))) ** 2).sum()
        W = np.linalg.qr(rng.normal(size=(5, k)))[0]
        assert left <= ((X - X @ W @ W.T) ** 2).sum()
        origin = lowd.PCA(k, center=False).fit(X)
        through = ((X - origin.inverse_transform(origin.transform(X))) ** 2).sum()
        assert left <= through <= ((X - X @ W @ W.T) ** 2).sum()


def test_standardized_variances_sum_to_the_number_of_columns():
    X = rows_like(60, 5) * [1, 10, 100, 0.1, 3]
    models = [lowd.PCA(scale=True, ddof=ddof).fit(X) for ddof in (0, 1)]
    for model in models:
        assert model.explained_variance_.sum() == pytest.approx(5)
    np.testing.assert_allclose(models[0].components_, models[1].components_, atol=1e-10)


def test_motions(rng):
    X = rows_like(60, 5)
    Z = lowd.PCA(3).fit_transform(X)
    np.testing.assert_allclose(lowd.PCA(3).fit_transform(X + 7), Z, atol=1e-11)
    R = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    turned = lowd.PCA(3).fit_transform(X @ R)
    np.testing.assert_allclose(np.abs(turned), np.abs(Z), atol=1e-11)
    unit = X * [1, 1, 1000, 1, 1]
    with pytest.warns(ScaleWarning):
        assert not np.allclose(np.abs(lowd.PCA(3).fit_transform(unit)), np.abs(Z))
    scaled = [lowd.PCA(3, scale=True).fit_transform(A) for A in (X, unit)]
    np.testing.assert_allclose(*scaled, atol=1e-10)


def test_whitened_scores_have_unit_covariance():
    X = rows_like(60, 5)
    for ddof in (0, 1):
        model = lowd.PCA(3, whiten=True, ddof=ddof).fit(X)
        Z = model.transform(X)
        np.testing.assert_allclose(np.cov(Z.T, ddof=ddof), np.eye(3), atol=1e-11)
        plain = lowd.PCA(3).fit(X)
        np.testing.assert_allclose(
            model.inverse_transform(Z), plain.inverse_transform(plain.transform(X)), atol=1e-11
        )


def test_coordinates_go_there_and_back(rng):
    for params in ({}, {"whiten": True}, {"scale": True}, {"scale": True, "whiten": True}):
        model = lowd.PCA(3, **params).fit(rows_like(60, 5))
        Z = rng.normal(size=(9, 3))
        np.testing.assert_allclose(model.transform(model.inverse_transform(Z)), Z, atol=1e-11)


def test_a_share_of_variance_is_the_fewest_axes_that_keep_it():
    X = rows_like(60, 6)
    ratios = np.cumsum(lowd.PCA().fit(X).explained_variance_ratio_)
    for share in (0.3, 0.7, 0.95, 0.9999):
        k = lowd.PCA(share).fit(X).n_components_
        assert ratios[k - 1] >= share
        assert k == 1 or ratios[k - 2] < share
        assert k == decomposition.PCA(share, svd_solver="full").fit(X).n_components_


def test_a_share_that_is_met_exactly_counts_as_in_scikit_learn():
    """Four columns of the same variance, to the last bit: more than the share is kept."""
    X = np.vstack([np.eye(4), -np.eye(4)])
    for share in (0.25, 0.5, 0.75):
        expected = decomposition.PCA(share, svd_solver="full").fit(X).n_components_
        assert lowd.PCA(share).fit(X).n_components_ == expected == 4 * share + 1


def test_variance_never_increases_along_the_axes():
    for X in (rows_like(30, 20), load_digits().data[:300], np.eye(9)):
        variances = lowd.PCA().fit(X).explained_variance_
        assert (np.diff(variances) <= 1e-12 * variances[0]).all()


# -- hard data ------------------------------------------------------------------------------------


def test_whitening_does_not_blow_up_rounding(rng):
    """Rank 3 and noise of 1e-9, six whitened axes: the three that are rounding stay zero."""
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 10)) + 1e-9 * rng.normal(size=(200, 10))
    with pytest.warns(RankWarning, match="rank 3"):
        model = lowd.PCA(6, whiten=True).fit(X)
    Z = model.transform(rng.normal(size=(50, 3)) @ rng.normal(size=(3, 10)))
    assert np.isfinite(Z).all()
    assert model.rank_ == 3
    assert np.abs(model.transform(X)).max() < 10
    assert (model.transform(X)[:, 3:] == 0).all()


@pytest.mark.parametrize("rank", [1, 4, 5])
def test_the_rank_does_not_depend_on_the_type(rank, rng):
    X = rng.normal(size=(100, rank)) @ rng.normal(size=(rank, 5)) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        for kind in (np.float64, np.float32):
            assert lowd.PCA().fit(X.astype(kind)).rank_ == rank
            assert lowd.KernelPCA().fit(X.astype(kind)).n_components_ == rank


@pytest.mark.parametrize("how", ["dense", "sparse", "batches"])
def test_weights_are_multiplicities(how, rng):
    X, counts = np.round(rows_like(50, 4), 2), rng.integers(0, 4, 50)
    expected = lowd.PCA(3).fit(np.repeat(X, counts, axis=0))
    model = lowd.PCA(3)
    if how == "batches":
        model.partial_fit(X[:20], sample_weight=counts[:20])
        model.partial_fit(X[20:], sample_weight=counts[20:])
    else:
        model.fit(csr_array(X) if how == "sparse" else X, sample_weight=counts)
    close(model.components_, expected.components_)
    close(model.explained_variance_, expected.explained_variance_)
    close(model.mean_, expected.mean_)
    assert model.n_samples_ == counts.sum()
    close(model.fit_transform(X, sample_weight=counts), model.transform(X))


def test_weights_that_are_shares_are_refused_with_the_remedy():
    X = rows_like(40, 4)
    with pytest.raises(lowd.errors.DataError, match="multiply them by"):
        lowd.PCA(2).fit(X, sample_weight=np.full(40, 1 / 40))
    equal = lowd.PCA(2).fit(X, sample_weight=np.full(40, 1.0))
    close(equal.explained_variance_, lowd.PCA(2).fit(X).explained_variance_)
    shares = lowd.PCA(2, ddof=0).fit(X, sample_weight=np.full(40, 1 / 40))
    close(shares.components_, equal.components_)


def test_one_column_that_owns_the_variance_is_named():
    X = rows_like(60, 4)
    frame = pd.DataFrame(X * [1, 1, 1000, 1], columns=["a", "b", "salary", "d"])
    with pytest.warns(ScaleWarning, match="'salary'"):
        lowd.PCA(2).fit(frame)
    with pytest.warns(ScaleWarning, match="column 2"):
        lowd.PCA(2).fit(frame.to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lowd.PCA(2).fit(X)
        lowd.PCA(2, scale=True).fit(frame)
        lowd.PCA(1).fit(X[:, :1])


def test_equal_variances_are_said_to_be_equal():
    """A square: any direction is as good; the basis is a convention and is named."""
    X = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    model = lowd.PCA(2).fit(X)
    assert model.degenerate_axes_ == ((0, 1),)
    assert lowd.PCA(2).fit(X * [2, 1]).degenerate_axes_ == ()


def test_a_circle_has_no_best_line():
    t = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    model = lowd.PCA(2).fit(np.column_stack([np.cos(t), np.sin(t)]))
    np.testing.assert_allclose(model.explained_variance_ratio_, [0.5, 0.5], atol=1e-12)
    assert model.degenerate_axes_ == ((0, 1),)


def test_axes_that_are_not_orthogonal_cannot_be_found():
    """Variance 2 along (1, 0) and 0.72 along (1, 1)/sqrt 2: PCA's axes are neither."""
    sources = np.array([[1.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5)]])
    C = 2 * np.outer(sources[0], sources[0]) + 0.72 * np.outer(sources[1], sources[1])
    X = np.linalg.cholesky(C) @ np.array([[1, 1, -1, -1], [1, -1, 1, -1]])
    model = lowd.PCA(ddof=0).fit(X.T)
    np.testing.assert_allclose(model.explained_variance_, [2.422826, 0.297174], atol=5e-7)
    degrees = np.degrees(np.arccos(np.abs(np.diagonal(model.components_ @ sources.T))))
    np.testing.assert_allclose(degrees, [9.9, 54.9], atol=0.06)


# -- peers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "params"),
    [
        ("iris", {}),
        ("digits", {"n_components": 5}),
        ("digits", {"whiten": True}),
        ("wide", {}),
        ("wide", {"n_components": 5}),
    ],
)
def test_same_as_scikit_learn(params, data):
    sources = {"digits": load_digits().data[:400], "iris": load_iris().data}
    X = sources.get(data, rows_like(30, 80))
    peer = decomposition.PCA(svd_solver="full", **params).fit(X)
    model = lowd.PCA(**params).fit(X)
    keep = peer.explained_variance_ > 1e-10 * peer.explained_variance_[0]
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(model, name)[keep], getattr(peer, name)[keep], rtol=1e-8)
    np.testing.assert_allclose(model.mean_, peer.mean_)
    np.testing.assert_allclose(model.noise_variance_, peer.noise_variance_, rtol=1e-8, atol=1e-12)
    distinct = keep & (np.gradient(peer.explained_variance_) < -1e-6 * peer.explained_variance_[0])
    turn = np.sign((model.components_ * peer.components_).sum(1))[distinct]
    np.testing.assert_allclose(
        model.components_[distinct] * turn[:, None], peer.components_[distinct], atol=1e-6
    )
    np.testing.assert_allclose(
        model.transform(X)[:, distinct] * turn, peer.transform(X)[:, distinct], atol=1e-5
    )
    assert model.transform(X).shape == peer.transform(X).shape


def test_where_scikit_learns_default_loses_its_axes(rng):
    """float32 with mean 1000 and spread 1: the axes of float64."""
    X = (rng.normal(size=(20_000, 20)) * np.r_[10, 5, 3, np.ones(17)] + 1000).astype(np.float32)
    _, V = exact_axes(X, 3)
    model = lowd.PCA(3).fit(X)
    assert angles(model.components_.T.astype(float), V).max() < 1e-3
    np.testing.assert_allclose(np.sqrt(model.explained_variance_), [10, 5, 3], rtol=0.03)


def test_digits_in_two_dimensions():
    """Five-fold 1-NN accuracy of the 1797 digits on two axes, as known: 0.57."""
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    X, y = load_digits(return_X_y=True)
    Z = lowd.PCA(2).fit_transform(X)
    score = cross_val_score(KNeighborsClassifier(1), Z, y, cv=5).mean()
    assert score == pytest.approx(0.570, abs=0.03)
    ratios = lowd.PCA().fit(X).explained_variance_ratio_
    np.testing.assert_allclose(ratios[:3], [0.148906, 0.136188, 0.117946], atol=1e-6)


def test_a_swiss_roll_is_not_unrolled():
    """PCA must fail here: arc length is not linear in any two directions."""
    from sklearn.datasets import make_swiss_roll
    from sklearn.linear_model import LinearRegression

    X, arc = make_swiss_roll(1000, random_state=0)
    Z = lowd.PCA(2).fit_transform(X)
    assert LinearRegression().fit(Z, arc).score(Z, arc) < 0.2


@pytest.mark.parametrize(("variances", "expected"), [([3, 2], 2), ([9, 1, 1], 1), ([9, 8, 1], 2)])
def test_the_likeliest_split_needs_three_eigenvalues(variances, expected):
    """Two are not split: either group would fit its own mean."""
    corners = scipy.linalg.hadamard(4)[:, 1 : 1 + len(variances)]  # uncorrelated
    model = lowd.PCA("profile_likelihood").fit(corners * np.sqrt(variances))
    assert model.n_components_ == expected
