"""Pictures and words at points, as many as there is room for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import random
from ..errors import DataError
from .canvas import INK, PALE, TINY, as_map, drawing, plain, settled
from .colors import Classes

TRIES = 1000  # words that are tried: no picture has room for more
ROOM = 18  # thumbnails along the longer side of the map
# Where a word may stand, seen from its point: horizontal and vertical alignment, and a gap.
SEATS = (
    ("left", "center", 4, 0),
    ("right", "center", -4, 0),
    ("center", "bottom", 0, 4),
    ("center", "top", 0, -4),
    ("left", "bottom", 3, 3),
    ("right", "bottom", -3, 3),
    ("left", "top", 3, -3),
    ("right", "top", -3, -3),
)


def apart(P: NDArray[Any], width: float, height: float) -> NDArray[np.int64]:
    """Points whose boxes of this size do not overlap, as a greedy walk in a fixed order finds."""
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


def thumbnails(ax: Any, P: NDArray[Any], images: Any, classes: Any, cmap: str) -> None:
    """Images at their points, as many as fit without overlap."""
    pictures = _as_pictures(images, len(P))
    tall, wide = pictures.shape[1:3]
    side = float(np.ptp(P, axis=0).max()) / ROOM or 1.0
    width, height = side * min(1, wide / tall), side * min(1, tall / wide)
    low, high = float(np.nanmin(pictures)), float(np.nanmax(pictures))
    for i in apart(P, 1.06 * width, 1.06 * height).tolist():
        x, y = P[i]
        extent = (x - width / 2, x + width / 2, y - height / 2, y + height / 2)
        look = {"cmap": cmap, "vmin": low, "vmax": high} if pictures.ndim == 3 else {}
        ax.imshow(pictures[i], extent=extent, zorder=3, aspect="auto", **look)
        edge = classes.color(int(classes.codes[i])) if isinstance(classes, Classes) else PALE
        thick = 1.4 if isinstance(classes, Classes) else 0.5
        ax.plot(
            np.array(extent)[[0, 1, 1, 0, 0]],
            np.array(extent)[[2, 2, 3, 3, 2]],
            color=edge,
            lw=thick,
            zorder=3.5,
        )
    # imshow moves limits; pictures at the rim need half their size more than points do.
    half = np.array([width, height]) / 2
    as_map(ax, np.vstack([P - half, P + half]))


def _as_pictures(images: Any, n: int) -> NDArray[Any]:
    pictures = np.asarray(images)
    if pictures.ndim not in (3, 4) or len(pictures) != n or pictures.shape[3:] not in ((), (3,)):
        raise DataError(
            f"images have shape {pictures.shape}; expected ({n}, height, width) for gray ones, "
            f"({n}, height, width, 3) for colored ones."
        )
    if pictures.ndim == 4 and pictures.dtype.kind == "f":
        top = float(pictures.max())
        pictures = np.clip(pictures / (255 if top > 1 else 1), 0, 1)
    return pictures


def words(
    ax: Any,
    P: NDArray[Any],
    names: Any,
    colors: Any = INK,
    size: float = TINY,
    away_from: Any = None,
) -> int:
    """Names beside their points, earlier ones first; one without room is left out.

    Returns how many stand. `colors` is one for all, or one per point. With `away_from` (a place) a
    name stands on the far side of its point if it can.
    """
    if len(names) != len(P):
        raise DataError(f"{len(names)} words for {len(P)} points; give one per point.")
    single = isinstance(colors, str)
    figure = settled(ax)
    frame = ax.get_window_extent()
    scale = figure.dpi / 72
    places = ax.transData.transform(P)
    boxes = np.array([[x - 2, y - 2, x + 2, y + 2] for x, y in places])  # no word on a point
    stands = 0
    for i, name in enumerate(names[:TRIES]):
        text = ax.annotate(
            plain(str(name)),
            P[i],
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=size,
            color=colors if single else colors[i],
            zorder=4,
            path_effects=drawing().halo,
        )
        text.set_in_layout(False)
        outward = None if away_from is None else P[i] - np.asarray(away_from)
        if not _seat(text, places[i], _seats(outward), boxes, i, frame, scale):
            text.remove()
            continue
        stands += 1
        box = text.get_window_extent()
        boxes = np.vstack([boxes, [box.x0 - 1, box.y0, box.x1 + 1, box.y1]])
    return stands


def _seats(outward: Any) -> tuple[tuple[str, str, int, int], ...]:
    if outward is None:
        return SEATS
    x, y = outward
    return tuple(sorted(SEATS, key=lambda seat: -(x * seat[2] + y * seat[3]) / np.hypot(*seat[2:])))


def _seat(
    text: Any, place: Any, seats: Any, boxes: Any, own: int, frame: Any, scale: float
) -> bool:
    """Move the text to the first free place around its point; False if there is none."""
    size = text.get_window_extent()
    wide, tall = size.width, size.height
    for across, up, dx, dy in seats:
        x = place[0] + dx * scale - {"left": 0, "center": wide / 2, "right": wide}[across]
        y = place[1] + dy * scale - {"bottom": 0, "center": tall / 2, "top": tall}[up]
        inside = frame.x0 <= x and x + wide <= frame.x1 and frame.y0 <= y and y + tall <= frame.y1
        hits = (boxes[:, 0] < x + wide) & (boxes[:, 2] > x)
        hits &= (boxes[:, 1] < y + tall) & (boxes[:, 3] > y)
        hits[own] = False
        if inside and not hits.any():
            text.set(ha=across, va=up)
            text.set_position((dx, dy))
            return True
    return False


def lines(ax: Any, starts: NDArray[Any], ends: NDArray[Any], color: str, **look: Any) -> None:
    """Straight lines from points to points."""
    pairs = np.stack([starts, ends], axis=1)
    ax.add_collection(
        drawing().LineCollection(pairs, colors=color, **({"linewidths": 0.9, "zorder": 1.5} | look))
    )
