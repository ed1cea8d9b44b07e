"""Affinities of neighbors on the device: bandwidths of lists, and both directions in one matrix."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ..methods.umap import memberships
from ..parameters import Graph, Reals
from ..spaces.affinities import conditional_probabilities, symmetrized
from ..spaces.neighbors import Neighbors
from .arrays import (
    Tensor,
    explaining_memory,
    is_worth,
    keep,
    resident,
    to_numpy,
    torch,
)


def lists_of(near: Neighbors, data: Reals) -> Tensor | None:
    """Numbers of lists of one length, as a table on the device; None if there are few."""
    counts = near.counts
    if not len(data) or not is_worth(len(data), 2**16) or (counts != counts[0]).any():
        return None
    return resident(data).double().reshape(len(counts), -1)


@conditional_probabilities.register("torch")
def _(near: Neighbors, perplexity: float, squares: Reals | None = None) -> tuple[Reals, Reals]:
    with explaining_memory(f"affinities of {len(near.indices)} neighbors"):
        D = lists_of(near, near.distances if squares is None else squares)
        if D is None or D.shape[1] < perplexity:
            return conditional_probabilities.function(near, perplexity, squares)
        D = D.clamp_max(1e150).square() if squares is None else D
        table, beta = fit_perplexities(D, perplexity)
        p = to_numpy(table).ravel()
    keep(p, table)
    return p, to_numpy(beta)


@memberships.register("torch")
def _(
    near: Neighbors, connectivity: float, mean_distance: float | None = None
) -> tuple[Reals, Reals, Reals]:
    with explaining_memory(f"affinities of {len(near.distances)} neighbors"):
        D = lists_of(near, near.distances)
        if D is None:
            return memberships.function(near, connectivity, mean_distance)
        table, sigma, rho = fit_fuzzy_sums(D, connectivity, mean_distance)
        mu = to_numpy(table).ravel()
    keep(mu, table)
    return mu, to_numpy(rho), to_numpy(sigma)


@symmetrized.register("torch")
def _(near: Neighbors, values: Reals, union: float | None) -> Graph:
    n = len(near.counts)
    if not is_worth(len(values), 2**16) or not len(values):
        return symmetrized.function(near, values, union)
    with explaining_memory(f"affinities of {len(values)} pairs"):
        lists = resident(near.indptr).long(), resident(near.indices), resident(values).double()
        starts, columns, both = symmetrize(*lists, union)
        data, indices, indptr = map(to_numpy, (both, columns, starts))
    if len(indices) < np.iinfo(np.int32).max:
        # SciPy would convert both otherwise.
        indptr = indptr.astype(np.int32)
    keep(data, both)
    keep(indices, columns)
    W = csr_array((data, indices, indptr), (n, n))
    W.has_sorted_indices = True
    return W


def fit_perplexities(
    squares: Tensor,
    perplexity: float,
    tolerance: float = 1e-12,
    largest: float = 700.0,
    most: int = 200,
) -> tuple[Tensor, Tensor]:
    """Conditional probabilities of lists of one length, and β of each.

    By Newton's method on log β, safeguarded by bisection, for the lists that are not done.
    """
    k, target = squares.shape[1], float(np.log(perplexity))
    gaps = squares - squares.amin(1, keepdim=True)
    unit = gaps.mean(1)
    flat = ~(unit > 0)
    unit = torch.where(flat, 1.0, unit)
    gaps /= unit[:, None]
    found = torch.zeros_like(unit)
    left = torch.nonzero(~flat)[:, 0]
    gap, x = gaps[left], found[left]
    low, high, last = x - largest, x + largest, torch.full_like(x, torch.inf)
    for _ in range(most):
        beta = torch.exp(x)
        e = torch.exp(-beta[:, None] * gap)
        total = e.sum(1)
        mean = (e * gap).sum(1) / total
        excess = torch.log(total) + beta * mean - target
        some = torch.nonzero((excess.abs() > tolerance) & (high - low >= tolerance))[:, 0]
        if not len(some):
            break
        if len(some) < len(left):
            left, gap, e, x, low, high, last, beta, total, mean, excess = (
                part[some] for part in (left, gap, e, x, low, high, last, beta, total, mean, excess)
            )
        low, high = torch.where(excess > 0, x, low), torch.where(excess > 0, high, x)
        slope = beta.square() * ((e * (gap - mean[:, None]).square()).sum(1) / total)
        newton = torch.where(slope > 0, x + excess / slope, torch.inf)
        newton = torch.minimum(torch.maximum(newton, x - 2), x + 2)
        half = torch.where(low == -largest, (x - 1).clamp_min(-largest), 0.5 * (low + high))
        half = torch.where(high == largest, (x + 1).clamp_max(largest), half)
        good = (low < newton) & (newton < high) & (excess.abs() < 0.5 * last)
        x, last = torch.where(good, newton, half), excess.abs()
        found[left] = x
    e = torch.exp(-torch.exp(found)[:, None] * gaps)
    p = torch.where(flat[:, None], 1 / k, e / e.sum(1, keepdim=True))
    return p, torch.where(flat, 0.0, torch.exp(found) / unit)


def fit_fuzzy_sums(
    D: Tensor, connectivity: float, mean_distance: float | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Memberships of lists of one length, nearest first; sigma and rho of each."""
    n, k = D.shape
    tolerance, most, least = 1e-5, 64, 1e-3  # The first two are umap-learn's.
    of_all = D.sum() / (D.numel() + n)
    if mean_distance is not None:
        of_all = torch.full_like(of_all, mean_distance)
    whole = int(connectivity)
    share, target = connectivity - whole, float(np.log2(k + 1))
    rho = _connected_distances(D, whole, share, connectivity)
    mean = D.sum(1) / (k + 1)
    gap = (D - rho[:, None]).clamp_min(0)
    sigma = torch.where(mean > 0, torch.exp2(torch.floor(torch.log2(mean))), 1.0)
    low, high = torch.zeros_like(mean), torch.full_like(mean, torch.inf)
    going = torch.ones_like(mean, dtype=torch.bool)
    for _ in range(most):
        excess = torch.exp(-gap / sigma[:, None]).sum(1) - target
        going = going & ~(excess.abs() < tolerance)
        if not going.any():
            break
        low = torch.where(going & (excess <= 0), sigma, low)
        high = torch.where(going & (excess > 0), sigma, high)
        new = torch.where(high < torch.inf, (low + high) / 2, 2 * sigma)
        sigma = torch.where(going, new, sigma)
    sigma = torch.maximum(sigma, least * torch.where(rho > 0, mean, of_all))
    sigma = torch.where(sigma > 0, sigma, 1.0)
    return torch.exp(-gap / sigma[:, None]), sigma, rho


def _connected_distances(D: Tensor, whole: int, share: float, connectivity: float) -> Tensor:
    """rho: the distance of the L-th neighbor that is apart; a fraction of L interpolates."""
    k = D.shape[1]
    zeros = (D <= 0).sum(1)
    apart = k - zeros
    at = (zeros + max(whole, 1) - 1).clamp_max(k - 1)[:, None]
    below = torch.gather(D, 1, at)[:, 0] if whole else torch.zeros_like(D[:, 0])
    up = (zeros + torch.clamp(apart - 1, min=0).clamp_max(whole)).clamp_max(k - 1)[:, None]
    rho = below
    if share > 1e-5:
        rho = below + share * (torch.gather(D, 1, up)[:, 0] - below)
    rho = torch.where(apart < connectivity, D[:, -1], rho)
    return torch.where(apart > 0, rho, 0.0)


def symmetrize(
    indptr: Tensor, indices: Tensor, data: Tensor, union: float | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Both directions of sparse rows in one, as CSR with sorted columns.

    A pair occurs at most twice, and the sum of two terms has no order: bits are the same always.
    """
    n, device = len(indptr) - 1, data.device
    indices = indices.long()
    rows = torch.repeat_interleave(torch.arange(n, device=device), indptr[1:] - indptr[:-1])
    keys = torch.cat([rows * n + indices, indices * n + rows])
    del rows
    keys, order = torch.sort(keys)
    values = torch.cat([data, data])[order]
    del order
    twin = torch.zeros(len(keys), dtype=torch.bool, device=device)
    torch.eq(keys[1:], keys[:-1], out=twin[1:])
    first = torch.nonzero(~twin)[:, 0]
    paired = torch.zeros(len(keys), dtype=torch.bool, device=device)
    paired[:-1] = twin[1:]
    other = torch.where(paired[first], values[(first + 1).clamp_max(len(keys) - 1)], 0.0)
    values, keys = values[first], keys[first]
    if union is None:
        values = values / (2 * n) + other / (2 * n)
    else:
        both = values * other
        values = union * (values + other - both) + (1 - union) * both
    kept = values != 0
    if not kept.all():
        values, keys = values[kept], keys[kept]
    starts = torch.searchsorted(keys, torch.arange(n + 1, device=device) * n)
    return starts, (keys % n).int(), values
