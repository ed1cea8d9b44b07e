"""Out-of-sample map of classical MDS, kernel PCA and Isomap: doubly centered projections."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from scipy.sparse import csr_array

from ..backends.protocol import Array, Backend, Float64
from ..distances.protocol import DistanceRelation
from ..domains import Facts, OneOf, Shape
from ..graph.given import cut_listed
from ..graph.search import TIE_TOLERANCE
from ..input.sample import Items
from ..relations.geodesics import Geodesics
from ..relations.protocol import InnerProducts
from ..values import value
from .blockwise import blockwise


@value
class CenteredMap:
    """Projection of a relation, less the training means, on its eigenvectors.

    One formula for classical MDS (Gower, 1968), kernel PCA, landmarks and the Nyström extension
    (Bengio et al., 2004). The row's own mean needs no subtracting: `projection` is orthogonal
    to the constant vector, or (for landmarks) the centering is part of it.
    """

    relation: Annotated[
        InnerProducts, OneOf("Kernel", "PrecomputedKernel", "MinusHalfSquare", "Geodesics")
    ]
    means: Annotated[Float64, Shape("n")]
    projection: Annotated[Array, Shape("n", "k")]

    def __call__(self, Q: Items, ops: Backend) -> Array:
        def embed(part: Items) -> Array:
            return self.project(self.relation.toward(part, ops), ops)

        return blockwise(Q, len(self.means), embed)

    def project(self, K: Array, ops: Backend) -> Array:
        """Coordinates of points whose relations to the training points are known."""
        with np.errstate(over="ignore", invalid="ignore"):
            Y = ops.project(K, self.means, self.projection)
        far = ~np.isfinite(Y).all(1)
        if far.any():  # relations beyond the type's range: the nearest that it can hold
            limit = np.finfo(np.float64).max ** 0.5
            held = np.nan_to_num(K[far].astype(np.float64), posinf=limit, neginf=-limit)
            clipped = ops.project(np.clip(held, -limit, limit), self.means, self.projection)
            Y[far] = np.clip(clipped, -np.finfo(Y.dtype).max, np.finfo(Y.dtype).max)
        return Y


@value
class GeodesicMap:
    """Isomap's map: classical MDS of shortest paths through a new point's neighbors."""

    centered: CenteredMap  # of Geodesics

    def state_facts(self, facts: Facts) -> None:
        facts.require(isinstance(self.centered.relation, Geodesics), "centered", "of Geodesics")

    @property
    def geodesics(self) -> Geodesics:
        assert isinstance(self.centered.relation, Geodesics)
        return self.centered.relation

    @property
    def base(self) -> DistanceRelation:
        """The distances by which new points find their neighbors."""
        return self.geodesics.base

    def __call__(self, Q: Items, ops: Backend) -> Array:
        return self._embed(Q, self.geodesics.find_neighbors(Q, ops), ops)

    def from_neighbors(self, Q: Items, near: csr_array, ops: Backend) -> Array:
        """Coordinates of points with the given distances to training rows, nearest first.

        Of these as many count as the map itself would find.
        """
        k, radius = self.geodesics.n_neighbors, self.geodesics.radius
        return self._embed(Q, cut_listed(near, k, radius, TIE_TOLERANCE[near.dtype]), ops)

    def _embed(self, Q: Items, near: csr_array, ops: Backend) -> Array:
        dtype = getattr(Q, "dtype", None)

        def embed(part: csr_array) -> Array:
            return self.centered.project(self.geodesics.from_neighbors(part, ops, dtype), ops)

        return blockwise(near, 2 * len(self.centered.means), embed)
