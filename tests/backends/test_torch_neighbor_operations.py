"""Neighbors by the torch backend: exact, whatever the rows, on a GPU or torch's CPU build."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

from lowd.backends.reference import Reference

from cases import same_bits
from lowd.backends.torch import row_index, tiled_search
from lowd.errors import NotEnoughMemoryError
from operands import typed
from torch_operands import (
    SETS,
    agree,
    all_sizes_on_the_device,  # noqa: F401 - a fixture
    brute,
    clusters,
    each_set,
    gaussian,
    index,
    on_a_gpu,
)

pytestmark = pytest.mark.usefixtures("all_sizes_on_the_device")
PLAIN = Reference()


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


def test_too_little_memory_is_an_error_that_names_what_fits(monkeypatch):
    from lowd.backends.torch import arrays

    monkeypatch.setattr(arrays, "free_bytes", lambda _: 2**20)
    with pytest.raises(NotEnoughMemoryError, match="backend='native'"):
        index(gaussian(3000, 40)).others(5)


@on_a_gpu
class TestKernels:
    """Searches by tiles in float16 and what follows: on a GPU only."""

    @each_set
    @pytest.mark.parametrize("k", [1, 15, 90])
    def test_tiles_find_what_products_in_float64_find(self, name, k, monkeypatch):
        X = SETS[name](20_000).astype(np.float32)
        tiled = index(X).others(k)
        queried = index(X).query(X[:3000] * np.float32(1.01), k)
        monkeypatch.setattr(tiled_search, "MIN_TILED_ROWS", 10**9)
        plain = index(X).others(k)
        same_bits(tiled.indices, plain.indices)
        np.testing.assert_allclose(tiled.distances, plain.distances, rtol=1e-12)
        asked = index(X).query(X[:3000] * np.float32(1.01), k)
        same_bits(queried.indices, asked.indices)

    @pytest.mark.parametrize("name", ["ball", "line", "plane"])
    def test_most_rows_are_found_by_tiles(self, name, monkeypatch):
        X = SETS[name](20_000).astype(np.float32)
        plan, asked = index(X), []
        search = row_index.DeviceRowIndex._search_products

        def count(self, Q, *rest):
            asked.append(len(Q))
            return search(self, Q, *rest)

        monkeypatch.setattr(row_index.DeviceRowIndex, "_search_products", count)
        plan.others(15)
        assert sum(asked) < 200

    @each_set
    def test_ranks_by_counting_are_those_of_distances(self, name, monkeypatch):
        X = SETS[name](20_000).astype(np.float32)
        rng = np.random.default_rng(0)
        rows, listed = rng.permutation(20_000)[:300], rng.integers(-1, 20_000, (300, 19))
        listed = np.where(listed == rows[:, None], -1, listed).astype(np.int32)
        counted = index(X).ranks(rows, listed)
        monkeypatch.setattr(row_index, "has_kernels", lambda _: False)
        same_bits(counted, index(X).ranks(rows, listed))

    def test_two_runs_have_the_same_bits(self):
        X = clusters(30_000, 20, 1.0).astype(np.float32)
        import lowd

        ends = [lowd.TSNE(max_iter=300, backend="torch").fit_transform(X) for _ in range(2)]
        same_bits(*ends)
        ends = [lowd.UMAP(n_epochs=100, backend="torch").fit_transform(X) for _ in range(2)]
        same_bits(*ends)
