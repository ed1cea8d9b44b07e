"""SNE and t-SNE: worked examples, gradients, perplexities, divergences, held-out rows."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer

import lowd
from cases import BACKENDS, rows_like
from lowd.backends import resolve
from lowd.backends.protocol import Ragged
from lowd.backends.reference.new_points import interpolate
from lowd.errors import (
    ConvergenceWarning,
    DisconnectedGraphWarning,
    LongWorkWarning,
    ParameterError,
    RankWarning,
    UnsupportedError,
)

LINE = np.array([[0.0], [1.0], [3.0], [7.0]])
PLACES = np.array([[0.0, 0], [1, 0], [0, 1], [1, 2]])


def divergence(P, Y, kernel):
    """From the definition: over all pairs, or the mean over rows (of P with rows of sum 1)."""
    s = cdist(Y, Y, "sqeuclidean")
    w = 1 / (1 + s) if kernel == "student" else np.exp(-s)
    np.fill_diagonal(w, 0)
    q = w / (w.sum(1, keepdims=True) * len(Y) if kernel == "rows" else w.sum())
    held = P > 0
    return float((P[held] * np.log(P[held] / q[held])).sum())


def chances(perplexity, X):
    ops = resolve("reference", 1)
    n = len(X)
    D = cdist(X, X, "sqeuclidean")
    off = ~np.eye(n, dtype=bool)
    p, beta = ops.conditional_probabilities(
        np.arange(0, n * (n - 1) + 1, n - 1), D[off], perplexity
    )
    full = np.zeros((n, n))
    full[off] = p
    return full, beta


def test_worked_example_of_affinities(backend):
    model = lowd.TSNE(1, perplexity=2, backend=backend, max_iter=1).fit(LINE)
    np.testing.assert_allclose(
        model.betas_[:, 0], [0.084769, 0.144173, 0.238956, 0.073785], atol=1e-6
    )
    P = model.affinity_.toarray()
    assert P.sum() == pytest.approx(1)
    np.testing.assert_allclose(
        P[np.triu_indices(4, 1)],
        [0.157501, 0.069449, 0.009721, 0.140937, 0.022197, 0.100195],
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("kernel", "value", "first"),
    [
        ("student", 0.128391, [-0.048258, 0.148687]),
        ("gauss", 0.192205, [0.057478, 0.383866]),
        ("rows", 0.772856, [-0.171689, 0.925236]),
    ],
)
def test_worked_example_of_gradients(backend, kernel, value, first):
    rows, _ = chances(2, LINE)
    P = (rows + rows.T) / 8
    A, R = resolve(backend, 1).kl_plan(csr_array(P), kernel).forces(PLACES)
    scale = 4 if kernel == "rows" else 1  # the sum over four rows, not their mean
    np.testing.assert_allclose(4 * scale * (A - R)[0], first, atol=1e-6)
    assert np.abs((A - R).sum(0)).max() < 1e-15
    found = scale * divergence(rows / 4 if kernel == "rows" else P, PLACES, kernel)
    assert found == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("kernel", "place"), [("student", (0.7366, 0.5038)), ("gauss", (0.7293, 0.6109))]
)
def test_worked_example_of_a_new_point(backend, kernel, place):
    ops = resolve(backend, 1)
    starts = np.array([0, 4])
    p, beta = ops.conditional_probabilities(starts, np.array([4.0, 1, 1, 25]), 2.5)
    assert beta[0] == pytest.approx(0.583532, abs=1e-6)
    np.testing.assert_allclose(p, [0.079897, 0.460051, 0.460051, 0], atol=1e-6)
    near = Ragged(starts, np.arange(4, dtype=np.int32))
    start = np.array([p @ PLACES])
    found = ops.optimize_new_points(near, p, PLACES, kernel, None, start)
    np.testing.assert_allclose(found[0], place, atol=1e-4)


@pytest.mark.parametrize("kernel", ["student", "gauss", "rows"])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_gradients_are_finite_differences(backend, kernel, k):
    rng = np.random.default_rng(k)
    rows, _ = chances(4, rng.normal(size=(12, 3)))
    P, Y = (rows + rows.T) / 24, rng.normal(size=(12, k))
    A, R = resolve(backend, 2).kl_plan(csr_array(P), kernel).forces(Y)
    target = rows / 12 if kernel == "rows" else P
    for i, c in ((0, 0), (5, k - 1), (11, 0)):
        step = np.zeros_like(Y)
        step[i, c] = 1e-5
        up, down = (divergence(target, Y + s, kernel) for s in (step, -step))
        assert 4 * (A - R)[i, c] == pytest.approx((up - down) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("target", [1.5, 5, 30, 89])
def test_every_row_has_its_perplexity(backend, target):
    rng = np.random.default_rng(0)
    n, k = 3000 if backend == "native" else 200, 90
    squares = np.sort(rng.gamma(2.0, 1.0, (n, k)) * rng.lognormal(0, 8, (n, 1)), axis=1)
    squares[: n // 3, :2] += rng.random((n // 3, 1)) * 1e6 * squares[: n // 3, -1:]  # far from all
    p, _ = resolve(backend, 2).conditional_probabilities(
        np.arange(0, n * k + 1, k), squares.ravel(), target
    )
    p = p.reshape(n, k)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-12)
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    np.testing.assert_allclose(np.exp(-(p * logs).sum(1)), target, rtol=1e-8)


def test_perplexities_that_ties_put_out_of_reach(backend):
    """Three nearest at one distance: no fewer than three count, and nothing is not a number."""
    p, beta = resolve(backend, 1).conditional_probabilities(
        np.array([0, 5]), np.array([1.0, 1, 1, 2, 9]), 2.0
    )
    np.testing.assert_allclose(p, [1 / 3, 1 / 3, 1 / 3, 0, 0], atol=1e-6)
    assert np.isfinite(beta).all()


@pytest.mark.parametrize("kernel", ["student", "gauss", "rows"])
def test_divergence_is_that_of_the_returned_places(backend, kernel):
    X = rows_like(80, seed=3)
    make = lowd.TSNE if kernel == "student" else lowd.SNE
    given = {} if kernel == "student" else {"symmetric": kernel == "gauss"}
    model = make(perplexity=9, max_iter=60, backend=backend, **given).fit(X)
    rows, _ = chances(9, X)
    P = rows / 80 if kernel == "rows" else model.affinity_.toarray()
    scale = 80 if kernel == "rows" else 1
    expected = scale * divergence(P, model.embedding_, kernel)
    assert model.kl_divergence_ == pytest.approx(expected, rel=1e-9)


def test_divergence_and_gradient_are_those_of_scikit_learn():
    from sklearn.manifold import _t_sne

    X = rows_like(150, seed=4)
    model = lowd.TSNE(perplexity=12, max_iter=300).fit(X)
    squares = cdist(X, X, "sqeuclidean").astype(np.float32)
    P = _t_sne._joint_probabilities(squares, 12, 0)
    value, slope = _t_sne._kl_divergence(model.embedding_.ravel(), P, 1, 150, 2)
    assert model.kl_divergence_ == pytest.approx(value, abs=1e-4)
    A, R = resolve("auto", 1).kl_plan(model.affinity_, "student").forces(model.embedding_)
    np.testing.assert_allclose(4 * (A - R).ravel(), slope, atol=1e-6)


def test_the_divergence_falls():
    """No lower after 100 steps than after 750; and no higher than scikit-learn's."""
    from sklearn.manifold import TSNE

    X = load_digits().data[:450]  # so few that both tools use all pairs
    found = [lowd.TSNE(max_iter=steps).fit(X).kl_divergence_ for steps in (100, 200, 750)]
    assert found[0] > found[1] > found[2]
    peer = TSNE(method="exact", max_iter=750).fit(X)
    assert found[2] < peer.kl_divergence_ + 0.02


@pytest.mark.parametrize("spread", [1e-8, 1e-4, 1.0, 30.0])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_mesh_is_right(spread, k):
    """Repulsion, normalizer and potential against all pairs."""
    native, plain = (resolve(name, 2) for name in ("auto", "reference"))
    rng = np.random.default_rng(1)
    n = 3000
    Y = rng.normal(size=(n, k)) * spread
    rows = np.arange(n)
    P = csr_array((np.full(n, 1 / n), (rows, np.roll(rows, 1))), shape=(n, n))
    P = csr_array(0.5 * (P + P.T))
    fast, slow = native.kl_plan(P, "student"), plain.kl_plan(P, "student")
    if not fast.uses_interpolation(Y):
        pytest.skip("this backend has no mesh")
    (A, R), (A0, R0) = fast.forces(Y), slow.forces(Y)
    np.testing.assert_allclose(A, A0, atol=2e-5 * np.abs(A0).max())
    assert np.abs(R - R0).max() < 0.05 * max(np.abs(R0).max(), 0.01 / n)
    assert fast.partition_function(Y) == pytest.approx(slow.partition_function(Y), rel=1e-6)
    for y in Y[:5] + 0.1 if k < 3 else []:  # in space new rows feel all pairs
        value, slope, _ = interpolate(fast.interpolation_grid(Y), y)
        w = 1 / (1 + ((y - Y) ** 2).sum(1))
        assert value == pytest.approx(w.sum(), rel=3e-3)
        np.testing.assert_allclose(slope, -2 * w**2 @ (y - Y), atol=0.1 * np.abs(w**2).sum())


def test_a_map_of_space_is_as_good_as_by_all_pairs(monkeypatch):
    """Small at first, by a fine mesh; large in the end, by a coarse one and near pairs."""
    X = load_digits().data[:1000]
    exact = lowd.TSNE(3, max_iter=350).fit(X)
    assert exact.force_error_ < 1e-5
    monkeypatch.setattr("lowd.backends.native.kl.MAX_FLOAT32_POINTS", (0, 0, 900))
    model = lowd.TSNE(3, max_iter=350).fit(X)
    assert np.ptp(model.embedding_) > 40
    assert 0 < model.force_error_ < 0.02
    assert model.kl_divergence_ < exact.kl_divergence_ + 0.02
    new = model.transform(X[:20] + 1e-6)
    gap = np.linalg.norm(new - model.embedding_[:20], axis=1)
    assert np.median(gap) < 0.05 * np.ptp(model.embedding_)


def test_digits_and_the_digits_that_were_held_out(backend):
    """New rows land with their class: within two points of the training map's own accuracy."""
    X, y = load_digits(return_X_y=True)
    n = 1797 if backend == "native" else 500
    X, y = X[:n], y[:n]
    new = np.arange(n) % 10 == 0
    model = lowd.TSNE(backend=backend, max_iter=500).fit(X[~new])
    judge = KNeighborsClassifier(10).fit(model.embedding_, y[~new])
    own = judge.score(model.embedding_, y[~new])
    assert own > 0.93
    # One of the fifty rows that the slow backend is given is two points.
    gap = 0.02 if backend == "native" else 0.04
    assert judge.score(model.transform(X[new]), y[new]) > own - gap
    assert model.force_error_ < 0.03


def test_neighbors_in_several_places_draw_a_new_row_to_the_most_of_them(backend):
    """Their median is near none of them, and downhill from there are fewer."""
    Y = np.stack(np.meshgrid(np.arange(36.0), np.arange(36.0)), 2).reshape(-1, 2)
    middles = np.array([[3.2, 13.1], [13.1, 33.2], [33.2, 3.1]])
    listed = np.argsort(cdist(middles, Y), axis=1)[:, :20].astype(np.int32).ravel()
    p = np.repeat([0.32, 0.36, 0.32], 20) / 20
    near = Ragged(np.array([0, 60]), listed)
    place = resolve(backend, 1).optimize_new_points(near, p, Y, "student", None)[0]
    assert np.linalg.norm(place - middles[1]) < 2


def test_the_map_without_its_memory_is_near():
    """Rows moved by a millionth stay; forgotten training rows come back to their neighborhood."""
    X = load_digits().data[:800]
    model = lowd.TSNE(max_iter=400).fit(X)
    moved = model.transform(X[:50] + 1e-6)
    gap = np.linalg.norm(moved - model.embedding_[:50], axis=1)
    size = np.abs(model.embedding_).max()
    assert np.median(gap) < 0.05 * size


def test_new_rows_feel_the_late_exaggeration():
    """Compact clusters take new rows in: forgotten training rows come back as near as without."""
    X = load_digits().data[:700]
    model = lowd.TSNE(exaggeration=4, max_iter=400).fit(X)
    moved = model.transform(X[:200] + 1e-6)
    gap = np.median(np.linalg.norm(moved - model.embedding_[:200], axis=1))
    plain = replace(model.map_, exaggeration=1.0)
    without = plain(X[:200] + 1e-6, resolve("auto", 1))
    assert gap < 0.7 * np.median(np.linalg.norm(without - model.embedding_[:200], axis=1))


def test_a_far_point_is_somewhere_on_the_map(backend):
    X = rows_like(100)
    model = lowd.TSNE(perplexity=10, max_iter=100, backend=backend).fit(X)
    far = model.transform(X[:3] * 1e6)
    assert np.isfinite(far).all()
    assert (np.abs(far) <= np.abs(model.embedding_).max() + 5).all()


def test_starts_of_any_size_end_alike():
    """A start of 1e-8 is not taken for copies of one point."""
    X = load_digits().data[:400]
    spans = []
    for scale in (1e-4, 1e-8):
        start = scale * np.random.default_rng(0).normal(size=(400, 2))
        spans.append(np.ptp(lowd.TSNE(init=start).fit(X).embedding_))
    assert spans[1] == pytest.approx(spans[0], rel=0.15)


@pytest.mark.parametrize("seed", range(5))
def test_no_point_shoots_off(seed):
    X = load_digits().data[:500]
    Y = lowd.TSNE(init="random", random_state=seed).fit(X).embedding_
    radius = np.linalg.norm(Y - np.median(Y, 0), axis=1)
    assert radius.max() < 10 * np.median(radius)


def test_never_at_rest_while_exaggerated():
    model = lowd.SNE(perplexity=10, max_iter=2000).fit(rows_like(60, seed=1))
    assert model.converged_
    assert 250 < model.n_iter_ < 2000


def test_rates_are_those_of_the_first_programs():
    """One step by hand: n / exaggeration times the gradient without its 4."""
    X = rows_like(50)
    start = np.random.default_rng(0).normal(size=(50, 2)) * 1e-2
    model = lowd.TSNE(perplexity=5, max_iter=1, init=start).fit(X)
    assert model.learning_rate_ == 50
    assert model.early_learning_rate_ == pytest.approx(50 / 12)
    A, R = resolve("reference", 1).kl_plan(model.affinity_, "student").forces(start)
    expected = start - 50 * 1.2 * (A - R)
    np.testing.assert_allclose(model.embedding_, expected - expected.mean(0), atol=1e-12)


def test_a_callback_sees_the_places_and_may_cancel():
    X, seen = rows_like(60), []
    model = lowd.TSNE(perplexity=5, max_iter=50)
    model.fit(X, callback=lambda step, Y: seen.append((step, Y)))
    assert [step for step, _ in seen] == [10, 20, 25, 35, 45, 50]  # phases of 25 steps
    np.testing.assert_allclose(seen[-1][1], model.embedding_)

    def stop(step, Y):  # noqa: ARG001 - a callback's signature
        raise RuntimeError("enough")

    before = model.embedding_.copy()
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X[:40], callback=stop)
    np.testing.assert_array_equal(model.embedding_, before)


def test_ctrl_c_keeps_what_was_reached():
    def press(step, Y):  # noqa: ARG001
        if step == 60:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="after 60 of 750"):
        model = lowd.TSNE(perplexity=5).fit(rows_like(60), callback=press)
    assert model.n_iter_ == 60
    assert not model.converged_
    assert np.isfinite(model.transform(rows_like(5, seed=9))).all()


def test_starts_are_named():
    X = rows_like(60)
    assert lowd.TSNE(perplexity=5, max_iter=5).fit(X).init_used_ == "pca"
    assert lowd.TSNE(perplexity=5, max_iter=5, init="spectral").fit(X).init_used_ == "spectral"
    D = cdist(X, X)
    given = lowd.TSNE(perplexity=5, max_iter=5, metric="precomputed").fit(D)
    assert given.init_used_ == "classical scaling"
    rows = lowd.TSNE(perplexity=5, max_iter=5).fit(X)
    np.testing.assert_allclose(given.embedding_, rows.embedding_, atol=1e-9)
    apart = np.vstack([X, X + 1e4])
    with pytest.warns(DisconnectedGraphWarning, match="2 connected components"):
        model = lowd.TSNE(affinity="uniform", n_neighbors=5, max_iter=5, init="spectral").fit(apart)
    assert model.init_used_ == "random"


def test_ready_graphs_and_affinities():
    X = rows_like(600, seed=5)
    expected = lowd.TSNE(perplexity=10, max_iter=40).fit(X)
    graph = lowd.neighbors(X, 30)
    for ready in (graph, graph.edges(), KNeighborsTransformer(n_neighbors=30).fit_transform(X)):
        model = lowd.TSNE(perplexity=10, max_iter=40).fit(X, neighbors=ready)
        np.testing.assert_allclose(model.embedding_, expected.embedding_, atol=1e-6)
    alone = lowd.TSNE(perplexity=10, max_iter=40, metric="precomputed", init="random")
    assert np.isfinite(alone.fit(graph.graph()).embedding_).all()
    given = lowd.TSNE(affinity="precomputed", max_iter=40, init=_start(X)).fit(expected.affinity_)
    again = lowd.TSNE(perplexity=10, max_iter=40, init=_start(X)).fit(X)
    # In float32 the order of ties, here by column, there by distance, shows.
    np.testing.assert_allclose(given.embedding_, again.embedding_, atol=1e-3)
    with pytest.raises(ParameterError, match="use perplexity=30 or less"):
        lowd.TSNE(perplexity=31).fit(X, neighbors=graph)


def test_a_graph_of_new_rows_places_them():
    """Fitted to a sparse graph alone, and asked with one: as with the rows, each for itself."""
    X, Q = rows_like(600, seed=5), rows_like(9, seed=6)
    graph = KNeighborsTransformer(n_neighbors=30).fit(X)
    start = _start(X)
    rows = lowd.TSNE(perplexity=10, max_iter=40, init=start).fit(X)
    alone = lowd.TSNE(perplexity=10, max_iter=40, init=start, metric="precomputed")
    alone.fit(graph.transform(X))
    new = csr_array(graph.transform(Q))
    np.testing.assert_allclose(alone.transform(new), rows.transform(Q), atol=0.05)
    new = csr_array(
        (new.data[:-25], new.indices[:-25], [*new.indptr[:-1], new.nnz - 25]), new.shape
    )
    whole = alone.transform(new)  # the last row has six neighbors, fewer than the perplexity
    for i in range(9):
        np.testing.assert_array_equal(alone.transform(new[[i]])[0], whole[i])
    twice = KNeighborsTransformer(n_neighbors=30).fit(np.vstack([X, X[:5]]))
    copies = lowd.TSNE(perplexity=10, max_iter=5, metric="precomputed", init="random")
    copies.fit(twice.transform(np.vstack([X, X[:5]])))
    with pytest.raises(UnsupportedError, match="600 distinct ones"):
        copies.transform(twice.transform(Q))


@pytest.mark.parametrize("model", [lowd.TSNE(4), lowd.SNE(2)], ids=["TSNE-4", "SNE"])
def test_all_pairs_of_many_rows_are_warned_of(model, monkeypatch):
    X = rows_like(60)
    model.set_params(perplexity=5, max_iter=30).fit(X)  # few are no matter
    monkeypatch.setattr("lowd.methods.tsne.LONG", 60 * 60 * 30 * 0.7e-9)
    with pytest.warns(LongWorkWarning, match="transform the rest"):
        model.fit(X)
    lowd.TSNE(3, perplexity=5, max_iter=30).fit(X)  # has a mesh, were there many


def _start(X):
    return 1e-4 * np.random.default_rng(0).normal(size=(len(X), 2))


def test_neighbors_of_new_rows_may_be_given():
    X, Q = rows_like(600, seed=5), rows_like(9, seed=6)
    model = lowd.TSNE(perplexity=10, max_iter=40).fit(X)
    D = cdist(Q, X)
    order = np.argsort(D, axis=1)[:, :30]
    given = model.transform(Q, neighbors=(order, np.take_along_axis(D, order, 1)))
    np.testing.assert_allclose(given, model.transform(Q), atol=1e-6)


def test_copies_share_a_place_and_crowd_nobody_out():
    X = rows_like(60, seed=1)
    copied = np.vstack([X, np.tile(X[:1], (300, 1))])
    model = lowd.TSNE(perplexity=10, max_iter=60).fit(copied)
    once = lowd.TSNE(perplexity=10, max_iter=60).fit(X)
    assert model.n_distinct_ == 60
    np.testing.assert_array_equal(model.embedding_[60:], np.tile(model.embedding_[:1], (300, 1)))
    np.testing.assert_allclose(model.embedding_[:60], once.embedding_, atol=1e-9)


def test_affinities_can_be_summed_and_not_changed():
    """SciPy sorted in place what must not be written to."""
    P = lowd.TSNE(perplexity=10, max_iter=1).fit(rows_like(600)).affinity_
    assert P.sum() == pytest.approx(1)
    assert P.max() == P.toarray().max()
    with pytest.raises(ValueError, match="read-only"):
        P.data[0] = 1


def test_all_others_alike_are_warned_of():
    X = rows_like(31)
    with pytest.warns(RankWarning, match="use less, such as perplexity=10"):
        model = lowd.TSNE(perplexity=30).fit(X)
    assert model.kl_divergence_ < 1e-9
    lowd.TSNE(perplexity=[5, 30], max_iter=5).fit(X)  # the other one tells them apart


def test_several_perplexities_are_averaged():
    X = rows_like(60)
    one, two, both = (
        lowd.TSNE(perplexity=p, max_iter=1).fit(X).affinity_.toarray() for p in (3, 20, [3, 20])
    )
    np.testing.assert_allclose(both, (one + two) / 2, atol=1e-15)


HARD = """
    import warnings, numpy as np, lowd
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    data = {f"n={n}": rng.normal(size=(n, 3)) for n in range(1, 6)}
    data |= {f"constant {n}": np.ones((n, 5)) for n in (1, 100, 3000)}
    data["copies"] = np.repeat(rng.normal(size=(7, 3)), 500, axis=0)
    data["line"] = np.c_[np.arange(2000.0), np.zeros(2000)]
    data["outlier"] = np.vstack([rng.normal(size=(2000, 3)), [[1e12, 0, 0]]])
    data["two points"] = np.repeat([[0.0, 0], [1, 1]], 10, axis=0)
    for name, X in data.items():
        for make in (lowd.TSNE, lowd.SNE):
            if make is lowd.SNE and len(X) > 1000:
                X = X[::10]
            m = len(np.unique(X, axis=0))
            model = make(min(2, len(X)), perplexity=min(30, max(1, m - 1)), max_iter=60).fit(X)
            assert np.isfinite(model.embedding_).all(), name
            assert np.isfinite(model.transform(X[:2] + 0.5)).all(), name
    print("fine")
"""


def test_hard_data_do_not_crash():
    """In a process of its own: what kills it shows."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HARD)], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == "fine", run.stderr


# Two thousand rows are beyond what the reference is for.
@pytest.mark.parametrize(("backend", "n"), [*((name, 60) for name in BACKENDS), ("auto", 2000)])
def test_absurd_rates_stay_finite(backend, n):
    X = rows_like(n)
    for given in ({"learning_rate": 1e300}, {"early_exaggeration": 1e300}):
        model = lowd.TSNE(perplexity=5, max_iter=6, backend=backend, **given).fit(X)
        assert np.isfinite(model.embedding_).all()
    far = 1e5 * np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    model = lowd.TSNE(perplexity=5, max_iter=6, backend=backend, init=far).fit(X)
    assert np.isfinite(model.embedding_).all()
    with pytest.raises(lowd.errors.DataError, match="divide them"):
        lowd.TSNE(perplexity=5, init=10 * far).fit(X)


def test_parameters_that_would_be_ignored():
    X = rows_like(60)
    for params, word in (
        ({"n_neighbors": 5}, "n_neighbors"),
        ({"affinity": "uniform"}, "n_neighbors"),
        ({"affinity": "uniform", "n_neighbors": 5, "perplexity": 9}, "perplexity"),
        ({"perplexity": []}, "perplexity"),
        ({"perplexity": [0.5, 3]}, "use perplexity=1"),
        ({"perplexity": 0.5}, "use perplexity=1"),
        ({"perplexity": 60}, "use perplexity=59"),
    ):
        with pytest.raises(ParameterError, match=word):
            lowd.TSNE(**params).fit(X)
