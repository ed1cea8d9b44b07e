"""The routes that the cases of real sizes are there for are those that their fits take.

What a model says of itself is asked first: its solver, residuals, the error of its forces. What no
model says is seen by a profiler that writes down the functions which ran: names of the library's
inside, which this file alone knows.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import lowd
from case_data import real_rows
from cases import BY_NAME, CASES, LARGE, close, each, fit, fitted, solver_tolerance
from lowd.linalg import centered, eigen, smallest

# Solvers that models name.
SOLVERS = {
    **{f"PCA-{solver}": solver for solver in ("covariance", "krylov", "gram", "svd")},
    "PCA-sparse": "krylov",
    **dict.fromkeys(
        (
            *("LLE-factor", "ModifiedLLE-factor", "HessianLLE-factor", "LTSA-factor"),
            *("LLE-landmarks", "Eigenmaps-landmarks", "Eigenmaps-narrow"),
            "Eigenmaps-radius-blocks",
        ),
        "shift-invert",
    ),
    **dict.fromkeys(("LTSA-chebyshev", "Eigenmaps-chebyshev", "Diffusion-chebyshev"), "chebyshev"),
    "Eigenmaps-cholesky": "cholesky",
    "Diffusion-landmarks": "cholesky",
    "Eigenmaps-krylov": "krylov",
    "Diffusion-krylov": "krylov",
}
# LAPACK leaves no residual that a model would tell, an iteration does.
ITERATED = {
    *("MDS-spectrum", "MDS-gower-krylov", "MDS-quadrature", "KernelPCA-krylov"),
    *("Isomap-krylov", "Isomap-manhattan-blocks"),
}
# Errors of forces, of a sample of points: 0 where all pairs are summed in float64, 1e-7 in float32,
# a percent on a mesh, and more where a few points stand for all.
FORCE_ERRORS = {
    **dict.fromkeys(("SNE-pairs", "SNE-symmetric-pairs", "TSNE-pairs"), (0, 0)),
    "TSNE-float32-pairs": (1e-9, 1e-5),
    **dict.fromkeys(("TSNE-line", "TSNE-space", "TSNE-mesh", "TSNE-uniform-mesh"), (1e-4, 0.1)),
    **dict.fromkeys(("UMAP-line", "UMAP-mesh", "UMAP-density-mesh", "UMAP-landmarks"), (1e-4, 0.1)),
    "UMAP-space": (0.2, 5),
}
# Functions that run in a fit, and in the map of the training rows and of few new ones.
FUNCTIONS = {
    "MDS-quadrature": "linalg.centered._estimated_spectrum",
    "Isomap-manhattan-blocks": "spaces.space.Space._blocks",
    "Eigenmaps-radius-blocks": "spaces.space.Space.within",
    "Eigenmaps-chebyshev": "spaces.neighbors.RowIndex.native",
    "LLE-landmarks": "spaces.neighbors.RowIndex.query",
    "TSNE-mesh": "methods.descent.Mesh.of",
    "UMAP-mesh": "methods.descent.Mesh.of",
}
WITH_LANDMARKS = [case for case in LARGE if "n_landmarks" in case.params]
# Those of at most 1500 rows whose eigenproblem is not the dense one anyway.
DENSE_TOO = [
    *("MDS-spectrum", "MDS-gower-krylov", "MDS-quadrature", "KernelPCA-krylov", "Isomap-krylov"),
    *("LLE-factor", "ModifiedLLE-factor", "HessianLLE-factor", "LTSA-factor", "LTSA-chebyshev"),
    *("Eigenmaps-chebyshev", "Eigenmaps-landmarks", "Eigenmaps-radius-blocks"),
    "Diffusion-chebyshev",
]
# More rows than one block of a kernel has; the functions are those of sixty rows.
MORE_BLOCKS = {
    *("Gaussian-blocks", "Sparse-blocks", "Hadamard-blocks"),
    *("SMACOF-blocks", "SMACOF-precomputed-blocks", "NonMetric-blocks"),
    *("MDS-products", "KernelPCA-products"),
}


def test_every_case_has_its_proof():
    proved = {*SOLVERS, *ITERATED, *FORCE_ERRORS, *FUNCTIONS, *MORE_BLOCKS}
    assert proved | {case.name for case in WITH_LANDMARKS} == {case.name for case in LARGE}


@each(WITH_LANDMARKS)
def test_landmarks_are_fewer_than_rows(case):
    assert len(fitted(case).landmarks_) == case.params["n_landmarks"] < case.n


@each([BY_NAME[name] for name in SOLVERS])
def test_the_solver_is_that_of_the_case(case):
    assert fitted(case).solver_ == SOLVERS[case.name]


@each([BY_NAME[name] for name in sorted(ITERATED)])
def test_eigenpairs_are_iterated(case):
    assert 0 < fitted(case).residual_ < 1e-9


@each([BY_NAME[name] for name in FORCE_ERRORS])
def test_forces_are_summed_as_the_case_says(case):
    least, most = FORCE_ERRORS[case.name]
    assert least <= fitted(case).force_error_ <= most


def _run_functions(call):
    """Names of the functions of the library that ran, from `lowd.` on."""
    seen = set()

    def look(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("lowd."):
            seen.add(f"{module}.{frame.f_code.co_qualname}".removeprefix("lowd."))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen


@each([BY_NAME[name] for name in FUNCTIONS])
def test_the_functions_of_the_route_run(case):
    X, Q = case.data()

    def call():
        model = fit(case.model(), X)
        model.transform(X)
        model.transform(Q[-8:-4])

    ran = _run_functions(call)
    assert FUNCTIONS[case.name] in ran, sorted(ran)
    small = next(one for one in CASES if one.method == case.method)
    assert FUNCTIONS[case.name] not in _run_functions(lambda: fit(small.model(), small.data()[0]))


@each([case for case in LARGE if case.method == "ClassicalMDS" and case.n <= 1000])
def test_few_distances_have_their_whole_spectrum(case):
    assert fitted(case).negative_mass_is_exact_


@each([BY_NAME[name] for name in DENSE_TOO])
@pytest.mark.filterwarnings("ignore::lowd.errors.DisconnectedGraphWarning")
def test_lapack_gives_the_same_coordinates(case, monkeypatch):
    """New points, signs included, as by a decomposition of the whole matrix."""
    X, Q = case.data()
    expected = fitted(case).transform(Q)
    for module in (centered, eigen):
        monkeypatch.setattr(module, "is_dense", lambda n, k: True)  # noqa: ARG005
    monkeypatch.setattr(smallest, "_solve", lambda p, k, _: (smallest.decompose(p, k), "dense"))
    model = fit(case.model(), X)
    assert getattr(model, "solver_", "dense") == "dense"
    close(model.transform(Q), expected, factor=solver_tolerance(case))


# -- neighbors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "indexed", "approximate"),
    [(100, False, False), (3000, True, False), (200_001, True, True)],
)
def test_neighbors_by_all_pairs_by_an_index_and_approximately(n, indexed, approximate):
    """Of clusters with ties and duplicates: exact, or of a recall that is measured."""
    X, _ = real_rows("clusters", n, 40)
    found = []
    ran = _run_functions(lambda: found.append(lowd.neighbors(X, 8)))
    assert ("spaces.neighbors.RowIndex.native" in ran) == indexed
    assert ("spaces.neighbors.RowIndex._approximate" in ran) == approximate
    some = np.random.default_rng(0).choice(n, 60, replace=False)
    squares = ((X[some, None] - X) ** 2).sum(2) if n < 10_000 else _squares(X, some)
    squares[np.arange(60), some] = np.inf
    exact = np.sqrt(np.sort(squares, axis=1)[:, :8])
    near = np.isclose(found[0].distances[some], exact, rtol=1e-9, atol=1e-9)
    assert near.all() if n < 200_000 else near.mean() > 0.98


def _squares(X, rows):
    return np.stack([((X - X[i]) ** 2).sum(1) for i in rows])


def test_neighbors_do_not_depend_on_order_or_threads(many_cpus):  # noqa: ARG001
    X, _ = real_rows("clusters", 3000, 40)
    order = np.random.default_rng(0).permutation(len(X))
    one, other = lowd.neighbors(X, 8, n_jobs=1), lowd.neighbors(X[order], 8, n_jobs=3)
    np.testing.assert_array_equal(other.distances, one.distances[order])
