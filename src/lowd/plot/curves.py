"""Shepard diagrams, R_NX curves, and reliability diagrams of confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from .canvas import (
    COLORS,
    MUTED_COLOR,
    PALE_COLOR,
    SMALL_FONT_SIZE,
    add_colorbar,
    add_legend,
    format_chart,
    get_axes,
    load_matplotlib,
)

if TYPE_CHECKING:
    from ..evidence.quality import Evaluation
    from .canvas import Axes, Colormap

MIN_DRAWN_ROWS = 10  # The share among fewer rows is too uncertain to be drawn.
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
        drawn = curve.counts >= min(MIN_DRAWN_ROWS, curve.counts.max())
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
