"""The reference's verbs of neighbors and graphs: plain, and the oracle of the native ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from .. import progress
from .protocol import Array, Backend, Float64, Ints, Lists, Neighbors, Rows

BLOCK = 2**22  # distances looked at together


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

    def _search(self, Q: Rows, k: int, among: bool) -> Neighbors:
        X = self.X.astype(np.float64)
        m, step = Q.shape[0], max(1, BLOCK // X.shape[0])
        indices, distances = np.empty((m, k), np.int32), np.empty((m, k))
        for i in range(0, m, step):
            part = Q[i : i + step].astype(np.float64)
            D = self.ops.pairwise(part, X, self.measure, self.params, self.center)
            own = np.arange(i, i + len(D)) if among else None
            indices[i : i + step], distances[i : i + step] = self.ops.select(D, k, own)
            progress.report("neighbors", i + len(D), m)
        return Neighbors(indices, distances)


class GraphVerbs:
    """What `Reference` knows of neighbors and graphs."""

    def index(
        self, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> BlockIndex:
        return BlockIndex(self, X, measure, params, center)  # type: ignore[arg-type]

    def select(self, D: Array, k: int, own: NDArray[np.int64] | None) -> Neighbors:
        wide: Float64 = np.array(D, np.float64)
        if own is not None:
            wide[np.arange(len(D)), own] = np.inf
        order = np.argsort(wide, axis=1, kind="stable")[:, :k]
        return Neighbors(order.astype(np.int32), np.take_along_axis(wide, order, 1))

    def paths(self, graph: csr_array, sources: NDArray[np.int64]) -> Array:
        lengths: Array = dijkstra(graph, directed=True, indices=sources)
        return lengths.astype(graph.dtype)

    def sparse_times(
        self, A: csr_array, V: Float64, a: float, b: float, U: Float64 | None, c: float
    ) -> Float64:
        out: Float64 = a * (A @ V)
        if b:
            out += b * V
        if U is not None:
            out += c * U
        return out

    def barycenters(self, Q: Array, X: Array, near: Lists, reg: float) -> Float64:
        weights = np.empty(len(near.indices))
        for i, (begin, end) in enumerate(zip(near.starts, near.starts[1:], strict=False)):
            Z = X[near.indices[begin:end]].astype(np.float64) - Q[i]
            weights[begin:end] = _barycenter(Z @ Z.T, reg)
        return weights

    def alignment(
        self, X: Array, near: Lists, kind: str, k: int, reg: float, mass: Float64
    ) -> csr_array:
        patches = [
            near.indices[begin:end]
            for begin, end in zip(near.starts, near.starts[1:], strict=False)
        ]
        wide: Float64 = np.asarray(X, np.float64)
        if kind == "modified":
            F = _modified(wide, patches, k, reg)
            patches = [np.append(patch, i) for i, patch in enumerate(patches)]
        else:
            make = {"ltsa": _complement, "hessian": _hessian}[kind]
            F = [make(wide[patch] - wide[patch].mean(0), k) for patch in patches]
        blocks = [(m * f @ f.T).ravel() for m, f in zip(mass, F, strict=True)]
        rows = [np.repeat(patch, len(patch)) for patch in patches]
        cols = [np.tile(patch, len(patch)) for patch in patches]
        at: tuple[Any, Any] = np.concatenate(rows), np.concatenate(cols)
        return csr_array(coo_array((np.concatenate(blocks), at), (len(X), len(X))))


def _barycenter(C: Float64, reg: float) -> Float64:
    size = np.trace(C)
    C = C + (reg * size if size > 0 else reg) * np.eye(len(C))
    # Without regularization a singular C has many solutions; the shortest is as good as any.
    w = scipy.linalg.lstsq(C, np.ones(len(C)))[0] if reg == 0 else _solved(C)
    total = w.sum()
    return np.asarray(w / total) if total else np.full(len(w), 1 / len(w))


def _solved(C: Float64) -> Float64:
    return np.asarray(scipy.linalg.solve(C, np.ones(len(C)), assume_a="pos"))


def _tangent(Z: Float64, k: int) -> Float64:
    return np.asarray(scipy.linalg.svd(Z, full_matrices=False)[0][:, :k])


def _complement(Z: Float64, k: int) -> Float64:
    """I - G G' with G = [1/√p, tangent coordinates] is its own square: a projector."""
    p = len(Z)
    G = np.column_stack([np.full(p, p**-0.5), _tangent(Z, k)])
    return np.asarray(np.eye(p) - G @ G.T)


def _hessian(Z: Float64, k: int) -> Float64:
    U = _tangent(Z, k)
    squares = [U[:, a] * U[:, b] for a in range(k) for b in range(a, k)]
    Q = scipy.linalg.qr(np.column_stack([np.ones(len(Z)), U, *squares]), mode="economic")[0]
    return np.asarray(Q[:, 1 + k :])


def _modified(X: Float64, patches: list[Ints], k: int, reg: float) -> list[Float64]:
    """Several weight vectors per row (Zhang and Wang, 2007), and -1 for the row itself."""
    grams = []
    for i, patch in enumerate(patches):
        Z = X[patch] - X[i]
        grams.append(Z @ Z.T)
    spectra = []
    for C in grams:
        values, V = scipy.linalg.eigh(C)
        spectra.append((np.maximum(values[::-1], 0), V[:, ::-1]))
    rest = [v[k:].sum() / v[:k].sum() if v[:k].sum() > 0 else 0.0 for v, _ in spectra]
    eta = float(np.median(rest))
    out = []
    for C, (values, V) in zip(grams, spectra, strict=True):
        p = len(values)
        tails = np.cumsum(values[::-1])[: p - k]  # of the last 1, 2, ..., p - k
        heads = values.sum() - tails
        good = np.flatnonzero(tails < eta * heads)
        s = int(good[-1]) + 1 if len(good) else 1
        Vs = V[:, p - s :]
        sums = Vs.sum(0)
        a = np.linalg.norm(sums) / np.sqrt(s)
        h = a - sums
        length = np.linalg.norm(h)
        h = h / length if length > 1e-12 else h * 0
        w = _barycenter(C, reg)
        W = (1 - a) * w[:, None] + Vs - 2 * np.outer(Vs @ h, h)
        out.append(np.vstack([W, -np.ones((1, s))]))
    return out
