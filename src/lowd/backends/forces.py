"""The native descent of neighbor embedding: a plan that keeps P and the points in the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .. import _native
from ..progress import step
from .protocol import Array, Float64, InterpolationGrid

# Up to EXACT points all pairs are summed in float64. Up to SINGLE, for each number of dimensions,
# they are summed in float32, which takes no longer than a mesh. Up to FIELD a new point feels each.
EXACT, SINGLE, FIELD = 500, (0, 1000, 1000), 1500


@dataclass
class NativeKLPlan:
    """A descent inside the core."""

    P: csr_array
    kernel: str
    threads: int
    plan: _native.Forces | None = None
    k: int = 0

    def forces(self, places: Array) -> tuple[Float64, Float64]:
        Y = _wide(places)
        A, R = np.empty(Y.shape), np.empty(Y.shape)
        self._made(Y).forces(Y, A, R, self.threads)
        return A, R

    def pairs(self, places: Array, rows: NDArray[np.int64]) -> tuple[Float64, Float64]:
        Y = _wide(places)
        Z, R = np.empty(len(rows)), np.empty((len(rows), Y.shape[1]))
        _native.pair_sums(Y, cast(Any, self.kernel), rows, Z, R, self.threads, step("divergence"))
        return Z, R

    def cross_term(self, places: Array) -> float:
        kernel, poll = cast(Any, self.kernel), step("divergence")
        return _native.surprise(*self._lists(), _wide(places), kernel, self.threads, poll)

    def partition_function(self, Y: Array) -> float:
        Y = _wide(Y)
        if self.approximate(Y):
            return _native.normalizer(Y, self.threads, step("divergence"))
        return float(self.pairs(Y, np.arange(len(Y)))[0].sum())

    def start(self, Y: Array) -> None:
        self._made(Y).start(_wide(Y))

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> float:
        assert self.plan is not None
        moved = self.plan.advance(steps, exaggeration, momentum, rate, self.threads)
        return float(np.sqrt(moved / self.P.shape[0]))

    def embedding(self) -> Float64:
        assert self.plan is not None
        out = np.empty((self.P.shape[0], self.k))
        self.plan.places(out)
        return out

    def interpolation_grid(self, Y: Array) -> InterpolationGrid | None:
        if Y.shape[1] > 2 or not self.approximate(Y) or len(Y) <= FIELD:
            return None
        phi, nodes, origin, spacing = self._made(Y).mesh(_wide(Y), self.threads)
        k = Y.shape[1]
        phi.setflags(write=False)
        return InterpolationGrid(phi.reshape(nodes[:k]), np.array(origin[:k]), spacing)

    def approximate(self, Y: Array) -> bool:
        return self.kernel == "student" and Y.shape[1] <= 3 and len(Y) > EXACT

    def _made(self, Y: Array) -> _native.Forces:
        if self.plan is None or self.k != Y.shape[1]:
            self.k = Y.shape[1]
            self.plan = _native.Forces(*self._lists(), self.k, cast(Any, self.kernel), self._way(Y))
        return self.plan

    def _way(self, Y: Array) -> Literal["exact", "single", "mesh"]:
        if not self.approximate(Y):
            return "exact"
        return "single" if len(Y) <= SINGLE[Y.shape[1] - 1] else "mesh"

    def _lists(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Float64]:
        P = self.P
        return P.indptr.astype(np.int64), P.indices.astype(np.int32, copy=False), P.data


def _wide(Y: Array) -> Float64:
    return np.ascontiguousarray(Y, np.float64)
