"""How well distances and neighborhoods are kept, as curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .canvas import COLORS, INK, PALE, SOFT, as_chart, colorbar, drawing, legend_outside, one_axes

STYLES = ("-", "--", "-.", ":")  # one more for every ten curves


def shepard(evaluation: Any, d: Any = None, *, title: str | None = None, ax: Any = None) -> Any:
    """Distances in the map against distances in the data: a line would be perfect.

    Shades show how many pairs there are, by the logarithm. The curve is the median of the
    distances in the map, the dashed ones hold 80 % of them; the straight line is the scale that
    fits best.

    Parameters
    ----------
    evaluation
        What `lowd.evaluate` gave; or the distances in the data, and those in the map as `d`.

    Examples
    --------
    >>> from lowd import plot
    >>> ax = plot.shepard([1.0, 2.0, 3.0, 4.0], [1.0, 2.2, 2.9, 3.0])
    >>> ax.get_xlabel()
    'distance in the data'
    """
    delta, d = _distances(evaluation, d)
    ax = one_axes(ax, 5.0, 4.2)
    cells = [max(10, min(90, int(len(delta) ** 0.5)))] * 2
    counts, x, y = np.histogram2d(delta, d, cells)
    shown = ax.pcolormesh(
        x,
        y,
        np.where(counts.T > 0, counts.T, np.nan),
        cmap=_shades(),
        norm=drawing().colors.LogNorm(1, max(float(counts.max()), 2.0)),
        rasterized=True,
    )
    top = float(delta.max())
    slope = float(delta @ d) / float(delta @ delta) if (delta > 0).any() else 0.0
    ax.plot([0, top], [0, slope * top], color=SOFT, lw=1, label="best scale")
    middle, low, median, high = _quantiles(delta, d)
    ax.plot(middle, median, color=COLORS[2], lw=2, label="median")
    for part, name in ((low, "80 % of the pairs"), (high, None)):
        ax.plot(middle, part, color=COLORS[2], lw=1.2, ls="--", label=name)
    as_chart(
        ax, "distance in the data", "distance in the map", title or _rank_correlation(delta, d)
    )
    ax.set_xlim(0, 1.02 * top or 1)
    ax.set_ylim(0, 1.05 * float(d.max()) or 1)
    colorbar(ax, shown, "pairs")
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    return ax


def _distances(evaluation: Any, d: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    pair = evaluation.shepard if hasattr(evaluation, "shepard") else (evaluation, d)
    if pair is None or pair[1] is None:
        raise DataError("a Shepard diagram needs distances in the data and in the map: give both.")
    delta, map_ = (np.asarray(part, np.float64).ravel() for part in pair)
    if len(delta) != len(map_) or not len(delta):
        raise DataError(f"{len(delta)} distances in the data and {len(map_)} in the map.")
    return delta, map_


def _quantiles(delta: NDArray[np.float64], d: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Middle of groups of pairs at equal steps of distance, and 10, 50, 90 % of the map's."""
    parts = max(2, min(24, len(delta) // 30))
    edges = np.linspace(delta.min(), delta.max(), parts + 1)
    group = np.clip(np.searchsorted(edges, delta, side="right") - 1, 0, parts - 1)
    full = [g for g in range(parts) if (group == g).sum() >= min(10, len(delta) // parts)]
    rows = [[delta[group == g].mean(), *np.quantile(d[group == g], [0.1, 0.5, 0.9])] for g in full]
    return list(np.array(rows).T)


def _rank_correlation(delta: NDArray[np.float64], d: NDArray[np.float64]) -> str:
    from scipy.stats import rankdata

    first, second = rankdata(delta), rankdata(d)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return "Shepard diagram"
    return f"Shepard diagram, rank correlation {np.corrcoef(first, second)[0, 1]:.3f}"


def _shades() -> Any:
    blues = drawing().colormaps["Blues"](np.linspace(0.2, 1, 256))
    return drawing().colors.ListedColormap(blues)


def rnx(evaluations: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Share of neighborhoods of every size that the map keeps, beyond what chance keeps (R_NX).

    1 is perfect, 0 is chance. The number of neighbors is on a logarithmic axis: left is near,
    right is far.

    Parameters
    ----------
    evaluations
        What `lowd.evaluate` gave, a dictionary of several by name, or a `lowd.compare` result.

    Examples
    --------
    >>> from lowd import plot
    >>> K = [1, 2, 4, 8]
    >>> ax = plot.rnx({"good": (K, [0.9, 0.9, 0.8, 0.8]), "poor": (K, [0.1, 0.2, 0.3, 0.4])})
    >>> len(ax.lines)
    3
    """
    curves = _curves(evaluations)
    ax = one_axes(ax, 6.4 if len(curves) > 1 else 5.2, 3.8)
    handles = []
    for i, (name, (sizes, share, area)) in enumerate(curves.items()):
        look = {"color": COLORS[i % len(COLORS)], "ls": STYLES[i // len(COLORS) % len(STYLES)]}
        label = f"{name}  {area:.2f}" if area is not None else name
        handles += ax.plot(sizes, share, lw=1.8, label=label, **look)
    ax.axhline(0, color=PALE, lw=1, zorder=0)
    ax.set_xscale("log")
    lowest = min(float(np.min(share)) for _, share, _ in curves.values())
    ax.set_ylim(min(0.0, lowest) - 0.02, 1.02)
    as_chart(ax, "neighbors K", "neighborhoods kept, R_NX(K)", title)
    if len(curves) > 1:
        measured = any(area is not None for _, _, area in curves.values())
        legend_outside(ax, handles, "area under the curve" if measured else None)
    elif (area := next(iter(curves.values()))[2]) is not None:
        ax.text(
            0.98, 0.96, f"area {area:.3f}", transform=ax.transAxes, ha="right", va="top", color=INK
        )
    return ax


def _curves(evaluations: Any) -> dict[str, tuple[Any, Any, float | None]]:
    """Name -> sizes, shares, area."""
    if hasattr(evaluations, "runs"):
        done = [run for run in evaluations.runs if run.evaluation is not None]
        evaluations = {run.name: run.evaluation for run in done}
    if not isinstance(evaluations, dict):
        evaluations = {"map": evaluations}
    curves = {}
    for name, one in evaluations.items():
        curve = one.rnx_curve if hasattr(one, "rnx_curve") else one
        if curve is None:
            raise DataError(f"{name}: the evaluation has no R_NX curve; its notes say why.")
        sizes, share = curve
        if len(sizes) != len(share) or not len(sizes):
            raise DataError(f"{name}: {len(sizes)} sizes and {len(share)} shares.")
        area = getattr(one, "rnx_auc", None)
        curves[str(name)] = (sizes, share, None if area is None else float(area))
    if not curves:
        raise DataError("there is no evaluated map to draw.")
    return curves
