"""Smallest eigenpairs of sparse matrices: every route against LAPACK, and what is reported."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from lowd.core.diagnostics import participation_ratio, warn_of_localized_axes
from lowd.solvers import chebyshev, multilevel
from lowd.solvers import smallest as module
from lowd.solvers.eigenproblem import Eigenproblem
from lowd.solvers.smallest import graph_width, smallest_eigenpairs, smallest_generalized_eigenpairs
from scipy.sparse import csr_array, diags_array

from laplacians import angle, constant, context, laplacian, lle_root, path, ring, roll
from lowd import progress
from lowd.errors import ConvergenceWarning, LocalizedAxisWarning


def blobs(n):
    """Two clusters of ten dimensions and five links between them."""
    X = np.random.default_rng(1).normal(size=(n, 10))
    X[n // 2 :, 0] += 40
    return laplacian(X, 10, [(7 * i, n // 2 + 11 * i) for i in range(5)])


def bridge(n):
    X = np.vstack([roll(n // 2, 1), roll(n // 2, 2) + np.array([0, 100, 0])])
    return laplacian(X, 10, [(int(X[: n // 2, 1].argmax()), n // 2)])


def beads(n):
    """Six clusters of five dimensions in a row, each linked to the next by two edges."""
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
ROUTES = ("shift-invert", "chebyshev", "multilevel")


@pytest.fixture(autouse=True)
def coarse_levels_of_small_graphs(monkeypatch):
    monkeypatch.setattr(multilevel, "MAX_COARSEST_NODES", 60)


def only(monkeypatch, *routes):
    monkeypatch.setattr(module, "choose_routes", lambda *_: list(routes))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("route", ROUTES)
def test_every_route_finds_the_dense_spectrum(monkeypatch, name, route):
    A = GRAPHS[name]()
    values, V = scipy.linalg.eigh(A.toarray())
    only(monkeypatch, route)
    found = smallest_eigenpairs(A, constant(len(V)), 3, context())
    assert found.solver == route
    np.testing.assert_allclose(found.values, values[1:4], rtol=1e-6, atol=1e-12)
    assert angle(found.vectors, V[:, 1:4]) < (1e-8 if route == "shift-invert" else 1e-5)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-10)
    left = A @ found.vectors - found.vectors * found.values
    np.testing.assert_allclose(found.residuals, np.linalg.norm(left, axis=0), atol=1e-12)


def test_laplacians_are_filtered_and_alignment_matrices_of_narrow_graphs_factorized():
    A = GRAPHS["roll"]()
    assert smallest_eigenpairs(A, constant(900), 2, context()).solver == "chebyshev"
    narrow, wide = csr_array(A @ A), csr_array((B := GRAPHS["clusters"]()) @ B)
    assert smallest_eigenpairs(narrow, constant(900), 2, context()).solver == "shift-invert"
    p = Eigenproblem(wide, constant(900), 2, None, 900.0, context())
    routes = module.choose_routes(900, 2, "matrix", wide.nnz, lambda: module.measure_width(p))
    assert routes == ["chebyshev", "shift-invert", "dense"]


def test_the_width_of_a_graph():
    assert graph_width(path(50)) == 1
    assert graph_width(ring(50)) == 2
    grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(6.0)), -1).reshape(-1, 2)
    assert graph_width(laplacian(grid, 4)) <= 14
    assert graph_width(laplacian(np.random.default_rng(0).normal(size=(500, 10)))) > 200
    two = scipy.linalg.block_diag(path(5).toarray(), path(90).toarray())
    assert graph_width(csr_array(two)) == 1
    directed = np.triu(ring(50).toarray())
    assert graph_width(csr_array(directed), symmetric=False) == 2
    directed[10, 9] = 1  # an edge back, too
    assert graph_width(csr_array(directed), symmetric=False) == 2


def test_a_polynomial_that_does_not_converge_gives_up_and_the_multilevel_method_takes_over():
    A = path(6000)
    found = smallest_eigenpairs(A, constant(6000), 2, context())
    assert found.solver == "multilevel"
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, 3) / 6000)
    np.testing.assert_allclose(found.values, expected, rtol=1e-5)


def test_a_matrix_with_positive_entries_beside_the_diagonal_is_no_laplacian():
    A = GRAPHS["roll"]()
    null = constant(900)
    assert multilevel.is_laplacian(Eigenproblem(A, null, 2, None, 30.0, context()))
    assert not multilevel.is_laplacian(Eigenproblem(A @ A, null, 2, None, 900.0, context()))


def test_weights_below_rounding_end_in_bounded_time_and_are_said(monkeypatch):
    """Eight clusters that hold together by 1e-18: which is which no float64 can tell."""
    one = laplacian(roll(300))
    W = scipy.sparse.block_diag([diags_array(one.diagonal()) - one] * 8).tolil()
    for i in range(7):
        W[300 * i, 300 * (i + 1)] = W[300 * (i + 1), 300 * i] = 1e-18
    W = csr_array(W)
    steps = []
    precondition = multilevel.Hierarchy.precondition

    def counted(self, R, level):
        steps.append(level)
        return precondition(self, R, level)

    monkeypatch.setattr(multilevel.Hierarchy, "precondition", counted)
    only(monkeypatch, "multilevel")
    with pytest.warns(ConvergenceWarning, match="close to each other and to 0"):
        found = smallest_eigenpairs(
            csr_array(diags_array(W.sum(1)) - W), constant(2400), 2, context()
        )
    assert steps.count(0) < 30
    assert found.residuals.max() < 1e-5
    inside = found.vectors.reshape(8, 300, 2).std(1)
    assert inside.max() < 1e-3 * found.vectors.std()  # each cluster is one point


def test_the_gap_decides_when_to_stop(monkeypatch):
    """A residual of 1e-7 would be an angle of a third where the gap is 3e-7."""
    n = 3000
    only(monkeypatch, "chebyshev")
    found = smallest_eigenpairs(path(n), constant(n), 1, context())
    true = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    assert angle(found.vectors, (true / np.linalg.norm(true))[:, None]) < 1e-5


def test_very_many_nodes_are_not_filtered(monkeypatch):
    monkeypatch.setattr(module, "MAX_FILTERED_NODES", 800)
    A = GRAPHS["clusters"]()
    found = smallest_eigenpairs(A, constant(900), 2, context())
    assert found.solver == "multilevel"
    assert angle(found.vectors, scipy.linalg.eigh(A.toarray())[1][:, 1:3]) < 1e-5


def test_what_is_not_reached_is_said(monkeypatch):
    monkeypatch.setattr(chebyshev, "FILTER_PRODUCTS", (10, 20))
    only(monkeypatch, "chebyshev")
    with pytest.warns(ConvergenceWarning, match="angle of"):
        smallest_eigenpairs(path(800), constant(800), 2, context())


def test_a_cluster_that_is_one_aggregate_and_hardly_connected(monkeypatch):
    """Its entry on the diagonal is rounding, of either sign or 0, and must not be divided by."""
    rng = np.random.default_rng(0)
    W = scipy.sparse.block_diag([np.ones((12, 12)) - np.eye(12)] * 200).tolil()
    for i in range(199):
        a, b = 12 * i + rng.integers(12), 12 * (i + 1) + rng.integers(12)
        W[a, b] = W[b, a] = 1e-20
    W = csr_array(W)
    only(monkeypatch, "multilevel")
    with pytest.warns(ConvergenceWarning, match="close to each other and to 0"):
        found = smallest_eigenpairs(
            csr_array(diags_array(W.sum(1)) - W), constant(2400), 2, context()
        )
    assert np.isfinite(found.vectors).all()
    assert found.residuals.max() < 1e-12  # the start is as good as rounding allows


@pytest.mark.parametrize("route", [*ROUTES, "dense"])
def test_equal_eigenvalues_get_one_basis_whatever_the_route(monkeypatch, route):
    """A ring has its eigenvalues in pairs; any rotation of a pair is as good, and one is chosen."""
    A = ring(900)
    p = Eigenproblem(A, constant(900), 4, None, 4.0, context())
    dense = module._canonical_pairs(p, module._solve_dense(p), "dense")
    if route != "dense":
        only(monkeypatch, route)
    found = dense if route == "dense" else smallest_eigenpairs(A, constant(900), 4, context(seed=5))
    assert found.groups == ((0, 1), (2, 3))
    np.testing.assert_allclose(found.vectors, dense.vectors, atol=1e-5)
    order = np.random.default_rng(0).permutation(900)
    moved = smallest_eigenpairs(csr_array(A[order][:, order]), constant(900), 4, context())
    assert angle(moved.vectors, found.vectors[order]) < 1e-5


def test_an_axis_cut_from_its_twin_is_noticed(monkeypatch):
    only(monkeypatch, "shift-invert")
    assert smallest_eigenpairs(ring(900), constant(900), 1, context()).groups == ((0,),)


@pytest.mark.parametrize("route", ["shift-invert", "chebyshev"])
def test_several_known_null_vectors(monkeypatch, route):
    """Two components have two constants; neither may come back as an axis."""
    one, two = laplacian(roll(400, 1)), laplacian(roll(300, 2))
    A = csr_array(scipy.linalg.block_diag(one.toarray(), two.toarray()))
    null = np.zeros((700, 2))
    null[:400, 0], null[400:, 1] = 400**-0.5, 300**-0.5
    only(monkeypatch, route)
    found = smallest_eigenpairs(A, null, 2, context())
    values = scipy.linalg.eigvalsh(A.toarray())
    np.testing.assert_allclose(found.values, values[2:4], rtol=1e-6)
    assert np.abs(null.T @ found.vectors).max() < 1e-9


@pytest.mark.parametrize("n", [2, 3, 5])
def test_as_many_axes_as_there_are(n):
    found = smallest_eigenpairs(path(n), constant(n), n - 1, context())
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, n) / n)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


def test_a_matrix_of_zeros_has_every_axis():
    found = smallest_eigenpairs(csr_array((6, 6)), constant(6), 3, context())
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-12)
    assert np.abs(found.vectors.sum(0)).max() < 1e-12
    assert found.groups == ((0, 1, 2),)


@pytest.mark.parametrize("route", ROUTES)
def test_the_seed_and_the_threads_do_not_matter(monkeypatch, route):
    A = GRAPHS["roll"]()
    only(monkeypatch, route)
    one = smallest_eigenpairs(A, constant(900), 3, context(seed=1))
    two = smallest_eigenpairs(A, constant(900), 3, context(seed=2))
    np.testing.assert_allclose(two.vectors, one.vectors, atol=1e-6)
    same = [
        smallest_eigenpairs(A, constant(900), 3, context(n_jobs=jobs)).vectors for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*same)


def test_every_route_that_takes_steps_reports_them(monkeypatch):
    for route in ROUTES:
        only(monkeypatch, route)
        reports = []
        with progress.listening(lambda *step, seen=reports: seen.append(step)):
            smallest_eigenpairs(GRAPHS["roll"](), constant(900), 2, context())
        assert "eigenvectors" in {stage for stage, _, _ in reports}, route


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_roots_of_any_size_have_the_same_axes(unit):
    """The null vector is lifted above all others, whatever the unit."""
    root = lle_root(roll(90))
    expected = smallest_eigenpairs(None, constant(90), 2, context(), root=root)
    found = smallest_eigenpairs(None, constant(90), 2, context(), root=csr_array(root * unit))
    assert found.solver == "dense"
    np.testing.assert_allclose(found.values, expected.values * unit**2, rtol=1e-4)
    assert angle(found.vectors, expected.vectors) < 1e-4


def test_directions_that_a_block_has_lost_are_drawn_anew():
    """A filter of high degree may leave parallel vectors; the block keeps its width."""
    p = Eigenproblem(path(60), constant(60), 2, None, 4.0, context())
    block = p.random_block(3)[:, [0, 0, 1]]
    Q = chebyshev._orthonormal_block(p, block, p.null, p.ctx.ops.matrix_plan(p.matrix))
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(p.null.T @ Q, 0, atol=1e-12)
    assert angle(scipy.linalg.orth(block), Q) < 1e-12


def test_weights_are_multiplicities():
    """A point of weight m is m points: the generalized problem, and mean 0, deviation 1."""
    A, weights = laplacian(roll(300)), np.random.default_rng(0).integers(1, 5, 300).astype(float)
    found = smallest_generalized_eigenpairs(A, weights, 3, context())
    values, V = scipy.linalg.eigh(A.toarray(), np.diag(weights))
    np.testing.assert_allclose(found.values, values[1:4], rtol=1e-9)
    Y = found.vectors
    np.testing.assert_allclose(weights @ Y, 0, atol=1e-9)
    np.testing.assert_allclose(weights @ Y**2 / weights.sum(), 1)
    expected = V[:, 1:4] * np.sqrt(weights.sum())
    np.testing.assert_allclose(Y, expected * np.sign((Y * expected).sum(0)), atol=1e-8)
    root = lle_root(roll(300))
    by_root = smallest_generalized_eigenpairs(None, weights, 2, context(), root=root)
    M = csr_array(root.T @ diags_array(weights) @ root)
    np.testing.assert_allclose(
        by_root.values, scipy.linalg.eigvalsh(M.toarray(), np.diag(weights))[1:3], rtol=1e-4
    )


def test_an_axis_of_few_rows_is_named():
    """Three points linked to a roll by one weak edge own an axis; without them nobody does."""
    X = roll(400)
    A = laplacian(X, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_localized_axes(smallest_eigenpairs(A, constant(400), 2, context()).vectors)
    tail = np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    wide = scipy.linalg.block_diag(A.toarray(), tail)
    weak = 1e-6
    wide[0, 0] += weak
    wide[400, 400] += weak
    wide[0, 400] -= weak
    wide[400, 0] -= weak
    found = smallest_eigenpairs(csr_array(wide), constant(403), 2, context())
    with pytest.warns(LocalizedAxisWarning, match=r"axis 0 is localized on 4 rows.*400, 401, 402"):
        rows = warn_of_localized_axes(found.vectors)
    assert 2.9 < rows[0] < 3.2
    np.testing.assert_allclose(participation_ratio(np.eye(5)), 1)
    np.testing.assert_allclose(participation_ratio(np.ones((5, 2))), 5)
