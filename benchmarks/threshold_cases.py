"""Cases of `thresholds.py`: a constant, the values it is set to, and calls that it decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.datasets import load_digits

import lowd
from data import clusters as curved_clusters
from data import roll, words
from evaluators import embedding_scores
from lowd.solvers.dense_factor import DenseLU

NEVER, ALWAYS = -(10**9), 10**9  # thresholds below and above every size


class Call(NamedTuple):
    text: str
    make: Callable[[], tuple[Callable[[], Any], Callable[[Any], str]]]  # what is timed; its quality


class Case(NamedTuple):
    constant: str
    variants: dict[str, Any]
    calls: list[Call]


# -- data ----------------------------------------------------------------------------------------


@cache
def factors(n: int, d: int) -> Any:
    """Sixty factors whose deviations decay by 0.93 each, in d columns, and noise."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(n, 60)) * 0.93 ** np.arange(60)
    return scores @ rng.normal(size=(60, d)) + 0.1 * rng.normal(size=(n, d))


def singles(n: int, d: int) -> Any:
    """The same as float32."""
    return factors(n, d).astype(np.float32)


def short_axis(n: int, d: int) -> Any:
    """Rows whose last axis is 1e-5 of the first: a variance of 1e-10."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=(n, d)) * np.logspace(0, -5, d) @ rotation


def gaussian(n: int, d: int) -> Any:
    return np.random.default_rng(0).normal(size=(n, d))


def far(n: int, d: int) -> Any:
    """Distances between Gaussian rows."""
    return squareform(pdist(gaussian(n, d)))


def cube(n: int, d: int) -> Any:
    return np.random.default_rng(0).random((n, d))


def helix(n: int) -> Any:
    t = np.sort(np.random.default_rng(0).random(n)) * 200
    return np.column_stack([np.cos(t), np.sin(t), 0.2 * t])


def clusters(n: int) -> Any:
    return curved_clusters(n).astype(np.float64)


def digits(n: int = 1797) -> Any:
    return load_digits().data[:n]


# -- calls ---------------------------------------------------------------------------------------


def solver(model: Any) -> str:
    return str(model.solver_)


def stress(model: Any) -> str:
    return f"{model.n_iter_} steps, stress {model.stress_:.5g}"


def rebuilt(model: Any) -> str:
    return f"error {model.reconstruction_error_:.2g}"


def scores(X: Any) -> Callable[[Any], str]:
    return lambda model: f"recall {embedding_scores(X, model.embedding_, None)['recall']:.3f}"


def spectral(model: Any) -> str:
    return f"{model.solver_}, residual {np.max(model.residuals_):.0e}"


def variances(X: Any) -> Callable[[Any], str]:
    """The largest relative error of the explained variances."""
    centered = X - X.mean(0, dtype=np.float64)
    true = np.linalg.svd(centered, compute_uv=False) ** 2 / (len(X) - 1)

    def error(model: Any) -> str:
        found = model.explained_variance_
        return f"{model.solver_}, error {np.abs(found / true[: len(found)] - 1).max():.0e}"

    return error


def attribute(name: str) -> Callable[[Any], str]:
    return lambda model: f"{name.replace('_', ' ').strip()} {getattr(model, name):.3g}"


def fit(
    model: Any,
    rows: Callable[..., Any],
    *size: Any,
    quality: Callable[[Any], str] = lambda _: "",
    of_rows: Callable[[Any], Callable[[Any], str]] | None = None,
) -> Call:
    """A fit of rows(*size); `of_rows` makes a measure of quality from the rows."""

    def make() -> tuple[Callable[[], Any], Callable[[Any], str]]:
        X = rows(*size)
        return (lambda: clone(model).fit(X)), quality if of_rows is None else of_rows(X)

    shown = re.sub(r"n_components=|, kernel='rbf'|gamma='median', ", "", repr(model))
    shape = " x ".join(str(n) for n in size if not isinstance(n, str))
    return Call(f"`{shown}`, {rows.__name__} {shape}".strip(), make)


def each(model: Any, rows: Callable[..., Any], sizes: Sequence[Any], **how: Any) -> list[Call]:
    return [fit(model, rows, *np.atleast_1d(size).tolist(), **how) for size in sizes]


def factor(n: int) -> Call:
    """A dense LU factorization, as of a square root of LLE without small separators."""

    def make() -> tuple[Callable[[], Any], Callable[[Any], str]]:
        A = csr_array(gaussian(n, n))
        return (lambda: DenseLU(A, 0.1)), lambda _: ""

    return Call(f"`DenseLU`, {n} rows", make)


def values(*given: Any) -> dict[str, Any]:
    return {f"{value:g}": value for value in given}


rbf = partial(lowd.KernelPCA, kernel="rbf", gamma="median")
given = partial(lowd.ClassicalMDS, metric="precomputed")
LE, LTSA, MDS, PCA, Diffusion = (
    *(lowd.LaplacianEigenmaps(2), lowd.LTSA(2), lowd.MDS(2), lowd.PCA),
    lowd.DiffusionMaps,
)
LLE = lowd.LocallyLinearEmbedding(2, n_neighbors=10)
LAPACK_OR_KRYLOV = {"LAPACK": ALWAYS, "Krylov": NEVER}
LAPACK_OR_NOT = {"LAPACK": ALWAYS, "iteration": 0}
UMAP = [
    fit(lowd.UMAP(), digits, of_rows=scores),
    fit(lowd.UMAP(), clusters, 5000, of_rows=scores),
]
STRESS = [
    *each(MDS, gaussian, [(1000, 10)], quality=stress),
    *each(MDS, roll, [2000], quality=stress),
    fit(lowd.NonMetricMDS(2), digits, 500, quality=stress),
]
HELIX = [fit(LE, helix, 20_000, quality=spectral)]
CUBE = [fit(LE, cube, 20_000, 3, quality=spectral), fit(LTSA, cube, 5000, 4, quality=spectral)]
FLAT = [fit(PCA(10), rows, 5000, 784, quality=solver) for rows in (gaussian, factors)]

CASES = [
    Case(
        "MIN_KRYLOV_BLOCK",
        values(4, 8, 16),
        [*each(rbf(2), factors, [(3000, 50)]), *each(PCA(2), factors, [(20_000, 784)])],
    ),
    Case("MAX_KRYLOV_BLOCKS", values(6, 12, 24), each(given(2), far, [(3000, 20), (3000, 300)])),
    Case("MIN_FORECAST_PRODUCTS", {"5": 5, "never": ALWAYS}, FLAT),
    Case("FORECAST_PRODUCTS", values(1, 3, 6), FLAT),
    Case(
        "MAX_DENSE_SAMPLES",
        LAPACK_OR_KRYLOV,
        each(rbf(2), factors, [(150, 50), (300, 50), (600, 50)]),
    ),
    Case(
        "DENSE_SAMPLES_PER_VECTOR",
        LAPACK_OR_KRYLOV,
        each(rbf(50), factors, [(600, 50), (1200, 50), (2400, 50)]),
    ),
    Case(
        "MAX_SPECTRUM_SAMPLES",
        {"all eigenvalues": ALWAYS, "two": NEVER},
        each(given(2), far, [(500, 10), (1000, 10), (2000, 10)]),
    ),
    Case(
        "INITIALIZATION_TOLERANCE",
        values(1e-10, 2e-6, 1e-3),
        each(MDS, gaussian, [(2000, 300)], quality=stress),
    ),
    Case(
        "MAX_SVD_FLOPS",
        {"SVD": 1e15, "products": 0.0},
        each(PCA(), short_axis, [(200, 20), (1000, 40), (4000, 50)], of_rows=variances),
    ),
    Case(
        "MAX_FLOAT64_FLOPS",
        {"float64": 1e15, "float32": 0.0},
        each(PCA(5), singles, [(2000, 100), (8000, 100), (32_000, 100)], of_rows=variances),
    ),
    Case(
        "MAX_FLOAT64_GRAM_FLOPS",
        {"float64": 1e15, "float32": 0.0},
        each(PCA(100), singles, [(200, 20_000), (600, 30_000)], of_rows=variances),
    ),
    Case(
        "CENTERED_BLOCK_ENTRIES", values(2**15, 2**17, 2**19), each(PCA(), factors, [(300, 20_000)])
    ),
    Case(
        "KRYLOV_OVERHEAD_FLOPS",
        {"Krylov": 0, "covariance": ALWAYS**2},
        [
            *each(PCA(2), factors, [(300, 300), (1000, 400), (2000, 784)], quality=solver),
            *each(PCA(2), gaussian, [(300, 300), (1000, 400)], quality=solver),
        ],
    ),
    Case("KRYLOV_PRODUCT_COST", values(1.0, 4.0, 16.0), FLAT),
    Case(
        "SPARSE_KRYLOV_BLOCK",
        values(4, 8, 16),
        [*each(PCA(2), words, [10_000]), *each(PCA(20), words, [10_000])],
    ),
    Case(
        "MAX_DENSE_SPARSE_SAMPLES",
        LAPACK_OR_NOT,
        each(LE, cube, [(250, 3), (500, 3), (1000, 3)], quality=spectral),
    ),
    Case(
        "MAX_DENSE_ROOT_SAMPLES", LAPACK_OR_NOT, each(LLE, roll, [125, 250, 500], quality=spectral)
    ),
    Case(
        "DENSE_SPARSE_SAMPLES_PER_VECTOR",
        LAPACK_OR_NOT,
        each(lowd.LaplacianEigenmaps(100), cube, [(600, 3), (1200, 3)], quality=spectral),
    ),
    Case(
        "MAX_NARROW_RATIO",
        {"factorization": ALWAYS, "filter": 0},
        [
            *each(LTSA, roll, [2000, 10_000], quality=spectral),
            *each(LTSA, cube, [(2000, 2), (2000, 3), (10_000, 3)], quality=spectral),
        ],
    ),
    Case("MAX_INVERSE_BASIS", values(7, 15, 30), each(LTSA, roll, [10_000], quality=spectral)),
    Case("DENSE_FACTOR_COLUMNS", values(64, 256, 1024), [factor(3000)]),
    Case("DENSE_FACTOR_UPDATE_COLUMNS", values(1024, 2048, 4096), [factor(3000)]),
    Case("MAX_FILTER_DEGREE", values(300, 600, 1200), HELIX),
    Case("BOUND_STEPS", values(1, 12, 24), CUBE[:1]),
    Case("MAX_COARSEST_NODES", values(750, 1500, 3000), HELIX),
    Case("MAX_COARSE_STEPS", values(2, 8, 16), HELIX),
    Case("MAX_STALLED_STEPS", values(4, 8, 16), HELIX),
    Case(
        "MAX_DENSE_KERNEL_SAMPLES",
        LAPACK_OR_NOT,
        [
            *each(Diffusion(2), cube, [(150, 3), (300, 3), (600, 3)], quality=spectral),
            *each(Diffusion(2, sigma=0.15), cube, [(300, 2), (600, 2)], quality=spectral),
        ],
    ),
    Case(
        "SAMPLES_PER_KERNEL_PRODUCT",
        values(100, 25, 5),
        [fit(Diffusion(2, sigma=sigma), cube, 2000, 2, quality=spectral) for sigma in (None, 0.05)],
    ),
    Case("SMACOF_RELAXATION", values(1.0, 1.8, 1.95), STRESS),
    Case("ANDERSON_MEMORY", values(1, 8, 16), STRESS),
    Case("LAYOUT_EPOCHS", values(100, 200, 400), UMAP),
    Case("STEPS_PER_REPORT", values(1, 10, 100), UMAP[:1]),
    Case("LAYOUT_RATE", values(0.25, 0.5, 1.0), UMAP),
    Case("REPULSION_WEIGHT", values(1.0, 1.5, 2.0), UMAP),
    Case("RAMP_START", {"1/30": 1 / 30, "1/15": 1 / 15, "no ramp": 1.0}, UMAP),
    Case("RAMP_SHARE", values(0.2, 0.4, 0.8), UMAP),
    Case("SOFTENING", values(0.001, 0.02, 0.1), UMAP),
    Case("DIFFUSION_STEPS", values(0, 80, 160), UMAP),
    Case(
        "PREIMAGE_REGULARIZATION",
        values(1e-3, 1e-2, 1e-1),
        [
            fit(lowd.Isomap(2), rows, *n, quality=rebuilt)
            for rows, n in ((roll, [2000]), (digits, []))
        ],
    ),
    Case(
        "LEFT_OUT_SAMPLE",
        values(500, 1000, 2000),
        each(lowd.Isomap(2), roll, [5000], quality=rebuilt),
    ),
    Case(
        "MAX_REGRESSION_CENTERS",
        values(500, 1000, 2000),
        each(
            lowd.Isomap(2, map="regression"), roll, [2500], quality=attribute("regression_error_")
        ),
    ),
    Case(
        "MEDIAN_SAMPLE",
        values(1000, 2000, 4000),
        each(rbf(2), factors, [(5000, 50)], quality=attribute("gamma_")),
    ),
]
