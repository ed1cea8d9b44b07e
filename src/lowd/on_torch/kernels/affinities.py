"""Kernels of affinities: one bandwidth per row, rows in registers, sums in float64."""

from __future__ import annotations

from ..library import tl, triton


@triton.jit
def fit_perplexity(squares, p, scales, settings, k, max_steps, K: tl.constexpr):
    """Newton's method on log β, safeguarded by bisection, as the reference has it.

    Numbers in float64 come by a pointer: arguments would be rounded to float32.
    """
    log_perplexity, tol = tl.load(settings), tl.load(settings + 1)
    max_log_beta = tl.load(settings + 2)
    i = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, K)
    inside = c < k
    d = tl.load(squares + i * k + c, inside, other=float("inf"))
    gaps = tl.where(inside, d - tl.min(d, 0), 0.0)
    unit = tl.sum(gaps, 0) / k
    flat = ~(unit > 0)
    unit = tl.where(flat, 1.0, unit)
    gaps = gaps / unit
    x = unit * 0.0
    low = x - max_log_beta
    high = x + max_log_beta
    last = x + float("inf")
    e = tl.where(inside, tl.exp(-gaps), 0.0)
    total = tl.sum(e, 0)
    going = ~flat
    step = 0
    while going & (step < max_steps):
        beta = tl.exp(x)
        e = tl.where(inside, tl.exp(-beta * gaps), 0.0)
        total = tl.sum(e, 0)
        mean = tl.sum(e * gaps, 0) / total
        excess = tl.log(total) + beta * mean - log_perplexity
        size = tl.abs(excess)
        going = (size > tol) & (high - low >= tol)
        if going:
            low = tl.where(excess > 0, x, low)
            high = tl.where(excess > 0, high, x)
            away = gaps - mean
            slope = beta * beta * (tl.sum(e * away * away, 0) / total)
            newton = tl.where(slope > 0, x + excess / tl.where(slope > 0, slope, 1.0), 1e300)
            newton = tl.minimum(tl.maximum(newton, x - 2.0), x + 2.0)
            upward = tl.minimum(x + 1.0, max_log_beta)
            downward = tl.maximum(x - 1.0, -max_log_beta)
            half = tl.where(low == -max_log_beta, downward, 0.5 * (low + high))
            half = tl.where(high == max_log_beta, upward, half)
            good = (low < newton) & (newton < high) & (size < 0.5 * last)
            x = tl.where(good, newton, half)
            last = size
        step += 1
    even = tl.where(inside, 1.0 / k, 0.0)
    tl.store(p + i * k + c, tl.where(flat, even, e / total), inside)
    tl.store(scales + i, tl.where(flat, 0.0, tl.exp(x) / unit))


@triton.jit
def fit_memberships(
    distances, p, scales, offsets, mean_distance, settings, k, max_steps, whole, K: tl.constexpr
):
    """Bisection of sigma as in umap-learn; rho is a distance of the list, interpolated."""
    target, tol, least_share = tl.load(settings), tl.load(settings + 1), tl.load(settings + 2)
    share, connectivity = tl.load(settings + 3), tl.load(settings + 4)
    i = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, K)
    inside = c < k
    d = tl.load(distances + i * k + c, inside, other=float("inf"))
    zeros = tl.sum((inside & (d <= 0)).to(tl.int32), 0)
    apart = k - zeros
    last = tl.max(tl.where(inside, d, 0.0), 0)
    at = zeros + tl.maximum(whole, 1) - 1
    below = tl.sum(tl.where(c == at, tl.where(inside, d, 0.0), 0.0), 0)
    below = tl.where(whole > 0, below, 0.0)
    up = zeros + tl.minimum(whole, tl.maximum(apart - 1, 0))
    above = tl.sum(tl.where(c == up, tl.where(inside, d, 0.0), 0.0), 0)
    rho = tl.where(share > tol, below + share * (above - below), below)
    rho = tl.where(apart < connectivity, last, rho)
    rho = tl.where(apart > 0, rho, 0.0)
    mean = tl.sum(tl.where(inside, d, 0.0), 0) / (k + 1)
    gap = tl.where(inside, tl.maximum(d - rho, 0.0), 0.0)
    sigma = tl.where(mean > 0, tl.exp2(tl.floor(tl.log2(tl.where(mean > 0, mean, 1.0)))), 1.0)
    low = mean * 0.0
    high = low + float("inf")
    going = low == 0.0
    step = 0
    while going & (step < max_steps):
        excess = tl.sum(tl.where(inside, tl.exp(-gap / sigma), 0.0), 0) - target
        going = ~(tl.abs(excess) < tol)
        if going:
            low = tl.where(excess > 0, low, sigma)
            high = tl.where(excess > 0, sigma, high)
            sigma = tl.where(high < float("inf"), (low + high) / 2, 2 * sigma)
        step += 1
    least = least_share * tl.where(rho > 0, mean, tl.load(mean_distance))
    sigma = tl.maximum(sigma, least)
    sigma = tl.where(sigma > 0, sigma, 1.0)
    tl.store(p + i * k + c, tl.exp(-gap / sigma), inside)
    tl.store(scales + i, sigma)
    tl.store(offsets + i, rho)
