"""Too many points to draw: their number per cell, on a logarithmic scale."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .canvas import drawing
from .colors import Classes, Values

MANY = 50_000  # points; more of them hide each other, and a crowd looks like a few
CELLS = 360  # along the longer side, at most: about two pixels each in a picture of usual size
FAINTEST = 0.3  # ink of a single point, which must be seen too

Image = NDArray[np.float64]


class Cells(NamedTuple):
    """Number of points in each cell, and the cell of each point."""

    counts: NDArray[np.int64]  # rows from the bottom up
    cell: NDArray[np.int64]
    extent: tuple[float, float, float, float]

    def total(self, weights: NDArray[np.float64]) -> Image:
        """Sum of the weights of the points in each cell."""
        sums = np.bincount(self.cell, weights, self.counts.size)
        return np.asarray(sums.reshape(self.counts.shape), np.float64)


def cells(P: NDArray[Any]) -> Cells:
    """Square cells over all points."""
    low, high = P.min(axis=0).astype(np.float64), P.max(axis=0).astype(np.float64)
    # Cells that mostly hold one point or none are noise: fewer of them for fewer points.
    along = min(CELLS, int(0.8 * len(P) ** 0.5))
    side = float((high - low).max()) / along or 1.0
    width, height = (np.floor((high - low) / side).astype(int) + 1).tolist()
    column, row = np.minimum((P - low) // side, [width - 1, height - 1]).astype(np.int64).T
    cell = row * width + column
    counts = np.bincount(cell, minlength=width * height).reshape(height, width)
    extent = (low[0], low[0] + width * side, low[1], low[1] + height * side)
    return Cells(counts, cell, extent)


def ink(counts: NDArray[np.int64]) -> Image:
    """From 0 for none over FAINTEST for one to 1 for the most, by the logarithm."""
    most = max(int(counts.max()), 2)
    shade = FAINTEST + (1 - FAINTEST) * np.log(np.maximum(counts, 1)) / np.log(most)
    return np.asarray(np.where(counts > 0, shade, 0), np.float64)


def shaded(ax: Any, P: NDArray[Any], colors: Classes | Values | None) -> Any:
    """Draw the cells; returns what a colorbar of counts needs, or None if color has a meaning."""
    grid = cells(P)
    if colors is None:
        counts = np.where(grid.counts > 0, grid.counts, np.nan)
        norm = drawing().colors.LogNorm(1, max(int(grid.counts.max()), 2))
        # Not from white: a single point is to be seen.
        return _image(ax, counts, grid, cmap=_dark_end("viridis_r"), norm=norm)
    mixed = _classes_mixed(grid, colors) if isinstance(colors, Classes) else _mean(grid, colors)
    _image(ax, np.dstack([mixed, ink(grid.counts)]), grid)
    return None


def _image(ax: Any, pixels: Image, grid: Cells, **look: Any) -> Any:
    return ax.imshow(
        pixels, extent=grid.extent, origin="lower", interpolation="nearest", zorder=1, **look
    )


def _dark_end(name: str) -> Any:
    """A map of colors without its palest tenth."""
    shades = drawing().colormaps[name](np.linspace(0.1, 1, 256))
    return drawing().colors.ListedColormap(shades)


def _classes_mixed(grid: Cells, classes: Classes) -> Image:
    """The mean color of the points in each cell, mixed as light is."""
    rgb = classes.rgb() ** 2.2
    members = np.maximum(grid.counts, 1)
    layers = [grid.total(rgb[classes.codes, channel]) / members for channel in range(3)]
    return np.asarray(np.clip(np.dstack(layers), 0, 1) ** (1 / 2.2))


def _mean(grid: Cells, values: Values) -> Image:
    """The color of the mean value in each cell."""
    known = np.isfinite(values.numbers)
    members = grid.total(known.astype(np.float64))
    mean = grid.total(np.where(known, values.numbers, 0)) / np.maximum(members, 1)
    colors = np.asarray(values.scale().to_rgba(mean))[:, :, :3]
    return np.where(members[:, :, None] > 0, colors, 0.75)
