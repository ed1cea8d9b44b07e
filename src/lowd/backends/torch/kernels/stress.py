"""Kernel of a Guttman transform: dissimilarities are read once, sums of tiles are in float64."""

from __future__ import annotations

from ..library import tl, triton


@triton.jit
def guttman(D, W, y, out, n, k, span, WEIGHTED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Sums over a part of the columns of w δ / d (y - y_j), and of the terms of the stress.

    y has k columns of n numbers, k at most 3; out has (parts, k + 3, n).
    """
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    row = i < n
    first = tl.program_id(1) * span
    base = out + tl.program_id(1).to(tl.int64) * (k + 3) * n
    stress = tl.zeros([BM], tl.float64)
    eta = tl.zeros([BM], tl.float64)
    rho = tl.zeros([BM], tl.float64)
    a = tl.zeros([BM], tl.float64)
    b = tl.zeros([BM], tl.float64)
    c = tl.zeros([BM], tl.float64)
    x0 = tl.load(y + i, row, other=0.0)
    x1 = tl.load(y + n + i, row & (k > 1), other=0.0)
    x2 = tl.load(y + 2 * n + i, row & (k > 2), other=0.0)
    for j0 in range(first, tl.minimum(first + span, n), BN):
        j = j0 + tl.arange(0, BN)
        column = j < n
        inside = row[:, None] & column[None, :] & (i[:, None] != j[None, :])
        at = i[:, None].to(tl.int64) * n + j[None, :]
        delta = tl.load(D + at, inside, other=float("nan"))
        known = delta == delta
        w = known.to(tl.float32)
        if WEIGHTED:
            w = tl.where(known, tl.load(W + at, inside, other=0.0), 0.0)
        delta = tl.where(known, delta, 0.0)
        y0 = tl.load(y + j, column, other=0.0)[None, :]
        y1 = tl.load(y + n + j, column & (k > 1), other=0.0)[None, :]
        y2 = tl.load(y + 2 * n + j, column & (k > 2), other=0.0)[None, :]
        g0, g1, g2 = x0[:, None] - y0, x1[:, None] - y1, x2[:, None] - y2
        square = g0 * g0 + g1 * g1 + g2 * g2
        inverse = tl.where(square > 0, tl.rsqrt(square), 0.0)
        d = square * inverse
        ratio = w * delta * inverse
        gap = delta - d
        stress += tl.sum(w * gap * gap, 1).to(tl.float64)
        eta += tl.sum(w * square, 1).to(tl.float64)
        rho += tl.sum(w * delta * d, 1).to(tl.float64)
        a += tl.sum(ratio * g0, 1).to(tl.float64)
        b += tl.sum(ratio * g1, 1).to(tl.float64)
        c += tl.sum(ratio * g2, 1).to(tl.float64)
    tl.store(base + i, stress, row)
    tl.store(base + n + i, eta, row)
    tl.store(base + 2 * n + i, rho, row)
    tl.store(base + 3 * n + i, a, row)
    tl.store(base + 4 * n + i, b, row & (k > 1))
    tl.store(base + 5 * n + i, c, row & (k > 2))
