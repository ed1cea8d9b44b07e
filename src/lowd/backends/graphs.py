"""The reference's operations of neighbors and graphs: plain, and the oracle of the native ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from .. import progress
from .protocol import Array, Backend, Float64, GeodesicPlan, Index, Ints, Neighbors, Ragged, Rows

BLOCK = 2**22  # distances looked at together
ROUNDING = 1e-13  # an eigenvalue of a Gram matrix below this share of the largest is none


@dataclass(frozen=True)
class BlockIndex:
    """All distances, some rows at a time."""

    ops: Backend
    X: Rows
    measure: str
    params: tuple[float, ...]
    center: Float64 | None

    def others(self, k: int) -> Neighbors:
        return self._search(self.X, k, among=True)

    def query(self, Q: Rows, k: int) -> Neighbors:
        return self._search(Q, k, among=False)

    def ranks(self, rows: NDArray[np.int64] | None, listed: Ints) -> Ints:
        X = self.X.astype(np.float64)
        asked = np.arange(X.shape[0]) if rows is None else rows
        ranks, step = np.empty_like(listed), max(1, BLOCK // X.shape[0])
        for i in range(0, len(asked), step):
            own = asked[i : i + step]
            D = self.ops.pairwise(X[own], X, self.measure, self.params, self.center)
            places = self.ops.rank(D, own)
            ranks[i : i + step] = np.take_along_axis(places, listed[i : i + step], 1)
            progress.report("ranks", i + len(own), len(asked))
        return np.where(listed < 0, 0, ranks).astype(np.int32)

    def _search(self, Q: Rows, k: int, among: bool) -> Neighbors:
        X = self.X.astype(np.float64)
        m, step = Q.shape[0], max(1, BLOCK // X.shape[0])
        indices, distances = np.empty((m, k), np.int32), np.empty((m, k))
        for i in range(0, m, step):
            part = Q[i : i + step].astype(np.float64)
            D = self.ops.pairwise(part, X, self.measure, self.params, self.center)
            own = np.arange(i, i + len(D)) if among else None
            found = self.ops.select(D, k, own)
            indices[i : i + step], distances[i : i + step] = found.indices, found.distances
            progress.report("neighbors", i + len(D), m)
        return Neighbors(indices, distances)


@dataclass(frozen=True)
class ReferenceGeodesicPlan:
    """The whole matrix."""

    ops: Backend
    G: Array

    def half_square_matmul(self, V: Float64) -> Float64:
        return self.ops.matmul(self.G, V, True)


class GraphOperations:
    """What `Reference` knows of neighbors and graphs."""

    def index(
        self, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> Index:
        return BlockIndex(self, X, measure, params, center)  # type: ignore[arg-type]

    def select(self, D: Array, k: int, own: NDArray[np.int64] | None) -> Neighbors:
        wide: Float64 = np.array(D, np.float64)
        if own is not None:
            wide[np.arange(len(D)), own] = np.inf
        order = np.argsort(wide, axis=1, kind="stable")[:, :k]
        return Neighbors(order.astype(np.int32), np.take_along_axis(wide, order, 1))

    def shortest_paths(self, graph: csr_array, near: Ragged, steps: Float64 | None = None) -> Array:
        n, m = graph.shape[0], len(near.indptr) - 1
        if steps is None and (np.diff(near.indptr) == 1).all():
            plain: Array = dijkstra(graph, directed=True, indices=near.indices)
            return plain.astype(graph.dtype)
        # Sources are nodes behind the others, from which edges lead one way.
        first = np.zeros(len(near.indices)) if steps is None else steps
        data = np.concatenate([graph.data, first])
        ends = np.concatenate([graph.indices, near.indices]).astype(np.int32)
        starts = np.concatenate([graph.indptr, graph.nnz + near.indptr[1:]]).astype(np.int32)
        joined = csr_array((data, ends, starts), shape=(n + m, n + m))
        lengths: Array = dijkstra(joined, directed=True, indices=np.arange(n, n + m))
        return lengths[:, :n].astype(graph.dtype)

    def geodesics(self, graph: csr_array) -> GeodesicPlan:
        G = self.shortest_paths(graph, Ragged.singletons(np.arange(graph.shape[0])))
        return ReferenceGeodesicPlan(self, (G + G.T) / 2)  # type: ignore[arg-type]

    def min_plus(self, near: Ragged, lengths: Float64, G: Array) -> Array:
        out = np.full((len(near.indptr) - 1, G.shape[1]), np.inf, G.dtype)
        lengths = lengths.astype(G.dtype)
        for i, (begin, end) in enumerate(zip(near.indptr, near.indptr[1:], strict=False)):
            for e in range(begin, end):
                out[i] = np.minimum(out[i], lengths[e] + G[near.indices[e]])
        return out

    def sparse_matmul(
        self, A: csr_array, V: Float64, a: float, b: float, U: Float64 | None, c: float
    ) -> Float64:
        out: Float64 = a * (A @ V)
        if b:
            out += b * V
        if U is not None:
            out += c * U
        return out

    def barycentric_weights(self, Q: Array, X: Array, near: Ragged, reg: float) -> Float64:
        weights = np.empty(len(near.indices))
        for i, (begin, end) in enumerate(zip(near.indptr, near.indptr[1:], strict=False)):
            Z = _differences(X[near.indices[begin:end]], Q[i])
            weights[begin:end] = _barycenter(Z @ Z.T, reg)
        return weights

    def alignment_matrix(
        self, X: Array, near: Ragged, kind: str, k: int, reg: float, mass: Float64
    ) -> csr_array:
        patches = [
            near.indices[begin:end]
            for begin, end in zip(near.indptr, near.indptr[1:], strict=False)
        ]
        if kind == "modified":
            F = _modified(X, patches, k, reg)
            patches = [np.append(patch, i) for i, patch in enumerate(patches)]
        else:
            flat = [_differences(X[patch], X[patch[0]]) for patch in patches]
            F = [_complement(Z, k) if kind == "ltsa" else _hessian(Z, k, reg) for Z in flat]
        blocks = [(m * f @ f.T).ravel() for m, f in zip(mass, F, strict=True)]
        rows = [np.repeat(patch, len(patch)) for patch in patches]
        cols = [np.tile(patch, len(patch)) for patch in patches]
        at: tuple[Any, Any] = np.concatenate(rows), np.concatenate(cols)
        return csr_array(coo_array((np.concatenate(blocks), at), (len(X), len(X))))


def _differences(X: Array, origin: Array) -> Float64:
    """Rows less an origin, up to a factor: halves never overflow, and squares of what is left."""
    Z: Float64 = X.astype(np.float64) / 2 - origin.astype(np.float64) / 2
    largest = np.abs(Z).max(initial=0)
    return Z / largest if largest > 0 else Z


def _barycenter(C: Float64, reg: float) -> Float64:
    one, size = np.ones(len(C)), np.trace(C)
    if size == 0:
        return one / len(C)
    values, V = scipy.linalg.eigh(C)
    if reg == 0:
        # The limit: what no difference is seen in, if there is such a direction with a sum.
        real = values > ROUNDING * values[-1]
        null = one - V[:, real] @ (V[:, real].T @ one)
        if null @ null > 1e-12 * len(C):
            return np.asarray(null / null.sum())
        values, V = values[real], V[:, real]
    w = V @ ((V.T @ one) / (np.maximum(values, 0) + reg * size))
    return np.asarray(w / w.sum())


def _tangent(Z: Float64, k: int) -> Float64:
    """Unit vectors of the k widest directions, zero where the patch has no extent."""
    U, sigma, _ = scipy.linalg.svd(Z - Z.mean(0), full_matrices=False)
    out = np.zeros((len(Z), k))
    rank = min(k, int((sigma**2 > ROUNDING * sigma[0] ** 2).sum()))
    out[:, :rank] = U[:, :rank]
    return out


def _complement(Z: Float64, k: int) -> Float64:
    """I - G G' with G = [1/√p, tangent coordinates] is its own square: a projector."""
    p = len(Z)
    G = np.column_stack([np.full(p, p**-0.5), _tangent(Z, k)])
    return np.asarray(np.eye(p) - G @ G.T)


def _hessian(Z: Float64, k: int, reg: float) -> Float64:
    """Products of tangent coordinates by Gram and Schmidt; what depends on others is dropped.

    What no quadric fits is penalized too, if little: a spike on three rows has no curvature that
    their patches could see.
    """
    U = _tangent(Z, k)
    Q = [np.full(len(Z), len(Z) ** -0.5), *U.T]
    for a in range(k):
        for b in range(a, k):
            product = U[:, a] * U[:, b]
            v = product
            for _ in range(2):
                v = v - np.transpose(Q) @ (np.asarray(Q) @ v)
            length = np.linalg.norm(v)
            Q.append(v / length if length > 1e-10 * np.linalg.norm(product) else 0 * v)
    quadric = np.transpose(Q)
    rest = np.eye(len(Z)) - quadric @ quadric.T  # a projector: its own square
    return np.column_stack([quadric[:, 1 + k :], np.sqrt(min(reg, 1.0)) * rest])


def _modified(X: Array, patches: list[Ints], k: int, reg: float) -> list[Float64]:
    """Several weight vectors per row (Zhang and Wang, 2007), and -1 for the row itself."""
    grams = []
    for i, patch in enumerate(patches):
        Z = _differences(X[patch], X[i])
        grams.append(Z @ Z.T)
    spectra = []
    for C in grams:
        values, V = scipy.linalg.eigh(C)
        spectra.append((np.maximum(values[::-1], 0), V[:, ::-1]))
    rest = [v[k:].sum() / v[:k].sum() if v[:k].sum() > 0 else 0.0 for v, _ in spectra]
    eta = max(float(np.median(rest)), 1e-12)
    out = []
    for C, (values, V) in zip(grams, spectra, strict=True):
        p = len(values)
        tails = np.cumsum(values[::-1])[: p - k]  # of the last 1, 2, ..., p - k
        heads = values.sum() - tails
        good = np.flatnonzero(tails < eta * heads)
        s = int(good[-1]) + 1 if len(good) else 1
        # Directions without extent belong to the rest, however many tangents are wanted.
        s = max(s, p - int((values > ROUNDING * values[0]).sum()))
        Vs = V[:, p - s :]
        sums = Vs.sum(0)
        a = np.linalg.norm(sums) / np.sqrt(s)
        w = _barycenter(C, reg)
        if a > 1e-12:
            h = a - sums
            length = np.linalg.norm(h)
            h = h / length if length > 1e-12 else h * 0
            W = (1 - a) * w[:, None] + Vs - 2 * np.outer(Vs @ h, h)
            out.append(np.vstack([W, -np.ones((1, s))]))
        else:  # the signs of Vs are free: this is the mean over both
            W = np.column_stack([np.sqrt(s) * w, Vs])
            out.append(np.vstack([W, [-np.sqrt(s)] + [0.0] * s]))
    return out
