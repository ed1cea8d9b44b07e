"""The small end of sparse matrices: every way against dense spectra, and what is said of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.spatial import cKDTree

from cases import BACKENDS
from lowd.backends import resolve
from lowd.core.diagnostics import participation_ratio, warn_of_localized_axes
from lowd.core.fit import Context
from lowd.errors import ConvergenceWarning, LocalizedAxisWarning, UnsupportedError
from lowd.solvers import chebyshev as filtered
from lowd.solvers import multilevel
from lowd.solvers import smallest as module
from lowd.solvers.smallest import bottom, weighted_bottom, width


def context(seed=0, backend="auto", n_jobs=None):
    return Context(resolve(backend, n_jobs), seed, np.dtype(np.float64))


def roll(n, seed=0):
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])


def laplacian(X, k=10, links=()):
    """Of the union graph of k neighbors with weights 1, and more links."""
    n = len(X)
    near = cKDTree(X).query(X, k + 1)[1][:, 1:]
    W = csr_array((np.ones(n * k), near.ravel(), np.arange(0, n * k + 1, k)), (n, n))
    W = W.tolil()
    for a, b in links:
        W[a, b] = 1
    W = csr_array(W).maximum(csr_array(W).T)
    return csr_array(diags_array(W.sum(1)) - W)


def path(n):
    """A chain: eigenvalues 2 - 2 cos(π j / n), the smallest near π²/n²."""
    W = diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]).tocsr()
    return csr_array(diags_array(W.sum(1)) - W)


def ring(n):
    W = path(n).tolil()
    W[0, 0] = W[n - 1, n - 1] = 2
    W[0, n - 1] = W[n - 1, 0] = -1
    return csr_array(W)


def blobs(n):
    """Two clusters of ten dimensions and five links between them."""
    X = np.random.default_rng(1).normal(size=(n, 10))
    X[n // 2 :, 0] += 40
    return laplacian(X, 10, [(7 * i, n // 2 + 11 * i) for i in range(5)])


def bridge(n):
    X = np.vstack([roll(n // 2, 1), roll(n // 2, 2) + np.array([0, 100, 0])])
    return laplacian(X, 10, [(int(X[: n // 2, 1].argmax()), n // 2)])


def beads(n):
    """Six clusters of five dimensions in a row, each tied to the next by two links."""
    rng, m = np.random.default_rng(2), n // 6
    X = rng.normal(size=(6 * m, 5)) + 60 * np.repeat(np.arange(6), m)[:, None]
    links = [(m * i + j, m * (i + 1) + 10 + j) for i in range(5) for j in range(2)]
    return laplacian(X, 8, links)


GRAPHS = {
    "roll": lambda: laplacian(roll(900)),
    "chain": lambda: path(800),
    "bridge": lambda: bridge(900),
    "clusters": lambda: blobs(900),
    "beads": lambda: beads(900),
}
WAYS = {
    "inverse": module._inverse,
    "chebyshev": lambda p: module.chebyshev(p, patient=True),
    "multilevel": module.multilevel,
}


@pytest.fixture(autouse=True)
def coarse_pictures_of_small_graphs(monkeypatch):
    monkeypatch.setattr(multilevel, "COARSEST", 60)


def constant(n):
    return np.full((n, 1), n**-0.5)


def angle(V, U):
    """Sine of the largest angle between two spaces."""
    return np.linalg.norm(V - U @ (U.T @ V), 2)


def only(monkeypatch, *ways):
    monkeypatch.setattr(module, "_attempts", lambda p: iter([(w, WAYS[w]) for w in ways]))  # noqa: ARG005


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_finds_the_dense_spectrum(monkeypatch, name, way):
    A = GRAPHS[name]()
    values, V = scipy.linalg.eigh(A.toarray())
    only(monkeypatch, way)
    found = bottom(A, constant(len(V)), 3, context())
    assert found.solver == way
    np.testing.assert_allclose(found.values, values[1:4], rtol=1e-6, atol=1e-12)
    assert angle(found.vectors, V[:, 1:4]) < (1e-8 if way == "inverse" else 1e-5)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-10)
    left = A @ found.vectors - found.vectors * found.values
    np.testing.assert_allclose(found.residuals, np.linalg.norm(left, axis=0), atol=1e-12)


def test_a_curve_is_factored_and_a_cloud_is_filtered(monkeypatch):
    monkeypatch.setattr(module, "DENSE", 100)
    monkeypatch.setattr(module, "NARROW", 150)
    for name, solver in (("roll", "inverse"), ("chain", "inverse"), ("clusters", "chebyshev")):
        A = GRAPHS[name]()
        assert bottom(A, constant(A.shape[0]), 2, context()).solver == solver


def test_a_small_cloud_is_multiplied_in_the_cache():
    A = laplacian(np.random.default_rng(0).normal(size=(700, 12)))
    found = bottom(A, constant(700), 3, context())
    assert found.solver == "krylov"
    values, V = scipy.linalg.eigh(A.toarray())
    np.testing.assert_allclose(found.values, values[1:4], rtol=1e-10)
    assert angle(found.vectors, V[:, 1:4]) < 1e-6


def test_the_width_of_a_graph():
    assert width(path(50)) == 1
    assert width(ring(50)) == 2
    grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(6.0)), -1).reshape(-1, 2)
    assert width(laplacian(grid, 4)) <= 14
    assert width(laplacian(np.random.default_rng(0).normal(size=(500, 10)))) > 200
    two = scipy.linalg.block_diag(path(5).toarray(), path(90).toarray())
    assert width(csr_array(two)) == 1


def test_a_polynomial_that_cannot_reach_gives_up_and_pictures_take_over(monkeypatch):
    A = path(6000)
    monkeypatch.setattr(module, "NARROW", 0)
    found = bottom(A, constant(6000), 2, context())
    assert found.solver == "multilevel"
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, 3) / 6000)
    np.testing.assert_allclose(found.values, expected, rtol=1e-5)


def test_very_many_rows_are_pictured_at_once(monkeypatch):
    monkeypatch.setattr(module, "NARROW", 150)
    monkeypatch.setattr(module, "DENSE", 100)
    monkeypatch.setattr(module, "MANY", 800)
    A = GRAPHS["clusters"]()
    found = bottom(A, constant(900), 2, context())
    assert found.solver == "multilevel"
    assert angle(found.vectors, scipy.linalg.eigh(A.toarray())[1][:, 1:3]) < 1e-5


def test_a_matrix_with_ties_that_push_apart_is_not_pictured():
    A = GRAPHS["roll"]()
    null = constant(900)
    assert multilevel.is_laplacian(filtered.Problem(A, null, 2, None, 30.0, context()))
    assert not multilevel.is_laplacian(filtered.Problem(A @ A, null, 2, None, 900.0, context()))


def test_ties_below_rounding_end_in_bounded_time_and_are_said(monkeypatch):
    """Eight clusters that hold together by 1e-18: which is which no float64 can tell."""
    one = laplacian(roll(300))
    W = scipy.sparse.block_diag([diags_array(one.diagonal()) - one] * 8).tolil()
    for i in range(7):
        W[300 * i, 300 * (i + 1)] = W[300 * (i + 1), 300 * i] = 1e-18
    W = csr_array(W)
    steps = []
    solve = multilevel.Pictures.solve

    def counted(self, R, level):
        steps.append(level)
        return solve(self, R, level)

    monkeypatch.setattr(multilevel.Pictures, "solve", counted)
    only(monkeypatch, "multilevel")
    with pytest.warns(ConvergenceWarning, match="close to each other and to 0"):
        found = bottom(csr_array(diags_array(W.sum(1)) - W), constant(2400), 2, context())
    assert steps.count(0) < 30
    assert found.residuals.max() < 1e-5
    inside = found.vectors.reshape(8, 300, 2).std(1)
    assert inside.max() < 1e-3 * found.vectors.std()  # each cluster is one place


def test_the_gap_decides_when_to_stop(monkeypatch):
    """A residual of 1e-7 would be an angle of a third where the gap is 3e-7."""
    n = 3000
    only(monkeypatch, "chebyshev")
    found = bottom(path(n), constant(n), 1, context())
    true = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    assert angle(found.vectors, (true / np.linalg.norm(true))[:, None]) < 1e-5


def test_what_is_not_reached_is_said(monkeypatch):
    monkeypatch.setattr(filtered, "PRODUCTS", (10, 20))
    only(monkeypatch, "chebyshev")
    with pytest.warns(ConvergenceWarning, match="angle of"):
        bottom(path(800), constant(800), 2, context())


def test_a_cluster_that_is_one_point_of_a_picture_and_hardly_tied(monkeypatch):
    """Its entry on the diagonal is rounding, of either sign or 0, and must not be divided by."""
    rng = np.random.default_rng(0)
    W = scipy.sparse.block_diag([np.ones((12, 12)) - np.eye(12)] * 200).tolil()
    for i in range(199):
        a, b = 12 * i + rng.integers(12), 12 * (i + 1) + rng.integers(12)
        W[a, b] = W[b, a] = 1e-20
    W = csr_array(W)
    only(monkeypatch, "multilevel")
    with pytest.warns(ConvergenceWarning, match="close to each other and to 0"):
        found = bottom(csr_array(diags_array(W.sum(1)) - W), constant(2400), 2, context())
    assert np.isfinite(found.vectors).all()
    assert found.residuals.max() < 1e-5  # values are seen to rounding, vectors to its root


def lle_root(X, k=8, reg=1e-3):
    n = len(X)
    near = cKDTree(X).query(X, k + 1)[1][:, 1:]
    Z = X[near] - X[:, None]
    C = Z @ Z.transpose(0, 2, 1)
    C += reg * np.trace(C, axis1=1, axis2=2)[:, None, None] * np.eye(k)
    w = np.linalg.solve(C, np.ones((n, k, 1)))[..., 0]
    w /= w.sum(1, keepdims=True)
    W = csr_array((w.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), (n, n))
    return csr_array(eye_array(n) - W)


@pytest.mark.parametrize("shape", ["roll", "helix", "cloud"])
def test_a_root_is_factored_in_place_of_the_matrix(shape):
    n = 900
    t = np.linspace(0, 40, n)
    X = {
        "roll": roll(n),
        "helix": np.column_stack([np.cos(t), np.sin(t), t / 3]),
        "cloud": np.random.default_rng(0).normal(size=(n, 5)),
    }[shape]
    B = lle_root(X)
    found = bottom(None, constant(n), 2, context(), root=B)
    assert found.solver == "root"
    _, s, Vt = scipy.linalg.svd(B.toarray())
    np.testing.assert_allclose(np.sqrt(found.values), s[::-1][1:3], rtol=1e-6, atol=1e-13)
    assert angle(found.vectors, Vt[::-1][1:3].T) < 1e-6


def test_without_small_separators_a_root_is_refused_with_advice(monkeypatch):
    for name in ("FACTORABLE", "DENSE", "DENSE_AT_LAST"):
        monkeypatch.setattr(module, name, 48)
    B = lle_root(np.random.default_rng(0).normal(size=(600, 5)))
    with pytest.raises(UnsupportedError, match=r"ModifiedLLE.*LTSA.*n_landmarks"):
        bottom(None, constant(600), 2, context(), root=B)


@pytest.mark.parametrize("way", [*WAYS, "dense"])
def test_equal_eigenvalues_get_one_basis_whatever_the_way(monkeypatch, way):
    """A ring has its eigenvalues in pairs; any rotation of a pair is as good, and one is chosen."""
    A = ring(900)
    dense = module._finished(
        p := module.Problem(A, constant(900), 4, None, 4.0, context()), module._dense(p), "dense"
    )
    if way != "dense":
        only(monkeypatch, way)
    found = dense if way == "dense" else bottom(A, constant(900), 4, context(seed=5))
    assert found.groups == ((0, 1), (2, 3))
    np.testing.assert_allclose(found.vectors, dense.vectors, atol=1e-5)
    order = np.random.default_rng(0).permutation(900)
    moved = bottom(csr_array(A[order][:, order]), constant(900), 4, context())
    assert angle(moved.vectors, found.vectors[order]) < 1e-5


def test_an_axis_cut_from_its_twin_is_noticed(monkeypatch):
    only(monkeypatch, "inverse")
    assert bottom(ring(900), constant(900), 1, context()).groups == ((0,),)


@pytest.mark.parametrize("way", ["inverse", "chebyshev"])
def test_several_known_null_vectors(monkeypatch, way):
    """Two pieces have two constants; neither may come back as an axis."""
    one, two = laplacian(roll(400, 1)), laplacian(roll(300, 2))
    A = csr_array(scipy.linalg.block_diag(one.toarray(), two.toarray()))
    null = np.zeros((700, 2))
    null[:400, 0], null[400:, 1] = 400**-0.5, 300**-0.5
    only(monkeypatch, way)
    found = bottom(A, null, 2, context())
    values = scipy.linalg.eigvalsh(A.toarray())
    np.testing.assert_allclose(found.values, values[2:4], rtol=1e-6)
    assert np.abs(null.T @ found.vectors).max() < 1e-9


@pytest.mark.parametrize("n", [2, 3, 5])
def test_as_many_axes_as_there_are(n):
    found = bottom(path(n), constant(n), n - 1, context())
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, n) / n)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


def test_a_matrix_of_zeros_has_every_axis():
    found = bottom(csr_array((6, 6)), constant(6), 3, context())
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-12)
    assert np.abs(found.vectors.sum(0)).max() < 1e-12
    assert found.groups == ((0, 1, 2),)


@pytest.mark.parametrize("way", WAYS)
def test_the_seed_and_the_threads_do_not_matter(monkeypatch, way):
    A = GRAPHS["roll"]()
    only(monkeypatch, way)
    one = bottom(A, constant(900), 3, context(seed=1))
    two = bottom(A, constant(900), 3, context(seed=2))
    np.testing.assert_allclose(two.vectors, one.vectors, atol=1e-6)
    for backend in BACKENDS:
        same = [bottom(A, constant(900), 3, context(0, backend, jobs)).vectors for jobs in (1, 2)]
        np.testing.assert_array_equal(*same)


def test_weights_count_as_copies():
    """A point of mass m is m points: the generalized problem, and mean 0, deviation 1."""
    A, mass = laplacian(roll(300)), np.random.default_rng(0).integers(1, 5, 300).astype(float)
    found = weighted_bottom(A, mass, 3, context())
    values, V = scipy.linalg.eigh(A.toarray(), np.diag(mass))
    np.testing.assert_allclose(found.values, values[1:4], rtol=1e-9)
    Y = found.vectors
    np.testing.assert_allclose(mass @ Y, 0, atol=1e-9)
    np.testing.assert_allclose(mass @ Y**2 / mass.sum(), 1)
    expected = V[:, 1:4] * np.sqrt(mass.sum())
    np.testing.assert_allclose(Y, expected * np.sign((Y * expected).sum(0)), atol=1e-8)
    root = lle_root(roll(300))
    by_root = weighted_bottom(None, mass, 2, context(), root=root)
    M = csr_array(root.T @ diags_array(mass) @ root)
    np.testing.assert_allclose(
        by_root.values, scipy.linalg.eigvalsh(M.toarray(), np.diag(mass))[1:3], rtol=1e-4
    )


def test_an_axis_of_few_rows_is_named():
    """Three points tied to a roll by one weak edge own an axis; without them nobody does."""
    X = roll(400)
    A = laplacian(X, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_localized_axes(bottom(A, constant(400), 2, context()).vectors)
    tail = np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    wide = scipy.linalg.block_diag(A.toarray(), tail)
    weak = 1e-6
    wide[0, 0] += weak
    wide[400, 400] += weak
    wide[0, 400] -= weak
    wide[400, 0] -= weak
    found = bottom(csr_array(wide), constant(403), 2, context())
    with pytest.warns(LocalizedAxisWarning, match=r"axis 0 is localized on 4 rows.*400, 401, 402"):
        rows = warn_of_localized_axes(found.vectors)
    assert 2.9 < rows[0] < 3.2
    np.testing.assert_allclose(participation_ratio(np.eye(5)), 1)
    np.testing.assert_allclose(participation_ratio(np.ones((5, 2))), 5)
