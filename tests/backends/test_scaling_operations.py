"""The native operations of scaling against the plain ones, and against what they promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from lowd.backends.reference import Reference
from lowd.backends.reference.stress import fit_isotonic
from scipy.spatial.distance import cdist
from sklearn.manifold import smacof

from cases import same_bits

_native = pytest.importorskip("lowd._native", reason="the native core is not built")
from lowd.backends.native import Native  # noqa: E402 - only where it is built

PLAIN, FAST = Reference(), Native(threads=2)
both = pytest.mark.parametrize("ops", [PLAIN, FAST], ids=["reference", "native"])
typed = pytest.mark.parametrize("kind", [np.float64, np.float32], ids=["float64", "float32"])


def scene(n, k, rng, kind=np.float64, missing=0.0):
    """Dissimilarities, weights and coordinates; some are missing, two rows coincide."""
    D = cdist(*2 * (rng.normal(size=(n, 5)),)).astype(kind)
    W = rng.random((n, n))
    W = (W + W.T).astype(kind)
    gone = rng.random((n, n)) < missing
    D[gone | gone.T] = np.nan
    np.fill_diagonal(D, 0)
    Y = rng.normal(size=(n, k))
    if n > 2:
        Y[1] = Y[0]
    return D, W, Y


def agree(found, expected, tolerance=1e-12):
    size = max(np.abs(expected.BY).max(initial=0), 1e-300)
    np.testing.assert_allclose(found.BY, expected.BY, rtol=0, atol=tolerance * size)
    np.testing.assert_allclose(found[:3], expected[:3], rtol=tolerance)


@pytest.mark.parametrize(
    ("n", "kind"), [*((n, np.float64) for n in (1, 2, 3, 8, 9, 300)), (61, np.float32)]
)
def test_metric_stress(kind, n, rng):
    for k, missing in itertools.product((1, 2, 3, 4, 9), (0.0, 0.3)):
        D, W, Y = scene(n, k, rng, kind, missing)
        for weights in (None, W):
            found = FAST.stress_objective().plan(D, weights).step(Y)
            agree(found, PLAIN.stress_objective().plan(D, weights).step(Y))


def test_metric_stress_of_many_float32_targets(rng):
    """Pairs are in float32 there, sums are not: they are right to more digits than a pair."""
    D, _, Y = scene(1100, 2, rng, np.float32, 0.1)
    found = FAST.stress_objective().plan(D, None).step(Y)
    agree(found, PLAIN.stress_objective().plan(D, None).step(Y), 1e-7)
    same_bits(found.BY, Native(threads=1).stress_objective().plan(D, None).step(Y).BY)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
@pytest.mark.parametrize(
    ("n", "kind"), [*((n, np.float64) for n in (1, 2, 3, 150)), (40, np.float32)]
)
def test_disparities(kind, n, ties, rng):
    for k, digits in itertools.product((1, 2, 3, 5), (9, 0, -1)):  # no ties, many, two values
        for missing in (0.0, 0.2):
            D, W, Y = scene(n, k, rng, kind, missing)
            D, W = D.round(digits), np.where(np.isnan(D) | (W < 0.3), 0, W)
            for weights in (None, W):
                fast, plain = (ops.stress_objective(ties).plan(D, weights) for ops in (FAST, PLAIN))
                for start in (Y, Y[::-1]):  # ties are sorted anew
                    agree(fast.step(start), plain.step(start))
                at = np.unique(D[~np.isnan(D)])
                found, expected = (np.interp(at, *plan.disparities(Y)) for plan in (fast, plain))
                np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_a_curve_has_corners_only(rng):
    D, _, Y = scene(150, 2, rng)
    for ties in (D, D.round(1)):
        x, y = FAST.stress_objective("primary").plan(ties, None).disparities(Y)
        assert (np.diff(x) > 0).all()
        assert (np.diff(y) >= 0).all()
        assert len(x) < len(np.unique(ties)) / 5
        assert not ((y[:-2] == y[1:-1]) & (y[1:-1] == y[2:])).any()


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_new_points_of_least_stress(k, rng):
    A, start = rng.normal(size=(50, k)), rng.normal(size=(13, k))
    T, W = rng.random((13, 50)) * 3, rng.random((13, 50))
    T[4, 7:30] = np.nan
    start[3] = A[3]
    for weights in (None, W):
        Y, stress = FAST.stress_objective().optimize_new_points(T, weights, A, start, 300, 1e-10)
        expected, least = PLAIN.stress_objective().optimize_new_points(
            T, weights, A, start, 300, 1e-10
        )
        np.testing.assert_allclose(Y, expected, atol=1e-11)
        np.testing.assert_allclose(stress, least, rtol=1e-12)


def test_threads_do_not_change_a_bit(rng):
    D, W, Y = scene(700, 2, rng, missing=0.1)
    one = Native(threads=1)
    for threads in (2, 3, 7):
        many = Native(threads=threads)
        for a, b in (
            (one.stress_objective().plan(D, W).step(Y), many.stress_objective().plan(D, W).step(Y)),
            *(
                (
                    one.stress_objective("primary").plan(ties, W).step(Y),
                    many.stress_objective("primary").plan(ties, W).step(Y),
                )
                for ties in (D, D.round(1))
            ),
        ):
            same_bits(a.BY, b.BY)
            assert a[:3] == b[:3]
        T = cdist(Y[:9], Y) + 0.1
        for a, b in zip(
            one.stress_objective().optimize_new_points(T, None, Y, Y[:9], 50, 1e-9),
            many.stress_objective().optimize_new_points(T, None, Y, Y[:9], 50, 1e-9),
            strict=True,
        ):
            same_bits(a, b)


@both
def test_moved_is_the_gradient(ops, rng):
    """∇σ = 2 (V Y - B(Y) Y), by finite differences."""
    D, W, Y = scene(12, 2, rng, missing=0.2)
    Y[1] += 0.3
    plan = ops.stress_objective().plan(D, W)
    V = -np.where(np.isnan(D), 0, W)
    np.fill_diagonal(V, 0)
    np.fill_diagonal(V, -V.sum(1))
    gradient = 2 * (V @ Y - plan.step(Y).BY)
    numeric = np.empty_like(Y)
    for at in np.ndindex(Y.shape):
        ahead, behind = Y.copy(), Y.copy()
        ahead[at] += 1e-5
        behind[at] -= 1e-5
        numeric[at] = (plan.step(ahead).stress - plan.step(behind).stress) / 2e-5
    np.testing.assert_allclose(numeric, gradient, rtol=1e-6, atol=1e-6 * np.abs(gradient).max())


@both
def test_metric_stress_of_a_triangle(ops):
    """3-4-5 from three corners of a square."""
    D = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    Y = np.array([[0.0, 0], [1, 0], [0, 1]])
    plan = ops.stress_objective().plan(D, None)
    stresses = []
    for _ in range(3):
        found = plan.step(Y)
        stresses.append(found.stress)
        Y = found.BY / 3
        if len(stresses) == 1:
            first = [[-1, -1.333333], [2.178511, -1.178511], [-1.178511, 2.511845]]
            np.testing.assert_allclose(Y, first, atol=1e-6)
    np.testing.assert_allclose(stresses, [25.857864, 0.056056, 0.006264], atol=1e-6)


@both
def test_one_step_is_scikit_learns(ops, rng):
    D, _, Y = scene(30, 2, rng)
    theirs, _ = smacof(D, init=Y, n_init=1, max_iter=1, normalized_stress=False)
    Y[1] += 1e-9  # it takes 0 for 1e-5
    found = ops.stress_objective().plan(D, None).step(Y)
    np.testing.assert_allclose((found.BY / 30)[2:], theirs[2:], atol=1e-7)


@both
def test_a_new_point_by_majorization(ops):
    """The stress of a new object falls to 0 where it belongs."""
    Y = np.array([[-0.658129, 1.531223], [-2.152311, -1.070203], [2.810440, -0.461020]])
    T = np.array([[5.0, 4.0, 3.0]])
    start = np.array([[0.1, 0.1]])
    for steps, stress in ((1, 7.184694), (2, 4.460394)):
        assert ops.stress_objective().optimize_new_points(T, None, Y, start, steps, 0.0)[
            1
        ] == pytest.approx(stress, abs=1e-5)
    found, stress = ops.stress_objective().optimize_new_points(T, None, Y, start, 10_000, 1e-14)
    np.testing.assert_allclose(found, [[1.316258, -3.062446]], atol=1e-5)
    assert stress[0] < 1e-10


@pytest.mark.parametrize(
    ("d", "fitted"), [((1, 3, 2, 4), (1, 2.5, 2.5, 4)), ((1, 4, 3, 2, 5), (1, 3, 3, 3, 5))]
)
def test_isotonic_regression_by_hand(d, fitted):
    """Numbers worked out by hand."""
    d, w = np.array(d, float), np.ones(len(d))
    np.testing.assert_allclose(fit_isotonic(d, w, None, "primary"), fitted)


@both
def test_ties_are_split_or_shared(ops):
    """Four points on a line, two pairs of equal dissimilarity and different length."""
    Y = np.array([[0.0], [1.0], [3.0], [7.0]])
    D = np.full((4, 4), np.nan)
    D[[0, 1, 2, 3], [1, 0, 3, 2]] = 5
    split = ops.stress_objective("primary").plan(D, None)
    assert split.step(Y / np.sqrt(8.5)).stress == pytest.approx(0, abs=1e-15)
    shared = (
        ops.stress_objective("secondary").plan(D, None).step(Y)
    )  # both become 1: (1 - 1)² + (4 - 1)²
    assert shared.stress == pytest.approx(9)


def test_wrong_shapes_are_refused(rng):
    D, W, Y = scene(6, 2, rng)
    for use in (
        lambda: FAST.stress_objective().plan(D[:, :5], None).step(Y),
        lambda: FAST.stress_objective().plan(D, W[:5]).step(Y),
        lambda: FAST.stress_objective("primary").plan(D[:, :5], None),
        lambda: FAST.stress_objective("primary").plan(D, W[:5]),
        lambda: FAST.stress_objective("primary").plan(D, W).step(Y[:5]),
    ):
        with pytest.raises(ValueError, match="must"):
            use()
