"""Colors, bare axes and small files of the figures that the documents show."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import lowd

# Paul Tol's "muted" colors, the light ones darkened: distinct under any color vision.
ROSE, INDIGO, OCHRE, GREEN, SKY = "#CC6677", "#332288", "#C9A227", "#117733", "#4C9FD6"
WINE, TEAL, OLIVE, PURPLE, GRAY = "#882255", "#44AA99", "#7F7F1F", "#AA4499", "#666666"
COLORS = (ROSE, INDIGO, OCHRE, GREEN, SKY, WINE, TEAL, OLIVE, PURPLE, GRAY)


def save_figures(
    figures: Mapping[str, Callable[[], Any]], out: Path, names: Iterable[str] = ()
) -> None:
    """Draw the named figures, or all, into the folder; their methods may warn of what they show."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 110}
    out.mkdir(parents=True, exist_ok=True)
    for name in names or figures:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lowd.errors.LowdWarning)
            save_small(figures[name](), out / f"{name}.png")
        plt.close("all")
        print(name, flush=True)


def save_small(figure: Any, path: Path) -> None:
    """Save a PNG of 255 colors and white, which takes a third of the usual size."""
    from PIL import Image

    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[:, :, :3]
    quantized = Image.fromarray(pixels).quantize(255, method=Image.Quantize.MAXCOVERAGE)
    palette = np.full((256, 3), 255, np.uint8)
    colors = np.reshape(quantized.getpalette() or [], (-1, 3))[:255]
    palette[: len(colors)] = colors
    index = np.where((pixels == 255).all(2), 255, quantized).astype(np.uint8)  # white stays white
    image = Image.fromarray(index)
    image.putpalette(palette.tobytes())
    image.save(path, optimize=True)


def bare(axes: Any, title: str, note: str = "") -> None:
    """Hide ticks and spines: the axes of an embedding have no units."""
    axes.set_title(title, fontsize=12, pad=20 if note else 6)
    axes.text(0.5, 1.02, note, transform=axes.transAxes, ha="center", color=GRAY, fontsize=9)
    (x0, y0), (x1, y1) = axes.dataLim.get_points()
    x, y, half = (x0 + x1) / 2, (y0 + y1) / 2, 0.53 * max(x1 - x0, y1 - y0)
    axes.set(xlim=(x - half, x + half), ylim=(y - half, y + half), xticks=[], yticks=[])
    axes.set_aspect("equal")
    axes.spines[:].set_visible(False)
