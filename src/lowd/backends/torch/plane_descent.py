"""Descent in the plane on a device: attraction along edges, repulsion by a mesh or exact sums.

With kernels one iteration is one CUDA graph, captured for each size of the mesh. Points are in the
order of a space-filling curve, so that neighbors lie near each other in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..protocol import Array, Float64, InterpolationGrid, LayoutCurve
from .arrays import has_kernels, require_memory, to_device, to_numpy
from .library import Device, OfTriton, Tensor, torch
from .mesh import FIXED_POINT, MESH_SIZES, Mesh, Radial, mesh_size
from .plane_sums import sum_pairs
from .sparse import Parts

PLANE_SORT_INTERVAL = 100  # iterations between two sortings of the points
STEPS_PER_CHECK = 50  # iterations at most, after which the host looks whether the mesh holds all
FIRST_MARGIN, LATER_MARGIN = 2.0, 1.08  # of the span: the embedding jumps when a phase begins
FIRST_STEPS = 50
POTENTIAL_PARTS = 1024  # of the sum of the potential
POINTS_PER_PROGRAM = 256


@dataclass
class Forces:
    """What attracts and repels: t-SNE without a curve, UMAP with one."""

    radial: Radial  # the repulsive potential of squared distances
    spacing: float  # of nodes
    curve: LayoutCurve | None
    scale: float  # of the potential's gradient in the repulsion


@dataclass
class PlaneDescent:
    """Points, velocities, gains and edges on the device, in slots; `order` has their numbers."""

    edges: Parts
    forces: Forces
    use_mesh: bool
    device: Device
    meshes: dict[tuple[int, float], Mesh] = field(default_factory=dict)
    graphs: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, nnz = self.edges.size, len(self.edges.values)
        need = 40 * nnz + 200 * n
        require_memory(need, f"a descent of {n} points with {nnz} edges", self.device)
        self.n, self.kernels = n, has_kernels(self.device)
        self.pool = torch.cuda.graph_pool_handle() if self.kernels else None
        # Copies: they are sorted in place.
        self.start_of, self.col = self.edges.starts.clone(), self.edges.columns.clone()
        self.val = self.edges.values.float()
        self.order = torch.arange(n, device=self.device)
        self.y = torch.zeros(n, 2, device=self.device)
        self.velocity, self.gain = torch.zeros_like(self.y), torch.ones_like(self.y)
        self.force = torch.zeros_like(self.y)
        self.programs = -(-n // POINTS_PER_PROGRAM)
        self.part = torch.zeros(self.programs, 4, device=self.device)
        self.box = torch.zeros(4, device=self.device)
        self.counter = torch.zeros(1, dtype=torch.int32, device=self.device)
        self.schedule = torch.zeros(STEPS_PER_CHECK, 3, device=self.device)
        self.zpart = torch.zeros(POTENTIAL_PARTS, dtype=torch.float64, device=self.device)
        self.repel = torch.zeros(2, n, device=self.device)
        degree = nnz / max(n, 1)
        self.lanes = 32 if degree <= 40 else 64 if degree <= 200 else 128
        self.scheduled = np.full((STEPS_PER_CHECK, 3), np.nan, np.float32)
        self.span = 0.0  # of the points, and the mesh that is centered at them
        self.current_mesh: Mesh | None = None
        self.steps = self.steps_in_phase = 0
        self.phase: tuple[float, ...] = ()  # settings that change when a phase begins

    def start(self, Y: Array) -> None:
        self.y.copy_(to_device(Y, self.device)[self.order])
        self.velocity.zero_()
        self.gain.fill_(1)
        self.steps = self.steps_in_phase = 0
        self._measure()
        self.span, self.current_mesh = float(self.box[2]), None

    def embedding(self) -> Float64:
        return self._unsort(self.y)

    def variances(self) -> Float64:
        found: Float64 = to_numpy(self.y.double().var(0, correction=0))
        return found

    def advance(self, settings: Float64, phase: tuple[float, ...] = ()) -> float:
        """A step for each row of the settings; the last one's RMS length."""
        if phase != self.phase:
            self.phase, self.steps_in_phase = phase, 0
        done, reached, moved = 0, 0.0, 0.0
        while done < len(settings):
            if self.steps % PLANE_SORT_INTERVAL == 0:
                self.sort_points()
            until_sort = PLANE_SORT_INTERVAL - self.steps % PLANE_SORT_INTERVAL
            count = min(STEPS_PER_CHECK, len(settings) - done, until_sort)
            margin = FIRST_MARGIN if self.steps_in_phase < FIRST_STEPS else LATER_MARGIN
            mesh = self._mesh_for(max(margin * self.span, reached), 1.0)
            if mesh is not self.current_mesh and mesh is not None:
                self._center_mesh(mesh)
            self.current_mesh = mesh
            before = self.y.clone(), self.velocity.clone(), self.gain.clone()
            self._set_schedule(settings[done : done + count])
            self.counter.zero_()
            self.box[3:].zero_()
            self._run(mesh, count)
            # One look at the device for all that the host needs to know.
            moved = self.velocity.double().square().sum() / self.n
            self.span, most, moved = torch.cat([self.box[2:].double(), moved[None]]).tolist()
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
        return float(np.sqrt(moved))

    def _set_schedule(self, settings: Float64) -> None:
        """Settings of the next steps; mostly those of the last ones."""
        given = np.zeros((len(settings), 3), np.float32)
        given[:, : settings.shape[1]] = np.clip(settings, -1e30, 1e30)
        if not np.array_equal(given, self.scheduled[: len(given)]):
            self.schedule[: len(given)] = to_device(given, self.device)
            self.scheduled[: len(given)] = given

    def attraction(self) -> Float64:
        self._attract()
        return self._unsort(self.force)

    def repulsion(self) -> tuple[Float64, float]:
        """Repulsive forces before they are divided by Z, and the sum of the potential."""
        mesh = self._mesh_for(float(self.box[2]), 1.0)
        phi = self._potential(mesh)
        if self.kernels:
            self._launch_step(mesh, phi, force=True)
            found = self.repel.T
        elif mesh is not None:
            found = self._interpolate(mesh, phi)
        else:
            found = self.repel.T
        return self._unsort(found), float(self.zpart.sum())

    def own_potential(self) -> float:
        mesh = self._mesh_for(float(self.box[2]), 1.0)
        assert mesh is not None
        self._center_mesh(mesh)
        return mesh.own_potential(self.y, self.box[:2])

    def interpolation_grid(self, scale: float) -> InterpolationGrid:
        mesh = self._mesh_for(float(self.box[2]), 1.0, always=True)
        assert mesh is not None
        phi = self._potential(mesh)[:, : mesh.half].T * scale  # the first axis is that of columns
        nodes = to_numpy(phi.contiguous())
        nodes.setflags(write=False)
        corner = to_numpy(self.box[:2]).astype(np.float64)
        return InterpolationGrid(nodes, corner, mesh.spacing)

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
            graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self.device)
            stream.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(stream):
                # One graph runs at a time, so all of them may have the same memory.
                graph.capture_begin(self.pool, capture_error_mode="thread_local")
                self._iterate(mesh)
                graph.capture_end()
            torch.cuda.current_stream(self.device).wait_stream(stream)
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
        self._kernels.enclose[(1,)](
            self.part, self.box, self.counter, self.programs, spacing, half, 1024, num_warps=8
        )

    def _attract(self) -> None:
        curve = self.forces.curve
        if self.kernels:
            given = self.start_of, self.col, self.val, self.y.view(torch.int64), self.force
            warps = max(1, self.lanes // 64)
            law = (0.0, 0.0) if curve is None else (float(curve.a), float(curve.b))
            self._kernels.attract[(self.n,)](
                *given, *law, curve is None, self.lanes, num_warps=warps
            )
            return
        counts = self.start_of[1:] - self.start_of[:-1]
        rows = torch.repeat_interleave(torch.arange(self.n, device=self.device), counts)
        gap = self.y[rows] - self.y[self.col.long()]
        s = gap.square().sum(1)
        if curve is None:
            weight = self.val / (1 + s)
        else:
            s = s.clamp(1e-12, 1e12)
            odds = curve.a * s**curve.b
            weight = -self.val * 2 * curve.b * odds / (s * (1 + odds))
        self.force = torch.segment_reduce(
            weight[:, None] * gap, "sum", offsets=self.start_of, axis=0, initial=0
        )

    def _potential(self, mesh: Mesh | None, is_centered: bool = False) -> Tensor:
        """The potential on the mesh, and its sum over points in parts; or exact sums."""
        if mesh is None:
            self._repel_exactly()
            return self.force  # not read
        if not is_centered:
            self._center_mesh(mesh)
        if not self.kernels:
            mesh.spread(self.y, self.box[:2])
            phi = mesh.convolve()
            self.zpart.zero_()
            self.zpart[0] = (mesh.grid.double() * phi).sum()
            return phi
        how = 1 / mesh.spacing, mesh.half, FIXED_POINT, mesh.copies
        kernels = self._kernels
        kernels.spread_charges[(-(-self.n // 32),)](
            self.y, self.box, mesh.rho, self.n, *how, 32, num_warps=4
        )
        kernels.sum_charges[(mesh.half,)](
            mesh.rho, mesh.grid, mesh.half, mesh.size, 1 / FIXED_POINT, mesh.copies, 512,
            num_warps=4,
        )  # fmt: skip
        phi = mesh.convolve()
        kernels.multiply_grids[(POTENTIAL_PARTS,)](
            mesh.grid, phi, self.zpart, mesh.half, mesh.size, POTENTIAL_PARTS, 512, num_warps=4
        )
        return phi

    def _repel_exactly(self) -> None:
        """Exact sums of t-SNE's repulsion over all points."""
        repel, z = sum_pairs(self.y)
        self.repel.copy_(repel)
        self.zpart.zero_()
        self.zpart[0] = z + self.n  # as on a mesh: with the points themselves

    def _launch_step(self, mesh: Mesh | None, phi: Tensor, force: bool) -> None:
        half, size, h = (2, 4, 1.0) if mesh is None else (mesh.half, mesh.size, mesh.spacing)
        self._kernels.step[(self.programs,)](
            self.y, self.force, phi, self.zpart, self.box, self.counter, self.schedule,
            self.velocity, self.gain, self.part, self.repel, self.n, self.n, 1 / h, half, size,
            self.forces.scale / h, 1e-6 * self.n, mesh is not None, self.forces.curve is None,
            force, POTENTIAL_PARTS, POINTS_PER_PROGRAM, num_warps=4,
        )  # fmt: skip

    def _interpolate(self, mesh: Mesh, phi: Tensor) -> Tensor:
        slope = mesh.gradient(phi, self.y, self.box[:2])
        return slope * (self.forces.scale / mesh.spacing)

    def _plain_step(self, mesh: Mesh | None, phi: Tensor) -> None:
        repel = self.repel.T if mesh is None else self._interpolate(mesh, phi)
        settings = self.schedule[int(self.counter)]
        if self.forces.curve is None:
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

    def _mesh_for(self, span: float, margin: float, always: bool = False) -> Mesh | None:
        if not (self.use_mesh or always):
            return None
        h = self.forces.spacing
        size = mesh_size(span, h, margin)
        if size is None:  # coarser nodes instead of more
            size = MESH_SIZES[-1]
            h = 1.5 * margin * span / (size // 2 - 22)
        if (size, h) not in self.meshes:
            require_memory(40 * size * size, f"a mesh of {size} x {size} nodes", self.device)
            self.meshes[size, h] = Mesh(size, h, self.forces.radial, self.device)
        return self.meshes[size, h]

    def sort_points(self) -> None:
        """Put points into the order of a space-filling curve, in place: graphs know addresses."""
        low, high = self.y.amin(0), self.y.amax(0)
        unit = 65535 / (high - low).amax().clamp_min(1e-30)
        cell = ((self.y - low) * unit).long().clamp_(0, 65535)
        key = _spread_bits(cell[:, 0]) | (_spread_bits(cell[:, 1]) << 1)
        order = torch.sort(key, stable=True).indices
        slot = torch.empty(self.n, dtype=torch.int32, device=self.device)
        slot[order] = torch.arange(self.n, dtype=torch.int32, device=self.device)
        for held in (self.y, self.velocity, self.gain, self.order):
            held.copy_(held[order])
        counts = (self.start_of[1:] - self.start_of[:-1])[order]
        start = torch.zeros_like(self.start_of)
        start[1:] = torch.cumsum(counts, 0)
        if self.kernels:
            col, val = torch.empty_like(self.col), torch.empty_like(self.val)
            self._kernels.permute_rows[(self.n,)](
                self.start_of, self.col, self.val, order, slot, start, col, val, 128, num_warps=1
            )
        else:
            first = torch.repeat_interleave(self.start_of[:-1][order] - start[:-1], counts)
            at = first + torch.arange(len(self.col), device=self.device)
            col, val = slot[self.col[at].long()], self.val[at]
        self.start_of.copy_(start)
        self.col.copy_(col)
        self.val.copy_(val)

    def _unsort(self, A: Tensor) -> Float64:
        out = torch.empty(A.shape, dtype=torch.float64, device=self.device)
        out[self.order] = A.double()
        found: Float64 = to_numpy(out)
        return found

    @property
    def _kernels(self) -> OfTriton:
        from .kernels import descent

        return descent


def _spread_bits(v: Tensor) -> Tensor:
    """16 bits to every other bit."""
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        v = (v | (v << shift)) & mask
    return v
