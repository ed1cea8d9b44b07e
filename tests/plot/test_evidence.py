"""Plots of the quality of an embedding, of linear methods and of several embeddings."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist, pdist
from sklearn import decomposition

import lowd
from lowd import plot
from lowd.errors import DataError, ParameterError
from pictures import at, drawn, overlaps, ring, seen_by

# -- evidence --------------------------------------------------------------------------------------


def test_doubtful_points_are_dark_and_on_top():
    Y = np.vstack([np.zeros((5, 2)), ring(6)])
    trust = np.array([1, 1, 0.1, 1, 1, 1, 0.9, 0.8, 0.7, 0.6, 0.5])
    ax = plot.quality(Y, trust)
    pixels = drawn(ax)
    brightness = [at(ax, pixels, point).sum() for point in Y[5:]]
    assert brightness == sorted(brightness, reverse=True)
    assert at(ax, pixels, (0, 0)).sum() < brightness[-1]  # the one bad of five duplicates is seen


@pytest.mark.parametrize(("measure", "numbers"), [("trustworthiness", 1.0), ("stress", 0.0)])
def test_points_that_are_all_good_do_not_have_the_color_of_the_worst(measure, numbers):
    Y = ring(30)
    better = {"trustworthiness": "higher", "stress": "lower"}[measure]
    values = np.random.default_rng(0).normal(numbers, 1e-4, 30)
    for pointwise in (values, np.full(30, numbers)):
        found = SimpleNamespace(
            pointwise={measure: pointwise},
            measures={measure: SimpleNamespace(better=better)},
            rows=np.arange(30),
            n_samples=30,
        )
        ax = plot.quality(Y, found, measure)
        pale = np.array([0xCF, 0xE3, 0xEE]) / 255
        assert np.abs(ax.collections[-1].get_facecolors()[:, :3] - pale).max() < 0.05


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
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["4 not evaluated"]
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
            f"{59 - len(true | shown)} other rows",
            "to a true neighbor",
        ]
    marked = [np.asarray(one.get_offsets()) for one in ax.collections[2:5]]
    for coordinates, rows in zip(marked, (true & shown, true - shown, shown - true), strict=True):
        assert np.sort(coordinates, 0) == pytest.approx(np.sort(Y[sorted(rows)], 0))
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
    same, random, _ = ax.lines
    assert same.get_ydata() == pytest.approx(1)
    assert np.abs(random.get_ydata()).mean() < 0.2
    assert ax.get_xscale() == "log"
    assert ax.get_legend().get_texts()[0].get_text() == "itself  1.00"
    words = [text.get_text() for text in plot.rnx(own).get_legend().get_texts()]
    assert words == ["the embedding, area 1.000", "a random embedding"]
    assert plot.shepard(own).get_title().endswith("1.000")
    assert len(plot.quality(X[:, :2], own).collections) == 2


def test_reliability_of_a_calibrated_model():
    X = np.random.default_rng(0).normal(size=(150, 4))
    model = lowd.TSNE(perplexity=10, max_iter=50).fit(X)
    with pytest.raises(DataError, match="calibrate_confidence"):
        plot.reliability(model.evaluate(X))
    found = model.calibrate_confidence(X).evaluate(X)
    ax = plot.reliability({"one": found, "two": found})
    _, one, two = ax.lines
    assert one.get_xydata() == pytest.approx(two.get_xydata())
    drawn = found.reliability.counts >= min(10, found.reliability.counts.max())
    assert one.get_ydata() == pytest.approx(found.reliability.found[drawn])
    assert ax.get_legend().get_texts()[0].get_text().startswith("one")


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


def test_scree_of_components_that_explain_little_shows_them():
    noise = np.random.default_rng(0).normal(size=(60, 50))
    bars = plot.scree(lowd.PCA(3).fit(noise))
    assert bars.get_ylim()[0] == 0
    assert bars.patches[0].get_height() > 0.2 * bars.get_ylim()[1]
    assert plot.scree(lowd.PCA().fit(noise)).get_ylim() == (0, 105)


def test_dimension_shows_every_rule(cloud):
    found = lowd.dimension(cloud @ np.triu(np.ones((4, 4))))  # related columns: not noise
    rules, scree = plot.dimension(found)
    names = [text.get_text() for text in rules.get_yticklabels()]
    assert len(names) == len(set(names)) == len(found.suggestions)
    assert names[:3] == ["90 % of the variance", "95 % of the variance", "broken stick"]
    dots = [one.get_offsets() for one in rules.collections if isinstance(one, PathCollection)]
    order = np.argsort(np.vstack(dots)[:, 1])
    counts = np.asarray(np.vstack(dots))[order, 0]
    assert counts == pytest.approx(list(found.suggestions.values()))
    linear, manifold, *_, first = [text.get_text() for text in rules.get_legend().get_texts()]
    assert (linear, manifold) == (
        "rule for the number of components",
        "estimate of the dimension of a manifold",
    )
    assert found.recommended == ("parallel", 1)
    assert first == "to begin with: 1, by parallel analysis"
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
    assert (ax.get_xlabel()[:5], ax.get_title()) == ("PC1 (", "PCA of 60 rows, 4 columns")
    assert any("points to where the feature grows" in text.get_text() for text in ax.texts)
    with pytest.raises(ParameterError, match="two components"):
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
    (bar,) = [one for one in ax.get_figure().axes if one is not ax]
    assert [text.get_text() for text in bar.get_yticklabels()] == ["negative", "0", "positive"]
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
    keys = [{text.get_text() for text in ax.get_legend().get_texts()} for ax in axes]
    assert keys[0] == keys[1] == keys[2] == {"row", "mean"}
    assert keys[4] == {"row", "mean", "what is lost", "on the first axis"}
    assert keys[5] == {"row", "mean", "error", "reconstructed"}
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
    titled = plot.compare([Y, Y], np.arange(30) % 3, legend="kind")
    assert titled[1].get_legend().get_title().get_text() == "kind"
    assert plot.compare([Y, Y], np.arange(30) % 3, legend=False)[1].get_legend() is None
    wide = plot.compare([Y, np.column_stack([Y, rng.normal(size=30)]), Y[:, 0]])
    assert len(wide) == 3
    with pytest.raises(DataError, match="same rows"):
        plot.compare([Y, Y[:9]])
