"""Affinities and descents of the torch backend against the reference, on a GPU or a CPU build."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

from lowd.backends.protocol import FuzzySum, LayoutCurve, Perplexity, Terms, random_walk
from lowd.backends.reference import Reference

from cases import same_bits
from lowd.backends.torch import plane_descent
from operands import near
from oracles import symmetrize
from torch_operands import FAST, all_sizes_on_the_device  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("all_sizes_on_the_device")
PLAIN = Reference()
CURVE = LayoutCurve(1.6, 0.9, 0.02)


def list_distances(n, k, rng):
    D = np.sort(cdist(*(2 * [rng.normal(size=(n, 4))])), axis=1)[:, 1 : k + 1]
    return np.arange(0, n * k + 1, k, dtype=np.int64), np.ascontiguousarray(D).ravel()


@pytest.mark.parametrize("target", [1.5, 5.0, 19.9])
def test_perplexities(target, rng):
    starts, D = list_distances(300, 20, rng)
    D[:20], D[20:30], D[40:59] = 2.0, 0.0, 1e-9  # ties, duplicates, one that is far
    fast, plain = (ops.calibrate_rows(starts, D**2, Perplexity(target)) for ops in (FAST, PLAIN))
    np.testing.assert_allclose(fast.affinities, plain.affinities, atol=1e-10)
    np.testing.assert_allclose(fast.scales[3:], plain.scales[3:], rtol=1e-8)
    assert not fast.offsets.any()


@pytest.mark.parametrize("connectivity", [0.5, 1.0, 2.5, 19.0])
@pytest.mark.parametrize("mean_distance", [None, 0.7])
def test_fuzzy_memberships(connectivity, mean_distance, rng):
    starts, D = list_distances(300, 15, rng)
    D[:15], D[15:20], D[30:44] = 2.0, 0.0, 0.0
    D[45:60] = 0
    rule = FuzzySum(connectivity, mean_distance)
    fast, plain = (ops.calibrate_rows(starts, D, rule) for ops in (FAST, PLAIN))
    np.testing.assert_allclose(fast.offsets, plain.offsets, rtol=1e-12)
    np.testing.assert_allclose(fast.scales, plain.scales, rtol=1e-9)
    np.testing.assert_allclose(fast.affinities, plain.affinities, atol=1e-9)


def test_lists_of_different_lengths(rng):
    starts, D = np.array([0, 3, 3, 9], np.int64), rng.random(9)
    fast, plain = (ops.calibrate_rows(starts, D, Perplexity(2.0)) for ops in (FAST, PLAIN))
    np.testing.assert_allclose(fast.affinities, plain.affinities, atol=1e-10)


@pytest.mark.parametrize("union", [None, 1.0, 0.3])
def test_both_directions_of_affinities(union, rng):
    A = rng.random((70, 70)) * (rng.random((70, 70)) < 0.15)
    A[5] = 0
    np.fill_diagonal(A, 0)
    fast, plain = (symmetrize(ops, csr_array(A), union) for ops in (FAST, PLAIN))
    np.testing.assert_allclose(fast.toarray(), plain.toarray(), rtol=1e-14)
    same_bits(fast.indices.astype(np.int64), plain.indices.astype(np.int64))
    same_bits(fast.indptr.astype(np.int64), plain.indptr.astype(np.int64))


def similarities(n, rng):
    W = np.exp(-cdist(*(2 * [rng.normal(size=(n, 3))]), "sqeuclidean"))
    np.fill_diagonal(W, 0)
    W[W < 0.05] = 0
    W[np.arange(n), (np.arange(n) + 1) % n] = 0.1
    W = W + W.T
    return csr_array(W / W.sum())


@pytest.mark.parametrize("kernel", ["student", "gauss", "rows"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_forces_and_sums_of_few_points(kernel, k, rng):
    P, Y = similarities(300, rng), rng.normal(size=(300, k))
    plain, fast = (ops.kl_objective(kernel).plan(P) for ops in (PLAIN, FAST))
    for slow, quick in zip(plain.forces(Y), fast.forces(Y), strict=True):
        np.testing.assert_allclose(quick, slow, atol=1e-10 * np.abs(slow).max())
    rows = np.arange(0, 300, 7)
    for slow, quick in zip(plain.pair_sums(Y, rows), fast.pair_sums(Y, rows), strict=True):
        np.testing.assert_allclose(quick, slow, rtol=1e-9, atol=1e-12)
    assert fast.partition_function(Y) == pytest.approx(plain.partition_function(Y), rel=1e-9)
    assert fast.cross_term(Y) == pytest.approx(plain.cross_term(Y), rel=1e-12)
    for plan in (plain, fast):
        plan.start(Y)
    lengths = [plan.advance(5, 4.0, 0.5, 20.0) for plan in (plain, fast)]
    assert lengths[1] == pytest.approx(lengths[0], rel=1e-8)
    np.testing.assert_allclose(fast.embedding(), plain.embedding(), atol=1e-8)


@pytest.mark.parametrize("n", [900, 1600])
@pytest.mark.parametrize("size", [1e-4, 8.0])
def test_forces_of_many_points(n, size, rng):
    """All pairs in float32 or on a mesh: of a new embedding, where all are in one cell, too."""
    P, Y = similarities(n, rng), size * rng.normal(size=(n, 2))
    plain, fast = (ops.kl_objective("student").plan(P) for ops in (PLAIN, FAST))
    A, R = plain.forces(Y)
    pull, push = fast.forces(Y)
    assert np.sqrt(((pull - A) ** 2).sum() / (A**2).sum()) < 1e-5
    share = 1e-2 if fast.uses_interpolation(Y) else 1e-5
    if size > 1:  # near the origin all repulsion cancels
        assert np.sqrt(((push - R) ** 2).sum() / (R**2).sum()) < share
    assert fast.partition_function(Y) == pytest.approx(plain.partition_function(Y), rel=1e-6)
    grid = fast.interpolation_grid(Y)
    if n > 1500:
        from lowd.backends.reference.new_points import interpolate

        at = Y[17] + 0.3
        exact = (1 / (1 + ((at - Y) ** 2).sum(1))).sum()
        assert interpolate(grid, at)[0] == pytest.approx(exact, rel=5e-3)
    else:
        assert grid is None


def test_a_descent_follows_the_reference(rng, monkeypatch):
    """Step by step, over a sorting of the points, and beyond the nodes of the first mesh."""
    monkeypatch.setattr(plane_descent, "PLANE_SORT_INTERVAL", 20)
    n = 1100
    P, Y = similarities(n, rng), rng.normal(size=(n, 2))
    plain, fast = (ops.kl_objective("student").plan(P) for ops in (PLAIN, FAST))
    for plan in (plain, fast):
        plan.start(Y)
    lengths = [plan.advance(3, 1.0, 0.5, float(n)) for plan in (plain, fast)]
    assert lengths[1] == pytest.approx(lengths[0], rel=2e-2)
    gap = np.abs(fast.embedding() - plain.embedding()).max()
    assert gap < 0.02 * np.abs(plain.embedding() - Y).max()
    fast.start(1e-3 * Y)
    for _ in range(3):
        fast.advance(10, 4.0, 0.8, float(n))
    ends = fast.embedding()
    assert np.isfinite(ends).all()
    again = FAST.kl_objective("student").plan(P)
    again.start(1e-3 * Y)
    for _ in range(3):
        again.advance(10, 4.0, 0.8, float(n))
    same_bits(again.embedding(), ends)


def test_points_that_leave_the_mesh_are_stepped_again(rng):
    """A first step of the longest length, which a mesh of the first span does not hold."""
    n = 1100
    P, Y = similarities(n, rng), 1e-2 * rng.normal(size=(n, 2))
    plain, fast = (ops.kl_objective("student").plan(P) for ops in (PLAIN, FAST))
    for plan in (plain, fast):
        plan.start(Y)
        plan.advance(8, 1.0, 0.9, 1e7)
    span = np.ptp(plain.embedding(), axis=0)
    np.testing.assert_allclose(np.ptp(fast.embedding(), axis=0), span, rtol=0.1)


@pytest.mark.parametrize("k", [2, 3])
def test_forces_of_a_layout(k, rng):
    n = 1200
    W, Y = similarities(n, rng), 4 * rng.normal(size=(n, k))
    plain, fast = (ops.layout_objective(CURVE).plan(W, 0) for ops in (PLAIN, FAST))
    (A, R), (pull, push) = plain.forces(Y), fast.forces(Y)
    assert np.sqrt(((pull - A) ** 2).sum() / (A**2).sum()) < 1e-4
    if k == 2:
        assert np.sqrt(((push - R) ** 2).sum() / (R**2).sum()) < 0.03
        losses = plain.loss_terms(Y), fast.loss_terms(Y)
        np.testing.assert_allclose(losses[1], losses[0], rtol=2e-3)
        plan = [plain, fast]
        for one in plan:
            one.start(Y)
            one.advance(np.full(3, 0.5), np.full(3, 2.0), None)
        moved = np.abs(plain.embedding() - Y).max()
        assert np.abs(fast.embedding() - plain.embedding()).max() < 0.05 * moved
    rows = np.arange(0, n, 90)
    np.testing.assert_allclose(fast.repulsion_of(Y, rows), R[rows], atol=1e-10)


def neighbors_of(n, k, rng):
    """Distances to the k nearest of each row, nearest first; two rows are equal."""
    X = rng.normal(size=(n, 4))
    X[5] = X[9]
    found = FAST.index(X, "euclidean", (1.0,), None).others(k)
    indptr = np.arange(0, n * k + 1, k)
    return csr_array((found.distances.ravel(), found.indices.ravel(), indptr), (n, n))


@pytest.mark.parametrize(
    ("rule", "union"), [(Perplexity(6.0), None), (FuzzySum(1.0), 1.0), (FuzzySum(1.5), 0.4)]
)
def test_a_graph_of_similarities_is_that_of_its_two_steps(rule, union, rng):
    edges = neighbors_of(400, 20, rng)
    fast, plain = (ops.similarity_graph(edges, rule, union) for ops in (FAST, PLAIN))
    W, expected = fast.graph.to_csr(), plain.graph
    assert W.shape == fast.graph.shape == expected.shape
    np.testing.assert_array_equal(W.indices, expected.indices)
    np.testing.assert_array_equal(W.indptr, expected.indptr)
    near(W.data, expected.data, np.float64, 1e5 if union is None else 1e11)
    near(fast.scales, plain.scales, np.float64, 1e6 if union is None else 1e11)
    Y = rng.normal(size=(400, 2))
    (walk, degrees), (expected_walk, expected_degrees) = map(random_walk, (fast.graph, plain.graph))
    near(degrees, expected_degrees, np.float64, 1e11)
    plan = FAST.matrix_plan(walk)
    step = plan.fetch(plan.matmul(plan.hold(Y), Terms(alpha=0.5, beta=0.5)))
    near(step, 0.5 * (expected_walk @ Y) + 0.5 * Y, np.float64, 1e11)
    near(walk.to_csr().data, expected_walk.data, np.float64, 1e11)


def test_a_graph_that_stays_on_the_device_has_the_plan_of_its_copy(rng):
    edges = neighbors_of(1200, 20, rng)
    graph = FAST.similarity_graph(edges, Perplexity(6.0)).graph
    Y, objective = rng.normal(size=(1200, 2)), FAST.kl_objective("student")
    held, copied = objective.plan(graph), objective.plan(graph.to_csr())
    for one, other in zip(held.forces(Y), copied.forces(Y), strict=True):
        np.testing.assert_array_equal(one, other)
    assert held.cross_term(Y) == copied.cross_term(Y)
    layout = FAST.layout_objective(CURVE)
    held, copied = (layout.plan(W, 0) for W in (graph, graph.to_csr()))
    for one, other in zip(held.forces(Y), copied.forces(Y), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n", [501, 640, 1501])
@pytest.mark.parametrize("size", [1e-3, 30.0])
def test_terms_of_the_divergence(n, size, rng):
    P, Y = similarities(n, rng), size * rng.normal(size=(n, 2))
    fast, plain = (ops.kl_objective("student").plan(P) for ops in (FAST, PLAIN))
    assert fast.cross_term(Y) == pytest.approx(plain.cross_term(Y), rel=1e-12)
    assert fast.partition_function(Y) == pytest.approx(plain.partition_function(Y), rel=3e-6)
    fast.start(Y)
    np.testing.assert_allclose(fast.variances(), Y.var(0), rtol=1e-5)
