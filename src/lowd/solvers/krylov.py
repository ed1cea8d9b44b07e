"""Leading eigenpairs of a symmetric operator that is only known through its products."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .. import progress, random
from ..backends.protocol import Float64
from ..threads import single_threaded_blas

Apply = Callable[[Float64], Float64]

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


@single_threaded_blas()
def leading(
    apply: Apply,
    start: Float64,
    k: int,
    tolerance: float,
    max_passes: int = 60,
    room: int | None = None,
    looks: int = 1,
) -> Leading:
    """Block Lanczos with full reorthogonalization and thick restarts, to a residual.

    Each pass is one product of the operator with a block; the basis is restarted from its best
    Ritz vectors when it holds `room` vectors, or 12 blocks. Whether that is enough is looked at
    after every so many passes. Every decision is made in float64 on the Rayleigh quotient, so a
    rounded product costs accuracy but never convergence to a wrong pair.
    """
    n, width = start.shape
    room = room or RESTART * width
    Q, AQ = np.empty((n, room + width)), np.empty((n, room + width))
    whole, T = np.empty((room + width, room + width)), np.empty((0, 0))
    block, m, fresh = orthonormal(start, 0.0), 0, True
    probe: tuple[Float64, Float64] | None = None
    for passes in range(1, max_passes + 1):
        product = apply(block)
        last = block.shape[1]
        Q[:, m : m + last], AQ[:, m : m + last] = block, product
        shares = _shares(Q[:, : m + last], product)
        side, corner = shares[:m], shares[m:]
        whole[:m, m : m + last], whole[m : m + last, :m] = side, side.T
        whole[m : m + last, m : m + last] = (corner + corner.T) / 2
        m += last
        T = whole[:m, :m]
        full, final = m + width > room, passes == max_passes
        # A look costs m³; it can wait while that is more than a product is likely to cost.
        if passes % (3 if m > 128 else looks) and not (full or final):
            block = _fresh_directions(product, shares, Q[:, :m], _size(T))[0]
            if block.shape[1]:
                progress.report("eigenvectors", passes, max_passes)
                continue
        values, Y = np.linalg.eigh(T)
        values, Y = values[::-1], Y[:, ::-1]
        if probe is None or fresh:
            probe = values, (Y[:width] ** 2).sum(0)
        scale = max(abs(values[0]), abs(values[-1]), np.finfo(float).tiny)
        block, outside = _fresh_directions(product, shares, Q[:, :m], scale)
        # Only the last product leaves the basis: what it leaves behind is nearly all of the
        # residual, and tells when the whole of it is worth computing.
        residual = float(np.linalg.norm(outside @ Y[m - last :, :k], axis=0).max() / scale)
        ended = final or block.shape[1] == 0
        if residual <= tolerance or ended:
            R = AQ[:, :m] @ Y[:, :k] - Q[:, :m] @ (Y[:, :k] * values[:k])
            residual = float(np.linalg.norm(R, axis=0).max() / scale)
        progress.report("eigenvectors", passes, max_passes)
        done = len(values) >= k and (residual <= tolerance or block.shape[1] == 0)
        if done or ended:
            break
        if full:
            # What has nearly converged besides brings the wanted ones on faster.
            kept = min(k + max(width, (room - k) // 3), m)
            Q[:, :kept], AQ[:, :kept] = Q[:, :m] @ Y[:, :kept], AQ[:, :m] @ Y[:, :kept]
            m, fresh = kept, False
            whole[:m, :m] = np.diag(values[:m])
    assert probe is not None
    return Leading(values[:k], Q[:, :m] @ Y[:, :k], residual, done, probe)


def _size(T: Float64) -> float:
    return float(max(np.abs(np.diagonal(T)).max(), np.finfo(float).tiny))


def _fresh_directions(
    product: Float64, shares: Float64, Q: Float64, scale: float
) -> tuple[Float64, Float64]:
    """What a product adds to the span of Q: orthonormal (empty once nothing is new), and as is.

    `shares` is Q' times the product. What it leaves is cleaned a second time after it has become
    long: twice is enough (Parlett, 1980).
    """
    outside = product - Q @ shares
    B = _nearly_orthonormal(outside, 1e-13 * scale)
    B = _nearly_orthonormal(B - Q @ _shares(Q, B), 0.5)
    return B[:, : Q.shape[0] - Q.shape[1]], outside


def _shares(Q: Float64, B: Float64) -> Float64:
    """Q'B, transposed twice: BLAS takes the wide factor as it lies, in two fifths of the time."""
    return np.asarray((B.T @ Q).T)


def orthonormal(B: Float64, floor: float) -> Float64:
    """An orthonormal basis of the columns, without directions shorter than `floor`.

    From the eigenvectors of B'B, twice (Stathopoulos and Wu, 2002): products and one tiny
    eigenproblem, where a QR factorization of a tall block is a chain of small threaded steps.
    """
    return _nearly_orthonormal(_nearly_orthonormal(B, floor), 0.5)


def _nearly_orthonormal(B: Float64, floor: float) -> Float64:
    """Once: what is left of the angles is the square of how dependent the columns were."""
    values, U = np.linalg.eigh(B.T @ B)
    length = np.sqrt(np.maximum(values, 0))
    new = length > max(floor, 1e-7 * length.max(initial=0))
    return np.asarray(B @ (U[:, new] / length[new]))


def random_start(seed: int, n: int, width: int) -> Float64:
    return random.normals(seed, "start", (n, min(width, n)))
