"""Operations of affinities on a device: bandwidths of rows, and their symmetrization."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..arrays import MAX_SQUARED_DISTANCE_ROOT
from ..native.affinities import NativeAffinities
from ..protocol import CalibratedRows, Float64, FuzzySum, Perplexity, SimilarityGraph
from ..reference.affinities import (
    MAX_BISECTIONS,
    MAX_LOG_BETA,
    MAX_SIGMA_STEPS,
    MIN_SIGMA_SHARE,
    PERPLEXITY_TOL,
    SIGMA_TOL,
)
from .arrays import explaining_memory, has_kernels, to_device, to_numpy
from .library import Device, Tensor, torch
from .resident import ResidentArrays
from .sparse import DeviceGraph, Parts, parts_of

MAX_REGISTER_LIST = 1024  # neighbors of a row that a program holds in registers


class DeviceAffinities(NativeAffinities):
    """Conditional probabilities and fuzzy memberships of neighbors, and both directions in one."""

    device: Device
    resident: ResidentArrays

    def calibrate_rows(
        self, indptr: NDArray[np.int64], distances: Float64, rule: Perplexity | FuzzySum
    ) -> CalibratedRows:
        counts = np.diff(indptr)
        if not len(distances) or (counts != counts[0]).any():  # lists of different lengths are few
            return super().calibrate_rows(indptr, distances, rule)
        n, k = len(counts), int(counts[0])
        with explaining_memory(f"affinities of {len(distances)} neighbors", self.device):
            D = to_device(distances, self.device, torch.float64).reshape(n, k)
            if isinstance(rule, Perplexity):
                p, scales = fit_perplexities(D, rule.perplexity)
                offsets = torch.zeros_like(scales)
            else:
                p, scales, offsets = fit_fuzzy_sums(D, rule)
            return CalibratedRows(to_numpy(p).ravel(), to_numpy(scales), to_numpy(offsets))

    def similarity_graph(
        self, edges: csr_array, rule: Perplexity | FuzzySum | None, union: float | None = None
    ) -> SimilarityGraph:
        counts = np.diff(edges.indptr)
        if not edges.nnz or (rule is not None and (counts != counts[0]).any()):
            return super().similarity_graph(edges, rule, union)
        if rule is None:
            with explaining_memory(f"affinities of {edges.nnz} pairs", self.device):
                graph = DeviceGraph(symmetrize_rows(*parts_of(edges, self.device), union))
            return SimilarityGraph(graph, np.empty(0), np.empty(0))
        n, k = len(counts), int(counts[0])
        with explaining_memory(f"affinities of {edges.nnz} neighbors", self.device):
            D = self.resident.get(edges.data, self.device).double().reshape(n, k)
            if isinstance(rule, Perplexity):
                squares = D.clamp_max(MAX_SQUARED_DISTANCE_ROOT).square()
                a, scales = fit_perplexities(squares, rule.perplexity)
                offsets = torch.zeros_like(scales)
            else:
                a, scales, offsets = fit_fuzzy_sums(D, rule)
            starts = torch.arange(0, n * k + 1, k, device=self.device)
            columns = self.resident.get(edges.indices, self.device)
            graph = DeviceGraph(symmetrize_rows(starts, columns, a.reshape(-1), union))
            return SimilarityGraph(graph, to_numpy(scales), to_numpy(offsets))


def fit_perplexities(squares: Tensor, perplexity: float) -> tuple[Tensor, Tensor]:
    """Conditional probabilities of lists of one length, and β of each."""
    n, k = squares.shape
    target = float(np.log(perplexity))
    if has_kernels(squares.device) and k <= MAX_REGISTER_LIST:
        from .kernels import affinities as kernels

        p = torch.empty_like(squares)
        scales = torch.empty(n, dtype=torch.float64, device=squares.device)
        lanes = max(32, 1 << (k - 1).bit_length())
        settings = squares.new_tensor([target, PERPLEXITY_TOL, MAX_LOG_BETA])
        kernels.fit_perplexity[(n,)](
            squares, p, scales, settings, k, MAX_BISECTIONS, lanes, **_options(lanes)
        )
        return p, scales
    gaps = squares - squares.amin(1, keepdim=True)
    unit = gaps.mean(1)
    flat = ~(unit > 0)
    unit = torch.where(flat, 1.0, unit)
    gaps = gaps / unit[:, None]
    x = torch.zeros_like(unit)
    low, high = x - MAX_LOG_BETA, x + MAX_LOG_BETA
    last, going = torch.full_like(x, torch.inf), ~flat
    for _ in range(MAX_BISECTIONS):
        beta = torch.exp(x)
        e = torch.exp(-beta[:, None] * gaps)
        total = e.sum(1)
        mean = (e * gaps).sum(1) / total
        excess = torch.log(total) + beta * mean - target
        going = going & (excess.abs() > PERPLEXITY_TOL) & (high - low >= PERPLEXITY_TOL)
        if not going.any():
            break
        low = torch.where(going & (excess > 0), x, low)
        high = torch.where(going & (excess <= 0), x, high)
        slope = beta.square() * ((e * (gaps - mean[:, None]).square()).sum(1) / total)
        newton = torch.where(slope > 0, x + excess / slope, torch.inf)
        newton = torch.minimum(torch.maximum(newton, x - 2), x + 2)
        half = torch.where(
            low == -MAX_LOG_BETA, (x - 1).clamp_min(-MAX_LOG_BETA), 0.5 * (low + high)
        )
        half = torch.where(high == MAX_LOG_BETA, (x + 1).clamp_max(MAX_LOG_BETA), half)
        good = (low < newton) & (newton < high) & (excess.abs() < 0.5 * last)
        x = torch.where(going, torch.where(good, newton, half), x)
        last = torch.where(going, excess.abs(), last)
    e = torch.exp(-torch.exp(x)[:, None] * gaps)
    p = torch.where(flat[:, None], 1 / k, e / e.sum(1, keepdim=True))
    return p, torch.where(flat, 0.0, torch.exp(x) / unit)


def fit_fuzzy_sums(D: Tensor, rule: FuzzySum) -> tuple[Tensor, Tensor, Tensor]:
    """Memberships of lists of one length, nearest first; sigma and rho of each."""
    n, k = D.shape
    mean_distance = rule.mean_distance
    of_all = D.sum() / (D.numel() + n)
    if mean_distance is not None:
        of_all = torch.full_like(of_all, mean_distance)
    whole = int(rule.local_connectivity)
    share, target = rule.local_connectivity - whole, float(np.log2(k + 1))
    if has_kernels(D.device) and k <= MAX_REGISTER_LIST:
        from .kernels import affinities as kernels

        p, sigma = torch.empty_like(D), torch.empty(n, dtype=D.dtype, device=D.device)
        rho, lanes = torch.empty_like(sigma), max(32, 1 << (k - 1).bit_length())
        numbers = target, SIGMA_TOL, MIN_SIGMA_SHARE, share, rule.local_connectivity
        how = D.new_tensor(numbers), k, MAX_SIGMA_STEPS, whole, lanes
        kernels.fit_memberships[(n,)](D, p, sigma, rho, of_all, *how, **_options(lanes))
        return p, sigma, rho
    rho = _connected_distances(D, whole, share, rule.local_connectivity)
    mean = D.sum(1) / (k + 1)
    gap = (D - rho[:, None]).clamp_min(0)
    sigma = torch.where(mean > 0, torch.exp2(torch.floor(torch.log2(mean))), 1.0)
    low, high = torch.zeros_like(mean), torch.full_like(mean, torch.inf)
    going = torch.ones_like(mean, dtype=torch.bool)
    for _ in range(MAX_SIGMA_STEPS):
        excess = torch.exp(-gap / sigma[:, None]).sum(1) - target
        going = going & ~(excess.abs() < SIGMA_TOL)
        if not going.any():
            break
        low = torch.where(going & (excess <= 0), sigma, low)
        high = torch.where(going & (excess > 0), sigma, high)
        new = torch.where(high < torch.inf, (low + high) / 2, 2 * sigma)
        sigma = torch.where(going, new, sigma)
    sigma = torch.maximum(sigma, MIN_SIGMA_SHARE * torch.where(rho > 0, mean, of_all))
    sigma = torch.where(sigma > 0, sigma, 1.0)
    return torch.exp(-gap / sigma[:, None]), sigma, rho


def _options(lanes: int) -> dict[str, Any]:
    """Launch options: without fused products all threads get the same bits of a sum.

    A thread that adds its own product unrounded to a rounded one of another has an ulp of its own,
    and may leave the loop alone.
    """
    return {"num_warps": max(1, lanes // 128), "enable_fp_fusion": False}


def _connected_distances(D: Tensor, whole: int, share: float, connectivity: float) -> Tensor:
    """rho: the distance of the L-th neighbor that is apart; a fraction of L interpolates."""
    k = D.shape[1]
    zeros = (D <= 0).sum(1)
    apart = k - zeros
    at = (zeros + max(whole, 1) - 1).clamp_max(k - 1)[:, None]
    below = torch.gather(D, 1, at)[:, 0] if whole else torch.zeros_like(D[:, 0])
    up = (zeros + torch.clamp(apart - 1, min=0).clamp_max(whole)).clamp_max(k - 1)[:, None]
    rho = below
    if share > SIGMA_TOL:
        rho = below + share * (torch.gather(D, 1, up)[:, 0] - below)
    rho = torch.where(apart < connectivity, D[:, -1], rho)
    return torch.where(apart > 0, rho, 0.0)


def symmetrize_rows(indptr: Tensor, indices: Tensor, data: Tensor, union: float | None) -> Parts:
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
    return Parts(starts, (keys % n).int(), values)
