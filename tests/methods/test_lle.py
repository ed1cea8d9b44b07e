"""The locally linear family: weights and alignment matrices by hand, and known answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn import manifold

import lowd
from lowd.errors import LocalizedAxisWarning, ParameterError
from lowd.methods.lle import alignment_matrix
from manifolds import affine_error, roll, s_curve, same_space


def alignment(X, near, kind, reg=1e-3):
    """The alignment matrix of patches with equally many members."""
    indptr, members = np.arange(0, near.size + 1, near.shape[1]), near.ravel().astype(np.int32)
    return alignment_matrix(X, indptr, members, kind, 2, reg, np.ones(len(X))).toarray()


# -- known answers -----------------------------------------------------------------------------


def plane(n=300):
    """A flat rectangle turned into five dimensions, and new points in it."""
    rng = np.random.default_rng(0)
    frame = np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    flat, new = rng.uniform(size=(n, 2)) * [2, 1], rng.uniform(0.1, 0.9, size=(50, 2)) * [2, 1]
    return flat @ frame + 3, flat, new @ frame + 3, new


@pytest.mark.parametrize(
    ("cls", "tolerance"),
    [
        (lowd.LTSA, 1e-7),
        (lowd.HessianLLE, 1e-7),
        (lowd.ModifiedLLE, 2e-2),
        (lowd.LocallyLinearEmbedding, 0.5),
    ],
)
def test_a_plane_is_found_up_to_a_linear_map(cls, tolerance):
    X, flat, _, _ = plane()
    model = cls(2, n_neighbors=8).fit(X)
    assert affine_error(model.embedding_, flat) < tolerance
    if cls in (lowd.LTSA, lowd.HessianLLE):
        assert model.degenerate_axes_ == ((0, 1),)  # both eigenvalues are 0: any rotation


@pytest.mark.parametrize("map_", ["barycentric", "tangent"])
def test_new_points_of_a_plane_are_exact(map_):
    X, flat, new, truth = plane()
    model = lowd.LTSA(2, n_neighbors=8, reg=1e-9, map=map_).fit(X)
    assert affine_error(model.embedding_, flat, model.transform(new), truth) < 1e-6
    back = model.inverse_transform(model.transform(new))
    assert np.abs(back - new).max() < 1e-4


def test_a_tangent_plane_goes_on_beyond_the_data():
    """Where barycentric weights, with their ridge, stay among the neighbors."""
    X, flat, _, _ = plane()
    frame = np.linalg.lstsq(flat - flat.mean(0), X - X.mean(0))[0]
    beyond = np.array([[3.0, 0.5], [1.0, 2.0]])
    missed = {}
    for map_ in ("barycentric", "tangent"):
        model = lowd.LTSA(2, n_neighbors=8, map=map_).fit(X)
        coordinates = model.transform((beyond - flat.mean(0)) @ frame + X.mean(0))
        missed[map_] = affine_error(model.embedding_, flat, coordinates, beyond)
    assert missed["tangent"] < 1e-5
    assert missed["barycentric"] > 0.1


def test_hessian_is_ltsa_where_a_quadric_has_no_freedom_left():
    """1 + k + k(k+1)/2 points in a patch: 6 for the plane, the point itself among them."""
    X, _ = roll(400)
    near = cKDTree(X).query(X, 6)[1]
    one, two = (alignment(X, near, kind) for kind in ("ltsa", "hessian"))
    np.testing.assert_allclose(two, one, atol=1e-8)
    # Nor where what a quadric leaves counts as much as what it adds.
    near = cKDTree(X).query(X, 12)[1]
    one, two, plain = (
        alignment(X, near, kind, reg)
        for kind, reg in (("ltsa", 1e-3), ("hessian", 1.0), ("hessian", 0.0))
    )
    np.testing.assert_allclose(two, one, atol=1e-8)
    assert np.abs(plain - one).max() > 0.1


def test_evenly_spaced_points_on_a_line_keep_their_order():
    X = np.arange(30.0)[:, None] @ [[1.0, 2.0]]
    for cls, k in ((lowd.LocallyLinearEmbedding, 2), (lowd.LTSA, 3), (lowd.HessianLLE, 3)):
        Y = cls(1, n_neighbors=k, reg=1e-9).fit_transform(X)
        assert affine_error(Y, np.arange(30.0)[:, None]) < 1e-5


@pytest.mark.parametrize(
    ("method", "cls"), [("standard", lowd.LocallyLinearEmbedding), ("modified", lowd.ModifiedLLE)]
)
def test_agrees_with_scikit_learn(method, cls):
    """Same neighbors, same weights; their columns have length 1, ours deviation 1."""
    X, _ = roll(400)
    theirs = manifold.LocallyLinearEmbedding(
        n_neighbors=10, n_components=2, method=method, eigen_solver="dense"
    ).fit(X)
    ours = cls(2, n_neighbors=10).fit(X)
    Z = theirs.embedding_ * np.sqrt(400)
    assert same_space(ours.embedding_, Z) < 1e-5
    np.testing.assert_allclose(
        ours.embedding_, Z * np.sign((Z * ours.embedding_).sum(0)), atol=1e-3
    )
    assert ours.reconstruction_error_ == pytest.approx(theirs.reconstruction_error_, rel=1e-3)


def test_ltsa_agrees_with_scikit_learn_on_its_patches():
    """There a patch leaves its point out; the same matrix is built from such patches."""
    X, _ = roll(400)
    theirs = manifold.LocallyLinearEmbedding(
        n_neighbors=10, n_components=2, method="ltsa", eigen_solver="dense"
    ).fit(X)
    near = cKDTree(X).query(X, 11)[1][:, 1:]
    M = alignment(X, near, "ltsa")
    V = np.linalg.eigh(M)[1][:, 1:3]
    assert same_space(V, theirs.embedding_) < 1e-6


def dense_oracle(cls, X, k):
    """The method written down again, in dense algebra."""
    n = len(X)
    near = np.argsort(cdist(X, X) + np.diag(np.full(n, np.inf)), 1, kind="stable")[:, :k]
    M = np.zeros((n, n))
    for i in range(n):
        if cls is lowd.LocallyLinearEmbedding:
            Z = X[near[i]] - X[i]
            C = Z @ Z.T
            w = np.linalg.solve(C + 1e-3 * np.trace(C) * np.eye(k), np.ones(k))
            f = np.zeros(n)
            f[i], f[near[i]] = 1, -w / w.sum()
            M += np.outer(f, f)
            continue
        patch = np.append(i, near[i])
        U = np.linalg.svd(X[patch] - X[patch].mean(0), full_matrices=False)[0][:, :2]
        G = np.column_stack([np.ones(k + 1), U])
        if cls is lowd.HessianLLE:
            full = np.column_stack([G, U[:, 0] ** 2, U[:, 0] * U[:, 1], U[:, 1] ** 2])
            Q = np.linalg.qr(full)[0]
            ridge = 1e-3 * (np.eye(k + 1) - Q @ Q.T)
            M[np.ix_(patch, patch)] += Q[:, 3:] @ Q[:, 3:].T + ridge
        else:
            Q = np.linalg.qr(G)[0]
            M[np.ix_(patch, patch)] += np.eye(k + 1) - Q @ Q.T
    return np.linalg.eigh(M)


@pytest.mark.parametrize("cls", [lowd.LocallyLinearEmbedding, lowd.HessianLLE, lowd.LTSA])
def test_agrees_with_a_dense_oracle(cls):
    X, _ = s_curve(400)
    values, V = dense_oracle(cls, X, 12)
    model = cls(2, n_neighbors=12).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, values[1:3], rtol=1e-5, atol=1e-13)
    assert same_space(model.embedding_, V[:, 1:3]) < 1e-5


def test_points_that_are_nobodys_neighbor_do_not_float():
    """In patches without their own point each would be a null vector (Fashion-MNIST: 431)."""
    X = np.random.default_rng(0).normal(size=(400, 12))
    near = np.argsort(cdist(X, X), 1)[:, 1:9]
    isolated = np.setdiff1d(np.arange(400), near)
    assert len(isolated) > 5
    with pytest.warns(LocalizedAxisWarning):
        model = lowd.LTSA(2, n_neighbors=8).fit(X)
    assert model.eigenvalues_[0] > 1e-4
    without = alignment(X, near, "ltsa")
    assert (np.linalg.eigvalsh(without)[: len(isolated)] < 1e-10).all()


@pytest.mark.parametrize("method", [lowd.LTSA, lowd.HessianLLE])
def test_patches_have_no_more_directions_than_columns(method):
    """All eigenvalues were 0 then, and the map anything at all."""
    X = np.random.default_rng(0).normal(size=(80, 3))
    with pytest.raises(ParameterError, match="n_components=4 exceeds 3, the columns"):
        method(4, n_neighbors=30).fit(X)
    method(3, n_neighbors=30).fit(X)


def test_the_way_back_of_a_line_runs_between_its_points():
    """Also where neighbors are those within a radius, of which there may be any number."""
    X = np.linspace(0, 4, 41)[:, None] * [1.0, 2.0]
    model = lowd.LocallyLinearEmbedding(1, radius=0.7).fit(X)
    Y = model.embedding_
    between = model.inverse_transform((Y[:-1] + Y[1:]) / 2)
    np.testing.assert_allclose(between[2:-2], ((X[:-1] + X[1:]) / 2)[2:-2], atol=0.01)
