"""Figures of a report and the Python that reproduces it.

Charts are SVG, which takes the colors of the page.
"""

from __future__ import annotations

import base64
import math
import warnings
from collections.abc import Mapping
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ScaleWarning
from ..methods.pca import PCA
from ..parameters import defaults_of
from ..pipeline import Pipeline
from ..plot.curves import MAX_SCREE_AXES, compute_quantiles, compute_shares, count_pairs
from ..reducer import Reducer
from ..spaces import space_of
from .page import encode_png

if TYPE_CHECKING:
    from ..evidence.compare import Stability
    from ..evidence.quality import Evaluation
    from ..io.table import Column, Data, Table


class Figure(NamedTuple):
    """A figure of the page: SVG, title and how to read it."""

    svg: str
    title: str
    text: str


def draw_figures(spectrum: Spectrum | None, evaluation: Evaluation | None) -> list[Figure]:
    """The curve of neighborhoods and the diagram of distances, if measured, and the spectrum."""
    found = []
    if evaluation is not None and evaluation.rnx_curve is not None:
        text = (
            "Neighborhood preservation for every neighborhood size, rescaled by chance: left "
            "is local, right is global. 1 is perfect, 0 is a random embedding."
        )
        found.append(Figure(draw_rnx(*evaluation.rnx_curve), "R_NX curve", text))
    if evaluation is not None and evaluation.shepard is not None:
        text = (
            "Pairs of rows by their distance in the data and in the embedding; darker is more "
            "pairs, on a logarithmic scale. A narrow band along a line means that the embedding "
            "preserves distances."
        )
        found.append(Figure(draw_shepard(*evaluation.shepard), "Shepard diagram", text))
    if spectrum is not None:
        text = f"Variance explained by each component ({spectrum.description})."
        found.append(Figure(draw_scree(spectrum), "Scree plot", text))
    return found


def draw_rnx(sizes: Column, shares: Column) -> str:
    """Neighborhood preservation against the number of neighbors, on a logarithmic axis."""
    chart = Chart((1, max(2, sizes[-1])), (min(0, shares.min()) - 0.02, 1.02), logarithmic=True)
    chart.line("pale", sizes[[0, -1]], np.zeros(2), "a random embedding")
    # A chart is not wider than this many points.
    at = np.unique(np.geomspace(1, len(sizes), 400).astype(int)) - 1
    chart.line("main", sizes[at], shares[at], "the embedding")
    return chart.finish("number of neighbors K", "neighborhood preservation R_NX(K)")


def draw_shepard(data: Column, embedding: Column) -> str:
    """Distances in the embedding against those in the data."""
    right, top = float(data.max()) or 1.0, float(embedding.max()) or 1.0
    chart = Chart((0, 1.02 * right), (0, 1.05 * top))
    chart.cells(*count_pairs(data, embedding))
    slope = float(data @ embedding) / float(data @ data) if (data > 0).any() else 0.0
    chart.line("pale", np.array([0, right]), np.array([0, slope * right]), "best scale")
    middle, lower, median, upper = compute_quantiles(data, embedding)
    chart.line("other", middle, median, "median")
    chart.line("other dashed", middle, lower, "80 % of the pairs")
    chart.line("other dashed", middle, upper)
    return chart.finish("distance in the data", "distance in the embedding")


def draw_scree(spectrum: Spectrum) -> str:
    """The share of the variance of each component, and the cumulative share."""
    share = 100 * compute_shares(spectrum.model)
    shown = min(len(share), MAX_SCREE_AXES)
    axis, cumulative = np.arange(1, shown + 1), share.cumsum()[:shown]
    # Components of 1 % each, as in genotypes, would be invisible on an axis up to 100 %.
    chart = Chart((0.3, shown + 0.7), (0, 105 if cumulative[-1] > 50 else 1.1 * cumulative[-1]))
    chart.bars("main", axis, share[:shown], "each component")
    chart.line("other", axis, cumulative, "cumulative")
    more = f" (first {shown} of {len(share)})" if shown < len(share) else ""
    return chart.finish(f"component{more}", "% of variance explained")


def draw_density(Y: Column, labels: Column | None, name: str) -> str:
    """Draw an embedding of more points than a browser draws fluently, as a data URL."""
    from .. import plot
    from ..plot.canvas import hide_figures

    file = BytesIO()
    with hide_figures():
        plot.save(plot.scatter(Y[:, :2], labels, legend=name), file, format="png")
    return _encode_image(file.getvalue())


def _encode_image(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


# -- charts ---------------------------------------------------------------------------------------


class Chart:
    """A chart with axes between `x` and `y` (low, high), as SVG of classes in page.css.

    >>> chart = Chart((0, 4), (0, 1))
    >>> chart.line("main", np.array([0, 4]), np.array([0, 1]), "a line")
    >>> '<path class="main" d="M46.0 250.0L410.0 24.0"/>' in chart.finish("x", "y")
    True
    """

    width, height = 420, 290
    left, right, top, bottom = 46, 410, 24, 250  # ends of the axes

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], logarithmic: bool = False
    ) -> None:
        self._x, self._y, self._logarithmic = x, y, logarithmic
        self._parts: list[str] = []
        self._names: list[tuple[str, str]] = []  # a class and a text for the legend

    def line(self, look: str, x: Column, y: Column, name: str = "") -> None:
        """Draw a line through these points; it is part of the legend if it has a name."""
        points = zip(self._across(x), self._up(y), strict=True)
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
        self._parts.append(f'<path class="{look}" d="M{path}"/>')
        if name:
            self._names.append((look, name))

    def bars(self, look: str, x: Column, y: Column, name: str) -> None:
        """Draw a bar from 0 to each y."""
        (width,) = np.diff(self._across(np.array([0, 0.8])))
        for middle, top in zip(self._across(x), self._up(y), strict=True):
            self._parts.append(
                f'<rect class="{look} full" x="{middle - width / 2:.1f}" y="{top:.1f}" '
                f'width="{width:.1f}" height="{self.bottom - top:.1f}"/>'
            )
        self._names.append((look, name))

    def cells(self, counts: NDArray[np.float64], x: Column, y: Column) -> None:
        """Draw the counts of cells between these edges: the opacity is their logarithm."""
        share = np.log1p(counts.T[::-1]) / np.log1p(max(counts.max(), 2.0))
        pixels = np.full((*share.shape, 4), (45, 110, 195, 0), np.uint8)
        pixels[..., 3] = np.where(share > 0, 40 + 200 * share, 0)
        (left, right), (bottom, top) = self._across(x[[0, -1]]), self._up(y[[0, -1]])
        self._parts.append(
            f'<image x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}" preserveAspectRatio="none" '
            f'href="{_encode_image(encode_png(pixels))}"/>'
        )

    def finish(self, x_label: str, y_label: str) -> str:
        """The SVG element, with axes, ticks, labels, and a legend above."""
        parts = [f'<path class="axis" d="M{self.left} {self.top}V{self.bottom}H{self.right}"/>']

        def write(x: float, y: float, text: str, look: str = "center", turn: str = "") -> None:
            parts.append(
                f'<text class="{look}" transform="translate({x:.1f} {y:.1f}){turn}">'
                f"{escape(text)}</text>"
            )

        ticks = np.array((_list_powers if self._logarithmic else _list_ticks)(*self._x))
        for value, a in zip(ticks, self._across(ticks), strict=True):
            parts.append(f'<path class="axis" d="M{a:.1f} {self.bottom}v4"/>')
            write(a, self.bottom + 16, f"{value:g}")
        ticks = np.array(_list_ticks(*self._y))
        for value, b in zip(ticks, self._up(ticks), strict=True):
            parts.append(f'<path class="axis" d="M{self.left} {b:.1f}h-4"/>')
            write(self.left - 7, b + 4, f"{value:g}", "end")
        write((self.left + self.right) / 2, self.height - 8, x_label)
        write(11, (self.top + self.bottom) / 2, y_label, turn=" rotate(-90)")
        at = self.left
        for look, name in self._names:
            parts.append(f'<path class="{look}" d="M{at} 10h16"/>')
            write(at + 21, 14, name, "start")
            at += 40 + 6 * len(name)  # pixels of the line and of the characters
        body = "".join([*self._parts, *parts])
        size = f'viewBox="0 0 {self.width} {self.height}"'
        return f'<svg class="chart" {size} role="img">{body}</svg>'

    def _across(self, x: Column) -> NDArray[np.float64]:
        """Pixels from the left of values on the horizontal axis."""
        (low, high), values = self._x, np.asarray(x, np.float64)
        if self._logarithmic:
            low, high, values = math.log(low), math.log(high), np.log(values)
        return self.left + (values - low) / (high - low) * (self.right - self.left)

    def _up(self, y: Column) -> NDArray[np.float64]:
        """Pixels from the top of values on the vertical axis."""
        low, high = self._y
        values = np.asarray(y, np.float64)
        return self.bottom - (values - low) / (high - low) * (self.bottom - self.top)


def _list_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two others, at most seven.

    >>> _list_ticks(0, 105)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    """
    size = 10.0 ** np.floor(np.log10((high - low) / 7))
    step = next(m * size for m in (1, 2, 5, 10) if (high - low) / (m * size) <= 7)
    return [float(f"{step * k:.6g}") for k in range(int(np.ceil(low / step)), int(high / step) + 1)]


def _list_powers(low: float, high: float) -> list[float]:
    """Powers of ten between two numbers, with 2 and 5 times these if they are few."""
    powers = [10.0**k for k in range(int(np.log10(low)), int(np.log10(high)) + 1)]
    factors = (1, 2, 5) if len(powers) < 4 else (1,)
    return [m * power for power in powers for m in factors if low <= m * power <= high]


# -- the spectrum ---------------------------------------------------------------------------------


class Spectrum(NamedTuple):
    """A fitted model with a spectrum, what it is, and the Python that gives it."""

    model: Reducer
    description: str
    code: str


def choose_spectrum(
    model: Reducer, X: Data, standardized: bool = False, least: int = 3
) -> Spectrum | None:
    """The spectrum of the method, else of PCA on the rows as the model compares them.

    Fewer than three components do not make a curve.

    >>> import lowd, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 1, 1, 100]
    >>> choose_spectrum(lowd.PCA(2, scale=True).fit(X), X).code
    'lowd.PCA(n_components=4, scale=True).fit(X)'
    """
    method = model.method_ if isinstance(model, Pipeline) else model
    name = type(method).__name__
    if _count_values(method) >= least:
        return Spectrum(method, name, "model" if method is model else "model.method_")
    if isinstance(model, Pipeline) and model.pca_ is not None:
        if _count_values(model.pca_) < least:
            return None
        return Spectrum(model.pca_, f"the principal components before {name}", "model.pca_")
    if not isinstance(X, np.ndarray) or method._kind() != "rows":
        return None
    rows = model.prepare(X) if isinstance(model, Pipeline) else X
    if not isinstance(rows, np.ndarray) or min(rows.shape) < least:
        return None
    # PCA keeps its own settings, so that the shares are the same.
    settings = method.get_params(deep=False) if isinstance(method, PCA) else {}
    count = min(20, rows.shape[0] - 1, rows.shape[1])
    pca = PCA(**{**settings, "n_components": count})
    described = "data"
    if isinstance(model, Pipeline) or standardized:
        described = "data as prepared for the fit"
    elif getattr(method, "scale", False) is True:
        described = "standardized data"
    argument = "model.prepare(X)" if isinstance(model, Pipeline) else "X"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # the fit and the diagnosis warn already
        # In the order in which the method takes them: what it has computed serves here as well.
        pca.fit(rows if isinstance(method, PCA) else rows[space_of(rows).order()])
    return Spectrum(pca, f"PCA of the {described}", f"{format_constructor(pca)}.fit({argument})")


def _count_values(model: Reducer) -> int:
    for name in ("explained_variance_ratio_", "eigenvalues_"):
        values = getattr(model, name, None)
        if values is not None:
            return len(np.atleast_1d(values))
    return 0


def make_code(
    model: Reducer,
    table: Table | None,
    reading: Mapping[str, object],
    standardized: bool,
    evaluation: Evaluation | None = None,
    spectrum: Spectrum | None = None,
    stability: Stability | None = None,
) -> str:
    """The lines of Python that compute the same embedding and the same numbers from the same file.

    >>> import lowd
    >>> print(make_code(lowd.PCA(2), None, {}, standardized=False))
    import lowd
    <BLANKLINE>
    model = lowd.PCA(n_components=2)
    Y = model.fit_transform(X)
    print(lowd.evaluate(X, model))
    """
    lines = ["import lowd", ""]
    source = "" if table is None else str(table.source)
    if table is not None and source and table.kind == "strings":
        lines += [
            "from lowd.io import edit_distances",
            "",
            f"table = lowd.io.read({_format_read(source, reading)})",
            "X = edit_distances(table.X)",
        ]
    elif source:
        lines += [f"table = lowd.io.read({_format_read(source, reading)})", "X = table.X"]
    if standardized:
        lines += ["spread = X.std(0)", "X = (X - X.mean(0)) / (spread + (spread == 0))"]
    lines += [
        f"model = {format_constructor(model)}",
        "Y = model.fit_transform(X)",
        f"print({_format_evaluation(evaluation, bool(source))})",
    ]
    if stability is not None:
        lines += ["print(model.measure_stability(X))"]
    if spectrum is not None:
        lines += [f"spectrum = {spectrum.code}  # of the scree plot"]
    return "\n".join(lines)


def format_constructor(model: Reducer) -> str:
    """The call of the constructor, with the parameters that are not at their default.

    >>> import lowd
    >>> format_constructor(lowd.Pipeline(lowd.PCA(2), scale=True, pca=30))
    'lowd.Pipeline(method=lowd.PCA(n_components=2), scale=True, pca=30)'
    """
    defaults = defaults_of(type(model))
    values = {name: getattr(model, name) for name in defaults}
    if isinstance(model, Pipeline):
        values["method"] = model.method_ if model.__sklearn_is_fitted__() else model.method
    if model.is_random and values["random_state"] is None:
        # A random projection is drawn, so its seed is part of the result.
        values["random_state"] = getattr(model, "seed_", None)
    given = [
        f"{name}={_format_value(value)}"
        for name, value in values.items()
        if name not in ("verbose", "n_jobs") and not _is_default(value, defaults[name])
    ]
    return f"lowd.{type(model).__name__}({', '.join(given)})"


def _format_read(source: str, reading: Mapping[str, object]) -> str:
    return ", ".join([repr(source), *(f"{name}={value!r}" for name, value in reading.items())])


def _format_evaluation(evaluation: Evaluation | None, has_table: bool) -> str:
    """The call that gives the measures of the report."""
    options = ["X", "model"]
    if evaluation is not None:
        if "knn_accuracy" in evaluation.measures:
            options.append("labels=table.labels" if has_table else "labels=labels")
        options.append(f"n_neighbors={evaluation.n_neighbors}")
        if evaluation.random_state is not None:
            options.append(f"random_state={evaluation.random_state!r}")
    return f"lowd.evaluate({', '.join(options)})"


def _is_default(value: object, default: object) -> bool:
    return value is default or (np.isscalar(value) and bool(value == default))


def _format_value(value: object) -> str:
    if isinstance(value, Reducer):
        return format_constructor(value)
    return getattr(value, "__name__", None) or repr(value)
