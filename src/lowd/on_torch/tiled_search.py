"""Search for nearest neighbors by products in float16 on tensor cores (Triton), for many rows.

Rows h = z - r are rounded, and three more columns hold |h_j|², so that a product is the squared
distance less |h_i|², and only a minimum over each group of columns is left. The (k + 1)-th smallest
minimum bounds the (k + 1)-th smallest distance, since every group holds a distance that is no
larger. Groups with a minimum below that bound and its error are computed again, and the columns
below it are ranked by distances in float64 of the original rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from .arrays import has_kernels
from .library import Tensor, TensorDescriptor, TensorType, torch, triton

if TYPE_CHECKING:
    from .neighbors import DeviceRows

MIN_TILED_ROWS = 8192  # below, products in float64 take no longer than preparing tiles
MAX_TILED_FEATURES = 8192
LARGEST_NORM = 100.0  # of scaled rows: squares stay below the largest float16, 65504
FAR_COLUMN = 60000.0  # the squared norm of columns that only fill up the last tile
MAX_GROUPS = 1024  # of columns, for few neighbors
# Groups for each neighbor, where a group has several tiles: the share of the pairs of a row and a
# group that are computed again is about the inverse.
GROUPS_PER_NEIGHBOR = 24
MINIMA_AT_ONCE = 2**28  # of rows over groups, 4 bytes each
MAX_THIN_FEATURES = 4
THIN_TILE = (64, 32)  # rows and columns
THIN_SLACK = 2.0**-19  # of a square in float32
SMALLEST_SQUARE = 1e-35  # below, float32 has fewer digits
FAR_AXIS = 1e15  # a coordinate of columns that only fill up the last tile


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
    scale: float
    largest_square: float  # of |h|²
    largest_error: float  # of |r|
    width: int
    tiling: Tiling

    @property
    def n_columns(self) -> int:
        """Of columns, with those that only fill up the last tile."""
        return int(max(self.b.shape))


@dataclass(frozen=True)
class TiledSearch:
    """Columns of the products, and the rows that they are of."""

    space: DeviceRows
    tiles: TiledRows
    is_thin: ClassVar[bool] = False

    @classmethod
    def of(cls, space: DeviceRows) -> TiledSearch | None:
        """None where there are no kernels, few rows, or rows that do not fit into float16."""
        n, d = space.rows.shape
        if not has_kernels(space.device) or n < MIN_TILED_ROWS or d > MAX_TILED_FEATURES:
            return None
        thin = d <= MAX_THIN_FEATURES
        tiles = tile_thin_rows(space) if thin else tile_rows(space)
        if tiles is None:
            return None
        return ThinSearch(space, tiles) if thin else cls(space, tiles)

    def rows_at_once(self, k: int) -> int:
        """Rows that are searched at a time."""
        return max(self.tiles.tiling.rows, MINIMA_AT_ONCE * self._group(k) // self.tiles.n_columns)

    def _group(self, k: int) -> int:
        """Columns with one minimum: fewer, in whole tiles, the more neighbors are asked for."""
        group, _, columns, _, _ = self.tiles.tiling
        while group > columns and self.tiles.n_columns < GROUPS_PER_NEIGHBOR * (k + 1) * group:
            group //= 2
        return group

    def search(
        self, Q: Tensor, part: slice, k: int, among: bool, indices: Tensor, values: Tensor
    ) -> Tensor:
        """Neighbors of some rows; returns the rows that are left, by number in the part."""
        from .kernels import search as kernels

        tiles, space, group = self.tiles, self.space, self._group(k)
        rows, d = Q[part], Q.shape[1]
        m, device = len(rows), space.device
        pad, groups = -(-m // tiles.tiling.rows) * tiles.tiling.rows, tiles.n_columns // group
        a, square, r = self._round(rows, pad)
        far = ~(square <= LARGEST_NORM**2)  # also where rounding gave an infinity
        minima = torch.empty(groups, pad, device=device)
        self._fill_minima(a, minima, group)
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
                count, found, tiles.n_columns, group, tiles.width, self.is_thin, 64, capacity, 128,
                sub, num_warps=8,
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

    def _round(self, rows: Tensor, pad: int) -> tuple[Tensor, Tensor, Tensor]:
        """One side of the products in float16, squared norms, and norms of what rounding took."""
        d = rows.shape[1]
        h, square, r = round_rows(self.space, rows, self.tiles.scale, torch.float16)
        h[~(square <= LARGEST_NORM**2)] = 0
        a = torch.zeros(pad, self.tiles.width, dtype=torch.float16, device=rows.device)
        a[: len(rows), :d] = -2 * h
        a[:, d : d + 3] = 1
        return a, square, r

    def _fill_minima(self, a: Tensor, minima: Tensor, group: int) -> None:
        """The smallest product of each row in each group of columns."""
        from .kernels import search as kernels

        tiles, (groups, pad) = self.tiles, minima.shape
        _, bm, bn, warps, stages = tiles.tiling
        if tiles.width <= 128:
            left = TensorDescriptor.from_tensor(a, [bm, tiles.width])
            right = TensorDescriptor.from_tensor(tiles.b, [bn, tiles.width])
            kernels.minima_of_narrow_rows[(pad // bm, groups)](
                left, right, minima, pad, group, bm, bn, stages, num_warps=warps
            )
            return
        left = TensorDescriptor.from_tensor(a, [bm, 64])
        right = TensorDescriptor.from_tensor(tiles.b, [bn, 64])
        shape = pad // bm, tiles.n_columns // bn
        kernels.minima_of_wide_rows[(shape[0] * shape[1],)](
            left, right, minima, pad, *shape, group, bm, bn, 64, tiles.width, 16,
            num_warps=warps, num_stages=stages,
        )  # fmt: skip

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
        radius = (bound.double() + square + e).clamp_min(0).sqrt() + 2 * (r + tiles.largest_error)
        value = radius.square() + e - square
        return (value + value.abs() * 2.0**-22).float()


class ThinSearch(TiledSearch):
    """Of few features, by differences in float32: a product would lose the digits of near rows.

    A million points of a t-SNE embedding are 500 times as far from each other as from their
    neighbors.
    """

    is_thin: ClassVar[bool] = True

    def _round(self, rows: Tensor, pad: int) -> tuple[Tensor, Tensor, Tensor]:
        h, square, r = round_rows(self.space, rows, self.tiles.scale, torch.float32)
        a = torch.zeros(pad, rows.shape[1], device=rows.device)
        a[: len(rows)] = h
        return a, square, r

    def _fill_minima(self, a: Tensor, minima: Tensor, group: int) -> None:
        from .kernels import search as kernels

        (bm, bn), (groups, pad) = THIN_TILE, minima.shape
        kernels.minima_of_thin_rows[(pad // bm, groups)](
            a, self.tiles.b, minima, pad, self.tiles.n_columns, group, self.tiles.width, bm, bn,
            num_warps=4,
        )  # fmt: skip

    def _limit(self, bound: Tensor, square: Tensor, r: Tensor) -> Tensor:  # noqa: ARG002
        """As of TiledSearch; a sum of squares is off by few units of its own rounding."""
        radius = (bound.double() * (1 + THIN_SLACK)).sqrt() + 2 * (r + self.tiles.largest_error)
        return (radius.square() * (1 + THIN_SLACK) + SMALLEST_SQUARE).float()


def tile_rows(space: DeviceRows) -> TiledRows | None:
    """Columns of the product; None where rows do not fit into float16 (all equal)."""
    n, d = space.rows.shape
    width = 64 if d + 3 <= 64 else -(-(d + 3) // 64) * 64
    tiling = choose_tiling(n, width)
    unit = max(tiling.group, tiling.rows, tiling.columns)
    scale, order = _choose_scale(space), _permute(space)
    if scale is None:
        return None
    b = torch.zeros(-(-n // unit) * unit, width, dtype=torch.float16, device=space.device)
    b[n:, d] = FAR_COLUMN
    top = error = 0.0
    for i in range(0, n, 2**18):
        h, square, r = round_rows(space, space.rows[order[i : i + 2**18]], scale, b.dtype)
        part = b[i : i + len(h)]
        part[:, :d] = h
        for c in range(3):  # |h|² in three parts
            part[:, d + c] = square
            square = square - part[:, d + c].double()
        top = max(top, float(h.double().square().sum(1).max()))
        error = max(error, float(r.max()))
    return TiledRows(b, order, scale, top, error, width, tiling)


def tile_thin_rows(space: DeviceRows) -> TiledRows | None:
    """Columns of the differences, one axis after the other; None where all rows are equal."""
    n, d = space.rows.shape
    scale, order = _choose_scale(space), _permute(space)
    if scale is None:
        return None
    tiling = choose_tiling(n, d)._replace(rows=THIN_TILE[0])
    h, square, r = round_rows(space, space.rows[order], scale, torch.float32)
    b = torch.full((d, -(-n // tiling.group) * tiling.group), FAR_AXIS, device=space.device)
    b[:, :n] = h.T
    return TiledRows(b, order, scale, float(square.max()), float(r.max()), d, tiling)


def _choose_scale(space: DeviceRows) -> float | None:
    """A power of two by which centered rows have norms up to LARGEST_NORM; None if all are 0."""
    norm = max(
        float((z.double() * space.unit - space.center).square().sum(1).max()) ** 0.5
        for z in space.rows.split(2**18)
    )
    if not 0 < norm < np.inf:
        return None
    return float(2.0 ** np.floor(np.log2(LARGEST_NORM / norm))) * space.unit


def _permute(space: DeviceRows) -> Tensor:
    """Near rows are often adjacent: permuted, they do not share groups."""
    generator = torch.Generator(space.device).manual_seed(1)
    return torch.randperm(len(space.rows), generator=generator, device=space.device)


def round_rows(
    space: DeviceRows, rows: Tensor, scale: float, dtype: TensorType
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of fewer digits, their squared norms, and the norm of what rounding has taken."""
    z = rows.double() * scale - space.center * (scale / space.unit)
    h = z.to(dtype)
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
