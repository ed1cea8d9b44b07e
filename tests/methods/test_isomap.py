"""Isomap: worked numbers, sheets unrolled, landmarks, parameters, peers."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, floyd_warshall
from scipy.spatial.distance import cdist, pdist
from sklearn import manifold
from sklearn.datasets import make_s_curve
from sklearn.linear_model import LinearRegression

import lowd
from case_data import rows_like
from cases import close, same_bits
from lowd.errors import ApproximationWarning, ParameterError, UnsupportedError
from lowd.linalg import centered
from manifolds import disparity, roll, roll_with_hole

U = np.array([[0, 2], [0, 1], [0, 0], [1, 0], [2, 0], [2, 1], [2, 2]], float)


def new_point_error(model, truth, new_truth, Q):
    """The same for new points, by the motion that fits the training points."""
    A, B = truth - truth.mean(0), model.embedding_ - model.embedding_.mean(0)
    left, size, right = np.linalg.svd(B.T @ A)
    turn = left @ right * size.sum() / (B * B).sum()
    found = (model.transform(Q) - model.embedding_.mean(0)) @ turn + truth.mean(0)
    return ((found - new_truth) ** 2).sum() / ((new_truth - new_truth.mean(0)) ** 2).sum()


# -- worked numbers ---------------------------------------------------------------------------


def test_the_letter_u():
    """Seven points on a bent line: the map is the line, straight."""
    model = lowd.Isomap(1, radius=1.0).fit(U)
    numbers = np.arange(7.0)
    close(model.geodesic_distances_, np.abs(np.subtract.outer(numbers, numbers)))
    close(model.eigenvalues_, [28])
    close(model.embedding_[:, 0], [3, 2, 1, 0, -1, -2, -3])
    close(-2 * model._means, [13, 8, 5, 4, 5, 8, 13])
    np.testing.assert_allclose(model.residual_variance_, [0], atol=1e-12)
    close(model.transform([[0, 1.5]]), [[2.5]])
    np.testing.assert_allclose(model.transform([[0.5, -0.5]]), [[0.544380]], atol=5e-7)
    flat = lowd.PCA(1).fit_transform(U)[:, 0]
    close(np.abs(flat), [1, 1, 1, 0, 1, 1, 1])  # the arms of the letter collapse


def test_the_letter_u_by_three_landmarks():
    model = lowd.Isomap(1, radius=1.0, n_landmarks=3).fit(U)
    assert not hasattr(model, "geodesic_distances_")
    assert len(model.landmarks_) == 3
    found, numbers = model.embedding_[:, 0], np.arange(7.0)
    close(np.abs(np.subtract.outer(found, found)), np.abs(np.subtract.outer(numbers, numbers)))
    offset = model.embedding_[0] - 3 * np.sign(model.embedding_[0] - model.embedding_[6])
    turn = np.sign(model.embedding_[0] - model.embedding_[6])
    close(model.transform([[0, 1.5]]), [2.5 * turn + offset])


def test_no_neighbors_within_the_radius_of_a_new_point():
    """The nearest one, then: (0, 5) is 3 above the end of the letter."""
    model = lowd.Isomap(1, radius=1.0).fit(U)
    g = 3 + np.arange(7.0)
    expected = 0.5 * (np.array([13, 8, 5, 4, 5, 8, 13]) - g * g) @ model.embedding_ / 28
    close(model.transform([[0, 5], [0, 1.5]]), [expected, [2.5]])


def test_all_neighbors_is_classical_scaling():
    X, Q = rows_like(40, 5, 1), rows_like(9, 5, 2)
    model = lowd.Isomap(3, n_neighbors=None, radius=np.inf).fit(X)
    pca = lowd.PCA(3).fit(X)
    turn = np.sign((model.embedding_ * pca.transform(X)).sum(0))
    close(model.embedding_, pca.transform(X) * turn)
    close(model.eigenvalues_, 39 * pca.explained_variance_)
    close(model.transform(Q), pca.transform(Q) * turn)


def test_paths_are_shortest():
    X, _ = roll(150)
    model = lowd.Isomap(2, n_neighbors=8).fit(X)
    G, graph = model.geodesic_distances_, model.graph_
    close(G, floyd_warshall(graph))
    close(G, dijkstra(graph))
    same_bits(G, G.T)
    assert (np.diag(G) == 0).all()
    assert (cdist(X, X) * (1 - 1e-9) <= G).all()
    assert (G[:, None, :] <= (G[:, :, None] + G[None]) * (1 + 1e-9)).all()
    order = np.argsort(cdist(X, X), axis=1)[:, 1:9]
    expected = np.zeros((150, 150), bool)
    expected[np.arange(150)[:, None], order] = True
    same_bits(graph.toarray() > 0, expected | expected.T)


def test_training_points_return_exactly():
    X, _ = roll(300)
    for params in ({}, {"n_landmarks": 40}, {"n_neighbors": None, "radius": 6.0}):
        model = lowd.Isomap(2, **{"n_neighbors": 8, **params}).fit(X)
        close(model.transform(X), model.embedding_)


def test_a_curve_maps_to_its_length():
    """A dense helix, in order: coordinates differ by the length of the chords between neighbors."""
    t = np.linspace(0, 12, 400)
    X = np.column_stack([np.cos(t), np.sin(t), t / 4])
    model = lowd.Isomap(1, radius=0.04).fit(X)
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(X, axis=0), axis=1))])
    found = model.embedding_[:, 0] * np.sign(model.embedding_[-1, 0])
    close(found - found.mean(), length - length.mean())
    assert model.residual_variance_[0] < 1e-12


def test_all_points_as_landmarks_is_the_exact_method():
    X, _ = roll(120)
    Q, _ = roll(20, 1)
    exact = lowd.Isomap(2, n_neighbors=8).fit(X)
    model = lowd.Isomap(2, n_neighbors=8, n_landmarks=120).fit(X)
    close(model.embedding_, exact.embedding_)
    close(model.transform(Q), exact.transform(Q))
    close(model.eigenvalues_, exact.eigenvalues_)


def test_regression_on_a_flat_sheet(rng):
    """Where the map is linear, the regression is too: to 1e-4 of the spread, on new points."""
    frame = np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    flat, new = rng.random((300, 2)) * [4, 2], rng.random((50, 2)) * [3, 1] + 0.5
    params = {"n_neighbors": 299}
    linear = lowd.Isomap(2, **params).fit(flat @ frame + 3)
    model = lowd.Isomap(2, map="regression", **params).fit(flat @ frame + 3)
    close(model.embedding_, linear.embedding_)
    expected = linear.transform(new @ frame + 3)
    assert np.abs(model.transform(new @ frame + 3) - expected).max() < 1e-4
    assert model.regression_error_ < 1e-8


# -- sheets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["geodesic", "regression", "landmarks"])
def test_the_swiss_roll_is_unrolled(how):
    """1000 points: 0.5 % of the spread is missed on old and new points, 2 % by regression."""
    params = {"n_landmarks": 100} if how == "landmarks" else {"map": how}
    X, truth = roll(1000)
    Q, new = roll(200, 1)
    model = lowd.Isomap(2, n_neighbors=10, **params).fit(X)
    assert disparity(truth, model.embedding_) < 0.005
    assert new_point_error(model, truth, new, Q) < (0.02 if how == "regression" else 0.005)
    close(model.transform(X[::20]), model.embedding_[::20])
    assert model.residual_variance_[0] > 20 * model.residual_variance_[1]
    assert disparity(truth, lowd.PCA(2).fit_transform(X)) > 0.4


def test_the_dimension_shows_in_the_residual_variance():
    X, _ = roll(600)
    found = lowd.Isomap(4, n_neighbors=8).fit(X).residual_variance_
    assert found[0] > 0.01
    assert found[1] < found[0] / 10
    assert found[3] > found[1] / 2
    Y = lowd.Isomap(4, n_neighbors=8).fit(X)
    upper = np.triu_indices(600, 1)
    for k in range(1, 5):
        r = np.corrcoef(Y.geodesic_distances_[upper], cdist(*[Y.embedding_[:, :k]] * 2)[upper])[
            0, 1
        ]
        assert found[k - 1] == pytest.approx(1 - r * r, abs=1e-10)


def test_the_s_curve():
    X, t = make_s_curve(1000, random_state=0)
    Q, s = make_s_curve(200, random_state=1)
    model = lowd.Isomap(2, n_neighbors=10).fit(X)
    truth, new = np.column_stack([t, X[:, 1]]), np.column_stack([s, Q[:, 1]])
    assert disparity(truth, model.embedding_) < 0.005
    assert new_point_error(model, truth, new, Q) < 0.005


def test_a_hole_costs_accuracy_but_not_the_sheet():
    """Shortest paths lead around the hole, so the map swells there; order and outline stay."""
    X, truth = roll_with_hole(1000)
    Q, new = roll_with_hole(200, 1)
    model = lowd.Isomap(2, n_neighbors=10).fit(X)
    whole = lowd.Isomap(2, n_neighbors=10).fit(roll(1000)[0])
    assert model.residual_variance_[1] > whole.residual_variance_[1]
    assert disparity(truth, model.embedding_) < 0.03
    assert new_point_error(model, truth, new, Q) < 0.03


def test_short_circuits_destroy_the_map():
    """So many neighbors that the layers touch: the method's known limit."""
    X, truth = roll(600)
    model = lowd.Isomap(2, n_neighbors=100).fit(X)
    assert disparity(truth, model.embedding_) > 0.2


def test_faces_by_light_and_pose():
    """698 rendered faces: three dimensions explain the three angles (scikit-learn's numbers)."""
    default = Path(__file__).parents[3] / "shared" / "data"
    path = Path(os.environ.get("LOWD_DATA", default)) / "isomap_faces_32x32.npz"
    if not path.is_file():
        pytest.skip("needs isomap_faces_32x32.npz in the folder LOWD_DATA")
    with np.load(path, allow_pickle=False) as kept:
        X, angles = kept["X"], kept["y"]
    model = lowd.Isomap(3, n_neighbors=6).fit(X)
    line = LinearRegression()
    explained = [line.fit(model.embedding_, a).score(model.embedding_, a) for a in angles.T]
    assert (np.round(explained, 2) >= [0.87, 0.98, 0.83]).all(), explained
    part = lowd.Isomap(3, n_neighbors=6).fit(X[:600])
    for a, least in zip(angles.T, (0.8, 0.95, 0.7), strict=True):
        line.fit(part.embedding_, a[:600])
        assert line.score(part.transform(X[600:]), a[600:]) > least


# -- large data, parameters, peers ------------------------------------------------------------


def test_landmarks_beyond_a_size_are_announced(monkeypatch):
    monkeypatch.setattr(lowd.Isomap._count_landmarks, "__defaults__", (400, 50))
    X, truth = roll(500)
    model = lowd.Isomap(2, n_neighbors=7)
    with pytest.warns(ApproximationWarning, match="500.*50 landmarks.*n_landmarks=50"):
        model.fit(X)
    assert len(set(model.landmarks_.tolist())) == 50
    assert disparity(truth, model.embedding_) < 0.02
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximationWarning)
        meant = lowd.Isomap(2, n_neighbors=7, n_landmarks=50).fit(X)
        exact = lowd.Isomap(2, n_neighbors=7, n_landmarks=None).fit(X)
        lowd.Isomap(2, n_neighbors=7).fit(X[:400])
    same_bits(meant.embedding_, model.embedding_)
    assert hasattr(exact, "geodesic_distances_")


def test_landmarks_are_well_spread():
    """No two are near each other, as some are of any points drawn at random."""
    X, _ = roll(1000)
    model = lowd.Isomap(2, n_neighbors=8, n_landmarks=50).fit(X)
    rng = np.random.default_rng(0)
    drawn = [rng.choice(1000, 50, replace=False) for _ in range(20)]
    assert pdist(X[model.landmarks_]).min() > 2 * max(pdist(X[rows]).min() for rows in drawn)
    other = lowd.Isomap(2, n_neighbors=8, n_landmarks=50, random_state=1).fit(X)
    assert set(other.landmarks_) != set(model.landmarks_)


def test_a_model_keeps_the_graph_and_no_matrix_of_distances(tmp_path):
    n = 1200
    model = lowd.Isomap(2, n_neighbors=8).fit(roll(n)[0])
    lowd.save(model, tmp_path / "model.lowd")
    assert (tmp_path / "model.lowd").stat().st_size < n * n
    assert lowd.load(tmp_path / "model.lowd").geodesic_distances_.shape == (n, n)


def test_products_and_the_whole_matrix_agree(monkeypatch):
    """Of many rows the solver multiplies with geodesic distances that are held once per pair."""
    X = np.vstack([roll(1200)[0], roll(1200)[0][:50]])  # with duplicates
    model = lowd.Isomap(3, n_neighbors=8).fit(X)
    monkeypatch.setattr(centered, "is_dense", lambda n, k: True)  # noqa: ARG005
    whole = lowd.Isomap(3, n_neighbors=8).fit(X)
    assert whole.negative_mass_is_exact_
    assert not model.negative_mass_is_exact_
    close(model.eigenvalues_, whole.eigenvalues_)
    np.testing.assert_allclose(model.embedding_, whole.embedding_, rtol=0, atol=1e-6)
    Q = roll(1300)[0][1200:]
    np.testing.assert_allclose(model.transform(Q), whole.transform(Q), rtol=0, atol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "precomputed"])
def test_agreement_with_scikit_learn(metric):
    X, Q = rows_like(200, 6, 1), rows_like(20, 6, 2)
    given, new = (cdist(X, X), cdist(Q, X)) if metric == "precomputed" else (X, Q)
    peer = manifold.Isomap(n_neighbors=10, n_components=3, metric=metric).fit(given)
    model = lowd.Isomap(3, n_neighbors=10, metric=metric).fit(given)
    close(model.geodesic_distances_, peer.dist_matrix_)
    turn = np.sign((model.embedding_ * peer.embedding_).sum(0))
    close(model.embedding_, peer.embedding_ * turn)
    close(model.transform(new), peer.transform(new) * turn)


def test_agreement_with_scikit_learn_within_a_radius():
    X, _ = roll(300)
    Q, _ = roll(20, 1)
    peer = manifold.Isomap(n_neighbors=None, radius=6.0).fit(X)
    model = lowd.Isomap(2, n_neighbors=None, radius=6.0).fit(X)
    turn = np.sign((model.embedding_ * peer.embedding_).sum(0))
    close(model.embedding_, peer.embedding_ * turn)
    close(model.transform(Q), peer.transform(Q) * turn)


def test_neighborhoods_that_contradict_each_other():
    X = rows_like(30)
    with pytest.raises(ParameterError, match=r"n_neighbors=7.*radius is set"):
        lowd.Isomap(2, n_neighbors=7, radius=3.0).fit(X)
    with pytest.raises(ParameterError, match="needs a radius"):
        lowd.Isomap(2, n_neighbors=None).fit(X)
    one, two = (lowd.Isomap(2, n_neighbors=k, radius=9.0).fit(X) for k in (5, None))
    same_bits(one.embedding_, two.embedding_)


def test_far_points_keep_their_direction():
    """Two points 1e7 away with the same neighbors still have different coordinates."""
    X, _ = roll(200)
    model = lowd.Isomap(2, n_neighbors=8).fit(X)
    away = np.array([[0, 10.0, 1e7]])
    d = cdist(away, X)[0]
    i = d.argsort()[:8]
    s = ((d[i] - d.min())[:, None] + model.geodesic_distances_[i]).min(0)
    K = -0.5 * s * (s + 2 * d.min())
    close(model.transform(away)[0], (K - model._means) @ model._axes)
    assert np.isfinite(model.transform(away * 1e20)).all()


def test_types(dtype):
    """Beyond 1000 rows float32 distances stay float32, and say the same."""
    X, truth = roll(1100)
    model = lowd.Isomap(2, n_neighbors=10).fit(X.astype(dtype))
    assert model.geodesic_distances_.dtype == model.embedding_.dtype == dtype
    same_bits(model.geodesic_distances_, model.geodesic_distances_.T)
    assert disparity(truth, model.embedding_) < 0.005


def test_regression_knows_a_row_in_another_type():
    """Few rows of float32 are fitted in float64: the same row, prepared again, is a little off."""
    X = rows_like(60, dtype=np.float32)
    model = lowd.Isomap(2, metric="cosine", map="regression").fit(X)
    close(model.transform(X), model.embedding_, np.float32)
    # A tiny ridge would make coordinates of the rounding of new rows; float64 can afford it.
    flat = np.random.default_rng(0).random((200, 2)) * [4, 2]
    model = lowd.Isomap(2, n_neighbors=199, map="regression")
    assert model.fit(flat.astype(np.float32)).regression_ridge_ >= 1e-4
    assert model.fit(flat).regression_ridge_ < 1e-4


def test_the_way_back():
    """Rows for coordinates, from the rows of near ones; how good they are is reported."""
    X, _ = roll(1000)
    Q, _ = roll(200, 1)
    for params in ({}, {"map": "regression"}, {"metric": "manhattan"}):
        model = lowd.Isomap(2, n_neighbors=10, **params).fit(X)
        back = model.inverse_transform(model.transform(Q))
        missed = ((back - Q) ** 2).sum() / ((Q - X.mean(0)) ** 2).sum()
        assert missed < 0.02
        assert missed / 3 < model.reconstruction_error_ < 0.02
        rows = model.inverse_transform(model.embedding_[:50])
        assert np.abs(rows - X[:50]).max() < 1
    assert np.isfinite(model.inverse_transform([[1e6, -1e6]])).all()
    noise = np.random.default_rng(0).normal(size=(200, 10))  # which no two dimensions rebuild
    assert lowd.Isomap(2).fit(noise).reconstruction_error_ > 0.8


def test_distances_have_no_way_back():
    X = rows_like(30)
    for metric, given in (("precomputed", cdist(X, X)), ("euclidean", csr_array(X))):
        model = lowd.Isomap(2, metric=metric).fit(given)
        with pytest.raises(UnsupportedError, match="no inverse: distances alone"):
            model.inverse_transform(np.zeros((1, 2)))


def test_the_way_back_leads_to_rows_of_their_own_length():
    """Where the metric compares directions only."""
    X = rows_like(200, 5)
    X *= 7 / np.linalg.norm(X, axis=1, keepdims=True)
    model = lowd.Isomap(2, metric="cosine", n_neighbors=8).fit(X)
    lengths = np.linalg.norm(model.inverse_transform(model.embedding_), axis=1)
    assert lengths.mean() == pytest.approx(7, rel=0.05)
