"""The order of the rows: what is given beside them is permuted along, and results come back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

import lowd
from cases import close, same_bits
from lowd.errors import DataError

X = load_digits().data[:150]
ORDER = np.random.default_rng(5).permutation(len(X))
SHUFFLED = X[ORDER]
FEW = {"perplexity": 10, "max_iter": 120}


def both(model, first=X, second=SHUFFLED, **given):
    """Embeddings of rows and permuted rows; what is given is a pair of the same."""
    parts = [{name: pair[i] for name, pair in given.items()} for i in (0, 1)]
    params = model.get_params(deep=False)
    return [
        type(model)(**params).fit(rows, **part)
        for rows, part in zip((first, second), parts, strict=True)
    ]


def test_the_order_of_the_rows_does_not_change_tsne():
    """Rounding tears clusters apart differently: with disparities up to 0.6 before."""
    a, b = both(lowd.TSNE(perplexity=10))
    same_bits(b.embedding_, a.embedding_[ORDER])
    assert b.kl_divergence_ == a.kl_divergence_


def test_duplicates_and_sparse_rows():
    rows = np.vstack([X, X[:40]])
    order = np.random.default_rng(6).permutation(len(rows))
    for make in (np.asarray, csr_array):
        a, b = both(lowd.TSNE(**FEW), make(rows), make(rows[order]))
        same_bits(b.embedding_, a.embedding_[order])
        same_bits(b.transform(make(X[:5] + 1.0)), a.transform(make(X[:5] + 1.0)))


@pytest.mark.parametrize("model", [lowd.TSNE(init="random", **FEW), lowd.MDS(init="random")])
def test_random_starts_belong_to_rows(model):
    a, b = both(model)
    same_bits(b.embedding_, a.embedding_[ORDER])


@pytest.mark.parametrize("method", ["TSNE", "MDS"])
def test_given_starts_are_permuted_along(method):
    start = np.random.default_rng(7).normal(size=(len(X), 2))
    params = FEW if method == "TSNE" else {}
    a = getattr(lowd, method)(init=start, **params).fit(X)
    b = getattr(lowd, method)(init=start[ORDER], **params).fit(SHUFFLED)
    same_bits(b.embedding_, a.embedding_[ORDER])


def test_weights_are_permuted_along():
    W = np.random.default_rng(8).random((len(X), len(X)))
    W = W + W.T
    a = lowd.MDS(weights=W).fit(X)
    b = lowd.MDS(weights=W[np.ix_(ORDER, ORDER)]).fit(SHUFFLED)
    same_bits(b.embedding_, a.embedding_[ORDER])


def test_neighbors_and_sparse_graphs_are_permuted_along():
    graph = csr_array(lowd.neighbors(X, 40).graph())
    graphs = graph, csr_array(graph[ORDER][:, ORDER])
    a, b = both(lowd.TSNE(**FEW), neighbors=graphs)
    same_bits(b.embedding_, a.embedding_[ORDER])
    a, b = both(lowd.TSNE(metric="precomputed", **FEW), *graphs)
    same_bits(b.embedding_, a.embedding_[ORDER])


def test_neighbors_of_new_points_are_training_rows_as_given():
    model = lowd.TSNE(**FEW).fit(X)
    Q = X[:9] + np.random.default_rng(9).normal(size=(9, 64))
    D = cdist(Q, X)
    near = np.argsort(D, axis=1, kind="stable")
    lists = near, np.take_along_axis(D, near, 1)
    close(model.transform(Q, neighbors=lists), model.transform(Q))


def test_a_sparse_graph_maps_new_points_by_the_columns_as_given():
    graph = lowd.neighbors(X, 149).graph()
    model = lowd.TSNE(metric="precomputed", **FEW).fit(graph)
    own = model.transform(csr_array(graph))
    close(own, model.embedding_)


def test_learned_arrays_are_in_the_order_of_the_rows():
    a, b = both(lowd.TSNE(**FEW))
    same_bits(b.betas_, a.betas_[ORDER])
    same_bits(b.affinity_.toarray(), a.affinity_.toarray()[np.ix_(ORDER, ORDER)])
    nearest = np.argsort(-a.affinity_.toarray()[0])[:5]
    assert set(nearest) & set(np.argsort(cdist(X[:1], X)[0])[1:6])


def test_a_callback_gets_the_rows_in_their_order():
    seen = []
    model = lowd.TSNE(**FEW).fit(X, callback=lambda *call: seen.append(call[1]))
    same_bits(seen[-1], model.embedding_)


def test_kernel_width_and_regression_do_not_depend_on_the_order_of_many_rows():
    rows = np.random.default_rng(10).normal(size=(2500, 3))
    order = np.random.default_rng(11).permutation(2500)
    model = lowd.KernelPCA(2, kernel="rbf", gamma="median", n_landmarks=50)
    a, b = both(model, rows, rows[order])
    assert a.gamma_ == b.gamma_
    same_bits(b.embedding_, a.embedding_[order])


def test_errors_name_rows_as_given():
    D = cdist(X, X)
    D[12], D[:, 12] = np.nan, np.nan
    D[12, 12] = 0
    with pytest.raises(DataError, match="row 0 and row 12 are not linked"):
        lowd.MDS(metric="precomputed").fit(D)

    def broken(a, b):
        return -1.0 if {a, b} == {"z", "y"} else float(a != b)

    with pytest.raises(DataError, match=r"objects (3 and 0|0 and 3)"):
        lowd.MDS(metric=broken).fit(["z", "a", "b", "y"])


@pytest.mark.parametrize(
    "params",
    [
        {"n_neighbors": 8},
        {"n_neighbors": 8, "map": "regression"},
        {"radius": 32.0},
        {"n_neighbors": 8, "metric": "manhattan"},
    ],
    ids=["nearest", "regression", "radius", "manhattan"],
)
def test_isomap_with_landmarks_does_not_depend_on_the_order_of_the_rows(params):
    rows = load_digits().data[:600] + np.random.default_rng(12).normal(0, 0.1, (600, 64))
    order, new = np.random.default_rng(13).permutation(600), rows[:20] + 0.01
    a, b = both(lowd.Isomap(2, n_landmarks=50, **params), rows, rows[order])
    same_bits(b.embedding_, a.embedding_[order])
    same_bits(b.transform(new), a.transform(new))
    same_bits(b.residual_variance_, a.residual_variance_)


MANY, NEW = (np.random.default_rng(seed).normal(size=(n, 5)) for seed, n in ((14, 1300), (15, 60)))
MANY_ORDER = np.random.default_rng(16).permutation(1300)


def confidences(model, Q):
    return model.transform(Q, return_confidence=True)[1]


@pytest.mark.parametrize(
    "model",
    [lowd.TSNE(max_iter=30), lowd.KernelPCA(2, kernel="rbf", n_landmarks=40)],
    ids=["TSNE", "KernelPCA"],
)
def test_confidence_does_not_depend_on_the_order_of_rows(model):
    a, b = both(model, MANY, MANY[MANY_ORDER])
    close(confidences(b, NEW), confidences(a, NEW))


def test_the_scale_of_confidence_is_that_of_all_rows_of_a_matrix():
    K, K_new = (np.exp(-cdist(part, MANY, "sqeuclidean") / 9) for part in (MANY, NEW))
    model = lowd.KernelPCA(2, kernel="precomputed")
    a, b = both(model, K, K[np.ix_(MANY_ORDER, MANY_ORDER)])
    close(confidences(b, K_new[:, MANY_ORDER]), confidences(a, K_new))


def test_samples_behind_errors_are_drawn_by_content():
    """1000 rows for the residual variance, 200 left out of the inverse and of another fit."""
    a, b = both(lowd.Isomap(2, n_neighbors=8), MANY, MANY[MANY_ORDER])
    close(b.residual_variance_, a.residual_variance_)
    close(b.reconstruction_error_, a.reconstruction_error_, factor=100)
    a.calibrate_confidence(MANY)
    b.calibrate_confidence(MANY[MANY_ORDER])
    close(np.sort(b.left_out_.kept), np.sort(a.left_out_.kept))
