"""Native operations of neighbor embedding against the reference, and against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from lowd.backends.protocol import FuzzySum, Perplexity, Ragged, Terms, random_walk, to_csr
from lowd.backends.reference import Reference
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from cases import same_bits

_native = pytest.importorskip("lowd._native", reason="the native core is not built")
from lowd.backends.native import Native  # noqa: E402 - only where it is built

from oracles import symmetrize  # noqa: E402

PLAIN, FAST = Reference(), Native(threads=2)
both = pytest.mark.parametrize("ops", [PLAIN, FAST], ids=["reference", "native"])
kernels = pytest.mark.parametrize("kernel", ["student", "gauss", "rows"])


def squares_of(n, rng, k=20):
    """Squared distances to the k nearest of each row."""
    X = rng.normal(size=(n, 4))
    D = np.sort(cdist(X, X, "sqeuclidean"), axis=1)[:, 1 : k + 1]
    return np.arange(0, n * k + 1, k, dtype=np.int64), np.ascontiguousarray(D).ravel()


def likeness(n, rng, kernel):
    """Sparse, of sum 1: symmetric, or the same sum in every row."""
    W = np.exp(-cdist(*(2 * [rng.normal(size=(n, 3))]), "sqeuclidean"))
    np.fill_diagonal(W, 0)
    W[(0.05 * W.max(1)[:, None] > W) & (0.05 * W.max(1) > W)] = 0  # every row keeps some
    return csr_array(W / W.sum(1, keepdims=True) / n if kernel == "rows" else W / W.sum())


@both
@pytest.mark.parametrize("target", [3.0, 12.0])
def test_perplexity_of_every_row(ops, target, rng):
    starts, squares = squares_of(300, rng)
    p, beta, offsets = ops.calibrate_rows(starts, squares, Perplexity(target))
    assert not offsets.any()
    rows = p.reshape(300, -1)
    np.testing.assert_allclose(rows.sum(1), 1, atol=1e-12)
    np.testing.assert_allclose(np.exp(-(rows * np.log(rows + 1e-300)).sum(1)), target, rtol=1e-9)
    wanted = np.exp(-beta[:, None] * squares.reshape(rows.shape))
    np.testing.assert_allclose(rows, wanted / wanted.sum(1, keepdims=True), atol=1e-9)


def test_perplexity_of_ties():
    starts = np.array([0, 4], np.int64)
    for ops in (PLAIN, FAST):
        p = ops.calibrate_rows(starts, np.full(4, 2.0), Perplexity(3.0)).affinities
        np.testing.assert_allclose(p, 0.25, atol=1e-12)


@both
@kernels
def test_forces_are_a_quarter_of_the_gradient(ops, kernel, rng):
    P, Y = likeness(25, rng, kernel), rng.normal(size=(25, 2))
    W = P.toarray()

    def divergence(Y):
        D = cdist(Y, Y, "sqeuclidean")
        w = 1 / (1 + D) if kernel == "student" else np.exp(-D)
        np.fill_diagonal(w, 0)
        q = w / (w.sum(1, keepdims=True) * len(w) if kernel == "rows" else w.sum())
        return -(W[W > 0] * np.log(q[W > 0])).sum()

    # What pulls a pair together is the sum of both directions, so plans take the symmetric part.
    pull, push = ops.kl_objective(kernel).plan(csr_array((P + P.T) / 2)).forces(Y)
    for at in [(0, 0), (7, 1), (24, 0)]:
        step = np.zeros_like(Y)
        step[at] = 1e-5
        slope = (divergence(Y + step) - divergence(Y - step)) / 2e-5
        assert 4 * (pull - push)[at] == pytest.approx(slope, abs=1e-7)


def test_joint_probabilities(rng):
    """Edges in one direction, in both, or in none; and a row without neighbors."""
    A = rng.random((70, 70)) * (rng.random((70, 70)) < 0.15)
    A[5] = 0
    np.fill_diagonal(A, 0)
    rows = csr_array(A)
    order = np.concatenate([rng.permutation(c) for c in np.diff(rows.indptr)])
    order += np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
    mixed = csr_array((rows.data[order], rows.indices[order], rows.indptr), rows.shape)
    for ops in (PLAIN, FAST):
        P = symmetrize(ops, mixed)
        np.testing.assert_allclose(P.toarray(), (A + A.T) / 140, rtol=1e-14)
        assert P.nnz == np.count_nonzero(A + A.T)
    parts = [symmetrize(Native(threads=threads), mixed) for threads in (1, 5)]
    same_bits(parts[1].data, parts[0].data)


@kernels
def test_forces_and_sums_agree(kernel, rng):
    P, Y = likeness(400, rng, kernel), 3 * rng.normal(size=(400, 2))
    plain, fast = PLAIN.kl_objective(kernel).plan(P), FAST.kl_objective(kernel).plan(P)
    for slow, quick in zip(plain.forces(Y), fast.forces(Y), strict=True):
        np.testing.assert_allclose(quick, slow, atol=1e-10 * np.abs(slow).max())
    rows = np.arange(0, 400, 7)
    for slow, quick in zip(plain.pair_sums(Y, rows), fast.pair_sums(Y, rows), strict=True):
        np.testing.assert_allclose(quick, slow, rtol=1e-9, atol=1e-12)
    assert fast.partition_function(Y) == pytest.approx(plain.partition_function(Y), rel=1e-10)
    D, p = cdist(Y, Y, "sqeuclidean"), P.toarray()
    far = np.log1p(D) if kernel == "student" else D
    expected = (p * (np.log(np.where(p > 0, p, 1)) + far)).sum()
    assert plain.cross_term(Y) == pytest.approx(expected, rel=1e-12)
    assert fast.cross_term(Y) == pytest.approx(expected, rel=1e-12)


@kernels
def test_a_descent_is_that_of_the_reference(kernel, rng):
    P, Y = likeness(120, rng, kernel), rng.normal(size=(120, 2))
    plain, fast = (ops.kl_objective(kernel).plan(P) for ops in (PLAIN, FAST))
    moved = []
    for plan in (plain, fast):
        plan.start(Y)
        moved.append(plan.advance(12, 4.0, 0.5, 10.0))
    assert moved[1] == pytest.approx(moved[0], rel=1e-6)
    np.testing.assert_allclose(fast.embedding(), plain.embedding(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(fast.variances(), plain.variances(), rtol=1e-6)
    assert not plain.uses_interpolation(Y)
    assert plain.interpolation_grid(Y) is None
    assert np.abs(plain.embedding() - Y).max() > 0.01


@kernels
def test_descents_have_the_same_bits_for_any_number_of_threads(kernel, rng):
    P, Y = likeness(1100, rng, kernel), 1e-4 * rng.normal(size=(1100, 2))
    ends = []
    for threads in (1, 2, 5):
        plan = Native(threads=threads).kl_objective(kernel).plan(P)
        plan.start(Y)
        plan.advance(30, 4.0, 0.5, 200.0)
        ends.append(plan.embedding())
    same_bits(ends[1], ends[0])
    same_bits(ends[2], ends[0])
    assert np.isfinite(ends[0]).all()
    assert (ends[0] != Y).all()


@kernels
def test_new_points_are_optimized_alone_as_in_a_batch(kernel, rng):
    Y = rng.normal(size=(60, 2)) * 3
    near = Ragged(np.arange(0, 41, 5, dtype=np.int64), rng.integers(60, size=40).astype(np.int32))
    weights = np.full(40, 0.2)
    start = Y[near.indices].reshape(8, 5, 2).mean(1)
    plain, fast = PLAIN.kl_objective(kernel), FAST.kl_objective(kernel)
    given = near, weights, Y, None
    from_medians = [objective.optimize_new_points(*given) for objective in (plain, fast)]
    np.testing.assert_allclose(from_medians[1], from_medians[0], atol=1e-6)
    ends = [objective.optimize_new_points(*given, start) for objective in (plain, fast)]
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)
    for i in range(8):
        one = Ragged(np.array([0, 5], np.int64), near.indices[5 * i : 5 * i + 5])
        alone = fast.optimize_new_points(one, weights[:5], Y, None, start[i : i + 1])
        same_bits(alone[0], ends[1][i])


@both
@pytest.mark.parametrize(
    ("rule", "union"), [(Perplexity(5.0), None), (FuzzySum(1.0), 1.0), (FuzzySum(1.0), 0.3)]
)
def test_a_graph_of_similarities_is_calibrated_and_then_symmetric(ops, rule, union, rng):
    starts, squares = squares_of(120, rng)
    columns = rng.permuted(np.tile(np.arange(119, dtype=np.int32), (120, 1)), axis=1)[:, :20]
    edges = csr_array((np.sqrt(squares), columns.ravel(), starts), (120, 120))
    found = ops.similarity_graph(edges, rule, union)
    given = edges.data * edges.data if union is None else edges.data
    a, scales, offsets = ops.calibrate_rows(starts, given, rule)
    W = symmetrize(ops, csr_array((a, edges.indices, edges.indptr), edges.shape), union)
    same_bits(to_csr(found.graph).toarray(), W.toarray())
    same_bits(found.scales, scales)
    same_bits(found.offsets, offsets)


@both
def test_a_random_walk_keeps_its_stationary_mean(ops, rng):
    W = likeness(60, rng, "student")
    walk, degrees = random_walk(W)
    np.testing.assert_allclose(degrees, W.sum(1), rtol=1e-12)
    plan, Y = ops.matrix_plan(walk), rng.normal(size=(60, 2))
    stationary, moved = degrees / degrees.sum(), Y
    for _ in range(3):
        moved = plan.matmul(moved, Terms(alpha=0.5, beta=0.5))
    lazy = np.linalg.matrix_power((np.eye(60) + W.toarray() / W.sum(1)[:, None]) / 2, 3)
    np.testing.assert_allclose(moved, lazy @ Y, atol=1e-12)
    np.testing.assert_allclose(stationary @ moved, stationary @ Y, atol=1e-12)
