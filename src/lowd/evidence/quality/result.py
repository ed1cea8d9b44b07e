"""`Evaluation`: the quality measures of an embedding, with intervals and pointwise values.

Damage is the tail of an evaluation: groups of rows that a map tears apart, lays on others, or
folds. Means over all rows do not show that a map is wrong in one place. A neighbor is elsewhere if
it is not among the nearest tenth of all rows in the other space, seen from both ends. It counts
only in a bundle of pairs that lead from one neighborhood to the same other one, since scattered
misplaced rows are no damage to a part. Rows with many such neighbors, joined by the neighbor graph,
are a group: torn if neighbors in the data are elsewhere in the map, and covered if neighbors in the
map are elsewhere in the data; folded if these are on the same sheet of the data.

Reliability is that of the confidence of new points: what was promised, and what left-out rows
show.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom

from ... import random
from ...confidence import LeftOutRows
from ...input.arguments import DataFrame
from ...parameters import Indices, Reals
from ...spaces import Space
from ..null_models import Structure
from ..tables import html_list, html_row, to_data_frame
from ..types import Figure
from .measures import DEFINITIONS, Measure
from .metric_spaces import distances_from, pair_distances

MEASURE_GROUPS = {
    "neighborhoods": (
        "trustworthiness",
        "continuity",
        "neighbor_recall",
        "lcmc",
        "mrre_false",
        "mrre_missing",
        "bnx",
    ),
    "all scales": (
        "rnx_auc",
        "triplet_accuracy",
        "spearman",
        "pearson",
        "scale_normalized_stress",
        "stress1",
        "nonmetric_stress",
    ),
    "labels": (
        "knn_accuracy",
        "knn_accuracy_data",
        "neighborhood_hit",
        "label_trustworthiness",
        "label_continuity",
        "centroid_triplet_accuracy",
        "silhouette",
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Quality measures of an embedding. The result of `lowd.evaluate` and `model.evaluate`.

    Every measure is an attribute (`evaluation.trustworthiness`): a float with `.interval` (95 %,
    None if exact), `.better`, `.formula`, `.question` and `.k`. A measure that was not computed is
    None, and `notes` say why.

    Attributes
    ----------
    verdict : what can be read off the embedding, in a few sentences
    measures : dict of name -> Measure
    pointwise : dict of name -> one value for each of `rows`
    rows : indices of the rows that were evaluated; all if `exact`
    rnx_curve : K and R_NX(K)
    shepard : distances of pairs in the data and in the embedding
    model : values that the model itself reports, if there was one
    random_state : the seed of sampled rows, pairs and triplets, if one was given
    structure : is there structure to see in the data, and is it more than linear? None where the
        data are not rows with Euclidean distances
    damaged : groups of rows that are torn apart, laid on others or folded, the largest first; of
        5000 random rows if not all were evaluated
    reliability : promised and found confidence of new points, if the model's is calibrated
    n_samples, n_neighbors, metric, seconds
    exact : are rank-based measures computed from all rows?
    ties : share of rows whose k-th neighbor in the data is as far as the next
    duplicates : how many of the rows have a duplicate in the data
    notes : sentences on what was sampled, left out, or limits the interpretation
    """

    measures: dict[str, Measure]
    pointwise: dict[str, NDArray[np.float64]]
    rows: NDArray[np.int64]
    rnx_curve: tuple[NDArray[np.int64], NDArray[np.float64]] | None
    shepard: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    n_samples: int
    n_neighbors: int
    metric: str
    exact: bool
    seconds: float
    ties: float
    duplicates: int
    notes: list[str] = field(default_factory=list)
    model: dict[str, float] = field(default_factory=dict)
    random_state: int | None = None
    reliability: Reliability | None = None
    structure: Structure | None = None
    damaged: list[DamagedGroup] = field(default_factory=list)

    def __getattr__(self, name: str) -> Measure | None:
        if name in DEFINITIONS:
            return self.measures.get(name)
        if "measures" not in vars(self):  # during unpickling
            raise AttributeError(name)
        raise AttributeError(f"an evaluation has no {name!r}; its measures: {list(self.measures)}.")

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *DEFINITIONS])

    @property
    def verdict(self) -> str:
        """What can be read off the embedding, in a few sentences."""
        claim = "" if self.structure is None else self.structure.claim
        is_noise = self.structure is not None and self.structure.kind == "noise"
        damage = "" if is_noise else describe_damage(self.damaged)  # noise is torn everywhere
        return " ".join(part for part in (claim, give_verdict(self.measures), damage) if part)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without pointwise values."""
        return {
            "verdict": self.verdict,
            "structure": None if self.structure is None else self.structure.to_dict(),
            "damaged": [
                {
                    **group._asdict(),
                    "rows": group.rows.tolist(),
                    "sentence": describe_damage([group]),
                }
                for group in self.damaged
            ],
            "n_samples": self.n_samples,
            "n_neighbors": self.n_neighbors,
            "metric": self.metric,
            "exact": self.exact,
            "rows": len(self.rows),
            "seconds": self.seconds,
            "ties": self.ties,
            "duplicates": self.duplicates,
            "measures": {
                name: {
                    "value": float(one),
                    "interval": None if one.interval is None else list(one.interval),
                    "better": one.better,
                    "formula": one.formula,
                    "k": one.k,
                }
                for name, one in self.measures.items()
            },
            "model": self.model,
            "reliability": None if self.reliability is None else self.reliability.to_dict(),
            "notes": self.notes,
        }

    def to_frame(self) -> DataFrame:
        """One row per measure, as a pandas DataFrame."""
        records = [
            {
                "measure": name,
                "value": float(one),
                "low": np.nan if one.interval is None else one.interval[0],
                "high": np.nan if one.interval is None else one.interval[1],
                "better": one.better,
                "k": one.k,
                "formula": one.formula,
            }
            for name, one in self.measures.items()
        ]
        return to_data_frame(records, "measure")

    def plot(self, **options: Any) -> Figure:
        """The R_NX curve (`lowd.plot.rnx`); see also `lowd.plot.shepard` and `quality`."""
        # Imported by name: plots are a higher layer, and need matplotlib.
        return import_module("lowd.plot").rnx(self, **options)

    def __repr__(self) -> str:
        lines = [self._headline(), "", *textwrap.wrap(self.verdict, 100)]
        for title, rows in self._table():
            lines += ["", f"{title}:"]
            lines += [
                f"  {name:<26}{value:<26} {better:<8} {why}" for name, value, better, why in rows
            ]
        if self.model:
            lines += ["", "of the model:"]
            lines += [f"  {name:<26}{value:.4g}" for name, value in self.model.items()]
        if self.reliability is not None:
            lines += ["", "confidence of left-out rows:", *self.reliability.to_lines()]
        if self.notes:
            lines += ["", *(f"* {note}" for note in self.notes)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        text = html.escape
        out = [f"<p>{text(self._headline())}</p><p>{text(self.verdict)}</p><table>"]
        for title, rows in self._table():
            out.append(f"<tr><th colspan='4' style='text-align:left'>{text(title)}</th></tr>")
            out += [html_row(row) for row in rows]
        out += [html_row([name, f"{value:.4g}", "", ""]) for name, value in self.model.items()]
        out.append("</table>")
        if self.reliability is not None:
            table = "\n".join(self.reliability.to_lines())
            out.append(f"<p>Confidence of left-out rows</p><pre>{text(table)}</pre>")
        return "".join([*out, html_list(self.notes)])

    def _headline(self) -> str:
        how = "all rows" if self.exact else f"{len(self.rows)} sampled rows against all"
        return (
            f"Embedding of {self.n_samples} rows ({self.metric} distances, {self.n_neighbors} "
            f"neighbors, {how}, {self.seconds:.2f} s)"
        )

    def _table(self) -> list[tuple[str, list[tuple[str, str, str, str]]]]:
        tables: list[tuple[str, list[tuple[str, str, str, str]]]] = []
        for title, names in MEASURE_GROUPS.items():
            held = [self.measures[name] for name in names if name in self.measures]
            if held:
                tables.append(
                    (title, [(one.name, repr(one), one.better, one.question) for one in held])
                )
        return tables


# -- the verdict ----------------------------------------------------------------------------------

# From which value on neighborhoods are called reliable, and mostly reliable. A map of random
# numbers has 0.5; t-SNE of the handwritten digits 0.99, their PCA 0.83.
RELIABLE_NEIGHBORS = 0.95
MOSTLY_RELIABLE_NEIGHBORS = 0.85
# The same for the order of distances in random triplets; chance is 0.5.
RELIABLE_TRIPLET_ACCURACY = 0.9
MOSTLY_RELIABLE_TRIPLET_ACCURACY = 0.75


def give_verdict(measures: Mapping[str, float]) -> str:
    """What can be read off the embedding, in one sentence.

    >>> give_verdict({"trustworthiness": 0.97, "continuity": 0.9, "triplet_accuracy": 0.6})
    'Points that are near in the embedding are near in the data (trustworthiness 0.97), most \
neighbors in the data are near in the embedding (continuity 0.90), and large distances say \
little (triplet accuracy 0.60).'
    """
    parts = []
    if (trust := measures.get("trustworthiness")) is not None:
        near = "points that are near in the embedding are"
        words = f"{near} near in the data", f"{near} mostly near in the data"
        text = _grade(trust, *words, f"{near} often far in the data", "trustworthiness")
        if (recall := measures.get("neighbor_recall")) is not None:
            text = f"{text[:-1]}, recall {recall:.2f})"
        parts.append(text)
    if (continuity := measures.get("continuity")) is not None:
        near = "neighbors in the data are"
        words = f"{near} near in the embedding", f"most {near} near in the embedding"
        parts.append(_grade(continuity, *words, f"{near} often torn apart", "continuity"))
    if (triplets := measures.get("triplet_accuracy")) is not None:
        words = "large distances keep their order", "large distances roughly keep their order"
        limits = RELIABLE_TRIPLET_ACCURACY, MOSTLY_RELIABLE_TRIPLET_ACCURACY
        parts.append(
            _grade(triplets, *words, "large distances say little", "triplet accuracy", limits)
        )
    text = ", and ".join(parts) if len(parts) < 3 else f"{parts[0]}, {parts[1]}, and {parts[2]}"
    return text[:1].upper() + text[1:] + "." if text else ""


def _grade(
    value: float,
    reliable: str,
    mostly: str,
    not_reliable: str,
    measure: str,
    limits: tuple[float, float] = (RELIABLE_NEIGHBORS, MOSTLY_RELIABLE_NEIGHBORS),
) -> str:
    words = reliable if value >= limits[0] else mostly if value >= limits[1] else not_reliable
    return f"{words} ({measure} {value:.2f})"


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


N_BINS = 10  # of equal width, as calibration errors are usually reported


@dataclass(frozen=True, eq=False)
class Reliability:
    """Promised confidence of left-out training rows against the share that was mapped correctly.

    Attributes
    ----------
    promised, found, counts : mean confidence, share of correctly mapped rows and number of rows of
        each bin of confidence that has any
    calibration_error : mean over rows of |promised - found| of their bin
    auc : how often a correctly mapped row has more confidence than another; NaN if all are alike
    """

    promised: NDArray[np.float64]
    found: NDArray[np.float64]
    counts: NDArray[np.int64]
    calibration_error: float
    auc: float

    @classmethod
    def of(cls, rows: LeftOutRows) -> Reliability:
        return compute_reliability(rows.promise(), rows.correct)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "promised": self.promised.tolist(),
            "found": self.found.tolist(),
            "counts": self.counts.tolist(),
            "calibration_error": self.calibration_error,
            "auc": None if np.isnan(self.auc) else self.auc,
        }

    def to_lines(self) -> list[str]:
        """A table: a line for each bin."""
        bins = zip(self.promised, self.found, self.counts, strict=True)
        lines = [f"  {a:>8.2f}{b:>8.2f}{count:>8}" for a, b, count in bins]
        auc = "" if np.isnan(self.auc) else f", AUC {self.auc:.2f}"
        return [
            f"  {'promised':>8}{'found':>8}{'rows':>8}",
            *lines,
            f"  calibration error {self.calibration_error:.3f}{auc}",
        ]


def compute_reliability(promised: NDArray[np.float64], correct: NDArray[np.bool_]) -> Reliability:
    """The reliability of promises in bins of equal width, and their AUC."""
    group = np.minimum((promised * N_BINS).astype(np.int64), N_BINS - 1)
    counts = np.bincount(group, minlength=N_BINS)
    held = np.flatnonzero(counts)
    means = (np.bincount(group, values, N_BINS)[held] for values in (promised, correct))
    mean, share = (total / counts[held] for total in means)
    error = float((counts[held] * np.abs(mean - share)).sum() / len(promised))
    return Reliability(mean, share, counts[held], error, _compute_auc(promised, correct))


def _compute_auc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    from scipy.stats import rankdata

    n, m = int(positive.sum()), int((~positive).sum())
    if n == 0 or m == 0:
        return float("nan")
    return float((rankdata(scores)[positive].sum() - n * (n + 1) / 2) / (n * m))
