"""Scree plots and suggested numbers of dimensions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .canvas import (
    COLORS,
    FONT_SIZE,
    PALE_COLOR,
    TEXT_COLOR,
    add_legend,
    format_chart,
    get_axes,
    get_panels,
    load_matplotlib,
    make_legend_dot,
    open_figure,
)

if TYPE_CHECKING:
    from ..evidence.dimension import Dimensions
    from .canvas import Artist, Axes, AxesInput, Panels

# Rules for the number of principal components that a scree plot can show.
AXIS_RULES = (
    "variance_90",
    "variance_95",
    "broken_stick",
    "parallel",
    "kaiser",
    "gavish_donoho",
    "profile_likelihood",
    "elbow",
    "cross_validation",
)
# Names of rules that need an explanation.
RULE_NAMES = {
    "variance_90": "90 % of the variance",
    "variance_95": "95 % of the variance",
    "parallel": "parallel analysis",
    "kaiser": "Kaiser: eigenvalues above 1",
    "gavish_donoho": "Gavish and Donoho",
    "elbow": "elbow of the scree plot",
    "isomap": "elbow of Isomap",
    "eigengap": "eigengap of the graph",
    "two_nn": "two nearest neighbors",
    "local_pca": "local PCA",
}
# A fitted model, the result of `lowd.dimension`, or eigenvalues.
Spectrum: TypeAlias = Any
MAX_SCREE_AXES = 30  # With more components the bars would be too thin to be distinguished.


def scree(
    spectrum: Spectrum,
    rules: dict[str, int] | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Scree plot: explained variance of each component, and the cumulative one.

    Parameters
    ----------
    spectrum : model or array-like
        A fitted model with `explained_variance_ratio_` or `eigenvalues_`, the values, or the
        result of `lowd.dimension`: then with its rules, and the variance explained in random data.
    rules : dict or None, default=None
        Rule -> number of dimensions that it suggests: a mark above that component.

    Examples
    --------
    >>> from lowd import plot
    >>> ax = plot.scree([4.0, 2.0, 1.0, 1.0], {"broken stick": 1, "90 %": 3})
    >>> ax.get_xlabel()
    'component'
    """
    curves = getattr(spectrum, "curves", {})
    if rules is None:
        suggested = getattr(spectrum, "suggestions", {})
        rules = {name: suggested[name] for name in AXIS_RULES if name in suggested}
    share = 100 * compute_shares(curves.get("eigenvalues", spectrum))
    shown = min(len(share), MAX_SCREE_AXES)
    axis = np.arange(1, shown + 1)
    ax = get_axes(ax, 6.4, 3.8)
    bars = ax.bar(axis, share[:shown], color=COLORS[0], width=0.8, label="each component")
    look = {"color": COLORS[6], "marker": "o", "ms": 3}
    cumulative = share.cumsum()[:shown]
    handles = [bars, *ax.plot(axis, cumulative, label="cumulative", **look)]
    for name, style in (("broken_stick", "--"), ("parallel", ":")):
        if name in curves:
            baseline = 100 * np.asarray(curves[name])[:shown]
            label = f"by chance: {_name_rule(name)}"
            handles += ax.plot(
                axis[: len(baseline)], baseline, ls=style, color=TEXT_COLOR, lw=1, label=label
            )
    # Components of 1 % each, as in genotypes, would be invisible on an axis up to 100 %.
    ax.set_ylim(0, 105 if rules or cumulative[-1] > 50 else None)
    ax.set_xlim(0.3, shown + 0.7)
    ax.xaxis.set_major_locator(load_matplotlib().MaxNLocator(integer=True, nbins=12))
    more = f" (first {shown} of {len(share)})" if shown < len(share) else ""
    format_chart(ax, f"component{more}", "% of variance explained", title)
    handles += _draw_rule_marks(ax, rules, shown)
    # Two entries below the axes take no width from them.
    add_legend(ax, handles, below=len(handles) == 2)
    return ax


def compute_shares(spectrum: Spectrum) -> NDArray[np.float64]:
    """The share of the variance of each component, of positive eigenvalues alone."""
    if hasattr(spectrum, "explained_variance_ratio_"):
        return np.asarray(spectrum.explained_variance_ratio_, np.float64)
    values = np.asarray(getattr(spectrum, "eigenvalues_", spectrum))
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not (values > 0).any():
        raise DataError(
            "a scree plot needs eigenvalues, some of them positive: a model with "
            "explained_variance_ratio_ or eigenvalues_, or a list of values."
        )
    positive = np.maximum(values.astype(np.float64), 0)
    return np.asarray(positive / positive.sum())


def _draw_rule_marks(ax: Axes, rules: dict[str, int], shown: int) -> list[Artist]:
    """Draw a mark at each suggested number; the marks of rules that agree are stacked."""
    handles: list[Artist] = []
    below: dict[int, int] = {}
    for i, (rule, count) in enumerate(rules.items()):
        at = min(max(int(count), 1), shown)
        below[at] = below.get(at, -1) + 1
        handles += ax.plot(
            [at],
            [0.97 - 0.055 * below[at]],
            ls="",
            transform=ax.get_xaxis_transform(),
            marker="v" if at == count else "<" if count < at else ">",
            color=COLORS[i % len(COLORS)],
            markeredgecolor="white",
            ms=8,
            zorder=4,
            clip_on=False,
            label=f"{_name_rule(rule)}: {count}",
        )
    return handles


def dimension(
    dimensions: Dimensions, *, title: str | None = None, ax: AxesInput = None
) -> Axes | Panels:
    """Plot the result of `lowd.dimension`: the number each rule suggests, and a scree plot.

    A single `ax` gets the first plot only. A bar is the interval of an estimate.

    Examples
    --------
    >>> import lowd, numpy as np
    >>> from lowd import plot
    >>> X = np.random.default_rng(0).normal(size=(100, 6)) * [9, 8, 1, 1, 1, 1]
    >>> suggestions, scree = plot.dimension(lowd.dimension(X))
    >>> scree.get_ylabel()
    '% of variance explained'
    """
    if not dimensions.suggestions:
        raise DataError("the result holds no suggestion to draw.")
    if ax is not None and hasattr(ax, "transAxes"):
        _draw_suggestions(ax, dimensions, title)
        return ax
    if ax is None:
        figure = open_figure(13.0, max(3.6, 1.8 + 0.27 * len(dimensions.suggestions)))
        ax = [figure.add_subplot(1, 2, i + 1) for i in range(2)]
    panels = get_panels(ax, 2, 2)
    _draw_suggestions(panels[0], dimensions, title)
    if "eigenvalues" in dimensions.curves:
        scree(dimensions, title="Scree plot: principal components", ax=panels[1])
    else:
        panels[1].set_axis_off()
    return panels


def _draw_suggestions(ax: Axes, dimensions: Dimensions, title: str | None) -> None:
    rules = {name: int(count) for name, count in dimensions.suggestions.items()}
    counts, rows = np.array(list(rules.values())), np.arange(len(rules))
    names, linear = list(rules), np.array([name in AXIS_RULES for name in rules])
    handles = []
    for of_components, label, color, marker in (
        (True, "rule for the number of components", COLORS[0], "o"),
        (False, "estimate of the dimension of a manifold", COLORS[2], "s"),
    ):
        mine = np.flatnonzero(linear == of_components)
        if len(mine):
            ax.hlines(mine, 0, counts[mine], color=PALE_COLOR, lw=1)
            ax.scatter(counts[mine], rows[mine], s=42, color=color, marker=marker, zorder=3)
            handles.append(make_legend_dot(color, marker, label))
    ends = [dimensions.intervals.get(name, (0.0, rules[name], rules[name])) for name in names]
    for row, (_, low, high) in enumerate(ends):
        ax.hlines(row, low, high, color=COLORS[2], lw=4, alpha=0.35)
        look = {"xytext": (7, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(str(counts[row]), (max(counts[row], high), row), fontsize=FONT_SIZE, **look)
    line = partial(load_matplotlib().Line2D, [], [], solid_capstyle="butt")
    if any(high > low for _, low, high in ends):
        handles.append(line(color=COLORS[2], lw=4, alpha=0.35, label="its 95 % interval"))
    if dimensions.recommended is not None:
        rule, count = dimensions.recommended
        ax.axvline(count, color=PALE_COLOR, lw=6, zorder=0)
        label = f"to begin with: {count}, by {_name_rule(rule)}"
        handles.append(line(color=PALE_COLOR, lw=6, label=label))
    heading = "How many dimensions do rules and estimates suggest?"
    format_chart(ax, "number of dimensions", "", heading if title is None else title)
    ax.set_yticks(range(len(rules)), [_name_rule(name) for name in rules], fontsize=FONT_SIZE)
    ax.set_ylim(len(rules) - 0.5, -0.5)
    ax.set_xlim(0, max(1.12 * float(max(counts.max(), *(end[2] for end in ends))), 2.5))
    ax.xaxis.set_major_locator(load_matplotlib().MaxNLocator(integer=True))
    ax.tick_params(axis="y", length=0)
    add_legend(ax, handles, below=True)


def _name_rule(name: str) -> str:
    return RULE_NAMES.get(name, name.replace("_", " "))
