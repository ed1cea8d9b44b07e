"""Triton kernels of the torch backend on a CPU, by Triton's interpreter, against the core.

Run by `test_kernels.py` in a process of its own: kernels are interpreted if TRITON_INTERPRET is set
before they are compiled.
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

from lowd.backend import using
from lowd.methods.mds import metric_stress
from lowd.on_torch import matrices, neighbors
from lowd.spaces import RowIndex, shortest_paths
from lowd.spaces.space import nearest_rows

WITH_KERNELS = matrices, neighbors
RNG = np.random.default_rng(0)


def both(function, *args):
    with using("native", 1):
        plain = function(*args)
    with using("torch", 1):
        return plain, function(*args)


def check_neighbors():
    """Of rows with duplicates, far from the origin; and in space, by differences."""
    neighbors.MIN_TILED_ROWS = 0
    for n, d, k in ((400, 50, 15), (300, 3, 20)):
        X = (RNG.normal(size=(n, d)) + 50).astype(np.float32)
        X[::9] = X[1::9][: len(X[::9])]
        plain, fast = both(nearest_rows, RowIndex(X), k)
        np.testing.assert_array_equal(fast.indices, plain.indices)
        np.testing.assert_allclose(fast.distances, plain.distances, rtol=1e-12)


def check_sparse_products():
    """With a row of no entries, and one of more than a program adds at a time."""
    A = random_array((120, 120), density=0.1, rng=RNG).toarray()
    A[3], A[5] = 0, RNG.normal(size=120)
    parts = matrices.parts_of(csr_array(A))
    for width in (1, 2, 9, 24):
        V, U = RNG.normal(size=(2, 120, width))
        v, u = torch.from_numpy(V), torch.from_numpy(U)
        np.testing.assert_allclose(parts.multiply(v), A @ V, atol=1e-13)
        found = parts.multiply(v, 1 / 3, 0.1, u)  # factors that float32 does not hold
        np.testing.assert_allclose(found, A @ V / 3 + 0.1 * V - U, atol=1e-14)


def check_shortest_paths():
    X = RNG.random((60, 2))
    D = cdist(X, X)
    graph = csr_array(np.where(np.sort(D, axis=1)[:, [5]] > D, D, 0))
    graph = csr_array(graph.maximum(graph.T))
    plain, fast = both(shortest_paths, graph, np.arange(0, 60, 7, dtype=np.int32))
    np.testing.assert_allclose(fast, plain, rtol=1e-12)


def check_guttman_transform():
    D = cdist(*(2 * [RNG.normal(size=(150, 6))])).astype(np.float32)
    Y = RNG.normal(size=(150, 2))
    plain, fast = (found.step(Y) for found in both(metric_stress, D, None))
    np.testing.assert_allclose(fast.BY, plain.BY, rtol=1e-4, atol=1e-3)
    assert abs(fast.stress / plain.stress - 1) < 1e-5


if __name__ == "__main__":
    for module in WITH_KERNELS:
        module.has_kernels = lambda _: True
    globals()[f"check_{sys.argv[1]}"]()
