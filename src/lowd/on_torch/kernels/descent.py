"""Kernels of a step of t-SNE or UMAP in the plane: charges, attraction, steps.

Every sum has a fixed order or is taken in integers, so a descent repeats bit by bit.
"""

from __future__ import annotations

from ..library import tl, triton
from .plane_sums import reciprocal


@triton.jit
def _pair(both):  # two floats of one load
    return (
        both.to(tl.int32).to(tl.float32, bitcast=True),
        (both >> 32).to(tl.int32).to(tl.float32, bitcast=True),
    )


@triton.jit
def _spline(s):
    a = tl.abs(s)
    far = tl.maximum(2.0 - a, 0.0)
    return tl.where(a < 1.0, a * a * (0.5 * a - 1.0) + 2.0 / 3.0, far * far * far * (1.0 / 6.0))


@triton.jit
def _slope(s):
    a = tl.abs(s)
    far = tl.maximum(2.0 - a, 0.0)
    return tl.where(a < 1.0, s * (1.5 * a - 2.0), tl.where(s > 0, -0.5, 0.5) * far * far)


@triton.jit(do_not_specialize=["half", "copies"])
def spread_charges(y, box, rho, n, inverse, half, fixed, copies, ROWS: tl.constexpr):
    """A charge of 1 per point over the 16 nodes around it, in fixed point."""
    rho += (tl.program_id(0) % copies) * half * half
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    k = tl.arange(0, 16)[None, :]
    ok = i < n
    top = (half - 3).to(tl.float32)
    u = (tl.load(y + 2 * i, ok, other=0.0) - tl.load(box)) * inverse
    v = (tl.load(y + 2 * i + 1, ok, other=0.0) - tl.load(box + 1)) * inverse
    u = tl.minimum(tl.maximum(u, 1.0), top)
    v = tl.minimum(tl.maximum(v, 1.0), top)
    c, r = u.to(tl.int32), v.to(tl.int32)
    dc, dr = (k & 3) - 1, (k >> 2) - 1
    w = _spline(u - c - dc) * _spline(v - r - dr)
    at = rho + (r + dr) * half + (c + dc)
    tl.atomic_add(at, (w * fixed).to(tl.int64), mask=ok, sem="relaxed")


@triton.jit(do_not_specialize=["half", "size", "copies"])
def sum_charges(rho, grid, half, size, unit, copies, B: tl.constexpr):
    """Add the copies, turn integers into floats, and leave none for the next step."""
    r = tl.program_id(0)
    for c0 in range(0, half, B):
        c = c0 + tl.arange(0, B)
        q = tl.zeros([B], tl.int64)
        for k in range(copies):
            q += tl.load(rho + (k * half + r) * half + c, c < half, other=0)
        # Another thread may clear what this one has not read yet: without it charge is lost.
        tl.debug_barrier()
        for k in range(copies):
            tl.store(rho + (k * half + r) * half + c, tl.zeros([B], tl.int64), c < half)
        tl.store(grid + r * size + c, q.to(tl.float32) * unit, c < half)


@triton.jit(do_not_specialize=["half", "size"])
def multiply_grids(a, b, out, half, size, stride: tl.constexpr, B: tl.constexpr):
    """Parts of the inner product of two grids, rows in a fixed order, in float64."""
    p = tl.program_id(0)
    acc = tl.zeros([B], tl.float64)
    for r in range(p, half, stride):
        for c0 in range(0, half, B):
            c = c0 + tl.arange(0, B)
            left = tl.load(a + r * size + c, c < half, other=0.0).to(tl.float64)
            acc += left * tl.load(b + r * size + c, c < half, other=0.0)
    tl.store(out + p, tl.sum(acc, 0))


@triton.jit
def attract(start, col, val, both, f, a, b, STUDENT: tl.constexpr, LANES: tl.constexpr):
    """Sums over the edges of a point of p w (y - y_j) of t-SNE, or of P g_a (y_j - y) of UMAP."""
    i = tl.program_id(0).to(tl.int64)
    first, last = tl.load(start + i), tl.load(start + i + 1)
    x, y = _pair(tl.load(both + i))
    fx = tl.zeros([LANES], tl.float32)
    fy = tl.zeros([LANES], tl.float32)
    for k in range(first, last, LANES):
        e = k + tl.arange(0, LANES)
        inside = e < last
        p = tl.load(val + e, inside, other=0.0)
        xj, yj = _pair(tl.load(both + tl.load(col + e, inside, other=0), inside, other=0))
        dx, dy = x - xj, y - yj
        s = dx * dx + dy * dy
        if STUDENT:
            w = p * reciprocal(1.0 + s)
        else:
            s = tl.minimum(tl.maximum(s, 1e-12), 1e12)
            odds = a * tl.exp2(b * tl.log2(s))
            w = -p * 2.0 * b * odds * reciprocal(s * (1.0 + odds))
        fx += w * dx
        fy += w * dy
    tl.store(f + 2 * i, tl.sum(fx, 0))
    tl.store(f + 2 * i + 1, tl.sum(fy, 0))


@triton.jit(do_not_specialize=["half", "size", "pad"])
def step(
    y, f, phi, zpart, box, counter, schedule, velocity, gain, part, repel, n, pad, inverse, half,
    size, scale, least_z, MESH: tl.constexpr, STUDENT: tl.constexpr, FORCE: tl.constexpr,
    ZPARTS: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Interpolate repulsion, or read its exact sums; then a step, and the extremes after it.

    A row of the schedule is (exaggeration, momentum, rate) of t-SNE, (rate, repulsion) of UMAP.
    With FORCE the repulsion is stored, and nothing moves.
    """
    i = tl.program_id(0) * B + tl.arange(0, B)
    ok = i < n
    x0 = tl.load(y + 2 * i, ok, other=0.0)
    y0 = tl.load(y + 2 * i + 1, ok, other=0.0)
    if MESH:
        top = (half - 3).to(tl.float32)
        u = tl.minimum(tl.maximum((x0 - tl.load(box)) * inverse, 1.0), top)
        v = tl.minimum(tl.maximum((y0 - tl.load(box + 1)) * inverse, 1.0), top)
        c, r = u.to(tl.int32), v.to(tl.int32)
        gx = tl.zeros([B], tl.float32)
        gy = tl.zeros([B], tl.float32)
        for kr in tl.static_range(4):
            row = tl.zeros([B], tl.float32)
            along = tl.zeros([B], tl.float32)
            for kc in tl.static_range(4):
                at = tl.load(phi + (r + (kr - 1)) * size + c + (kc - 1), ok, other=0.0)
                s = u - c - (kc - 1)
                row += at * _spline(s)
                along += at * _slope(s)
            s = v - r - (kr - 1)
            gx += along * _spline(s)
            gy += row * _slope(s)
        gx *= scale
        gy *= scale
    else:
        gx = tl.load(repel + i, ok, other=0.0)
        gy = tl.load(repel + pad + i, ok, other=0.0)
    if FORCE:
        tl.store(repel + i, gx, ok)
        tl.store(repel + pad + i, gy, ok)
    else:
        settings = schedule + 3 * tl.load(counter)
        vx = tl.load(velocity + 2 * i, ok, other=0.0)
        vy = tl.load(velocity + 2 * i + 1, ok, other=0.0)
        fx = tl.load(f + 2 * i, ok, other=0.0)
        fy = tl.load(f + 2 * i + 1, ok, other=0.0)
        if STUDENT:
            z = tl.sum(tl.load(zpart + tl.arange(0, ZPARTS)), 0) - n
            over_z = (1.0 / tl.maximum(z, least_z)).to(tl.float32)
            exaggeration, momentum = tl.load(settings), tl.load(settings + 1)
            rate = tl.load(settings + 2)
            fx = exaggeration * fx - gx * over_z
            fy = exaggeration * fy - gy * over_z
            ax = tl.load(gain + 2 * i, ok, other=1.0)
            ay = tl.load(gain + 2 * i + 1, ok, other=1.0)
            ax = tl.maximum(tl.where(fx * vx <= 0, ax + 0.2, ax * 0.8), 0.01)
            ay = tl.maximum(tl.where(fy * vy <= 0, ay + 0.2, ay * 0.8), 0.01)
            tl.store(gain + 2 * i, ax, ok)
            tl.store(gain + 2 * i + 1, ay, ok)
            vx = momentum * vx - rate * ax * fx
            vy = momentum * vy - rate * ay * fy
            longest = 5.0
        else:
            rate, repulsion = tl.load(settings), tl.load(settings + 1)
            vx = 0.8 * vx + rate * (fx + repulsion * gx)
            vy = 0.8 * vy + rate * (fy + repulsion * gy)
            longest = 4.0
        vx = tl.minimum(tl.maximum(vx, -1e15), 1e15)
        vy = tl.minimum(tl.maximum(vy, -1e15), 1e15)
        shrink = tl.minimum(longest * tl.rsqrt(vx * vx + vy * vy + 1e-30), 1.0)
        vx *= shrink
        vy *= shrink
        x0 += vx
        y0 += vy
        tl.store(velocity + 2 * i, vx, ok)
        tl.store(velocity + 2 * i + 1, vy, ok)
        tl.store(y + 2 * i, x0, ok)
        tl.store(y + 2 * i + 1, y0, ok)
        at = part + 4 * tl.program_id(0)
        tl.store(at, tl.min(tl.where(ok, x0, float("inf")), 0))
        tl.store(at + 1, tl.max(tl.where(ok, x0, float("-inf")), 0))
        tl.store(at + 2, tl.min(tl.where(ok, y0, float("inf")), 0))
        tl.store(at + 3, tl.max(tl.where(ok, y0, float("-inf")), 0))


@triton.jit(do_not_specialize=["half"])
def enclose(part, box, counter, programs, h, half, B: tl.constexpr):
    """box = left, bottom, span, the largest span so far; the middle of the points is on a node."""
    x0 = tl.full([B], float("inf"), tl.float32)
    x1 = tl.full([B], float("-inf"), tl.float32)
    y0, y1 = x0, x1
    for p in range(0, programs, B):
        i = p + tl.arange(0, B)
        ok = i < programs
        x0 = tl.minimum(x0, tl.load(part + 4 * i, ok, other=float("inf")))
        x1 = tl.maximum(x1, tl.load(part + 4 * i + 1, ok, other=float("-inf")))
        y0 = tl.minimum(y0, tl.load(part + 4 * i + 2, ok, other=float("inf")))
        y1 = tl.maximum(y1, tl.load(part + 4 * i + 3, ok, other=float("-inf")))
    left, right, bottom, above = tl.min(x0, 0), tl.max(x1, 0), tl.min(y0, 0), tl.max(y1, 0)
    extent = h * (half // 2)
    span = tl.maximum(right - left, above - bottom)
    tl.store(box, 0.5 * (left + right) - extent)
    tl.store(box + 1, 0.5 * (bottom + above) - extent)
    tl.store(box + 2, span)
    tl.store(box + 3, tl.maximum(span, tl.load(box + 3)))
    tl.store(counter, tl.load(counter) + 1)


@triton.jit
def permute_rows(start, col, val, order, slot, new_start, new_col, new_val, LANES: tl.constexpr):
    """Rows and columns of a CSR matrix in another order."""
    i = tl.program_id(0).to(tl.int64)
    old = tl.load(order + i)
    first, to = tl.load(start + old), tl.load(new_start + i)
    count = tl.load(start + old + 1) - first
    for k in range(0, count, LANES):
        e = k + tl.arange(0, LANES)
        inside = e < count
        column = tl.load(slot + tl.load(col + first + e, inside, other=0), inside)
        tl.store(new_col + to + e, column, inside)
        tl.store(new_val + to + e, tl.load(val + first + e, inside), inside)
