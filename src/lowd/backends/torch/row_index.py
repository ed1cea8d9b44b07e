"""Index of dense rows for Euclidean nearest neighbors on a device: always exact.

Two searches, of which both name candidates by bounds and rank them by distances in float64 of the
original rows, ties by index:

- by products in float64 (plain torch): squared distances |z|² - 2 z z' of centered rows are off by
  a few units of rounding of (|z_i| + |z_j|)². Whatever is within twice that of the k-th smallest is
  a candidate;
- by products in float16 on tensor cores, for many rows (`tiled_search`).

A row with more candidates than a list holds (duplicates, nearly equal distances, far outliers) goes
to the next slower search; the last one computes all distances of the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ... import progress
from ..protocol import Array, Ints, Neighbors
from .arrays import Fetch, explaining_memory, has_kernels, rows_per_block, to_device, to_numpy
from .library import Tensor, torch
from .ranking import rank_exactly, rank_most
from .resident import ResidentArrays
from .row_geometry import RowGeometry
from .tiled_search import MAX_TILED_NEIGHBORS, TiledSearch

# Candidates beyond k that are compared before a row is searched by all its distances.
SPARE_CANDIDATES = 32


@dataclass
class DeviceRowIndex(RowGeometry):
    """Rows prepared for search; what it finds among them stays on the device as well."""

    resident: ResidentArrays = field(default_factory=ResidentArrays)

    def others(self, k: int) -> Neighbors:
        with explaining_memory(f"neighbors of {len(self.rows)} rows", self.device):
            found = HostNeighbors(len(self.rows), k)
            indices, values = self.search(self.rows, k, among=True, found=found.fetch)
        near = found.collect(indices, values)
        self.resident.keep(near.indices, indices)
        self.resident.keep(near.distances, values)
        return near

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
        return DeviceRowIndex(self.rows.double(), self.measure, self.factor, self.given_center)

    @cached_property
    def _tiled(self) -> TiledSearch | None:
        return TiledSearch.of(self)

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
                left = rank_most(self, asked, columns, ranks)
            for i in range(0, len(left), step):
                some = left[i : i + step]
                ranks[some] = rank_exactly(self, asked[some], columns[some])
                progress.report("ranks", min(i + step, len(left)), len(left))
        found: Ints = to_numpy(ranks)
        return found

    def search(
        self,
        Q: Tensor,
        k: int,
        among: bool,
        found: Callable[[slice, Tensor, Tensor], None] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Indices and distances as tensors; `among` leaves each row out of its own neighbors.

        `found` is called with blocks of rows that are complete before the others.
        """
        m = len(Q)
        indices = torch.full((m, k), -1, dtype=torch.int32, device=self.device)
        values = torch.full((m, k), torch.inf, dtype=torch.float64, device=self.device)
        left = torch.arange(m, device=self.device)
        tiled = self._tiled if 0 < k <= MAX_TILED_NEIGHBORS and m else None
        if tiled is not None:
            step = min(tiled.rows_at_once(k), m)
            parts = []
            for i in range(0, m, step):
                part = slice(i, min(i + step, m))
                parts.append(i + tiled.search(Q, part, k, among, indices, values))
                if found is not None and not len(parts[-1]):
                    found(part, indices[part], values[part])
                progress.report("neighbors", part.stop, m)
            left = torch.cat(parts)
        step = rows_per_block(2 * len(self.rows), self.device)
        for i in range(0, len(left) if k else 0, step):
            some = left[i : i + step]
            indices[some], values[some] = self._search_products(Q[some], some, k, among)
            progress.report("neighbors", min(i + step, len(left)), len(left))
        return indices, values

    def _search_products(
        self, Q: Tensor, rows: Tensor, k: int, among: bool
    ) -> tuple[Tensor, Tensor]:
        n = len(self.rows)
        G, slack = self.approximate(Q)
        if among:
            G[torch.arange(len(Q), device=self.device), rows] = torch.inf
        count = min(n, k + SPARE_CANDIDATES)
        found, columns = torch.topk(G, count, largest=False, sorted=True)
        bound = found[:, k - 1] + slack
        doubtful = ~(found[:, -1] > bound) if count < n else torch.zeros_like(bound, dtype=bool)
        doubtful |= ~torch.isfinite(bound)
        values = self.distances(Q, columns)
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
        values = self.distances(Q, columns)
        if own is not None:
            values[torch.arange(len(Q), device=self.device), own] = torch.inf
        order = torch.sort(values, dim=1, stable=True)
        return order.indices[:, :k].int(), order.values[:, :k]


def sort_by_value(columns: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of columns by their values, ties by column."""
    columns, order = torch.sort(columns, dim=1)
    values, order = torch.sort(torch.gather(values, 1, order), dim=1, stable=True)
    return torch.gather(columns, 1, order), values


class HostNeighbors:
    """Copies of neighbors for the host, of each block of rows while the next one is searched."""

    def __init__(self, n: int, k: int) -> None:
        self.indices, self.distances = np.empty((n, k), np.int32), np.empty((n, k))
        self._fetches: list[Fetch] = []
        self._left = [slice(0, n)]  # in order

    def fetch(self, part: slice, indices: Tensor, values: Tensor) -> None:
        """Begin to copy a block, which does not change any more."""
        out = self.indices[part], self.distances[part]
        self._fetches.append(Fetch((indices, values), out))
        last = self._left.pop()
        self._left += [slice(last.start, part.start), slice(part.stop, last.stop)]

    def collect(self, indices: Tensor, values: Tensor) -> Neighbors:
        """All of them; blocks that were not copied yet are now."""
        for part in self._left:
            if part.start < part.stop:
                to_numpy(indices[part], self.indices[part])
                to_numpy(values[part], self.distances[part])
        for fetch in self._fetches:
            fetch.result()
        return Neighbors(self.indices, self.distances)
