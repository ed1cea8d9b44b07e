"""Kernels of exact sums over pairs of points in the plane, each in a fixed order."""

from __future__ import annotations

from ..library import tl, triton


@triton.jit
def reciprocal(d):  # one instruction, within an ulp; a division takes several
    return tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [d], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def repel_exactly(x, y, out, pad, span, BM: tl.constexpr, BN: tl.constexpr):
    """Sums over a part of all points j of w and w² (y - y_j), w = 1 / (1 + d²), in registers."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    xi, yi = tl.load(x + i)[:, None], tl.load(y + i)[:, None]
    first = tl.program_id(1) * span
    fx = tl.zeros([BM, BN], tl.float32)
    fy = tl.zeros([BM, BN], tl.float32)
    z = tl.zeros([BM, BN], tl.float32)
    for j0 in range(first, tl.minimum(first + span, pad), BN):
        j = j0 + tl.arange(0, BN)
        dx, dy = xi - tl.load(x + j)[None, :], yi - tl.load(y + j)[None, :]
        w = reciprocal(1.0 + dx * dx + dy * dy)
        z += w
        w = w * w
        fx += w * dx
        fy += w * dy
    at = out + tl.program_id(1) * 3 * pad + i
    tl.store(at, tl.sum(fx, 1))
    tl.store(at + pad, tl.sum(fy, 1))
    tl.store(at + 2 * pad, tl.sum(z, 1))


@triton.jit
def sum_similarities(x, y, out, pad, BM: tl.constexpr, BN: tl.constexpr):
    """Sums of w = 1 / (1 + d²) over the later points, and half of those of a point's own tile.

    1/a + 1/b = (a + b) / ab: two pairs take one reciprocal, which is the slowest instruction.
    """
    begin = tl.program_id(0) * BM
    i = begin + tl.arange(0, BM)
    xi, yi = tl.load(x + i)[:, None], tl.load(y + i)[:, None]
    z = tl.zeros([BM, BN], tl.float32)
    if tl.program_id(1) == 0:
        for j0 in range(begin, begin + BM, BN):
            j = j0 + tl.arange(0, BN)
            dx, dy = xi - tl.load(x + j)[None, :], yi - tl.load(y + j)[None, :]
            z += 0.5 * reciprocal(1.0 + dx * dx + dy * dy)
    later = (pad - begin - BM) // BM  # tiles of two halves
    share = tl.cdiv(later, tl.num_programs(1))
    first = tl.program_id(1) * share
    for t in range(first, tl.minimum(first + share, later)):
        for h in tl.static_range(BM // (2 * BN)):
            j = begin + BM + t * BM + 2 * h * BN + tl.arange(0, BN)
            dx, dy = xi - tl.load(x + j)[None, :], yi - tl.load(y + j)[None, :]
            a = 1.0 + dx * dx + dy * dy
            dx, dy = xi - tl.load(x + j + BN)[None, :], yi - tl.load(y + j + BN)[None, :]
            b = 1.0 + dx * dx + dy * dy
            z += (a + b) * reciprocal(a * b)
    tl.store(out + tl.program_id(1) * pad + i, tl.sum(z, 1))
