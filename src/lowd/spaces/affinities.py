"""Affinities of neighbors: conditional and joint probabilities of a given perplexity."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from .. import _native
from ..backend import overridable, threads
from ..parameters import Graph, Indices, Reals
from ..progress import step
from .neighbors import Neighbors


@overridable
def conditional_probabilities(
    near: Neighbors, perplexity: float, squares: Reals | None = None
) -> tuple[Reals, Reals]:
    """p(j|i) ~ exp(-β_i d_ij²) over each list, with the perplexity as given; and these β_i.

    `squares` replace the squared distances. A list that is shorter than the perplexity gets equal
    probabilities.
    """
    squares = squared(near.distances) if squares is None else squares
    p, beta = np.empty(len(squares)), np.empty(len(near.counts))
    how = threads(32 * len(squares)), step("affinities")
    indptr = near.indptr.astype(np.int64, copy=False)
    _native.conditional_probabilities(indptr, squares, perplexity, p, beta, *how)
    short = near.counts < perplexity
    if short.any():
        owners = near.owners
        p = np.where(short[owners], 1 / near.counts[owners], p)
        beta[short] = 0
    return p, beta


def scaled_probabilities(near: Neighbors, perplexity: float, radii: Reals) -> Reals:
    """p(j|x) of new points x, by distances in units of the radius of each training point j.

    The radius is the distance of j's own u-th neighbor for a perplexity u. Where rows differ in
    the size of their noise, plain distances rank training points by their noise; the radii hold the
    same noise, and it cancels. A new point's own excess noise a is taken off first: so much that
    the point lies within the radii of u training points, as a training point does on average.
    """
    squares = squared(near.distances)
    own = np.maximum(squared(radii[near.indices]), np.finfo(float).tiny)
    ranks = np.minimum(near.counts, max(1, round(perplexity)))
    a = np.maximum(select_ranked(squares - own, near.indptr, ranks), 0)
    # A radius may be tiny: sums over a list stay finite nevertheless.
    scaled = np.clip((squares - a[near.owners]) / own, -1e300, 1e300)
    return conditional_probabilities(near, perplexity, scaled)[0]


def squared(distances: Reals) -> Reals:
    """Squares in float64, all of them finite."""
    return np.square(np.minimum(distances, 1e150, dtype=np.float64))


def select_ranked(values: Reals, indptr: Indices, ranks: Indices) -> Reals:
    """The value of a rank of each list, from 1 for the smallest; lists of one length share it."""
    counts, chosen = np.diff(indptr), np.empty(len(indptr) - 1)
    for count in np.unique(counts):  # nearly always one
        lists = np.flatnonzero(counts == count)
        table = values[indptr[lists, None] + np.arange(count)]
        at = int(ranks[lists[0]]) - 1
        chosen[lists] = np.partition(table, at, axis=1)[:, at]
    return chosen


def joint_probabilities(near: Neighbors, p: Reals) -> Graph:
    """P = (p + p') / 2n, symmetric with sum 1, from the conditional probabilities of n points."""
    return symmetrized(near, p, None)


@overridable
def symmetrized(near: Neighbors, values: Reals, union: float | None) -> Graph:
    """One symmetric matrix of the values A of the lists of n points.

    It is (A + A') / 2n, or with a share s of a `union` s (A + A' - A A') + (1 - s) A A', entry by
    entry. Its columns are in no order.
    """
    n = len(near.counts)
    lists = near.indptr.astype(np.int64, copy=False), near.indices.astype(np.int32, copy=False)
    how = threads(32 * len(values)), step("affinities")
    indptr, indices, both = _native.symmetrize(*lists, values, union, *how)
    if len(indices) < np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)  # as SciPy has it, which would convert both otherwise
    return csr_array((both, indices, indptr), (n, n))


def in_order_of_rows(A: Graph, point_of_row: Indices) -> Graph:
    """A matrix of the distinct points, which are then in the order in which their rows come."""
    order = np.argsort(np.unique(point_of_row, return_index=True)[1])
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    some = csr_array(A[order])
    out = csr_array((some.data, place[some.indices], some.indptr), A.shape)
    out.sort_indices()
    for part in (out.data, out.indices, out.indptr):
        part.setflags(write=False)
    return out
