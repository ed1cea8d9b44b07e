"""Shepard diagrams, R_NX curves, reliability of confidence, scree plots, numbers of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from .canvas import (
    COLORS,
    FONT_SIZE,
    MUTED_COLOR,
    PALE_COLOR,
    SMALL_FONT_SIZE,
    TEXT_COLOR,
    add_colorbar,
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
    from ..evidence.quality import Evaluation
    from .canvas import Artist, Axes, AxesInput, Colormap, Panels

# The result of `lowd.evaluate`, several of them by name, a comparison, or a curve itself.
Evaluations: TypeAlias = Any
LINE_STYLES = ("-", "--", "-.", ":")  # one more for every ten curves


def shepard(
    evaluation: Evaluation | ArrayLike,
    d: ArrayLike | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Shepard diagram: distances in the embedding against distances in the data.

    Colors show the number of pairs, on a logarithmic scale. The curve is the median of the
    distances in the embedding, the dashed ones contain 80 % of them; the straight line is the
    best-fitting scale. On a straight line, the embedding preserves all distances.

    Parameters
    ----------
    evaluation : Evaluation, or array-like of distances
        The result of `lowd.evaluate`; or the distances in the data, and those in the embedding as
        `d`.

    Examples
    --------
    >>> from lowd import plot
    >>> ax = plot.shepard([1.0, 2.0, 3.0, 4.0], [1.0, 2.2, 2.9, 3.0])
    >>> ax.get_xlabel()
    'distance in the data'
    """
    delta, distances = _get_distances(evaluation, d)
    ax = get_axes(ax, 5.0, 4.2)
    counts, x, y = count_pairs(delta, distances)
    shown = ax.pcolormesh(
        x,
        y,
        np.where(counts.T > 0, counts.T, np.nan),
        cmap=_make_colormap(),
        norm=load_matplotlib().colors.LogNorm(1, max(float(counts.max()), 2.0)),
        rasterized=True,
    )
    top = float(delta.max())
    slope = float(delta @ distances) / float(delta @ delta) if (delta > 0).any() else 0.0
    ax.plot([0, top], [0, slope * top], color=MUTED_COLOR, lw=1, label="best scale")
    middle, low, median, high = compute_quantiles(delta, distances)
    ax.plot(middle, median, color=COLORS[2], lw=2, label="median")
    for part, name in ((low, "80 % of the pairs"), (high, None)):
        ax.plot(middle, part, color=COLORS[2], lw=1.2, ls="--", label=name)
    title = title or _format_rank_correlation(delta, distances)
    format_chart(ax, "distance in the data", "distance in the embedding", title)
    ax.set_xlim(0, 1.02 * top or 1)
    ax.set_ylim(0, 1.05 * float(distances.max()) or 1)
    add_colorbar(ax, shown, "pairs")
    # Drawn over the pairs.
    ax.legend(framealpha=0.85, edgecolor="none", fontsize=8, loc="upper left")
    return ax


def _get_distances(
    evaluation: Evaluation | ArrayLike, d: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    pair = evaluation.shepard if hasattr(evaluation, "shepard") else (evaluation, d)
    if pair is None or pair[1] is None:
        raise DataError(
            "a Shepard diagram needs distances in the data and in the embedding: give both."
        )
    delta, distances = (np.asarray(part, np.float64).ravel() for part in pair)
    if len(delta) != len(distances) or not len(delta):
        raise DataError(
            f"{len(delta)} distances in the data and {len(distances)} in the embedding."
        )
    return delta, distances


def count_pairs(
    delta: NDArray[np.float64], d: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The number of pairs in each cell of a Shepard diagram, and the edges of the cells."""
    bins = max(10, min(90, int(len(delta) ** 0.5)))
    return np.histogram2d(delta, d, [bins, bins])


def compute_quantiles(
    delta: NDArray[np.float64], d: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Mean distance of pairs in bins, and their 10, 50, 90 % quantiles in the embedding."""
    parts = max(2, min(24, len(delta) // 30))
    edges = np.linspace(delta.min(), delta.max(), parts + 1)
    group = np.clip(np.searchsorted(edges, delta, side="right") - 1, 0, parts - 1)
    full = [g for g in range(parts) if (group == g).sum() >= min(10, len(delta) // parts)]
    rows = [[delta[group == g].mean(), *np.quantile(d[group == g], [0.1, 0.5, 0.9])] for g in full]
    return list(np.array(rows).T)


def _format_rank_correlation(delta: NDArray[np.float64], d: NDArray[np.float64]) -> str:
    from scipy.stats import rankdata

    first, second = rankdata(delta), rankdata(d)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return "Shepard diagram"
    return f"Shepard diagram, rank correlation {np.corrcoef(first, second)[0, 1]:.3f}"


def _make_colormap() -> Colormap:
    blues = load_matplotlib().colormaps["Blues"](np.linspace(0.2, 1, 256))
    return load_matplotlib().colors.ListedColormap(blues)


def rnx(evaluations: Evaluations, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """R_NX curve: neighborhood preservation for every neighborhood size, rescaled by chance.

    1 is perfect, 0 is a random embedding. The number of neighbors is on a logarithmic axis: left
    is local, right is global.

    Parameters
    ----------
    evaluations : Evaluation, or dict of them
        The result of `lowd.evaluate`, a dictionary of several by name, or of `lowd.compare`.

    Examples
    --------
    >>> from lowd import plot
    >>> K = [1, 2, 4, 8]
    >>> ax = plot.rnx({"good": (K, [0.9, 0.9, 0.8, 0.8]), "poor": (K, [0.1, 0.2, 0.3, 0.4])})
    >>> len(ax.lines)
    3
    """
    curves = _get_curves(evaluations)
    ax = get_axes(ax, 6.4 if len(curves) > 1 else 5.2, 3.8)
    handles = []
    for i, (name, (sizes, share, area)) in enumerate(curves.items()):
        look = {
            "color": COLORS[i % len(COLORS)],
            "ls": LINE_STYLES[i // len(COLORS) % len(LINE_STYLES)],
        }
        label = f"{name}  {area:.2f}" if area is not None else name
        handles += ax.plot(sizes, share, lw=1.8, label=label, **look)
    baseline = ax.axhline(0, color=PALE_COLOR, lw=1.5, zorder=0, label="a random embedding")
    ax.set_xscale("log")
    lowest = min(float(np.min(share)) for _, share, _ in curves.values())
    ax.set_ylim(min(0.0, lowest) - 0.02, 1.02)
    format_chart(ax, "neighbors K", "neighborhood preservation, R_NX(K)", title)
    measured = any(area is not None for _, _, area in curves.values())
    if len(curves) > 1:
        add_legend(ax, [*handles, baseline], "area under the curve" if measured else None)
    else:
        (area,) = (curve.area for curve in curves.values())
        handles[0].set_label("the embedding" + ("" if area is None else f", area {area:.3f}"))
        ax.legend(handles=[*handles, baseline], frameon=False, fontsize=SMALL_FONT_SIZE, loc="best")
    return ax


def reliability(
    evaluations: Evaluations, *, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Reliability diagram: the share of correctly mapped new points against their confidence.

    On the diagonal, confidence is a probability; below it, too much is promised. Areas of the
    points show how many rows have that confidence; bins of fewer than ten rows are left out.

    Parameters
    ----------
    evaluations : Evaluation, or dict of them
        The result of `model.evaluate` after `model.calibrate_confidence`, or a dictionary of
        several by name.

    Examples
    --------
    >>> import lowd, numpy as np
    >>> from lowd import plot
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> model = lowd.TSNE(max_iter=50).fit(X).calibrate_confidence(X)
    >>> plot.reliability(model.evaluate(X)).get_xlabel()
    'confidence promised'
    """
    held = evaluations if isinstance(evaluations, dict) else {"new points": evaluations}
    ax = get_axes(ax, 5.6 if len(held) > 1 else 4.2, 4.0)
    ax.plot([0, 1], [0, 1], color=PALE_COLOR, lw=1, zorder=0)
    handles = []
    for i, (name, evaluation) in enumerate(held.items()):
        curve = evaluation.reliability
        if curve is None:
            raise DataError(
                f"{name}: the evaluation has no reliability; call model.calibrate_confidence(X) "
                "before model.evaluate(X)."
            )
        # The share among fewer than ten rows is too uncertain to be drawn.
        drawn = curve.counts >= min(10, curve.counts.max())
        promised, found = curve.promised[drawn], curve.found[drawn]
        color, area = COLORS[i % len(COLORS)], 300 * curve.counts[drawn] / curve.counts.sum()
        style = LINE_STYLES[i // len(COLORS) % len(LINE_STYLES)]
        label = f"{name}  {curve.calibration_error:.2f}"
        handles += ax.plot(promised, found, color=color, ls=style, lw=1, label=label)
        ax.scatter(promised, found, s=8 + area, color=color, alpha=0.8, lw=0)
    ax.set_xlim(-0.02, 1.04)
    ax.set_ylim(-0.02, 1.04)
    format_chart(ax, "confidence promised", "share of rows mapped correctly", title)
    add_legend(ax, handles, "calibration error")
    return ax


class _Curve(NamedTuple):
    sizes: Sequence[int]
    shares: Sequence[float]
    area: float | None


def _get_curves(evaluations: Evaluations) -> dict[str, _Curve]:
    """Collect R_NX curves by name."""
    if hasattr(evaluations, "runs"):
        done = [run for run in evaluations.runs if run.evaluation is not None]
        evaluations = {run.name: run.evaluation for run in done}
    if not isinstance(evaluations, dict):
        evaluations = {"embedding": evaluations}
    curves = {}
    for name, evaluation in evaluations.items():
        curve = getattr(evaluation, "rnx_curve", evaluation)
        if curve is None:
            raise DataError(f"{name}: the evaluation has no R_NX curve; its notes say why.")
        sizes, share = curve
        if len(sizes) != len(share) or not len(sizes):
            raise DataError(f"{name}: {len(sizes)} sizes and {len(share)} shares.")
        area = getattr(evaluation, "rnx_auc", None)
        curves[str(name)] = _Curve(sizes, share, None if area is None else float(area))
    if not curves:
        raise DataError("got no evaluated embedding; pass at least one.")
    return curves


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
