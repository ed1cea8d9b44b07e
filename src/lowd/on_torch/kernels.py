"""The kernels, in Triton's language.

Every sum has a fixed order or is taken in integers, so that results repeat bit by bit. Kernels are
compiled when they are first called.
"""

from __future__ import annotations

from .arrays import tl, triton

# -- exact sums over pairs of points in the plane, each in a fixed order ---------------------------


@triton.jit
def reciprocal(d):  # It is right within an ulp by one instruction; a division takes several.
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
    later = (pad - begin - BM) // BM  # A tile has two halves.
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


# -- a step of t-SNE or UMAP in the plane: charges, attraction, steps ------------------------------


@triton.jit
def _pair(both):  # One load fetches two floats.
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


# -- the exact search for nearest neighbors: products in float16, ranking in float64 ---------------


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
    key = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)  # Integers have the order of the floats.
    best = tl.full([B], -2147483648, tl.int32)
    for s in range(32):
        trial = best + (tl.full([B], 1, tl.int32) << (31 - s))  # The first one wraps to 0.
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
        # The row itself is left out.
        tl.store(out + i * CAP + s, tl.where(ok & (j != i + own), acc, float("inf")))
        # This is not done in place: one thread could read what another has written.
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


# -- graphs: shortest paths from many sources, and products with sparse matrices -------------------


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


# -- a Guttman transform: dissimilarities are read once, sums of tiles are in float64 --------------


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
