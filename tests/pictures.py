"""What a picture shows: its pixels, and what covers what."""

from __future__ import annotations

import numpy as np


def drawn(ax):
    """Pixels of the whole figure, rows from the top."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = ax.get_figure(root=True)
    picture = FigureCanvasAgg(figure)
    picture.draw()
    return np.asarray(picture.buffer_rgba())[:, :, :3] / 255


def at(ax, pixels, point):
    """The color of the picture at a point of the map."""
    x, y = ax.transData.transform(point)
    return pixels[len(pixels) - 1 - int(y), int(x)]


def overlaps(a, b):
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1


def seen_by(ax):
    """Coordinates of the points of the last collection."""
    return np.asarray(ax.collections[-1].get_offsets())


def ring(n):
    """Points that do not touch."""
    angle = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])
