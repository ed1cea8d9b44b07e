"""Scatter plots, checked by the pixels they draw: positions, colors, what covers what."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib import colormaps, colors
from matplotlib.figure import Figure
from scipy.spatial.distance import pdist

import lowd
from lowd import plot
from lowd.errors import DataError, ParameterError
from lowd.plot import canvas
from lowd.plot.canvas import choose_coloring
from lowd.plot.embeddings import MAX_DRAWN_POINTS
from pictures import at, drawn, overlaps, ring, seen_by


def test_points_are_where_the_map_says():
    Y = ring(12) * [3, 1]
    ax = plot.scatter(Y)
    pixels = drawn(ax)
    assert all(at(ax, pixels, point).max() < 0.6 for point in Y)
    assert at(ax, pixels, (0, 0)).min() == 1  # nothing in the middle


def test_a_unit_is_as_long_in_both_directions():
    ax = plot.scatter(ring(12) * [9, 1])
    drawn(ax)
    along, up = (
        np.subtract(*ax.transData.transform([to, (0, 0)])).max() for to in ((1, 0), (0, 1))
    )
    assert along == pytest.approx(up)


def test_classes_have_the_colors_of_the_legend():
    Y, labels = ring(8), np.array(list("aabbccdd"))
    ax = plot.scatter(Y, labels, size=60)
    pixels = drawn(ax)
    for code, name in enumerate("abcd"):
        expected = 0.8 * np.array(colors.to_rgb(canvas.COLORS[code])) + 0.2  # alpha on white
        for point in Y[labels == name]:
            assert at(ax, pixels, point) == pytest.approx(expected, abs=0.02)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list("abcd")


def test_no_class_covers_all_others():
    """The same 400 points for two classes: both colors are on top somewhere."""
    Y = np.vstack([np.random.default_rng(0).normal(size=(400, 2))] * 2)
    ax = plot.scatter(Y, np.repeat(["first", "second"], 400))
    (points,) = ax.collections
    order = points.get_facecolors()[:, 0]
    assert 0.4 < (order[400:] == order.max()).mean() < 0.6


@pytest.mark.parametrize("count", [3, 12, 40])
def test_the_legend_hides_nothing_and_is_not_cut_off(count):
    labels = [f"class {i:02}" for i in range(count)] * 2
    ax = plot.scatter(ring(2 * count), labels)
    drawn(ax)
    box, panel = ax.get_legend().get_window_extent(), ax.get_window_extent()
    figure = ax.get_figure().bbox
    assert not overlaps(box, panel)
    assert box.x1 <= figure.x1 + 1
    assert box.y0 >= figure.y0 - 1


def test_forty_classes_differ_and_the_others_are_pale():
    names = [f"{i:02}" for i in range(60)]
    classes = choose_coloring(np.repeat(names, 2).tolist() + names[:39], 159)
    looks = {(classes.color(code), classes.marker(code)) for code in range(40)}
    assert len(looks) == 40
    assert classes.names[-1] == "21 others"
    assert classes.color(39) == canvas.PALE_COLOR
    assert (classes.codes == 39).sum() == 42


def test_day_nine_comes_before_day_ten():
    found = choose_coloring(["day 10", "day 9", "b", "day 10", None], 5)
    assert found.names == ["b", "day 9", "day 10", "missing"]
    assert found.codes.tolist() == [2, 1, 0, 2, 3]


def test_colors_differ_for_any_color_vision():
    """Simulated by the matrices of Machado, Oliveira and Fernandes (2009), CIE76 differences."""
    normal, deutan, protan, tritan = (
        np.eye(3),
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    )
    rgb = np.array([colors.to_rgb(color) for color in canvas.COLORS])
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    for sight in (normal, deutan, protan, tritan):
        assert pdist(_lab(np.clip(light @ np.transpose(sight), 0, 1))).min() > 20
    assert _lab(light)[:, 0].max() < 82  # seen on white


def _lab(light):
    xyz = light @ np.transpose(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    f = np.cbrt(xyz / [0.9505, 1, 1.089])
    return np.column_stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])]
    )


def test_values_have_a_scale_and_missing_ones_are_pale():
    Y, values = ring(6), [0.5, 1.0, 2.0, 3.0, 4.5, np.nan]
    ax = plot.scatter(Y, values, size=60)
    pixels = drawn(ax)
    for row, color in ((0, colormaps["viridis"](0.0)), (4, colormaps["viridis"](1.0))):
        assert at(ax, pixels, Y[row]) == pytest.approx(0.8 * np.array(color[:3]) + 0.2, abs=0.02)
    assert at(ax, pixels, Y[5]) == pytest.approx(
        0.8 * np.array(colors.to_rgb(canvas.PALE_COLOR)) + 0.2, abs=0.02
    )
    assert len(ax.get_figure().axes) == 2  # the colorbar
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1 missing"]
    assert plot.scatter(Y[:5], values[:5]).get_legend() is None


@pytest.mark.parametrize(
    ("labels", "continuous"),
    [
        ([1, 2, 3], False),
        ([1.0, 2.0, np.nan], False),
        ([0.5, 1.5, 2.0], True),
        (list(range(12)), False),
        (list(range(13)), True),
        (["a", None, "b"], False),
        ([True, False, True], False),
    ],
)
def test_what_labels_are(labels, continuous):
    found = choose_coloring(labels, len(labels))
    assert hasattr(found, "numbers") == continuous
    assert hasattr(choose_coloring(labels, len(labels), "classes"), "names")


PERSONS = np.repeat(np.arange(40), 10)


@pytest.mark.parametrize(
    ("labels", "name", "continuous"),
    [
        (PERSONS, "y", False),
        (PERSONS + 1, "Person", False),
        (PERSONS.astype(float), "label", False),
        (PERSONS, "hour", True),
        (PERSONS, None, True),
        (PERSONS + 2, "target", True),  # begins elsewhere
        (2 * PERSONS, "target", True),  # with gaps
        (np.append(PERSONS, 40), "target", True),  # a rare value at the end, as of a count
    ],
)
def test_codes_of_many_classes_under_the_name_of_a_label(labels, name, continuous):
    found = choose_coloring(labels, len(labels), title=name)
    assert hasattr(found, "numbers") == continuous


def test_names_of_the_user_are_shown_as_they_are():
    ax = plot.scatter(ring(4), ["_hidden", "costs $5 or $6", "x", "x"], title="a $ b $")
    drawn(ax)  # a formula that is none would raise
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["_hidden", r"costs \$5 or \$6", "x"]


def test_one_dimension_has_a_lane_for_each_class():
    x = np.linspace(0, 5, 30)
    ax = plot.scatter(x, np.repeat(["low", "high"], 15))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["low", "high"]
    (points,) = ax.collections
    coordinates = np.asarray(points.get_offsets())
    assert sorted(coordinates[:, 0]) == pytest.approx(x)
    lanes = np.round(coordinates[np.argsort(coordinates[:, 0]), 1])
    assert set(lanes[:15]) == {0}
    assert set(lanes[15:]) == {1}
    assert len(plot.scatter(np.arange(MAX_DRAWN_POINTS + 1.0)).collections) > 0


def test_three_dimensions_are_three_pairs():
    Y = np.random.default_rng(0).normal(size=(20, 3))
    axes = plot.scatter(Y, np.arange(20) % 3)
    shown = [np.asarray(ax.collections[0].get_offsets()) for ax in axes]
    for pair, coordinates in zip(combinations(range(3), 2), shown, strict=True):
        assert np.sort(coordinates, 0) == pytest.approx(np.sort(Y[:, pair], 0))
    assert axes[0].get_legend() is None
    assert axes[2].get_legend() is not None
    one = plot.scatter(Y, dims=(2, 0))
    assert (one.get_xlabel(), one.get_ylabel()) == ("axis 3", "axis 1")


def test_tables_models_and_given_axes():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(30, 4))
    table = pandas.DataFrame(X[:, :2], columns=["width", "height"])
    figure = Figure()
    ax = figure.add_subplot()
    assert plot.scatter(table, ax=ax) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    model = lowd.ClassicalMDS(2).fit(X)
    coordinates = seen_by(plot.scatter(model))
    assert np.sort(coordinates, 0) == pytest.approx(np.sort(model.embedding_, 0))


def test_a_model_names_the_plot_and_its_axes():
    X = np.random.default_rng(0).normal(size=(30, 4)) * [9, 5, 5, 5]
    pca = lowd.PCA(3).fit(X)
    ax = plot.scatter(pca.transform(X), model=pca, dims=(0, 2))
    first, third = 100 * pca.explained_variance_ratio_[[0, 2]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (f"PC1 ({first:.0f} %)", f"PC3 ({third:.0f} %)")
    assert ax.get_title() == "PCA of 30 rows, 4 columns"
    ax = plot.scatter(lowd.Isomap(2, n_neighbors=8).fit(X))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Isomap 1", "Isomap 2")
    assert ax.get_title() == "Isomap of 30 rows, 4 columns"
    chain = lowd.Pipeline(lowd.PCA(2), scale=True).fit(X)
    assert plot.scatter(chain, title="mine").get_title() == "mine"
    assert plot.scatter(chain).get_title() == "PCA of 30 rows, 4 columns"
    assert plot.scatter(chain).get_xlabel().startswith("PC1 (")
    reduced = lowd.Pipeline(lowd.PCA(2), pca=3).fit(X)  # a share of the data, not of 3 components
    assert plot.scatter(reduced).get_xlabel() == f"PC1 ({first:.0f} %)"
    with pytest.raises(DataError, match="PCA keeps no embedding_"):
        plot.scatter(pca)


def shown_words(ax):
    return {text.get_text() for text in ax.texts}


def test_names_of_few_points_are_written():
    pandas = pytest.importorskip("pandas")
    names = [f"city {i}" for i in range(8)]
    ax = plot.scatter(ring(8), names)
    assert shown_words(ax) == set(names)
    assert ax.get_legend() is None  # eight classes of one point each say nothing
    kinds = list("aabbaabb")
    table = pandas.DataFrame(ring(8), columns=["x", "y"], index=names)
    ax = plot.scatter(table, kinds)
    assert shown_words(ax) == set(names)
    assert len(ax.get_legend().get_texts()) == 2
    assert not shown_words(plot.scatter(table, kinds, text=()))
    assert not shown_words(plot.scatter(pandas.DataFrame(ring(8)), kinds))
    many = [f"city {i}" for i in range(60)]
    assert not shown_words(plot.scatter(ring(60), many))
    assert not shown_words(plot.scatter(ring(8), names, kind="classes"))


def test_the_legend_may_have_a_title():
    ax = plot.scatter(ring(6), list("aabbcc"), legend="species")
    assert ax.get_legend().get_title().get_text() == "species"
    bar = plot.scatter(ring(6), np.arange(6) / 7, legend="age").get_figure().axes[1]
    assert bar.get_ylabel() == "age"
    assert plot.scatter(ring(6), list("aabbcc"), legend=False).get_legend() is None


def test_what_cannot_be_drawn_is_said():
    for call, error, words in (
        (lambda: plot.scatter([["a", "b"]]), DataError, "rows of numbers"),
        (lambda: plot.scatter([[1.0, np.inf], [0, 0]]), DataError, "row 0"),
        (lambda: plot.scatter(ring(4), [1, 2]), DataError, "one per point"),
        (lambda: plot.scatter(ring(4), kind="color"), ParameterError, "'auto'"),
        (lambda: plot.scatter(ring(4), list("abcd"), kind="values"), DataError, "not numbers"),
        (lambda: plot.scatter(ring(4), dims=(0, 2)), ParameterError, "counted from 0"),
        (lambda: plot.scatter(ring(4), ax=3), ParameterError, "Axes"),
        (lambda: plot.scatter(np.ones((4, 3)), ax=[1]), ParameterError, "3 panels"),
        (lambda: plot.scatter(ring(4), images=np.ones((3, 2, 2))), DataError, "height, width"),
        (lambda: plot.scatter(ring(4), text=["one"]), DataError, "one per point"),
        (lambda: plot.scatter(np.ones(4), text=list("abcd")), ParameterError, "two dimensions"),
        (lambda: plot.compare({}), DataError, "no embedding"),
    ):
        with pytest.raises(error, match=words):
            call()
