"""The locally linear family: worked examples, known answers, hard data, and held-out rows."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn import manifold

import lowd
from lowd.backends import resolve
from lowd.backends.protocol import Lists
from lowd.errors import (
    DataError,
    DisconnectedGraphWarning,
    LocalizedAxisWarning,
    ParameterError,
    RankWarning,
)
from lowd.keys import row_keys
from lowd.maps import Remember

FAMILY = (lowd.LocallyLinearEmbedding, lowd.ModifiedLLE, lowd.HessianLLE, lowd.LTSA)
FAITHFUL = FAMILY[1:]
OPS = resolve("auto", 2)
SIZES = {"roll": 1500, "curve": 1200}


def roll(n, seed=0):
    """A Swiss roll and its flat coordinates: length along the spiral, and height."""
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    h = 21 * rng.random(n)
    length = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return np.column_stack([t * np.cos(t), h, t * np.sin(t)]), np.column_stack([length, h])


def s_curve(n, seed=0):
    rng = np.random.default_rng(seed)
    t = 3 * np.pi * (rng.random(n) - 0.5)
    h = 2 * rng.random(n)
    X = np.column_stack([np.sin(t), h, np.sign(t) * (np.cos(t) - 1)])
    return X, np.column_stack([t, h])


def affine_error(Y, truth, new=None, new_truth=None):
    """What the best affine map from Y leaves of the truth, over the truth's deviation."""
    A = np.column_stack([Y, np.ones(len(Y))])
    C = np.linalg.lstsq(A, truth)[0]
    if new is None:
        new, new_truth = Y, truth
    left = np.column_stack([new, np.ones(len(new))]) @ C - new_truth
    return float(np.sqrt((left**2).mean(0) / truth.var(0)).max())


def same_space(Y, Z):
    """Sine of the largest angle between the columns' spaces."""
    Q, R = np.linalg.qr(Y)[0], np.linalg.qr(Z)[0]
    return np.linalg.norm(Q - R @ (R.T @ Q), 2)


def lists(near):
    m, k = near.shape
    return Lists(np.arange(0, m * k + 1, k), near.ravel().astype(np.int32))


# -- weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "corners", "reg", "expected"),
    [
        ([0.25], [[0.0], [1.0]], 1e-3, [0.749688, 0.250312]),
        ([0.25], [[0.0], [1.0]], 1e-12, [0.75, 0.25]),
        ([0.25, 0.25], [[0.0, 0], [1, 0], [0, 1]], 1e-3, [0.499315, 0.250342, 0.250342]),
        ([0.25, 0.25], [[0.0, 0], [1, 0], [0, 1]], 1e-12, [0.5, 0.25, 0.25]),
    ],
)
def test_worked_weights(backend, x, corners, reg, expected):
    ops = resolve(backend, 1)
    near = Lists(np.array([0, len(corners)]), np.arange(len(corners), dtype=np.int32))
    w = ops.barycenters(np.array([x]), np.array(corners), near, reg)
    np.testing.assert_allclose(w, expected, atol=1e-6)


def test_worked_spectrum():
    """Six points 0..5 on a line: M annihilates constants and the line itself."""
    X = np.arange(6.0)[:, None]
    near = np.array([[1, 2], [0, 2], [1, 3], [2, 4], [3, 5], [4, 3]])
    w = OPS.barycenters(X, X, lists(near), 1e-12).reshape(6, 2)
    np.testing.assert_allclose(w, [[2, -1], *4 * [[0.5, 0.5]], [2, -1]], atol=1e-9)
    B = np.eye(6)
    np.subtract.at(B, (np.arange(6)[:, None], near), w)
    expected = [0, 0, 0.118956, 1.25, 7.881044, 8.75]
    np.testing.assert_allclose(np.linalg.eigvalsh(B.T @ B), expected, atol=1e-6)


def test_weights_do_not_see_rotation_scale_and_place():
    X, _ = roll(200)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    one = lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(X)
    two = lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(7 * X @ turn + 100)
    np.testing.assert_allclose(two.weights_.toarray(), one.weights_.toarray(), atol=1e-7)


def test_rows_of_weights_sum_to_one():
    X, _ = roll(300)
    model = lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(X)
    W = model.weights_
    np.testing.assert_allclose(W.sum(1), 1)
    assert not W.diagonal().any()
    assert (np.diff(W.indptr) == 8).all()
    B = np.eye(300) - W.toarray()
    Y = model.embedding_ / np.sqrt(300)
    # tr(Y'MY) is the sum of the kept eigenvalues, and Y solves the problem.
    assert np.linalg.norm(B @ Y) ** 2 == pytest.approx(model.reconstruction_error_, rel=1e-6)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(B.T @ B)[1:3], atol=1e-12)


@pytest.mark.parametrize("kind", ["ltsa", "hessian", "modified"])
def test_alignment_matrices_annihilate_constants_and_are_positive(backend, kind):
    ops = resolve(backend, 1)
    X, _ = roll(200)
    near = cKDTree(X).query(X, 11)[1]
    near = near[:, 1:] if kind == "modified" else near
    M = ops.alignment(X, lists(near), kind, 2, 1e-3, np.ones(200)).toarray()
    np.testing.assert_allclose(M, M.T, atol=1e-12)
    np.testing.assert_allclose(M @ np.ones(200), 0, atol=1e-8)
    assert np.linalg.eigvalsh(M)[0] > -1e-10


def test_columns_of_modified_weights_sum_to_one():
    """F' [1 on the neighbors, 0 on the row] = 1: every weight vector is barycentric."""
    from lowd.backends.graphs import _modified

    X, _ = roll(60)
    near = cKDTree(X).query(X, 9)[1][:, 1:]
    for F in _modified(X, list(near), 2, 1e-3):
        np.testing.assert_allclose(F[:-1].sum(0), 1, atol=1e-9)
        np.testing.assert_array_equal(F[-1], -1)


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
        places = model.transform((beyond - flat.mean(0)) @ frame + X.mean(0))
        missed[map_] = affine_error(model.embedding_, flat, places, beyond)
    assert missed["tangent"] < 1e-5
    assert missed["barycentric"] > 0.1


def test_hessian_is_ltsa_where_a_quadric_has_no_freedom_left():
    """1 + k + k(k+1)/2 points in a patch: 6 for the plane, the point itself among them."""
    X, _ = roll(400)
    near = cKDTree(X).query(X, 6)[1]
    one, two = (
        OPS.alignment(X, lists(near), kind, 2, 1e-3, np.ones(400)).toarray()
        for kind in ("ltsa", "hessian")
    )
    np.testing.assert_allclose(two, one, atol=1e-8)


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
    M = OPS.alignment(X, lists(near), "ltsa", 2, 1e-3, np.ones(400)).toarray()
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
            H = np.linalg.qr(full)[0][:, 3:]
            M[np.ix_(patch, patch)] += H @ H.T
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


# -- sheets, and held-out points ---------------------------------------------------------------


# What is missed of the sheet, at most; found (scikit-learn 1.9.1): roll LLE .429 (.429), modified
# .0115 (.0115), LTSA .0178 (.0179), Hessian .0168 (.0179); S-curve .952 (.952), .0289 (.0289),
# .0201 (.0228), .0219 (.0228); held-out rows alike. Standard LLE takes a second wave along the
# S-curve for its second axis, as it does there.
MISSED = {
    (roll, lowd.LocallyLinearEmbedding): 0.44,
    (roll, lowd.ModifiedLLE): 0.012,
    (roll, lowd.LTSA): 0.0179,
    (roll, lowd.HessianLLE): 0.0179,
    (s_curve, lowd.ModifiedLLE): 0.029,
    (s_curve, lowd.LTSA): 0.0227,
    (s_curve, lowd.HessianLLE): 0.0227,
}


@pytest.mark.parametrize(("sheet", "cls"), MISSED)
def test_sheets_are_unrolled_and_new_points_follow(sheet, cls):
    X, truth = sheet(1500)
    new, new_truth = sheet(400, seed=1)
    model = cls(2, n_neighbors=12).fit(X)
    assert affine_error(model.embedding_, truth) < MISSED[sheet, cls]
    held_out = affine_error(model.embedding_, truth, model.transform(new), new_truth)
    assert held_out < 1.02 * MISSED[sheet, cls]
    assert np.abs(model.residuals_).max() < 1e-9


@pytest.mark.parametrize("cls", FAMILY)
def test_training_rows_are_remembered_and_the_map_is_close_without_memory(cls):
    X, _ = roll(800)
    model = cls(2, n_neighbors=12).fit(X)
    rows = np.array([700, 3, 3, 41])
    np.testing.assert_array_equal(model.transform(X[rows]), model.embedding_[rows])
    bare = model.map_.then(X, OPS)
    off = np.sqrt(((bare - model.embedding_) ** 2).mean())
    assert 0 < off < 0.05
    moved = model.transform(X[rows] + 1e-6)
    np.testing.assert_allclose(moved, bare[rows], atol=1e-3)


@pytest.mark.parametrize("map_", ["barycentric", "tangent"])
def test_far_points_are_finite(map_):
    X, _ = roll(300)
    model = lowd.LTSA(2, n_neighbors=10, map=map_).fit(X)
    far = np.array([[1e3, 0, 0], [1e30, -1e30, 1e30], [0, 0, -1e100]])
    assert np.isfinite(model.transform(far)).all()
    assert np.isfinite(model.inverse_transform(np.array([[1e9, -1e9], [0, 1e30]]))).all()


def test_rows_are_found_by_their_bits():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (500, 6)).astype(float)  # many copies, few bits
    X = np.unique(X, axis=0)
    assert len(np.unique(row_keys(X))) == len(X)
    np.testing.assert_array_equal(row_keys(X), row_keys(X.astype(np.float32)))
    np.testing.assert_array_equal(row_keys(X), row_keys(np.where(X == 0, -0.0, X)))
    Y = np.arange(len(X), dtype=float)[:, None]

    def nowhere(Q, ops):  # noqa: ARG001
        return np.full((len(Q), 1), -1.0)

    memory = Remember.of(nowhere, X, Y)
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(memory(X[order], OPS), Y[order])
    mixed = np.vstack([X[:2], X[:2] + 0.5])
    np.testing.assert_array_equal(memory(mixed, OPS).ravel(), [0, 1, -1, -1])
    # A key alone is not believed.
    forged = Remember(nowhere, memory.keys, memory.rows, X + 1, Y)
    assert (forged(X, OPS) == -1).all()


# -- hard data ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", FAMILY)
def test_two_far_rolls(cls):
    X, _ = roll(700)
    X[400:, 1] += 500
    with pytest.warns(DisconnectedGraphWarning, match=r"2 pieces \(rows: 400, 300\)"):
        model = cls(2, n_neighbors=10).fit(X)
    assert model.embedding_.shape == (700, 2)
    assert model.n_graph_components_ == 2
    np.testing.assert_array_equal(model.graph_components_, np.arange(700) >= 400)
    (a, b) = model.bridges_[0]
    assert (a < 400) != (b < 400)
    with pytest.raises(DataError, match="2 pieces"):
        cls(2, n_neighbors=10, on_disconnected="error").fit(X)
    if cls is not lowd.HessianLLE:
        for part in (slice(0, 400), slice(400, 700)):
            assert (model.embedding_[part].std(0) > 1e-3).all()


@pytest.mark.parametrize("cls", FAMILY)
def test_copies_are_one_point_of_more_weight(cls):
    X, _ = roll(300)
    model = cls(2, n_neighbors=10).fit(np.tile(X, (12, 1)))
    once = cls(2, n_neighbors=10).fit(X)
    np.testing.assert_allclose(model.embedding_, np.tile(once.embedding_, (12, 1)), atol=1e-6)
    assert model.n_distinct_ == 300
    # Unequal numbers of copies: a generalized problem, whose mean and deviation are of rows.
    counts = np.random.default_rng(0).integers(1, 9, 300)
    model = cls(2, n_neighbors=10).fit(np.repeat(X, counts, axis=0))
    Y = model.embedding_
    np.testing.assert_allclose(Y.mean(0), 0, atol=1e-7)
    np.testing.assert_allclose(Y.std(0), 1, atol=1e-7)
    np.testing.assert_array_equal(Y, np.repeat(Y[np.cumsum(counts) - 1], counts, axis=0))


@pytest.mark.parametrize("cls", FAMILY)
def test_a_lattice_in_another_order_is_the_same_lattice(cls):
    """Ties: all neighbors as near as the last count, so the order of rows does not choose."""
    grid = np.stack(np.meshgrid(np.arange(14.0), np.arange(9.0)), -1).reshape(-1, 2)
    X = np.column_stack([grid, 0.01 * grid[:, 0] ** 2])
    order = np.random.default_rng(3).permutation(len(X))
    one = cls(2, n_neighbors=8).fit(X)
    two = cls(2, n_neighbors=8).fit(X[order])
    assert same_space(two.embedding_, one.embedding_[order]) < 1e-5
    np.testing.assert_allclose(two.eigenvalues_, one.eigenvalues_, rtol=1e-6, atol=1e-14)


@pytest.mark.parametrize("cls", FAMILY)
def test_the_scale_does_not_depend_on_the_number_of_rows(cls):
    for n in (200, 800):
        Y = cls(2, n_neighbors=10).fit_transform(s_curve(n)[0])
        np.testing.assert_allclose(Y.std(0), 1)
        np.testing.assert_allclose(Y.mean(0), 0, atol=1e-9)


@pytest.mark.parametrize("cls", FAMILY)
def test_equal_rows(cls):
    with pytest.warns(RankWarning, match="all 9 rows are equal"):
        model = cls(2).fit(np.ones((9, 3)))
    assert not model.embedding_.any()
    assert not model.transform(np.random.default_rng(0).normal(size=(4, 3))).any()


@pytest.mark.parametrize("cls", [lowd.HessianLLE, lowd.LTSA])
def test_an_outlier_that_owns_an_axis_is_named(cls):
    """The other axis still holds the length of the sheet."""
    X, truth = s_curve(500)
    X = np.vstack([X, [50.0, 50, 50]])
    with pytest.warns(LocalizedAxisWarning, match=r"axis 0 is about 2 rows only \(\d+, 500\)"):
        model = cls(2, n_neighbors=12).fit(X)
    assert affine_error(model.embedding_[:-1], truth[:, :1]) < 0.1


def test_too_few_neighbors_are_refused_with_a_number_that_works():
    X, _ = roll(100)
    for cls, few, enough in (
        (lowd.ModifiedLLE, 2, 3),
        (lowd.LTSA, 2, 3),
        (lowd.HessianLLE, 4, 5),
    ):
        with pytest.raises(ParameterError, match=f"n_neighbors={enough} or more"):
            cls(2, n_neighbors=few).fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert cls(2, n_neighbors=enough).fit(X).embedding_.shape == (100, 2)
        with pytest.raises(ParameterError, match=r"n_components=3 exceeds (1|2)"):
            cls(3, n_neighbors=enough).fit(X)
    with pytest.raises(ParameterError, match="n_neighbors=100 needs at least 101 rows"):
        lowd.LTSA(2, n_neighbors=100).fit(X)
    with pytest.raises(ParameterError, match="only 4 of the 40 rows are distinct"):
        lowd.LTSA(2, n_neighbors=10).fit(np.tile(X[:4], (10, 1)))


@pytest.mark.parametrize("cls", FAMILY)
def test_as_many_neighbors_as_there_are_points(cls):
    X, _ = s_curve(12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(2, n_neighbors=11).fit(X)
    assert np.isfinite(model.embedding_).all()


def test_a_radius_in_place_of_a_number():
    X, truth = s_curve(800)
    model = lowd.LTSA(2, radius=0.35).fit(X)
    assert affine_error(model.embedding_, truth) < 0.06
    new, new_truth = s_curve(200, seed=1)
    assert affine_error(model.embedding_, truth, model.transform(new), new_truth) < 0.06
    # Nobody within the radius: the nearest one alone.
    far = model.transform([[9.0, 9.0, 9.0]])
    nearest = np.linalg.norm(X - 9, axis=1).argmin()
    np.testing.assert_allclose(far[0], model.embedding_[nearest])
    with pytest.raises(ParameterError, match=r"n_neighbors=12.*radius is set"):
        lowd.LTSA(2, radius=0.35, n_neighbors=12).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        with pytest.raises(DataError, match=r"row \d+ has \d neighbors.*radius=") as refusal:
            lowd.LTSA(2, radius=0.06).fit(X)
        enough = float(str(refusal.value).split("radius=")[1].split(" ")[0])
        lowd.LTSA(2, radius=enough).fit(X)


@pytest.mark.parametrize("cls", FAMILY)
def test_a_ready_graph_is_taken_as_it_is(cls):
    X, _ = roll(400)
    graph = lowd.neighbors(X, 11)
    model = cls(2).fit(X, neighbors=graph)
    expected = cls(2, n_neighbors=11).fit(X)
    np.testing.assert_allclose(model.embedding_, expected.embedding_, atol=1e-9)
    new, _ = roll(20, seed=1)
    np.testing.assert_allclose(model.transform(new), expected.transform(new), atol=1e-9)
    with pytest.raises(ParameterError, match="the graph of neighbors is given"):
        cls(2, n_neighbors=12).fit(X, neighbors=graph)


def test_landmarks_carry_the_rest():
    X, truth = roll(3000)
    model = lowd.LTSA(2, n_neighbors=12, n_landmarks=1200).fit(X)
    assert len(model.landmarks_) == 1200
    assert model.embedding_.shape == (3000, 2)
    assert affine_error(model.embedding_, truth) < 0.08
    np.testing.assert_array_equal(model.transform(X[:50]), model.embedding_[:50])


def test_a_chain_of_points_is_solved_by_its_root():
    """Eigenvalues near 1e-13: below what the entries of M can hold, but not those of I - W."""
    t = np.linspace(0, 60, 2000)
    X = np.column_stack([30 * np.cos(t), 30 * np.sin(t), 2 * t])
    model = lowd.LocallyLinearEmbedding(1, n_neighbors=4).fit(X)
    assert model.solver_ == "root"
    assert affine_error(model.embedding_, t[:, None]) < 0.05
    assert 0 < model.eigenvalues_[0] < 1e-10


def test_points_that_are_nobodys_neighbor_do_not_float():
    """In patches without their own point each would be a null vector (Fashion-MNIST: 431)."""
    X = np.random.default_rng(0).normal(size=(400, 12))
    near = np.argsort(cdist(X, X), 1)[:, 1:9]
    lonely = np.setdiff1d(np.arange(400), near)
    assert len(lonely) > 5
    with pytest.warns(LocalizedAxisWarning):
        model = lowd.LTSA(2, n_neighbors=8).fit(X)
    assert model.eigenvalues_[0] > 1e-4
    without = OPS.alignment(X, lists(near), "ltsa", 2, 1e-3, np.ones(400)).toarray()
    assert (np.linalg.eigvalsh(without)[: len(lonely)] < 1e-10).all()


def _data(name):
    folders = [os.environ.get("LOWD_DATA"), Path(__file__).parents[2] / "../shared/data"]
    for folder in folders:
        if folder and (Path(folder) / name).exists():
            return Path(folder) / name
    pytest.skip(f"{name} is neither in $LOWD_DATA nor in ../shared/data")
    return None


def test_frey_faces():
    """560 pixels of a face in motion: pictures that follow each other are near in the map."""
    with np.load(_data("frey_faces.npz")) as file:
        X = file[file.files[0]].astype(np.float64)
    X = X.reshape(len(X), -1)
    train, new = X[::2], X[1::2]
    model = lowd.LocallyLinearEmbedding(2, n_neighbors=12).fit(train)
    assert (model.residuals_ < 1e-6).all()
    Y = np.empty((len(X), 2))
    Y[::2], Y[1::2] = model.embedding_, model.transform(new)
    steps = np.linalg.norm(np.diff(Y, axis=0), axis=1)
    shuffled = np.random.default_rng(0).permutation(len(Y))
    apart = np.linalg.norm(np.diff(Y[shuffled], axis=0), axis=1)
    assert np.median(steps) < 0.35 * np.median(apart)
