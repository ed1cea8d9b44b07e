"""The suggestions side by side, and whether they agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

from ...backends.protocol import Float64

# Rule -> what it says, for tables and pictures.
RULES = {
    "variance_90": "keeps 90 % of the variance",
    "variance_95": "keeps 95 % of the variance",
    "broken_stick": "larger than pieces of a stick broken at random",
    "parallel": "larger than with columns shuffled",
    "kaiser": "correlation eigenvalues above 1",
    "gavish_donoho": "singular values above noise of unknown size",
    "profile_likelihood": "most likely split of the eigenvalues in two groups",
    "elbow": "before the bend of the eigenvalues",
    "cross_validation": "predicts left-out blocks best",
    "isomap": "residual variance along the graph stops falling",
    "eigengap": "largest gap of the graph's Laplacian (clusters less one)",
    "two_nn": "intrinsic dimension by two neighbors",
    "maximum_likelihood": "intrinsic dimension by maximum likelihood",
    "local_pca": "intrinsic dimension by local PCA",
}
# Rules that look for signal in noise, or for a sheet; the others count something else.
SIGNAL = ("parallel", "broken_stick", "gavish_donoho", "profile_likelihood", "cross_validation")
SHEET = ("isomap", "two_nn", "maximum_likelihood", "local_pca")


@dataclass(frozen=True)
class Dimensions:
    """The answer of `lowd.dimension`.

    Attributes
    ----------
    suggestions : rule -> number of dimensions; 0 says that no axis stands out
    intervals : intrinsic dimension estimators -> (value, low, high)
    curves : what the rules look at, one array each: "eigenvalues" (variances along the principal
        axes), "cumulative", "broken_stick", "parallel" and "parallel_observed" (shares of the
        variance), "correlation_eigenvalues", "profile_likelihood", "cross_validation" (from 0
        components on), "residual_variance" (from 1 dimension on), "laplacian_eigenvalues"
    thresholds : "gavish_donoho" -> the variance above which an axis is no noise
    agreement : a sentence
    n_samples, n_features, notes
    """

    suggestions: dict[str, int]
    intervals: dict[str, tuple[float, float, float]]
    curves: dict[str, Float64]
    thresholds: dict[str, float]
    n_samples: int
    n_features: int
    notes: list[str] = field(default_factory=list)

    @property
    def agreement(self) -> str:
        """Do rules for axes and rules for sheets say the same?"""
        linear, sheet = self._group(SIGNAL), self._group(SHEET)
        parts = [self._told(group, what) for group, what in ((linear, "axes"), (sheet, "sheet"))]
        told = " ".join(part for part in parts if part)
        if not linear or not sheet:
            return told or "There is nothing to compare."
        a, b = float(np.median(list(linear.values()))), float(np.median(list(sheet.values())))
        if max(a, b) <= 1.5 * max(min(a, b), 1):
            if "disagree" in told:
                return f"{told} Their medians, {a:g} and {b:g}, are near each other."
            return f"{told} Both say about the same."
        if a > b:
            return f"{told} They disagree: a sheet of about {b:g} dimensions may be bent into more."
        return (
            f"{told} They disagree: noise fills more dimensions than stand out of it, or a sheet "
            "is bent into a shape of which no axis stands out."
        )

    def _group(self, names: tuple[str, ...]) -> dict[str, int]:
        return {name: self.suggestions[name] for name in names if name in self.suggestions}

    @staticmethod
    def _told(group: dict[str, int], what: str) -> str:
        if not group:
            return ""
        title = {"axes": "Rules for axes", "sheet": "Estimates of a sheet"}[what]
        low, high = min(group, key=group.__getitem__), max(group, key=group.__getitem__)
        if group[high] == group[low]:
            return f"{title} all say {group[low]}."
        if group[high] <= group[low] + 1:
            return f"{title} say {group[low]} or {group[high]}."
        return f"{title} disagree: from {group[low]} ({low}) to {group[high]} ({high})."

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dictionaries and numbers, as JSON takes them."""
        return {
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "suggestions": dict(self.suggestions),
            "intervals": {name: list(found) for name, found in self.intervals.items()},
            "agreement": self.agreement,
            "thresholds": dict(self.thresholds),
            "curves": {name: curve.tolist() for name, curve in self.curves.items()},
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None) -> Any:
        """The curves with the suggestions on them: `lowd.plot.dimension`."""
        # A string: plots stand above this module, and need matplotlib.
        return import_module("lowd.plot").dimension(self, ax=ax)

    def __repr__(self) -> str:
        lines = [f"Dimension of {self.n_samples} rows, {self.n_features} columns"]
        for name, count in self.suggestions.items():
            lines.append(f"  {name:20} {count:4}  {RULES[name]}{self._interval(name)}")
        return "\n".join([*lines, self.agreement, *(f"Note: {note}" for note in self.notes)])

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
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<div><p><b>Dimension of {self.n_samples} rows, {self.n_features} columns</b></p>"
            "<table><tr><th>rule</th><th>dimensions</th><th></th></tr>"
            f"{rows}</table><p>{escape(self.agreement)}</p>{notes}</div>"
        )
