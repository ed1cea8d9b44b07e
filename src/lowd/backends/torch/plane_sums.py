"""Exact sums over pairs of points in the plane: repulsion of t-SNE and terms of its divergence."""

from __future__ import annotations

from .arrays import has_kernels
from .library import Tensor, torch
from .sparse import Parts

FAR_POINT = 1e18  # a coordinate of points that only fill up the last tile: no forces
# For sums without forces, of which two have one reciprocal: products of squares stay in range.
FAR_SOURCE = 1e9
EXACT_TILE, EXACT_PARTS = (64, 32), 8  # targets and sources; sources in parts
CROSS_TERM_LANES = 64


def sum_pairs(y: Tensor) -> tuple[Tensor, Tensor]:
    """Sums over all others of w² (y - y_j) as (2, n), and of w over all ordered pairs.

    w = 1 / (1 + d²); in float32, sums of sums in float64.
    """
    n, device = len(y), y.device
    if not has_kernels(device):
        repel, total = torch.empty(2, n, device=device), torch.zeros((), dtype=torch.float64)
        for i in range(0, n, 1024):
            gap = y[i : i + 1024, None, :] - y
            w = 1 / (1 + gap.square().sum(2))
            total += w.sum(dtype=torch.float64).cpu()
            repel[:, i : i + 1024] = (w.square()[:, :, None] * gap).sum(1).T
        return repel, total - n
    from .kernels import plane_sums as kernels

    rows, columns = EXACT_TILE
    pad = -(-n // rows) * rows
    xy = torch.full((2, pad), FAR_POINT, device=device)
    xy[:, :n] = y.T
    span = -(-pad // (EXACT_PARTS * columns)) * columns
    out = torch.empty(EXACT_PARTS, 3, pad, device=device)
    kernels.repel_exactly[(pad // rows, EXACT_PARTS)](
        xy[0], xy[1], out, pad, span, rows, columns, num_warps=4
    )
    total = out.sum(0)[:, :n]
    return total[:2], total[2].sum(dtype=torch.float64) - n


def sum_similarities(y: Tensor) -> float:
    """The sum of w = 1 / (1 + d²) over all ordered pairs of float32 points; each pair once."""
    n, device = len(y), y.device
    if not has_kernels(device):
        return float(sum_pairs(y)[1])
    from .kernels import plane_sums as kernels

    rows, columns = EXACT_TILE
    pad = -(-n // rows) * rows
    xy = torch.full((2, pad), FAR_SOURCE, device=device)
    xy[:, :n] = (y - y.mean(0)).T
    out = torch.empty(EXACT_PARTS, pad, device=device)
    kernels.sum_similarities[(pad // rows, EXACT_PARTS)](
        xy[0], xy[1], out, pad, rows, columns, num_warps=4
    )
    return 2 * float(out[:, :n].sum(dtype=torch.float64)) - n


def sum_cross_terms(edges: Parts, y: Tensor) -> float:
    """The sum of p (log p + log(1 + d²)) over edges, by kernels; points in float64."""
    from .kernels import plane_sums as kernels

    out = torch.empty(edges.size, dtype=torch.float64, device=y.device)
    kernels.cross_terms[(edges.size,)](*edges, y.contiguous(), out, CROSS_TERM_LANES, num_warps=1)
    return float(out.sum())
