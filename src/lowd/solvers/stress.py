"""Stress of an embedding: weights of pairs, missing dissimilarities, and the measures reported."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ..backends.protocol import Array, Float64, GuttmanStep
from ..errors import DataError, ParameterError
from ..input.entries import refuse_non_numbers
from ..input.integers import refuse_large_integers
from .smacof import Majorization


def pair_weights(given: Float64 | str | None, D: Array, rows: NDArray[np.int64]) -> Array | None:
    """The weight of every pair of `rows`, or None if all are 1; a missing pair (NaN) has none."""
    missing = find_missing(D)
    if given is None:
        W = None
    elif isinstance(given, str):  # Sammon's
        with np.errstate(divide="ignore"):
            W = np.where(D > 0, 1 / D, 0).astype(D.dtype)
        W = W if W.any() else None
    else:
        W = given[np.ix_(rows, rows)].astype(D.dtype)
    if missing is None:
        return W
    return np.where(missing, 0, 1 if W is None else W).astype(D.dtype)


def find_missing(D: Array) -> NDArray[np.bool_] | None:
    """Which dissimilarities are missing (NaN), or None: the largest would then be NaN, too."""
    return np.isnan(D) if np.isnan(D.max(initial=0)) else None


def check_connected(W: Array, rows: NDArray[np.int64]) -> None:
    """Refuse weights whose graph is not connected: components would have no relative position.

    `rows` are the numbers of the samples, which the message names.
    """
    others = np.count_nonzero(W, axis=1) - (np.diagonal(W) != 0)
    if (others == len(W) - 1).any():
        return  # one row is connected to all others
    count, part = connected_components(csr_array(W > 0), directed=False)
    if count > 1:
        first = int(rows.argmin())
        other = int(rows[part != part[first]].min())
        raise DataError(
            f"the known distances of positive weight form {count} connected components: row "
            f"{rows[first]} and row {other} are not linked by any chain of them; fit each "
            "component on its own."
        )


def stress_measures(found: GuttmanStep, ordinal: bool) -> dict[str, float]:
    """Raw stress Σ w (t - d)², Kruskal's Stress-1 √(Σ w (t - d)² / Σ w d²), and √(1 - c²).

    c is the cosine of the disparities t and the distances d: the normalized stress √(1 - c²) is
    Stress-1 at the best scale. Where only the order counts, t is the isotonic regression of d
    itself, whose scale is the best one (SMACOF keeps its sum of squares fixed instead).
    """
    total = found.stress - found.eta_squared + 2 * found.rho
    both = total * found.eta_squared
    away = 1 - found.rho / both * found.rho if both > 0 else 0.0
    normalized = float(np.sqrt(max(away, 0.0)))
    given = float(np.sqrt(found.stress / found.eta_squared)) if found.eta_squared > 0 else 0.0
    return {
        "stress": found.stress,
        "stress1": normalized if ordinal else given,
        "normalized_stress": normalized,
    }


def report_stress(
    found: GuttmanStep,
    path: Majorization,
    curve: tuple[Float64, Float64] | None,
    is_ordinal: bool,
) -> dict[str, Any]:
    """Learned attributes of an embedding by SMACOF, and of its isotonic regression if any."""
    report = {
        "n_components": path.Y.shape[1],
        **stress_measures(found, is_ordinal),
        "stress_history": path.history,
        "n_iter": path.n_iter,
        "converged": path.converged,
    }
    if curve is not None:
        report |= {"isotonic_x": curve[0], "isotonic_y": curve[1]}
    return report


def gower_projection(Y: Float64) -> tuple[NDArray[np.float64], Float64]:
    """Mean squared distances in the embedding Y, and Y (Y'Y)⁺: Gower's formula for new points."""
    norms = (Y**2).sum(1)
    used = Y.any(0)
    P = np.zeros_like(Y)
    if used.any():
        P[:, used] = np.linalg.pinv(Y[:, used]).T
    return norms + norms.mean(), P


def validate_weights(given: str | ArrayLike | None, n: int) -> Float64 | str | None:
    """Valid weights of the pairs of n samples; a name or None as it is."""
    if given is None or isinstance(given, str):
        return given
    refuse_non_numbers(given, "weights")
    refuse_large_integers(given, "weights")
    W = np.asarray(given, np.float64)
    if W.shape != (n, n) or not np.isfinite(W).all() or (W < 0).any() or not np.array_equal(W, W.T):
        raise ParameterError(
            f"weights has the shape {W.shape}; expected a symmetric matrix of shape {(n, n)} of "
            "finite numbers >= 0, one per pair (0: leave it out)."
        )
    return W
