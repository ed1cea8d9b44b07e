"""Laplacian eigenmaps of rows: manifolds, duplicates, far and isolated rows, landmarks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist

import lowd
from case_data import rows_like
from cases import close, same_bits
from lowd.errors import (
    DataError,
    DisconnectedGraphWarning,
    LocalizedAxisWarning,
    ParameterError,
    RankWarning,
)
from manifolds import lattice, roll, roll_with_hole

# Of few rows, an axis is easily about a few; where that is the subject it is asked for.
pytestmark = pytest.mark.filterwarnings("ignore::lowd.errors.LocalizedAxisWarning")
isolated = pytest.mark.filterwarnings("ignore::lowd.errors.DisconnectedGraphWarning")

NORMALIZATIONS = ("random_walk", "symmetric", "none")


def laplacian(W):
    return np.diag(W.sum(1)) - W


def up_to_sign(actual, expected, tolerance=1e-9):
    flips = np.sign((actual * expected).sum(0))
    np.testing.assert_allclose(actual * flips, expected, rtol=0, atol=tolerance)


def test_the_fiedler_vector_separates_two_clusters(rng):
    """The first axis parts two clusters by its sign."""
    X = rng.normal(size=(80, 3)) + np.repeat([[0.0, 0, 0], [7, 0, 0]], 40, axis=0)
    model = lowd.LaplacianEigenmaps(1, n_neighbors=None, sigma=1.5).fit(X)
    side = model.embedding_[:, 0] > 0
    assert set(side[:40]) != set(side[40:])
    assert len(set(side[:40])) == len(set(side[40:])) == 1
    assert model.fiedler_value_ < 0.05
    new = 0.5 * rng.normal(size=(40, 3)) + np.repeat([[0.0, 0, 0], [7, 0, 0]], 20, axis=0)
    positive = model.transform(new)[:, 0] > 0
    assert (positive == np.repeat([side[0], side[-1]], 20)).all()


@pytest.mark.parametrize("make", [roll, roll_with_hole])
def test_a_roll_is_followed(make):
    """The first axis is a function of the length along the roll, for held-out rows too."""
    X, t = make(1500)
    Q, s = make(300, seed=7)
    model = lowd.LaplacianEigenmaps(2).fit(X)
    assert abs(_spearman(model.embedding_[:, 0], t[:, 0])) > 0.995
    assert abs(_spearman(model.transform(Q)[:, 0], s[:, 0])) > 0.995


def _spearman(a, b):
    return np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1]


def test_two_far_rolls():
    """Joined with a warning that says sizes, or refused; and each still has its shape."""
    X = np.r_[roll(300)[0], roll(200, seed=3)[0] + 500]
    model = lowd.LaplacianEigenmaps(3)
    with pytest.warns(DisconnectedGraphWarning, match="300, 200"):
        Y = model.fit_transform(X)
    assert Y.shape == (500, 3)
    assert model.n_graph_components_ == 2
    assert np.bincount(model.graph_components_).tolist() == [300, 200]
    (a, b), weights = model.bridges_[0], model.affinity_.copy()
    strength = weights[a, b]
    weights[a, b] = weights[b, a] = 1  # all others are ordinary
    assert weights[b, a] == 1
    assert strength == pytest.approx(max(weights.data.min(), np.exp(-4.5)))
    for rows in (slice(0, 300), slice(300, 500)):
        assert (Y[rows].std(0) > 1e-4).all()
    close(model.transform(X), Y)  # the ends of the bridge included
    with pytest.raises(DataError, match=r"2 connected components.*300, 200"):
        lowd.LaplacianEigenmaps(3, on_disconnected="error").fit(X)


def test_a_kernel_without_neighbors():
    X = np.r_[rows_like(30), rows_like(20, seed=4) + 300]
    model = lowd.LaplacianEigenmaps(2, n_neighbors=None)
    with pytest.warns(DisconnectedGraphWarning, match="sigma"):
        Y = model.fit_transform(X)
    assert model.n_graph_components_ == 2
    close(model.transform(X), Y)
    with pytest.raises(DataError, match="raise sigma"):
        lowd.LaplacianEigenmaps(2, n_neighbors=None, on_disconnected="error").fit(X)


def test_duplicates_count_and_coincide():
    """Every row twelve times, in any order, is the embedding of the distinct rows."""
    X = roll(200)[0]
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(200), 12))
    once = lowd.LaplacianEigenmaps(2).fit(X)
    model = lowd.LaplacianEigenmaps(2).fit(X[rows])
    assert model.n_distinct_ == 200
    close(model.embedding_, once.embedding_[rows])
    Y = {}
    for row, y in zip(rows, model.embedding_, strict=True):
        same_bits(Y.setdefault(row, y), y)
    Q = roll(50, seed=9)[0]
    close(model.transform(Q), once.transform(Q))


@pytest.mark.parametrize("normalization", ["random_walk", "none"])
def test_multiplicities_weigh(normalization):
    """Some rows several times: the problem with masses, solved densely, row by row."""
    X = rows_like(40)
    rows = np.repeat(np.arange(40), np.arange(40) % 3 + 1)
    params = {"normalization": normalization, "scale": "unit", "n_neighbors": 6, "sigma": 1.5}
    model = lowd.LaplacianEigenmaps(3, **params).fit(X[rows])
    w = lowd.LaplacianEigenmaps(3, **params).fit(X).affinity_.toarray()
    W = w[np.ix_(rows, rows)]
    B = np.eye(len(W)) if normalization == "none" else np.diag(W.sum(1))
    values, U = scipy.linalg.eigh(laplacian(W), B)
    same = [j for j in range(1, len(W)) if np.ptp(U[rows == 2, j]) < 1e-8]
    same = [j for j in same if all(np.ptp(U[rows == r, j]) < 1e-8 for r in range(40))][:3]
    close(model.eigenvalues_[1:], values[same])
    up_to_sign(model.embedding_, U[:, same], 1e-7)


def test_order_of_rows_on_a_lattice():
    """Ties are all neighbors, so permuting rows permutes the embedding."""
    X = lattice(12, 7)[3:]  # without symmetry, which would leave signs open
    order = np.random.default_rng(1).permutation(len(X))
    for k in (3, 5, 8):
        one = lowd.LaplacianEigenmaps(2, n_neighbors=k).fit(X)
        two = lowd.LaplacianEigenmaps(2, n_neighbors=k).fit(X[order])
        close(two.embedding_, one.embedding_[order])
        assert not one.affinity_.diagonal().any()  # itself is at distance 0, but no neighbor
        Q = lattice(11, 6) + 0.5
        close(two.transform(Q), one.transform(Q))


def test_three_rows_that_hang_by_a_thread():
    """The warning names the axis and the rows; without them there is none."""
    X = roll(400)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        W = lowd.LaplacianEigenmaps(2).fit(X).affinity_.toarray()
    hanging = np.zeros((403, 403))
    hanging[:400, :400] = W
    hanging[400:, 400:] = 1 - np.eye(3)
    hanging[10, 400] = hanging[400, 10] = 1e-4
    with pytest.warns(LocalizedAxisWarning, match=r"axis 0 .*400, 401, 402"):
        lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(hanging)


@isolated
def test_constant_data():
    X = np.full((30, 4), 3.0)
    for params in ({}, {"n_neighbors": None}, {"radius": 1.0}):
        with pytest.warns(RankWarning, match="1 distinct"):
            model = lowd.LaplacianEigenmaps(2, **params).fit(X)
        assert not model.embedding_.any()
        assert not model.transform(rows_like(5, 4)).any()


def test_few_rows():
    X = rows_like(6, 3)
    with pytest.raises(ParameterError, match="use n_neighbors=5 or less"):
        lowd.LaplacianEigenmaps(2, n_neighbors=6).fit(X)
    model = lowd.LaplacianEigenmaps(5, n_neighbors=5).fit(X)
    assert np.isfinite(model.embedding_).all()
    with pytest.raises(ParameterError, match="exceeds 5"):
        lowd.LaplacianEigenmaps(6, n_neighbors=5).fit(X)
    with pytest.raises(ParameterError, match=r"only 3 of the 12 rows.*n_neighbors=2"):
        lowd.LaplacianEigenmaps(1, n_neighbors=3).fit(np.repeat(X[:3], 4, axis=0))
    with pytest.warns(RankWarning, match="3 distinct rows have 2 axes"):
        Y = lowd.LaplacianEigenmaps(3, n_neighbors=2).fit_transform(np.repeat(X[:3], 4, axis=0))
    assert Y[:, :2].any(0).all()
    assert not Y[:, 2].any()


@isolated
def test_far_rows_are_finite():
    X = roll(300)[0]
    far = X[:5] * np.array([1e2, 1e5, 1e20, 1e60, 1e130])[:, None]
    for normalization in NORMALIZATIONS:
        for params in ({}, {"radius": 6.0}, {"n_neighbors": None}, {"affinity": "binary"}):
            model = lowd.LaplacianEigenmaps(2, normalization=normalization, **params).fit(X)
            Y = model.transform(far)
            assert np.isfinite(Y).all()


@pytest.mark.parametrize("offset", [0, 1000])
def test_many_rows_in_float32(offset):
    """Beyond 1,000 rows float32 stays float32: the graph and the embedding are those of float64."""
    X, Q = (roll(n, seed=n)[0].astype(np.float32) + np.float32(offset) for n in (1500, 200))
    model = lowd.LaplacianEigenmaps(2).fit(X)
    wide = lowd.LaplacianEigenmaps(2).fit(X.astype(np.float64))
    assert model.embedding_.dtype == np.float32
    assert abs(model.affinity_ - wide.affinity_).max() < 1e-6
    close(model.embedding_, wide.embedding_, np.float32)
    same_bits(model.transform(X), model.embedding_)
    close(model.transform(Q), wide.transform(Q.astype(np.float64)), np.float32, 10)


def test_a_far_row_belongs_to_its_nearest():
    """Weights that underflow are compared with each other, not with 0."""
    X = roll(300)[0]
    model = lowd.LaplacianEigenmaps(2).fit(X)
    q = X[:1] + np.array([[0.0, 0.0, 1e5]])
    nearest = np.argmin(cdist(q, X))
    expected = model.embedding_[nearest] / (1 - model.eigenvalues_[1:])
    np.testing.assert_allclose(model.transform(q)[0], expected, rtol=1e-3)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_the_largest_entry_is_positive(normalization):
    for seed in range(4):
        Y = lowd.LaplacianEigenmaps(4, normalization=normalization).fit_transform(
            rows_like(80, seed=seed)
        )
        assert (Y[np.abs(Y).argmax(0), np.arange(4)] > 0).all()


def test_a_row_without_neighbors_goes_to_the_nearest():
    X = roll(300)[0]
    model = lowd.LaplacianEigenmaps(2, radius=6.0).fit(X)
    q = np.array([[0.0, 500.0, 0.0]])
    nearest = np.argmin(cdist(q, X))
    with pytest.warns(DisconnectedGraphWarning, match="1 of the new rows"):
        same_bits(model.transform(q)[0], model.embedding_[nearest])


def test_landmarks():
    """All rows as landmarks are no landmarks; some give nearly the same map."""
    X, t = roll(1000)
    exact = lowd.LaplacianEigenmaps(2).fit(X)
    everyone = lowd.LaplacianEigenmaps(2, n_landmarks=1000).fit(X)
    # In another order of the rows, so equal up to the angle that the eigensolver leaves.
    np.testing.assert_allclose(everyone.embedding_, exact.embedding_, atol=1e-5)
    model = lowd.LaplacianEigenmaps(2, n_landmarks=700).fit(X)
    assert len(model.landmarks_) == 700
    assert model.embedding_.shape == (1000, 2)
    close(model.transform(X), model.embedding_)
    assert abs(_spearman(model.embedding_[:, 0], t[:, 0])) > 0.98
    assert procrustes(exact.embedding_, model.embedding_)[2] < 0.05
