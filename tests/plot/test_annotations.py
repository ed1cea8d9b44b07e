"""Density plots, thumbnails and words, checked by the pixels they draw."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib import colormaps, colors
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist

from lowd import plot
from lowd.plot import canvas
from lowd.plot.embeddings import (
    MAX_DRAWN_POINTS,
    compute_opacity,
    count_cells,
    draw_words,
)
from pictures import at, drawn, overlaps

# -- density ---------------------------------------------------------------------------------------


def crowd():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(MAX_DRAWN_POINTS - 9999, 2))
    return np.vstack([wide, 0.01 * rng.normal(size=(10_000, 2)), [[9.0, 9.0], [9.5, 9.5]]])


def test_many_points_are_counted_not_drawn():
    Y = crowd()
    ax = plot.scatter(Y)
    assert len(ax.collections) == 0
    (image,) = ax.images
    assert np.nansum(image.get_array()) == len(Y)
    pixels = drawn(ax)
    isolated, usual, dense = (at(ax, pixels, p).sum() for p in ((9, 9), (0.5, 0.5), (0, 0)))
    assert dense < usual < isolated < 2.9  # darker with more points, and one point is seen
    assert at(ax, pixels, (5, 8)).min() == 1


def test_cells_are_square_and_hold_every_point():
    Y = crowd() * [3, 1]
    grid = count_cells(Y)
    assert grid.counts.sum() == len(Y)
    left, right, low, top = grid.extent
    high, wide = grid.counts.shape
    assert (right - left) / wide == pytest.approx((top - low) / high)
    assert wide == int(0.8 * len(Y) ** 0.5) + 1
    assert max(count_cells(np.repeat(Y, 5, 0)).counts.shape) == 361
    side = (right - left) / wide
    row, column = int((Y[7, 1] - low) // side), int((Y[7, 0] - left) // side)
    inside = (np.abs(Y[:, 0] - left - (column + 0.5) * side) <= side / 2) & (
        np.abs(Y[:, 1] - low - (row + 0.5) * side) <= side / 2
    )
    assert grid.counts[row, column] == inside.sum()


def test_ink_grows_by_the_logarithm():
    shade = compute_opacity(np.array([[0, 1, 10, 100]]))[0]
    assert shade == pytest.approx([0, 0.3, 0.65, 1])


def test_a_cell_of_two_classes_has_their_mixture():
    Y = np.vstack([np.zeros((MAX_DRAWN_POINTS, 2)), [[1.0, 1.0]]])
    labels = np.array(["a", "b"] * (MAX_DRAWN_POINTS // 2) + ["a"])
    ax = plot.scatter(Y, labels)
    pixels = drawn(ax)
    a, b = (np.array(colors.to_rgb(color)) for color in canvas.COLORS[:2])
    (image,) = ax.images
    assert np.asarray(image.get_array())[0, 0, :3] == pytest.approx(
        ((a**2.2 + b**2.2) / 2) ** (1 / 2.2)
    )
    near = 1 + np.linspace(-1, 1, 9) / len(Y) ** 0.5
    darkest = min((at(ax, pixels, (x, y)) for x in near for y in near), key=sum)
    assert darkest == pytest.approx(0.3 * a + 0.7, abs=0.02)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["a", "b", "darker: more points"]
    values = np.asarray(plot.scatter(Y, np.linspace(0, 1, len(Y))).images[0].get_array())
    assert values[0, 0, :3] == pytest.approx(colormaps["viridis"](0.5)[:3], abs=0.01)


# -- images and words ------------------------------------------------------------------------------


def test_thumbnails_do_not_overlap_and_use_the_room():
    rng = np.random.default_rng(0)
    Y, images = rng.normal(size=(400, 2)), rng.random((400, 6, 4))
    ax = plot.scatter(Y, images=images)
    boxes = np.array([image.get_extent() for image in ax.images])
    size = boxes[0, [1, 3]] - boxes[0, [0, 2]]
    middle = boxes[:, ::2] + size / 2
    assert cdist(middle, Y).min(axis=1).max() < 1e-9  # each is at a point
    apart = (np.abs(middle[:, None] - middle) >= size).any(2) | np.eye(len(middle), dtype=bool)
    assert apart.all()
    near = (np.abs(Y[:, None] - middle) < 1.06 * size).all(2).any(1)
    assert near.all()  # no point could have had another one
    assert size[1] / size[0] == pytest.approx(6 / 4)
    panel = ax.get_xlim()
    assert boxes[:, 0].min() >= panel[0]
    assert boxes[:, 1].max() <= panel[1]
    assert ax.texts[0].get_text() == f"dots: {400 - len(boxes)} of 400 images do not fit"


def test_a_thumbnail_shows_its_own_image():
    images = np.zeros((2, 2, 2))
    images[1] = 1
    ax = plot.scatter([[0.0, 0.0], [1.0, 1.0]], images=images)
    pixels = drawn(ax)
    assert at(ax, pixels, (0, 0)).max() < 0.05
    assert at(ax, pixels, (1, 1)).min() > 0.95


def test_words_cover_other_marks_only_if_they_must():
    figure = Figure(figsize=(4, 4), dpi=100)
    ax = figure.add_subplot()
    ax.set(xlim=(-1, 1), ylim=(-1, 1))
    right = np.column_stack([np.linspace(0.02, 0.6, 40), np.zeros(40)])
    assert draw_words(ax, np.zeros((1, 2)), ["a name"], avoid=right) == 1
    assert ax.texts[0].get_window_extent().x1 <= ax.transData.transform((0, 0))[0]
    everywhere = np.random.default_rng(0).uniform(-1, 1, (5000, 2))
    assert draw_words(ax, np.zeros((1, 2)), ["a name"], avoid=everywhere) == 1


def test_words_do_not_overlap_and_stay_inside():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(80, 2))
    names = [f"word number {i}" for i in range(80)]
    ax = plot.scatter(Y, text=names)
    drawn(ax)
    notes = [text for text in ax.texts if "do not fit" in text.get_text()]
    standing = [text for text in ax.texts if text not in notes]
    boxes = [text.get_window_extent() for text in standing]
    assert 10 < len(standing) < 80
    assert not any(overlaps(a, b) for a, b in combinations(boxes, 2))
    panel = ax.get_window_extent()
    assert all(panel.x0 <= box.x0 and box.x1 <= panel.x1 for box in boxes)
    assert notes[0].get_text().startswith(f"dots: {80 - len(standing)} of 80 words")
    assert standing[0].get_text() == "word number 0"  # the first has the first choice
