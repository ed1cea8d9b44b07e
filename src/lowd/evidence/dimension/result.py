"""`Dimensions`: the number of dimensions by each rule, and whether the rules agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

from ...parameters import Reals
from ..tables import html_paragraphs
from ..types import Figure

# Rule -> description, for tables and plots.
RULES = {
    "variance_90": "keeps 90 % of the variance",
    "variance_95": "keeps 95 % of the variance",
    "broken_stick": "larger than shares of a stick broken at random",
    "parallel": "larger than with permuted columns",
    "kaiser": "correlation eigenvalues above 1",
    "gavish_donoho": "singular values above noise of unknown size",
    "profile_likelihood": "most likely split of the eigenvalues in two groups",
    "elbow": "before the elbow of the eigenvalues",
    "cross_validation": "predicts held-out blocks best",
    "isomap": "residual variance of geodesic distances stops falling",
    "eigengap": "largest gap of the graph Laplacian's spectrum (clusters less one)",
    "two_nn": "intrinsic dimension by two-NN",
    "maximum_likelihood": "intrinsic dimension by maximum likelihood",
    "local_pca": "intrinsic dimension by local PCA",
}
# Rules that separate signal from noise, or estimate the dimension of a manifold.
SIGNAL_RULES = (
    "parallel",
    "broken_stick",
    "gavish_donoho",
    "profile_likelihood",
    "cross_validation",
)
MANIFOLD_RULES = ("isomap", "two_nn", "maximum_likelihood", "local_pca")


@dataclass(frozen=True)
class Dimensions:
    """The result of `lowd.dimension`.

    Attributes
    ----------
    suggestions : rule -> number of dimensions; 0 if no component stands out
    intervals : intrinsic dimension estimators -> (value, low, high)
    curves : what the rules are applied to, by name: "eigenvalues" (variances of the principal
        components), "cumulative", "broken_stick", "parallel" and "parallel_observed" (shares of the
        variance), "correlation_eigenvalues", "profile_likelihood", "cross_validation" (from 0
        components on), "residual_variance" (from 1 dimension on), "laplacian_eigenvalues"
    thresholds : "gavish_donoho" -> the variance above which a component is no noise
    recommended : the rule to start with, and its number
    agreement : a sentence
    n_samples, n_features, notes
    """

    suggestions: dict[str, int]
    intervals: dict[str, tuple[float, float, float]]
    curves: dict[str, Reals]
    thresholds: dict[str, float]
    n_samples: int
    n_features: int
    notes: list[str] = field(default_factory=list)

    @property
    def recommended(self) -> tuple[str, int] | None:
        """The rule to start with, and its number: signal before manifold before variance.

        Parallel analysis makes no assumption on the noise, and is right for wide data, where shares
        of the variance count noise. If no component stands out, a manifold may still be there.
        """
        order = ("parallel", "isomap", "maximum_likelihood", "variance_90")
        found = ((name, self.suggestions.get(name, 0)) for name in order)
        return next(((name, count) for name, count in found if count > 0), None)

    def _explain_recommended(self) -> list[str]:
        if self.recommended is None:
            return []
        name, count = self.recommended
        why = "noise is what remains" if name == "parallel" else "no component stands out of noise"
        return [f"Take {count} ({name}) to begin with: {why}."]

    @property
    def agreement(self) -> str:
        """Do rules for components and estimates for manifolds agree?"""
        linear, manifold = self._select(SIGNAL_RULES), self._select(MANIFOLD_RULES)
        parts = [
            _summarize("Rules for components", linear),
            _summarize("Estimates for a manifold", manifold),
        ]
        summary = " ".join(part for part in parts if part)
        if not linear or not manifold:
            return summary or "There is nothing to compare."
        a, b = float(np.median(list(linear.values()))), float(np.median(list(manifold.values())))
        if max(a, b) <= 1.5 * max(min(a, b), 1):
            if "disagree" in summary:
                return f"{summary} Their medians, {a:g} and {b:g}, are close to each other."
            return f"{summary} Both agree."
        if a > b:
            return (
                f"{summary} They disagree: a manifold of about {b:g} dimensions may be curved into "
                "more."
            )
        return (
            f"{summary} They disagree: noise has more dimensions than stand out of it, or a "
            "manifold is curved so that no component stands out."
        )

    def _select(self, names: tuple[str, ...]) -> dict[str, int]:
        return {name: self.suggestions[name] for name in names if name in self.suggestions}

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dictionaries and numbers, as JSON takes them."""
        return {
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "suggestions": dict(self.suggestions),
            "intervals": {name: list(found) for name, found in self.intervals.items()},
            "agreement": self.agreement,
            "recommended": None
            if self.recommended is None
            else dict(zip(("rule", "n_components"), self.recommended, strict=True)),
            "thresholds": dict(self.thresholds),
            "curves": {name: curve.tolist() for name, curve in self.curves.items()},
            "notes": list(self.notes),
        }

    def plot(self, ax: Figure = None) -> Figure:
        """The curves with the suggestions on them: `lowd.plot.dimension`."""
        # Imported by name: plots are a higher layer, and need matplotlib.
        return import_module("lowd.plot").dimension(self, ax=ax)

    def __repr__(self) -> str:
        lines = [f"Dimension of {self.n_samples} rows, {self.n_features} columns"]
        for name, count in self.suggestions.items():
            lines.append(f"  {name:20} {count:4}  {RULES[name]}{self._interval(name)}")
        lines += [self.agreement, *self._explain_recommended()]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def _interval(self, name: str) -> str:
        if name not in self.intervals:
            return ""
        value, low, high = self.intervals[name]
        return f": {value:.2f} ({low:.2f} to {high:.2f})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td>{name}</td><td>{count}</td><td style="text-align:left">'
            f"{escape(RULES[name] + self._interval(name))}</td></tr>"
            for name, count in self.suggestions.items()
        )
        summary = escape(" ".join([self.agreement, *self._explain_recommended()]))
        return (
            f"<div><p><b>Dimension of {self.n_samples} rows, {self.n_features} columns</b></p>"
            "<table><tr><th>rule</th><th>dimensions</th><th></th></tr>"
            f"{rows}</table><p>{summary}</p>{html_paragraphs(self.notes)}</div>"
        )


def _summarize(title: str, group: dict[str, int]) -> str:
    """Do the rules of a group agree?"""
    if not group:
        return ""
    low, high = min(group, key=group.__getitem__), max(group, key=group.__getitem__)
    if group[high] == group[low]:
        return f"{title} all give {group[low]}."
    if group[high] <= group[low] + 1:
        return f"{title} give {group[low]} or {group[high]}."
    return f"{title} disagree: from {group[low]} ({low}) to {group[high]} ({high})."
