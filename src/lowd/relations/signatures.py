"""How much the affinities of new points differ from those of the training points."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .. import random
from ..backends.protocol import Backend, Float64
from ..distances.nearest import Nearest
from ..domains import Facts, Index, Shape
from ..graph.search import to_csr
from ..values import value

# Random projections of a row: with so many, distances are right to about a fifth (Johnson and
# Lindenstrauss, 1984), and only their order of magnitude matters.
N_PROJECTIONS = 16
# Training points whose coordinates tell how fast the embedding changes with the affinities.
N_COMPARED = 16


@value
class Signatures:
    """Random projections of the training points' rows of affinities, divided by their sums.

    Projections keep distances between rows, whose entries would be the largest array of a model.
    """

    # Training points with different projections; those of equal rows are the first one's.
    points: Annotated[NDArray[np.int64], Shape("distinct"), Index("n")]
    projections: Annotated[Float64, Shape("distinct", "projections")]

    @classmethod
    def of(cls, rows: csr_array) -> Signatures:
        projections, points = np.unique(_project(rows), axis=0, return_index=True)
        return cls(points, projections)

    def find_nearest(self, rows: csr_array, ops: Backend) -> Nearest:
        """The training points whose rows are most like those of new points."""
        count = len(self.points)
        index = ops.index(self.projections, "euclidean", (1.0,), self.projections.mean(0))
        near = to_csr(index.query(_project(rows), min(N_COMPARED, count)), count)
        shape = near.shape[0], rows.shape[1]
        return Nearest.in_lists(
            csr_array((near.data, self.points[near.indices], near.indptr), shape=shape)
        )

    def state_facts(self, facts: Facts) -> None:
        same = self.projections.shape[1] == N_PROJECTIONS
        facts.require(same, "projections", f"{N_PROJECTIONS} of each point")


def normalize_rows(rows: csr_array) -> csr_array:
    """Divide rows by their sums, without overflow; empty ones stay empty."""
    count = np.diff(rows.indptr)
    held = np.flatnonzero(count)
    if not len(held):
        return rows
    starts, lengths = rows.indptr[held], count[held]
    p = rows.data / np.repeat(np.maximum.reduceat(rows.data, starts), lengths)
    p /= np.repeat(np.add.reduceat(p, starts), lengths)
    return csr_array((p, rows.indices, rows.indptr), rows.shape)


def _project(rows: csr_array) -> Float64:
    """Random projections of the rows, each by itself; an empty row counts as a uniform one."""
    n = rows.shape[1]
    factors = random.uniforms(0, "signatures", np.arange(n * N_PROJECTIONS)) - 0.5
    factors = factors.reshape(n, N_PROJECTIONS)
    found = np.asarray(normalize_rows(rows) @ factors)
    found[np.diff(rows.indptr) == 0] = factors.mean(0)
    return found
