"""Is it flat, bent, or made of directions that are not at right angles?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse

from ... import random
from ...backends.protocol import Backend, Float64, Neighbors, Ragged
from ...graph.neighbor_graph import symmetrize_edges
from ...relations.geodesics import symmetrize_in_place
from .intrinsic import centered
from .neighborhoods import pieces_by_neighbors, pieces_of
from .result import Finding, counted
from .subject import Sample

SAMPLE = 800  # rows among which all ways are measured
DIMENSIONS = 10
CANDIDATES = (5, 7, 10, 14)  # neighbors of the graph that the ways follow
MOST_NEIGHBORS = 30
FEW, GROUP = 50, 0.05  # rows of a sheet at least, and share of them that a group has
BENT = 0.05  # residual variance that a bent map must save
KEPT = 0.2  # residual variance up to which a map is said to keep the distances
CLEAR = 5.5  # standard errors of the kurtosis; a search in normal numbers finds one of 4 or 5
CLEARER = 1.1  # times as far from normal as PCA's axes
OBLIQUE = 70.0  # degrees; directions closer than that are not at right angles


class Ways(NamedTuple):
    """How well maps of 1, 2, ... dimensions keep the lengths of ways along the neighbor graph."""

    k: int  # neighbors in the graph
    linear: Float64  # 1 - r² of PCA's map (classical scaling)
    geodesic: Float64  # 1 - r² of Isomap's map
    sheet: bool  # can it be one sheet, with rows enough to see it?


def ways(sample: Sample, dimension: float, ops: Backend, seed: int) -> Ways | None:
    """Measure ways in a small sample, or in its largest piece; None if that is less than half.

    Too many neighbors cut across a fold, too few make detours. Both spoil Isomap's map, so the
    number of neighbors is the one whose map of `dimension` dimensions loses least.
    """
    if len(sample) > SAMPLE:
        sample = sample.at(random.subset(seed, "ways", len(sample), SAMPLE))
    if len(sample) < 10:
        return None
    near = sample.others(min(MOST_NEIGHBORS, len(sample) - 1), ops)
    whole = np.flatnonzero(pieces_by_neighbors(near) == 1)
    widest = near.indices.shape[1]
    inside = np.arange(len(sample))
    least = min(max(CANDIDATES[0], int(whole[0]) + 1), widest) if len(whole) else widest
    if not len(whole):
        inside = np.flatnonzero(pieces_of(near, widest) == 0)
        if len(inside) < max(10, len(sample) // 2):
            return None
    straight = scaled(sample.at(inside).distances(ops), min(DIMENSIONS, len(inside) - 2))
    p = int(np.clip(round(dimension), 1, straight.shape[1])) - 1
    tried = sorted({least, *(k for k in CANDIDATES if least <= k <= widest)})
    found = [_along(near, k, inside, straight, ops) for k in tried]
    best = min(found, key=lambda one: float(one.geodesic[p]))
    return best._replace(sheet=len(sample) >= FEW and not _grouped(near))


def _grouped(near: Neighbors) -> bool:
    """Do few neighbors leave several groups? Ways lead from one to the next, bent or not."""
    sizes = np.bincount(pieces_of(near, CANDIDATES[0]))
    return bool((sizes > GROUP * len(near.indices)).sum() > 1)


def _along(
    near: Neighbors, k: int, inside: NDArray[np.int64], straight: Float64, ops: Backend
) -> Ways:
    """Ways in the graph of k neighbors."""
    n = len(near.indices)
    starts = np.arange(0, n * k + 1, k)
    lengths = near.distances[:, :k].ravel()
    edges = symmetrize_edges(
        csr_array((lengths, near.indices[:, :k].ravel(), starts), shape=(n, n))
    )
    along = np.ascontiguousarray(
        np.asarray(ops.geodesics(edges).distances(Ragged.singletons(inside)), np.float64)[:, inside]
    )
    symmetrize_in_place(along)
    bent = scaled(along, straight.shape[1])
    return Ways(k, residual_variance(along, straight), residual_variance(along, bent), True)


def scaled(D: Float64, k: int) -> Float64:
    """Classical scaling of distances to k dimensions."""
    n = len(D)
    values, vectors = eigh(centered(-0.5 * D * D), subset_by_index=[n - k, n - 1])
    return np.asarray(vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0)))


def residual_variance(D: Float64, Y: Float64) -> Float64:
    """1 - r² of D and distances in the first 1, 2, ... columns of Y."""
    upper = np.triu_indices(len(D), 1)
    wanted = D[upper] - D[upper].mean()
    square = np.zeros(len(wanted))
    left = []
    for y in Y.T:
        square += (y[upper[0]] - y[upper[1]]) ** 2
        d = np.sqrt(square)
        d -= d.mean()
        spread = float((wanted @ wanted) * (d @ d))
        left.append(1 - float(wanted @ d) ** 2 / spread if spread > 0 else 1.0)
    return np.clip(left, 0, 1)


def shape_finding(found: Ways, dimension: float) -> tuple[str, Finding]:
    """Compare the maps at the intrinsic dimension, and at one more: a ring closes only there."""
    p = int(np.clip(round(dimension), 1, len(found.linear)))
    more = min(p + 1, len(found.linear))
    linear, geodesic = float(found.linear[p - 1]), float(found.geodesic[p - 1])
    told = (
        f"in {counted(p, 'dimension')} PCA loses {linear:.0%} of the distances along the graph, "
        f"Isomap {geodesic:.0%}"
    )
    if min(linear, float(found.linear[more - 1])) <= KEPT / 2:
        return "linear", Finding("fine", "shape", f"The structure looks linear: {told}.")
    saved = min(found.linear[i - 1] - found.geodesic[i - 1] for i in (p, more))
    sheet = saved > BENT and linear > 2 * geodesic and geodesic <= KEPT
    if not found.sheet:
        return "unknown", Finding(
            "fine", "shape", f"Groups, or few rows, do not show whether anything bends: {told}."
        )
    if sheet and dimension < DIMENSIONS + 0.5:
        return "non-linear", Finding(
            "notice",
            "shape",
            f"The rows lie on something bent: {told}.",
            "Use a method that follows it (Isomap, LTSA, ModifiedLLE); PCA would fold it.",
        )
    if min(linear, float(found.linear[more - 1])) <= KEPT:
        return "linear", Finding("fine", "shape", f"The structure looks linear: {told}.")
    return "high-dimensional", Finding(
        "notice",
        "shape",
        f"Few dimensions do not hold these rows: {told}.",
        "Distances in any map of two dimensions will mislead; keep more components for further "
        "computation, and take TSNE for a picture of neighborhoods.",
    )


def oblique(sample: Sample, dimension: float, seed: int) -> Finding | None:
    """Independent directions that are not at right angles, which PCA's axes would mix.

    Fixed-point search for directions as far from normal as can be (Hyvärinen, 1999), which must
    be clearly so by their kurtosis, and more so than the axes of PCA. None if there are not two
    of them at an angle of less than 70 degrees.
    """
    if not sample.flat or len(sample) < 100:
        return None
    drawn = random.subset(seed, "directions", len(sample), min(len(sample), 4 * SAMPLE))
    rows = sample.items[drawn]
    rows = np.asarray(rows.toarray() if issparse(rows) else rows, np.float64)
    _, sizes, axes = np.linalg.svd(_thin(rows - rows.mean(0), seed), full_matrices=False)
    p = int(np.clip(np.ceil(dimension), 2, 6))
    p = min(p, int((sizes > 1e-6 * sizes[0]).sum()))
    if p < 2:
        return None
    Y = (rows - rows.mean(0)) @ axes[:p].T
    scale = Y.std(0)
    Z = Y / scale
    rotation = independent(Z, seed)
    found, by_axes = contrasts(Z @ rotation), contrasts(Z)
    strong = np.flatnonzero(found > CLEAR * np.sqrt(24 / len(Z)))
    if len(strong) < 2 or found.sum() < CLEARER * by_axes.sum():
        return None
    directions = rotation[:, strong] * scale[:, None]
    directions /= np.linalg.norm(directions, axis=0)
    cosines = np.abs(np.triu(directions.T @ directions, 1))
    angle = float(np.degrees(np.arccos(np.clip(cosines.max(), 0, 1))))
    if angle > OBLIQUE:
        return None
    return Finding(
        "notice",
        "shape",
        f"{len(strong)} independent directions stand out, two of them at {angle:.0f} degrees; "
        "axes of PCA are at right angles and mix them.",
        "To name the directions use sklearn.decomposition.FastICA; for a map PCA still keeps the "
        "distances.",
    )


def _thin(rows: Float64, seed: int) -> Float64:
    """Few enough rows for a quick decomposition, which still show the leading axes."""
    if len(rows) <= SAMPLE or min(rows.shape) <= 100:
        return rows
    return rows[random.subset(seed, "axes", len(rows), SAMPLE)]


def independent(Z: Float64, seed: int) -> Float64:
    """Rotation of whitened rows whose columns give directions far from normal."""
    p = Z.shape[1]
    W = np.linalg.qr(random.normals(seed, "rotation", (p, p)))[0]
    for _ in range(200):
        T = np.tanh(Z @ W)
        U, _, V = np.linalg.svd(Z.T @ T / len(Z) - W * (1 - T * T).mean(0))
        turned = U @ V
        still = np.abs(np.abs((turned * W).sum(0)) - 1).max()
        W = turned
        if still < 1e-8:
            break
    return np.asarray(W)


def contrasts(S: Float64) -> Float64:
    """How far from normal each column of mean 0 and variance 1 is: size of its kurtosis less 3."""
    return np.asarray(np.abs((S**4).mean(0) - 3))
