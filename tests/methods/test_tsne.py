"""SNE and t-SNE: worked examples, gradients, perplexities, divergences, held-out rows."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer

import lowd
from case_data import rows_like
from cases import fingerprint
from lowd import _native
from lowd.errors import DisconnectedGraphWarning, ParameterError
from oracles import conditional_probabilities, divergence


@pytest.mark.parametrize("kernel", ["student", "gauss", "rows"])
def test_divergence_is_that_of_the_embedding(kernel):
    X = rows_like(80, seed=3)
    make = lowd.TSNE if kernel == "student" else lowd.SNE
    given = {} if kernel == "student" else {"symmetric": kernel == "gauss"}
    model = make(perplexity=9, max_iter=60, **given).fit(X)
    rows, _ = conditional_probabilities(9, X)
    P = rows / 80 if kernel == "rows" else model.affinity_.toarray()
    scale = 80 if kernel == "rows" else 1
    expected = scale * divergence(P, model.embedding_, kernel)
    assert model.kl_divergence_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_affinity_of_sne_is_the_p_of_its_objective(symmetric):
    X = rows_like(80, seed=3)
    model = lowd.SNE(perplexity=9, symmetric=symmetric, max_iter=5).fit(X)
    rows, _ = conditional_probabilities(9, X)
    expected = (rows + rows.T) / 160 if symmetric else rows
    found = model.affinity_.toarray()
    np.testing.assert_allclose(found, expected, atol=2e-3 * expected.max())
    np.testing.assert_allclose(found.sum() if symmetric else found.sum(1), 1, rtol=1e-9)


def test_the_divergence_falls():
    """No lower after 100 steps than after 750; and no higher than scikit-learn's."""
    from sklearn.manifold import TSNE

    X = load_digits().data[:450]  # so few that both tools use all pairs
    found = [lowd.TSNE(max_iter=steps).fit(X).kl_divergence_ for steps in (100, 200, 750)]
    assert found[0] > found[1] > found[2]
    peer = TSNE(method="exact", max_iter=750).fit(X)
    assert found[2] < peer.kl_divergence_ + 0.02


def test_digits_and_the_digits_that_were_held_out():
    """New points land with their class: within two points of the training map's own accuracy."""
    X, y = load_digits(return_X_y=True)
    new = np.arange(len(X)) % 10 == 0
    model = lowd.TSNE(max_iter=500).fit(X[~new])
    judge = KNeighborsClassifier(10).fit(model.embedding_, y[~new])
    own = judge.score(model.embedding_, y[~new])
    assert own > 0.93
    assert judge.score(model.transform(X[new]), y[new]) > own - 0.02
    assert model.force_error_ < 0.03


def test_neighbors_in_several_clusters_draw_a_new_row_to_the_most_of_them():
    """Their median is near none of them, and downhill from there are fewer."""
    Y = np.stack(np.meshgrid(np.arange(36.0), np.arange(36.0)), 2).reshape(-1, 2)
    middles = np.array([[3.2, 13.1], [13.1, 33.2], [33.2, 3.1]])
    listed = np.argsort(cdist(middles, Y), axis=1)[:, :20].astype(np.int32).ravel()
    p = np.repeat([0.32, 0.36, 0.32], 20) / 20
    found, mesh = np.empty((1, 2)), (None, [0, 0], [0.0, 0.0], 1.0)
    lists = np.array([0, 60]), listed, p
    _native.optimize_new_points(*lists, Y, "student", *mesh, True, found, 1)
    assert np.linalg.norm(found[0] - middles[1]) < 2


def test_a_far_point_is_somewhere_on_the_map():
    X = rows_like(100)
    model = lowd.TSNE(perplexity=10, max_iter=100).fit(X)
    far = model.transform(X[:3] * 1e6)
    assert np.isfinite(far).all()
    assert (np.abs(far) <= np.abs(model.embedding_).max() + 5).all()


def test_starts_of_any_size_end_alike():
    """A start of 1e-8 is not taken for duplicates of one point."""
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


def test_no_early_stop_while_exaggerated():
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
    gaps = start[:, None] - start
    w = 1 / (1 + np.square(gaps).sum(2))
    np.fill_diagonal(w, 0)
    forces = ((model.affinity_.toarray() * w - w * w / w.sum())[:, :, None] * gaps).sum(1)
    expected = start - 50 * 1.2 * forces
    np.testing.assert_allclose(model.embedding_, expected - expected.mean(0), atol=1e-12)


def test_a_callback_sees_the_embedding_and_may_cancel():
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


@pytest.mark.parametrize("symmetric", [False, True])
def test_affinities_of_sne_are_those_of_its_objective(symmetric):
    X = rows_like(50)
    model = lowd.SNE(perplexity=8, symmetric=symmetric, max_iter=20).fit(X)
    P, D = model.affinity_.toarray(), cdist(model.embedding_, model.embedding_, "sqeuclidean")
    Q = np.exp(-D)
    np.fill_diagonal(Q, 0)
    Q /= Q.sum() if symmetric else Q.sum(1, keepdims=True)
    np.testing.assert_allclose(P.sum() if symmetric else P.sum(1), 1)
    at = P > 0
    divergence = (P[at] * np.log(P[at] / Q[at])).sum()
    assert model.kl_divergence_ == pytest.approx(divergence, rel=1e-6)


@pytest.mark.parametrize("method", [lowd.TSNE, lowd.SNE])
def test_ctrl_c_is_raised_and_the_model_is_as_before(method):
    steps = []

    def press(step, Y):  # noqa: ARG001
        steps.append(step)
        if step == 60:
            raise KeyboardInterrupt

    model = method(perplexity=5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows_like(60), callback=press)
    assert steps[-1] == 60
    assert not hasattr(model, "embedding_")
    model.set_params(max_iter=30).fit(rows_like(40))
    before = fingerprint(model)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(max_iter=750).fit(rows_like(60), callback=press)
    assert fingerprint(model.set_params(max_iter=30)) == before


@pytest.mark.parametrize("method", [lowd.TSNE, lowd.SNE])
def test_a_callback_may_stop_and_keep_what_was_reached(method):
    seen = []

    def enough(step, Y):
        seen.append(Y)
        return step == 60

    model = method(perplexity=5).fit(rows_like(60), callback=enough)
    assert model.n_iter_ == 60
    assert not model.converged_
    np.testing.assert_array_equal(model.embedding_, seen[-1])
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
    assert model.init_used_ == "pca"


def test_given_graphs_and_affinities():
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
    with pytest.raises(ParameterError, match="perplexity=30 or less, or a graph of more neighbors"):
        lowd.TSNE(perplexity=31).fit(X, neighbors=graph)
    with pytest.raises(ParameterError, match="perplexity=29 or less, or at least 41 rows"):
        lowd.TSNE(perplexity=40).fit(X[:30])


def test_a_graph_of_new_points_embeds_them():
    """Fitted to a sparse graph alone, and asked with one: as with the rows, each for itself."""
    X, Q = rows_like(600, seed=5), rows_like(9, seed=6)
    graph = KNeighborsTransformer(n_neighbors=30).fit(X)
    start = _start(X)
    rows = lowd.TSNE(perplexity=10, max_iter=40, init=start).fit(X)
    alone = lowd.TSNE(perplexity=10, max_iter=40, init=start, metric="precomputed")
    alone.fit(graph.transform(X))
    new = csr_array(KNeighborsTransformer(n_neighbors=29).fit(X).transform(Q))
    np.testing.assert_allclose(alone.transform(new), rows.transform(Q), atol=0.05)
    new = csr_array(
        (new.data[:-24], new.indices[:-24], [*new.indptr[:-1], new.nnz - 24]), new.shape
    )
    whole = alone.transform(new)  # the last row has six neighbors, fewer than the perplexity
    for i in range(9):
        np.testing.assert_array_equal(alone.transform(new[[i]])[0], whole[i])


def _start(X):
    return 1e-4 * np.random.default_rng(0).normal(size=(len(X), 2))


def test_neighbors_of_new_rows_may_be_given():
    X, Q = rows_like(600, seed=5), rows_like(9, seed=6)
    model = lowd.TSNE(perplexity=10, max_iter=40).fit(X)
    D = cdist(Q, X)
    order = np.argsort(D, axis=1)
    for count in (30, 200):  # more than the map takes make no difference
        near = order[:, :count]
        given = model.transform(Q, neighbors=(near, np.take_along_axis(D, near, 1)))
        np.testing.assert_allclose(given, model.transform(Q), atol=1e-6)


def test_duplicates_share_coordinates_and_crowd_nobody_out():
    X = rows_like(60, seed=1)
    copied = np.vstack([X, np.tile(X[:1], (300, 1))])
    model = lowd.TSNE(perplexity=10, max_iter=60).fit(copied)
    once = lowd.TSNE(perplexity=10, max_iter=60).fit(X)
    assert model.n_distinct_ == 60
    np.testing.assert_array_equal(model.embedding_[60:], np.tile(model.embedding_[:1], (300, 1)))
    np.testing.assert_allclose(model.embedding_[:60], once.embedding_, atol=1e-9)


HARD = """
    import warnings, numpy as np, lowd
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    data = {f"n={n}": rng.normal(size=(n, 3)) for n in range(1, 6)}
    data |= {f"constant {n}": np.ones((n, 5)) for n in (1, 100, 3000)}
    data["duplicates"] = np.repeat(rng.normal(size=(7, 3)), 500, axis=0)
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


@pytest.mark.parametrize("n", [60, 2000])  # all pairs, and the mesh
def test_absurd_rates_stay_finite(n):
    X = rows_like(n)
    for given in ({"learning_rate": 1e300}, {"early_exaggeration": 1e300}):
        model = lowd.TSNE(perplexity=5, max_iter=6, **given).fit(X)
        assert np.isfinite(model.embedding_).all()
    far = 1e5 * np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    model = lowd.TSNE(perplexity=5, max_iter=6, init=far).fit(X)
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


def test_an_axis_without_any_width_stays_so():
    """Forces along it are 0; no factor makes it wide."""
    X = rows_like(60, 5)
    start = np.column_stack([lowd.PCA(1).fit_transform(X) * 1e-4, np.zeros(60)])
    Y = lowd.TSNE(perplexity=10, max_iter=30, init=start).fit_transform(X)
    assert Y[:, 0].std() > 0
    assert not Y[:, 1].any()
