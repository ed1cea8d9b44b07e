"""Where PCA fails: wrong scaling, bent data, structure that is not at right angles."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .. import random
from ..errors import ScaleWarning
from ..methods.kernel_pca import KernelPCA
from ..methods.pca import PCA
from ..plot.canvas import format_chart
from .drawing import BLUE, MUTED_COLOR, PINK, YELLOW, arrow, bare, kept, panels
from .result import Demonstration, Number

SOURCES = np.array([[1.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5)]])  # directions, 45 degrees apart
VARIANCES = np.array([2.0, 0.72])


def show(out: Path, data: Path | None = None) -> Demonstration:  # noqa: ARG001 - all is generated
    figure, axes = panels(2, 3, 11, 7.2)
    numbers = [*_scaling(axes[0], axes[3]), *_bent(axes[1], axes[4]), *_askew(axes[2], axes[5])]
    return Demonstration(
        "pca-failures",
        "Three ways in which PCA fails",
        "Above: the largest unit wins, a ring has no straight axis, and axes at right angles miss "
        "sources that are not. Below: scaling repairs the first, a kernel the second; the third "
        "shows that axes need not be causes.",
        tuple(numbers),
        (kept(figure, out, "pca-failures"),),
        ("lowd warns of the first (ScaleWarning).",),
    )


def exact(n: int, stream: str) -> Any:
    """Normal rows whose sample covariance is the identity, to the last digit."""
    Z = random.normals(0, stream, (n, 2))
    Z -= Z.mean(0)
    return Z @ np.linalg.inv(np.linalg.cholesky(np.cov(Z.T))).T


def angle(a: Any, b: Any) -> float:
    """Degrees between two lines."""
    cosine = abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)
    return float(np.degrees(np.arccos(min(1.0, cosine))))


def _scaling(wrong: Any, right: Any) -> list[Number]:
    """Two columns with correlation 0.9; one is measured in grams, the other in kilograms."""
    X = exact(300, "scaling") @ np.linalg.cholesky([[1, 0.9], [0.9, 1]]).T * [1, 1000]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # lowd sees it, too
        raw = PCA(2).fit(X)
    scaled = PCA(2, scale=True).fit(X)
    wrong.scatter(*X.T, s=5, color=MUTED_COLOR, alpha=0.5, lw=0)
    wrong.scatter([-3000, 3000], [0, 0], s=0)  # the same scale on both sides
    arrow(wrong, 2 * np.sqrt(raw.explained_variance_[0]) * raw.components_[0], PINK)
    format_chart(wrong, "kilograms", "grams", "wrong scaling: one unit wins")
    wrong.set_aspect("equal", adjustable="datalim")
    wrong.set_xticks([-2000, 0, 2000])
    right.scatter(*(X / X.std(0)).T, s=5, color=MUTED_COLOR, alpha=0.5, lw=0)
    for axis, spread, ink in zip(
        scaled.components_, np.sqrt(scaled.explained_variance_), (BLUE, PINK), strict=True
    ):
        arrow(right, 2 * spread * axis, ink)
    bare(right, "PCA(scale=True)", "both columns count the same")
    return [
        Number(
            "wrong scaling: first axis from the second column, degrees",
            angle(raw.components_[0], np.array([0.0, 1.0])),
            0.0516,
            "closed form",
        ),
        Number(
            "  after scaling",
            angle(scaled.components_[0], np.array([0.0, 1.0])),
            45.0,
            "closed form",
        ),
    ]


def _bent(ring: Any, kernel: Any) -> list[Number]:
    """Two rings, one inside the other: evenly spread points, a little noise."""
    t = np.linspace(0, 2 * np.pi, 240, endpoint=False)
    radius = np.where(np.arange(240) % 2, 1.0, 0.35)
    X = np.c_[np.cos(t), np.sin(t)] * (radius + 0.03 * random.normals(0, "ring", (240,)))[:, None]
    inner = radius < 0.5
    pca = PCA(2).fit(X)
    Y = KernelPCA(2, kernel="rbf", gamma=3.0).fit_transform(X)
    for ax, places in ((ring, X), (kernel, Y)):
        for part, ink in ((inner, YELLOW), (~inner, BLUE)):
            ax.scatter(*places[part].T, s=8, color=ink, lw=0, alpha=0.8)
    for axis in pca.components_:
        arrow(ring, 0.9 * axis, PINK)
    bare(ring, "bent data: no axis is better", "both axes hold half of the variance")
    bare(kernel, "KernelPCA(kernel='rbf')", "the first axis parts the rings")
    return [
        Number(
            "rings: share of the first axis",
            float(pca.explained_variance_ratio_[0]),
            0.5,
            "by symmetry",
        ),
        Number("  parted by one straight cut of PCA's first axis", parted(X[:, 0], inner)),
        Number("  and of kernel PCA's", parted(Y[:, 0], inner), 1.0, "all"),
    ]


def parted(values: Any, group: Any) -> float:
    """Share of the rows on their own side of the best cut."""
    below = group[np.argsort(values)].cumsum()
    above = (~group[np.argsort(values)])[::-1].cumsum()[::-1]
    right = below[:-1] + above[1:]
    return float(max(right.max(), len(group) - right.min()) / len(group))


def _askew(found: Any, true: Any) -> list[Number]:
    """Two independent sources whose directions are 45 degrees apart."""
    X = (exact(600, "sources") * np.sqrt(VARIANCES)) @ SOURCES
    pca = PCA(2).fit(X)
    closed = np.linalg.eigvalsh(SOURCES.T * VARIANCES @ SOURCES)[::-1]
    for ax in (found, true):
        ax.scatter(*X.T, s=4, color=MUTED_COLOR, alpha=0.4, lw=0)
    for tip in 2 * np.sqrt(pca.explained_variance_)[:, None] * pca.components_:
        arrow(found, tip, PINK)
    for tip in 2 * np.sqrt(VARIANCES)[:, None] * SOURCES:
        arrow(true, tip, BLUE)
    bare(found, "not at right angles: PCA's axes", "uncorrelated, and at right angles")
    bare(true, "the true sources", "independent, 45 degrees apart")
    first, second = (angle(pca.components_[i], SOURCES[i]) for i in range(2))
    return [
        Number(
            "askew sources: first variance",
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
