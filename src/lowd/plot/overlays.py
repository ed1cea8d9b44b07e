"""On top of a map: where not to believe it, and where true neighbors went."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, ParameterError
from ..methods.neighbors import NeighborGraph, NeighborsTransformer
from .canvas import (
    COLORS,
    INK,
    PALE,
    as_map,
    colorbar,
    dot,
    drawing,
    entitle,
    legend_outside,
    one_axes,
)
from .colors import Values
from .crowding import lines
from .density import MANY, shaded
from .maps import places, point_size

# From pale where a point may be believed to dark where not: lightness alone tells, for any sight.
DOUBT = ("#CFE3EE", "#F2C14E", "#D1495B", "#4A0D2B")
MEANING = {
    "trustworthiness": "neighbors shown here are false",
    "continuity": "true neighbors are elsewhere",
    "neighbor_recall": "few neighbors are kept",
}


def quality(
    Y: Any,
    evaluation: Any,
    measure: str = "trustworthiness",
    *,
    dims: tuple[int, int] = (0, 1),
    title: str | None = None,
    size: float | None = None,
    ax: Any = None,
) -> Any:
    """The map, each point colored by how far it can be believed; the worst are drawn on top.

    Parameters
    ----------
    Y
        Places, or a fitted model.
    evaluation
        What `lowd.evaluate` gave for this map, or one number per point (1 is good).
    measure
        A name in `evaluation.pointwise`. Rows that were not sampled stay pale.

    Examples
    --------
    >>> from lowd import plot
    >>> ax = plot.quality([[0, 1], [1, 0], [2, 2]], [1.0, 0.9, 0.2])
    >>> len(ax.collections) > 0
    True
    """
    P, names = places(Y)
    rows, numbers, falls = _pointwise(evaluation, measure, len(P))
    P, names = two_dimensions(P, names, dims)
    ax = one_axes(ax)
    doubt = drawing().colors.LinearSegmentedColormap.from_list("doubt", DOUBT)
    values = Values(numbers, measure.replace("_", " "), doubt.reversed() if falls else doubt, 0.01)
    area = point_size(len(rows)) if size is None else size
    unknown = np.ones(len(P), bool)
    unknown[rows] = False
    ax.scatter(*P[unknown].T, s=0.6 * point_size(len(P)), color="#ECEEF0", linewidths=0, zorder=1)
    if len(rows) > MANY:
        shaded(ax, P[rows], values)  # the mean of each cell: the worst on top would be all we see
    else:
        worst_last = np.argsort(-numbers if falls else numbers, kind="stable")
        colors = values.shades()[worst_last]
        ax.scatter(*P[rows[worst_last]].T, s=area, color=colors, linewidths=0, zorder=2)
    as_map(ax, P, (names[0], names[1]))
    bar = colorbar(ax, values.scale(), values.title)
    if falls:
        bar.ax.invert_yaxis()  # doubt is on top, always
    meaning = MEANING.get(measure, "doubtful places")
    entitle(ax, title if title is not None else f"dark: {meaning}")
    return ax


def two_dimensions(
    P: NDArray[np.float64], names: list[str], dims: tuple[int, int] = (0, 1)
) -> tuple[NDArray[np.float64], list[str]]:
    """The two columns of a map to draw; one dimension lies on a line."""
    if P.shape[1] == 1:
        return np.column_stack([P[:, 0], np.zeros(len(P))]), [names[0], ""]
    if len(dims) != 2 or not all(0 <= dim < P.shape[1] for dim in dims):
        raise ParameterError(
            f"dims={dims!r}: expected two of the map's {P.shape[1]} dimensions, counted from 0."
        )
    return P[:, list(dims)], [names[dim] for dim in dims]


def _pointwise(
    evaluation: Any, measure: str, n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], bool]:
    """Rows, their numbers, and whether a low number is a bad one."""
    if not hasattr(evaluation, "pointwise"):
        numbers = np.asarray(evaluation, np.float64)
        if numbers.shape != (n,):
            raise DataError(f"{numbers.shape} numbers for {n} points; give one per point.")
        return np.arange(n), numbers, True
    if measure not in evaluation.pointwise:
        raise ParameterError(
            f"measure={measure!r}: expected one of {sorted(evaluation.pointwise)}."
        )
    if evaluation.n_samples != n:
        raise DataError(f"the evaluation is of {evaluation.n_samples} rows, the map has {n}.")
    whole = evaluation.measures.get(measure)
    falls = getattr(whole, "better", "higher") == "higher"
    numbers = np.asarray(evaluation.pointwise[measure], np.float64)
    known = np.isfinite(numbers)
    return np.asarray(evaluation.rows)[known], numbers[known], falls


def neighbors(
    X: Any,
    Y: Any,
    point: int,
    n_neighbors: int = 10,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    dims: tuple[int, int] = (0, 1),
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Where the true neighbors of one point are on the map, and who stands in their place.

    Parameters
    ----------
    X
        The data, distances (metric="precomputed"), or a NeighborGraph of the data.
    Y
        Places, or a fitted model.
    point
        The number of the row.

    Examples
    --------
    >>> from lowd import plot
    >>> X = [[0, 0], [1, 0], [0, 2], [5, 5]]
    >>> ax = plot.neighbors(X, [[0, 0], [9, 0], [0, 2], [5, 5]], 0, 1)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['row 0', '0 true neighbors kept', '1 true neighbor lost', '1 false neighbor']
    """
    P, names = places(Y)
    if not 0 <= point < len(P):
        raise ParameterError(f"point={point}: expected a row number from 0 to {len(P) - 1}.")
    true = _true_neighbors(X, point, n_neighbors, metric, metric_params)
    away = ((P - P[point]) ** 2).sum(axis=1)
    away[point] = np.inf
    seen = np.argsort(away, kind="stable")[: len(true)]
    flat, names = two_dimensions(P, names, dims)
    ax = one_axes(ax, 6.8)
    blue, rose = COLORS[0], COLORS[2]
    ax.scatter(*flat.T, s=point_size(len(P)), color=PALE, linewidths=0, zorder=1)
    groups = (
        ("true {} kept", np.intersect1d(true, seen), blue, "o"),
        ("true {} lost", np.setdiff1d(true, seen), rose, "s"),
        ("false {}", np.setdiff1d(seen, true), INK, "X"),
    )
    lines(ax, np.repeat(flat[[point]], len(true), 0), flat[true], INK, alpha=0.35)
    handles = [dot(COLORS[1], "*", f"row {point}", markersize=11, markeredgecolor=INK)]
    handles[0].set_markeredgewidth(0.7)
    for height, (name, rows, color, marker) in enumerate(groups):
        look = {"linewidths": 0.4, "edgecolors": "white", "zorder": 3.9 - 0.1 * height}
        ax.scatter(*flat[rows].T, s=34, color=color, marker=marker, **look)
        who = "neighbor" if len(rows) == 1 else "neighbors"
        handles.append(dot(color, marker, f"{len(rows)} {name.format(who)}"))
    star = {"s": 150, "marker": "*", "edgecolors": INK, "linewidths": 0.7, "zorder": 4}
    ax.scatter(*flat[point], color=COLORS[1], **star)
    as_map(ax, flat, (names[0], names[1]))
    legend_outside(ax, handles)
    entitle(ax, title)
    return ax


def _true_neighbors(
    X: Any, point: int, k: int, metric: Any, metric_params: dict[str, Any] | None
) -> NDArray[np.int64]:
    if isinstance(X, NeighborGraph):
        listed = X.indices[point]
        return np.asarray(listed[listed >= 0][:k], np.int64)
    finder = NeighborsTransformer(n_neighbors=k, metric=metric, metric_params=metric_params).fit(X)
    row = X.iloc[[point]] if hasattr(X, "iloc") else X[point : point + 1]
    found = finder.transform(row).indices
    return np.asarray(found[found != point][:k], np.int64)
