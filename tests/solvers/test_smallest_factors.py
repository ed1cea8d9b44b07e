"""Smallest eigenpairs by factors: those of a root, dense ones, and the memory they need."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from lowd.solvers import dense_factor
from lowd.solvers import smallest as module
from lowd.solvers.dense_factor import DenseLU
from lowd.solvers.eigenproblem import Eigenproblem
from lowd.solvers.smallest import smallest_eigenpairs
from scipy.sparse import csr_array

from laplacians import angle, constant, context, laplacian, lle_root, roll
from lowd.errors import LongWorkWarning, NotEnoughMemoryError


@pytest.mark.parametrize("shape", ["roll", "helix", "cloud"])
def test_a_root_is_factored_instead_of_the_matrix(shape):
    n = 900
    t = np.linspace(0, 40, n)
    X = {
        "roll": roll(n),
        "helix": np.column_stack([np.cos(t), np.sin(t), t / 3]),
        "cloud": np.random.default_rng(0).normal(size=(n, 5)),
    }[shape]
    B = lle_root(X)
    found = smallest_eigenpairs(None, constant(n), 2, context(), root=B)
    assert found.solver == "shift-invert"
    _, s, Vt = scipy.linalg.svd(B.toarray())
    np.testing.assert_allclose(np.sqrt(found.values), s[::-1][1:3], rtol=1e-6, atol=1e-13)
    assert angle(found.vectors, Vt[::-1][1:3].T) < 1e-6


def test_without_small_separators_a_root_has_a_dense_factor(monkeypatch):
    for name in ("MAX_FACTOR_WIDTH", "MAX_DENSE_ROOT_SAMPLES", "MAX_DENSE_FALLBACK_SAMPLES"):
        monkeypatch.setattr(module, name, 48)
    monkeypatch.setattr(module, "_factorize", None)  # no sparse factor
    B = lle_root(np.random.default_rng(0).normal(size=(600, 5)))
    found = smallest_eigenpairs(None, constant(600), 2, context(), root=B)
    _, s, Vt = scipy.linalg.svd(B.toarray())
    np.testing.assert_allclose(np.sqrt(found.values), s[::-1][1:3], rtol=1e-6)
    assert angle(found.vectors, Vt[::-1][1:3].T) < 1e-6


def test_a_dense_factor_solves_and_says_what_it_costs(monkeypatch, rng):
    A, V = csr_array(rng.normal(size=(700, 700))), rng.normal(size=(700, 3))
    M, lu = A.toarray() + 0.5 * np.eye(700), DenseLU(A, 0.5)
    np.testing.assert_allclose(lu.solve(V), np.linalg.solve(M, V), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(lu.solve(V, "T"), np.linalg.solve(M.T, V), rtol=1e-8, atol=1e-10)
    monkeypatch.setattr(dense_factor, "LONG_FACTOR_SECONDS", 0)
    with pytest.warns(LongWorkWarning, match=r"700 points has no small separators.*n_landmarks"):
        DenseLU(A, 0.5)
    monkeypatch.setattr("lowd.core.memory.NEGLIGIBLE_BYTES", 0)
    monkeypatch.setattr("lowd.core.memory.available", lambda: 1000)
    with pytest.raises(NotEnoughMemoryError, match=r"dense factor.*ModifiedLLE.*3.74 MiB"):
        DenseLU(A, 0.5)


@pytest.mark.parametrize("shape", ["roll", "square", "cube", "tesseract"])
def test_the_memory_of_a_factor_is_known_from_the_width_of_the_graph(shape):
    dimensions = {"square": 2, "cube": 3, "tesseract": 4}
    rng = np.random.default_rng(0)
    X = roll(3000) if shape == "roll" else rng.random((3000, dimensions[shape]))
    B = lle_root(X)
    p = Eigenproblem(None, constant(3000), 2, B, 4.0, context())
    lu = module._factorize(B, 1e-13, 1)
    used = 12 * lu.nnz
    assert used <= module.factor_memory(3000, B.nnz, module.measure_width(p)) <= 5 * used


@pytest.mark.parametrize("form", ["root", "matrix"])
def test_a_factor_that_does_not_fit_is_refused_once_the_graph_is_known(monkeypatch, form):
    """A graph wider than that of a surface: the plan of the fit had no way to know."""
    B = lle_root(np.random.default_rng(0).random((3000, 4)))
    A, B = (None, B) if form == "root" else (csr_array(B.T @ B), None)
    monkeypatch.setattr(module, "MAX_NARROW_RATIO", 100.0)
    free = sum(module.smallest_memory(3000, 2, form, 5, module.surface_width(3000 * 5)).values())
    monkeypatch.setattr("lowd.core.memory.NEGLIGIBLE_BYTES", 0)
    monkeypatch.setattr("lowd.core.memory.available", lambda: free)
    with pytest.raises(NotEnoughMemoryError, match=r"factor.* points wide.*n_landmarks"):
        smallest_eigenpairs(A, constant(3000), 2, context(), root=B)


@pytest.mark.parametrize("route", ["dense", "multilevel"])
def test_a_later_route_is_refused_where_it_does_not_fit(monkeypatch, route):
    monkeypatch.setattr(module, "choose_routes", lambda *_: ["chebyshev", route])
    monkeypatch.setattr(module, "solve_chebyshev", lambda *_, **__: None)
    monkeypatch.setattr("lowd.core.memory.NEGLIGIBLE_BYTES", 0)
    free = sum(module.route_memory("chebyshev", 900, 2, laplacian(roll(900)).nnz, 0).values())
    monkeypatch.setattr("lowd.core.memory.available", lambda: free)
    with pytest.raises(NotEnoughMemoryError, match=f"the {route} solver .*900 points"):
        smallest_eigenpairs(laplacian(roll(900)), constant(900), 2, context())
