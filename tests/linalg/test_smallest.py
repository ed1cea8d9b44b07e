"""Smallest eigenpairs of sparse matrices: every route against LAPACK, and what is reported."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from scipy.sparse import csr_array, diags_array

from laplacians import angle, constant, laplacian, lle_root, path, ring, roll
from lowd import progress
from lowd.backend import using
from lowd.errors import ConvergenceWarning
from lowd.linalg import smallest as module
from lowd.linalg.smallest import (
    Problem,
    bound_of_spectrum,
    chebyshev,
    decompose,
    invert,
    smallest_eigenpairs,
    vectors_of_components,
    width_of,
)


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
ROUTES = ("dense", "shift-invert", "chebyshev")


def only(monkeypatch, route):
    """Let one route solve it, whatever the graph."""
    solve = {
        "dense": decompose,
        "shift-invert": lambda p, k: invert(p, k, route),
        "chebyshev": lambda p, k: chebyshev(p, k, np.inf),
    }[route]
    monkeypatch.setattr(module, "_solve", lambda p, k, _: (solve(p, k), route))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("route", ROUTES)
def test_every_route_finds_the_dense_spectrum(monkeypatch, name, route):
    A = GRAPHS[name]()
    values, V = scipy.linalg.eigh(A.toarray())
    only(monkeypatch, route)
    found = smallest_eigenpairs(A, 3, 0)
    assert found.solver == route
    np.testing.assert_allclose(found.values, values[1:4], rtol=1e-6, atol=1e-12)
    assert angle(found.vectors, V[:, 1:4]) < (1e-5 if route == "chebyshev" else 1e-8)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-10)
    left = A @ found.vectors - found.vectors * found.values
    np.testing.assert_allclose(found.residuals, np.linalg.norm(left, axis=0), atol=1e-12)


def test_narrow_graphs_are_factorized_and_wide_ones_filtered():
    narrow, wide = GRAPHS["roll"](), GRAPHS["clusters"]()
    assert smallest_eigenpairs(narrow, 2, 0).solver == "shift-invert"
    assert smallest_eigenpairs(csr_array(narrow @ narrow), 2, 0).solver == "shift-invert"
    assert smallest_eigenpairs(wide, 2, 0).solver == "chebyshev"
    assert smallest_eigenpairs(path(100), 2, 0).solver == "dense"
    assert smallest_eigenpairs(path(6000), 2, 0).solver == "shift-invert"
    assert smallest_eigenpairs(path(600), 150, 0).solver == "dense"


def test_cheap_products_filter_narrower_graphs(monkeypatch):
    """As those on a GPU are; a curve is still factorized, though more products can filter it."""
    surface, curve = GRAPHS["roll"](), path(6000)
    plain = smallest_eigenpairs(surface, 2, 0)
    monkeypatch.setattr(module, "cost_of_product", lambda _: 0.05)
    found = smallest_eigenpairs(surface, 2, 0)
    assert (plain.solver, found.solver) == ("shift-invert", "chebyshev")
    assert angle(found.vectors, plain.vectors) < 1e-5
    assert smallest_eigenpairs(curve, 2, 0).solver == "shift-invert"
    p = Problem(path(8000), constant(8000), False, 4.0, 0)
    assert chebyshev(p, 2, 12_000).angle < 1e-5 < chebyshev(p, 2, 600).angle


def test_the_width_of_a_graph():
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(30.0)), -1).reshape(-1, 2)
    assert width_of(path(50)) == 1
    assert 5 < width_of(laplacian(grid, 4)) < 8
    assert width_of(csr_array(np.tril(path(50).toarray()))) == 1  # of a root: either direction
    assert width_of(csr_array(np.triu(path(50).toarray()))) == 1


def test_a_polynomial_that_does_not_converge_gives_up(monkeypatch):
    A = path(60_000)
    p = Problem(A, constant(60_000), False, 4.0, 0)
    assert chebyshev(p, 2, 600).angle > 1e-3
    monkeypatch.setattr(module, "width_of", lambda _: 1000.0)
    found = smallest_eigenpairs(A, 2, 0)
    assert found.solver == "shift-invert"
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, 3) / 60_000)
    np.testing.assert_allclose(found.values, expected, rtol=1e-5)


def test_more_clusters_than_axes_are_filtered_by_a_wider_block():
    """Eleven eigenvalues near 0 belong to clusters, and the axes are the first two of these."""
    rng, m, size = np.random.default_rng(0), 12, 400
    W = scipy.sparse.block_diag(
        [csr_array(np.triu(rng.random((size, size)) < 0.03, 1).astype(float)) for _ in range(m)]
    ).tolil()
    for i in range(m - 1):
        W[size * i, size * (i + 1)] = 1e-3
    W = csr_array(W)
    W = W + W.T
    A = csr_array(diags_array(W.sum(1)) - W)
    found = chebyshev(Problem(A, constant(m * size), False, 60.0, 0), 2, 600)
    expected = 1e-3 / size * (2 - 2 * np.cos(np.pi * np.arange(1, 3) / m))
    np.testing.assert_allclose(found.values[:2], expected, rtol=0.02)
    assert found.angle < 1e-5


def test_the_gap_decides_when_to_stop(monkeypatch):
    """A residual of 1e-7 would be an angle of a third where the gap is 3e-7."""
    n = 3000
    only(monkeypatch, "chebyshev")
    found = smallest_eigenpairs(path(n), 1, 0)
    true = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    assert angle(found.vectors, (true / np.linalg.norm(true))[:, None]) < 1e-5


def test_the_null_space_does_not_outgrow_a_filter():
    """Of noise no other eigenvalue is near 0, so that every degree makes it grow most."""
    A = laplacian(np.random.default_rng(0).normal(size=(1500, 100)), 10)
    found = smallest_eigenpairs(A, 2, 0)
    assert found.solver == "chebyshev"
    np.testing.assert_allclose(found.values, scipy.linalg.eigvalsh(A.toarray())[1:3], rtol=1e-9)


def test_the_bound_of_the_spectrum_is_one():
    for name in ("roll", "clusters", "chain"):
        A = GRAPHS[name]()
        p = Problem(A, constant(A.shape[0]), False, 100.0, 0)
        largest = scipy.linalg.eigvalsh(A.toarray())[-1]
        assert largest <= bound_of_spectrum(p) <= 1.3 * largest
    assert bound_of_spectrum(Problem(csr_array((9, 9)), constant(9), False, 1.0, 0)) == 1.0


def test_what_is_not_reached_is_said(monkeypatch):
    bad = module.Approximation(np.arange(5.0), path(800).toarray()[:, :5], 0.1)
    monkeypatch.setattr(module, "invert", lambda *_: None)
    monkeypatch.setattr(module, "chebyshev", lambda *_, **__: bad)
    monkeypatch.setattr(module, "decompose", lambda *_: bad)
    with pytest.warns(ConvergenceWarning, match=r"angle of 1.0e-01 only.*n_landmarks"):
        smallest_eigenpairs(path(800), 2, 0)


def test_weights_below_rounding_end_in_bounded_time():
    """Eight clusters that hold together by 1e-18: which is which no float64 can tell."""
    one = laplacian(roll(300))
    W = scipy.sparse.block_diag([diags_array(one.diagonal()) - one] * 8).tolil()
    for i in range(7):
        W[300 * i, 300 * (i + 1)] = W[300 * (i + 1), 300 * i] = 1e-18
    W = csr_array(W)
    found = smallest_eigenpairs(csr_array(diags_array(W.sum(1)) - W), 2, 0)
    assert found.residuals.max() < 1e-5
    assert found.groups == ((0, 1),)
    inside = found.vectors.reshape(8, 300, 2).std(1)
    assert inside.max() < 1e-3 * found.vectors.std()  # each cluster is one point


@pytest.mark.parametrize("route", ROUTES)
def test_equal_eigenvalues_get_one_basis_whatever_the_route(monkeypatch, route):
    """A ring has its eigenvalues in pairs; any rotation of a pair is as good, and one is chosen."""
    A = ring(900)
    with monkeypatch.context() as patch:
        only(patch, "dense")
        dense = smallest_eigenpairs(A, 4, 0)
    only(monkeypatch, route)
    found = smallest_eigenpairs(A, 4, 5)
    assert found.groups == ((0, 1), (2, 3))
    np.testing.assert_allclose(found.vectors, dense.vectors, atol=1e-5)
    order = np.random.default_rng(0).permutation(900)
    moved = smallest_eigenpairs(csr_array(A[order][:, order]), 4, 0)
    assert angle(moved.vectors, found.vectors[order]) < 1e-5


def test_an_axis_cut_from_its_twin_is_noticed():
    assert smallest_eigenpairs(ring(900), 1, 0).groups == ((0,),)


@pytest.mark.parametrize("route", ["shift-invert", "chebyshev"])
def test_several_known_null_vectors(monkeypatch, route):
    """Two components have two constants; neither may come back as an axis."""
    one, two = laplacian(roll(400, 1)), laplacian(roll(300, 2))
    A = csr_array(scipy.linalg.block_diag(one.toarray(), two.toarray()))
    null = np.zeros((700, 2))
    null[:400, 0], null[400:, 1] = 400**-0.5, 300**-0.5
    only(monkeypatch, route)
    found = smallest_eigenpairs(A, 2, 0, null)
    values = scipy.linalg.eigvalsh(A.toarray())
    np.testing.assert_allclose(found.values, values[2:4], rtol=1e-6)
    assert np.abs(null.T @ found.vectors).max() < 1e-9


@pytest.mark.parametrize("sizes", [(50, 30, 20), (500, 400, 300)])
def test_components_are_told_apart_whatever_the_seed(sizes):
    """Their constants are the first axes: those of the largest ones, if there are too many."""
    parts = [laplacian(roll(n, seed), 6) for seed, n in enumerate(sizes)]
    A, label = csr_array(scipy.sparse.block_diag(parts)), np.repeat(np.arange(3), sizes)
    values = scipy.linalg.eigvalsh(A.toarray())
    for k in (1, 2, 5):
        one, two = (smallest_eigenpairs(A, k, seed) for seed in (0, 1))
        np.testing.assert_allclose(two.vectors, one.vectors, atol=1e-8)
        np.testing.assert_allclose(one.values, values[1 : k + 1], atol=1e-9)
        for c in range(3):
            assert np.ptp(one.vectors[label == c][:, :2], axis=0).max() < 1e-12
        np.testing.assert_allclose(one.vectors.T @ one.vectors, np.eye(k), atol=1e-10)
        np.testing.assert_allclose(one.vectors.sum(0), 0, atol=1e-10)
    # The first axis alone tells the largest component from the others.
    first = smallest_eigenpairs(A, 1, 0).vectors[:, 0]
    assert np.ptp(first[label > 0]) < 1e-12
    assert np.ptp(first) > 0.01
    assert vectors_of_components(parts[0], constant(sizes[0]), 2).shape == (sizes[0], 0)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_as_many_axes_as_there_are(n):
    found = smallest_eigenpairs(path(n), n - 1, 0)
    expected = 2 - 2 * np.cos(np.pi * np.arange(1, n) / n)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


def test_a_matrix_of_zeros_has_every_axis():
    found = smallest_eigenpairs(csr_array((6, 6)), 3, 0)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-12)
    assert np.abs(found.vectors.sum(0)).max() < 1e-12
    assert found.groups == ((0, 1, 2),)


@pytest.mark.parametrize("route", ROUTES)
def test_the_seed_and_the_threads_do_not_matter(monkeypatch, route):
    A = GRAPHS["roll"]()
    only(monkeypatch, route)
    one, two = (smallest_eigenpairs(A, 3, seed) for seed in (1, 2))
    np.testing.assert_allclose(two.vectors, one.vectors, atol=1e-6)
    same = []
    for jobs in (1, 2):
        with using("native", jobs):
            same.append(smallest_eigenpairs(A, 3, 0).vectors)
    np.testing.assert_array_equal(*same)


@pytest.mark.parametrize("route", ["shift-invert", "chebyshev"])
def test_every_route_that_takes_steps_reports_them(monkeypatch, route):
    only(monkeypatch, route)
    reports = []
    with progress.listening(lambda *step: reports.append(step)):
        smallest_eigenpairs(GRAPHS["roll"](), 2, 0)
    assert "eigenvectors" in {stage for stage, _, _ in reports}


# -- square roots ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["roll", "helix", "cloud"])
def test_a_root_is_factorized_instead_of_the_matrix(shape):
    n = 900
    t = np.linspace(0, 40, n)
    X = {
        "roll": roll(n),
        "helix": np.column_stack([np.cos(t), np.sin(t), t / 3]),
        "cloud": np.random.default_rng(0).normal(size=(n, 5)),
    }[shape]
    B = lle_root(X)
    found = smallest_eigenpairs(B, 2, 0, root=True)
    assert found.solver == "shift-invert"
    _, s, Vt = scipy.linalg.svd(B.toarray())
    np.testing.assert_allclose(np.sqrt(found.values), s[::-1][1:3], rtol=1e-6, atol=1e-13)
    assert angle(found.vectors, Vt[::-1][1:3].T) < 1e-6


def test_the_root_of_a_wide_graph_has_a_dense_factor(monkeypatch):
    monkeypatch.setattr(module, "width_of", lambda _: 3000.0)
    B = lle_root(np.random.default_rng(0).normal(size=(600, 5)))
    found = smallest_eigenpairs(B, 2, 0, root=True)
    assert found.solver == "cholesky"
    _, s, Vt = scipy.linalg.svd(B.toarray())
    np.testing.assert_allclose(np.sqrt(found.values), s[::-1][1:3], rtol=1e-6)
    assert angle(found.vectors, Vt[::-1][1:3].T) < 1e-6


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("n", [90, 400])
def test_roots_of_any_size_have_the_same_axes(unit, n):
    """The null vector is lifted above all others, whatever the unit."""
    root = lle_root(roll(n))
    expected = smallest_eigenpairs(root, 2, 0, root=True)
    found = smallest_eigenpairs(csr_array(root * unit), 2, 0, root=True)
    np.testing.assert_allclose(found.values, expected.values * unit**2, rtol=1e-4)
    assert angle(found.vectors, expected.vectors) < 1e-4


def test_a_long_chain_is_solved_to_the_digits_of_its_root():
    """Eigenvalues of 1e-13 and less are below what the entries of B'B can hold."""
    t = np.linspace(0, 60, 1200)
    B = lle_root(np.column_stack([30 * np.cos(t), 30 * np.sin(t), 2 * t]), 4)
    found = smallest_eigenpairs(B, 2, 0, root=True)
    _, s, Vt = scipy.linalg.svd(B.toarray())
    assert found.values[0] < 1e-10
    np.testing.assert_allclose(np.sqrt(found.values), s[::-1][1:3], rtol=1e-3)
    assert angle(found.vectors, Vt[::-1][1:3].T) < 1e-5


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_null_space_is_resolved(unit):
    """A plane has linear functions of no second derivatives: two more eigenvalues of 0."""
    grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(20.0)), -1).reshape(-1, 2)
    second = [np.diff(np.eye(m), 2, axis=0) for m in (20, 30)]
    along = np.kron(second[0], np.eye(30)), np.kron(np.eye(20), second[1])
    mixed = np.kron(np.diff(np.eye(20), axis=0), np.diff(np.eye(30), axis=0))
    A = csr_array(unit * sum(H.T @ H for H in (*along, mixed)))
    found = smallest_eigenpairs(A, 2, 0)
    assert found.groups == ((0, 1),)
    flat = scipy.linalg.orth(grid - grid.mean(0))
    assert angle(found.vectors, flat) < 1e-9
    assert found.values.max() < 1e-12 * unit
