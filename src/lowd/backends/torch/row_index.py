"""Index of dense rows for Euclidean nearest neighbors on a device: always exact.

Two searches, of which both name candidates by bounds and rank them by distances in float64 of the
original rows, ties by index:

- by products in float64 (plain torch): squared distances |z|² - 2 z z' of centered rows are off by
  a few units of rounding of (|z_i| + |z_j|)². Whatever is within twice that of the k-th smallest is
  a candidate;
- by products in float16 on tensor cores (Triton), for many rows. Rows h = z - r are rounded, and
  three more columns hold |h_j|², so that a product is the squared distance less |h_i|², and only a
  minimum over each group of columns is left. The (k + 1)-th smallest minimum bounds the (k + 1)-th
  smallest distance, since every group holds a distance that is no larger. Groups with a minimum
  below that bound and its error are computed again.

A row with more candidates than a list holds (duplicates, nearly equal distances, far outliers) goes
to the next slower search; the last one computes all distances of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import progress
from ..protocol import Array, Float64, Ints, Neighbors
from .arrays import explaining_memory, free_bytes, has_kernels, rows_per_block, to_device, to_numpy
from .library import Device, Tensor, TensorDescriptor, torch, triton

FLOAT64_ROUNDING = 2.0**-53
# Candidates beyond k that are looked at before a row is searched by all its distances.
SPARE_CANDIDATES = 32
MIN_TILED_ROWS = 8192  # below, products in float64 take no longer than preparing tiles
MAX_TILED_NEIGHBORS = 192  # lists of 256 candidates; longer ones take too many registers
MAX_TILED_FEATURES = 8192
LARGEST_NORM = 100.0  # of scaled rows: squares stay below the largest float16, 65504
FAR_COLUMN = 60000.0  # the squared norm of columns that only fill up the last tile
# Rows in a block: their minima over groups, 4 bytes each, are 1 GB at most.
ROWS_PER_SEARCH = 2**18
MAX_GROUPS = 1024  # of columns
RANK_PARTS, RANK_BLOCK = 8, 128  # parts of the columns in which nearer ones are counted
MAX_SAFE_EXPONENT = 300  # squares of numbers up to 2^300 and from 2^-300 on need no scaling


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


@dataclass
class DeviceRowIndex:
    """Rows on the device under the Euclidean distance, or its square, times a factor."""

    rows: Tensor
    measure: str
    factor: float
    center: Float64 | None

    @property
    def device(self) -> Device:
        return self.rows.device

    @cached_property
    def unit(self) -> float:
        """A power of two by which rows are scaled, so that squares neither over- nor underflow."""
        largest = float(self.rows.abs().amax().double()) if self.rows.numel() else 0.0
        exponent = int(np.frexp(largest)[1])
        if not 0 < largest < np.inf or abs(exponent) < MAX_SAFE_EXPONENT:
            return 1.0
        return float(2.0 ** -np.clip(exponent, -1000, 1000))

    @cached_property
    def _center(self) -> Tensor:
        if self.center is not None and np.isfinite(self.center).all():
            return to_device(self.center, self.device, torch.float64) * self.unit
        return _centers(self.rows, self.unit)

    @cached_property
    def _centered(self) -> Tensor:
        return self.rows.double() * self.unit - self._center

    @cached_property
    def _squares(self) -> Tensor:
        return fold_sum(self._centered.square())

    def others(self, k: int) -> Neighbors:
        with explaining_memory(f"neighbors of {len(self.rows)} rows", self.device):
            indices, values = self.search(self.rows, k, among=True)
            return Neighbors(to_numpy(indices), to_numpy(values))

    def query(self, Q: Array, k: int) -> Neighbors:
        if self.rows.dtype == torch.float32 and Q.dtype == np.float64:
            return self._in_float64.query(Q, k)
        with explaining_memory(f"neighbors among {len(self.rows)} rows", self.device):
            rows = to_device(Q, self.device).to(self.rows.dtype)
            indices, values = self.search(rows, k, among=False)
            return Neighbors(to_numpy(indices), to_numpy(values))

    @cached_property
    def _in_float64(self) -> DeviceRowIndex:
        """For float64 queries of float32 rows."""
        return DeviceRowIndex(self.rows.double(), self.measure, self.factor, self.center)

    def ranks(self, rows: NDArray[np.int64] | None, listed: Ints) -> Ints:
        n, step = len(self.rows), rows_per_block(4 * len(self.rows), self.device)
        asked = torch.arange(n, device=self.device)
        if rows is not None:
            asked = to_device(rows, self.device, torch.int64)
        columns = to_device(listed, self.device, torch.int64)
        ranks = torch.empty_like(columns, dtype=torch.int32)
        with explaining_memory(f"ranks of {n} rows", self.device):
            left = torch.arange(len(asked), device=self.device)
            if has_kernels(self.device) and listed.size:
                left = self._rank_most(asked, columns, ranks)
            for i in range(0, len(left), step):
                some = left[i : i + step]
                ranks[some] = self._rank(asked[some], columns[some])
                progress.report("ranks", min(i + step, len(left)), len(left))
        found: Ints = to_numpy(ranks)
        return found

    def search(self, Q: Tensor, k: int, among: bool) -> tuple[Tensor, Tensor]:
        """Indices and distances as tensors; `among` leaves each row out of its own neighbors."""
        m = len(Q)
        indices = torch.full((m, k), -1, dtype=torch.int32, device=self.device)
        values = torch.full((m, k), torch.inf, dtype=torch.float64, device=self.device)
        left = torch.arange(m, device=self.device)
        if k and self._is_tiled(k, m):
            step = min(ROWS_PER_SEARCH, m)
            parts = []
            for i in range(0, m, step):
                part = slice(i, min(i + step, m))
                parts.append(i + self._search_tiles(Q, part, k, among, indices, values))
                progress.report("neighbors", part.stop, m)
            left = torch.cat(parts)
        step = rows_per_block(2 * len(self.rows), self.device)
        for i in range(0, len(left) if k else 0, step):
            some = left[i : i + step]
            indices[some], values[some] = self._search_products(Q[some], some, k, among)
            progress.report("neighbors", min(i + step, len(left)), len(left))
        return indices, values

    # -- by products in float64 --------------------------------------------------------------

    def _search_products(
        self, Q: Tensor, rows: Tensor, k: int, among: bool
    ) -> tuple[Tensor, Tensor]:
        n = len(self.rows)
        G, slack = self._approximate(Q)
        if among:
            G[torch.arange(len(Q), device=self.device), rows] = torch.inf
        count = min(n, k + SPARE_CANDIDATES)
        found, columns = torch.topk(G, count, largest=False, sorted=True)
        bound = found[:, k - 1] + slack
        doubtful = ~(found[:, -1] > bound) if count < n else torch.zeros_like(bound, dtype=bool)
        doubtful |= ~torch.isfinite(bound)
        values = self._distances(Q, columns)
        values[~(found <= bound[:, None])] = torch.inf
        if among:
            values[columns == rows[:, None]] = torch.inf
        columns, values = sort_by_value(columns, values)
        indices, values = columns[:, :k].int(), values[:, :k]
        few = torch.nonzero(doubtful)[:, 0]
        step = max(1, rows_per_block(2 * n * (Q.shape[1] + 2), self.device))
        for part in few.split(step):
            own = rows[part] if among else None
            indices[part], values[part] = self._search_all(Q[part], own, k)
        return indices, values

    def _search_all(self, Q: Tensor, own: Tensor | None, k: int) -> tuple[Tensor, Tensor]:
        """By all distances of some rows."""
        columns = torch.arange(len(self.rows), device=self.device).expand(len(Q), -1)
        values = self._distances(Q, columns)
        if own is not None:
            values[torch.arange(len(Q), device=self.device), own] = torch.inf
        order = torch.sort(values, dim=1, stable=True)
        return order.indices[:, :k].int(), order.values[:, :k]

    def _approximate(self, Q: Tensor) -> tuple[Tensor, Tensor]:
        """Squared distances less |q|², from centered rows in units; and a bound on differences.

        An entry is off by (d + 8) units of rounding of (|q| + |x|)², its terms; two of them are
        compared, and the slack is four times that. Beyond the range of numbers it is infinite.
        """
        q = Q.double() * self.unit - self._center
        G = torch.addmm(self._squares[None, :], q, self._centered.T, alpha=-2)
        size = fold_sum(q.square()).sqrt() + self._squares.max().sqrt()
        slack = 4 * (Q.shape[1] + 8) * FLOAT64_ROUNDING * size.square()
        return torch.nan_to_num_(G, nan=torch.inf, posinf=torch.inf), slack

    def _distances(self, Q: Tensor, columns: Tensor) -> Tensor:
        """Distances of rows of Q to some rows each, from differences in float64."""
        units = self._units(Q)
        m, c = columns.shape
        squares = torch.empty((m, c), dtype=torch.float64, device=self.device)
        step = max(1, rows_per_block(2 * m * Q.shape[1], self.device))
        scaled = Q.double() * units[:, None]
        for i in range(0, c, step):
            rows = self.rows[columns[:, i : i + step]].double() * units[:, None, None]
            squares[:, i : i + step] = fold_sum((scaled[:, None, :] - rows).square_())
        return self._finish(squares, units[:, None])

    def _units(self, Q: Tensor) -> Tensor:
        """The unit of each row of Q: a smaller one where its squares would overflow."""
        units = torch.full((len(Q),), self.unit, dtype=torch.float64, device=self.device)
        if Q.dtype == torch.float32:
            return units
        largest = Q.abs().amax(1).double()
        far = largest * self.unit > 2.0**MAX_SAFE_EXPONENT
        exponent = torch.frexp(largest).exponent.double().clamp(-1000, 1000)
        return torch.where(far, torch.minimum(units, torch.exp2(-exponent)), units)

    def _finish(self, squares: Tensor, units: Tensor | float) -> Tensor:
        """Distances, or squared ones, times the factor from squares in units."""
        if self.measure == "euclidean":
            return self.factor * (squares.sqrt() / units)
        return self.factor * (squares / units / units)

    def _rank_most(self, rows: Tensor, columns: Tensor, ranks: Tensor) -> Tensor:
        """Ranks of lists without doubt; the numbers of the others.

        Doubt is where more than the listed row itself is within the slack of its own distance.
        """
        from .kernels.search import count_below

        n, count = len(self.rows), columns.shape[1]
        width = max(16, triton.next_power_of_2(count))
        step, parts = max(1, (free_bytes(self.device) or 0) // (32 * n)), RANK_PARTS
        span = -(-n // (parts * RANK_BLOCK)) * RANK_BLOCK
        left = []
        for i in range(0, len(rows), step):
            own, listed = rows[i : i + step], columns[i : i + step]
            m, line = len(own), torch.arange(len(own), device=self.device)
            q = self._centered[own]
            product = q @ self._centered.T
            product[line, own] = -torch.inf  # then the row itself is beyond all
            at = listed.clamp_min(0)
            middle = self._squares[at] - 2 * torch.gather(product, 1, at)
            size = self._squares[own].sqrt() + self._squares.max().sqrt()
            slack = 4 * (q.shape[1] + 8) * FLOAT64_ROUNDING * size.square()
            low = torch.full((m, width), -torch.inf, dtype=torch.float64, device=self.device)
            high = low.clone()
            low[:, :count] = middle - slack[:, None]
            high[:, :count] = middle + slack[:, None]
            below = torch.empty(m, parts, width, dtype=torch.int32, device=self.device)
            within = torch.empty_like(below)
            count_below[(m, parts)](
                product, self._squares, low, high, below, within, n, span, width, RANK_BLOCK,
                num_warps=4,
            )  # fmt: skip
            less, most = below.sum(1)[:, :count], within.sum(1)[:, :count]
            listed_ones = listed >= 0
            ranks[i : i + step] = torch.where(listed_ones, less + 1, 0).int()
            doubtful = ((most - less != 1) & listed_ones).any(1) | ~torch.isfinite(slack)
            left.append(i + torch.nonzero(doubtful)[:, 0])
            progress.report("ranks", i + m, len(rows))
        return torch.cat(left)

    def _rank(self, rows: Tensor, columns: Tensor) -> Tensor:
        """1 + the number of other rows that are nearer than each listed one, or tie before it."""
        Q, m = self.rows[rows], len(rows)
        G, slack = self._approximate(Q)
        line = torch.arange(m, device=self.device)
        G[line, rows] = torch.inf  # which no list counts
        ranks = torch.empty_like(columns, dtype=torch.int32)
        for c in range(columns.shape[1]):
            at = columns[:, c].clamp_min(0)
            middle = G[line, at]
            low, high = (middle - slack)[:, None], (middle + slack)[:, None]
            count = (low > G).sum(1)
            unclear = torch.nonzero((low <= G) & (high >= G))
            i, j = unclear[:, 0], unclear[:, 1]
            listed = self._distances(Q, at[:, None])[:, 0]
            for some in torch.arange(len(i), device=self.device).split(2**22):
                value = self._distances(Q[i[some]], j[some, None])[:, 0]
                before = (value < listed[i[some]]) | (
                    (value == listed[i[some]]) & (j[some] < at[i[some]])
                )
                count += torch.bincount(i[some][before], minlength=m)
            ranks[:, c] = torch.where(columns[:, c] < 0, 0, count + 1).int()
        return ranks

    # -- by products in float16 on tensor cores ----------------------------------------------

    def _is_tiled(self, k: int, m: int) -> bool:
        n, d = self.rows.shape
        return (
            has_kernels(self.device)
            and n >= MIN_TILED_ROWS
            and k <= MAX_TILED_NEIGHBORS
            and d <= MAX_TILED_FEATURES
            and m > 0
            and self._tiles is not None
        )

    @cached_property
    def _tiles(self) -> TiledRows | None:
        """Columns of the product; None where rows do not fit into float16 (all equal)."""
        n, d = self.rows.shape
        width = 64 if d + 3 <= 64 else -(-(d + 3) // 64) * 64
        tiling = choose_tiling(n, width)
        unit = max(tiling.group, tiling.rows, tiling.columns)
        center = self._center
        norm = max(
            float((z.double() * self.unit - center).square().sum(1).max()) ** 0.5
            for z in self.rows.split(2**18)
        )
        if not 0 < norm < np.inf:
            return None
        scale = float(2.0 ** np.floor(np.log2(LARGEST_NORM / norm))) * self.unit
        # Near rows are often adjacent: permuted, they do not share groups.
        generator = torch.Generator(self.device).manual_seed(1)
        order = torch.randperm(n, generator=generator, device=self.device)
        b = torch.zeros(-(-n // unit) * unit, width, dtype=torch.float16, device=self.device)
        b[n:, d] = FAR_COLUMN
        top = error = 0.0
        for i in range(0, n, 2**18):
            h, square, r = self._round(self.rows[order[i : i + 2**18]], scale)
            part = b[i : i + len(h)]
            part[:, :d] = h
            for c in range(3):  # |h|² in three pieces
                part[:, d + c] = square
                square = square - part[:, d + c].double()
            top = max(top, float(h.double().square().sum(1).max()))
            error = max(error, float(r.max()))
        return TiledRows(b, order, center, scale, top, error, width, tiling)

    def _round(self, rows: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
        """Rows in float16, their squared norms, and the norm of what rounding has taken."""
        z = rows.double() * scale - self._center * (scale / self.unit)
        h = z.half()
        r = (z - h.double()).square().sum(1).sqrt() * (1 + 1e-9)
        return h, h.double().square().sum(1), r

    def _search_tiles(
        self, Q: Tensor, part: slice, k: int, among: bool, indices: Tensor, values: Tensor
    ) -> Tensor:
        """Neighbors of some rows; returns the rows that are left, by number in the part."""
        from .kernels import search as kernels

        tiles = self._tiles
        assert tiles is not None
        group, bm, bn, warps, stages = tiles.tiling
        rows, d = Q[part], Q.shape[1]
        m, width, device = len(rows), tiles.width, self.device
        h, square, r = self._round(rows, tiles.scale)
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
        limit[:m] = self._limit(bound[:m], square, r, tiles)
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
        unit = torch.tensor([self.unit], dtype=torch.float64, device=device)
        own = part.start if among else -(2**40)  # no row is left out
        kernels.candidate_squares[(m, capacity // 16)](
            rows, self.rows, unit, found, count, tiles.order, named, squares, d, own,
            capacity, 16, 64, num_warps=4,
        )  # fmt: skip
        ranked = self._finish(squares, self.unit)
        kernels.rank_candidates[(m,)](
            ranked, named, count, indices[part], values[part], k, capacity, num_warps=4
        )
        too_many = far | (count > capacity) | (indices[part][:, -1] < 0)
        return torch.nonzero(too_many)[:, 0]

    def _limit(self, bound: Tensor, square: Tensor, r: Tensor, tiles: TiledRows) -> Tensor:
        """The largest product of a row that can belong to one of its nearest neighbors.

        |d - d'| <= |r_i| + |r_j| for distances d of the rows and d' of the rounded rows. A product
        of K terms is off by (1.1 K + 20) 2^-23 of the sum of their sizes: each term, and each sum
        of 16 of them, is at worst cut off at the 24 bits of the largest.
        """
        top = tiles.largest_square
        terms = top + 2 * (square * top).sqrt()
        e = (1.1 * tiles.width + 20) * 2.0**-23 * terms
        reach = (bound.double() + square + e).clamp_min(0).sqrt() + 2 * (r + tiles.largest_error)
        value = reach.square() + e - square
        return (value + value.abs() * 2.0**-22).float()


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


def fold_sum(A: Tensor) -> Tensor:
    """Sums over the last axis by halves: one order of additions, whatever the other axes are."""
    while A.shape[-1] > 1:
        half = (A.shape[-1] + 1) // 2
        folded = A[..., :half].clone()
        folded[..., : A.shape[-1] - half] += A[..., half:]
        A = folded
    return A[..., 0] if A.shape[-1] else torch.zeros(A.shape[:-1], dtype=A.dtype, device=A.device)


def sort_by_value(columns: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of columns by their values, ties by column."""
    columns, order = torch.sort(columns, dim=1)
    values, order = torch.sort(torch.gather(values, 1, order), dim=1, stable=True)
    return torch.gather(columns, 1, order), values


def _centers(rows: Tensor, unit: float) -> Tensor:
    """The mean of the rows in units; any point near them would do."""
    total = torch.zeros(rows.shape[1], dtype=torch.float64, device=rows.device)
    for part in rows.split(2**18):
        total += (part.double() * unit).sum(0)
    return total / len(rows)
