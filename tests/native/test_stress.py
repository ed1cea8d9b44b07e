"""The native kernels of scaling beside plain NumPy, and what they promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.manifold import smacof

import kernels
import plain
from cases import same_bits
from kernels import Regression


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
    size = max(np.abs(expected[3]).max(initial=0), 1e-300)
    np.testing.assert_allclose(found[3], expected[3], rtol=0, atol=tolerance * size)
    np.testing.assert_allclose(found[:3], expected[:3], rtol=tolerance, atol=1e-300)


@pytest.mark.parametrize(
    ("n", "kind"), [*((n, np.float64) for n in (1, 2, 3, 8, 9, 300)), (61, np.float32)]
)
def test_metric_stress(kind, n, rng):
    for k, missing in itertools.product((1, 2, 3, 4, 9), (0.0, 0.3)):
        D, W, Y = scene(n, k, rng, kind, missing)
        for weights in (None, W):
            agree(kernels.guttman(D, weights, Y), plain.guttman_step(*plain.filled(D, weights), Y))


def test_metric_stress_of_many_float32_targets(rng):
    """Pairs are in float32 there, sums are not: they are right to more digits than a pair."""
    D, _, Y = scene(1100, 2, rng, np.float32, 0.1)
    found = kernels.guttman(D, None, Y)
    agree(found, plain.guttman_step(*plain.filled(D, None), Y), 1e-7)
    same_bits(found[3], kernels.guttman(D, None, Y, threads=1)[3])


@pytest.mark.parametrize("ties", [True, False], ids=["broken", "shared"])
@pytest.mark.parametrize(
    ("n", "kind"), [*((n, np.float64) for n in (1, 2, 3, 150)), (40, np.float32)]
)
def test_disparities(kind, n, ties, rng):
    for k, digits in itertools.product((1, 2, 3, 5), (9, 0, -1)):  # no ties, many, two values
        for missing in (0.0, 0.2):
            D, W, Y = scene(n, k, rng, kind, missing)
            D, W = D.round(digits), np.where(np.isnan(D) | (W < 0.3), 0, W)
            for weights in (None, W):
                regression = Regression(D, weights, ties)
                for start in (Y, Y[::-1]):  # ties are sorted anew
                    targets = plain.disparities(D, weights, start, ties)
                    held = plain.filled(D, weights)[1]
                    agree(regression.step(start), plain.guttman_step(targets, held, start), 1e-10)


def test_a_curve_has_corners_only(rng):
    D, _, Y = scene(150, 2, rng)
    for ties in (D, D.round(1)):
        x, y = Regression(ties, None, True).corners(Y)
        assert (np.diff(x) > 0).all()
        assert (np.diff(y) >= 0).all()
        assert len(x) < len(np.unique(ties)) / 5
        assert not ((y[:-2] == y[1:-1]) & (y[1:-1] == y[2:])).any()


def test_the_corners_are_those_of_the_disparities(rng):
    D, W, Y = scene(60, 2, rng)
    x, y = Regression(D, W, True).corners(Y)
    targets = plain.disparities(D, W, Y, True)
    off = ~np.eye(60, dtype=bool)
    np.testing.assert_allclose(np.interp(D[off], x, y), targets[off], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_new_points_of_least_stress(k, rng):
    A, start = rng.normal(size=(50, k)), rng.normal(size=(13, k))
    T, W = rng.random((13, 50)) * 3, rng.random((13, 50))
    T[4, 7:30] = np.nan
    start[3] = A[3]
    for weights in (None, W):
        Y, stress = kernels.multilaterate(T, weights, A, start, 40, 0.0)
        expected, least = plain.place(T, weights, A, start, 40)
        np.testing.assert_allclose(Y, expected, atol=1e-11)
        np.testing.assert_allclose(stress, least, rtol=1e-12)


def test_threads_do_not_change_a_bit(rng):
    D, W, Y = scene(700, 2, rng, missing=0.1)
    T = cdist(Y[:9], Y) + 0.1

    def all_of(threads):
        yield from kernels.guttman(D, W, Y, threads)
        for ties in (D, D.round(1)):
            yield from Regression(ties, W, True, threads).step(Y)
        yield from kernels.multilaterate(T, None, Y, Y[:9], 50, 1e-9, threads)

    one = list(all_of(1))
    for threads in (2, 3, 7):
        for found, expected in zip(all_of(threads), one, strict=True):
            same_bits(found, expected)


def test_moved_is_the_gradient(rng):
    """∇σ = 2 (V Y - B(Y) Y), by finite differences."""
    D, W, Y = scene(12, 2, rng, missing=0.2)
    Y[1] += 0.3
    V = -np.where(np.isnan(D), 0, W)
    np.fill_diagonal(V, 0)
    np.fill_diagonal(V, -V.sum(1))
    gradient = 2 * (V @ Y - kernels.guttman(D, W, Y)[3])
    numeric = np.empty_like(Y)
    for at in np.ndindex(Y.shape):
        ahead, behind = Y.copy(), Y.copy()
        ahead[at] += 1e-5
        behind[at] -= 1e-5
        numeric[at] = (kernels.guttman(D, W, ahead)[0] - kernels.guttman(D, W, behind)[0]) / 2e-5
    np.testing.assert_allclose(numeric, gradient, rtol=1e-6, atol=1e-6 * np.abs(gradient).max())


def test_metric_stress_of_a_triangle():
    """3-4-5 from three corners of a square."""
    D = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    Y = np.array([[0.0, 0], [1, 0], [0, 1]])
    stresses = []
    for _ in range(3):
        stress, _, _, moved = kernels.guttman(D, None, Y)
        stresses.append(stress)
        Y = moved / 3
        if len(stresses) == 1:
            first = [[-1, -1.333333], [2.178511, -1.178511], [-1.178511, 2.511845]]
            np.testing.assert_allclose(Y, first, atol=1e-6)
    np.testing.assert_allclose(stresses, [25.857864, 0.056056, 0.006264], atol=1e-6)


def test_one_step_is_scikit_learns(rng):
    D, _, Y = scene(30, 2, rng)
    theirs, _ = smacof(D, init=Y, n_init=1, max_iter=1, normalized_stress=False)
    Y[1] += 1e-9  # it takes 0 for 1e-5
    moved = kernels.guttman(D, None, Y)[3]
    np.testing.assert_allclose((moved / 30)[2:], theirs[2:], atol=1e-7)


def test_a_new_point_by_majorization():
    """The stress of a new object falls to 0 where it belongs."""
    Y = np.array([[-0.658129, 1.531223], [-2.152311, -1.070203], [2.810440, -0.461020]])
    T = np.array([[5.0, 4.0, 3.0]])
    start = np.array([[0.1, 0.1]])
    for steps, stress in ((1, 7.184694), (2, 4.460394)):
        found = kernels.multilaterate(T, None, Y, start, steps, 0.0)[1]
        assert found == pytest.approx(stress, abs=1e-5)
    found, stress = kernels.multilaterate(T, None, Y, start, 10_000, 1e-14)
    np.testing.assert_allclose(found, [[1.316258, -3.062446]], atol=1e-5)
    assert stress[0] < 1e-10


def test_ties_are_split_or_shared():
    """Four points on a line, two pairs of equal dissimilarity and different length."""
    Y = np.array([[0.0], [1.0], [3.0], [7.0]])
    D = np.full((4, 4), np.nan)
    D[[0, 1, 2, 3], [1, 0, 3, 2]] = 5
    split = Regression(D, None, True).step(Y / np.sqrt(8.5))
    assert split[0] == pytest.approx(0, abs=1e-15)
    shared = Regression(D, None, False).step(Y)  # both become 1: (1 - 1)² + (4 - 1)²
    assert shared[0] == pytest.approx(9)


def test_wrong_shapes_are_refused(rng):
    D, W, Y = scene(6, 2, rng)
    for use in (
        lambda: kernels.guttman(D[:, :5], None, Y),
        lambda: kernels.guttman(D, W[:5], Y),
        lambda: Regression(D[:, :5], None, True),
        lambda: Regression(D, W[:5], True),
        lambda: Regression(D, W, True).step(Y[:5]),
    ):
        with pytest.raises(ValueError, match="must"):
            use()
