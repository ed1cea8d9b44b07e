"""Search for nearest neighbors by products in float16 on tensor cores (Triton), for many rows.

Rows h = z - r are rounded, and three more columns hold |h_j|², so that a product is the squared
distance less |h_i|², and only a minimum over each group of columns is left. The (k + 1)-th smallest
minimum bounds the (k + 1)-th smallest distance, since every group holds a distance that is no
larger. Groups with a minimum below that bound and its error are computed again, and the columns
below it are ranked by distances in float64 of the original rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .arrays import has_kernels
from .library import Tensor, TensorDescriptor, torch, triton
from .row_geometry import RowGeometry

MIN_TILED_ROWS = 8192  # below, products in float64 take no longer than preparing tiles
MAX_TILED_NEIGHBORS = 192  # lists of 256 candidates; longer ones take too many registers
MAX_TILED_FEATURES = 8192
LARGEST_NORM = 100.0  # of scaled rows: squares stay below the largest float16, 65504
FAR_COLUMN = 60000.0  # the squared norm of columns that only fill up the last tile
MAX_GROUPS = 1024  # of columns


class Tiling(NamedTuple):
    """Shapes of tiles, by which products take the least time on an H200."""

    group: int  # columns with one minimum
    rows: int
    columns: int
    warps: int
    stages: int


class TiledRows(NamedTuple):
    """Columns of the product in float16, permuted, and the numbers of the certificate."""

    b: Tensor  # columns, padded
    order: Tensor  # row of each column
    center: Tensor
    scale: float
    largest_square: float  # of |h|²
    largest_error: float  # of |r|
    width: int
    tiling: Tiling


@dataclass(frozen=True)
class TiledSearch:
    """Columns of the products, and the rows that they are of."""

    space: RowGeometry
    tiles: TiledRows

    @classmethod
    def of(cls, space: RowGeometry) -> TiledSearch | None:
        """None where there are no kernels, few rows, or rows that do not fit into float16."""
        n, d = space.rows.shape
        if not has_kernels(space.device) or n < MIN_TILED_ROWS or d > MAX_TILED_FEATURES:
            return None
        tiles = tile_rows(space)
        return None if tiles is None else cls(space, tiles)

    def search(
        self, Q: Tensor, part: slice, k: int, among: bool, indices: Tensor, values: Tensor
    ) -> Tensor:
        """Neighbors of some rows; returns the rows that are left, by number in the part."""
        from .kernels import search as kernels

        tiles, space = self.tiles, self.space
        group, bm, bn, warps, stages = tiles.tiling
        rows, d = Q[part], Q.shape[1]
        m, width, device = len(rows), tiles.width, space.device
        h, square, r = round_rows(space, rows, tiles.scale)
        far = ~(square <= LARGEST_NORM**2)  # also where rounding gave an infinity
        h[far] = 0
        pad, columns = -(-m // bm) * bm, len(tiles.b)
        groups = columns // group
        a = torch.zeros(pad, width, dtype=torch.float16, device=device)
        a[:m, :d] = -2 * h
        a[:, d : d + 3] = 1
        minima = torch.empty(groups, pad, device=device)
        if width <= 128:
            left = TensorDescriptor.from_tensor(a, [bm, width])
            right = TensorDescriptor.from_tensor(tiles.b, [bn, width])
            grid = (pad // bm, groups)
            kernels.minima_of_narrow_rows[grid](
                left, right, minima, pad, group, bm, bn, stages, num_warps=warps
            )
        else:
            left = TensorDescriptor.from_tensor(a, [bm, 64])
            right = TensorDescriptor.from_tensor(tiles.b, [bn, 64])
            shape = pad // bm, columns // bn
            kernels.minima_of_wide_rows[(shape[0] * shape[1],)](
                left, right, minima, pad, *shape, group, bm, bn, 64, width, 16,
                num_warps=warps, num_stages=stages,
            )  # fmt: skip
        bound = torch.empty(pad, device=device)
        power = triton.next_power_of_2(groups)
        block = max(4, min(16, 16384 // power))
        smaller = k + 1 if among else k
        kernels.kth_smallest[(pad // block,)](
            minima, bound, pad, groups, smaller, power, block, num_warps=8
        )
        limit = torch.full((pad,), -torch.inf, device=device)
        limit[:m] = self._limit(bound[:m], square, r)
        limit[:m][far] = -torch.inf
        pairs = torch.nonzero(minima <= limit)
        del minima
        of_group, row = pairs[:, 0].contiguous(), pairs[:, 1].int()
        del pairs
        cut = torch.searchsorted(of_group, torch.arange(groups + 1, device=device))
        tiles_of = (cut[1:] - cut[:-1] + 127) // 128
        tile_group = torch.repeat_interleave(torch.arange(groups, device=device), tiles_of)
        lead = torch.cumsum(tiles_of, 0) - tiles_of
        number = torch.arange(len(tile_group), device=device)
        first = cut[tile_group] + 128 * (number - lead[tile_group])
        capacity = triton.next_power_of_2(k + k // 4 + 8)
        count = torch.zeros(m, dtype=torch.int32, device=device)
        found = torch.empty(m, capacity, dtype=torch.int32, device=device)
        if len(tile_group):
            sub = min(group, 128)
            kernels.collect_candidates[(len(tile_group), group // sub)](
                a, tiles.b, limit, row, tile_group.int(), first.int(), cut[tile_group + 1].int(),
                count, found, group, width, 64, capacity, 128, sub, num_warps=8,
            )  # fmt: skip
        squares = torch.empty(m, capacity, dtype=torch.float64, device=device)
        named = torch.empty_like(found)
        unit = torch.tensor([space.unit], dtype=torch.float64, device=device)
        own = part.start if among else -(2**40)  # no row is left out
        kernels.candidate_squares[(m, capacity // 16)](
            rows, space.rows, unit, found, count, tiles.order, named, squares, d, own,
            capacity, 16, 64, num_warps=4,
        )  # fmt: skip
        ranked = space.finish(squares, space.unit)
        kernels.rank_candidates[(m,)](
            ranked, named, count, indices[part], values[part], k, capacity, num_warps=4
        )
        too_many = far | (count > capacity) | (indices[part][:, -1] < 0)
        return torch.nonzero(too_many)[:, 0]

    def _limit(self, bound: Tensor, square: Tensor, r: Tensor) -> Tensor:
        """The largest product of a row that can belong to one of its nearest neighbors.

        |d - d'| <= |r_i| + |r_j| for distances d of the rows and d' of the rounded rows. A product
        of K terms is off by (1.1 K + 20) 2^-23 of the sum of their sizes: each term, and each sum
        of 16 of them, is at worst cut off at the 24 bits of the largest.
        """
        tiles = self.tiles
        top = tiles.largest_square
        terms = top + 2 * (square * top).sqrt()
        e = (1.1 * tiles.width + 20) * 2.0**-23 * terms
        reach = (bound.double() + square + e).clamp_min(0).sqrt() + 2 * (r + tiles.largest_error)
        value = reach.square() + e - square
        return (value + value.abs() * 2.0**-22).float()


def tile_rows(space: RowGeometry) -> TiledRows | None:
    """Columns of the product; None where rows do not fit into float16 (all equal)."""
    n, d = space.rows.shape
    width = 64 if d + 3 <= 64 else -(-(d + 3) // 64) * 64
    tiling = choose_tiling(n, width)
    unit = max(tiling.group, tiling.rows, tiling.columns)
    center = space.center
    norm = max(
        float((z.double() * space.unit - center).square().sum(1).max()) ** 0.5
        for z in space.rows.split(2**18)
    )
    if not 0 < norm < np.inf:
        return None
    scale = float(2.0 ** np.floor(np.log2(LARGEST_NORM / norm))) * space.unit
    # Near rows are often adjacent: permuted, they do not share groups.
    generator = torch.Generator(space.device).manual_seed(1)
    order = torch.randperm(n, generator=generator, device=space.device)
    b = torch.zeros(-(-n // unit) * unit, width, dtype=torch.float16, device=space.device)
    b[n:, d] = FAR_COLUMN
    top = error = 0.0
    for i in range(0, n, 2**18):
        h, square, r = round_rows(space, space.rows[order[i : i + 2**18]], scale)
        part = b[i : i + len(h)]
        part[:, :d] = h
        for c in range(3):  # |h|² in three pieces
            part[:, d + c] = square
            square = square - part[:, d + c].double()
        top = max(top, float(h.double().square().sum(1).max()))
        error = max(error, float(r.max()))
    return TiledRows(b, order, center, scale, top, error, width, tiling)


def round_rows(space: RowGeometry, rows: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """Rows in float16, their squared norms, and the norm of what rounding has taken."""
    z = rows.double() * scale - space.center * (scale / space.unit)
    h = z.half()
    r = (z - h.double()).square().sum(1).sqrt() * (1 + 1e-9)
    return h, h.double().square().sum(1), r


def choose_tiling(n: int, width: int) -> Tiling:
    """Narrow rows take whole products, wide ones tiles; groups grow where there are many rows."""
    if width > 128:
        group = 64
        while n > 4 * MAX_GROUPS * group and group < 256:
            group *= 2
        return Tiling(group, 128, 256, 8, 3)
    group = 128
    while n > MAX_GROUPS * group:
        group *= 2
    return Tiling(group, 128, 128, 4, 3)
