"""Products with matrices on the device, and iterations whose vectors stay there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, random_array

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

import torch

from lowd import KernelPCA, LaplacianEigenmaps
from lowd.backend import using
from lowd.linalg.centered import classical_scaling, half_squares, products_of
from lowd.linalg.eigen import leading_eigenpairs
from lowd.linalg.laplacian import laplacian_eigenpairs
from lowd.linalg.smallest import filtered, smallest_eigenpairs
from lowd.methods.umap import diffuse
from lowd.on_torch import arrays, matrices, rows
from lowd.on_torch.matrices import DeviceProduct, parts_of
from torch_operands import (
    all_sizes_on_the_device,  # noqa: F401 - a fixture
    both,
    gaussian,
    near,
    on_a_gpu,
    typed,
)

pytestmark = pytest.mark.usefixtures("all_sizes_on_the_device", "no_silent_copies")


@pytest.fixture
def no_silent_copies(monkeypatch):
    """NumPy would read a tensor on a CPU as an array; on a GPU that is an error."""

    def refuse(*_):
        raise TypeError("a tensor was taken for an array")

    monkeypatch.setattr(torch.Tensor, "__array__", refuse)


@typed
@pytest.mark.parametrize("products", [products_of, half_squares])
def test_products_with_a_given_matrix(kind, products, rng):
    A = rng.normal(size=(60, 60)).astype(kind)
    V = rng.normal(size=(60, 5))
    plain, fast = both(products, A + A.T)
    assert isinstance(fast, DeviceProduct)
    near(fast(V), plain(V), kind)


@pytest.mark.parametrize("width", [1, 2, 3, 8, 9, 24, 40])
def test_three_term_recurrences(width, rng):
    """With rows of no entries, and of more than a program adds at a time."""
    A = random_array((300, 300), density=0.05, rng=rng).toarray()
    A[3], A[5] = 0, rng.normal(size=300)
    V, U = rng.normal(size=(2, 300, width))
    parts, v = parts_of(csr_array(A)), torch.from_numpy(V)
    for a, b in ((1 / 3, 0), (-2 / 3, 0.1), (1.7, 0)):  # factors that float32 does not hold
        near(parts.multiply(v.to(parts.values.device), a, b).cpu().numpy(), a * A @ V + b * V)
    found = parts.multiply(*(torch.from_numpy(M).to(parts.values.device) for M in (V,)), 0.3, 0.2,
                           torch.from_numpy(U).to(parts.values.device))  # fmt: skip
    near(found.cpu().numpy(), 0.3 * A @ V + 0.2 * V - U)


@pytest.mark.parametrize("size", [1.0, 1e170])  # squares of which overflow
def test_leading_eigenpairs_of_a_matrix_on_the_device(size, rng):
    A = rng.normal(size=(400, 400))
    A = size * (A @ A.T * np.linspace(3, 0.1, 400) * np.linspace(3, 0.1, 400)[:, None])
    with using("torch", 2):
        found = leading_eigenpairs(products_of(A), 400, 3, 0, np.float64)
    assert found.residual <= 1e-10
    assert found.quadrature is not None
    values, vectors = np.linalg.eigh(A)
    np.testing.assert_allclose(found.values, values[:-4:-1], rtol=1e-12)
    assert found.following == pytest.approx(values[-4], rel=1e-3)
    overlap = np.abs((found.vectors * vectors[:, :-4:-1]).sum(0))
    np.testing.assert_allclose(overlap, 1, atol=1e-12)


@typed
def test_classical_scaling_on_the_device(kind, rng):
    X = rng.normal(size=(500, 6)) * np.array([9, 6, 4, 2, 1, 1])
    D = np.sqrt(np.square(X[:, None] - X).sum(2)).astype(kind)
    plain, fast = both(lambda: classical_scaling(half_squares(D), 500, 3, 0, kind))
    near(fast.values, plain.values, kind, 100)
    near(fast.coordinates, plain.coordinates, kind, 1e4)
    near(fast.means, plain.means, kind)
    assert fast.negative_share == pytest.approx(plain.negative_share, abs=1e-4)


def test_dense_laplacians(rng):
    X = rng.normal(size=(500, 3))
    W = np.exp(-np.square(X[:, None] - X).sum(2) / 4)
    np.fill_diagonal(W, 0)
    plain, fast = both(laplacian_eigenpairs, W, np.arange(500), 3, 0)
    assert plain.solver == fast.solver == "krylov"
    near(fast.values, plain.values, np.float64, 1e4)
    near(fast.vectors, plain.vectors, np.float64, 1e9)


@typed
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_kernel_matrix_never_leaves_the_device(kernel, kind, rng, monkeypatch):
    """Of n² values the host gets the 1000 rows that tell how near training points are."""
    X, moved = rng.normal(size=(2200, 5)).astype(kind), []

    def count(A, *args):
        moved.append(A.numel())
        return arrays.to_numpy(A, *args)

    monkeypatch.setattr(matrices, "to_numpy", count)
    monkeypatch.setattr(rows, "to_numpy", count)
    plain, fast = (
        KernelPCA(2, kernel=kernel, backend=backend).fit(X) for backend in ("native", "torch")
    )
    assert 1000 * 2200 < sum(moved) < 1200 * 2200
    near(fast.eigenvalues_, plain.eigenvalues_, kind, 1e4)
    near(fast.embedding_, plain.embedding_, kind, 1e5)
    near(fast.k_mean_, plain.k_mean_, kind, 100)
    (Y, sure), (Z, known) = (
        one.transform(X[:50] + 0.1, return_confidence=True) for one in (fast, plain)
    )
    near(Y, Z, kind, 1e5)
    near(sure, known, np.float32, 1e3)


def lattice_laplacian(n):
    """Of an n x (n + 7) lattice: its eigenvalues are sums of those of two paths."""
    i = np.arange(n * (n + 7)).reshape(n, n + 7)
    ends = [(i[1:], i[:-1]), (i[:, 1:], i[:, :-1])]
    pairs = np.hstack([[one.ravel(), other.ravel()] for one, other in ends])
    W = csr_array((np.ones(pairs.shape[1]), pairs), (i.size, i.size))
    W = csr_array(W + W.T)
    path = [2 - 2 * np.cos(np.pi * np.arange(m) / m) for m in (n, n + 7)]
    return csr_array(diags_array(W.sum(1)) - W), np.sort(np.add.outer(*path).ravel())


@on_a_gpu
def test_the_graph_of_a_surface_is_filtered_on_a_gpu(rng):
    """The core factorizes it, which no GPU does."""
    t = 1.5 * np.pi * (1 + 2 * rng.random(40_000))
    X = np.stack([t * np.cos(t), 21 * rng.random(len(t)), t * np.sin(t)], 1)
    plain, fast = (
        LaplacianEigenmaps(2, n_neighbors=15, backend=backend).fit(X)
        for backend in ("native", "torch")
    )
    assert (plain.solver_, fast.solver_) == ("shift-invert", "chebyshev")
    near(fast.eigenvalues_, plain.eigenvalues_, np.float32)
    np.testing.assert_allclose(
        fast.embedding_, plain.embedding_, atol=1e-5 * plain.embedding_.max()
    )


def test_filtered_vectors_stay_on_the_device():
    L, _ = lattice_laplacian(12)
    V = gaussian(L.shape[0], 5)
    plain, fast = both(filtered, L, V, 17, 4.5, 3.6)
    near(fast, plain, np.float64, 100)


def test_smallest_eigenpairs_by_a_chebyshev_filter(rng):
    """Of a random graph, which is wide."""
    W = random_array((1500, 1500), density=0.006, rng=rng, format="csr")
    W = csr_array(W + W.T)
    L = csr_array(diags_array(W.sum(1)) - W)
    plain, fast = both(smallest_eigenpairs, L, 3, 0)
    assert plain.solver == fast.solver == "chebyshev"
    near(fast.values, plain.values, np.float64, 1e6)
    near(fast.vectors, plain.vectors, np.float64, 1e10)
    assert isinstance(fast.vectors, np.ndarray)


def test_coordinates_that_diffuse(rng):
    W = random_array((200, 200), density=0.05, rng=rng, format="csr")
    W = csr_array(W + W.T + diags_array(np.ones(200), shape=(200, 200)))
    plain, fast = both(diffuse, W, rng.normal(size=(200, 3)))
    near(fast, plain, np.float64, 1e3)
