"""Points whose distances fit given ones: weights, starts, and the loop around Guttman's step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .. import random
from ..backends.protocol import Array, Float64, GuttmanStep, Ragged, StressPlan
from ..core.fit import Context
from ..errors import ConvergenceWarning, DataError, ParameterError, warn
from ..relations.matrices import DenseMatrix
from .canonical import sign_flips
from .centered import decompose_centered, keep_positive
from .smacof import Path, Step, majorize

# A step may be lengthened up to twice without raising the stress (de Leeuw and Heiser, 1980): the
# majorizing parabola is as high there. 1.8 with mixing took the fewest passes, half of plain steps
# with mixing and a third of plain steps, on Gaussian rows, digits and a roll.
RELAXED = 1.8


def weights_of(given: Any, D: Array) -> Array | None:
    """The weight of every pair, or None if all are 1; a missing pair (NaN) has none."""
    missing = gaps(D)
    if given is None:
        W = None
    elif isinstance(given, str):  # Sammon's
        with np.errstate(divide="ignore"):
            W = np.where(D > 0, 1 / D, 0).astype(D.dtype)
        W = W if W.any() else None
    else:
        W = _checked(given, len(D)).astype(D.dtype)
    if missing is None:
        return W
    return np.where(missing, 0, 1 if W is None else W).astype(D.dtype)


def gaps(D: Array) -> NDArray[np.bool_] | None:
    """Where distances are missing, if any are: then the largest is no number either."""
    return np.isnan(D) if np.isnan(D.max(initial=0)) else None


def check_connected(W: Array) -> None:
    """Parts that nothing ties to each other have no place relative to each other."""
    if (np.count_nonzero(W, axis=1) >= len(W) - 1).any():
        return  # one row is tied to all others
    count, part = connected_components(csr_array(W > 0), directed=False)
    if count > 1:
        other = int(np.argmax(part != part[0]))
        raise DataError(
            f"the known distances of positive weight form {count} connected components: row 0 and "
            f"row {other} are not linked by any chain of them; fit each component on its own."
        )


def scale(
    plan: StressPlan, W: Array | None, n: int, starts: Iterable[Float64], max_iter: int, eps: float
) -> Path:
    """The best of the paths from several starts, turned to its principal axes."""
    solve, mass = _inverse(W, n)

    def step(Y: Float64) -> Step:
        found = plan.step(Y)
        way = solve(found.BY) - Y
        total = found.stress - found.eta_squared + 2 * found.rho  # the targets' squares
        return Step(found.stress, total, Y + RELAXED * way, float(mass @ (way**2).sum(1)))

    best: Path | None = None
    for start in starts:
        first = plan.step(start)
        best_scale = first.rho / first.eta_squared if first.eta_squared > 0 else 1.0
        path = majorize(step, start * best_scale, max_iter, eps)
        if best is None or path.history[-1] < best.history[-1]:
            best = path
    assert best is not None
    if not best.converged:
        warn(
            f"the stress was still falling after max_iter={max_iter} steps; raise max_iter or eps.",
            ConvergenceWarning,
        )
    return best._replace(Y=upright(best.Y))


def _inverse(W: Array | None, n: int) -> tuple[Callable[[Float64], Float64], Float64]:
    """How V⁺ is applied (V = diag(W1) - W, whose kernel are the constants), and V's diagonal."""
    if W is None:
        return lambda M: M / n, np.full(n, float(n))
    V = -W.astype(np.float64)
    np.fill_diagonal(V, 0)
    mass = -V.sum(1)
    V[np.diag_indices(n)] = mass
    V += mass.mean() / n  # invertible, and the same on what sums to 0
    factor = scipy.linalg.cho_factor(V, lower=True, overwrite_a=True, check_finite=False)

    def solve(M: Float64) -> Float64:
        X = scipy.linalg.cho_solve(factor, M, check_finite=False)
        return np.asarray(X - X.mean(0))

    return solve, mass


def starting(init: Any, n_init: int, D: Array, k: int, ctx: Context) -> Iterator[Float64]:
    """The given start, or classical scaling and then random ones."""
    if isinstance(init, np.ndarray):
        if init.shape != (len(D), k) or not np.isfinite(init).all():
            raise ParameterError(
                f"init has the shape {init.shape}; expected finite numbers of shape {(len(D), k)}: "
                "a place for every row."
            )
        yield init.astype(np.float64) - init.mean(0, dtype=np.float64)
        return
    for number in range(n_init):
        if number == 0 and init == "classical_mds":
            yield classical(D, k, ctx)
        else:
            spread = np.sqrt(np.nanmean(np.square(D, dtype=np.float64)) / (2 * k))
            drawn = random.normals(ctx.seed, f"start {number}", (len(D), k))
            yield (drawn - drawn.mean(0)) * spread


def classical(D: Array, k: int, ctx: Context) -> Float64:
    """Classical scaling; missing distances are those of shortest chains of known ones."""
    missing = gaps(D)
    if missing is not None:
        rows = np.flatnonzero(missing.any(1))
        tied = np.nonzero(~missing)
        graph = csr_array((D[tied], tied), shape=D.shape)
        D = D.copy()
        chains = ctx.ops.geodesics(graph).distances(Ragged.singletons(rows))
        D[rows] = np.where(missing[rows], chains, D[rows])
        D = (D + D.T) / 2
    found = decompose_centered(DenseMatrix(D, half_square=True), k, ctx, initialization=True)
    values, vectors, _ = keep_positive(found.values, found.vectors, found.noise, k, ctx.dtype)
    return vectors * np.sqrt(values)


def upright(Y: Float64) -> Float64:
    """Centered, turned to principal axes, signs fixed; columns of zeros stay such, and last."""
    Y = Y - Y.mean(0)
    used = Y.any(0)
    turned = np.zeros_like(Y)
    if used.any():
        part = Y[:, used]
        size = np.abs(part).max()
        axes = np.linalg.eigh((part / size).T @ (part / size))[1][:, ::-1]
        part = part @ axes
        turned[:, : part.shape[1]] = part * sign_flips(part)
    return turned


def measures(found: GuttmanStep) -> dict[str, float]:
    """Raw stress Σ w (t - d)², Stress-1 √(stress / Σ w d²), and √(1 - c²) with c the cosine of
    t and d: Stress-1 at the best scale of the map."""
    total = found.stress - found.eta_squared + 2 * found.rho
    both = total * found.eta_squared
    away = 1 - found.rho / both * found.rho if both > 0 else 0.0
    return {
        "stress": found.stress,
        "stress1": float(np.sqrt(found.stress / found.eta_squared))
        if found.eta_squared > 0
        else 0.0,
        "normalized_stress": float(np.sqrt(max(away, 0.0))),
    }


def _checked(given: Any, n: int) -> Float64:
    W = np.asarray(given, np.float64)
    if W.shape != (n, n) or not np.isfinite(W).all() or (W < 0).any() or not np.array_equal(W, W.T):
        raise ParameterError(
            f"weights has the shape {W.shape}; expected a symmetric matrix of shape {(n, n)} of "
            "finite numbers >= 0, one per pair (0: leave it out)."
        )
    return W


def projection(Y: Float64) -> tuple[NDArray[np.float64], Float64]:
    """Y's mean squared distances, and Y (Y'Y)⁺: Gower's formula for the map itself."""
    norms = (Y**2).sum(1)
    used = Y.any(0)
    P = np.zeros_like(Y)
    if used.any():
        P[:, used] = np.linalg.pinv(Y[:, used]).T
    return norms + norms.mean(), P
