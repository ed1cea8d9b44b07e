"""`smacof`, and by it MDS, by `lowd.MDS` and `lowd.NonMetricMDS`."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ..errors import ConvergenceWarning, MetricWarning
from ..methods.mds import MDS, NonMetricMDS
from ..parameters import Reals
from .originals import (
    SKLEARN_VERSION,
    check_array,
    check_random_state,
    check_symmetric,
    euclidean_distances,
)
from .refusal import require

MIN_STRESS_ROWS = 20
STRESS_WARNINGS = (ConvergenceWarning, MetricWarning)
# Whoever asks for fewer iterations wants the original's; lowd's go further in each one.
MIN_SMACOF_ITERATIONS = 20
MAX_SEED = np.iinfo(np.int32).max


def serve_smacof(
    dissimilarities: Any,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: Any = None,
    n_init: int = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: int = 0,
    eps: float = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: bool | str = "auto",
) -> Any:
    """`sklearn.manifold.smacof` from the same starting points."""
    require(
        SKLEARN_VERSION >= (1, 7),
        "before scikit-learn 1.7 SMACOF has another stopping rule and scale",
    )
    require(isinstance(n_init, Integral), "n_init is left to a default that will change")
    D = check_symmetric(check_array(dissimilarities), raise_exception=True).astype(np.float64)
    require(len(D) >= MIN_STRESS_ROWS, "this few rows are embedded up to rounding errors")
    require(not verbose, "verbose prints the original's iterations")
    require(0 < eps < 1, "eps outside 0 ... 1")
    require(max_iter >= MIN_SMACOF_ITERATIONS, f"max_iter < {MIN_SMACOF_ITERATIONS}")
    require(init is None or n_init == 1, "init with n_init")
    n = len(D)
    starts = _draw_starts(n, n_components, n_init, n_jobs, random_state)
    if init is not None:
        starts = [np.array(init, dtype=np.float64)]
        require(starts[0].ndim == 2 and len(starts[0]) == n, "shape of init")
    if not metric:
        require((D > 0).sum() == n * (n - 1), "0 is a missing dissimilarity there")
    normalized = not metric if normalized_stress == "auto" else bool(normalized_stress)
    fits = [_fit(D, start, metric, max_iter, eps) for start in starts]
    best = int(np.argmin([fit.stress_ for fit in fits]))
    ours, Y = fits[best], _turn(fits[best].embedding_, starts[best])
    found = Y, _measure_stress(ours, Y, D if metric else None, normalized)
    return (*found, ours.n_iter_) if return_n_iter else found


def _fit(D: Reals, start: Reals, metric: bool, max_iter: int, eps: float) -> MDS:
    d = euclidean_distances(start)
    units = (D * d).sum() / (d**2).sum() if metric else len(D) / np.sqrt((d**2).sum())
    start = start * units  # the units of the start do not matter
    how: dict[str, Any] = {"metric": "precomputed", "init": start, "max_iter": max_iter, "eps": eps}
    k = start.shape[1]
    ours = MDS(k, **how) if metric else NonMetricMDS(k, ties="secondary", **how)
    return ours.fit(D)


def _measure_stress(ours: MDS, Y: Reals, D: Reals | None, normalized: bool) -> float:
    """Stress by scikit-learn's formula; of disparities (no D) lowd has computed it."""
    if D is None:
        return float(ours.stress1_ if normalized else ours.stress_)
    d = euclidean_distances(Y)
    raw = ((d - D) ** 2).sum() / 2
    return float(np.sqrt(raw / ((d**2).sum() / 2)) if normalized else raw)


def _draw_starts(n: int, k: int, n_init: int, n_jobs: int | None, random_state: Any) -> list[Reals]:
    """The random configurations that scikit-learn would begin from."""
    rng = check_random_state(random_state)
    if n_jobs in (None, 1):
        sources = [rng] * n_init
    else:
        sources = [check_random_state(seed) for seed in rng.randint(MAX_SEED, size=n_init)]
    return [source.uniform(size=n * k).reshape(n, k) for source in sources]


def _turn(Y: Reals, start: Reals) -> Reals:
    """The embedding turned toward its start: Guttman transforms do not rotate, lowd does."""
    U, _, Vt = np.linalg.svd(Y.T @ (start - start.mean(0)))
    return np.asarray(Y @ (U @ Vt))
