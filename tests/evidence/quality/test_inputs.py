"""What `evaluate` takes, what it refuses, and what it gives back."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import lowd
from lowd import progress
from lowd.errors import DataError, ParameterError, UnsupportedError
from lowd.evidence.quality import Evaluation, Measure, continuity, trustworthiness
from lowd.evidence.quality.evaluation import EvaluationParameters, validate_input
from lowd.evidence.quality.metric_spaces import pair_distances
from lowd.spaces import extension

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 5)) * [5, 3, 1, 1, 1]
Y = X[:, :2] + 0.3 * rng.normal(size=(90, 2))


def values(found, *left_out):
    return {name: float(one) for name, one in found.measures.items() if name not in left_out}


# Drawn by the content of the samples, which a matrix has in another form than rows.
DRAWN = "triplet_accuracy"


def test_distances_are_as_good_as_rows():
    plain = lowd.evaluate(X, Y)
    given = lowd.evaluate(cdist(X, X), Y, metric="precomputed")
    assert values(given, DRAWN) == pytest.approx(values(plain, DRAWN))
    assert given.triplet_accuracy == pytest.approx(plain.triplet_accuracy, abs=0.05)
    np.testing.assert_allclose(given.pointwise["stress"], plain.pointwise["stress"])


@pytest.mark.parametrize(
    "metric", ["cosine", "correlation", "manhattan", "chebyshev", "minkowski", "sqeuclidean"]
)
def test_metrics_of_rows(metric):
    name = {"manhattan": "cityblock"}.get(metric, metric)
    D = cdist(X, X, name)
    if metric in ("manhattan", "chebyshev", "minkowski"):  # distances proper
        given = lowd.evaluate(D, Y, metric="precomputed")
        plain = lowd.evaluate(X, Y, metric=metric)
        assert values(given, DRAWN) == pytest.approx(values(plain, DRAWN))
    space = validate_input(EvaluationParameters(metric=metric), X, Y, None).data
    i, j = np.arange(89), np.arange(1, 90)
    np.testing.assert_allclose(pair_distances(space, i, j), D[i, j])
    np.testing.assert_allclose(space.distances(i)[i, j], D[i, j])


@pytest.mark.parametrize("metric", ["hamming", "jaccard"])
def test_metrics_of_flags(metric):
    flags = (rng.random((40, 9)) < 0.4).astype(float)
    flags[:, 0] = 1
    space = validate_input(EvaluationParameters(metric=metric), flags, Y[:40], None).data
    i, j = np.arange(39), np.arange(1, 40)
    expected = cdist(flags != 0, flags != 0, metric)[i, j]
    np.testing.assert_allclose(pair_distances(space, i, j), expected)


def test_sparse_rows_are_as_good_as_dense():
    dense = np.where(rng.random((90, 30)) < 0.2, rng.normal(size=(90, 30)), 0)
    sparse = lowd.evaluate(csr_array(dense), Y)
    assert values(sparse) == pytest.approx(values(lowd.evaluate(dense, Y)), abs=1e-9)


def test_pairs_of_sparse_rows():
    dense = np.where(rng.random((40, 12)) < 0.5, rng.normal(size=(40, 12)), 0)
    dense[:, 0] = 1
    i, j = np.arange(39), np.arange(1, 40)
    for metric in ("euclidean", "cosine"):
        params = EvaluationParameters(metric=metric)
        space = validate_input(params, csr_array(dense), Y[:40], None).data
        np.testing.assert_allclose(pair_distances(space, i, j), cdist(dense, dense, metric)[i, j])


def test_a_neighbor_graph_has_neighbors_only():
    plain = lowd.evaluate(X, Y, labels=np.arange(90) % 3)
    graph = lowd.neighbors(X, 15)
    for given in (graph, graph.graph()):
        how = {} if given is graph else {"metric": "precomputed"}
        found = lowd.evaluate(given, Y, labels=np.arange(90) % 3, **how)
        assert found.trustworthiness is None
        assert found.rnx_curve is None
        for name in ("continuity", "neighbor_recall", "lcmc", "bnx", "mrre_missing"):
            assert found.measures[name] == plain.measures[name], name
        assert found.knn_accuracy_data == plain.knn_accuracy_data
        assert "left out" in found.notes[0]
    with pytest.raises(UnsupportedError, match="no ranks beyond"):
        trustworthiness(graph, Y)
    assert continuity(graph, Y) == plain.continuity
    with pytest.raises(ParameterError, match="the graph holds fewer"):
        lowd.evaluate(lowd.neighbors(X, 5), Y)


def test_callables_and_mixed_tables():
    words = ["".join(chr(97 + (i * j) % 26) for j in range(1, 5)) for i in range(40)]

    def differ(a, b):
        return sum(x != y for x, y in zip(a, b, strict=True)) + abs(ord(a[0]) - ord(b[0])) / 100

    found = lowd.evaluate(words, Y[:40], metric=differ, n_neighbors=4)
    D = np.array([[differ(a, b) for b in words] for a in words])
    given = lowd.evaluate(D, Y[:40], metric="precomputed", n_neighbors=4)
    assert values(found, DRAWN) == pytest.approx(values(given, DRAWN))
    assert found.metric == "differ"
    table = [[float(i), "ab"[i % 2]] for i in range(40)]
    assert lowd.evaluate(table, Y[:40], metric="gower", n_neighbors=4).trustworthiness < 1


def test_tables_and_lists_as_embeddings():
    pandas = pytest.importorskip("pandas")
    plain = lowd.evaluate(X, Y)
    frame = pandas.DataFrame(Y, columns=["a", "b"])
    for embedding in (frame, Y.tolist(), np.asfortranarray(Y)):
        assert values(lowd.evaluate(X, embedding)) == values(plain)
    assert values(lowd.evaluate(X, Y[:, 0])) == values(lowd.evaluate(X, Y[:, :1]))


def test_inputs_stay_as_they_are():
    data, embedding = X.copy(), Y.copy()
    data.setflags(write=False)
    embedding.setflags(write=False)
    lowd.evaluate(data, embedding, labels=np.arange(90) % 2)
    np.testing.assert_array_equal(data, X)


WRONG = {
    "as many neighbors as rows": (X, Y, {"n_neighbors": 89}, ParameterError, "88 or less"),
    "no neighbor": (X, Y, {"n_neighbors": 0}, ParameterError, "n_neighbors=0"),
    "other rows": (X, Y[:50], {}, DataError, "X has 90 rows, but the embedding has 50"),
    "two rows": (X[:2], Y[:2], {"n_neighbors": 1}, ParameterError, "needs at least 3 rows"),
    "NaN in the embedding": (X, np.where(Y > 5, np.nan, Y), {}, DataError, "Y, the embedding"),
    "NaN in the data": (np.where(X > 5, np.nan, X), Y, {}, DataError, "NaN at row"),
    "coinciding points": (X, np.zeros((90, 2)), {}, DataError, "coincide in the embedding"),
    "constant data": (np.zeros((90, 2)), Y, {}, DataError, "no triplet|coincide"),
    "one class": (X, Y, {"labels": np.zeros(90)}, DataError, "all rows are of class"),
    "labels of other rows": (X, Y, {"labels": [1, 2]}, DataError, "one entry per row"),
    "labels are numbers": (X, Y, {"labels": X[:, 0]}, DataError, "no classes"),
    "missing label": (X, Y, {"labels": [None, *"a" * 89]}, DataError, "row 0 is missing"),
    "too many anchors": (X, Y, {"anchors": 91}, ParameterError, "2 to 90"),
    "one anchor": (X, Y, {"anchors": 1}, ParameterError, "2 to 90"),
    "anchors by name": (X, Y, {"anchors": "most"}, ParameterError, "'all'"),
    "unknown metric": (X, Y, {"metric": "euclid"}, ParameterError, "metric="),
    "distances that are no square": (abs(X), Y, {"metric": "precomputed"}, DataError, "square"),
}


def test_undefined_cases_raise_a_sentence():
    for data, embedding, how, error, words in WRONG.values():
        with pytest.raises(error, match=words):
            lowd.evaluate(data, embedding, **how)


def test_the_result_can_be_read_printed_and_kept():
    found = lowd.evaluate(X, Y, labels=np.arange(90) % 2, anchors=40)
    assert isinstance(found, Evaluation)
    assert isinstance(found.continuity, Measure)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["measures"]["continuity"]["value"] == float(found.continuity)
    assert plain["measures"]["continuity"]["better"] == "higher"
    text, page = repr(found), found._repr_html_()
    for name in found.measures:
        assert name in text
        assert name in page
        assert name in dir(found)
    assert "40 sampled rows" in text
    assert f"{found.continuity:.3f}" == f"{float(found.continuity):.3f}"
    again = pickle.loads(pickle.dumps(found))
    assert again.continuity == found.continuity
    assert again.continuity.interval == found.continuity.interval
    with pytest.raises(AttributeError, match="has no 'trust'"):
        _ = found.trust
    assert found.seconds > 0
    assert found.n_neighbors == 15
    assert found.n_samples == 90


def test_a_table_of_measures():
    pytest.importorskip("pandas")
    found = lowd.evaluate(X, Y)
    frame = found.to_frame()
    assert frame.loc["continuity", "value"] == float(found.continuity)
    assert frame.loc["stress1", "better"] == "lower"


def test_the_curve_can_be_drawn():
    pytest.importorskip("matplotlib")
    found = lowd.evaluate(X, Y)
    assert len(found.plot().lines) >= 1


def test_ties_and_duplicates_are_counted():
    lattice = np.indices((10, 10)).reshape(2, -1).T.astype(float)
    found = lowd.evaluate(lattice, lattice, n_neighbors=3)
    assert found.ties > 0.5
    assert found.duplicates == 0
    assert any("ties" in note for note in found.notes)
    doubled = np.concatenate([X, X[:10]])
    found = lowd.evaluate(doubled, doubled)
    assert found.duplicates == 20
    assert 0 < found.ties < 0.3  # a duplicate is as far as its original


def test_progress_is_reported_and_an_exception_cancels():
    steps = []
    with progress.listening(lambda *step: steps.append(step)):
        lowd.evaluate(X, Y)
    assert steps[-1][1] == steps[-1][2]

    def refuse(*_):
        raise KeyboardInterrupt

    with progress.listening(refuse), pytest.raises(KeyboardInterrupt):
        lowd.evaluate(X, Y)


def test_a_model_evaluates_its_own_embedding():
    model = lowd.PCA(2).fit(X)
    found = model.evaluate(X, np.arange(90) % 3)
    assert values(found) == values(lowd.evaluate(X, model.transform(X), labels=np.arange(90) % 3))
    assert found.model["explained_variance_ratio"] == model.explained_variance_ratio_.sum()
    assert values(lowd.evaluate(X, model)) == values(model.evaluate(X))
    with pytest.raises(ParameterError, match="metric='cosine' would be ignored"):
        lowd.evaluate(X, model, metric="cosine")
    new = rng.normal(size=(50, 5))
    assert model.evaluate(new).n_samples == 50


def test_models_use_their_own_metric():
    D = cdist(X, X)
    model = lowd.ClassicalMDS(2, metric="precomputed").fit(D)
    plain = lowd.evaluate(X, model.embedding_)
    assert values(model.evaluate(D), DRAWN) == pytest.approx(values(plain, DRAWN))
    model = lowd.MDS(2, metric="manhattan", n_init=1, max_iter=20, random_state=0)
    found = model.fit(X).evaluate(X)
    assert found.metric == "manhattan"
    assert found.model["stress"] == model.stress_
    K = X @ X.T
    kernel = lowd.KernelPCA(2, kernel="precomputed").fit(K)
    plain = lowd.evaluate(X, kernel.transform(K))
    assert values(kernel.evaluate(K), DRAWN) == pytest.approx(values(plain, DRAWN), abs=1e-9)


def test_the_error_of_the_map_is_that_of_rows_it_may_not_remember():
    roll = rng.random((150, 3)) * [10, 3, 0.1]
    isomap = lowd.Isomap(2, n_neighbors=8).fit(roll).evaluate(roll)
    assert isomap.model["residual_variance"] < 0.1
    tsne = lowd.TSNE(2, perplexity=10, max_iter=260, random_state=0).fit(roll)
    found = tsne.evaluate(roll)
    assert found.model["kl_divergence"] == tsne.kl_divergence_
    assert 1e-6 < found.model["self_map_error"] < 0.5
    # Next to the training rows, but none of them, and without their coordinates.
    with extension.alone():
        near = tsne.transform(roll + 1e-7)
    spread = np.sqrt(((tsne.embedding_ - tsne.embedding_.mean(0)) ** 2).sum(1).mean())
    expected = np.sqrt(((near - tsne.embedding_) ** 2).sum(1).mean()) / spread
    assert found.model["self_map_error"] == pytest.approx(expected, rel=0.2)
    assert lowd.ClassicalMDS(3).fit(roll).evaluate(roll).model["self_map_error"] < 1e-5
    assert "self_map_error" not in tsne.evaluate(rng.random((60, 3))).model  # other rows


def test_affinities_are_refused():
    W = np.exp(-cdist(X, X) / 9)
    model = lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(W)
    with pytest.raises(UnsupportedError, match="no distances"):
        model.evaluate(W)


def test_unfitted_models_are_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        lowd.PCA(2).evaluate(X)


def test_one_measure_alone():
    assert (
        trustworthiness(X, Y, n_neighbors=7) == lowd.evaluate(X, Y, n_neighbors=7).trustworthiness
    )
    assert trustworthiness(X, Y, n_neighbors=7, anchors=30).interval is not None
