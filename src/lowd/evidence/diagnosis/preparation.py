"""Rows as the actions of the findings leave them, and whether to reduce them by PCA first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ... import random
from ...linalg.scree import count_above_tracy_widom
from ...pipeline import STEP_PARAMETERS, Preparation
from ...spaces import hash_rows
from ..null_models import analyze_parallel, compute_eigenvalues
from .raw_data import RawData, Sample, rescale
from .result import Action, Finding, merge_actions

MIN_WIDE_COLUMNS = 50  # beyond which noise in many columns adds up in distances
MAX_NOISE_SHARE = 0.5  # of the variance in components that do not stand out of noise
MAX_PREPARED_COMPONENTS = 50  # as t-SNE's authors take, and single-cell analyses
MIN_PREPARED_COMPONENTS = 10  # a component too many costs little, one too few a cluster
COMPONENTS_PER_SIGNAL = 2  # kept for each that parallel analysis finds in a part of the data
SIGNAL_ROWS, SIGNAL_COLUMNS, SIGNAL_PERMUTATIONS = 800, 4000, 4  # of parallel analysis: a second


class Decided(NamedTuple):
    """What the caller has decided: steps with their values, and columns that are not left out."""

    steps: Mapping[str, Any] = {}
    keep: Sequence[str | int] = ()
    recognized: bool = False  # are the columns those that a reader of the file took as features?

    def limit(self, findings: list[Finding], data: RawData) -> list[Finding]:
        """The findings without actions on what is decided."""
        if self.recognized:
            findings = [found for found in findings if found.topic not in ("identifiers", "codes")]
        kept = set(data.index_columns([c for c in self.keep if data.has_column(c)]))
        return [self._limit_one(finding, data, kept) for finding in findings]

    def _limit_one(self, finding: Finding, data: RawData, kept: set[int]) -> Finding:
        if finding.action is None:
            return finding
        params = {n: v for n, v in finding.action.params.items() if n not in self.steps}
        if "drop" in params and kept:
            left = [j for j in data.index_columns(params.pop("drop")) if j not in kept]
            if left:
                params["drop"] = data.identify_columns(left)
        if params == finding.action.params:
            return finding
        words = finding.action.description
        if "drop" in params and "impute" not in params:
            words = f"{data.list_columns(data.index_columns(params['drop']))} left out"
        return replace(finding, action=Action(params, words) if params else None)

    def merge(self, findings: list[Finding]) -> dict[str, Any]:
        """All steps: those of the findings and those that are decided."""
        decided = {name: value for name, value in self.steps.items() if value}
        merged = {**merge_actions(findings), **decided}
        return {name: merged[name] for name in STEP_PARAMETERS if name in merged}


def prepare_rows(
    data: RawData, sample: Sample | None, findings: list[Finding], decided: Decided
) -> Sample | None:
    """The sampled rows after the steps before PCA; those that are equal then count once."""
    params = decided.merge(findings)
    for name in ("pca", "correct_shrinkage"):
        params.pop(name, None)
    if sample is None or not params or data.kind != "rows" or data.metric != "euclidean":
        return sample
    for name in ("drop", "log1p"):
        if isinstance(params.get(name), tuple | list):
            params[name] = data.index_columns(params[name])
    X = data.take_raw(sample.rows).X
    rows = rescale(Preparation.learn(X, **params).apply(X))
    first = np.sort(np.unique(hash_rows(rows), return_index=True)[1])
    return replace(sample, items=rows[first], rows=sample.rows[first])


def check_noise(
    sample: Sample, hubness: Finding, is_genotypes: bool, is_counts: bool, seed: int
) -> Finding | None:
    """The finding that calls for PCA first, instead of that on hubs; None if there is none.

    Many columns with hubs among the rows, counts, genotypes, or most of the variance in components
    that do not stand out of noise.
    """
    if not sample.is_euclidean:
        return None
    n, d = sample.X.shape
    if d <= MIN_WIDE_COLUMNS or n <= MIN_PREPARED_COMPONENTS:
        return None
    count, share = count_signal(sample, is_genotypes, seed)
    has_hubs = hubness.severity != "fine"
    if not (has_hubs or is_genotypes or is_counts or share < 1 - MAX_NOISE_SHARE):
        return None
    kept = count if is_genotypes else max(MIN_PREPARED_COMPONENTS, COMPONENTS_PER_SIGNAL * count)
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
