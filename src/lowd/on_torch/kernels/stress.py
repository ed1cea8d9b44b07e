"""Kernel of a Guttman transform: dissimilarities are read once, sums of tiles are in float64."""

from __future__ import annotations

from ..library import tl, triton


@triton.jit
def guttman(
    D,
    W,
    y,
    out,
    n,
    span,
    K: tl.constexpr,
    WEIGHTED: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """Sums over a part of the columns of w (δ - d)², w d² and w δ / d (y - y_j).

    y has K columns of n numbers, K at most 3; out has (parts, K + 2, n). The diagonal has δ = d = 0
    and adds nothing.
    """
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    row = i < n
    first = tl.program_id(1) * span
    base = out + tl.program_id(1).to(tl.int64) * (K + 2) * n
    stress = tl.zeros([BM], tl.float64)
    eta = tl.zeros([BM], tl.float64)
    a = tl.zeros([BM], tl.float64)
    b = tl.zeros([BM], tl.float64)
    c = tl.zeros([BM], tl.float64)
    x0 = tl.load(y + i, row, other=0.0)[:, None]
    if K > 1:
        x1 = tl.load(y + n + i, row, other=0.0)[:, None]
    if K > 2:
        x2 = tl.load(y + 2 * n + i, row, other=0.0)[:, None]
    for j0 in range(first, tl.minimum(first + span, n), BN):
        j = j0 + tl.arange(0, BN)
        column = j < n
        inside = row[:, None] & column[None, :]
        at = i[:, None].to(tl.int64) * n + j[None, :]
        delta = tl.load(D + at, inside, other=float("nan"))
        known = delta == delta
        if WEIGHTED:
            w = tl.where(known, tl.load(W + at, inside, other=0.0), 0.0)
        else:
            w = known.to(tl.float32)
        delta = tl.where(known, delta, 0.0)
        g0 = x0 - tl.load(y + j, column, other=0.0)[None, :]
        square = g0 * g0
        if K > 1:
            g1 = x1 - tl.load(y + n + j, column, other=0.0)[None, :]
            square += g1 * g1
        if K > 2:
            g2 = x2 - tl.load(y + 2 * n + j, column, other=0.0)[None, :]
            square += g2 * g2
        inverse = tl.where(square > 0, tl.rsqrt(square), 0.0)
        ratio = w * delta * inverse
        gap = delta - square * inverse
        stress += tl.sum(w * gap * gap, 1).to(tl.float64)
        eta += tl.sum(w * square, 1).to(tl.float64)
        a += tl.sum(ratio * g0, 1).to(tl.float64)
        if K > 1:
            b += tl.sum(ratio * g1, 1).to(tl.float64)
        if K > 2:
            c += tl.sum(ratio * g2, 1).to(tl.float64)
    tl.store(base + i, stress, row)
    tl.store(base + n + i, eta, row)
    tl.store(base + 2 * n + i, a, row)
    if K > 1:
        tl.store(base + 3 * n + i, b, row)
    if K > 2:
        tl.store(base + 4 * n + i, c, row)
