"""Nearest neighbors of dense rows under the Euclidean distance on the device: always exact.

There are two searches, of which both name candidates by bounds and rank them by distances in
float64 of the original rows, ties by index:

- by products in float64 (plain torch): squared distances |z|² - 2 z z' of centered rows are off by
  a few units of rounding of (|z_i| + |z_j|)². Whatever is within twice that of the k-th smallest is
  a candidate;
- by products in float16 on tensor cores, for many rows (`TiledSearch`).

A row with more candidates than a list holds (duplicates, nearly equal distances, far outliers) goes
to the next slower search; the last one computes all distances of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from .. import progress
from ..evidence.quality.metric_spaces import RowSelection, all_ranks, rank_listed
from ..parameters import Indices, Reals
from ..spaces.neighbors import Neighbors, RowIndex
from ..spaces.space import Rows, nearest_rows, query_rows
from .arrays import (
    Tensor,
    TensorDescriptor,
    TensorType,
    device,
    explaining_memory,
    has_kernels,
    is_worth,
    keep,
    kernels,
    remembered,
    require_memory,
    resident,
    rows_per_block,
    to_device,
    to_numpy,
    torch,
    triton,
)
from .rows import fold_sum


@nearest_rows.register("torch")
def _(index: RowIndex, k: int) -> Neighbors:
    if not is_worth(len(index.X) ** 2, 2**22):
        return nearest_rows.function(index, k)
    with explaining_memory(f"neighbors of {len(index.X)} rows"):
        rows = device_rows(index)
        found = rows.search(rows.rows, k, among=True)
        indices, distances = map(to_numpy, found)
    keep(indices, found[0])
    keep(distances, found[1])
    return Neighbors.of_table(indices, distances)


@query_rows.register("torch")
def _(index: RowIndex, Q: Reals, k: int) -> Neighbors:
    if not is_worth(len(index.X) ** 2, 2**22):
        return query_rows.function(index, Q, k)
    if Q.dtype == np.float64 and index.X.dtype == np.float32:
        return query_rows(index.wide, Q, k)
    with explaining_memory(f"neighbors among {len(index.X)} rows"):
        new = to_device(Q.astype(index.X.dtype, copy=False))
        indices, distances = map(to_numpy, device_rows(index).search(new, k, among=False))
    return Neighbors.of_table(indices, distances)


@rank_listed.register("torch")
def _(space: Rows, lists: Indices, rows: RowSelection) -> Indices:
    if not is_worth(space.n**2, 2**22) or not lists.size:
        return rank_listed.function(space, lists, rows)
    with explaining_memory(f"ranks of {space.n} rows"):
        own = torch.arange(space.n, device=device()) if rows is None else to_device(rows)
        return to_numpy(device_rows(space.index).ranks(own, to_device(lists, torch.int64)))


@all_ranks.register("torch")
def _(D: Reals, own: Indices) -> Indices:
    if not is_worth(D.size, 2**22):
        return all_ranks.function(D, own)
    with explaining_memory(f"ranks of {len(D)} rows"):
        return to_numpy(ranks_in_rows(to_device(D, torch.float64).clone(), to_device(own)))


def ranks_in_rows(D: Tensor, own: Tensor) -> Tensor:
    """The rank of each entry in its row, ties by column; the own one has 0. D is changed."""
    D[torch.arange(len(D), device=D.device), own] = -torch.inf  # The own one comes first.
    order = torch.sort(D, dim=1, stable=True).indices
    places = torch.arange(D.shape[1], device=D.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, places).int()


@remembered
def device_rows(index: RowIndex) -> DeviceRows:
    """The rows of an index, prepared on the device."""
    require_memory(24 * index.X.size, f"neighbors of rows of shape {index.X.shape}")
    return DeviceRows(resident(index.X), index.root, index.factor, index.center)


class DeviceRows:
    """Dense rows and their Euclidean distances, or the squares of these (no root), times a factor.

    Rows are centered, and scaled so that squares neither over- nor underflow. Distances come from
    products, off by a few units of rounding that are known, or from differences of the rows.
    """

    def __init__(self, rows: Tensor, root: bool, factor: float, center: Reals) -> None:
        self.rows, self.root, self.factor = rows, root, factor
        self.device, self._center = rows.device, center

    @cached_property
    def unit(self) -> float:
        """A power of two: squares of numbers up to 2^300 and from 2^-300 on need none but 1."""
        largest = float(self.rows.abs().amax().double()) if self.rows.numel() else 0.0
        exponent = int(np.frexp(largest)[1])
        if not 0 < largest < np.inf or abs(exponent) < 300:
            return 1.0
        return float(2.0 ** -np.clip(exponent, -1000, 1000))

    @cached_property
    def center(self) -> Tensor:
        """Some point near the rows, in units."""
        return to_device(self._center, torch.float64) * self.unit

    @cached_property
    def centered(self) -> Tensor:
        return self.rows.double() * self.unit - self.center

    @cached_property
    def squares(self) -> Tensor:
        return fold_sum(self.centered.square())

    @cached_property
    def _tiled(self) -> TiledSearch | None:
        return TiledSearch.of(self)

    def approximate(self, Q: Tensor) -> tuple[Tensor, Tensor]:
        """Squared distances less |q|², from centered rows in units; and a bound on differences.

        An entry is off by (d + 8) units of rounding of (|q| + |x|)², its terms; two of them are
        compared, and the slack is four times that. Beyond the range of numbers it is infinite.
        """
        q = Q.double() * self.unit - self.center
        G = torch.addmm(self.squares[None, :], q, self.centered.T, alpha=-2)
        size = fold_sum(q.square()).sqrt() + self.squares.max().sqrt()
        slack = 4 * (Q.shape[1] + 8) * 2.0**-53 * size.square()
        return torch.nan_to_num_(G, nan=torch.inf, posinf=torch.inf), slack

    def distances(self, Q: Tensor, columns: Tensor) -> Tensor:
        """Distances of rows of Q to some rows each, from differences in float64."""
        units = self._units(Q)
        m, c = columns.shape
        squares = torch.empty((m, c), dtype=torch.float64, device=self.device)
        step = max(1, rows_per_block(2 * m * Q.shape[1]))
        scaled = Q.double() * units[:, None]
        for i in range(0, c, step):
            rows = self.rows[columns[:, i : i + step]].double() * units[:, None, None]
            squares[:, i : i + step] = fold_sum((scaled[:, None, :] - rows).square_())
        return self.finish(squares, units[:, None])

    def _units(self, Q: Tensor) -> Tensor:
        """The unit of each row of Q: a smaller one where its squares would overflow."""
        units = torch.full((len(Q),), self.unit, dtype=torch.float64, device=self.device)
        if Q.dtype == torch.float32:
            return units
        largest = Q.abs().amax(1).double()
        exponent = torch.frexp(largest).exponent.double().clamp(-1000, 1000)
        smaller = torch.minimum(units, torch.exp2(-exponent))
        return torch.where(largest * self.unit > 2.0**300, smaller, units)

    def finish(self, squares: Tensor, units: Tensor | float) -> Tensor:
        """Distances from squares in units."""
        if self.root:
            return self.factor * (squares.sqrt() / units)
        return self.factor * (squares / units / units)

    # -- search ------------------------------------------------------------------------------------

    def search(self, Q: Tensor, k: int, among: bool) -> tuple[Tensor, Tensor]:
        """Indices and distances; `among` leaves each row out of its own neighbors."""
        m = len(Q)
        indices = torch.full((m, k), -1, dtype=torch.int32, device=self.device)
        values = torch.full((m, k), torch.inf, dtype=torch.float64, device=self.device)
        left = torch.arange(m, device=self.device)
        # Longer lists have more candidates than registers hold.
        tiled = self._tiled if 0 < k <= 192 and m else None
        if tiled is not None:
            parts, step = [], min(tiled.rows_at_once(k), m)
            for i in range(0, m, step):
                part = slice(i, min(i + step, m))
                parts.append(i + tiled.search(Q, part, k, among, indices, values))
                progress.report("neighbors", part.stop, m)
            left = torch.cat(parts)
        step = rows_per_block(2 * len(self.rows))
        for i in range(0, len(left) if k else 0, step):
            some = left[i : i + step]
            indices[some], values[some] = self._search_products(Q[some], some, k, among)
            progress.report("neighbors", min(i + step, len(left)), len(left))
        return indices, values

    def _search_products(
        self, Q: Tensor, rows: Tensor, k: int, among: bool, spare: int = 32
    ) -> tuple[Tensor, Tensor]:
        """By products in float64, with so many candidates beyond k."""
        n = len(self.rows)
        G, slack = self.approximate(Q)
        if among:
            G[torch.arange(len(Q), device=self.device), rows] = torch.inf
        count = min(n, k + spare)
        found, columns = torch.topk(G, count, largest=False, sorted=True)
        bound = found[:, k - 1] + slack
        doubtful = ~(found[:, -1] > bound) if count < n else torch.zeros_like(bound, dtype=bool)
        doubtful |= ~torch.isfinite(bound)
        values = self.distances(Q, columns)
        values[~(found <= bound[:, None])] = torch.inf
        if among:
            values[columns == rows[:, None]] = torch.inf
        columns, order = torch.sort(columns, dim=1)  # Ties are by column.
        values, order = torch.sort(torch.gather(values, 1, order), dim=1, stable=True)
        columns = torch.gather(columns, 1, order)
        indices, values = columns[:, :k].int(), values[:, :k]
        few = torch.nonzero(doubtful)[:, 0]
        for part in few.split(max(1, rows_per_block(2 * n * (Q.shape[1] + 2)))):
            all_values = self._all_distances(Q[part])
            if among:
                all_values[torch.arange(len(part), device=self.device), rows[part]] = torch.inf
            ranked = torch.sort(all_values, dim=1, stable=True)
            indices[part], values[part] = ranked.indices[:, :k].int(), ranked.values[:, :k]
        return indices, values

    def _all_distances(self, Q: Tensor) -> Tensor:
        everyone = torch.arange(len(self.rows), device=self.device)
        return self.distances(Q, everyone.expand(len(Q), -1))

    # -- ranks -------------------------------------------------------------------------------------

    def ranks(self, rows: Tensor, lists: Tensor) -> Tensor:
        """1 + how many others are nearer to each row than each listed one, or tie before it.

        Squared distances by products are counted below each listed one less the slack, and up to it
        and the slack: where there is more between than the listed one, all distances decide. A
        listed -1 has rank 0.
        """
        ranks = torch.empty(lists.shape, dtype=torch.int32, device=self.device)
        step = rows_per_block(4 * len(self.rows))
        for i in range(0, len(rows), step):
            part = slice(i, i + step)
            ranks[part], doubtful = self._count_nearer(rows[part], lists[part])
            left = i + torch.nonzero(doubtful)[:, 0]
            for some in left.split(max(1, step // (self.rows.shape[1] + 2))):
                all_ranks = ranks_in_rows(self._all_distances(self.rows[rows[some]]), rows[some])
                ranks[some] = torch.gather(all_ranks, 1, lists[some].clamp_min(0))
            progress.report("ranks", min(i + step, len(rows)), len(rows))
        return torch.where(lists < 0, 0, ranks)

    def _count_nearer(self, own: Tensor, lists: Tensor) -> tuple[Tensor, Tensor]:
        """Ranks, and which rows have doubtful ones."""
        G, slack = self.approximate(self.rows[own])
        G[torch.arange(len(own), device=self.device), own] = torch.inf
        k, middle = lists.shape[1], torch.gather(G, 1, lists.clamp_min(0))
        limits = torch.cat([middle - slack[:, None], middle + slack[:, None]], 1)
        limits, order = limits.sort(1)
        place = torch.searchsorted(limits, G)
        counts = torch.zeros(len(own), 2 * k + 1, dtype=torch.int64, device=self.device)
        counts.scatter_add_(1, place, torch.ones_like(place[:1]).expand_as(place))
        up_to = torch.empty_like(order).scatter_(1, order, counts.cumsum(1)[:, :-1])
        low, high = up_to[:, :k], up_to[:, k:]
        certain = (high == low + 1) & torch.isfinite(middle) | (lists < 0)
        return (low + 1).int(), ~certain.all(1)


# -- search by products in float16 on tensor cores, for many rows ----------------------------------
#
# Rows h = z - r are rounded, and three more columns hold |h_j|², so that a product is the squared
# distance less |h_i|², and only a minimum over each group of columns is left. The (k + 1)-th
# smallest minimum bounds the (k + 1)-th smallest distance, since every group holds a distance that
# is no larger. Groups with a minimum below that bound and its error are computed again, and the
# columns below it are ranked by distances in float64 of the original rows.


# For fewer rows products in float64 take no longer than to prepare tiles.
MIN_TILED_ROWS = 8192
MAX_TILED_FEATURES = 8192
# Rows are scaled to this norm: their squares stay below the largest float16, 65504.
LARGEST_NORM = 100.0
FAR_COLUMN = 60000.0  # Columns that only fill up the last tile have this squared norm.
MAX_GROUPS = 1024  # Columns are in so many groups, for few neighbors.
# Groups for each neighbor, where a group has several tiles: the share of the pairs of a row and a
# group that are computed again is about the inverse.
GROUPS_PER_NEIGHBOR = 24
MINIMA_AT_ONCE = 2**28  # Minima of rows over groups have 4 bytes each.
MAX_THIN_FEATURES = 4
THIN_TILE = (64, 32)  # It has so many rows and columns.
THIN_SLACK = 2.0**-19  # A square in float32 is off by no more.
SMALLEST_SQUARE = 1e-35  # Below it float32 has fewer digits.
FAR_AXIS = 1e15  # Columns that only fill up the last tile have this coordinate.


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
        tiles, space, group = self.tiles, self.space, self._group(k)
        rows, d = Q[part], Q.shape[1]
        m, device = len(rows), space.device
        pad, groups = -(-m // tiles.tiling.rows) * tiles.tiling.rows, tiles.n_columns // group
        a, square, r = self._round(rows, pad)
        far = ~(square <= LARGEST_NORM**2)  # Rounding may have given an infinity.
        minima = torch.empty(groups, pad, device=device)
        self._fill_minima(a, minima, group)
        bound = torch.empty(pad, device=device)
        power = triton.next_power_of_2(groups)
        block = max(4, min(16, 16384 // power))
        smaller = k + 1 if among else k
        kernels().kth_smallest[(pad // block,)](
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
            kernels().collect_candidates[(len(tile_group), group // sub)](
                a, tiles.b, limit, row, tile_group.int(), first.int(), cut[tile_group + 1].int(),
                count, found, tiles.n_columns, group, tiles.width, self.is_thin, 64, capacity, 128,
                sub, num_warps=8,
            )  # fmt: skip
        squares = torch.empty(m, capacity, dtype=torch.float64, device=device)
        named = torch.empty_like(found)
        unit = torch.tensor([space.unit], dtype=torch.float64, device=device)
        own = part.start if among else -(2**40)  # No row has this number.
        kernels().candidate_squares[(m, capacity // 16)](
            rows, space.rows, unit, found, count, tiles.order, named, squares, d, own,
            capacity, 16, 64, num_warps=4,
        )  # fmt: skip
        ranked = space.finish(squares, space.unit)
        kernels().rank_candidates[(m,)](
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
        tiles, (groups, pad) = self.tiles, minima.shape
        _, bm, bn, warps, stages = tiles.tiling
        if tiles.width <= 128:
            left = TensorDescriptor.from_tensor(a, [bm, tiles.width])
            right = TensorDescriptor.from_tensor(tiles.b, [bn, tiles.width])
            kernels().minima_of_narrow_rows[(pad // bm, groups)](
                left, right, minima, pad, group, bm, bn, stages, num_warps=warps
            )
            return
        left = TensorDescriptor.from_tensor(a, [bm, 64])
        right = TensorDescriptor.from_tensor(tiles.b, [bn, 64])
        shape = pad // bm, tiles.n_columns // bn
        kernels().minima_of_wide_rows[(shape[0] * shape[1],)](
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
        (bm, bn), (groups, pad) = THIN_TILE, minima.shape
        kernels().minima_of_thin_rows[(pad // bm, groups)](
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
        for c in range(3):  # |h|² has three parts.
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
