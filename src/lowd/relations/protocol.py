"""The protocol of relations: among the training points, and from new points toward them.

A relation is the part of a method that knows the data. `among` is what the solver of a fit sees,
`toward` is what the out-of-sample map needs of new points. One class answers both, so that fit and
transform cannot use different affinities, kernels or distances.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias, TypeVar

from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend
from ..input.sample import Items
from .matrices import SymmetricMatrix

Among = TypeVar("Among", covariant=True)
Toward = TypeVar("Toward", covariant=True)


class Relation(Protocol[Among, Toward]):
    """How points relate: kernel, geodesics, affinities or probabilities."""

    def among(self, ops: Backend) -> Among:
        """The relation among the training points, as the solver takes it."""

    def toward(self, Q: Items, ops: Backend) -> Toward:
        """The relation of new points to the training points, as the map takes it."""

    def freeze(self) -> Relation[Among, Toward]:
        """What the map keeps: all that `toward` needs, read-only, without the training matrix."""


class NeighborRelation(Relation[Among, Toward], Protocol[Among, Toward]):
    """A relation along a neighbor graph, of new points whose neighbors may be known already."""

    def from_neighbors(self, near: csr_array, ops: Backend) -> Toward:
        """`toward` of new points with the given distances to neighbors, nearest first."""

    def freeze(self) -> NeighborRelation[Among, Toward]: ...


# Inner products up to double centering: what classical MDS, kernel PCA and Isomap decompose.
InnerProducts: TypeAlias = Relation[SymmetricMatrix, Array]
