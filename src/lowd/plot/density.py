"""Density plots of many points: the number of points in each cell, on a logarithmic scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .canvas import load_matplotlib
from .colors import Classes, Values

if TYPE_CHECKING:
    from .canvas import Axes, Colormap, ScalarMappable

MAX_DRAWN_POINTS = 50_000  # More points would hide each other.
MAX_CELLS_PER_SIDE = 360  # about two pixels each in a plot of usual size
MIN_OPACITY = 0.3  # Opacity of a single point, which must be visible.
DISPLAY_GAMMA = 2.2  # Exponent from sRGB color values to light.

Image = NDArray[np.float64]


class Cells(NamedTuple):
    """Number of points in each cell, and the cell of each point."""

    counts: NDArray[np.int64]  # rows run from the bottom up
    cell: NDArray[np.int64]
    extent: tuple[float, float, float, float]

    def total(self, weights: NDArray[np.float64]) -> Image:
        """Sum of the weights of the points in each cell."""
        sums = np.bincount(self.cell, weights, self.counts.size)
        return np.asarray(sums.reshape(self.counts.shape), np.float64)


def count_cells(P: NDArray[np.float64]) -> Cells:
    """Count the points in square cells over all of them."""
    low, high = P.min(axis=0).astype(np.float64), P.max(axis=0).astype(np.float64)
    # Cells that mostly hold one point or none show noise, so fewer points get fewer cells.
    per_side = min(MAX_CELLS_PER_SIDE, int(0.8 * len(P) ** 0.5))
    side = float((high - low).max()) / per_side or 1.0
    width, height = (np.floor((high - low) / side).astype(int) + 1).tolist()
    column, row = np.minimum((P - low) // side, [width - 1, height - 1]).astype(np.int64).T
    cell = row * width + column
    counts = np.bincount(cell, minlength=width * height).reshape(height, width)
    extent = (low[0], low[0] + width * side, low[1], low[1] + height * side)
    return Cells(counts, cell, extent)


def compute_opacity(counts: NDArray[np.int64]) -> Image:
    """Opacity of cells on a logarithmic scale: 0 if empty, MIN_OPACITY for one point, 1 at most."""
    most = max(int(counts.max()), 2)
    opacity = MIN_OPACITY + (1 - MIN_OPACITY) * np.log(np.maximum(counts, 1)) / np.log(most)
    return np.asarray(np.where(counts > 0, opacity, 0), np.float64)


def draw_density(
    ax: Axes, P: NDArray[np.float64], colors: Classes | Values | None
) -> ScalarMappable | None:
    """Draw the cells; return what a colorbar of counts needs, or None if color has a meaning."""
    grid = count_cells(P)
    if colors is None:
        counts = np.where(grid.counts > 0, grid.counts, np.nan)
        norm = load_matplotlib().colors.LogNorm(1, max(int(grid.counts.max()), 2))
        # The scale does not begin at white, because a single point must be visible.
        return _draw_image(ax, counts, grid, cmap=_trim_colormap("viridis_r"), norm=norm)
    mixed = (
        _mix_class_colors(grid, colors)
        if isinstance(colors, Classes)
        else _color_means(grid, colors)
    )
    _draw_image(ax, np.dstack([mixed, compute_opacity(grid.counts)]), grid)
    return None


def _draw_image(ax: Axes, pixels: Image, grid: Cells, **look: object) -> ScalarMappable:
    return ax.imshow(
        pixels, extent=grid.extent, origin="lower", interpolation="nearest", zorder=1, **look
    )


def _trim_colormap(name: str) -> Colormap:
    """Return a colormap without its palest tenth."""
    shades = load_matplotlib().colormaps[name](np.linspace(0.1, 1, 256))
    return load_matplotlib().colors.ListedColormap(shades)


def _mix_class_colors(grid: Cells, classes: Classes) -> Image:
    """The mean color of the points in each cell, in linear light."""
    rgb = classes.rgb() ** DISPLAY_GAMMA
    members = np.maximum(grid.counts, 1)
    layers = [grid.total(rgb[classes.codes, channel]) / members for channel in range(3)]
    return np.asarray(np.clip(np.dstack(layers), 0, 1) ** (1 / DISPLAY_GAMMA))


def _color_means(grid: Cells, values: Values) -> Image:
    """The color of the mean value in each cell."""
    known = np.isfinite(values.numbers)
    members = grid.total(known.astype(np.float64))
    mean = grid.total(np.where(known, values.numbers, 0)) / np.maximum(members, 1)
    colors = np.asarray(values.scale().to_rgba(mean))[:, :, :3]
    return np.where(members[:, :, None] > 0, colors, 0.75)
