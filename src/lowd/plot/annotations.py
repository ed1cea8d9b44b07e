"""Annotate points with thumbnails and words, as many as fit without overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import random
from ..errors import DataError
from .canvas import (
    PALE_COLOR,
    SMALL_FONT_SIZE,
    TEXT_COLOR,
    escape_math,
    finish_layout,
    format_embedding_axes,
    load_matplotlib,
)
from .colors import Classes, Values

if TYPE_CHECKING:
    from ..io.table import Column
    from .canvas import Annotation, Axes, Bbox

WordPosition: TypeAlias = tuple[str, str, int, int]

MAX_TRIED_WORDS = 1000  # No plot has room for more words.
THUMBNAILS_PER_SIDE = 18  # Thumbnails that fit along the longer side of the embedding.
# Positions of a word beside its point: horizontal and vertical alignment, and the offset.
WORD_POSITIONS: tuple[WordPosition, ...] = (
    ("left", "center", 4, 0),
    ("right", "center", -4, 0),
    ("center", "bottom", 0, 4),
    ("center", "top", 0, -4),
    ("left", "bottom", 3, 3),
    ("right", "bottom", -3, 3),
    ("left", "top", 3, -3),
    ("right", "top", -3, -3),
)


def select_apart(P: NDArray[np.float64], width: float, height: float) -> NDArray[np.int64]:
    """Choose points whose boxes do not overlap, greedily in a fixed random order."""
    order = np.argsort(random.bits(0, "thumbnails", np.arange(len(P))), kind="stable")
    chosen: list[int] = []
    taken: dict[tuple[int, int], list[int]] = {}
    for i in order.tolist():
        x, y = int(P[i, 0] // width), int(P[i, 1] // height)
        near = (j for a in (-1, 0, 1) for b in (-1, 0, 1) for j in taken.get((x + a, y + b), ()))
        if all(abs(P[i, 0] - P[j, 0]) >= width or abs(P[i, 1] - P[j, 1]) >= height for j in near):
            chosen.append(i)
            taken.setdefault((x, y), []).append(i)
    return np.sort(np.array(chosen, np.int64))


def draw_thumbnails(
    ax: Axes,
    P: NDArray[np.float64],
    images: ArrayLike,
    colors: Classes | Values | None,
    cmap: str,
) -> int:
    """Draw as many images at their points as fit without overlap; return how many."""
    thumbnails = _check_images(images, len(P))
    tall, wide = thumbnails.shape[1:3]
    side = float(np.ptp(P, axis=0).max()) / THUMBNAILS_PER_SIDE or 1.0
    width, height = side * min(1, wide / tall), side * min(1, tall / wide)
    low, high = float(np.nanmin(thumbnails)), float(np.nanmax(thumbnails))
    chosen = select_apart(P, 1.06 * width, 1.06 * height).tolist()
    for i in chosen:
        x, y = P[i]
        extent = (x - width / 2, x + width / 2, y - height / 2, y + height / 2)
        look = {"cmap": cmap, "vmin": low, "vmax": high} if thumbnails.ndim == 3 else {}
        ax.imshow(thumbnails[i], extent=extent, zorder=3, aspect="auto", **look)
        by_class = isinstance(colors, Classes)
        edge = colors.color(int(colors.codes[i])) if isinstance(colors, Classes) else PALE_COLOR
        ax.plot(
            np.array(extent)[[0, 1, 1, 0, 0]],
            np.array(extent)[[2, 2, 3, 3, 2]],
            color=edge,
            lw=1.4 if by_class else 0.5,
            zorder=3.5,
        )
    # imshow changes the limits; images at the rim need half their size more than points do.
    half = np.array([width, height]) / 2
    format_embedding_axes(ax, np.vstack([P - half, P + half]))
    return len(chosen)


def _check_images(images: ArrayLike, n: int) -> Column:
    thumbnails = np.asarray(images)
    if (
        thumbnails.ndim not in (3, 4)
        or len(thumbnails) != n
        or thumbnails.shape[3:] not in ((), (3,))
    ):
        raise DataError(
            f"images have shape {thumbnails.shape}; expected ({n}, height, width) for gray ones, "
            f"({n}, height, width, 3) for colored ones."
        )
    if thumbnails.ndim == 4 and thumbnails.dtype.kind == "f":
        top = float(thumbnails.max())
        thumbnails = np.clip(thumbnails / (255 if top > 1 else 1), 0, 1)
    return thumbnails


def draw_words(
    ax: Axes,
    P: NDArray[np.float64],
    names: Sequence[str],
    colors: str | Sequence[NDArray[np.float64]] = TEXT_COLOR,
    size: float = SMALL_FONT_SIZE,
    away_from: tuple[float, float] | None = None,
    avoid: NDArray[np.float64] | None = None,
) -> int:
    """Write names beside their points, earlier ones first; one that would overlap is left out.

    Return how many are drawn. `colors` is one for all, or one per point. With `away_from` (a
    point) a name is on the far side of its point if it can be. Points of `avoid` are covered by a
    name only if it has no other position.
    """
    if len(names) != len(P):
        raise DataError(f"{len(names)} words for {len(P)} points; give one per point.")
    figure = finish_layout(ax)
    frame = ax.get_window_extent()
    scale = figure.dpi / 72
    pixels = ax.transData.transform(P)
    boxes = _make_boxes(pixels)  # no word covers a point
    obstacles = _make_boxes(ax.transData.transform(P[:0] if avoid is None else avoid))
    n_drawn = 0
    for i, name in enumerate(names[:MAX_TRIED_WORDS]):
        text = ax.annotate(
            escape_math(str(name)),
            P[i],
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=size,
            color=colors if isinstance(colors, str) else colors[i],
            zorder=4,
            path_effects=load_matplotlib().halo,
        )
        text.set_in_layout(False)
        outward = None if away_from is None else P[i] - np.asarray(away_from)
        tries = (np.vstack([boxes, obstacles]), boxes) if len(obstacles) else (boxes,)
        where = _sort_positions(outward)
        if not any(_position_word(text, pixels[i], where, t, i, frame, scale) for t in tries):
            text.remove()
            continue
        n_drawn += 1
        box = text.get_window_extent()
        boxes = np.vstack([boxes, [box.x0 - 1, box.y0, box.x1 + 1, box.y1]])
    return n_drawn


def _make_boxes(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """The boxes of points, extending two pixels to each side."""
    return np.hstack([pixels - 2, pixels + 2]).reshape(-1, 4)


def _sort_positions(outward: NDArray[np.float64] | None) -> tuple[WordPosition, ...]:
    if outward is None:
        return WORD_POSITIONS
    x, y = outward
    return tuple(sorted(WORD_POSITIONS, key=lambda p: -(x * p[2] + y * p[3]) / np.hypot(*p[2:])))


def _position_word(
    text: Annotation,
    pixel: NDArray[np.float64],
    positions: tuple[WordPosition, ...],
    boxes: NDArray[np.float64],
    own: int,
    frame: Bbox,
    scale: float,
) -> bool:
    """Move the text to the first free position around its point; False if there is none."""
    size = text.get_window_extent()
    wide, tall = size.width, size.height
    for across, up, dx, dy in positions:
        x = pixel[0] + dx * scale - {"left": 0, "center": wide / 2, "right": wide}[across]
        y = pixel[1] + dy * scale - {"bottom": 0, "center": tall / 2, "top": tall}[up]
        inside = frame.x0 <= x and x + wide <= frame.x1 and frame.y0 <= y and y + tall <= frame.y1
        hits = (boxes[:, 0] < x + wide) & (boxes[:, 2] > x)
        hits &= (boxes[:, 1] < y + tall) & (boxes[:, 3] > y)
        hits[own] = False
        if inside and not hits.any():
            text.set(ha=across, va=up)
            text.set_position((dx, dy))
            return True
    return False


def draw_lines(
    ax: Axes,
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    color: str,
    *,
    width: float = 0.9,
    alpha: float = 1.0,
    label: str = "",
) -> None:
    """Draw straight lines between pairs of points."""
    pairs = np.stack([starts, ends], axis=1)
    ax.add_collection(
        load_matplotlib().LineCollection(
            pairs, colors=color, linewidths=width, alpha=alpha, zorder=1.5, label=label
        )
    )
