"""Shortest paths in a graph on the device: edges are relaxed for many sources at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from .. import progress
from ..backend import allocate
from ..parameters import Graph, Product, Reals
from ..spaces.graph import path_products, paths_through
from ..spaces.neighbors import Neighbors
from .arrays import (
    device,
    explaining_memory,
    has_kernels,
    has_room,
    is_worth,
    remembered,
    to_device,
    to_numpy,
)
from .library import Tensor, torch
from .matrices import Dense

AT_ONCE = 1024  # sources


@paths_through.register("torch")
def _(edges: Graph | None, marks: Reals | None, first: Neighbors, inside: bool = False) -> Reals:
    if marks is not None or edges is None or not is_worth(edges.shape[0], 4096):
        return paths_through.function(edges, marks, first, inside)
    n, m = edges.shape[0], len(first.counts)
    out = allocate((m, n), edges.dtype, f"the paths from {m} points", "use landmarks")
    lengths = np.zeros(len(first.indices)) if inside else first.distances
    with explaining_memory(f"shortest paths between {n} points"):
        graph = paths_of(edges)
        for i in range(0, m, AT_ONCE):
            part = first.take(slice(i, min(i + AT_ONCE, m)))
            some = slice(first.indptr[i], first.indptr[i] + len(part.indices))
            found = graph.relaxed(part.indices, part.owners, lengths[some], len(part.counts))
            out[i : i + AT_ONCE] = to_numpy(found[:, : len(part.counts)].T)
            progress.report("shortest paths", min(i + AT_ONCE, m), m)
    return out


@path_products.register("torch")
def _(edges: Graph) -> Product:
    n = edges.shape[0]
    need = n * n * edges.dtype.itemsize + 32 * n * AT_ONCE
    if not is_worth(n, 4096) or not has_room(need, 1.0):
        return path_products.function(edges)
    with explaining_memory(f"the geodesic distances of {n} points"):
        return Dense(paths_of(edges).between_all(), half_square=True)


@remembered
def paths_of(edges: Graph) -> DevicePaths:
    return DevicePaths(edges)


class DevicePaths:
    """The edges of a graph on the device, in an order in which neighbors are near."""

    def __init__(self, edges: Graph) -> None:
        lists = (np.ascontiguousarray(part) for part in (edges.indices, edges.indptr))
        pattern = csr_array((np.ones(edges.nnz), *lists), edges.shape)
        order = np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=True), np.int64)
        slot = np.empty_like(order)
        slot[order] = np.arange(len(order))
        counts = np.diff(edges.indptr)[order]
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        entries = np.repeat(edges.indptr[:-1][order] - starts[:-1], counts) + np.arange(edges.nnz)
        self.n, self.order, self.slot = len(order), order, to_device(slot)
        self.start, self.length = to_device(starts), to_device(edges.data[entries])
        self.column = self.slot[to_device(edges.indices[entries], torch.int64)].int()

    def between_all(self) -> Tensor:
        """The lengths of the paths between all points, of both directions the smaller."""
        n = self.n
        G = torch.empty(n, n, dtype=self.length.dtype, device=device())
        for i in range(0, n, AT_ONCE):
            nodes = self.order[i : i + AT_ONCE]
            found = self.relaxed(nodes, np.arange(len(nodes)), np.zeros(len(nodes)), len(nodes))
            G[to_device(nodes)] = found[:, : len(nodes)].T
            progress.report("shortest paths", i + len(nodes), n)
        for i in range(0, n, AT_ONCE):
            for j in range(i, n, AT_ONCE):
                a, b = slice(i, i + AT_ONCE), slice(j, j + AT_ONCE)
                least = torch.minimum(G[a, b], G[b, a].T)
                G[a, b] = least
                G[b, a] = least.T
        return G

    def relaxed(
        self, nodes: NDArray[Any], columns: NDArray[Any], first: Reals, count: int
    ) -> Tensor:
        """Distances (nodes x sources) from some nodes, each of a source, after its offset."""
        width = max(128, 1 << (count - 1).bit_length())
        dist = torch.full((self.n, width), torch.inf, dtype=self.length.dtype, device=device())
        at = self.slot[to_device(np.asarray(nodes, np.int64))]
        source = to_device(np.asarray(columns, np.int64))
        offset = to_device(first).to(dist.dtype)
        flat = at * width + source
        dist.view(-1).scatter_reduce_(0, flat, offset, "amin")
        now = torch.zeros(self.n, dtype=torch.int32, device=device())
        now[at] = 1
        sweep = 0
        while True:
            later = torch.zeros_like(now)
            if has_kernels(device()):
                self._launch(dist, now, later, width)
            else:
                dist = self._sweep(dist, later)
            now, sweep = later, sweep + 1
            plain = not has_kernels(device())
            if (plain or sweep % 4 == 0) and not bool(now.any()):
                return dist[self.slot]

    def _launch(self, dist: Tensor, now: Tensor, later: Tensor, width: int) -> None:
        from .kernels.graphs import relax

        block = min(width, 1024)
        relax[(len(now), width // block)](
            self.start, self.column, self.length, dist, now, later, width, block, num_warps=4
        )

    def _sweep(self, dist: Tensor, later: Tensor) -> Tensor:
        """All edges at once: the least of each node's own and its neighbors' with the edge."""
        through = dist[self.column.long()] + self.length[:, None]
        counts = self.start[1:] - self.start[:-1]
        rows = torch.repeat_interleave(torch.arange(len(counts), device=device()), counts)
        new = dist.clone()
        new.scatter_reduce_(0, rows[:, None].expand_as(through), through, "amin")
        later.copy_((new < dist).any(1).int())
        return new
