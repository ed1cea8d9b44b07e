"""Native operations of UMAP against the reference, and against what they promise."""

from __future__ import annotations

import _thread
import signal
import threading

import numpy as np
import pytest
from lowd.backends.native.layout import MAX_EXACT_POINTS
from lowd.backends.protocol import FuzzySum, LayoutCurve, Ragged
from scipy.sparse import csr_array

from lowd.backends import resolve
from oracles import symmetrize

CURVE = LayoutCurve(1.5769, 0.8951, 0.02)
PLAIN = resolve("reference", 1)
MANY = 1200
RATES = 0.5 * (1 - np.arange(70) / 70)
STRENGTHS = np.full(70, 7.5)


def neighbor_graph(X, k=8):
    """Fuzzy memberships of the k nearest rows, and the directed ones."""
    near = PLAIN.index(X, "euclidean", (1.0,), None).others(k)
    indptr = np.arange(0, k * len(X) + 1, k)
    d = near.distances.ravel()
    memberships = PLAIN.calibrate_rows(indptr, d, FuzzySum(1.0)).affinities
    A = csr_array((memberships, near.indices.ravel(), indptr), (len(X), len(X)))
    return symmetrize(PLAIN, A, 1.0), A, d


def clusters(n, k, rng):
    centers = rng.uniform(-8, 8, size=(6, k))
    return centers[np.arange(n) % 6] + rng.normal(size=(n, k))


def relative(found, expected):
    return np.sqrt(((found - expected) ** 2).sum() / (expected**2).sum())


@pytest.mark.parametrize(
    ("connectivity", "mean"), [(0.5, None), (1.0, None), (2.3, None), (1.0, 3.0)]
)
def test_memberships_are_those_of_the_reference(connectivity, mean, rng):
    d = np.sort(rng.gamma(2, size=(300, 14)), axis=1)
    d[:40, :5] = 0  # duplicates
    d[40:60] = 2  # ties
    d[60:70] = 0
    lengths = np.where(np.arange(300) % 7 == 0, 0, np.where(np.arange(300) % 5 == 0, 3, 14))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    listed = np.concatenate([row[:length] for row, length in zip(d, lengths, strict=True)])
    ops = resolve("native", 2)
    for fast, plain in zip(
        ops.calibrate_rows(indptr, listed, FuzzySum(connectivity, mean)),
        PLAIN.calibrate_rows(indptr, listed, FuzzySum(connectivity, mean)),
        strict=True,
    ):
        np.testing.assert_allclose(fast, plain, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_unions_are_those_of_the_reference(share, rng):
    _, A, _ = neighbor_graph(clusters(700, 4, rng))
    fast = symmetrize(resolve("native", 2), A, share)
    plain = symmetrize(PLAIN, A, share)
    assert fast.nnz == plain.nnz
    np.testing.assert_allclose(fast.toarray(), plain.toarray(), atol=1e-15)


@pytest.mark.parametrize(
    ("n", "k"), [(2, 2), *((60, k) for k in (1, 2, 3, 5)), (MAX_EXACT_POINTS, 2)]
)
def test_few_points_have_exact_forces(n, k, rng):
    ops = resolve("native", 2)
    Y = clusters(n, k, rng)
    W, _, _ = neighbor_graph(Y, min(8, n - 1))
    radii = rng.normal(size=n)
    fast, plain = (b.layout_objective(CURVE).plan(W, 0, radii, 0.1) for b in (ops, PLAIN))
    for found, expected in zip(
        (
            *fast.forces(Y),
            fast.density_forces(Y, 2.0),
            fast.repulsion_of(Y, np.arange(2)),
            *fast.loss_terms(Y),
        ),
        (
            *plain.forces(Y),
            plain.density_forces(Y, 2.0),
            plain.repulsion_of(Y, np.arange(2)),
            *plain.loss_terms(Y),
        ),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-10 * np.abs(expected).max())
    assert not fast.uses_interpolation(Y)
    assert fast.interpolation_grid(Y) is None
    for plan in (fast, plain):
        plan.start(Y)
        plan.advance(RATES, STRENGTHS, np.where(np.arange(70) > 60, 2.0, 0.0))
    np.testing.assert_allclose(fast.embedding(), plain.embedding(), atol=1e-8)


@pytest.mark.parametrize("k", [1, 2])
def test_forces_of_a_grid_are_within_four_percent(k, rng):
    ops = resolve("native", 2)
    Y = clusters(MANY, k, rng)
    W, _, _ = neighbor_graph(Y)
    fast, plain = (
        b.layout_objective(CURVE).plan(W, 0, rng.normal(size=MANY), 0.1) for b in (ops, PLAIN)
    )
    (A, R), (exact_A, exact_R) = fast.forces(Y), plain.forces(Y)
    assert relative(A, exact_A) < 3e-5
    assert relative(R, exact_R) < 0.04
    assert relative(fast.repulsion_of(Y, np.arange(40)), exact_R[:40]) < 1e-5
    np.testing.assert_allclose(fast.loss_terms(Y), plain.loss_terms(Y), rtol=3e-3)
    assert fast.uses_interpolation(Y)


def test_the_grid_is_the_potential_of_all_points(rng):
    ops = resolve("native", 2)
    Y = clusters(MANY, 2, rng)
    W, _, _ = neighbor_graph(Y)
    grid = ops.layout_objective(CURVE).plan(W, 0).interpolation_grid(Y)
    near = PLAIN.index(Y, "euclidean", (1.0,), None).others(8)
    given = Ragged(np.arange(0, 8 * 50 + 1, 8), near.indices[:50].ravel()), np.full(400, 1 / 8), Y
    by_grid = ops.layout_objective(CURVE).optimize_new_points(*given, 7.5, grid, None)
    np.testing.assert_allclose(
        by_grid, PLAIN.layout_objective(CURVE).optimize_new_points(*given, 7.5, grid, None)
    )
    by_pairs = ops.layout_objective(CURVE).optimize_new_points(*given, 7.5, None, None)
    np.testing.assert_allclose(
        by_pairs, PLAIN.layout_objective(CURVE).optimize_new_points(*given, 7.5, None, None)
    )
    assert np.median(np.abs(by_grid - by_pairs)) < 0.01
    some = rng.choice(MANY, 600, replace=False)
    sampled = ops.layout_objective(CURVE).optimize_new_points(*given, 7.5, None, some)
    np.testing.assert_allclose(
        sampled, PLAIN.layout_objective(CURVE).optimize_new_points(*given, 7.5, None, some)
    )


@pytest.mark.parametrize("k", [3, 4])
def test_sampled_forces_have_the_exact_mean(k, rng):
    ops = resolve("native", 2)
    Y = clusters(600, k, rng)
    W, _, _ = neighbor_graph(Y)
    A, R = PLAIN.layout_objective(CURVE).plan(W, 0).forces(Y)
    drawn = [ops.layout_objective(CURVE).plan(W, seed).forces(Y) for seed in range(100)]
    assert relative(drawn[0][0], A) < 3e-5
    noise = relative(drawn[0][1], R)
    assert relative(np.mean([r for _, r in drawn], axis=0), R) < 2 * noise / np.sqrt(100)


@pytest.mark.parametrize(("n", "k"), [(300, 2), *((2600, k) for k in (1, 2, 3, 4))])
def test_threads_do_not_matter(n, k, rng):
    Y = clusters(n, k, rng)
    indptr = np.arange(0, 4 * n + 1, 4)
    ring = (np.arange(n)[:, None] + [1, 2, -1, -2]) % n
    W = csr_array((np.tile([0.9, 0.4, 0.9, 0.4], n), ring.ravel().astype(np.int32), indptr))
    found = []
    for threads in (1, 2, 3, 7):
        plan = (
            resolve("native", threads).layout_objective(CURVE).plan(W, 7, np.cos(np.arange(n)), 0.1)
        )
        plan.start(Y)
        plan.advance(RATES, STRENGTHS, np.where(np.arange(70) > 60, 1.0, 0.0))
        terms = plan.loss_terms(Y)
        found.append((plan.forces(Y)[1], plan.embedding(), *terms))
        plan.start(Y)
        plan.advance(RATES, STRENGTHS, None)
        found[-1] += (plan.embedding(),)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("far", [300.0, 1e8, 1e25])
def test_far_components_are_finite(far, rng):
    """The grid would have too many nodes: the repulsion is sampled."""
    Y = clusters(MANY, 2, rng)
    W, _, _ = neighbor_graph(Y)
    Y[: MANY // 2] += far
    plan = resolve("native", 2).layout_objective(CURVE).plan(W, 0)
    plan.start(Y)
    assert np.isfinite(plan.advance(RATES, STRENGTHS, None))
    assert np.isfinite(plan.embedding()).all()
    assert np.isfinite(plan.loss_terms(Y)).all()
    assert plan.interpolation_grid(Y) is None


@pytest.mark.parametrize("n", [12, 700])
def test_isolated_and_equal_points_are_finite(n):
    Y = np.zeros((n, 2))
    Y[n // 2 :] = 1
    W = csr_array((np.ones(2), ([0, 1], [1, 0])), (n, n))
    plan = resolve("native", 2).layout_objective(CURVE).plan(W, 0, np.arange(n) * 1.0, 0.1)
    plan.start(Y)
    assert np.isfinite(plan.advance(RATES, STRENGTHS, np.full(70, 2.0)))
    assert np.isfinite(plan.embedding()).all()
    assert np.isfinite(plan.loss_terms(Y)).all()


@pytest.fixture
def handled_interrupts():
    """Ctrl-C raises, also where the tests run in the background and the shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handled_interrupts")
def test_interrupt_ends_a_descent(rng):
    Y = clusters(3000, 2, rng)
    W, _, _ = neighbor_graph(Y)
    plan = resolve("native", 2).layout_objective(CURVE).plan(W, 0)
    plan.start(Y)
    threading.Timer(0.2, _thread.interrupt_main).start()
    steps = 10_000_000
    with pytest.raises(KeyboardInterrupt):
        plan.advance(np.full(steps, 1e-3), np.full(steps, 1.0), None)
    assert np.isfinite(plan.embedding()).all()
