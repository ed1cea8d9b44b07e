"""Rows as the actions of the findings leave them, and whether to reduce them by PCA first."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from ... import random
from ...backends.protocol import Float64
from ...input.row_hash import hash_rows
from ...methods.pca import PCA
from ...pipeline.steps import apply_steps, learn_steps
from ...solvers.scree import count_above_tracy_widom
from ..parallel_analysis import analyze_parallel, compute_eigenvalues
from .raw_data import RawData, Sample, rescale
from .result import Action, Finding, merge_actions

MIN_WIDE_COLUMNS = 50  # beyond which noise in many columns adds up in distances
MAX_NOISE_SHARE = 0.5  # of the variance in components that do not stand out of noise
MAX_PREPARED_COMPONENTS = 50  # as t-SNE's authors take, and single-cell analyses
MIN_PREPARED_COMPONENTS = 10  # a component too many costs little, one too few a cluster
SIGNAL_FACTOR = 2  # components kept for each that parallel analysis finds in a part of the data
SIGNAL_ROWS, SIGNAL_COLUMNS, SIGNAL_PERMUTATIONS = 800, 4000, 4  # of parallel analysis: a second


class PreparedRows(NamedTuple):
    """The sampled rows after the steps that the findings call for."""

    sample: Sample | None
    notes: list[str]


def prepare_rows(data: RawData, sample: Sample | None, findings: list[Finding]) -> PreparedRows:
    """Apply the steps to the sampled rows; rows that are equal afterwards count once."""
    params = merge_actions(findings)
    if sample is None or not params or data.kind != "rows" or data.metric != "euclidean":
        return PreparedRows(sample, [])
    for name in ("drop", "log1p"):
        if isinstance(params.get(name), tuple):
            params[name] = data.index_columns(params[name])
    X = data.take_raw(sample.rows).X
    rows = rescale(apply_steps(learn_steps(X, **params), X, np.dtype(np.float64)))
    first = np.sort(np.unique(hash_rows(rows), return_index=True)[1])
    done = ", ".join(str(f.action) for f in findings if f.action is not None)
    notes = [f"Neighbors were searched after: {done}."]
    return PreparedRows(replace(sample, items=rows[first], rows=sample.rows[first]), notes)


def check_noise(
    sample: Sample, hubness: Finding, is_genotypes: bool, is_counts: bool, seed: int
) -> Finding | None:
    """The finding that calls for PCA first, in place of that on hubs; None if there is none.

    Many columns with hubs among the rows, counts, genotypes, or most of the variance in components
    that do not stand out of noise.
    """
    n, d = sample.X.shape
    if not sample.is_euclidean or d <= MIN_WIDE_COLUMNS or n <= MIN_PREPARED_COMPONENTS:
        return None
    count, share = count_signal(sample, is_genotypes, seed)
    has_hubs = hubness.severity != "fine"
    if not (has_hubs or is_genotypes or is_counts or share < 1 - MAX_NOISE_SHARE):
        return None
    kept = count if is_genotypes else max(MIN_PREPARED_COMPONENTS, SIGNAL_FACTOR * count)
    kept = int(np.clip(kept, 2, min(MAX_PREPARED_COMPONENTS, n - 1, d)))
    test = "Tracy and Widom's test" if is_genotypes else "parallel analysis"
    sentence = hubness.sentence if has_hubs else "Many columns are mostly noise."
    return Finding(
        hubness.severity if has_hubs else "notice",
        "hubness" if has_hubs else "noise",
        f"{sentence} Of {d} columns' principal components {count} stand out of noise by {test}, "
        f"with {share:.0%} of the variance.",
        f"Reduce the columns by PCA first: Pipeline(pca={kept}).",
        hubness.affected,
        Action({"pca": kept}, f"reduced to {kept} principal components first"),
    )


def count_signal(sample: Sample, is_genotypes: bool, seed: int) -> tuple[int, float]:
    """Components that stand out of noise, and their share of the variance, in a part of the data.

    Genotypes are tested by Tracy and Widom's law, which allows for linked SNPs; other columns have
    noise of different sizes, which permutations preserve.
    """
    n, d = sample.X.shape
    part = sample.take(random.subset(seed, "signal", n, min(n, SIGNAL_ROWS)))
    if is_genotypes:
        Z = part.take_dense()
        Z = Z - Z.mean(0)
        values = compute_eigenvalues(Z @ Z.T)
        count = count_above_tracy_widom(values)
        return count, float(values[:count].sum() / values.sum())
    X = part.take_dense(random.subset(seed, "signal columns", d, min(d, SIGNAL_COLUMNS)))
    count, observed, _ = analyze_parallel(X, SIGNAL_PERMUTATIONS, seed)
    return count, float(observed[:count].sum())


def reduce_by_pca(sample: Sample, noise: Finding) -> Sample:
    """The sample on the principal components that the finding calls for."""
    assert noise.action is not None
    X = sample.X if issparse(sample.X) else np.ascontiguousarray(sample.X)
    scores: Float64 = np.asarray(PCA(noise.action.params["pca"]).fit_transform(X), np.float64)
    return replace(sample, items=scores)
