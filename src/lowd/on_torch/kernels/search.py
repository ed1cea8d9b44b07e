"""Kernels of the exact search for nearest neighbors: products in float16, ranking in float64."""

from __future__ import annotations

from ..library import tl, triton


@triton.jit
def minima_of_narrow_rows(
    a, b, out, pad, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr
):
    """Up to 128 features: one product per tile; a program has BM rows and a group of columns."""
    i, g = tl.program_id(0), tl.program_id(1)
    left = a.load([i * BM, 0])
    low = tl.full([BM], float("inf"), tl.float32)
    for t in tl.range(0, GROUP // BN, num_stages=STAGES):
        acc = tl.dot(left, b.load([g * GROUP + t * BN, 0]).T)
        low = tl.minimum(low, tl.min(acc, 1))
    tl.store(out + g.to(tl.int64) * pad + i * BM + tl.arange(0, BM), low)


@triton.jit
def minima_of_wide_rows(
    a,
    b,
    out,
    pad,
    rows,
    cols,
    GROUP: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    K: tl.constexpr,
    STRIPE: tl.constexpr,
):
    """A tile per program, in stripes of rows so that columns stay in the L2 cache."""
    pid = tl.program_id(0)
    first = pid // (STRIPE * cols) * STRIPE
    width = tl.minimum(rows - first, STRIPE)
    i = first + (pid % (STRIPE * cols)) % width
    j = (pid % (STRIPE * cols)) // width
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([i * BM, k]), b.load([j * BN, k]).T, acc)
    low = tl.min(tl.reshape(acc, [BM, BN // GROUP, GROUP]), 2)
    g = (j * (BN // GROUP) + tl.arange(0, BN // GROUP))[None, :].to(tl.int64)
    tl.store(out + g * pad + (i * BM + tl.arange(0, BM))[:, None], low)


@triton.jit
def minima_of_thin_rows(
    a,
    b,
    out,
    pad,
    columns,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """Of few features: squared distances from differences; columns one axis after the other."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    g = tl.program_id(1)
    low = tl.full([BM, BN], float("inf"), tl.float32)
    for t in range(0, GROUP, BN):
        j = g * GROUP + t + tl.arange(0, BN)
        square = tl.zeros([BM, BN], tl.float32)
        for f in tl.static_range(D):
            gap = tl.load(a + i * D + f)[:, None] - tl.load(b + f * columns + j)[None, :]
            square += gap * gap
        low = tl.minimum(low, square)
    tl.store(out + g.to(tl.int64) * pad + i, tl.min(low, 1))


@triton.jit
def kth_smallest(v, out, pad, groups, k, GP: tl.constexpr, B: tl.constexpr):
    """The k-th smallest entry of each column of v (groups, pad), bit by bit by counting."""
    col = tl.program_id(0) * B + tl.arange(0, B)
    g = tl.arange(0, GP)
    at = g[:, None].to(tl.int64) * pad + col[None, :]
    x = tl.load(v + at, (g < groups)[:, None], other=float("inf"))
    bits = x.to(tl.int32, bitcast=True)
    key = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)  # integers in the order of the floats
    best = tl.full([B], -2147483648, tl.int32)
    for s in range(32):
        trial = best + (tl.full([B], 1, tl.int32) << (31 - s))  # the first one wraps to 0
        below = tl.sum((key < trial[None, :]).to(tl.int32), 0)
        best = tl.where(below < k, trial, best)
    bits = tl.where(best < 0, best ^ 0x7FFFFFFF, best)
    tl.store(out + col, bits.to(tl.float32, bitcast=True))


@triton.jit
def collect_candidates(
    a,
    b,
    limit,
    row,
    tile_group,
    tile_first,
    tile_end,
    count,
    found,
    columns,
    GROUP: tl.constexpr,
    K: tl.constexpr,
    THIN: tl.constexpr,
    BK: tl.constexpr,
    CAP: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """Pairs of a row and a group once more; columns below the limit go to the row's list.

    The atomic counts give slots of lists that are sorted afterwards: their order is no result.
    """
    t = tl.program_id(0)
    e = tl.load(tile_first + t) + tl.arange(0, BM)
    ok = e < tl.load(tile_end + t)
    r = tl.load(row + e, ok, other=0)
    col = tl.load(tile_group + t) * GROUP + tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    if THIN:
        for f in tl.static_range(K):
            gap = tl.load(a + r * K + f)[:, None] - tl.load(b + f * columns + col)[None, :]
            acc += gap * gap
    else:
        kk = tl.arange(0, BK)
        for k in range(0, K, BK):
            left = tl.load(a + r[:, None].to(tl.int64) * K + k + kk[None, :])
            right = tl.load(b + col[None, :].to(tl.int64) * K + k + kk[:, None])
            acc = tl.dot(left, right, acc)
    hit = (acc <= tl.load(limit + r)[:, None]) & ok[:, None]
    own = tl.sum(hit.to(tl.int32), 1)
    base = tl.atomic_add(count + r, own, mask=ok & (own > 0), sem="relaxed")
    at = base[:, None] + tl.cumsum(hit.to(tl.int32), 1) - 1
    to = found + r[:, None].to(tl.int64) * CAP + at
    tl.store(to, tl.zeros_like(at) + col[None, :], hit & (at < CAP))


@triton.jit
def candidate_squares(
    q,
    x,
    unit,
    found,
    count,
    order,
    named,
    out,
    d,
    own,
    CAP: tl.constexpr,
    BC: tl.constexpr,
    BF: tl.constexpr,
):
    """Squared distances in float64 of each row's candidates, from differences of original rows.

    The same shape of blocks for every number of candidates, so that sums have one order.
    """
    i = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1) * BC + tl.arange(0, BC)
    total = tl.load(count + i)
    if tl.program_id(1) * BC < total:
        ok = s < tl.where(total <= CAP, total, 0)
        column = tl.load(found + i * CAP + s, ok, other=0)
        j = tl.load(order + column, ok, other=0)
        scale = tl.load(unit)
        acc = tl.zeros([BC], tl.float64)
        for f in range(0, d, BF):
            o = f + tl.arange(0, BF)
            inside = ok[:, None] & (o < d)[None, :]
            mine = tl.load(q + i * d + o, o < d, other=0.0).to(tl.float64)[None, :]
            other = tl.load(x + j[:, None] * d + o[None, :], inside, other=0.0).to(tl.float64)
            gap = tl.where(inside, (mine - other) * scale, 0.0)
            acc += tl.sum(gap * gap, 1)
        # Left out: the row itself.
        tl.store(out + i * CAP + s, tl.where(ok & (j != i + own), acc, float("inf")))
        # Not in place: several threads hold a column, and one could read what another has written.
        tl.store(named + i * CAP + s, j.to(tl.int32), ok)


@triton.jit
def rank_candidates(values, found, count, out_i, out_v, k, CAP: tl.constexpr):
    """The k smallest values of each row in their order, ties by index, by counting."""
    i = tl.program_id(0).to(tl.int64)
    s = tl.arange(0, CAP)
    total = tl.load(count + i)
    ok = s < tl.where(total <= CAP, total, 0)
    v = tl.load(values + i * CAP + s, ok, other=float("inf"))
    j = tl.load(found + i * CAP + s, ok, other=0)
    # Both sides come from memory: the compiler may otherwise compute one of them anew, an ulp off.
    right = tl.load(values + i * CAP + s[None, :], ok[None, :], other=float("inf"))
    other = tl.load(found + i * CAP + s[None, :], ok[None, :], other=0)
    before = (right < v[:, None]) | ((right == v[:, None]) & (other < j[:, None]))
    rank = tl.sum((before & ok[None, :]).to(tl.int32), 1)
    keep = ok & (rank < k) & (v < float("inf"))
    tl.store(out_i + i * k + rank, j, keep)
    tl.store(out_v + i * k + rank, v, keep)
