# ruff: noqa: ARG002 - the signatures are those of the native core's classes
"""Descents in the plane: attraction along edges, repulsion by a mesh or by exact sums.

With kernels one iteration is one CUDA graph, captured for each size of the mesh. Points are in the
order of a space-filling curve, so that neighbors lie near each other in memory.

A mesh holds the potential of all points on a grid, by Fourier transforms. Charges are spread by
cubic splines to nodes, in fixed point: integers have the same sum in any order. The kernel's
transform is divided by that of the splines, once for spreading and once for interpolation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..parameters import Reals
from .arrays import (
    Tensor,
    device,
    explaining_memory,
    has_kernels,
    kernels,
    require_memory,
    to_device,
    to_numpy,
    torch,
)
from .matrices import Parts

# Numbers of padded nodes on an axis have small factors. A graph is captured for each size that a
# descent needs, which takes as long as 40 iterations; transforms of fewer nodes take no less time.
MESH_SIZES = (256, 512, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192)
MESH_BORDER = 11  # Splines and the next steps may need so many nodes on each side.
FIXED_POINT = 2.0**40  # Charges are int64: 2^22 points on one node have room.
MAX_COPIES = 64  # Points of one cell do not wait for each other: a small grid has copies.
NODES_PER_COPY = 2**18

Radial: TypeAlias = Callable[[Tensor], Tensor]  # It is a kernel of squared distances.


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
        self.grid = torch.zeros(self.half, size, device=device())  # Its right half stays 0.
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


# -- the descent -----------------------------------------------------------------------------------


SORT_EVERY = 100  # Points are sorted again after so many iterations.
CHECK_EVERY = 50  # After so many iterations the host looks whether the mesh holds all points.
POTENTIAL_PARTS = 1024  # The potential is summed in so many parts.
POINTS_PER_PROGRAM = 256


class Forces(NamedTuple):
    """What attracts and repels: t-SNE without a curve, UMAP with one."""

    radial: Radial  # the repulsive potential of squared distances
    spacing: float  # of nodes
    curve: tuple[float, float] | None  # a and b of the similarity
    scale: float  # of the potential's gradient in the repulsion


class PlaneDescent:
    """Points, velocities, gains and edges on the device, in slots; `order` has their numbers."""

    def __init__(self, edges: Parts, law: Forces, use_mesh: bool = True) -> None:
        n, nnz, where = edges.size, len(edges.values), device()
        require_memory(40 * nnz + 200 * n, f"a descent of {n} points with {nnz} edges")
        self.n, self.law, self.use_mesh = n, law, use_mesh
        self.kernels = has_kernels(where)
        self.meshes: dict[tuple[int, float], Mesh] = {}
        self.graphs: dict[Any, Any] = {}
        self.pool = torch.cuda.graph_pool_handle() if self.kernels else None
        # These are copies, since they are sorted in place.
        self.start_of, self.col = edges.starts.clone(), edges.columns.clone()
        self.val = edges.values.float()
        self.order = torch.arange(n, device=where)
        self.y = torch.zeros(n, 2, device=where)
        self.velocity, self.gain = torch.zeros_like(self.y), torch.ones_like(self.y)
        self.force = torch.zeros_like(self.y)
        self.programs = -(-n // POINTS_PER_PROGRAM)
        self.part = torch.zeros(self.programs, 4, device=where)
        self.box = torch.zeros(4, device=where)
        self.counter = torch.zeros(1, dtype=torch.int32, device=where)
        self.schedule = torch.zeros(CHECK_EVERY, 3, device=where)
        self.zpart = torch.zeros(POTENTIAL_PARTS, dtype=torch.float64, device=where)
        self.repel = torch.zeros(2, n, device=where)
        degree = nnz / max(n, 1)
        self.lanes = 32 if degree <= 40 else 64 if degree <= 200 else 128
        self.scheduled = np.full((CHECK_EVERY, 3), np.nan, np.float32)
        self.span = 0.0  # The span of the points; the mesh is centered at them.
        self.current_mesh: Mesh | None = None
        self.steps = self.steps_in_phase = 0
        self.phase: tuple[float, ...] = ()  # These settings change when a phase begins.

    def normalizer(self, total: float) -> float:
        """What repulsive forces are divided by, from the sum of the potential."""
        return 1.0

    def grid_scale(self) -> float:
        """The factor of the mesh's potential that repels new points."""
        return 1.0

    def start(self, Y: Reals) -> None:
        self.y.copy_(to_device(Y)[self.order])
        self.velocity.zero_()
        self.gain.fill_(1)
        self.steps = self.steps_in_phase = 0
        self._measure()
        self.span, self.current_mesh = float(self.box[2]), None

    def embedding(self, out: Reals) -> None:
        out[:] = self._unsorted(self.y)

    def take_steps(self, settings: Reals, phase: tuple[float, ...] = ()) -> float:
        """A step for each row of the settings; the sum of the squares of the last ones.

        The mesh has room for points to move: for much where a phase begins, as they jump there.
        """
        if phase != self.phase:
            self.phase, self.steps_in_phase = phase, 0
        done, reached, moved = 0, 0.0, 0.0
        while done < len(settings):
            if self.steps % SORT_EVERY == 0:
                self.sort_points()
            until_sort = SORT_EVERY - self.steps % SORT_EVERY
            count = min(CHECK_EVERY, len(settings) - done, until_sort)
            margin = 2.0 if self.steps_in_phase < 50 else 1.08
            mesh = self._mesh_for(max(margin * self.span, reached))
            if mesh is not self.current_mesh and mesh is not None:
                self._center_mesh(mesh)
            self.current_mesh = mesh
            before = self.y.clone(), self.velocity.clone(), self.gain.clone()
            self._set_schedule(settings[done : done + count])
            self.counter.zero_()
            self.box[3:].zero_()
            with explaining_memory(f"a descent of {self.n} points"):
                self._run(mesh, count)
            # One look at the device tells all that the host needs to know.
            last = self.velocity.double().square().sum()
            self.span, most, moved = torch.cat([self.box[2:].double(), last[None]]).tolist()
            if mesh is not None and not most <= mesh.capacity:
                # Points have left the mesh: these steps are taken again, on a larger one.
                for held, old in zip((self.y, self.velocity, self.gain), before, strict=True):
                    held.copy_(old)
                self._measure()
                self.span, self.current_mesh = float(self.box[2]), None
                reached = max(1.2 * most if np.isfinite(most) else 0.0, 1.5 * mesh.capacity)
                continue
            done, reached = done + count, 0.0
            self.steps += count
            self.steps_in_phase += count
        return float(moved)

    def _set_schedule(self, settings: Reals) -> None:
        """Settings of the next steps; mostly those of the last ones."""
        given = np.zeros((len(settings), 3), np.float32)
        given[:, : settings.shape[1]] = np.clip(settings, -1e30, 1e30)
        if not np.array_equal(given, self.scheduled[: len(given)]):
            self.schedule[: len(given)] = to_device(given)
            self.scheduled[: len(given)] = given

    def attraction(self) -> Reals:
        self._attract()
        return self._unsorted(self.force)

    def repulsion(self) -> tuple[Reals, float]:
        """Repulsive forces before they are divided by Z, and the sum of the potential."""
        mesh = self._mesh_for(float(self.box[2]))
        phi = self._potential(mesh)
        if self.kernels:
            self._launch_step(mesh, phi, force=True)
        found = self.repel.T
        if mesh is not None and not self.kernels:
            found = self._interpolate(mesh, phi)
        return self._unsorted(found), float(self.zpart.sum())

    def own_potential(self) -> float:
        """What the points add to the sum of the potential by themselves."""
        mesh = self._mesh_for(float(self.box[2]))
        assert mesh is not None
        self._center_mesh(mesh)
        return mesh.own_potential(self.y, self.box[:2])

    def forces(self, Y: Reals, attraction: Reals, repulsion: Reals, threads: int) -> None:
        self.start(Y)
        attraction[:] = self.attraction()
        found, total = self.repulsion()
        repulsion[:] = found / self.normalizer(total)

    def interpolation_grid(
        self, Y: Reals, threads: int
    ) -> tuple[Reals, list[int], list[float], float]:
        """The potential on the mesh, as the native core describes it."""
        self.start(Y)
        mesh = self._mesh_for(float(self.box[2]), always=True)
        assert mesh is not None
        # The first axis is that of columns.
        phi = self._potential(mesh)[:, : mesh.half].T * self.grid_scale()
        corner = to_numpy(self.box[:2]).tolist()
        return to_numpy(phi).ravel(), [mesh.half, mesh.half], corner, mesh.spacing

    # -- a step ------------------------------------------------------------------------------

    def _run(self, mesh: Mesh | None, count: int) -> None:
        """The first step on a mesh runs as it is, which compiles; then its graph is captured."""
        if not self.kernels:
            for _ in range(count):
                self._iterate(mesh)
            return
        key = None if mesh is None else (mesh.size, mesh.spacing)
        if key not in self.graphs:
            self._iterate(mesh)
            count -= 1
            graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(device())
            stream.wait_stream(torch.cuda.current_stream(device()))
            with torch.cuda.stream(stream):
                # One graph runs at a time, so all of them may have the same memory.
                graph.capture_begin(self.pool, capture_error_mode="thread_local")
                self._iterate(mesh)
                graph.capture_end()
            torch.cuda.current_stream(device()).wait_stream(stream)
            self.graphs[key] = graph
        for _ in range(count):
            self.graphs[key].replay()

    def _iterate(self, mesh: Mesh | None) -> None:
        self._attract()
        phi = self._potential(mesh, is_centered=True)
        if not self.kernels:
            self._plain_step(mesh, phi)
            return
        self._launch_step(mesh, phi, force=False)
        spacing, half = (1.0, 2) if mesh is None else (mesh.spacing, mesh.half)
        kernels().enclose[(1,)](
            self.part, self.box, self.counter, self.programs, spacing, half, 1024, num_warps=8
        )

    def _attract(self) -> None:
        curve = self.law.curve
        if self.kernels:
            given = self.start_of, self.col, self.val, self.y.view(torch.int64), self.force
            warps = max(1, self.lanes // 64)
            factors = curve or (0.0, 0.0)
            kernels().attract[(self.n,)](
                *given, *factors, curve is None, self.lanes, num_warps=warps
            )
            return
        counts = self.start_of[1:] - self.start_of[:-1]
        rows = torch.repeat_interleave(torch.arange(self.n, device=device()), counts)
        gap = self.y[rows] - self.y[self.col.long()]
        s = gap.square().sum(1)
        if curve is None:
            weight = self.val / (1 + s)
        else:
            (a, b), s = curve, s.clamp(1e-12, 1e12)
            odds = a * s**b
            weight = -self.val * 2 * b * odds / (s * (1 + odds))
        self.force = torch.segment_reduce(
            weight[:, None] * gap, "sum", offsets=self.start_of, axis=0, initial=0
        )

    def _potential(self, mesh: Mesh | None, is_centered: bool = False) -> Tensor:
        """The potential on the mesh, and its sum over points in parts; or exact sums."""
        if mesh is None:
            self._repel_exactly()
            return self.force  # Nobody reads it.
        if not is_centered:
            self._center_mesh(mesh)
        if not self.kernels:
            mesh.spread(self.y, self.box[:2])
            phi = mesh.convolve()
            self.zpart.zero_()
            self.zpart[0] = (mesh.grid.double() * phi).sum()
            return phi
        how = 1 / mesh.spacing, mesh.half, FIXED_POINT, mesh.copies
        compiled = kernels()
        compiled.spread_charges[(-(-self.n // 32),)](
            self.y, self.box, mesh.rho, self.n, *how, 32, num_warps=4
        )
        compiled.sum_charges[(mesh.half,)](
            mesh.rho, mesh.grid, mesh.half, mesh.size, 1 / FIXED_POINT, mesh.copies, 512,
            num_warps=4,
        )  # fmt: skip
        phi = mesh.convolve()
        compiled.multiply_grids[(POTENTIAL_PARTS,)](
            mesh.grid, phi, self.zpart, mesh.half, mesh.size, POTENTIAL_PARTS, 512, num_warps=4
        )
        return phi

    def _repel_exactly(self) -> None:
        """Exact sums of t-SNE's repulsion over all points."""
        repel, z = sum_pairs(self.y)
        self.repel.copy_(repel)
        self.zpart.zero_()
        self.zpart[0] = z + self.n  # As on a mesh, points count themselves.

    def _launch_step(self, mesh: Mesh | None, phi: Tensor, force: bool) -> None:
        half, size, h = (2, 4, 1.0) if mesh is None else (mesh.half, mesh.size, mesh.spacing)
        kernels().step[(self.programs,)](
            self.y, self.force, phi, self.zpart, self.box, self.counter, self.schedule,
            self.velocity, self.gain, self.part, self.repel, self.n, self.n, 1 / h, half, size,
            self.law.scale / h, 1e-6 * self.n, mesh is not None, self.law.curve is None,
            force, POTENTIAL_PARTS, POINTS_PER_PROGRAM, num_warps=4,
        )  # fmt: skip

    def _interpolate(self, mesh: Mesh, phi: Tensor) -> Tensor:
        slope = mesh.gradient(phi, self.y, self.box[:2])
        return slope * (self.law.scale / mesh.spacing)

    def _plain_step(self, mesh: Mesh | None, phi: Tensor) -> None:
        repel = self.repel.T if mesh is None else self._interpolate(mesh, phi)
        settings = self.schedule[int(self.counter)]
        if self.law.curve is None:
            exaggeration, momentum, rate = settings
            z = max(float(self.zpart.sum()) - self.n, 1e-6 * self.n)
            slope = exaggeration * self.force - repel / z
            uphill = slope * self.velocity > 0
            gain = torch.where(uphill, self.gain * 0.8, self.gain + 0.2).clamp_min(0.01)
            self.gain = gain
            v, longest = momentum * self.velocity - rate * gain * slope, 5.0
        else:
            v = 0.8 * self.velocity + settings[0] * (self.force + settings[1] * repel)
            longest = 4.0
        v = v.clamp(-1e15, 1e15)
        length = v.square().sum(1, keepdim=True).sqrt()
        self.velocity = v * (longest / length.clamp_min(longest))
        self.y = self.y + self.velocity
        self.counter += 1
        self._measure(mesh)

    # -- where points are --------------------------------------------------------------------

    def _measure(self, mesh: Mesh | None = None) -> None:
        low, high = self.y.amin(0), self.y.amax(0)
        span = (high - low).amax()
        self.box[2] = span
        self.box[3] = torch.maximum(span, self.box[3])
        if mesh is not None:
            self.box[:2] = (low + high) / 2 - mesh.spacing * (mesh.half // 2)

    def _center_mesh(self, mesh: Mesh) -> None:
        middle, self.current_mesh = (self.y.amin(0) + self.y.amax(0)) / 2, None
        self.box[:2] = middle - mesh.spacing * (mesh.half // 2)

    def _mesh_for(self, span: float, always: bool = False) -> Mesh | None:
        if not (self.use_mesh or always):
            return None
        h = self.law.spacing
        need = 2 * (int(span / h) + 2 * MESH_BORDER)
        size = next((size for size in MESH_SIZES if size >= need), None)
        if size is None:  # Nodes become coarser instead of more.
            size = MESH_SIZES[-1]
            h = 1.5 * span / (size // 2 - 22)
        if (size, h) not in self.meshes:
            require_memory(40 * size * size, f"a mesh of {size} x {size} nodes")
            self.meshes[size, h] = Mesh(size, h, self.law.radial)
        return self.meshes[size, h]

    def sort_points(self) -> None:
        """Put points into the order of a space-filling curve, in place: graphs know addresses."""
        low, high = self.y.amin(0), self.y.amax(0)
        unit = 65535 / (high - low).amax().clamp_min(1e-30)
        cell = ((self.y - low) * unit).long().clamp_(0, 65535)
        key = _spread_bits(cell[:, 0]) | (_spread_bits(cell[:, 1]) << 1)
        order = torch.sort(key, stable=True).indices
        slot = torch.empty(self.n, dtype=torch.int32, device=device())
        slot[order] = torch.arange(self.n, dtype=torch.int32, device=device())
        for held in (self.y, self.velocity, self.gain, self.order):
            held.copy_(held[order])
        counts = (self.start_of[1:] - self.start_of[:-1])[order]
        start = torch.zeros_like(self.start_of)
        start[1:] = torch.cumsum(counts, 0)
        if self.kernels:
            col, val = torch.empty_like(self.col), torch.empty_like(self.val)
            kernels().permute_rows[(self.n,)](
                self.start_of, self.col, self.val, order, slot, start, col, val, 128, num_warps=1
            )
        else:
            first = torch.repeat_interleave(self.start_of[:-1][order] - start[:-1], counts)
            at = first + torch.arange(len(self.col), device=device())
            col, val = slot[self.col[at].long()], self.val[at]
        self.start_of.copy_(start)
        self.col.copy_(col)
        self.val.copy_(val)

    def _unsorted(self, A: Tensor) -> Reals:
        out = torch.empty(A.shape, dtype=torch.float64, device=device())
        out[self.order] = A.double()
        found: Reals = to_numpy(out)
        return found


def _spread_bits(v: Tensor) -> Tensor:
    """16 bits to every other bit."""
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        v = (v | (v << shift)) & mask
    return v


# -- exact sums over all pairs, in float32, and sums of sums in float64 ----------------------------


# A tile has so many targets and sources, and the sources are in so many parts.
TILE, PARTS = (64, 32), 8


def sum_pairs(y: Tensor) -> tuple[Tensor, Tensor]:
    """Sums over all others of w² (y - y_j) as (2, n), and of w over all ordered pairs.

    w = 1 / (1 + d²).
    """
    n = len(y)
    if not has_kernels(y.device):
        repel, total = y.new_empty(2, n), torch.zeros((), dtype=torch.float64)
        for i in range(0, n, 1024):
            gap = y[i : i + 1024, None, :] - y
            w = 1 / (1 + gap.square().sum(2))
            total += w.sum(dtype=torch.float64).cpu()
            repel[:, i : i + 1024] = (w.square()[:, :, None] * gap).sum(1).T
        return repel, total - n
    xy, pad = _columns(y, 1e18)  # There are no forces so far away.
    span = -(-pad // (PARTS * TILE[1])) * TILE[1]
    out = y.new_empty(PARTS, 3, pad)
    kernels().repel_exactly[(pad // TILE[0], PARTS)](*xy, out, pad, span, *TILE, num_warps=4)
    total = out.sum(0)[:, :n]
    return total[:2], total[2].sum(dtype=torch.float64) - n


def sum_similarities(y: Tensor) -> float:
    """The sum of w = 1 / (1 + d²) over all ordered pairs of float32 points; each pair once."""
    n = len(y)
    if not has_kernels(y.device):
        return float(sum_pairs(y)[1])
    # Two sources share one reciprocal: products of their squares stay in range.
    xy, pad = _columns(y - y.mean(0), 1e9)
    out = y.new_empty(PARTS, pad)
    kernels().sum_similarities[(pad // TILE[0], PARTS)](*xy, out, pad, *TILE, num_warps=4)
    return 2 * float(out[:, :n].sum(dtype=torch.float64)) - n


def _columns(y: Tensor, far: float) -> tuple[Tensor, int]:
    """One axis after the other, and far points that fill up the last tile."""
    pad = -(-len(y) // TILE[0]) * TILE[0]
    xy = y.new_full((2, pad), far)
    xy[:, : len(y)] = y.T
    return xy, pad
