"""Sparse matrices on a device, which are copied to the host beside the device's next work."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ..protocol import Float64, Graph, to_csr
from .arrays import Fetch, to_device, to_numpy
from .library import Device, Tensor, torch


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

    def random_walk(self) -> tuple[Parts, Tensor]:
        """D^-1 times this graph, and its degrees D; a point without edges has none."""
        degrees = self.sum_rows(self.values)
        safe = torch.where(degrees > 0, degrees, 1.0)
        steps = self.values / torch.repeat_interleave(safe, self.starts[1:] - self.starts[:-1])
        return self._replace(values=steps), degrees


class DeviceGraph:
    """A square sparse matrix with sorted columns on a device; its copy for the host is under way.

    A fitted model holds the copy only, never memory of a device.
    """

    def __init__(self, parts: Parts, *, is_copied: bool = True) -> None:
        self.parts = parts
        self._fetch = Fetch(parts) if is_copied else None

    @property
    def shape(self) -> tuple[int, int]:
        return self.parts.size, self.parts.size

    def to_csr(self) -> csr_array:
        return self._csr

    def random_walk(self) -> tuple[DeviceGraph, Float64]:
        walk, degrees = self.parts.random_walk()
        return DeviceGraph(walk, is_copied=False), to_numpy(degrees)

    @cached_property
    def _csr(self) -> csr_array:
        starts, columns, values = (self._fetch or Fetch(self.parts)).result()
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
