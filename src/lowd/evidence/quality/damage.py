"""The tail of an evaluation: groups of rows that a map tears apart, lays on others, or folds.

Means over all rows do not show that a map is wrong in one place. A neighbor is elsewhere if it is
not among the nearest tenth of all rows in the other space, seen from both ends. It counts only in a
bundle of pairs that lead from one neighborhood to the same other one, since scattered misplaced
rows are no damage to a part. Rows with many such neighbors, joined by the neighbor graph, are a
group: torn if neighbors in the data are elsewhere in the map, and covered if neighbors in the map
are elsewhere in the data; folded if these are on the same sheet of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom

from ... import random
from ...parameters import Indices, Reals
from ...spaces import Space
from .metric_spaces import distances_from, pair_distances

Kind: TypeAlias = Literal["torn", "covered", "folded"]
N_JUDGED = 15  # neighbors of each row
BAD_SHARE = 1 / 3  # of a row's neighbors are elsewhere: 5 of 15
TORN_SHARE, EXCESS = 0.25, 0.2  # of the neighbors of a torn region; more than in the median row
MIN_GROUP = 20  # rows
MAX_REFERENCES = 500  # rows, distances to which tell how far the nearest tenth is
WORDS = {
    "torn": "their neighbors in the data are elsewhere in the embedding",
    "covered": "their neighbors in the embedding are from another part of the data",
    "folded": "their neighbors in the embedding are from another place on the same sheet of the "
    "data",
}


class DamagedGroup(NamedTuple):
    """A connected group of rows whose neighbors are elsewhere.

    kind : "torn", "covered" or "folded"
    rows : indices of the rows
    share : mean share of their neighbors that are elsewhere
    classes : the class or the two classes of most of them, if labels were given
    """

    kind: Kind
    rows: NDArray[np.int64]
    share: float
    classes: tuple[str, ...] = ()

    def __str__(self) -> str:
        of = ""
        if self.classes:
            plural = "classes" if self.classes[1:] else "class"
            of = f", mostly of {plural} {' and '.join(self.classes)}"
        return f"{len(self.rows)} rows{of}"


class Rule(NamedTuple):
    """When a neighbor is elsewhere, and how many parallel pairs make a bundle."""

    share: float  # of the nearest rows, among which it is not,
    rows: int  # and not among this many
    bundle: int


# Breaks between rows that stay near; parts carried away, and parts laid on others.
BROKEN, FAR = Rule(0.03, 30, 16), Rule(0.1, 60, 8)


class Other(NamedTuple):
    """Where neighbors in one space are in the other: their ranks, and how to see the other end."""

    space: Space
    neighbors: Indices  # n x k, of the rows in this space
    ranks: Indices  # n x k, in the other space
    references: Reals  # distances of all rows of the other space to some of them, in rising order


def find_damage(
    data: Space,
    embedding: Space,
    near: Indices,
    near_ranks: Indices,
    mapped: Indices,
    mapped_ranks: Indices,
    order: Indices,
    seed: int,
    labels: ArrayLike | None = None,
) -> list[DamagedGroup]:
    """Damaged groups of rows, the largest first.

    `near` are the neighbors in the data with their ranks in the embedding, and `mapped` those in
    the embedding with their ranks in the data.
    """
    n, k = len(near), min(near.shape[1], N_JUDGED)
    N, M = near[:, :k].astype(np.int64), mapped[:, :k].astype(np.int64)
    chosen = order[random.subset(seed, "references", n, min(n, MAX_REFERENCES))]
    torn = Other(embedding, N, near_ranks[:, :k], _sort_distances(embedding, chosen))
    found: list[tuple[Kind, NDArray[np.int64], float]] = []

    i, _, usual = find_bundles(torn, BROKEN, M)
    broken = np.bincount(i, minlength=n)
    bad = broken >= max(BAD_SHARE * k, binom.isf(0.001, k, usual) + 1)  # by chance one in 1000
    i, _, usual = find_bundles(torn, FAR, M)
    count = np.bincount(i, minlength=n)
    bad |= _smooth(count, M) >= max(TORN_SHARE, usual + EXCESS) * k
    for rows in group_rows(bad, N):
        found.append(("torn", rows, float(np.maximum(count, broken)[rows].mean() / k)))

    covered = Other(data, M, mapped_ranks[:, :k], _sort_distances(data, chosen))
    i, j, usual = find_bundles(covered, FAR, N, whole=True)
    count = np.bincount(i, minlength=n)
    groups = group_rows(_smooth(count, M) >= BAD_SHARE * k, M)
    sheet = _label_sheets(N) if groups else np.zeros(n, np.int64)
    for rows in groups:
        own = np.isin(i, rows)
        same = np.mean(sheet[i[own]] == sheet[j[own]]) > 0.5
        found.append(("folded" if same else "covered", rows, float(count[rows].mean() / k)))
    found.sort(key=lambda group: -len(group[1]))
    return [DamagedGroup(*each, _name_classes(each[1], labels)) for each in found]


def describe_damage(found: Sequence[DamagedGroup], shown: int = 3) -> str:
    """A sentence for each kind of damage, with its largest groups."""
    sentences = []
    for kind in dict.fromkeys(group.kind for group in found):
        groups = [group for group in found if group.kind == kind]
        text = "; ".join(map(str, groups[:shown]))
        if groups[shown:]:
            text += f"; {sum(len(group.rows) for group in groups[shown:])} rows in smaller groups"
        share = np.average([g.share for g in groups], weights=[len(g.rows) for g in groups])
        sentences.append(f"{kind.capitalize()}: {text}; {share:.0%} of {WORDS[kind]}.")
    return " ".join(sentences)


def find_bundles(
    other: Other, rule: Rule, back: Indices, whole: bool = False
) -> tuple[Indices, Indices, float]:
    """Pairs of a row and a neighbor that is elsewhere, in bundles; their share in the median row.

    With `whole`, what most rows have needs no bundles.
    """
    n = len(other.neighbors)
    i, at = np.nonzero(other.ranks > max(rule.rows, rule.share * n))
    j = other.neighbors[i, at]
    if len(i):
        m = other.references.shape[1]
        radius = other.references[:, min(int(max(rule.rows, rule.share * n) * m / n), m - 1)]
        far = pair_distances(other.space, i, j) > radius[j]
        i, j = i[far], j[far]
    usual = float(np.median(np.bincount(i, minlength=n))) / other.neighbors.shape[1]
    if len(i) and not (whole and usual >= BAD_SHARE):
        bundled = _count_parallel(i, j, back) >= rule.bundle
        i, j = i[bundled], j[bundled]
    return i, j, usual


def group_rows(bad: NDArray[np.bool_], neighbors: Indices) -> list[NDArray[np.int64]]:
    """Parts of the bad rows that neighbors join: large ones, or many small ones as one."""
    rows, n = np.flatnonzero(bad), len(neighbors)
    if not len(rows):
        return []
    joined = _make_graph(neighbors)[rows][:, rows]
    part = connected_components(joined, directed=False)[1]
    size = np.bincount(part)[part]
    groups = [rows[part == number] for number in np.unique(part[size >= MIN_GROUP])]
    small = (size >= 5) & (size < MIN_GROUP)  # as a closed curve in pieces has
    if small.sum() >= max(MIN_GROUP, 0.06 * n):
        groups.append(rows[small])
    return groups


def _smooth(count: Indices, neighbors: Indices) -> Reals:
    """The mean of each row and its neighbors."""
    return np.asarray((count + count[neighbors].sum(1)) / (neighbors.shape[1] + 1))


def _count_parallel(i: Indices, j: Indices, near: Indices) -> Reals:
    """For each pair i, j: how many pairs join i or its neighbors with j or its neighbors."""
    n = len(near)
    own = _make_graph(np.column_stack([np.arange(n), near]))
    pairs = csr_array((np.ones(len(i), np.float32), (i, j)), shape=(n, n))
    reached = csr_array(own @ pairs.maximum(pairs.T))
    count, step = np.empty(len(i)), 20_000
    for start in range(0, len(i), step):
        some = slice(start, start + step)
        count[some] = reached[i[some]].multiply(own[j[some]]).sum(1)
    return count


def _label_sheets(near: Indices) -> NDArray[np.int64]:
    """Parts of the data that are joined by rows with half of their neighbors in common."""
    graph = _make_graph(near)
    shared = (graph @ graph.T) * graph
    parts = connected_components(shared >= near.shape[1] / 2, directed=False)[1]
    return np.asarray(parts, np.int64)


def _make_graph(neighbors: Indices) -> csr_array:
    n, k = neighbors.shape
    entries = np.ones(n * k, np.float32), neighbors.ravel(), np.arange(0, n * k + 1, k)
    return csr_array(entries, shape=(n, n))


def _sort_distances(space: Space, chosen: Indices) -> Reals:
    """Distances of all rows to the chosen ones, those of each row in rising order."""
    return np.sort(distances_from(space, chosen).T, axis=1)


def _name_classes(rows: Indices, labels: ArrayLike | None) -> tuple[str, ...]:
    """The class of 60 % of the rows, or the two classes of 80 %; nothing if they are mixed."""
    if labels is None:
        return ()
    names, counts = np.unique(np.asarray(labels)[rows].astype(str), return_counts=True)
    first = np.argsort(-counts, kind="stable")[:2]
    if counts[first[0]] >= 0.6 * len(rows):
        return (str(names[first[0]]),)
    return tuple(map(str, names[first])) if counts[first].sum() >= 0.8 * len(rows) else ()
