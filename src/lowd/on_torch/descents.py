# ruff: noqa: ARG002 - the signatures are those of the native core's classes
"""The descents of t-SNE, SNE and UMAP on the device, in place of those of the native core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.interpolate import CubicSpline

from ..methods.tsne import Similarity, descent_of, partition_function
from ..methods.umap import layout_of
from ..parameters import Graph, Reals
from .arrays import (
    Tensor,
    device,
    explaining_memory,
    has_kernels,
    is_worth,
    rows_per_block,
    to_device,
    to_numpy,
    torch,
)
from .matrices import Parts, parts_of
from .plane_descent import Forces, PlaneDescent, Radial, sum_similarities

# -- t-SNE and SNE ---------------------------------------------------------------------------------


@descent_of.register("torch")
def _(P: Graph, k: int, similarity: Similarity) -> Any:
    n = P.shape[0]
    exact = similarity != "student" or n <= 500 or k > 3
    # The mesh is one of the plane.
    if not is_worth(float(n) * n, 2**18) or (k != 2 and not exact):
        return descent_of.function(P, k, similarity)
    with explaining_memory(f"a descent of {n} points"):
        if exact:
            return AllPairs(parts_of(P), similarity)
        # Up to so many points all pairs are summed in every step: on a GPU that takes no longer
        # than a mesh, and has no error of interpolation.
        use_mesh = n > (20_000 if has_kernels(device()) else 1000)
        # With such nodes, which cost little here, forces have errors below 1 %.
        return StudentDescent(
            parts_of(P), Forces(lambda s: 1 / (1 + s), 0.35, None, -0.5), use_mesh
        )


class StudentDescent(PlaneDescent):
    """Descent of t-SNE in the plane, in float32."""

    def advance(
        self,
        steps: int,
        exaggeration: float,
        momentum: float,
        rate: float,
        threads: int,
    ) -> float:
        settings = np.tile([exaggeration, momentum, rate], (steps, 1))
        return self.take_steps(settings, (exaggeration, momentum))

    def normalizer(self, total: float) -> float:
        return max(total - self.n, 1e-6 * self.n)


class AllPairs:
    """Descent by exact forces of all pairs in float64, a block of rows at a time."""

    def __init__(self, edges: Parts, similarity: Similarity) -> None:
        self.similarity, self.edges = similarity, edges
        self.rows, self.columns = edges.row_numbers(), edges.columns.long()

    def start(self, Y: Reals) -> None:
        self.y = to_device(Y, torch.float64).clone()
        self.velocity, self.gain = torch.zeros_like(self.y), torch.ones_like(self.y)

    def embedding(self, out: Reals) -> None:
        out[:] = to_numpy(self.y)

    def forces(self, Y: Reals, attraction: Reals, repulsion: Reals, threads: int) -> None:
        A, R = self._forces(to_device(Y, torch.float64))
        attraction[:], repulsion[:] = to_numpy(A), to_numpy(R)

    def advance(
        self,
        steps: int,
        exaggeration: float,
        momentum: float,
        rate: float,
        threads: int,
    ) -> float:
        with explaining_memory(f"a descent of {len(self.y)} points"):
            for _ in range(steps):
                A, R = self._forces(self.y)
                slope = exaggeration * A - R
                uphill = slope * self.velocity > 0
                self.gain = torch.where(uphill, self.gain * 0.8, self.gain + 0.2).clamp_min(0.01)
                v = momentum * self.velocity - rate * self.gain * slope
                v = v.clamp(-1e15, 1e15)  # Squares of these do not overflow.
                length = v.square().sum(1, keepdim=True).sqrt()
                self.velocity = v * (5 / length.clamp_min(5))  # No step is longer than 5.
                self.y = self.y + self.velocity
            return float(self.velocity.square().sum())

    def _forces(self, y: Tensor) -> tuple[Tensor, Tensor]:
        gap = y[self.rows] - y[self.columns]
        weights = self.edges.values
        if self.similarity == "student":
            weights = weights / (1 + gap.square().sum(1))
        A = self.edges.sum_rows(weights[:, None] * gap)
        Z, R = torch.empty_like(y[:, 0]), torch.empty_like(y)
        for part, w in self._similarities(y):
            Z[part] = w.sum(1)
            w = w.square() if self.similarity == "student" else w
            R[part] = w.sum(1)[:, None] * y[part] - w @ y
        if self.similarity != "rows":
            return A, R / Z.sum()
        # A row that is far from all has a sum of 0.
        Z = Z.clamp_min(torch.finfo(torch.float64).tiny)
        R = R / Z[:, None]
        for part, w in self._similarities(y):  # Each point is in the rows of all others, too.
            w = w / Z
            R[part] += w.sum(1)[:, None] * y[part] - w @ y
        return A, R / (2 * len(y))

    def _similarities(self, y: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Blocks of rows, and their w to all points; 0 to themselves."""
        for some in torch.arange(len(y), device=y.device).split(rows_per_block(4 * len(y))):
            part = slice(int(some[0]), int(some[-1]) + 1)
            s = y.new_zeros(len(some), len(y))
            for c in range(y.shape[1]):
                s += (y[part, c, None] - y[:, c]).square()
            w = 1 / (1 + s) if self.similarity == "student" else torch.exp(-s)
            w[torch.arange(len(some), device=y.device), some] = 0
            yield part, w


@partition_function.register("torch")
def _(Y: Reals) -> float:
    if Y.shape[1] != 2 or not is_worth(float(len(Y)) ** 2, 2**18):
        return partition_function.function(Y)
    with explaining_memory(f"the divergence of {len(Y)} points"):
        return sum_similarities(to_device(Y).float())


# -- UMAP ------------------------------------------------------------------------------------------


@layout_of.register("torch")
def _(
    W: Graph,
    k: int,
    curve: tuple[float, float, float],
    seed: int,
    radii: Reals | None,
    variance_shift: float,
) -> Any:
    n = W.shape[0]
    # The core computes densMAP, other meshes, and all pairs of few points.
    if radii is not None or k != 2 or n <= 500:
        return layout_of.function(W, k, curve, seed, radii, variance_shift)
    with explaining_memory(f"a descent of {n} points"):
        a, b, softening = curve
        spacing = 0.7071 * float(np.sqrt(softening))  # The softening rounds the kernel off.
        forces = Forces(radial_potential(curve), spacing, (float(a), float(b)), -0.5 / n)
        return UMAPDescent(parts_of(W).random_walk()[0], forces)


class UMAPDescent(PlaneDescent):
    """Descent of UMAP in the plane, in float32."""

    def advance(
        self,
        rates: Reals,
        repulsions: Reals,
        densities: Reals | None,
        threads: int,
    ) -> float:
        return self.take_steps(np.stack([rates, repulsions], axis=1))

    def grid_scale(self) -> float:
        return 1 / (2 * self.n)

    def repulsive_loss(self, Y: Reals, threads: int) -> float:
        """The mean over points of the sum of V / 2n over all others."""
        self.start(Y)
        _, total = self.repulsion()
        return (total - self.own_potential()) / (2 * self.n**2)


def radial_potential(curve: tuple[float, float, float], step: float = 0.02) -> Radial:
    """The potential V of the repulsion, V' = -g_r d and V(∞) = 0, as a function of d².

    In t = log d² it is the integral of b e^t / ((ε + e^t)(1 + a e^bt)), which is smooth and falls
    exponentially on both sides. It is tabulated, and interpolated by cubics.
    """
    a, b, softening = curve
    high = max(np.log(softening), -np.log(a) / b) + 42 / b  # There 1e-18 is left.
    below = np.log(min(softening, a ** (-1 / b))) - 42
    fine = np.linspace(high, below, int((high - below) / step) + 2)
    known = CubicSpline(
        fine[::-1], cumulative_simpson(_slope(fine, *curve), x=-fine, initial=0)[::-1]
    )
    low = float(np.log(softening) - 14)
    t = np.arange(low, max(np.log(softening), -np.log(a) / b) + 30, step)
    values, slopes = known(np.minimum(t, high)), -_slope(t, *curve)

    def potential(s: Tensor) -> Tensor:
        V, slope = (
            torch.as_tensor(values, device=s.device),
            torch.as_tensor(slopes, device=s.device),
        )
        at = (torch.log(s.clamp_min(np.exp(low))) - low) / step
        i = at.long().clamp(0, len(t) - 2)
        x = (at - i).clamp_max(1.0)
        u = 1 - x
        near = u * u * ((1 + 2 * x) * V[i] + x * step * slope[i])
        return near + x * x * ((1 + 2 * u) * V[i + 1] - u * step * slope[i + 1])

    return potential


def _slope(t: Reals, a: float, b: float, softening: float) -> Reals:
    return np.asarray(b / ((softening * np.exp(-t) + 1) * (1 + a * np.exp(b * t))))
