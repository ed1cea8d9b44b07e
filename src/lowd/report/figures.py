"""Figures of a report, drawn by `lowd.plot` and embedded in the page as data URLs."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import TYPE_CHECKING

from .. import plot
from ..plot.canvas import hide_figures

if TYPE_CHECKING:
    from ..evidence.quality import Evaluation
    from ..io.table import Column
    from ..plot.canvas import Axes, Panels
    from .spectrum import Spectrum

_MIME_TYPES = {"svg": "image/svg+xml", "png": "image/png"}


def encode_figure(axes: Axes | Panels, image_format: str) -> str:
    """Encode a figure as a data URL."""
    file = BytesIO()
    plot.save(axes, file, format=image_format)
    content = base64.b64encode(file.getvalue()).decode("ascii")
    return f"data:{_MIME_TYPES[image_format]};base64,{content}"


def draw_rnx(evaluation: Evaluation) -> str:
    with hide_figures():
        return encode_figure(plot.rnx(evaluation), "svg")


def draw_shepard(evaluation: Evaluation) -> str:
    with hide_figures():
        return encode_figure(plot.shepard(evaluation), "svg")


def draw_density(Y: Column, labels: Column | None, name: str) -> str:
    """Draw an embedding of more points than a browser draws fluently."""
    with hide_figures():
        return encode_figure(plot.scatter(Y[:, :2], labels, legend=name), "png")


def draw_scree(spectrum: Spectrum) -> str:
    with hide_figures():
        return encode_figure(plot.scree(spectrum.model), "svg")
