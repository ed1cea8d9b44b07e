"""Failures of PCA: wrong scaling, nonlinear data, sources that are not orthogonal."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lowd import random
from lowd.errors import ScaleWarning
from lowd.methods.kernel_pca import KernelPCA
from lowd.methods.pca import PCA
from lowd.plot.canvas import format_chart, make_legend_dot

from .drawing import (
    BLUE,
    GREEN,
    MUTED_COLOR,
    PINK,
    YELLOW,
    add_marks,
    draw_arrow,
    format_panel,
    make_line,
    make_panels,
    save_figure,
)
from .result import Demonstration, Number

if TYPE_CHECKING:
    from lowd.plot.canvas import Axes

Floats = NDArray[np.float64]
SOURCE_DIRECTIONS = np.array(
    [[1.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5)]]
)  # directions 45 degrees apart
SOURCE_VARIANCES = np.array([2.0, 0.72])


def show(out: Path, data: Path | None = None) -> Demonstration:  # noqa: ARG001 - all is generated
    figure, axes = make_panels(2, 3, 11, 7.2)
    numbers = [
        *_show_scaling(axes[0], axes[3]),
        *_show_rings(axes[1], axes[4]),
        *_show_oblique_sources(axes[2], axes[5]),
    ]
    return Demonstration(
        "pca-failures",
        "Three ways in which PCA fails",
        "Above: the largest unit dominates, a ring has no linear axis, and orthogonal axes miss "
        "sources that are not. Below: scaling repairs the first, a kernel the second; the third "
        "shows that axes need not be causes.",
        tuple(numbers),
        (save_figure(figure, out, "pca-failures"),),
        ("lowd warns of the first (ScaleWarning).",),
    )


def draw_white_rows(n: int, stream: str) -> Floats:
    """Draw normal rows whose sample covariance is the identity, to the last digit."""
    Z = random.normals(0, stream, (n, 2))
    Z -= Z.mean(0)
    return np.asarray(Z @ np.linalg.inv(np.linalg.cholesky(np.cov(Z.T))).T)


def compute_angle(a: Floats, b: Floats) -> float:
    """The angle between two lines in degrees."""
    cosine = abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)
    return float(np.degrees(np.arccos(min(1.0, cosine))))


def _show_scaling(wrong: Axes, right: Axes) -> list[Number]:
    """Two columns with correlation 0.9, one measured in grams and the other in kilograms."""
    X = draw_white_rows(300, "scaling") @ np.linalg.cholesky([[1, 0.9], [0.9, 1]]).T * [1, 1000]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # lowd warns of it as well
        raw = PCA(2).fit(X)
    scaled = PCA(2, scale=True).fit(X)
    wrong.scatter(*X.T, s=5, color=MUTED_COLOR, alpha=0.5, lw=0)
    wrong.scatter([-3000, 3000], [0, 0], s=0)  # sets equal limits on both axes
    draw_arrow(wrong, 2 * np.sqrt(raw.explained_variance_[0]) * raw.components_[0], PINK)
    format_chart(wrong, "kilograms", "grams", "wrong scaling: one unit dominates")
    add_marks(wrong, [make_line("first principal axis", color=PINK, lw=2)], "upper left")
    wrong.set_aspect("equal", adjustable="datalim")
    wrong.set_xticks([-2000, 0, 2000])
    right.scatter(*(X / X.std(0)).T, s=5, color=MUTED_COLOR, alpha=0.5, lw=0)
    for axis, spread, color in zip(
        scaled.components_, np.sqrt(scaled.explained_variance_), (PINK, GREEN), strict=True
    ):
        draw_arrow(right, 2 * spread * axis, color)
    format_panel(right, "PCA(scale=True)", "both features have the same weight")
    add_marks(
        right,
        [
            make_line("first principal axis", color=PINK, lw=2),
            make_line("second principal axis", color=GREEN, lw=2),
        ],
        "upper left",
    )
    return [
        Number(
            "wrong scaling: first axis from the second column, degrees",
            compute_angle(raw.components_[0], np.array([0.0, 1.0])),
            0.0516,
            "closed form",
        ),
        Number(
            "  after scaling",
            compute_angle(scaled.components_[0], np.array([0.0, 1.0])),
            45.0,
            "closed form",
        ),
    ]


def _show_rings(ring: Axes, kernel: Axes) -> list[Number]:
    """Two rings, one inside the other, of evenly spread points with a little noise."""
    t = np.linspace(0, 2 * np.pi, 240, endpoint=False)
    radius = np.where(np.arange(240) % 2, 1.0, 0.35)
    X = np.c_[np.cos(t), np.sin(t)] * (radius + 0.03 * random.normals(0, "ring", (240,)))[:, None]
    inner = radius < 0.5
    pca = PCA(2).fit(X)
    Y = KernelPCA(2, kernel="rbf", gamma=3.0).fit_transform(X)
    for ax, rows in ((ring, X), (kernel, Y)):
        for part, color in ((inner, YELLOW), (~inner, BLUE)):
            ax.scatter(*rows[part].T, s=8, color=color, lw=0, alpha=0.8)
    for axis in pca.components_:
        draw_arrow(ring, 0.9 * axis, PINK)
    rings = [
        make_legend_dot(YELLOW, "o", "inner ring"),
        make_legend_dot(BLUE, "o", "outer ring"),
    ]
    ring.scatter(0, -1.3, s=0)  # makes space for the legend
    axes = make_line("principal axes", color=PINK, lw=2)
    add_marks(ring, [*rings, axes], "lower center", columns=3)
    add_marks(kernel, rings, "center")
    format_panel(
        ring, "nonlinear data: no axis is better", "both axes explain half of the variance"
    )
    format_panel(kernel, "KernelPCA(kernel='rbf')", "the first axis separates the rings")
    return [
        Number(
            "rings: share of the first axis",
            float(pca.explained_variance_ratio_[0]),
            0.5,
            "by symmetry",
        ),
        Number(
            "  separated by one threshold on PCA's first axis", compute_best_cut(X[:, 0], inner)
        ),
        Number("  and on kernel PCA's", compute_best_cut(Y[:, 0], inner), 1.0, "all"),
    ]


def compute_best_cut(values: Floats, group: NDArray[np.bool_]) -> float:
    """Accuracy of the best threshold on a coordinate."""
    below = group[np.argsort(values)].cumsum()
    above = (~group[np.argsort(values)])[::-1].cumsum()[::-1]
    right = below[:-1] + above[1:]
    return float(max(right.max(), len(group) - right.min()) / len(group))


def _show_oblique_sources(found: Axes, true: Axes) -> list[Number]:
    """Two independent sources whose directions are 45 degrees apart."""
    X = (draw_white_rows(600, "sources") * np.sqrt(SOURCE_VARIANCES)) @ SOURCE_DIRECTIONS
    pca = PCA(2).fit(X)
    closed = np.linalg.eigvalsh(SOURCE_DIRECTIONS.T * SOURCE_VARIANCES @ SOURCE_DIRECTIONS)[::-1]
    for ax in (found, true):
        ax.scatter(*X.T, s=4, color=MUTED_COLOR, alpha=0.4, lw=0)
    for tip in 2 * np.sqrt(pca.explained_variance_)[:, None] * pca.components_:
        draw_arrow(found, tip, PINK)
    for tip in 2 * np.sqrt(SOURCE_VARIANCES)[:, None] * SOURCE_DIRECTIONS:
        draw_arrow(true, tip, BLUE)
    add_marks(found, [make_line("principal axes", color=PINK, lw=2)], "upper left")
    add_marks(true, [make_line("directions of the sources", color=BLUE, lw=2)], "upper left")
    format_panel(found, "oblique sources: PCA's axes", "uncorrelated and orthogonal")
    format_panel(true, "the true sources", "independent, 45 degrees apart")
    first, second = (compute_angle(pca.components_[i], SOURCE_DIRECTIONS[i]) for i in range(2))
    return [
        Number(
            "oblique sources: first variance",
            float(pca.explained_variance_[0]),
            float(closed[0]),
            "closed form",
        ),
        Number(
            "  second variance", float(pca.explained_variance_[1]), float(closed[1]), "closed form"
        ),
        Number("  first axis from the first source, degrees", first, 9.9, "closed form"),
        Number("  second axis from the second source, degrees", second, 54.9, "closed form"),
    ]
