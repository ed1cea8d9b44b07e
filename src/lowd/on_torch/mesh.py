"""A particle mesh in the plane: the potential of points on a grid, by Fourier transforms.

Charges are spread by cubic splines to nodes, in fixed point: integers have the same sum in any
order. The kernel's transform is divided by that of the splines, once for spreading and once for
interpolation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .arrays import device
from .library import Tensor, torch

# Padded nodes on an axis, of small factors. A graph is captured for each size that a descent needs,
# which takes as long as 40 iterations; below 256 nodes transforms take no less time.
MESH_SIZES = (256, 512, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192)
MESH_BORDER = 11  # nodes on each side that splines and the next steps may need
FIXED_POINT = 2.0**40  # charges in int64: 2^22 points on one node have room
MAX_COPIES = 64  # of a small grid, so that points of one cell do not wait for each other
NODES_PER_COPY = 2**18

Radial: TypeAlias = Callable[[Tensor], Tensor]  # a kernel of squared distances


class Mesh:
    """A grid of `half` nodes on an axis, padded to `size`, and the kernel's transform."""

    def __init__(self, size: int, spacing: float, radial: Radial) -> None:
        self.size, self.half, self.spacing = size, size // 2, spacing
        steps = torch.arange(size, device=device(), dtype=torch.float64)
        squares = (torch.minimum(steps, size - steps) * spacing).square()
        window = ((4 + 2 * torch.cos(2 * torch.pi * steps / size)) / 6).square()
        kernel = torch.fft.rfft2(radial(squares[:, None] + squares[None, :])).real
        kernel /= window[:, None] * window[None, : size // 2 + 1] * size**2
        self.kernel = kernel.float().unsqueeze(-1).contiguous()
        self.copies = max(1, min(MAX_COPIES, NODES_PER_COPY // self.half**2))
        shape = self.copies, self.half, self.half
        self.rho = torch.zeros(shape, dtype=torch.int64, device=device())
        self.grid = torch.zeros(self.half, size, device=device())  # the right half stays 0
        spectrum = size, self.half + 1
        self.spectrum = torch.zeros(spectrum, dtype=torch.complex64, device=device())

    @property
    def capacity(self) -> float:
        """The widest span of points that the nodes hold."""
        return self.spacing * (self.half - 6)

    def convolve(self) -> Tensor:
        """The potential at the nodes; rows of zeros and rows that nobody reads are left out."""
        torch.fft.rfft(self.grid, dim=1, out=self.spectrum[: self.half])
        s = torch.fft.fft(self.spectrum, dim=0)
        torch.view_as_real(s).mul_(self.kernel)
        s = torch.fft.ifft(s, dim=0, norm="forward")
        phi: Tensor = torch.fft.irfft(s[: self.half], n=self.size, dim=1, norm="forward")
        return phi

    # -- plain torch, where there are no kernels ---------------------------------------------

    def spread(self, y: Tensor, corner: Tensor) -> None:
        at, weights, _ = self._splines(y, corner)
        charges = (weights[0][:, None, :] * weights[1][:, :, None] * FIXED_POINT).long()
        rho = torch.zeros(self.half * self.half, dtype=torch.int64, device=y.device)
        rho.index_add_(0, at.reshape(-1), charges.reshape(-1))
        self.grid[:, : self.half] = rho.reshape(self.half, self.half).float() / FIXED_POINT

    def gradient(self, phi: Tensor, y: Tensor, corner: Tensor) -> Tensor:
        """The gradient of the potential at points, in units of the spacing."""
        at, weights, slopes = self._splines(y, corner)
        values = phi[:, : self.half].reshape(-1)[at]
        gx = (values * slopes[0][:, None, :] * weights[1][:, :, None]).sum((1, 2))
        gy = (values * weights[0][:, None, :] * slopes[1][:, :, None]).sum((1, 2))
        return torch.stack([gx, gy], 1)

    def _splines(self, y: Tensor, corner: Tensor) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Numbers of the 16 nodes of each point (row, column), splines and slopes on each axis."""
        u = ((y - corner) / self.spacing).clamp(1, self.half - 3)
        cell = u.long()
        offsets = torch.arange(-1, 3, device=y.device)
        s = (u - cell)[:, :, None] - offsets
        a = s.abs()
        far = (2 - a).clamp_min(0)
        weight = torch.where(a < 1, a * a * (0.5 * a - 1) + 2 / 3, far**3 / 6)
        slope = torch.where(a < 1, s * (1.5 * a - 2), -0.5 * torch.sign(s) * far * far)
        nodes = cell[:, :, None] + offsets
        at = nodes[:, 1, :, None] * self.half + nodes[:, 0, None, :]
        return at, [weight[:, 0], weight[:, 1]], [slope[:, 0], slope[:, 1]]

    def own_potential(self, y: Tensor, corner: Tensor) -> float:
        """The part of the sum of the potential over points that they have by themselves."""
        self.grid.zero_()
        middle = self.half // 2
        self.grid[middle, middle] = 1
        near = self.convolve()[middle : middle + 4, middle : middle + 4].double()
        self.grid.zero_()
        _, weights, _ = self._splines(y, corner)
        products = []
        for w in weights:
            w = w.double()
            apart = [(w[:, : 4 - q] * w[:, q:]).sum(1) * (2 if q else 1) for q in range(4)]
            products.append(torch.stack(apart, 1))
        return float(torch.einsum("ir,ic,rc->", products[1], products[0], near))


def mesh_size(span: float, spacing: float) -> int | None:
    """The least size for points of this span and room to grow; None if there is none."""
    need = 2 * (int(span / spacing) + 2 * MESH_BORDER)
    return next((size for size in MESH_SIZES if size >= need), None)
