"""Triton kernels of the torch backend on a CPU, by Triton's interpreter, against the reference.

Run by `backends/test_torch_kernels.py` in a process of its own: kernels are interpreted if
TRITON_INTERPRET is set before they are compiled.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from scipy.spatial.distance import cdist

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")
pytest.importorskip("triton", reason="Triton is not installed (make torch)")
import torch
from lowd.backends.protocol import FuzzySum, Perplexity, Ragged, Terms, multiply
from lowd.backends.reference import Reference

from lowd.backends.torch import (
    Torch,
    affinities,
    graphs,
    matrices,
    neighbors,
    ranking,
    row_index,
    stress,
    tiled_search,
)

PLAIN, FAST = Reference(), Torch(threads=1, device=torch.device("cpu"))
WITH_KERNELS = affinities, graphs, matrices, row_index, stress, tiled_search
RNG = np.random.default_rng(0)


def check_neighbors():
    """Of rows with duplicates, far from the origin; and in space, by differences."""
    neighbors.MIN_DEVICE_PAIRS = tiled_search.MIN_TILED_ROWS = 0
    for n, d, k in ((400, 50, 15), (300, 3, 20)):
        X = (RNG.normal(size=(n, d)) + 50).astype(np.float32)
        X[::9] = X[1::9][: len(X[::9])]
        fast, plain = (ops.index(X, "euclidean", (1.0,), None).others(k) for ops in (FAST, PLAIN))
        np.testing.assert_array_equal(fast.indices, plain.indices)
        np.testing.assert_allclose(fast.distances, plain.distances, rtol=1e-12)


def check_ranks():
    """Of rows with duplicates and equal distances; parts of the columns, and several passes."""
    ranking.COUNTED_COLUMNS = 480
    for n, d, k in ((700, 5, 15), (500, 50, 7), (600, 70, 30)):
        X = RNG.normal(size=(n, d))
        X[10], X[:40] = X[20], np.round(X[:40])
        rows = np.arange(3, 48)
        listed = RNG.integers(0, n, (45, k)).astype(np.int32)
        listed[listed == rows[:, None]] = -1
        left = ranking.rank_most(
            row_index.DeviceRowIndex(torch.from_numpy(X), "euclidean", 1.0, None),
            torch.from_numpy(rows),
            torch.from_numpy(listed).long(),
            ranks := torch.zeros(listed.shape, dtype=torch.int32),
        )
        assert len(left) < 5  # nearly all are counted
        kept = np.setdiff1d(np.arange(45), left.numpy())
        exact = PLAIN.index(X, "euclidean", (1.0,), None).ranks(rows, listed)
        np.testing.assert_array_equal(ranks.numpy()[kept], exact[kept])


def check_sparse_products():
    """With a row of no entries, and one of more than a program adds at a time."""
    A = random_array((120, 120), density=0.1, rng=RNG).toarray()
    A[3], A[5] = 0, RNG.normal(size=120)
    for width in (1, 2, 9, 24):
        V, U = RNG.normal(size=(2, 120, width))
        plan, plain = (ops.matrix_plan(csr_array(A)) for ops in (FAST, PLAIN))
        np.testing.assert_allclose(multiply(plan, V), A @ V, atol=1e-13)
        terms = Terms(1 / 3, 0.1, -1 / 7, U)  # float32 does not hold them
        found = plan.fetch(plan.matmul(plan.hold(V), terms._replace(U=plan.hold(U))))
        np.testing.assert_allclose(found, plain.matmul(V, terms), atol=1e-14)


def check_affinities():
    D = np.sort(RNG.random((40, 20)), axis=1)
    edges = np.array([RNG.permutation(40)[:20] for _ in range(40)], np.int32)
    graph = csr_array((D.ravel(), edges.ravel(), np.arange(0, 801, 20)), (40, 40))
    for rule, union in ((Perplexity(6.0), None), (FuzzySum(1.0), 1.0), (FuzzySum(1.5), 0.4)):
        fast, plain = (ops.similarity_graph(graph, rule, union) for ops in (FAST, PLAIN))
        expected = plain.graph.toarray()
        tolerance = 1e-10 if union is None else 1e-4  # of the sum of memberships: 1e-5
        np.testing.assert_allclose(fast.graph.to_csr().toarray(), expected, atol=tolerance)


def check_shortest_paths():
    X = RNG.random((60, 2))
    D = cdist(X, X)
    graph = csr_array(np.where(np.sort(D, axis=1)[:, [5]] > D, D, 0))
    graph = csr_array(graph.maximum(graph.T))
    graphs.MIN_DEVICE_NODES = 0
    sources = Ragged.singletons(np.arange(0, 60, 7))
    fast, plain = (ops.geodesics(graph).distances(sources) for ops in (FAST, PLAIN))
    np.testing.assert_allclose(fast, plain, rtol=1e-12)


def check_guttman_transform():
    D = cdist(*(2 * [RNG.normal(size=(150, 6))])).astype(np.float32)
    Y = RNG.normal(size=(150, 2))
    fast, plain = (ops.stress_objective().plan(D, None).step(Y) for ops in (FAST, PLAIN))
    np.testing.assert_allclose(fast.BY, plain.BY, rtol=1e-4, atol=1e-3)
    assert abs(fast.stress / plain.stress - 1) < 1e-5


if __name__ == "__main__":
    for module in WITH_KERNELS:
        module.has_kernels = lambda _: True
    globals()[f"check_{sys.argv[1]}"]()
