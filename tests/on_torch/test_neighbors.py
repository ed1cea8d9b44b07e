"""Neighbors by the torch backend: exact, whatever the rows, on a GPU or torch's CPU build."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

from cases import same_bits
from lowd.errors import NotEnoughMemoryError
from lowd.evidence.quality.metric_spaces import rank_listed
from lowd.on_torch import arrays
from lowd.on_torch import neighbors as on_device
from lowd.spaces import Rows
from torch_operands import (
    SETS,
    agree,
    all_sizes_on_the_device,  # noqa: F401 - a fixture
    both,
    brute,
    clusters,
    each_set,
    gaussian,
    nearest,
    on_a_gpu,
    query,
    typed,
)

pytestmark = pytest.mark.usefixtures("all_sizes_on_the_device")


@each_set
@typed
def test_neighbors_are_those_of_a_brute_force_in_float64(name, kind):
    X = SETS[name](400).astype(kind)
    others, distances = brute(X, X, 15, own=True)
    for k in (1, 15):
        agree(nearest(X, k), (others[:, :k], distances[:, :k]))
    Q = np.vstack([X[::9], 1.25 * X[5::11], X[:20] + kind(1)]).astype(kind)
    found = query(X, Q, 7)
    agree(found, brute(Q, X, 7))
    for rows in ([0], [3], list(range(20, 50))):  # alone and in another batch
        for part, whole in zip(query(X, Q[rows], 7), found, strict=True):
            same_bits(part, whole[rows])


@pytest.mark.parametrize("n", [2, 3, 31, 33, 150])
def test_few_rows_and_all_of_them_as_neighbors(n):
    X = gaussian(n, 5)
    for k in {1, n // 2, n - 1}:
        agree(nearest(X, k), brute(X, X, k, own=True))


@pytest.mark.parametrize(
    ("kind", "scale"),
    [(np.float32, 1e-30), (np.float32, 1e30), (np.float64, 1e-140), (np.float64, 1e140)],
)
def test_neighbors_at_any_scale(kind, scale):
    X = (gaussian(500, 12) * scale).astype(kind)
    indices, distances = nearest(X, 10)
    expected = brute(X / scale, X / scale, 10, own=True)
    np.testing.assert_array_equal(indices, expected[0])
    np.testing.assert_allclose(distances / scale, expected[1], rtol=1e-6)


def test_neighbors_of_far_rows_and_of_another_type():
    X = gaussian(600, 6)
    Q = np.vstack([gaussian(20, 6, 1), [[1e8] * 6, [-1e30] * 6, [1e200] * 6, [1e300] * 6]])
    found = query(X, Q, 5)
    assert np.isfinite(found[1]).all()
    agree([part[:22] for part in found], brute(Q[:22], X, 5))
    agree(query(X.astype(np.float32), Q[:20], 5), brute(Q[:20], X.astype(np.float32), 5))


@pytest.mark.parametrize(("measure", "factor"), [("euclidean", 0.5), ("sqeuclidean", 2.0)])
def test_factors_and_squares(measure, factor):
    X = gaussian(300, 9)
    agree(nearest(X, 6, measure, factor), brute(X, X, 6, True, measure, factor))


@each_set
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_ranks_of_listed_rows(name, metric, rng):
    """Of nearly equal distances and duplicates, too; from some rows and from all."""
    space = Rows(SETS[name](350), metric)
    rows = rng.permutation(350)[:48]
    for own in (rows, None):
        everyone = np.arange(350) if own is None else own
        lists = rng.integers(-1, 350, (len(everyone), 7)).astype(np.int32)
        lists[lists == everyone[:, None]] = -1
        plain, fast = both(rank_listed, space, lists, own)
        same_bits(fast, plain)


def test_too_little_memory_is_an_error_that_names_what_fits(monkeypatch):
    monkeypatch.setattr(arrays, "free_bytes", lambda: 2**20)
    with pytest.raises(NotEnoughMemoryError, match="backend='native'"):
        nearest(gaussian(3000, 40), 5)


@on_a_gpu
class TestKernels:
    """Searches by tiles in float16 and what follows: on a GPU only."""

    @each_set
    @pytest.mark.parametrize("k", [1, 15, 90])
    def test_tiles_find_what_products_in_float64_find(self, name, k, monkeypatch):
        X = SETS[name](20_000).astype(np.float32)
        tiled, queried = nearest(X, k), query(X, X[:3000] * np.float32(1.01), k)
        monkeypatch.setattr(on_device, "MIN_TILED_ROWS", 10**9)
        plain = nearest(X, k)
        same_bits(tiled[0], plain[0])
        np.testing.assert_allclose(tiled[1], plain[1], rtol=1e-12)
        same_bits(queried[0], query(X, X[:3000] * np.float32(1.01), k)[0])

    @pytest.mark.parametrize("name", ["ball", "line", "plane"])
    def test_most_rows_are_found_by_tiles(self, name, monkeypatch):
        X = SETS[name](20_000).astype(np.float32)
        asked = []
        search = on_device.DeviceRows._search_products

        def count(self, Q, *rest):
            asked.append(len(Q))
            return search(self, Q, *rest)

        monkeypatch.setattr(on_device.DeviceRows, "_search_products", count)
        nearest(X, 15)
        assert sum(asked) < 200

    def test_two_runs_have_the_same_bits(self):
        X = clusters(30_000, 20, 1.0).astype(np.float32)
        import lowd

        ends = [lowd.TSNE(max_iter=300, backend="torch").fit_transform(X) for _ in range(2)]
        same_bits(*ends)
        ends = [lowd.UMAP(n_epochs=100, backend="torch").fit_transform(X) for _ in range(2)]
        same_bits(*ends)
