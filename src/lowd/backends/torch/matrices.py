"""Matrices on a device, dense or sparse, for products with blocks of vectors that stay there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from numpy.typing import NDArray

from ..vectors import PRODUCT, Entries, Terms
from .arrays import has_kernels, rows_per_block, to_device, to_numpy
from .library import Device, Tensor, torch
from .sparse import Parts

# Entries of a sparse row that a program adds at a time, and columns of a block.
PRODUCT_TILE = (8, 16)


class DeviceVectors:
    """Vectors of an iteration as tensors; nothing but `hold` and `fetch` copies them."""

    device: Device

    def hold(self, A: NDArray[Entries]) -> Tensor:
        return to_device(A, self.device)

    def fetch(self, A: Tensor) -> NDArray[Entries]:
        return to_numpy(A)

    def empty(self, n_rows: int, n_columns: int) -> Tensor:
        return torch.empty(n_rows, n_columns, dtype=torch.float64, device=self.device)


@dataclass(frozen=True)
class DeviceMatrix(DeviceVectors):
    """A dense matrix A on the device, or -A∘A/2, multiplied in float64."""

    A: Tensor
    half_square: bool = False

    @property
    def device(self) -> Device:
        return self.A.device

    def matmul(self, V: Tensor, terms: Terms = PRODUCT) -> Tensor:
        v = V.double()
        out = self.empty(len(self.A), v.shape[1])
        step = rows_per_block(4 * self.A.shape[1], self.device)
        for i in range(0, len(self.A), step):
            part = self.A[i : i + step].double()
            if self.half_square:
                part = part.square().mul_(-0.5)
            torch.matmul(part, v, out=out[i : i + step])
        return terms.add_to(out, v)


@dataclass(frozen=True)
class DeviceSparseMatrix(DeviceVectors):
    """A sparse matrix on the device."""

    parts: Parts

    @property
    def device(self) -> Device:
        return self.parts.values.device

    def matmul(self, V: Tensor, terms: Terms = PRODUCT) -> Tensor:
        starts, columns, values = self.parts
        if not has_kernels(self.device):
            product = self.parts.sum_rows(values[:, None] * V[columns.long()])
            return terms.add_to(product, V)
        from .kernels.graphs import multiply

        V = V.contiguous()
        out = self.empty(self.parts.size, V.shape[1])
        alpha, beta, gamma, U = terms
        other: Tensor = V if U is None else U
        factors = _hold_factors(alpha, beta, 0.0 if U is None else gamma, self.device)
        k, (edges, width) = V.shape[1], PRODUCT_TILE
        width = min(width, max(2, 1 << (k - 1).bit_length()))
        vectors = V, other.contiguous(), out
        multiply[(self.parts.size, -(-k // width))](
            starts, columns, values, *vectors, factors, k, edges, width, num_warps=1
        )
        return out


@lru_cache(64)
def _hold_factors(alpha: float, beta: float, gamma: float, device: Device) -> Tensor:
    """Factors in float64, in which Triton takes none; those of a recurrence are used many times."""
    return torch.tensor([alpha, beta, gamma], dtype=torch.float64, device=device)
