"""The quality of each point, true and false neighbors of one, and embeddings side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, ParameterError
from ..evidence.procrustes import align
from ..input.arguments import Input
from ..neighbor_graph import NeighborGraph, NeighborsTransformer
from ..parameters import Metric
from .canvas import (
    COLORS,
    FONT_SIZE,
    MUTED_COLOR,
    PALE_COLOR,
    TEXT_COLOR,
    Coloring,
    Values,
    add_colorbar,
    add_legend,
    choose_coloring,
    escape_math,
    format_embedding_axes,
    get_axes,
    get_panels,
    load_matplotlib,
    make_legend_dot,
    set_title,
)
from .embeddings import (
    MAX_DRAWN_POINTS,
    add_color_key,
    check_coordinates,
    choose_point_size,
    draw_density,
    draw_lines,
    draw_points,
    measure_legend,
    select_dimensions,
)

if TYPE_CHECKING:
    from ..evidence.quality import Evaluation
    from .canvas import Axes, AxesInput, Panels

UNKNOWN_COLOR = "#ECEEF0"  # paler than any quality

# The result of `lowd.evaluate`, or one number per point.
PointQuality: TypeAlias = Any


def quality(
    Y: Input,
    evaluation: PointQuality,
    measure: str = "trustworthiness",
    *,
    dims: tuple[int, int] = (0, 1),
    title: str | None = None,
    size: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Scatter plot with each point colored by its quality; the worst are drawn on top.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components), or a model
        The embedding, or a fitted model.
    evaluation : Evaluation
        The result of `lowd.evaluate` for this embedding, or one number per point (1 is good).
    measure : str, default="trustworthiness"
        A name in `evaluation.pointwise`. Rows that were not sampled are pale.

    Examples
    --------
    >>> from lowd import plot
    >>> ax = plot.quality([[0, 1], [1, 0], [2, 2]], [1.0, 0.9, 0.2])
    >>> len(ax.collections) > 0
    True
    """
    P, names = check_coordinates(Y)
    rows, numbers, low_is_bad = _get_pointwise(evaluation, measure, len(P))
    P, names = select_dimensions(P, names, dims)
    ax = get_axes(ax)
    # Pale is good and dark is bad; the order by lightness serves any color vision.
    doubt = ("#CFE3EE", "#F2C14E", "#D1495B", "#4A0D2B")
    cmap = load_matplotlib().colors.LinearSegmentedColormap.from_list("doubt", doubt)
    cmap = cmap.reversed() if low_is_bad else cmap
    # Differences below 0.05 are no doubt: where all are alike none has the color of the worst.
    least = -0.05 if low_is_bad else 0.05
    values = Values(numbers, measure.replace("_", " "), cmap, 0.01, least)
    area = choose_point_size(len(rows)) if size is None else size
    unknown = np.ones(len(P), bool)
    unknown[rows] = False
    ax.scatter(
        *P[unknown].T,
        s=0.6 * choose_point_size(len(P)),
        color=UNKNOWN_COLOR,
        linewidths=0,
        zorder=1,
    )
    if len(rows) > MAX_DRAWN_POINTS:
        draw_density(
            ax, P[rows], values
        )  # the mean of each cell, since the worst point on top would hide all others
    else:
        worst_last = np.argsort(-numbers if low_is_bad else numbers, kind="stable")
        colors = values.to_rgba()[worst_last]
        ax.scatter(*P[rows[worst_last]].T, s=area, color=colors, linewidths=0, zorder=2)
    format_embedding_axes(ax, P, (names[0], names[1]))
    if unknown.any():
        count = int(unknown.sum())
        add_legend(ax, [make_legend_dot(UNKNOWN_COLOR, "o", f"{count} not evaluated")], below=True)
    bar = add_colorbar(ax, values.scale(), values.title)
    if low_is_bad:
        bar.ax.invert_yaxis()  # bad is always at the top
    meanings = {
        "trustworthiness": "neighbors shown here are false",
        "continuity": "true neighbors are far away",
        "neighbor_recall": "few neighbors are preserved",
    }
    meaning = meanings.get(measure, "low quality")
    set_title(ax, title if title is not None else f"dark: {meaning}")
    return ax


def _get_pointwise(
    evaluation: PointQuality, measure: str, n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], bool]:
    """Return rows, their numbers, and whether a low number is bad."""
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
        raise DataError(f"the evaluation is of {evaluation.n_samples} rows, the embedding has {n}.")
    whole = evaluation.measures.get(measure)
    low_is_bad = getattr(whole, "better", "higher") == "higher"
    numbers = np.asarray(evaluation.pointwise[measure], np.float64)
    known = np.isfinite(numbers)
    return np.asarray(evaluation.rows)[known], numbers[known], low_is_bad


def neighbors(
    X: Input,
    Y: Input,
    point: int,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
    dims: tuple[int, int] = (0, 1),
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Neighbors of one point in the embedding: true ones kept, true ones lost, false ones.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data, distances (metric="precomputed"), or a NeighborGraph of the data.
    Y : array-like of shape (n_samples, n_components), or a model
        The embedding, or a fitted model.
    point : int
        The number of the row.

    Examples
    --------
    >>> from lowd import plot
    >>> X = [[0, 0], [1, 0], [0, 2], [5, 5]]
    >>> ax = plot.neighbors(X, [[0, 0], [9, 0], [0, 2], [5, 5]], 0, 1)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]  # doctest: +NORMALIZE_WHITESPACE
    ['row 0', '0 true neighbors kept', '1 true neighbor lost', '1 false neighbor', '1 other row',
     'to a true neighbor']
    """
    P, names = check_coordinates(Y)
    if not 0 <= point < len(P):
        raise ParameterError(f"point={point}: expected a row number from 0 to {len(P) - 1}.")
    true = _find_neighbors(X, point, n_neighbors, metric, metric_params)
    squared = ((P - P[point]) ** 2).sum(axis=1)
    squared[point] = np.inf
    seen = np.argsort(squared, kind="stable")[: len(true)]
    flat, names = select_dimensions(P, names, dims)
    ax = get_axes(ax, 7.0)
    blue, rose = COLORS[0], COLORS[2]
    ax.scatter(*flat.T, s=choose_point_size(len(P)), color=PALE_COLOR, linewidths=0, zorder=1)
    groups = (
        ("true {} kept", np.intersect1d(true, seen), blue, "o"),
        ("true {} lost", np.setdiff1d(true, seen), rose, "s"),
        ("false {}", np.setdiff1d(seen, true), TEXT_COLOR, "X"),
    )
    draw_lines(ax, np.repeat(flat[[point]], len(true), 0), flat[true], TEXT_COLOR, alpha=0.35)
    handles = [
        make_legend_dot(COLORS[1], "*", f"row {point}", markersize=11, markeredgecolor=TEXT_COLOR)
    ]
    handles[0].set_markeredgewidth(0.7)
    for depth, (name, rows, color, marker) in enumerate(groups):
        look = {"linewidths": 0.4, "edgecolors": "white", "zorder": 3.9 - 0.1 * depth}
        ax.scatter(*flat[rows].T, s=34, color=color, marker=marker, **look)
        noun = "neighbor" if len(rows) == 1 else "neighbors"
        handles.append(make_legend_dot(color, marker, f"{len(rows)} {name.format(noun)}"))
    star = {"s": 150, "marker": "*", "edgecolors": TEXT_COLOR, "linewidths": 0.7, "zorder": 4}
    ax.scatter(*flat[point], color=COLORS[1], **star)
    format_embedding_axes(ax, flat, (names[0], names[1]))
    others = len(P) - 1 - len(np.union1d(true, seen))
    handles.append(make_legend_dot(PALE_COLOR, "o", f"{others} other row{'s' * (others != 1)}"))
    line = load_matplotlib().Line2D([], [], color=TEXT_COLOR, alpha=0.35, lw=0.9)
    line.set_label("to a true neighbor")
    add_legend(ax, [*handles, line])
    set_title(ax, f"{n_neighbors} nearest rows of row {point}" if title is None else title)
    return ax


def _find_neighbors(
    X: Input, point: int, k: int, metric: Metric, metric_params: dict[str, Any] | None
) -> NDArray[np.int64]:
    if isinstance(X, NeighborGraph):
        listed = X.indices[point]
        return np.asarray(listed[listed >= 0][:k], np.int64)
    search = NeighborsTransformer(n_neighbors=k, metric=metric, metric_params=metric_params).fit(X)
    row = X.iloc[[point]] if hasattr(X, "iloc") else X[point : point + 1]
    found = search.transform(row).indices
    return np.asarray(found[found != point][:k], np.int64)


# Coordinates by name, a sequence of them, or the result of `lowd.compare`.
Embeddings: TypeAlias = Any


def compare(
    embeddings: Embeddings,
    labels: ArrayLike | None = None,
    *,
    kind: Coloring = "auto",
    columns: int = 4,
    title: str | None = None,
    legend: bool | str = True,
    ax: AxesInput = None,
) -> Panels:
    """Small multiples of several embeddings, each aligned to the first by Procrustes analysis.

    An embedding means the same when rotated, reflected or scaled; aligned, points can be followed
    from one to the next. Of more than two dimensions the first two are drawn.

    Parameters
    ----------
    embeddings : dict or sequence of embeddings
        The result of `lowd.compare` (the best first), or embeddings by name.
    labels : array-like of shape (n_samples,) or None, default=None
        One per point, as in `scatter`; those of the comparison by default.
    legend : bool or str, default=True
        False leaves it out; a text is its title.

    Examples
    --------
    >>> from lowd import plot
    >>> Y = [[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]]
    >>> axes = plot.compare({"original": Y, "mirrored": [[0.0, 0.0], [-3.0, 0.0], [0.0, 1.0]]})
    >>> [ax.get_title() for ax in axes]
    ['original', 'mirrored']
    """
    coordinates, notes = _collect_embeddings(embeddings)
    labels = getattr(embeddings, "labels", None) if labels is None else labels
    first = next(iter(coordinates.values()))
    colors = choose_coloring(labels, len(first), kind, legend if isinstance(legend, str) else None)
    room = measure_legend(colors, bool(legend))
    panels = get_panels(ax, len(coordinates), columns, 2.6, room)
    for panel, (name, P) in zip(panels, coordinates.items(), strict=True):
        aligned = align(P, first) if P is not first else P
        flat, _ = select_dimensions(aligned, ["", ""])
        draw_points(panel, flat, colors, 0.6 * choose_point_size(len(flat)))
        format_embedding_axes(panel, flat)
        set_title(panel, name)
        if notes.get(name):
            panel.set_xlabel(escape_math(notes[name]), fontsize=FONT_SIZE - 1, color=MUTED_COLOR)
    if legend:
        last = panels[min(columns, len(panels)) - 1]
        add_color_key(last, colors, None, len(first), panels)
    if title:
        panels[0].get_figure().suptitle(escape_math(title))
    return panels


def _collect_embeddings(
    embeddings: Embeddings,
) -> tuple[dict[str, NDArray[np.float64]], dict[str, str]]:
    """Return coordinates by name, and a note to write below each."""
    notes: dict[str, str] = {}
    if hasattr(embeddings, "ranking"):
        runs = {run.name: run for run in embeddings.runs}
        notes = {name: _format_measures(runs[name].evaluation) for name in embeddings.ranking}
        embeddings = {name: runs[name].embedding for name in embeddings.ranking}
    if not isinstance(embeddings, dict):
        embeddings = {f"embedding {i + 1}": Y for i, Y in enumerate(embeddings)}
    if not embeddings:
        raise DataError("got no embedding; pass at least one.")
    coordinates = {str(name): check_coordinates(Y)[0] for name, Y in embeddings.items()}
    sizes = {len(P) for P in coordinates.values()}
    if len(sizes) != 1:
        raise DataError(f"embeddings of the same rows are compared, got {sorted(sizes)} rows.")
    return coordinates, notes


def _format_measures(evaluation: Evaluation | None) -> str:
    parts = {"rnx_auc": "area", "trustworthiness": "trust"}
    known = {word: getattr(evaluation, name, None) for name, word in parts.items()}
    return ", ".join(f"{word} {float(v):.2f}" for word, v in known.items() if v is not None)
