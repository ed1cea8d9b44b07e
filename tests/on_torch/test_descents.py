"""Affinities, descents, paths and stress on the device against the core."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

from cases import same_bits
from lowd.backend import using
from lowd.methods.descent import Mesh
from lowd.methods.mds import metric_stress
from lowd.methods.tsne import descent_of, force_error, partition_function
from lowd.methods.umap import layout_of, memberships
from lowd.on_torch import plane_descent
from lowd.spaces import (
    Neighbors,
    conditional_probabilities,
    path_products,
    paths_through,
    symmetrized,
)
from torch_operands import (
    all_sizes_on_the_device,  # noqa: F401 - a fixture
    both,
    near,
    typed,
)

pytestmark = pytest.mark.usefixtures("all_sizes_on_the_device")
CURVE = (1.6, 0.9, 0.02)


def lists(n, k, rng):
    """The distances of k nearest, and the numbers of others, which need not be these."""
    D = np.sort(cdist(*(2 * [rng.normal(size=(n, 4))])), axis=1)[:, 1 : k + 1]
    numbers = np.stack([rng.permutation(n)[:k] for _ in range(n)]).astype(np.int32)
    return Neighbors.of_table(numbers, np.ascontiguousarray(D))


# -- affinities ------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [1.5, 5.0, 19.9])
def test_perplexities(target, rng):
    near_lists = lists(300, 20, rng)
    D = near_lists.distances
    D[:20], D[20:30], D[40:59] = 2.0, 0.0, 1e-9  # ties, duplicates, one that is far
    (p, beta), (fast_p, fast_beta) = both(conditional_probabilities, near_lists, target)
    np.testing.assert_allclose(fast_p, p, atol=1e-10)
    np.testing.assert_allclose(fast_beta[3:], beta[3:], rtol=1e-8)


@pytest.mark.parametrize("connectivity", [0.5, 1.0, 2.5, 19.0])
@pytest.mark.parametrize("mean_distance", [None, 0.7])
def test_fuzzy_memberships(connectivity, mean_distance, rng):
    near_lists = lists(300, 15, rng)
    D = near_lists.distances
    D[:15], D[15:20], D[30:44] = 2.0, 0.0, 0.0
    D[45:60] = 0
    plain, fast = both(memberships, near_lists, connectivity, mean_distance)
    np.testing.assert_allclose(fast[0], plain[0], atol=1e-9)
    np.testing.assert_allclose(fast[1], plain[1], rtol=1e-12)
    np.testing.assert_allclose(fast[2], plain[2], rtol=1e-9)


def test_lists_of_different_lengths_and_short_ones(rng):
    some = Neighbors(np.array([0, 3, 3, 9]), np.arange(9, dtype=np.int32), rng.random(9))
    for near_lists, target in ((some, 2.0), (lists(30, 3, rng), 5.0)):
        plain, fast = both(conditional_probabilities, near_lists, target)
        np.testing.assert_allclose(fast[0], plain[0], atol=1e-10)


@pytest.mark.parametrize("union", [None, 1.0, 0.3])
def test_both_directions_of_affinities(union, rng):
    A = rng.random((70, 70)) * (rng.random((70, 70)) < 0.15)
    A[5] = 0
    np.fill_diagonal(A, 0)
    W = csr_array(A)
    plain, fast = both(symmetrized, Neighbors(W.indptr, W.indices, W.data), W.data, union)
    np.testing.assert_allclose(fast.toarray(), plain.toarray(), rtol=1e-14)
    assert fast.has_sorted_indices
    assert fast.indptr.dtype == fast.indices.dtype == np.int32


# -- descents --------------------------------------------------------------------------------------


def similarities(n, rng):
    W = np.exp(-cdist(*(2 * [rng.normal(size=(n, 3))]), "sqeuclidean"))
    np.fill_diagonal(W, 0)
    W[W < 0.05] = 0
    W[np.arange(n), (np.arange(n) + 1) % n] = 0.1
    W = W + W.T
    return csr_array(W / W.sum())


def forces(descent, Y):
    A, R = np.empty(Y.shape), np.empty(Y.shape)
    descent.forces(Y, A, R, 1)
    return A, R


def ends(descent, Y, steps):
    """Where a descent is after some calls, and the sum of the squares of the last steps."""
    descent.start(Y)
    moved = [descent.advance(*settings, 1) for settings in steps]
    Y = np.empty(Y.shape)
    descent.embedding(Y)
    return Y, moved[-1]


def off(found, expected):
    return np.sqrt(((found - expected) ** 2).sum() / (expected**2).sum())


@pytest.mark.parametrize("similarity", ["student", "gauss", "rows"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_forces_and_steps_of_few_points(similarity, k, rng):
    P, Y = similarities(300, rng), rng.normal(size=(300, k))
    plain, fast = both(descent_of, P, k, similarity)
    for found, expected in zip(forces(fast, Y), forces(plain, Y), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
    (expected, length), (found, fast_length) = (
        ends(descent, Y, [(5, 4.0, 0.5, 20.0)]) for descent in (plain, fast)
    )
    assert fast_length == pytest.approx(length, rel=1e-8)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("n", [900, 1600])
@pytest.mark.parametrize("size", [1e-4, 8.0])
def test_forces_of_many_points(n, size, rng):
    """All pairs in float32 or on a mesh: of a new embedding, where all are in one cell, too."""
    P, Y = similarities(n, rng), size * rng.normal(size=(n, 2))
    square = cdist(Y, Y, "sqeuclidean")
    w = 1 / (1 + square)
    np.fill_diagonal(w, 0)
    weights = P.toarray() * w
    with using("torch", 2):
        descent = descent_of(P, 2, "student")
        A, R = forces(descent, Y)
        assert partition_function(Y) == pytest.approx(w.sum(), rel=1e-6)
        assert force_error(descent, Y, "student", 0) < (1e-2 if n > 1000 else 1e-4) or size < 1
    assert off(A, weights.sum(1)[:, None] * Y - weights @ Y) < 1e-5
    push = (w**2).sum(1)[:, None] * Y - (w**2) @ Y
    if size > 1:  # near the origin all repulsion cancels
        assert off(R, push / w.sum()) < (1e-2 if n > 1000 else 1e-5)


def potential_at(mesh, y):
    """By cubic splines, as the native core interpolates."""
    u = (y - mesh.origin) / mesh.spacing
    cell = np.floor(u).astype(int)
    total, offsets = 0.0, np.arange(-1, 3)
    s = np.abs((u - cell)[:, None] - offsets)
    weights = np.where(s < 1, s * s * (0.5 * s - 1) + 2 / 3, np.maximum(2 - s, 0) ** 3 / 6)
    for i, a in zip(offsets, weights[0], strict=True):
        for j, b in zip(offsets, weights[1], strict=True):
            total += a * b * mesh.potential[cell[0] + i, cell[1] + j]
    return total


def test_the_potential_of_a_descent_is_that_of_the_core(rng):
    """What new points are placed by, of t-SNE and of UMAP."""
    P, Y = similarities(1600, rng), np.array([6, 3]) * rng.normal(size=(1600, 2))
    at = Y[17] + 0.3
    plain, fast = both(lambda: Mesh.of(descent_of(P, 2, "student"), Y))
    exact = (1 / (1 + ((at - Y) ** 2).sum(1))).sum()
    assert potential_at(plain, at) == pytest.approx(exact, rel=5e-3)
    assert potential_at(fast, at) == pytest.approx(exact, rel=5e-3)
    plain, fast = both(lambda: Mesh.of(layout_of(P, 2, CURVE, 0, None, 0.1), Y))
    assert potential_at(fast, at) == pytest.approx(potential_at(plain, at), rel=1e-2)


def test_a_descent_follows_the_core(rng, monkeypatch):
    """Step by step, over a sorting of the points, and beyond the nodes of the first mesh."""
    monkeypatch.setattr(plane_descent, "SORT_EVERY", 20)
    n = 1100
    P, Y = similarities(n, rng), rng.normal(size=(n, 2))
    plain, fast = both(descent_of, P, 2, "student")
    (expected, length), (found, fast_length) = (
        ends(descent, Y, [(3, 1.0, 0.5, float(n))]) for descent in (plain, fast)
    )
    assert fast_length == pytest.approx(length, rel=4e-2)
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected - Y).max()
    steps = 3 * [(10, 4.0, 0.8, float(n))]
    one = ends(fast, 1e-3 * Y, steps)[0]
    assert np.isfinite(one).all()
    with using("torch", 2):
        same_bits(ends(descent_of(P, 2, "student"), 1e-3 * Y, steps)[0], one)


def test_points_that_leave_the_mesh_are_stepped_again(rng):
    """A first step of the longest length, which a mesh of the first span does not hold."""
    n = 1100
    P, Y = similarities(n, rng), 1e-2 * rng.normal(size=(n, 2))
    expected, found = (
        ends(descent, Y, [(8, 1.0, 0.9, 1e7)])[0] for descent in both(descent_of, P, 2, "student")
    )
    np.testing.assert_allclose(np.ptp(found, axis=0), np.ptp(expected, axis=0), rtol=0.1)


@pytest.mark.parametrize("k", [2, 3])
def test_forces_of_a_layout(k, rng):
    n = 1200
    W, Y = similarities(n, rng), 4 * rng.normal(size=(n, k))
    plain, fast = both(layout_of, W, k, CURVE, 0, None, 0.1)
    for found, expected, share in zip(forces(fast, Y), forces(plain, Y), (1e-4, 0.03), strict=True):
        assert off(found, expected) < share
    assert fast.repulsive_loss(Y, 1) == pytest.approx(plain.repulsive_loss(Y, 1), rel=2e-3)
    steps = [(np.full(3, 0.5), np.full(3, 2.0), None)]
    expected, found = (ends(descent, Y, steps)[0] for descent in (plain, fast))
    assert np.abs(found - expected).max() < 0.05 * np.abs(expected - Y).max()


# -- paths and stress ------------------------------------------------------------------------------


def graph_of(n, rng, kind):
    """A ring with chords, in two components; an edge of length 0."""
    half = n // 2
    W = np.zeros((n, n))
    for i in range(n):
        side = half * (i // half)
        for j in (side + (i + 1) % half, side + rng.integers(half)):
            W[i, j] = W[j, i] = rng.random() + 0.1
    rows, columns = np.nonzero(W)
    data = W[rows, columns].astype(kind)
    data[((rows == 0) & (columns == 1)) | ((rows == 1) & (columns == 0))] = 0
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return csr_array((data, columns, indptr), (n, n))


@typed
def test_shortest_paths(kind, rng):
    G = graph_of(120, rng, kind)
    sources = np.arange(0, 60, 7)[:, None].astype(np.int32)
    alone = Neighbors.of_table(sources, np.ones(sources.shape))
    plain, fast = both(paths_through, G, None, alone, True)
    near(fast[:, :60], plain[:, :60], kind)
    assert np.isinf(fast[0, 60:]).all()
    numbers = np.array([5, 9, 70, 1, 1, 80], np.int32)
    first = Neighbors(np.array([0, 2, 3, 3, 6]), numbers, np.array([0.5, 0.1, 0.0, 2.0, 0.3, 1.0]))
    plain, fast = both(paths_through, G, None, first)
    known = np.isfinite(plain)
    np.testing.assert_array_equal(np.isfinite(fast), known)
    near(fast[known], plain[known], kind)
    connected = csr_array(G[:60][:, :60])
    V = rng.normal(size=(60, 3))
    plain, fast = both(path_products, connected)
    near(fast(V), plain(V), kind, 100)


@typed
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_guttman_transforms(kind, k, rng):
    """With weights, missing dissimilarities, and coinciding points."""
    D = cdist(*(2 * [rng.normal(size=(150, 6))])).astype(kind)
    Y, W = rng.normal(size=(150, k)), rng.random((150, 150)).astype(kind)
    W = W + W.T
    Y[7] = Y[3]
    missing = D.copy()
    missing[4, 9] = missing[9, 4] = np.nan
    for given, weights in [(D, None), (missing, None), (missing, W)]:
        plain, fast = (stress.step(Y) for stress in both(metric_stress, given, weights))
        for found, expected in zip(fast[:3], plain[:3], strict=True):
            assert found == pytest.approx(expected, rel=1e-5 if kind == np.float32 else 1e-10)
        near(fast.BY, plain.BY, kind, 2000)  # of two points that nearly coincide
