"""Kernels of graphs: shortest paths from many sources, and steps of a random walk."""

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
def walk(start, col, p, y, out, k, LANES: tl.constexpr):
    """A lazy step of the random walk: the mean of a point and of its neighbors, in float64."""
    i, c = tl.program_id(0).to(tl.int64), tl.program_id(1)
    total = tl.zeros([LANES], tl.float64)
    last = tl.load(start + i + 1)
    for first in range(tl.load(start + i), last, LANES):
        e = first + tl.arange(0, LANES)
        inside = e < last
        j = tl.load(col + e, inside, other=0).to(tl.int64)
        total += tl.load(p + e, inside, other=0.0) * tl.load(y + j * k + c, inside, other=0.0)
    tl.store(out + i * k + c, 0.5 * tl.sum(total, 0) + 0.5 * tl.load(y + i * k + c))
