"""Reference operations of graphs: geodesic distances by Dijkstra's algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import dijkstra

from ..protocol import Array, Float64, GeodesicPlan, MatrixPlan, Ragged
from .linear_algebra import ReferenceMatrixPlan


@dataclass(frozen=True)
class DijkstraPlan:
    """Shortest paths from each source on its own."""

    graph: csr_array

    def distances(self, sources: Ragged, offsets: Float64 | None = None) -> Array:
        graph = self.graph
        n, m = graph.shape[0], len(sources.indptr) - 1
        if offsets is None and (np.diff(sources.indptr) == 1).all():
            plain: Array = dijkstra(graph, directed=True, indices=sources.indices)
            return plain.astype(graph.dtype)
        # Sources are nodes after the others, with edges away from them only.
        first = np.zeros(len(sources.indices)) if offsets is None else offsets
        data = np.concatenate([graph.data, first])
        ends = np.concatenate([graph.indices, sources.indices]).astype(np.int32)
        starts = np.concatenate([graph.indptr, graph.nnz + sources.indptr[1:]]).astype(np.int32)
        extended = csr_array((data, ends, starts), shape=(n + m, n + m))
        distances: Array = dijkstra(extended, directed=True, indices=np.arange(n, n + m))
        return distances[:, :n].astype(graph.dtype)

    def half_squares(self) -> MatrixPlan:
        G = self.distances(Ragged.singletons(np.arange(self.graph.shape[0])))
        return ReferenceMatrixPlan((G + G.T) / 2, half_square=True)  # directions differ by rounding


@dataclass(frozen=True)
class TablePlan:
    """Shortest paths that end with a known geodesic distance: the (min, +) product."""

    G: Array  # nodes x landmarks

    def distances(self, sources: Ragged, offsets: Float64 | None = None) -> Array:
        G, m = self.G, len(sources.indptr) - 1
        first = np.zeros(len(sources.indices)) if offsets is None else offsets
        out, first = np.full((m, G.shape[1]), np.inf, G.dtype), first.astype(G.dtype)
        for i, (begin, end) in enumerate(pairwise(sources.indptr)):
            for e in range(begin, end):
                out[i] = np.minimum(out[i], first[e] + G[sources.indices[e]])
        return out

    def half_squares(self) -> MatrixPlan:
        return ReferenceMatrixPlan(self.G, half_square=True)


class GraphOperations:
    """Geodesic distances in a graph, and from outside it."""

    def geodesics(self, graph: csr_array | Array) -> GeodesicPlan:
        return DijkstraPlan(graph) if issparse(graph) else TablePlan(graph)
