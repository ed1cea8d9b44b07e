"""Operations of the torch backend against the reference, on a GPU or on torch's CPU build."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

from cases import same_bits
from lowd.backends import resolve
from lowd.backends.protocol import FuzzySum, LayoutCurve, Perplexity, Ragged
from lowd.backends.reference import Reference
from lowd.backends.torch import Torch, graphs, linear_algebra, neighbors, row_index, stress
from lowd.backends.torch.arrays import has_kernels
from lowd.errors import NotEnoughMemoryError
from operands import SHAPES, data, measured, near, typed

PLAIN, FAST = Reference(), Torch(threads=2)
CURVE = LayoutCurve(1.6, 0.9, 0.02)


@pytest.fixture(autouse=True)
def _all_sizes_on_the_device(monkeypatch):
    """Also few rows, which the core would take."""
    monkeypatch.setattr(neighbors, "MIN_DEVICE_PAIRS", 0)
    monkeypatch.setattr(linear_algebra, "MIN_DEVICE_PRODUCTS", 0)
    monkeypatch.setattr(graphs, "MIN_DEVICE_NODES", 0)
    monkeypatch.setattr(stress, "MIN_DEVICE_SAMPLES", 0)


def brute(Q, X, k, own=False, measure="euclidean", factor=1.0):
    D = factor * cdist(Q.astype(np.float64), X.astype(np.float64), measure)
    if own:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, 1)


def agree(found, expected):
    np.testing.assert_allclose(found.distances, expected[1], rtol=1e-12)
    np.testing.assert_array_equal(found.indices, expected[0])


def index(X, measure="euclidean", factor=1.0):
    return FAST.index(X, measure, (factor,), None)


def gaussian(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def clusters(n, d, tight, seed=0):
    rng = np.random.default_rng(seed)
    return 5 * rng.standard_normal((7, d))[rng.integers(0, 7, n)] + tight * gaussian(n, d, seed + 1)


def on_a_sphere(n, d):
    X = gaussian(n, d)
    return X / np.sqrt((X**2).sum(1, keepdims=True))


# What a bound must not miss: nearly equal distances, large norms, ties and duplicates.
SETS = {
    "line": lambda n: gaussian(n, 1),
    "ball": lambda n: gaussian(n, 30),
    "many features": lambda n: gaussian(n, 200),
    "sphere": lambda n: on_a_sphere(n, 120),
    "far from the origin": lambda n: gaussian(n, 20) + 1e6,
    "outlier": lambda n: np.vstack([gaussian(n - 1, 30), np.full((1, 30), 1e6)]),
    "duplicates": lambda n: np.repeat(gaussian(n // 50, 20), 50, axis=0),
    "pairs": lambda n: np.repeat(gaussian(n // 2, 20), 2, axis=0),
    "all equal": lambda n: np.full((n, 8), 0.1),
    "integers": lambda n: np.random.default_rng(1).integers(0, 3, (n, 6)).astype(float),
    "tight clusters": lambda n: clusters(n, 12, 1e-4),
    "very tight clusters": lambda n: clusters(n, 12, 1e-7),
}
each_set = pytest.mark.parametrize("name", SETS)


@each_set
@typed
def test_neighbors_are_those_of_a_brute_force_in_float64(name, kind):
    X = SETS[name](400).astype(kind)
    nearest, distances = brute(X, X, 15, own=True)
    for k in (1, 15):
        agree(index(X).others(k), (nearest[:, :k], distances[:, :k]))
    Q = np.vstack([X[::9], 1.25 * X[5::11], X[:20] + kind(1)]).astype(kind)
    plan = index(X)
    found = plan.query(Q, 7)
    agree(found, brute(Q, X, 7))
    for rows in ([0], [3], list(range(20, 50))):  # alone and in another batch
        part = plan.query(Q[rows], 7)
        same_bits(part.indices, found.indices[rows])
        same_bits(part.distances, found.distances[rows])


@pytest.mark.parametrize("n", [2, 3, 31, 33, 150])
def test_few_rows_and_all_of_them_as_neighbors(n):
    X = gaussian(n, 5)
    for k in {1, n // 2, n - 1}:
        agree(index(X).others(k), brute(X, X, k, own=True))


@pytest.mark.parametrize(
    ("kind", "scale"),
    [(np.float32, 1e-30), (np.float32, 1e30), (np.float64, 1e-140), (np.float64, 1e140)],
)
def test_neighbors_at_any_scale(kind, scale):
    X = (gaussian(500, 12) * scale).astype(kind)
    found = index(X).others(10)
    expected = brute(X / scale, X / scale, 10, own=True)
    np.testing.assert_array_equal(found.indices, expected[0])
    np.testing.assert_allclose(found.distances / scale, expected[1], rtol=1e-6)


def test_neighbors_of_far_rows_and_of_another_type():
    X = gaussian(600, 6)
    Q = np.vstack([gaussian(20, 6, 1), [[1e8] * 6, [-1e30] * 6, [1e200] * 6, [1e300] * 6]])
    found = index(X).query(Q, 5)
    assert np.isfinite(found.distances).all()
    agree(found._replace(indices=found.indices[:22], distances=found.distances[:22]),
          brute(Q[:22], X, 5))  # fmt: skip
    agree(index(X.astype(np.float32)).query(Q[:20], 5), brute(Q[:20], X.astype(np.float32), 5))


@pytest.mark.parametrize(("measure", "factor"), [("euclidean", 0.5), ("sqeuclidean", 2.0)])
def test_factors_squares_and_ranks(measure, factor):
    X = np.vstack([gaussian(300, 9), gaussian(40, 9)])  # the last 40 are duplicates
    agree(index(X, measure, factor).others(6), brute(X, X, 6, True, measure, factor))
    listed = np.random.default_rng(0).integers(-1, 340, (50, 7)).astype(np.int32)
    rows = np.arange(0, 340, 7)[:48]
    listed = listed[:48]
    listed[listed == rows[:, None]] = -1
    fast = index(X, measure, factor).ranks(rows, listed)
    same_bits(fast, PLAIN.index(X, measure, (factor,), None).ranks(rows, listed))


@typed
def test_nearest_in_given_distances(kind):
    rng = np.random.default_rng(0)
    D, own = rng.integers(0, 40, (50, 300)).astype(kind), rng.integers(0, 300, 50)
    for left_out in (None, own):
        fast, plain = FAST.distance_index(D, left_out), PLAIN.distance_index(D, left_out)
        same_bits(fast.nearest(20).indices, plain.nearest(20).indices)
        same_bits(fast.nearest(20).distances, plain.nearest(20).distances)
        same_bits(fast.ranks(), plain.ranks())


@measured
@typed
def test_measures_of_all_pairs(measure, params, kind):
    for n, d in SHAPES[:6]:
        X, Q = data(n, d, kind), data(n + 3, d, kind, 1)
        fast = FAST.pairwise(Q, X, measure, params, None)
        assert fast.dtype == kind
        steep = bool(params) and params[0] > 100  # an exponent of hundreds, with its rounding
        near(fast, PLAIN.pairwise(Q, X, measure, params, None), kind, 5000 if steep else 50)
    if measure == "euclidean":  # duplicates are at 0, without rounding
        X = np.repeat(data(40, 30, kind) + 1000, 2, axis=0)
        assert not FAST.pairwise(X, X, measure, params, None)[::2, 1::2].diagonal().any()


@typed
def test_scatter_matrices_and_projections(kind):
    X, w = data(300, 31, kind), np.random.default_rng(0).random(300)
    mean, V = X.mean(0, dtype=np.float64), data(31, 3, kind, 2)
    for weights in (None, w):
        fast, plain = FAST.scatter(X, mean, weights), PLAIN.scatter(X, mean, weights)
        near(fast.moments().scatter, plain.moments().scatter, np.float64, 200)
        assert fast.moments().weight == pytest.approx(plain.moments().weight)
        near(fast.matmul(V)[0], plain.matmul(V)[0], np.float64, 200)
        assert fast.matmul(V)[1] == pytest.approx(plain.matmul(V)[1], rel=1e-12)
    for shift, bias in [(None, None), (mean, np.arange(3.0))]:
        fast = FAST.project(X, shift, V, bias)
        assert fast.dtype == kind
        near(fast, PLAIN.project(X, shift, V, bias), kind)


def test_rows_changed_in_place_are_not_taken_from_the_device():
    X = gaussian(2000, 80)
    mean = np.zeros(80)
    first = FAST.scatter(X, mean, None).moments().scatter
    X *= 2
    near(FAST.scatter(X, mean, None).moments().scatter, 4 * first, np.float64)


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
    fast, plain = (ops.symmetrize(csr_array(A), union) for ops in (FAST, PLAIN))
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


def test_a_descent_follows_the_reference(rng):
    """Step by step, over a sorting of the points, and beyond the nodes of the first mesh."""
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
    for _ in range(15):
        fast.advance(10, 4.0, 0.8, float(n))
    ends = fast.embedding()
    assert np.isfinite(ends).all()
    again = FAST.kl_objective("student").plan(P)
    again.start(1e-3 * Y)
    for _ in range(15):
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
    fast, plain = FAST.geodesics(G), PLAIN.geodesics(G)
    alone = Ragged.singletons(np.arange(0, 60, 7))
    near(fast.distances(alone)[:, :60], plain.distances(alone)[:, :60], kind)
    assert np.isinf(fast.distances(alone)[0, 60:]).all()
    lists = Ragged(np.array([0, 2, 3, 3, 6], np.int64), np.array([5, 9, 70, 1, 1, 80], np.int32))
    offsets = np.array([0.5, 0.1, 0.0, 2.0, 0.3, 1.0])
    found, expected = fast.distances(lists, offsets), plain.distances(lists, offsets)
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    known = np.isfinite(expected)
    near(found[known], expected[known], kind)
    connected = csr_array(G[:60][:, :60])
    V = rng.normal(size=(60, 3))
    fast, plain = FAST.geodesics(connected), PLAIN.geodesics(connected)
    near(fast.half_square_matmul(V), plain.half_square_matmul(V), kind, 100)


@typed
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_guttman_transforms(kind, k, rng):
    """With weights, missing dissimilarities, and points at one place."""
    D = cdist(*(2 * [rng.normal(size=(150, 6))])).astype(kind)
    Y, W = rng.normal(size=(150, k)), rng.random((150, 150)).astype(kind)
    W = W + W.T
    Y[7] = Y[3]
    missing = D.copy()
    missing[4, 9] = missing[9, 4] = np.nan
    for given, weights in [(D, None), (missing, None), (missing, W)]:
        fast, plain = (ops.stress_plan(given, weights).step(Y) for ops in (FAST, PLAIN))
        for found, expected in zip(fast[:3], plain[:3], strict=True):
            assert found == pytest.approx(expected, rel=1e-5 if kind == np.float32 else 1e-10)
        near(fast.BY, plain.BY, kind, 2000)  # of two points nearly at one place
    assert FAST.stress_plan(D, None).disparities(Y) is None
    ordinal = FAST.stress_plan(D, None, "primary").step(Y)
    near(ordinal.BY, PLAIN.stress_plan(D, None, "primary").step(Y).BY, kind, 1000)


def test_too_little_memory_is_an_error_that_names_what_fits(monkeypatch):
    from lowd.backends.torch import arrays

    monkeypatch.setattr(arrays, "free_bytes", lambda _: 2**20)
    with pytest.raises(NotEnoughMemoryError, match="backend='native'"):
        index(gaussian(3000, 40)).others(5)


@pytest.mark.skipif(not has_kernels(FAST.device), reason="needs a GPU with Triton")
class TestKernels:
    """Searches by tiles in float16 and what follows: on a GPU only."""

    @each_set
    @pytest.mark.parametrize("k", [1, 15, 90])
    def test_tiles_find_what_products_in_float64_find(self, name, k, monkeypatch):
        X = SETS[name](20_000).astype(np.float32)
        tiled = index(X).others(k)
        queried = index(X).query(X[:3000] * np.float32(1.01), k)
        monkeypatch.setattr(row_index, "MIN_TILED_ROWS", 10**9)
        plain = index(X).others(k)
        same_bits(tiled.indices, plain.indices)
        np.testing.assert_allclose(tiled.distances, plain.distances, rtol=1e-12)
        asked = index(X).query(X[:3000] * np.float32(1.01), k)
        same_bits(queried.indices, asked.indices)

    def test_most_rows_are_found_by_tiles(self, monkeypatch):
        X = gaussian(20_000, 50).astype(np.float32)
        plan, asked = index(X), []
        search = row_index.DeviceRowIndex._search_products

        def count(self, Q, *rest):
            asked.append(len(Q))
            return search(self, Q, *rest)

        monkeypatch.setattr(row_index.DeviceRowIndex, "_search_products", count)
        plan.others(15)
        assert sum(asked) < 200

    def test_two_runs_have_the_same_bits(self):
        X = clusters(30_000, 20, 1.0).astype(np.float32)
        import lowd

        ends = [lowd.TSNE(max_iter=300, backend="torch").fit_transform(X) for _ in range(2)]
        same_bits(*ends)
        ends = [lowd.UMAP(n_epochs=100, backend="torch").fit_transform(X) for _ in range(2)]
        same_bits(*ends)


def test_the_backend_has_a_name():
    assert type(resolve("torch", 1)).__name__ == "Torch"
    assert type(resolve("auto", 1)).__name__ == "Native"
