"""Operations of graphs on a device: geodesic distances from many sources at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ... import progress
from ..native.graphs import NativeGeodesicPlan, NativeGraphs
from ..protocol import Array, Float64, GeodesicPlan, MatrixPlan, Ragged
from .arrays import explaining_memory, free_bytes, has_kernels, to_device, to_numpy
from .library import Device, Tensor, torch
from .matrices import DeviceMatrix

SOURCES_PER_SWEEP = 1024
SWEEPS_PER_CHECK = 4  # between the host's looks whether anything has changed
MIN_DEVICE_NODES = 4096  # below, the core is done before a device has begun


@dataclass(frozen=True)
class DeviceGeodesicPlan:
    """Shortest paths by relaxing edges, and products with all of them, which stay on the device."""

    graph: csr_array
    device: Device
    core: NativeGeodesicPlan

    def distances(self, sources: Ragged, offsets: Float64 | None = None) -> Array:
        n, m = self.graph.shape[0], len(sources.indptr) - 1
        out = np.empty((m, n), self.graph.dtype)
        counts = np.diff(sources.indptr)
        of_list = np.repeat(np.arange(m), counts)
        first = np.zeros(len(of_list)) if offsets is None else offsets
        with explaining_memory(f"geodesic distances of {n} nodes", self.device):
            for i in range(0, m, SOURCES_PER_SWEEP):
                stop = min(i + SOURCES_PER_SWEEP, m)
                entries = slice(sources.indptr[i], sources.indptr[stop])
                columns = of_list[entries] - i
                found = self._relax(sources.indices[entries], columns, first[entries], stop - i)
                out[i:stop] = to_numpy(found[:, : stop - i].T.contiguous())
                progress.report("shortest paths", stop, m)
        return out

    def half_squares(self) -> MatrixPlan:
        n, free = self.graph.shape[0], free_bytes(self.device)
        need = n * n * self.graph.dtype.itemsize + 8 * n * SOURCES_PER_SWEEP * 4
        if free is not None and need > free:
            return self.core.half_squares()
        return DeviceMatrix(self._all(), half_square=True)

    def _all(self) -> Tensor:
        """The distances between all nodes, of both directions the smaller."""
        n = self.graph.shape[0]
        G = torch.empty(n, n, dtype=self._length.dtype, device=self.device)
        with explaining_memory(f"geodesic distances between {n} nodes", self.device):
            for i in range(0, n, SOURCES_PER_SWEEP):
                nodes = self._order[i : i + SOURCES_PER_SWEEP]
                columns = np.arange(len(nodes))
                found = self._relax(nodes, columns, np.zeros(len(nodes)), len(nodes))
                G[to_device(nodes, self.device)] = found[:, : len(nodes)].T
                progress.report("shortest paths", i + len(nodes), n)
            for i in range(0, n, SOURCES_PER_SWEEP):
                for j in range(i, n, SOURCES_PER_SWEEP):
                    a, b = slice(i, i + SOURCES_PER_SWEEP), slice(j, j + SOURCES_PER_SWEEP)
                    least = torch.minimum(G[a, b], G[b, a].T)
                    G[a, b] = least
                    G[b, a] = least.T
        return G

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """Nodes in an order in which neighbors are near: paths are shortened along it at once."""
        lists = (np.ascontiguousarray(part) for part in (self.graph.indices, self.graph.indptr))
        graph = csr_array((np.ones(self.graph.nnz), *lists), self.graph.shape)
        order = reverse_cuthill_mckee(graph, symmetric_mode=True)
        return np.asarray(order, np.int64)

    @cached_property
    def _slot(self) -> Tensor:
        slot = np.empty_like(self._order)
        slot[self._order] = np.arange(len(slot))
        return to_device(slot, self.device)

    @cached_property
    def _entries(self) -> NDArray[np.int64]:
        """Of the graph in the order of the nodes: where each stored edge was."""
        counts = np.diff(self.graph.indptr)[self._order]
        starts = np.concatenate([[0], np.cumsum(counts)])
        first = np.repeat(self.graph.indptr[:-1][self._order] - starts[:-1], counts)
        return np.asarray(first + np.arange(self.graph.nnz), np.int64)

    @cached_property
    def _start(self) -> Tensor:
        counts = np.diff(self.graph.indptr)[self._order]
        return to_device(np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), self.device)

    @cached_property
    def _column(self) -> Tensor:
        nodes = to_device(self.graph.indices[self._entries], self.device, torch.int64)
        return self._slot[nodes].int()

    @cached_property
    def _length(self) -> Tensor:
        return to_device(self.graph.data[self._entries], self.device)

    def _relax(
        self, nodes: NDArray[Any], columns: NDArray[Any], first: Float64, count: int
    ) -> Tensor:
        """Distances (nodes x sources) from some nodes, each of a source, after its offset."""
        n = self.graph.shape[0]
        width = max(128, 1 << (count - 1).bit_length())
        dist = torch.full((n, width), torch.inf, dtype=self._length.dtype, device=self.device)
        at = self._slot[to_device(np.asarray(nodes, np.int64), self.device)]
        source = to_device(np.asarray(columns, np.int64), self.device)
        offset = to_device(first, self.device).to(dist.dtype)
        flat = at * width + source
        dist.view(-1).scatter_reduce_(0, flat, offset, "amin")
        now = torch.zeros(n, dtype=torch.int32, device=self.device)
        now[at] = 1
        sweep = 0
        while True:
            later = torch.zeros_like(now)
            if has_kernels(self.device):
                self._launch(dist, now, later, width)
            else:
                dist = self._sweep(dist, later)
            now, sweep = later, sweep + 1
            plain = not has_kernels(self.device)
            if (plain or sweep % SWEEPS_PER_CHECK == 0) and not bool(now.any()):
                return dist[self._slot]

    def _launch(self, dist: Tensor, now: Tensor, later: Tensor, width: int) -> None:
        from .kernels.graphs import relax

        block = min(width, 1024)
        relax[(len(now), width // block)](
            self._start, self._column, self._length, dist, now, later, width, block, num_warps=4
        )

    def _sweep(self, dist: Tensor, later: Tensor) -> Tensor:
        """All edges at once: the least of each node's own and its neighbors' with the edge."""
        through = dist[self._column.long()] + self._length[:, None]
        counts = self._start[1:] - self._start[:-1]
        rows = torch.repeat_interleave(torch.arange(len(counts), device=self.device), counts)
        new = dist.clone()
        new.scatter_reduce_(0, rows[:, None].expand_as(through), through, "amin")
        later.copy_((new < dist).any(1).int())
        return new


class DeviceGraphs(NativeGraphs):
    """Geodesic distances in a graph, and from outside it."""

    device: Device

    def geodesics(self, graph: csr_array | Array) -> GeodesicPlan:
        if not issparse(graph):
            return super().geodesics(graph)
        few = self.device.type == "cuda" and graph.shape[0] < MIN_DEVICE_NODES
        if few:
            return super().geodesics(graph)
        return DeviceGeodesicPlan(graph, self.device, NativeGeodesicPlan(graph, self.threads))
