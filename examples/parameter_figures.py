"""Draw what each parameter does, and how each method fails: a row of small pictures each.

Usage: python examples/parameter_figures.py docs/images/parameters [NAME ...]

The names are those of the files, such as isomap-n_neighbors or isomap-fails. `parameter_table.py`
says what is drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, load_wine, make_circles

import lowd
from drawing import COLORS, INDIGO, bare, save_figures
from lowd import datasets
from lowd.methods import COMMANDS
from parameter_table import FAILURES, ROWS, Row

GRAY = "#BBBBBB"
PANEL = 1.5  # inches
LONGEST_TITLE = 23  # letters above a panel; a longer one shows the value alone


class Data(NamedTuple):
    """Rows (or distances), their colors: classes by number, or a value that is continuous."""

    X: Any
    color: Any


@cache
def make_data(name: str) -> Data:
    """The data sets that rows and failures name."""
    rng = np.random.default_rng(0)
    n = 600
    roll = datasets.swiss_roll(1500)
    wine, digits = load_wine(), load_digits()
    groups = datasets.clusters(300, n_clusters=4)
    match name:
        case "roll":
            return Data(roll.X, roll.color)
        case "small roll":
            return Data(roll.X[:400], roll.color[:400])
        case "noisy roll":
            return Data(datasets.swiss_roll(1500, noise=1.2).X, roll.color)
        case "two rolls":
            return Data(roll.X + 200 * (np.arange(1500) % 3 == 0)[:, None], roll.color)
        case "roll and a far point":
            return Data(np.vstack([roll.X, [60.0, 60.0, 60.0]]), np.append(roll.color, 0.0))
        case "roll with a hole":
            hole = datasets.roll_with_hole(1500)
            return Data(hole.X, hole.color)
        case "S curve":
            curve = datasets.s_curve(400)
            return Data(curve.X, curve.color)
        case "sphere":
            sphere = datasets.severed_sphere(1500)
            return Data(sphere.X, sphere.color)
        case "strip":
            strip = rng.random((n, 2)) * [6, 1]
            return Data(strip, strip[:, 0])
        case "branches":
            along, arm = 10 * np.sort(rng.random(450)), np.arange(450) % 3
            rows = along[:, None] * np.eye(3)[arm] + 0.3 * rng.normal(size=(450, 3))
            return Data(rows, along)
        case "uneven sheet":
            sheet = np.column_stack([4 * rng.random(n) ** 3, rng.random(n)])
            return Data(sheet, sheet[:, 0])
        case "uneven ring":
            angle = np.concatenate([np.pi * rng.random(550), np.pi * (1 + rng.random(50))])
            return Data(np.column_stack([np.cos(angle), np.sin(angle)]), angle)
        case "rings":
            rows, ring = make_circles(400, factor=0.4, noise=0.04, random_state=0)
            return Data(rows, ring)
        case "digits":
            return Data(digits.data[:n], digits.target[:n])
        case "digits, few components":
            return Data(lowd.PCA(6).fit_transform(digits.data[:n]), digits.target[:n])
        case "wine, raw":
            return Data(wine.data, wine.target)
        case "clusters far from 0":
            return Data(groups.X + 30, groups.labels)
        case "clusters and a far point":
            far = 4 * np.abs(groups.X).max() * np.eye(20)[:1]
            return Data(np.vstack([groups.X, far]), np.append(groups.labels, 7))
        case "two layers":
            rows = rng.normal(size=(400, 2)) * [5, 0.3]
            rows[200:, 1] += 2
            return Data(rows, np.repeat([0, 1], 200))
        case "noise":
            return Data(rng.normal(size=(400, 20)), np.arange(400) % 3)
        case "two sizes":
            wide, tight = rng.normal(size=(200, 10)), 0.1 * rng.normal(size=(200, 10))
            return Data(np.vstack([wide, tight + 4]), np.repeat([0, 1], 200))
        case "three groups":
            centers = np.outer(np.repeat([0, 10, 60], 100), np.eye(10)[0])
            return Data(rng.normal(size=(300, 10)) + centers, np.repeat([0, 1, 2], 100))
        case "far groups":
            centers = 100 * np.eye(3)[np.arange(60) % 3]
            return Data(rng.normal(size=(60, 3)) + centers, np.arange(60) % 3)
        case "squared distances":
            plane = rng.random((200, 2)) * [2, 1]
            return Data(squareform(pdist(plane, "sqeuclidean")), plane[:, 0])
        case "ratings":
            plane = rng.random((100, 2)) * [2, 1]
            return Data(np.ceil(4 * squareform(pdist(plane))), plane[:, 0])
        case "line":
            along = np.sort(rng.random(40))
            return Data(np.column_stack([along, 0.1 * rng.random(40)]), along)
        case "wide":
            return Data(rng.normal(size=(60, 4000)) * (0.1 + rng.random((60, 1))), None)
        case "few large entries":
            rows = 0.05 * rng.normal(size=(60, 4000))
            rows[np.arange(60), rng.integers(0, 4000, 60)] = 10 * rng.normal(size=60)
            return Data(rows, None)
    raise KeyError(name)


def draw_panel(axes: Any, method: str, params: Mapping[str, Any], name: str, draw: str) -> None:
    """One picture: the embedding, new points on it, what the inverse returns, or distances."""
    X, color = make_data(name)
    model = getattr(lowd, method)(**params)
    if draw == "distances":
        before, after = pdist(X), pdist(model.fit_transform(X))
        axes.scatter(before / before.mean(), after / before.mean(), s=2, color=INDIGO, linewidths=0)
        axes.axline((1, 1), slope=1, color=GRAY, lw=1, zorder=0)
        axes.set(xlim=(0, 2), ylim=(0, 2), xticks=[0, 1, 2], yticks=[0, 1, 2], aspect="equal")
        axes.tick_params(labelsize=6, length=2)
        return
    if draw == "inverse":
        shown = [0, 2] if X.shape[1] == 3 else [0, 1]
        scatter(axes, model.inverse_transform(model.fit_transform(X))[:, shown], color)
        scatter(axes, X[:, shown], GRAY, zorder=0)
    elif draw == "new points":
        new = np.arange(len(X)) % 4 == 0
        scatter(axes, model.fit(X[~new]).embedding_, GRAY)
        scatter(axes, model.transform(X[new]), color[new], s=7)
    else:
        model.fit(X, color if draw == "supervised" else None)
        Y = model.embedding_ if hasattr(model, "embedding_") else model.transform(X)
        scatter(axes, Y if Y.shape[1] > 1 else np.column_stack([Y, color]), color)


def scatter(axes: Any, Y: Any, color: Any, s: float = 4, **style: Any) -> None:
    classes = not isinstance(color, str) and np.issubdtype(np.asarray(color).dtype, np.integer)
    ink = np.array(COLORS)[color] if classes else color
    s = s / 2 if len(Y) > 1000 else s
    axes.scatter(*Y[:, :2].T, c=ink, s=s, linewidths=0, **style)


def draw_row(panels: list[tuple[str, str, Mapping[str, Any], str, str]]) -> Any:
    """Pictures side by side: title, method, parameters, data and what is drawn of each."""
    size = (PANEL * max(len(panels), 2), PANEL + 0.25)
    figure, grid = plt.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)
    for axes, (title, *what) in zip(grid[0], panels, strict=True):
        method, params, data, draw = what
        draw_panel(axes, method, params, data, draw)
        if draw == "distances":
            axes.set_title(title, fontsize=8)
        else:
            bare(axes, title)
            axes.title.set_fontsize(8)
    return figure


def list_panels(row: Row) -> list[tuple[str, str, Mapping[str, Any], str, str]]:
    values = [f"{value:.3g}" if isinstance(value, float) else repr(value) for value in row.values]
    titles = [f"{row.parameter}={value}" for value in values]
    if max(map(len, titles)) > LONGEST_TITLE:
        titles = values
    return [
        (title, row.method, {**row.fixed, row.parameter: value}, row.data, row.draw)
        for title, value in zip(titles, row.values, strict=True)
    ]


def page_name(method: str) -> str:
    """What the page and the pictures of a method are named after, such as modified_lle."""
    return COMMANDS[method].replace("-", "_")


FIGURES = {
    **{
        f"{page_name(row.method)}-{row.parameter}": partial(draw_row, list_panels(row))
        for row in ROWS
    },
    **{
        f"{page_name(method)}-fails": partial(
            draw_row, [(f.title, method, f.params, f.data, f.draw) for f in found]
        )
        for method, found in FAILURES.items()
    },
}


if __name__ == "__main__":
    save_figures(FIGURES, Path(sys.argv[1]), sys.argv[2:])
