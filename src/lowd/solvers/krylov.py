"""Block Krylov iteration: leading eigenpairs of a symmetric operator known by its products."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from .. import progress, random
from ..backends.protocol import Float64, HeldVectors, HostVectors
from ..threads import single_threaded_blas
from .thresholds import (
    FORECAST_PRODUCTS,
    MAX_KRYLOV_BLOCKS,
    MAX_KRYLOV_PRODUCTS,
    MIN_FORECAST_PRODUCTS,
    MIN_INDEPENDENT_LENGTH,
    MIN_KRYLOV_BLOCK,
    MIN_NEW_DIRECTION,
)

#: Multiplies a block of vectors by the operator, where they are held.
Operator: TypeAlias = Callable[[Float64], Float64]
HOST = HostVectors()


class RitzPairs(NamedTuple):
    """Leading Ritz pairs, largest first; the largest residual norm is relative to |A|.

    `quadrature`: all Ritz values and their weights in the first block (Lanczos quadrature), which
    estimate sums over the whole spectrum.
    """

    values: Float64
    vectors: Float64
    residual: float
    converged: bool
    quadrature: tuple[Float64, Float64]


def block_width(k: int) -> int:
    """Vectors of a block for k wanted ones: four more, and a multiple of the least width."""
    return max(MIN_KRYLOV_BLOCK, -(-(k + 4) // MIN_KRYLOV_BLOCK) * MIN_KRYLOV_BLOCK)


def basis_memory(n: int, k: int) -> int:
    """Bytes of the basis, its products and their copies while they grow."""
    return (2 * MAX_KRYLOV_BLOCKS + 6) * n * block_width(k) * 8


@single_threaded_blas()
def leading_eigenpairs(
    apply: Operator,
    start: Float64,
    k: int,
    tolerance: float,
    *,
    where: HeldVectors = HOST,
    max_products: int = MAX_KRYLOV_PRODUCTS,
    basis_size: int | None = None,
    check_every: int = 1,
    patience: float | None = None,
) -> RitzPairs:
    """The k leading eigenpairs by block Lanczos with full reorthogonalization and thick restarts.

    Each step is one product of the operator with a block, which is held `where` the operator
    computes; the basis is restarted from its best Ritz vectors when it holds `basis_size` vectors
    (default: 12 blocks). Convergence is checked after every `check_every` products. Where another
    route would cost as much as `patience` products, the iteration gives up once it is expected to
    need more. Every decision is made in float64 on the Rayleigh quotient, so a rounded product
    costs accuracy but never convergence to a wrong pair.
    """
    n, width = start.shape
    room = basis_size or MAX_KRYLOV_BLOCKS * width
    Q, AQ = where.empty(n, room + width), where.empty(n, room + width)
    rayleigh, T = np.empty((room + width, room + width)), np.empty((0, 0))
    block, m, restarted = orthonormalize(where.hold(start), 0.0, where), 0, False
    quadrature: tuple[Float64, Float64] | None = None
    history: list[tuple[int, float]] = []
    for products in range(1, max_products + 1):
        product = apply(block)
        last = block.shape[1]
        Q[:, m : m + last], AQ[:, m : m + last] = block, product
        inside = _inner_products(Q[:, : m + last], product)
        side, corner = where.fetch(inside[:m]), where.fetch(inside[m:])
        rayleigh[:m, m : m + last], rayleigh[m : m + last, :m] = side, side.T
        rayleigh[m : m + last, m : m + last] = (corner + corner.T) / 2
        m += last
        T = rayleigh[:m, :m]
        full, final = m + width > room, products == max_products
        # A check costs m³; it can wait while that is more than a product is likely to cost.
        if products % (3 if m > 128 else check_every) and not (full or final):
            block = _new_directions(product, inside, Q[:, :m], _size(T), where)[0]
            if block.shape[1]:
                progress.report("eigenvectors", products, max_products)
                continue
        values, Y = np.linalg.eigh(T)
        values, Y = values[::-1], Y[:, ::-1]
        if quadrature is None or not restarted:
            quadrature = values, (Y[:width] ** 2).sum(0)
        scale = max(abs(values[0]), abs(values[-1]), np.finfo(float).tiny)
        block, outside = _new_directions(product, inside, Q[:, :m], scale, where)
        # Only the last product leaves the basis: what it leaves behind is nearly all of the
        # residual, and tells when the whole of it is worth computing.
        remainder = outside @ where.hold(Y[m - last :, :k])
        residual = float(column_lengths(remainder, where).max()) / scale
        history.append((products, residual))
        is_hopeless = patience is not None and products_left(history, tolerance) > patience
        ended = final or is_hopeless or block.shape[1] == 0
        if residual <= tolerance or ended:
            wanted, images = where.hold(Y[:, :k]), where.hold(Y[:, :k] * values[:k])
            R = AQ[:, :m] @ wanted - Q[:, :m] @ images
            residual = float(column_lengths(R, where).max()) / scale
        progress.report("eigenvectors", products, max_products)
        converged = len(values) >= k and (residual <= tolerance or block.shape[1] == 0)
        if converged or ended:
            break
        if full:
            # Ritz vectors beyond the wanted ones that have nearly converged speed these up.
            kept = min(k + max(width, (room - k) // 3), m)
            best = where.hold(Y[:, :kept])
            Q[:, :kept], AQ[:, :kept] = Q[:, :m] @ best, AQ[:, :m] @ best
            m, restarted = kept, True
            rayleigh[:m, :m] = np.diag(values[:m])
    assert quadrature is not None
    vectors = where.fetch(Q[:, :m] @ where.hold(Y[:, :k]))
    return RitzPairs(values[:k], vectors, residual, converged, quadrature)


def products_left(history: list[tuple[int, float]], tolerance: float) -> float:
    """Products until the residual norm is down to the tolerance, if it goes on to fall as it did.

    The first ones say little: residuals rise until the block has found its directions.
    """
    recent = [check for check in history if check[0] >= history[-1][0] - FORECAST_PRODUCTS]
    (first, before), (last, now) = recent[0], recent[-1]
    if last < MIN_FORECAST_PRODUCTS or last == first or now <= tolerance:
        return 0.0
    fall = np.log(before / now) / (last - first)
    return float(np.log(now / tolerance) / fall) if fall > 0 else np.inf


def _size(T: Float64) -> float:
    return float(max(np.abs(np.diagonal(T)).max(), np.finfo(float).tiny))


def column_lengths(V: Float64, where: HeldVectors) -> Float64:
    """Lengths of held vectors, on the host."""
    lengths: Float64 = np.sqrt(where.fetch((V * V).sum(0)))
    return lengths


def stack_columns(blocks: list[Float64], where: HeldVectors) -> Float64:
    """Blocks of held vectors side by side."""
    whole = where.empty(blocks[0].shape[0], sum(block.shape[1] for block in blocks))
    end = 0
    for block in blocks:
        start, end = end, end + block.shape[1]
        whole[:, start:end] = block
    return whole


def _new_directions(
    product: Float64, inside: Float64, Q: Float64, scale: float, where: HeldVectors
) -> tuple[Float64, Float64]:
    """What a product adds to the span of Q: orthonormal (empty once nothing is new), and as is.

    `inside` is Q' times the product. The remainder is orthogonalized again after it has been
    normalized: twice is enough (Parlett, 1980).
    """
    outside = product - Q @ inside
    B = _nearly_orthonormalize(outside, MIN_NEW_DIRECTION * scale, where)
    B = _nearly_orthonormalize(B - Q @ _inner_products(Q, B), 0.5, where)
    return B[:, : Q.shape[0] - Q.shape[1]], outside


def _inner_products(Q: Float64, B: Float64) -> Float64:
    """Q'B, transposed twice: BLAS takes the wide factor as it lies, in two fifths of the time."""
    found: Float64 = (B.T @ Q).T
    return found


def orthonormalize(B: Float64, floor: float, where: HeldVectors = HOST) -> Float64:
    """An orthonormal basis of the columns, without directions shorter than `floor`.

    From the eigenvectors of B'B, twice (Stathopoulos and Wu, 2002): products and one tiny
    eigenproblem, where a QR factorization of a tall block is a chain of small threaded steps.
    """
    return _nearly_orthonormalize(_nearly_orthonormalize(B, floor, where), 0.5, where)


def _nearly_orthonormalize(B: Float64, floor: float, where: HeldVectors) -> Float64:
    """Once: what is left of the angles is the square of how dependent the columns were."""
    values, U = np.linalg.eigh(where.fetch(B.T @ B))
    length = np.sqrt(np.maximum(values, 0))
    new = length > max(floor, MIN_INDEPENDENT_LENGTH * length.max(initial=0))
    found: Float64 = B @ where.hold(U[:, new] / length[new])
    return found


def random_block(seed: int, n: int, width: int) -> Float64:
    """Normal random vectors to start from."""
    return random.normals(seed, "start", (n, min(width, n)))
