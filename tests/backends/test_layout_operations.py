"""Operations of UMAP: closed forms, finite differences, and backends against each other."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.backends.protocol import FuzzySum, LayoutCurve, LayoutPlan, Ragged
from lowd.backends.reference.layout import tabulate_potential
from scipy.integrate import quad
from scipy.sparse import csr_array

from lowd.backends import resolve
from oracles import symmetrize

CURVE = LayoutCurve(1.5769, 0.8951, 0.02)
BACKENDS = ("native", "reference")


def ring(n: int, width: int, rng: np.random.Generator) -> csr_array:
    """A graph in which each point has the same degree, with unequal weights."""
    W = np.zeros((n, n))
    for step in range(1, width + 1):
        W[np.arange(n), (np.arange(n) + step) % n] = rng.uniform(0.2, 1)
    return csr_array(W + W.T)


def random_graph(n: int, k: int, rng: np.random.Generator) -> csr_array:
    A = np.where(rng.random((n, n)) < k / n, rng.random((n, n)), 0)
    np.fill_diagonal(A, 0)
    return csr_array(A + A.T - A * A.T)


def differentiate(f, Y, step=1e-5):
    slope = np.empty(Y.shape)
    for at in np.ndindex(Y.shape):
        moved = Y.copy()
        moved[at] += step
        above = f(moved)
        moved[at] -= 2 * step
        slope[at] = (above - f(moved)) / (2 * step)
    return slope


@pytest.mark.parametrize(
    ("backend", "k"), [("native", 1), ("native", 2), ("native", 3), ("reference", 2)]
)
def test_forces_are_minus_the_gradient_of_the_loss_where_degrees_are_equal(backend, k):
    rng = np.random.default_rng(0)
    W, Y = ring(12, 3, rng), rng.normal(size=(12, k))
    plan: LayoutPlan = resolve(backend, 1).layout_objective(CURVE).plan(W, 0)
    A, R = plan.forces(Y)
    exact: LayoutPlan = resolve("reference", 1).layout_objective(CURVE).plan(W, 0)
    slope = differentiate(lambda Z: exact.loss_terms(Z)[0], Y)
    np.testing.assert_allclose(2 * A, -12 * slope, atol=1e-5)
    slope = differentiate(lambda Z: exact.loss_terms(Z)[1], Y)
    np.testing.assert_allclose(2 * R, -12 * slope, atol=1e-5)
    np.testing.assert_allclose(plan.loss_terms(Y), exact.loss_terms(Y), rtol=1e-4)
    np.testing.assert_allclose(plan.repulsion_of(Y, np.arange(3, 7)), R[3:7], rtol=1e-5)


@pytest.mark.parametrize("curve", [CURVE, LayoutCurve(0.115, 1.93, 0.02), LayoutCurve(9, 0.7, 0.1)])
def test_repulsive_potential_is_the_integral_of_the_repulsion(curve):
    a, b, softening = curve
    V = tabulate_potential(curve)

    def slope(t):
        return b / ((softening * np.exp(-t) + 1) * (1 + a * np.exp(b * t)))

    for d in (1e-3, 0.05, 0.4, 2.0, 30.0):
        exact = quad(slope, 2 * np.log(d), 60, epsabs=1e-13, limit=500)[0]
        assert V(np.array([d**2]))[0] == pytest.approx(exact, rel=1e-7)
    assert V(np.zeros(1))[0] == pytest.approx(V(np.array([1e-30]))[0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_density_forces_are_the_gradient_of_the_correlation_of_radii(backend):
    rng = np.random.default_rng(1)
    n = 15
    W, Y = random_graph(n, 6, rng), 2 * rng.normal(size=(n, 2))
    radii = rng.normal(size=n)
    radii = (radii - radii.mean()) / radii.std()
    rows, columns = W.nonzero()

    def correlation(Z):
        s = ((Z[rows] - Z[columns]) ** 2).sum(1)
        phi = 1 / (1 + CURVE.a * s**CURVE.b)
        r = np.log(np.bincount(rows, phi * s, n) / np.bincount(rows, phi, n) + 1e-8)
        return radii @ r / n / np.sqrt(r.var() + 0.1)

    plan = resolve(backend, 1).layout_objective(CURVE).plan(W, 0, radii, 0.1)
    degrees = W.sum(1)
    slope = differentiate(correlation, Y) * n / 2 * (degrees.mean() / degrees)[:, None]
    T = plan.density_forces(Y, 1e-3) / 1e-3  # so weak that no edge is at its limit
    np.testing.assert_allclose(T, slope, atol=1e-5 * np.abs(slope).max())


@pytest.mark.parametrize("backend", BACKENDS)
def test_density_forces_of_an_edge_are_limited(backend):
    """Two points and one edge of weight P = 1: at most 4, along the edge."""
    W = csr_array(np.array([[0, 0.3], [0.3, 0]]))
    Y, radii = np.array([[0.0, 0.0], [3.0, 4.0]]) * 0.01, np.array([1.0, 3.0])
    plan = resolve(backend, 1).layout_objective(CURVE).plan(W, 0, radii, 0.1)
    weak, strong = plan.density_forces(Y, 1e-6), plan.density_forces(Y, 1e3)
    np.testing.assert_allclose(strong[1], 4 * weak[1] / np.linalg.norm(weak[1]))
    np.testing.assert_allclose(strong[0], -strong[1])
    np.testing.assert_allclose(plan.density_forces(Y, 2e-6), 2 * weak)


@pytest.mark.parametrize("backend", BACKENDS)
def test_descent_by_hand(backend):
    rng = np.random.default_rng(2)
    W, Y = random_graph(20, 5, rng), rng.normal(size=(20, 2))
    plan = resolve(backend, 1).layout_objective(CURVE).plan(W, 0)
    plan.start(Y)
    moved = plan.advance(np.array([0.5, 0.25]), np.array([1.0, 7.5]), None)
    v, expected = np.zeros(Y.shape), Y.copy()
    exact = resolve("reference", 1).layout_objective(CURVE).plan(W, 0)
    for rate, repulsion in ((0.5, 1.0), (0.25, 7.5)):
        A, R = exact.forces(expected)
        v = 0.8 * v + rate * (A + repulsion * R)
        v *= np.minimum(1, 4 / np.linalg.norm(v, axis=1, keepdims=True))
        expected = expected + v
    np.testing.assert_allclose(plan.embedding(), expected, atol=1e-4)
    assert moved == pytest.approx(np.sqrt((v**2).sum(1).mean()), rel=1e-3)


@pytest.mark.parametrize(
    ("backend", "scale"),
    [("native", 1.0), ("native", 1e-60), ("native", 1e60), ("reference", 1e60)],
)
def test_memberships_have_the_sum_that_the_number_of_neighbors_asks(backend, scale):
    rng = np.random.default_rng(3)
    lengths = np.array([1, 2, 14, 30])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    d = np.concatenate([np.sort(rng.gamma(3, size=k)) for k in lengths]) * scale
    w, sigma, rho = resolve(backend, 1).calibrate_rows(indptr, d, FuzzySum(1.0))
    for i, k in enumerate(lengths):
        part = slice(indptr[i], indptr[i + 1])
        assert rho[i] == d[indptr[i]]
        assert w[part].sum() == pytest.approx(np.log2(k + 1), abs=2e-5)
        np.testing.assert_allclose(w[part], np.exp(-(d[part] - rho[i]) / sigma[i]), rtol=1e-6)


@pytest.mark.parametrize(
    ("backend", "share"), [("native", 0.0), ("native", 0.3), ("native", 1.0), ("reference", 0.3)]
)
def test_fuzzy_union_by_hand(backend, share):
    rng = np.random.default_rng(4)
    A = np.where(rng.random((30, 30)) < 0.2, rng.random((30, 30)), 0)
    W = symmetrize(resolve(backend, 1), csr_array(A), share).toarray()
    both = A * A.T
    np.testing.assert_allclose(W, share * (A + A.T - both) + (1 - share) * both, atol=1e-12)


@pytest.mark.parametrize(
    ("backend", "k"), [("native", 1), ("native", 2), ("native", 3), ("reference", 2)]
)
def test_new_points_end_where_their_force_is_zero(backend, k):
    rng = np.random.default_rng(5)
    Y = 4 * rng.normal(size=(80, k))
    near = np.argsort(((Y[:, None] - Y[:9][None]) ** 2).sum(-1), axis=0)[:10].T.astype(np.int32)
    p = rng.random(near.shape)
    p /= p.sum(1, keepdims=True)
    lists = Ragged(np.arange(0, 91, 10), near.ravel())
    objective = resolve(backend, 1).layout_objective(CURVE)
    out = objective.optimize_new_points(lists, p.ravel(), Y, 7.5, None, None)
    for i in range(len(out)):
        gap, away = Y[near[i]] - out[i], out[i] - Y
        s, t = (gap**2).sum(1), (away**2).sum(1)
        a, b, softening = CURVE
        pull = p[i] * 2 * a * b * s ** (b - 1) / (1 + a * s**b)
        push = 2 * b / ((softening + t) * (1 + a * t**b)) / 160
        force = pull @ gap + 7.5 * push @ away
        assert np.abs(force).max() < 0.02 * np.abs(pull[:, None] * gap).sum()
    alone = [
        objective.optimize_new_points(one, p[i], Y, 7.5, None, None)[0]
        for i, one in enumerate(Ragged(np.array([0, 10]), row) for row in near)
    ]
    np.testing.assert_array_equal(alone, out)
