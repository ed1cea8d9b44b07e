"""Nearest neighbors of dense rows under the Euclidean distance on the device: always exact.

There are two searches, of which both name candidates by bounds and rank them by distances in
float64 of the original rows, ties by index:

- by products in float64 (plain torch): squared distances |z|² - 2 z z' of centered rows are off by
  a few units of rounding of (|z_i| + |z_j|)². Whatever is within twice that of the k-th smallest is
  a candidate;
- by products in float16 on tensor cores, for many rows (`tiled_search`).

A row with more candidates than a list holds (duplicates, nearly equal distances, far outliers) goes
to the next slower search; the last one computes all distances of the row.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .. import progress
from ..evidence.quality.metric_spaces import RowSelection, all_ranks, rank_listed
from ..parameters import Indices, Reals
from ..spaces.neighbors import Neighbors, RowIndex
from ..spaces.space import Rows, nearest_rows, query_rows
from .arrays import (
    device,
    explaining_memory,
    is_worth,
    keep,
    remembered,
    require_memory,
    resident,
    rows_per_block,
    to_device,
    to_numpy,
)
from .library import Tensor, torch
from .rows import fold_sum
from .tiled_search import TiledSearch


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
    D[torch.arange(len(D), device=D.device), own] = -torch.inf  # what is left out comes first
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
        columns, order = torch.sort(columns, dim=1)  # so that ties are by column
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
