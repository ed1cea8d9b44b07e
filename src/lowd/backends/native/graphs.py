"""Native operations of graphs: geodesic distances, each pair held once for products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, issparse

from ... import _native
from ...progress import step
from ..protocol import PRODUCT, Array, Float64, GeodesicPlan, HostVectors, MatrixPlan, Ragged, Terms
from ..reference.graphs import GraphOperations, TablePlan
from .arrays import as_rows, csr_parts


@dataclass(frozen=True)
class NativeGeodesicPlan:
    """Shortest paths by the core; for products each pair's distance is held once."""

    graph: csr_array
    threads: int

    def distances(self, sources: Ragged, offsets: Float64 | None = None) -> Array:
        dtype = self.graph.dtype
        out = np.empty((len(sources.indptr) - 1, self.graph.shape[0]), dtype)
        first = None if offsets is None else offsets.astype(dtype)
        poll = step("shortest paths")
        _native.shortest_paths(*csr_parts(self.graph), *sources, first, out, self.threads, poll)
        return out

    def half_squares(self) -> MatrixPlan:
        n = self.graph.shape[0]
        half = np.empty((n, n // 2), self.graph.dtype)
        _native.geodesic_half(*csr_parts(self.graph), half, self.threads, step("shortest paths"))
        return HalvedMatrixPlan(half, self.threads)


@dataclass(frozen=True)
class HalvedMatrixPlan(HostVectors):
    """-G∘G/2 of a symmetric matrix of distances, of which each pair is held once.

    Points are in a ring: row i holds the distances to the half of them that follow i.
    """

    half: Array
    threads: int

    def matmul(self, V: Float64, terms: Terms = PRODUCT) -> Float64:
        out, poll = np.empty(V.shape), step("matrix product")
        narrow: Array = np.ascontiguousarray(V, self.half.dtype)
        _native.geodesic_products(self.half, narrow, out, self.threads, poll)
        return terms.add_to(out, V)


@dataclass(frozen=True)
class NativeTablePlan(TablePlan):
    """The (min, +) product by the core."""

    threads: int

    def distances(self, sources: Ragged, offsets: Float64 | None = None) -> Array:
        G = as_rows(self.G, self.G.dtype)
        out = np.empty((len(sources.indptr) - 1, G.shape[1]), G.dtype)
        given = np.zeros(len(sources.indices)) if offsets is None else offsets
        first: Array = given.astype(G.dtype)
        _native.min_plus(*sources, first, G, out, self.threads, step("shortest paths"))
        return out


class NativeGraphs(GraphOperations):
    """Geodesic distances in a graph, and from outside it."""

    threads: int

    def geodesics(self, graph: csr_array | Array) -> GeodesicPlan:
        if issparse(graph):
            return NativeGeodesicPlan(graph, self.threads)
        return NativeTablePlan(graph, self.threads)
