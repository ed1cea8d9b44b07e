"""Kernels of graphs: shortest paths from many sources, and products with sparse matrices."""

from __future__ import annotations

from ..library import tl, triton


@triton.jit
def relax(start, col, length, dist, now, later, S: tl.constexpr, B: tl.constexpr):
    """Shorten the paths to a node over those neighbors that changed in the last sweep, in place.

    A value may be read before or after its own change: the end is the same, the least sums that
    no edge shortens.
    """
    i = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1) * B + tl.arange(0, B)
    old = tl.load(dist + i * S + s)
    new = old
    for e in range(tl.load(start + i), tl.load(start + i + 1)):
        j = tl.load(col + e).to(tl.int64)
        if tl.load(now + j) != 0:
            new = tl.minimum(new, tl.load(dist + j * S + s) + tl.load(length + e))
    if tl.max((new < old).to(tl.int32), 0) != 0:
        tl.store(dist + i * S + s, new)
        tl.store(later + i, 1)


@triton.jit
def multiply(start, col, value, v, u, out, terms, k, EDGES: tl.constexpr, WIDTH: tl.constexpr):
    """A row of alpha A V + beta V + gamma U in float64, A sparse, V and U of k columns."""
    i = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    total = tl.zeros([EDGES, WIDTH], tl.float64)
    last = tl.load(start + i + 1)
    for first in range(tl.load(start + i), last, EDGES):
        e = first + tl.arange(0, EDGES)
        inside = e < last
        j = tl.load(col + e, inside, other=0).to(tl.int64)
        a = tl.load(value + e, inside, other=0.0)
        both = inside[:, None] & (c < k)[None, :]
        total += a[:, None] * tl.load(v + j[:, None] * k + c[None, :], both, other=0.0)
    beta, gamma = tl.load(terms + 1), tl.load(terms + 2)
    found = tl.load(terms) * tl.sum(total, 0)
    own = i * k + c
    if beta != 0.0:
        found += beta * tl.load(v + own, c < k, other=0.0)
    if gamma != 0.0:
        found += gamma * tl.load(u + own, c < k, other=0.0)
    tl.store(out + own, found, c < k)
