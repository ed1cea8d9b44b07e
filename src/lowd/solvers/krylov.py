"""Leading eigenpairs of a symmetric operator that is only known through its products."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from .. import draws, progress
from ..backends.protocol import Array, Float64
from ..threads import calm_blas

Apply = Callable[[Array], Float64]

# Products of float32 data carry relative errors near 1e-7, which bounds what a residual can reach.
TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-10}


RESTART = 12  # blocks in the basis


class Leading(NamedTuple):
    """Ritz pairs, largest first, and what is left of A v - λ v relative to the largest λ."""

    values: Float64
    vectors: Float64
    residual: float
    converged: bool
    probe: tuple[Float64, Float64]  # all Ritz values and their weights in the first block


def block_width(k: int) -> int:
    """Products are bound by memory up to 8 columns, so fewer would not be cheaper."""
    return max(8, -(-(k + 4) // 8) * 8)


def basis_memory(n: int, k: int) -> int:
    """Bytes of the basis, its products and their copies while they grow."""
    return (2 * RESTART + 6) * n * block_width(k) * 8


@calm_blas()
def leading(
    apply: Apply, start: Float64, k: int, tolerance: float, max_passes: int = 60
) -> Leading:
    """Block Lanczos with full reorthogonalization and thick restarts, to a residual.

    Each pass is one product of the operator with a block; the basis is restarted from its best
    Ritz vectors when it holds 12 blocks. Every decision is made in float64 on the Rayleigh
    quotient, so a rounded product costs accuracy but never convergence to a wrong pair.
    """
    n, width = start.shape
    block = orthonormal(start, 0.0)
    Q, AQ, T = np.empty((n, 0)), np.empty((n, 0)), np.empty((0, 0))
    probe: tuple[Float64, Float64] | None = None
    for passes in range(1, max_passes + 1):
        product = apply(block)
        side = Q.T @ product
        corner = block.T @ product
        T = np.block([[T, side], [side.T, (corner + corner.T) / 2]])
        Q, AQ = np.hstack([Q, block]), np.hstack([AQ, product])
        values, Y = scipy.linalg.eigh(T)
        values, Y = values[::-1], Y[:, ::-1]
        if probe is None or Q.shape[1] == passes * width:  # before the first restart
            probe = values, (Y[:width] ** 2).sum(0)
        scale = max(abs(values[0]), abs(values[-1]), np.finfo(float).tiny)
        R = AQ @ Y[:, :k] - Q @ (Y[:, :k] * values[:k])
        residual = float(np.linalg.norm(R, axis=0).max() / scale)
        progress.report("eigenvectors", passes, max_passes)
        block = _fresh_directions(product, Q, scale)
        done = len(values) >= k and (residual <= tolerance or block.shape[1] == 0)
        if done or passes == max_passes:
            break
        if Q.shape[1] + width > RESTART * width:
            Q, AQ = Q @ Y[:, : k + width], AQ @ Y[:, : k + width]
            T = np.diag(values[: k + width])
    assert probe is not None
    return Leading(values[:k], Q @ Y[:, :k], residual, done, probe)


def _fresh_directions(block: Float64, Q: Float64, scale: float) -> Float64:
    """What a product adds to the span of Q: orthonormal, and empty once nothing is new."""
    for _ in range(2):  # twice is enough (Parlett, 1980)
        block = block - Q @ (Q.T @ block)
    B = orthonormal(block, 1e-13 * scale)
    B = orthonormal(B - Q @ (Q.T @ B), 0.5)
    return B[:, : Q.shape[0] - Q.shape[1]]


def orthonormal(B: Float64, floor: float) -> Float64:
    """An orthonormal basis of the columns, without directions shorter than `floor`.

    From the eigenvectors of B'B, twice (Stathopoulos and Wu, 2002): products and one tiny
    eigenproblem, where a QR factorization of a tall block is a chain of small threaded steps.
    """
    for _ in range(2):
        values, U = scipy.linalg.eigh(B.T @ B)
        length = np.sqrt(np.maximum(values, 0))
        new = length > max(floor, 1e-7 * length.max(initial=0))
        B, floor = (B @ U[:, new]) / length[new], 0.5
    return np.asarray(B)


def random_start(seed: int, n: int, width: int) -> Float64:
    return draws.normals(seed, "start", (n, min(width, n)))
