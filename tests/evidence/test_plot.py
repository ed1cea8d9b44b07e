"""Pictures, judged by what is on the canvas: where ink is, which color, what covers what."""

from __future__ import annotations

import io
import subprocess
import sys
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib import colormaps, colors, rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist, pdist
from sklearn import decomposition

import lowd
from lowd import plot
from lowd.errors import DataError, MissingPackageError, ParameterError
from lowd.plot import canvas
from lowd.plot.colors import coloring
from lowd.plot.density import CELLS, FAINTEST, MANY, cells, ink


def drawn(ax):
    """Pixels of the whole figure, rows from the top."""
    figure = ax.get_figure(root=True)
    picture = FigureCanvasAgg(figure)
    picture.draw()
    return np.asarray(picture.buffer_rgba())[:, :, :3] / 255


def at(ax, pixels, place):
    """The color of the picture at a place of the map."""
    x, y = ax.transData.transform(place)
    return pixels[len(pixels) - 1 - int(y), int(x)]


def overlaps(a, b):
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1


def seen_by(ax):
    """Places of the points of the last collection."""
    return np.asarray(ax.collections[-1].get_offsets())


def ring(n):
    """Points that do not touch."""
    angle = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


# -- scatter ---------------------------------------------------------------------------------------


def test_points_are_where_the_map_says():
    Y = ring(12) * [3, 1]
    ax = plot.scatter(Y)
    pixels = drawn(ax)
    assert all(at(ax, pixels, place).max() < 0.6 for place in Y)
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
        for place in Y[labels == name]:
            assert at(ax, pixels, place) == pytest.approx(expected, abs=0.02)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list("abcd")


def test_no_class_covers_all_others():
    """The same 400 places for two classes: both colors are on top somewhere."""
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


def test_forty_classes_are_told_apart_and_the_rest_is_pale():
    names = [f"{i:02}" for i in range(60)]
    classes = coloring(np.repeat(names, 2).tolist() + names[:39], 159)
    looks = {(classes.color(code), classes.marker(code)) for code in range(40)}
    assert len(looks) == 40
    assert classes.names[-1] == "21 others"
    assert classes.color(39) == canvas.PALE
    assert (classes.codes == 39).sum() == 42


def test_day_nine_comes_before_day_ten():
    found = coloring(["day 10", "day 9", "b", "day 10", None], 5)
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
        0.8 * np.array(colors.to_rgb(canvas.PALE)) + 0.2, abs=0.02
    )
    assert len(ax.get_figure().axes) == 2  # the colorbar
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("labels", "continuous"),
    [
        ([1, 2, 3], False),
        ([1.0, 2.0, np.nan], False),
        ([0.5, 1.5, 2.0], True),
        (list(range(30)), True),
        (["a", None, "b"], False),
        ([True, False, True], False),
    ],
)
def test_what_labels_are(labels, continuous):
    found = coloring(labels, len(labels))
    assert hasattr(found, "numbers") == continuous
    assert hasattr(coloring(labels, len(labels), "classes"), "names")


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
    places = np.asarray(points.get_offsets())
    assert sorted(places[:, 0]) == pytest.approx(x)
    lanes = np.round(places[np.argsort(places[:, 0]), 1])
    assert set(lanes[:15]) == {0}
    assert set(lanes[15:]) == {1}
    assert len(plot.scatter(np.arange(MANY + 1.0)).collections) > 0


def test_three_dimensions_are_three_pairs():
    Y = np.random.default_rng(0).normal(size=(20, 3))
    axes = plot.scatter(Y, np.arange(20) % 3)
    shown = [np.asarray(ax.collections[0].get_offsets()) for ax in axes]
    for pair, places in zip(combinations(range(3), 2), shown, strict=True):
        assert np.sort(places, 0) == pytest.approx(np.sort(Y[:, pair], 0))
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
    places = seen_by(plot.scatter(model))
    assert np.sort(places, 0) == pytest.approx(np.sort(model.embedding_, 0))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: plot.scatter([["a", "b"]]), DataError, "rows of numbers"),
        (lambda: plot.scatter([[1.0, np.inf], [0, 0]]), DataError, "row 0"),
        (lambda: plot.scatter(ring(4), [1, 2]), DataError, "one per point"),
        (lambda: plot.scatter(ring(4), kind="color"), ParameterError, "'auto'"),
        (lambda: plot.scatter(ring(4), list("abcd"), kind="values"), DataError, "no numbers"),
        (lambda: plot.scatter(ring(4), dims=(0, 2)), ParameterError, "counted from 0"),
        (lambda: plot.scatter(ring(4), ax=3), ParameterError, "Axes"),
        (lambda: plot.scatter(np.ones((4, 3)), ax=[1]), ParameterError, "3 panels"),
        (lambda: plot.scatter(ring(4), images=np.ones((3, 2, 2))), DataError, "height, width"),
        (lambda: plot.scatter(ring(4), text=["one"]), DataError, "one per point"),
        (lambda: plot.scatter(np.ones(4), text=list("abcd")), ParameterError, "two dimensions"),
        (lambda: plot.compare({}), DataError, "no map"),
    ],
)
def test_what_cannot_be_drawn_is_said(call, error, words):
    with pytest.raises(error, match=words):
        call()


# -- crowds ----------------------------------------------------------------------------------------


def crowd():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(MANY - 9999, 2))
    return np.vstack([wide, 0.01 * rng.normal(size=(10_000, 2)), [[9.0, 9.0], [9.5, 9.5]]])


def test_many_points_are_counted_not_drawn():
    Y = crowd()
    ax = plot.scatter(Y)
    assert len(ax.collections) == 0
    (image,) = ax.images
    assert np.nansum(image.get_array()) == len(Y)
    pixels = drawn(ax)
    lonely, usual, dense = (at(ax, pixels, p).sum() for p in ((9, 9), (0.5, 0.5), (0, 0)))
    assert dense < usual < lonely < 2.9  # darker with more points, and one point is seen
    assert at(ax, pixels, (5, 8)).min() == 1


def test_cells_are_square_and_hold_every_point():
    Y = crowd() * [3, 1]
    grid = cells(Y)
    assert grid.counts.sum() == len(Y)
    left, right, bottom, top = grid.extent
    high, wide = grid.counts.shape
    assert (right - left) / wide == pytest.approx((top - bottom) / high)
    assert wide == int(0.8 * len(Y) ** 0.5) + 1
    assert max(cells(np.repeat(Y, 5, 0)).counts.shape) == CELLS + 1
    side = (right - left) / wide
    row, column = int((Y[7, 1] - bottom) // side), int((Y[7, 0] - left) // side)
    inside = (np.abs(Y[:, 0] - left - (column + 0.5) * side) <= side / 2) & (
        np.abs(Y[:, 1] - bottom - (row + 0.5) * side) <= side / 2
    )
    assert grid.counts[row, column] == inside.sum()


def test_ink_grows_by_the_logarithm():
    shade = ink(np.array([[0, 1, 10, 100]]))[0]
    assert shade == pytest.approx([0, FAINTEST, (1 + FAINTEST) / 2, 1])


def test_a_cell_of_two_classes_has_their_mixture():
    Y = np.vstack([np.zeros((MANY, 2)), [[1.0, 1.0]]])
    labels = np.array(["a", "b"] * (MANY // 2) + ["a"])
    ax = plot.scatter(Y, labels)
    pixels = drawn(ax)
    a, b = (np.array(colors.to_rgb(color)) for color in canvas.COLORS[:2])
    (image,) = ax.images
    assert np.asarray(image.get_array())[0, 0, :3] == pytest.approx(
        ((a**2.2 + b**2.2) / 2) ** (1 / 2.2)
    )
    near = 1 + np.linspace(-1, 1, 9) / len(Y) ** 0.5
    darkest = min((at(ax, pixels, (x, y)) for x in near for y in near), key=sum)
    assert darkest == pytest.approx(FAINTEST * a + 1 - FAINTEST, abs=0.02)
    assert len(ax.get_legend().get_texts()) == 2
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


def test_a_thumbnail_shows_its_own_image():
    images = np.zeros((2, 2, 2))
    images[1] = 1
    ax = plot.scatter([[0.0, 0.0], [1.0, 1.0]], images=images)
    pixels = drawn(ax)
    assert at(ax, pixels, (0, 0)).max() < 0.05
    assert at(ax, pixels, (1, 1)).min() > 0.95


def test_words_do_not_overlap_and_stay_inside():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(80, 2))
    names = [f"word number {i}" for i in range(80)]
    ax = plot.scatter(Y, text=names)
    drawn(ax)
    notes = [text for text in ax.texts if "room" in text.get_text()]
    standing = [text for text in ax.texts if text not in notes]
    boxes = [text.get_window_extent() for text in standing]
    assert 10 < len(standing) < 80
    assert not any(overlaps(a, b) for a, b in combinations(boxes, 2))
    panel = ax.get_window_extent()
    assert all(panel.x0 <= box.x0 and box.x1 <= panel.x1 for box in boxes)
    assert notes[0].get_text().startswith(f"{80 - len(standing)} of 80")
    assert standing[0].get_text() == "word number 0"  # the first has the first choice


# -- evidence --------------------------------------------------------------------------------------


def test_doubtful_points_are_dark_and_on_top():
    Y = np.vstack([np.zeros((5, 2)), ring(6)])
    trust = np.array([1, 1, 0.1, 1, 1, 1, 0.9, 0.8, 0.7, 0.6, 0.5])
    ax = plot.quality(Y, trust)
    pixels = drawn(ax)
    brightness = [at(ax, pixels, place).sum() for place in Y[5:]]
    assert brightness == sorted(brightness, reverse=True)
    assert at(ax, pixels, (0, 0)).sum() < brightness[-1]  # the one bad of five copies is seen


def test_quality_knows_directions_and_sampled_rows():
    made = SimpleNamespace(
        pointwise={"stress": np.array([0.0, 0.9])},
        measures={"stress": SimpleNamespace(better="lower")},
        rows=np.array([1, 3]),
        n_samples=6,
    )
    Y = ring(6)
    ax = plot.quality(Y, made, "stress", size=60)
    pixels = drawn(ax)
    good, bad, unknown = (at(ax, pixels, Y[row]).sum() for row in (1, 3, 0))
    assert bad < good < unknown
    with pytest.raises(ParameterError, match="stress"):
        plot.quality(Y, made, "trust")
    with pytest.raises(DataError, match="6 rows"):
        plot.quality(ring(5), made, "stress")


def counted(count, kind, end):
    return f"{count} {kind} neighbor{'' if count == 1 else 's'}{end}"


def test_neighbors_may_be_spelled_with_a_u():
    assert plot.neighbours is plot.neighbors


def test_true_neighbors_are_those_of_the_data():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 5)), rng.normal(size=(60, 2))
    away, seen = cdist(X, X)[7], cdist(Y, Y)[7]
    true, shown = set(np.argsort(away)[1:9]), set(np.argsort(seen)[1:9])
    for given in (X, lowd.neighbors(X, 8)):
        ax = plot.neighbors(given, Y, 7, 8)
        words = [text.get_text() for text in ax.get_legend().get_texts()]
        assert words == [
            "row 7",
            counted(len(true & shown), "true", " kept"),
            counted(len(true - shown), "true", " lost"),
            counted(len(shown - true), "false", ""),
        ]
    marked = [np.asarray(one.get_offsets()) for one in ax.collections[2:5]]
    for places, rows in zip(marked, (true & shown, true - shown, shown - true), strict=True):
        assert np.sort(places, 0) == pytest.approx(np.sort(Y[sorted(rows)], 0))
    (spokes,) = [one for one in ax.collections if hasattr(one, "get_segments")]
    ends = np.array([segment[1] for segment in spokes.get_segments()])
    assert np.sort(ends, 0) == pytest.approx(np.sort(Y[sorted(true)], 0))
    with pytest.raises(ParameterError, match="from 0 to 59"):
        plot.neighbors(X, Y, 60)


def test_a_perfect_map_is_a_line_in_the_shepard_diagram():
    d = pdist(np.random.default_rng(0).normal(size=(60, 3)))
    ax = plot.shepard(d, 3 * d)
    assert "1.000" in ax.get_title()
    line, median, *_ = ax.lines
    assert np.divide(*line.get_xydata()[1]) == pytest.approx(1 / 3)
    x, y = median.get_xydata().T
    assert y == pytest.approx(3 * x, rel=0.05)
    (mesh,) = [one for one in ax.collections if one.get_array() is not None]
    assert np.nansum(mesh.get_array()) == len(d)
    with pytest.raises(DataError, match="give both"):
        plot.shepard(d)


def test_curves_of_an_evaluation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    own, other = lowd.evaluate(X, X), lowd.evaluate(X, rng.normal(size=(80, 2)))
    ax = plot.rnx({"itself": own, "random": other})
    same, chance, _ = ax.lines
    assert same.get_ydata() == pytest.approx(1)
    assert np.abs(chance.get_ydata()).mean() < 0.2
    assert ax.get_xscale() == "log"
    assert ax.get_legend().get_texts()[0].get_text() == "itself  1.00"
    assert "1.000" in plot.rnx(own).texts[0].get_text()
    assert plot.shepard(own).get_title().endswith("1.000")
    assert len(plot.quality(X[:, :2], own).collections) == 2


# -- linear methods --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cloud():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 4)) @ np.diag([5.0, 3.0, 1.0, 0.5]) + [1, 2, 3, 4]


def test_scree_shows_the_shares_and_the_rules(cloud):
    share = decomposition.PCA().fit(cloud).explained_variance_ratio_
    ax = plot.scree(lowd.PCA().fit(cloud), {"two": 2, "none": 0})
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx(100 * share)
    total, two, none = (line.get_xydata() for line in ax.lines)
    assert total[:, 1] == pytest.approx(100 * share.cumsum())
    assert (two[0, 0], none[0, 0]) == (2, 1)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[2:] == ["two: 2", "none: 0"]
    with pytest.raises(DataError, match="eigenvalues"):
        plot.scree([-1.0, 0.0])


def test_dimension_shows_every_rule(cloud):
    found = lowd.dimension(cloud)
    rules, scree = plot.dimension(found)
    names = [text.get_text().replace(" ", "_") for text in rules.get_yticklabels()]
    assert names == list(found.suggestions)
    dots = seen_by(rules)
    assert dots[:, 0] == pytest.approx(list(found.suggestions.values()))
    assert len(scree.patches) == 4
    single = Figure().add_subplot()
    assert plot.dimension(found, ax=single) is single


def test_loadings_are_the_entries_of_the_axes(cloud):
    model = lowd.PCA(2).fit(cloud)
    ax = plot.loadings(model, list("abcd"))
    assert np.asarray(ax.images[0].get_array()) == pytest.approx(model.components_.T)
    assert [text.get_text() for text in ax.get_yticklabels()] == list("abcd")
    V = np.zeros((2, 60))
    V[0, 40], V[1, 3] = 1, -1
    few = plot.loadings(V)
    shown = [text.get_text() for text in few.get_yticklabels()]
    assert len(shown) == 25
    assert {"column 3", "column 40"} <= set(shown)
    with pytest.raises(DataError, match="linear"):
        plot.loadings(lowd.Isomap(n_neighbors=5).fit(cloud))


def test_arrows_of_a_biplot_point_to_where_columns_grow(cloud):
    model = lowd.PCA(2).fit(cloud)
    ax = plot.biplot(model, cloud, names=list("abcd"))
    scores = decomposition.PCA(2).fit_transform(cloud)
    scores *= np.sign((scores * model.transform(cloud)).sum(0))
    slope = np.array([np.cov(column, axis)[0, 1] for column in cloud.T for axis in scores.T])
    slope = slope.reshape(4, 2) / scores.std(0, ddof=1)
    tips = [text.xy for text in ax.texts if text.arrow_patch is not None]
    order = np.argsort(-np.hypot(*slope.T))
    scale = np.hypot(*tips[0]) / np.hypot(*slope[order[0]])
    assert np.array(tips) == pytest.approx(scale * slope[order], rel=1e-6, abs=1e-6)
    with pytest.raises(ParameterError, match="two axes"):
        plot.biplot(lowd.PCA(1).fit(cloud), cloud)


def test_eigenimages_show_signs_at_their_pixels():
    V = np.zeros((1, 12))
    V[0, 1], V[0, 10] = 0.8, -0.6
    model = SimpleNamespace(components_=V, mean_=np.arange(12.0))
    ax = plot.eigenimages(model, (3, 4))
    mean, axis = (image.get_array()[:, :, :3] for image in ax.images)
    assert mean[0, 0].max() < 0.01
    assert mean[2, 3].min() > 0.99
    assert axis[0, 1, 0] > 2 * axis[0, 1, 2]  # red
    assert axis[2, 2, 2] > 1.5 * axis[2, 2, 0]  # blue
    assert axis[1, 1].min() > 0.9
    drawn(ax)
    titles = [text.get_window_extent() for text in ax.texts]
    tiles = [image.get_window_extent() for image in ax.images]
    assert not any(overlaps(a, b) for a in titles for b in tiles)
    with pytest.raises(ParameterError, match="12 pixels"):
        plot.eigenimages(model, (3, 3))


def test_the_last_step_of_pca_is_the_inverse(cloud):
    axes = plot.pca_steps(cloud, (0, 2), scale=False)
    assert len(axes) == 6
    sk = decomposition.PCA(1).fit(cloud[:, [0, 2]])
    back = sk.inverse_transform(sk.transform(cloud[:, [0, 2]]))
    assert seen_by(axes[5]) == pytest.approx(back)
    scaled = plot.pca_steps(cloud, (0, 2))
    unit = cloud[:, [0, 2]].std(axis=0, ddof=1)
    assert np.std(seen_by(scaled[2]), axis=0, ddof=1) == pytest.approx(1)
    sk.fit(cloud[:, [0, 2]] / unit)
    back = unit * sk.inverse_transform(sk.transform(cloud[:, [0, 2]] / unit))
    assert seen_by(scaled[5]) == pytest.approx(back)
    with pytest.raises(DataError, match="two columns"):
        plot.pca_steps(cloud[:, :1])


# -- several maps ----------------------------------------------------------------------------------


def test_maps_are_turned_to_look_like_the_first():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(30, 2))
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    axes = plot.compare({"one": Y, "other": 7 * Y @ turn + 100}, np.arange(30) % 3)
    first, second = (np.asarray(ax.collections[0].get_offsets()) for ax in axes)
    assert second == pytest.approx(first)
    assert [ax.get_legend() is None for ax in axes] == [True, False]
    wide = plot.compare([Y, np.column_stack([Y, rng.normal(size=30)]), Y[:, 0]])
    assert len(wide) == 3
    with pytest.raises(DataError, match="same rows"):
        plot.compare([Y, Y[:9]])


# -- files and manners -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_save_writes_all_three_kinds(tmp_path, kind, begin):
    path = tmp_path / f"map.{kind}"
    plot.save(plot.scatter(ring(5), list("abcde")), path)
    assert path.read_bytes().startswith(begin)
    with pytest.raises(ParameterError, match="svg"):
        plot.save(plot.scatter(ring(5)), tmp_path / "map.bmp")


def test_what_is_outside_the_axes_is_saved_too():
    """Axes of the user, without room for a legend."""
    figure = Figure(figsize=(3, 3), dpi=100)
    ax = figure.add_axes((0.05, 0.05, 0.94, 0.94))
    plot.scatter(ring(6), [f"a rather long name {i}" for i in range(6)], ax=ax)
    file = io.BytesIO()
    plot.save(ax, file, format="png")
    from matplotlib.image import imread

    file.seek(0)
    assert imread(file).shape[1] > 3 * canvas.DPI + 50


def test_pyplot_and_settings_stay_untouched():
    before = dict(rcParams)
    plot.scatter(ring(9), list("abcabcabc"))
    assert dict(rcParams) == before
    script = (
        "import sys; from lowd import plot; plot.scatter([[0.0, 1.0], [1.0, 0.0]]);"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "False"


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    canvas.drawing.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'lowd\[app\]'"):
        plot.scatter(ring(3))
    monkeypatch.undo()
    assert canvas.drawing() is not None
