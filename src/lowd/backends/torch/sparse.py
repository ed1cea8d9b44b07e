"""Sparse matrices on a device, which are copied to the host beside the device's next work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..protocol import Float64, Graph, to_csr
from .arrays import Fetch, has_kernels, to_device, to_numpy
from .library import Device, Tensor, torch

WALK_LANES = 32  # edges of a point that are added at a time


class Parts(NamedTuple):
    """CSR on a device: int64 starts of rows, int32 columns, float64 values."""

    starts: Tensor
    columns: Tensor
    values: Tensor

    @property
    def size(self) -> int:
        return len(self.starts) - 1

    def row_numbers(self) -> Tensor:
        """The row of each entry, in int32."""
        rows = torch.arange(self.size, dtype=torch.int32, device=self.starts.device)
        return torch.repeat_interleave(rows, self.starts[1:] - self.starts[:-1])

    def sum_rows(self, entries: Tensor) -> Tensor:
        """Sums over the entries of each row, in their order."""
        return torch.segment_reduce(entries, "sum", offsets=self.starts, axis=0, initial=0)


class DeviceGraph:
    """A square sparse matrix with sorted columns on a device; its copy for the host is under way.

    A fitted model holds the copy only, never memory of a device.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._fetch = Fetch(parts)

    @property
    def shape(self) -> tuple[int, int]:
        return self.parts.size, self.parts.size

    def to_csr(self) -> csr_array:
        return self._csr

    @cached_property
    def _csr(self) -> csr_array:
        starts, columns, values = self._fetch.result()
        small = len(columns) <= np.iinfo(np.int32).max
        found = values, columns, starts.astype(np.int32) if small else starts
        W = csr_array(found, self.shape)
        W.has_sorted_indices = True
        return W


def parts_of(graph: Graph, device: Device) -> Parts:
    """A graph on a device, where it may be already."""
    if isinstance(graph, DeviceGraph) and graph.parts.values.device == device:
        return graph.parts
    W = to_csr(graph)
    return Parts(
        to_device(W.indptr, device, torch.int64),
        to_device(W.indices, device, torch.int32),
        to_device(W.data, device, torch.float64),
    )


@dataclass(frozen=True)
class DeviceWalk:
    """The random walk on a graph; points stay on the device for all steps of a call."""

    graph: Parts
    degrees: Float64
    probabilities: Tensor

    @classmethod
    def on(cls, graph: Parts) -> DeviceWalk:
        degrees = graph.sum_rows(graph.values)
        safe = torch.where(degrees > 0, degrees, 1.0)
        counts = graph.starts[1:] - graph.starts[:-1]
        probabilities = graph.values / torch.repeat_interleave(safe, counts)
        return cls(graph, to_numpy(degrees), probabilities)

    def advance(self, Y: Float64, steps: int) -> Float64:
        y = to_device(Y, self.probabilities.device, torch.float64).contiguous()
        for _ in range(steps):
            y = self._step(y)
        found: Float64 = to_numpy(y)
        return found

    def _step(self, y: Tensor) -> Tensor:
        starts, columns, _ = self.graph
        if not has_kernels(y.device):
            ends = y[columns.long()]
            return 0.5 * self.graph.sum_rows(self.probabilities[:, None] * ends) + 0.5 * y
        from .kernels.graphs import walk

        new, (n, k) = torch.empty_like(y), y.shape
        walk[(n, k)](starts, columns, self.probabilities, y, new, k, WALK_LANES, num_warps=1)
        return new


def count_columns(indices: Tensor, n: int) -> NDArray[np.int64]:
    """How often each of n columns occurs."""
    found: NDArray[np.int64] = to_numpy(torch.bincount(indices.long(), minlength=n))
    return found
