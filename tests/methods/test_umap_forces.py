"""Forces and descents of UMAP: closed forms, finite differences, meshes beside all pairs."""

from __future__ import annotations

import _thread
import signal
import threading

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from lowd import _native
from lowd.methods.descent import Mesh, mesh_parts
from lowd.methods.umap import layout_of, memberships
from lowd.spaces import Neighbors, Rows, native_parts, symmetrized

A, B, SOFTENING = CURVE = (1.5769, 0.8951, 0.02)
MANY = 1200
RATES = 0.5 * (1 - np.arange(70) / 70)
STRENGTHS = np.full(70, 7.5)


def ring(n, width, rng):
    """A graph in which each point has the same degree, with unequal weights."""
    W = np.zeros((n, n))
    for step in range(1, width + 1):
        W[np.arange(n), (np.arange(n) + step) % n] = rng.uniform(0.2, 1)
    return csr_array(W + W.T)


def random_graph(n, k, rng):
    M = np.where(rng.random((n, n)) < k / n, rng.random((n, n)), 0)
    np.fill_diagonal(M, 0)
    return csr_array(M + M.T - M * M.T)


def neighbor_graph(X, k=8):
    near = Rows(X).nearest(k)
    return symmetrized(near, memberships(near, 1.0)[0], 1.0)


def clusters(n, k, rng):
    centers = rng.uniform(-8, 8, size=(6, k))
    return centers[np.arange(n) % 6] + rng.normal(size=(n, k))


def relative(found, expected):
    return np.sqrt(((found - expected) ** 2).sum() / (expected**2).sum())


def descent_of(W, k, seed=0, radii=None):
    return layout_of(W, k, CURVE, seed, radii, 0.1)


def forces_of(W, Y, seed=0, radii=None):
    pulls, pushes = np.empty(Y.shape), np.empty(Y.shape)
    descent_of(W, Y.shape[1], seed, radii).forces(Y, pulls, pushes, 2)
    return pulls, pushes


def plain_forces(W, Y):
    """The same by all pairs in plain NumPy; weights are shares of a point's degree."""
    n, gaps = len(Y), Y[:, None] - Y
    s = np.square(gaps).sum(2)
    shares = W.toarray() / np.maximum(W.sum(1), 1e-300)[:, None]
    t = np.where(s > 0, s, 1)
    pull = shares * 2 * A * B * t ** (B - 1) / (1 + A * t**B)
    push = 2 * B / ((SOFTENING + s) * (1 + A * s**B)) / (2 * n)
    np.fill_diagonal(push, 0)
    return -(pull[:, :, None] * gaps).sum(1), (push[:, :, None] * gaps).sum(1)


def differentiate(f, Y, step=1e-5):
    slope = np.empty(Y.shape)
    for at in np.ndindex(Y.shape):
        moved = Y.copy()
        moved[at] += step
        above = f(moved)
        moved[at] -= 2 * step
        slope[at] = (above - f(moved)) / (2 * step)
    return slope


def potential(d):
    """The integral of the repulsion from a distance on, over which the loss sums."""

    def slope(t):
        return B / ((SOFTENING * np.exp(-t) + 1) * (1 + A * np.exp(B * t)))

    return quad(slope, 2 * np.log(d), 60, epsabs=1e-13, limit=500)[0]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_forces_are_minus_the_gradient_of_the_loss_where_degrees_are_equal(k):
    rng = np.random.default_rng(0)
    W, Y = ring(12, 3, rng), rng.normal(size=(12, k))
    descent = descent_of(W, k)
    pulls, pushes = forces_of(W, Y)
    slope = differentiate(lambda Z: _native.attractive_loss(*native_parts(W), Z, CURVE, 1), Y)
    np.testing.assert_allclose(2 * pulls, -12 * slope, atol=1e-5)
    slope = differentiate(lambda Z: descent.repulsive_loss(Z, 1), Y)
    np.testing.assert_allclose(2 * pushes, -12 * slope, atol=1e-5)
    some = np.empty((4, k))
    _native.layout_repulsion(Y, CURVE, True, np.arange(3, 7), some, 1)
    np.testing.assert_allclose(some, pushes[3:7], rtol=1e-5)


def test_the_loss_of_the_repulsion_is_its_integral():
    grid = np.geomspace(1e-3, 30, 300)
    V = CubicSpline(np.log(grid), [potential(d) for d in grid])
    Y = np.random.default_rng(1).normal(size=(40, 2))
    pairs = cdist(Y, Y)[np.triu_indices(40, 1)]
    expected = 2 * V(np.log(pairs)).sum() / 40 / 80
    W = ring(40, 2, np.random.default_rng(0))
    assert descent_of(W, 2).repulsive_loss(Y, 1) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_few_points_have_exact_forces(k, rng):
    Y = clusters(60, k, rng)
    W = neighbor_graph(Y)
    for found, expected in zip(forces_of(W, Y), plain_forces(W, Y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-10 * np.abs(expected).max())
    assert Mesh.of(descent_of(W, k), Y) is None


@pytest.mark.parametrize("k", [1, 2])
def test_forces_on_a_mesh_are_within_four_percent(k, rng):
    Y = clusters(MANY, k, rng)
    W = neighbor_graph(Y)
    (pulls, pushes), (exact_pulls, exact_pushes) = forces_of(W, Y), plain_forces(W, Y)
    assert relative(pulls, exact_pulls) < 3e-5
    assert relative(pushes, exact_pushes) < 0.04
    some = np.empty((40, k))
    _native.layout_repulsion(Y, CURVE, False, np.arange(40), some, 2)
    assert relative(some, exact_pushes[:40]) < 1e-5


@pytest.mark.parametrize("k", [3, 4])
def test_sampled_forces_have_the_exact_mean(k, rng):
    Y = clusters(600, k, rng)
    W = neighbor_graph(Y)
    pulls, pushes = plain_forces(W, Y)
    drawn = [forces_of(W, Y, seed) for seed in range(100)]
    assert relative(drawn[0][0], pulls) < 3e-5
    noise = relative(drawn[0][1], pushes)
    assert relative(np.mean([r for _, r in drawn], axis=0), pushes) < 2 * noise / np.sqrt(100)


def test_density_forces_are_the_gradient_of_the_correlation_of_radii():
    rng = np.random.default_rng(1)
    n = 15
    W, Y = random_graph(n, 6, rng), 2 * rng.normal(size=(n, 2))
    radii = rng.normal(size=n)
    radii = (radii - radii.mean()) / radii.std()
    rows, columns = W.nonzero()

    def correlation(Z):
        s = ((Z[rows] - Z[columns]) ** 2).sum(1)
        phi = 1 / (1 + A * s**B)
        r = np.log(np.bincount(rows, phi * s, n) / np.bincount(rows, phi, n) + 1e-8)
        return radii @ r / n / np.sqrt(r.var() + 0.1)

    degrees, found = W.sum(1), np.empty(Y.shape)
    slope = differentiate(correlation, Y) * n / 2 * (degrees.mean() / degrees)[:, None]
    descent_of(W, 2, 0, radii).density_forces(Y, 1e-3, found, 1)  # no edge is at its limit
    np.testing.assert_allclose(found / 1e-3, slope, atol=1e-5 * np.abs(slope).max())


def test_density_forces_of_an_edge_are_limited():
    """Two points and one edge of weight P = 1: at most 4, along the edge."""
    W = csr_array(np.array([[0, 0.3], [0.3, 0]]))
    Y, radii = np.array([[0.0, 0.0], [3.0, 4.0]]) * 0.01, np.array([1.0, 3.0])
    descent = descent_of(W, 2, 0, radii)
    weak, twice, strong = (np.empty(Y.shape) for _ in range(3))
    for density, out in ((1e-6, weak), (2e-6, twice), (1e3, strong)):
        descent.density_forces(Y, density, out, 1)
    np.testing.assert_allclose(strong[1], 4 * weak[1] / np.linalg.norm(weak[1]))
    np.testing.assert_allclose(strong[0], -strong[1])
    np.testing.assert_allclose(twice, 2 * weak)


def test_descent_by_hand():
    rng = np.random.default_rng(2)
    W, Y = random_graph(20, 5, rng), rng.normal(size=(20, 2))
    descent, found = descent_of(W, 2), np.empty((20, 2))
    descent.start(Y)
    moved = descent.advance(np.array([0.5, 0.25]), np.array([1.0, 7.5]), None, 1)
    v, expected = np.zeros(Y.shape), Y.copy()
    for rate, repulsion in ((0.5, 1.0), (0.25, 7.5)):
        pulls, pushes = plain_forces(W, expected)
        v = 0.8 * v + rate * (pulls + repulsion * pushes)
        v *= np.minimum(1, 4 / np.linalg.norm(v, axis=1, keepdims=True))
        expected = expected + v
    descent.embedding(found)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert moved == pytest.approx((v**2).sum(), rel=1e-3)


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60])
def test_memberships_have_the_sum_that_the_number_of_neighbors_asks(scale):
    rng = np.random.default_rng(3)
    lengths = np.array([1, 2, 14, 30])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    d = np.concatenate([np.sort(rng.gamma(3, size=k)) for k in lengths]) * scale
    near = Neighbors(indptr, np.zeros(len(d), np.int32), d)
    mu, rho, sigma = memberships(near, 1.0)
    for i, k in enumerate(lengths):
        part = slice(indptr[i], indptr[i + 1])
        assert rho[i] == d[indptr[i]]
        assert mu[part].sum() == pytest.approx(np.log2(k + 1), abs=2e-5)
        np.testing.assert_allclose(mu[part], np.exp(-(d[part] - rho[i]) / sigma[i]), rtol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_fuzzy_union_by_hand(share):
    rng = np.random.default_rng(4)
    M = np.where(rng.random((30, 30)) < 0.2, rng.random((30, 30)), 0)
    owners, indices = np.nonzero(M)
    near = Neighbors.of_entries(30, owners, indices, np.zeros(len(owners)))
    W = symmetrized(near, M[near.owners, near.indices], share).toarray()
    both = M * M.T
    np.testing.assert_allclose(W, share * (M + M.T - both) + (1 - share) * both, atol=1e-12)


def place(near, p, Y, mesh=None, rows=None):
    """New points by their neighbors, each in its own row."""
    lists = np.arange(0, near.size + 1, near.shape[1]), near.ravel().astype(np.int32), p.ravel()
    rows = np.arange(0 if mesh is not None else len(Y)) if rows is None else rows
    out = np.empty((len(near), Y.shape[1]))
    share, steps = (0.5, 30) if Y.shape[1] == 1 else (0.8, 18)
    parts = mesh_parts(mesh)
    _native.layout_new_points(*lists, Y, CURVE, 7.5, *parts, rows, share, steps, out, 2)
    return out


@pytest.mark.parametrize("k", [1, 2, 3])
def test_new_points_end_where_their_force_is_zero(k):
    rng = np.random.default_rng(5)
    Y = 4 * rng.normal(size=(80, k))
    near = np.argsort(((Y[:, None] - Y[:9][None]) ** 2).sum(-1), axis=0)[:10].T
    p = rng.random(near.shape)
    p /= p.sum(1, keepdims=True)
    found = place(near, p, Y)
    for i in range(len(found)):
        gap, away = Y[near[i]] - found[i], found[i] - Y
        s, t = (gap**2).sum(1), (away**2).sum(1)
        pull = p[i] * 2 * A * B * s ** (B - 1) / (1 + A * s**B)
        push = 2 * B / ((SOFTENING + t) * (1 + A * t**B)) / 160
        force = pull @ gap + 7.5 * push @ away
        assert np.abs(force).max() < 0.02 * np.abs(pull[:, None] * gap).sum()
        np.testing.assert_array_equal(place(near[[i]], p[[i]], Y)[0], found[i])


def test_new_points_by_a_mesh_are_where_all_pairs_would_have_them(rng):
    Y = clusters(MANY, 2, rng)
    mesh = Mesh.of(descent_of(neighbor_graph(Y), 2), Y)
    near = np.argsort(cdist(Y[:50], Y), axis=1)[:, 1:9]
    p = np.full(near.shape, 1 / 8)
    assert np.median(np.abs(place(near, p, Y, mesh) - place(near, p, Y))) < 0.01
    some = np.sort(rng.choice(MANY, 600, replace=False))
    assert np.median(np.abs(place(near, p, Y, rows=some) - place(near, p, Y))) < 0.1


@pytest.mark.parametrize(("n", "k"), [(300, 2), *((2600, k) for k in (1, 2, 3, 4))])
def test_threads_do_not_matter(n, k, rng):
    Y = clusters(n, k, rng)
    near = (np.arange(n)[:, None] + [1, 2, -1, -2]) % n
    indptr, weights = np.arange(0, 4 * n + 1, 4), np.tile([0.9, 0.4, 0.9, 0.4], n)
    W = csr_array((weights, near.ravel().astype(np.int32), indptr))
    found = []
    for threads in (1, 2, 3, 7):
        descent = descent_of(W, k, 7, np.cos(np.arange(n)))
        ends = []
        for densities in (np.where(np.arange(70) > 60, 1.0, 0.0), None):
            descent.start(Y)
            descent.advance(RATES, STRENGTHS, densities, threads)
            ends.append(np.empty(Y.shape))
            descent.embedding(ends[-1])
        found.append((*ends, descent.repulsive_loss(Y, threads)))
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("far", [300.0, 1e8, 1e25])
def test_far_components_are_finite(far, rng):
    """A mesh would have too many nodes: the repulsion is sampled."""
    Y = clusters(MANY, 2, rng)
    W = neighbor_graph(Y)
    Y[: MANY // 2] += far
    descent, end = descent_of(W, 2), np.empty(Y.shape)
    descent.start(Y)
    assert np.isfinite(descent.advance(RATES, STRENGTHS, None, 2))
    descent.embedding(end)
    assert np.isfinite(end).all()
    assert np.isfinite(descent.repulsive_loss(Y, 2))
    assert Mesh.of(descent, Y) is None


@pytest.mark.parametrize("n", [12, 700])
def test_isolated_and_equal_points_are_finite(n):
    Y, end = np.zeros((n, 2)), np.empty((n, 2))
    Y[n // 2 :] = 1
    W = csr_array((np.ones(2), ([0, 1], [1, 0])), (n, n))
    descent = descent_of(W, 2, 0, np.arange(n) * 1.0)
    descent.start(Y)
    assert np.isfinite(descent.advance(RATES, STRENGTHS, np.full(70, 2.0), 2))
    descent.embedding(end)
    assert np.isfinite(end).all()
    assert np.isfinite(descent.repulsive_loss(Y, 2))


@pytest.fixture
def handled_interrupts():
    """Ctrl-C raises, also where the tests run in the background and the shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handled_interrupts")
def test_interrupt_ends_a_descent(rng):
    Y = clusters(3000, 2, rng)
    descent, steps = descent_of(neighbor_graph(Y), 2), 10_000_000
    descent.start(Y)
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        descent.advance(np.full(steps, 1e-3), np.full(steps, 1.0), None, 2)
    end = np.empty(Y.shape)
    descent.embedding(end)
    assert np.isfinite(end).all()
