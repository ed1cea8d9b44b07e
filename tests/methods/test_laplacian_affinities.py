"""Laplacian eigenmaps of given affinities, by matrix, callable and scikit-learn's names."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.manifold import SpectralEmbedding
from sklearn.metrics.pairwise import rbf_kernel

import lowd
from case_data import rows_like
from cases import close, same_bits
from lowd.errors import DataError, DisconnectedGraphWarning, ParameterError
from lowd.methods.affinity_graph import components_within
from lowd.spaces import rank_by_size
from manifolds import roll

# Of few rows, an axis is easily about a few; where that is the subject it is asked for.
pytestmark = pytest.mark.filterwarnings("ignore::lowd.errors.LocalizedAxisWarning")

TRIANGLES = np.zeros((6, 6))
for i, j in ((0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)):
    TRIANGLES[i, j] = TRIANGLES[j, i] = 1


def of_weights(W, k=2, **params):
    return lowd.LaplacianEigenmaps(k, affinity="precomputed", scale="unit", **params).fit(W)


def test_sparse_and_dense_affinities_are_one():
    X = roll(300)[0]
    W = lowd.LaplacianEigenmaps(2).fit(X).affinity_
    dense = lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(W.toarray())
    sparse = lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(W)
    close(sparse.embedding_, dense.embedding_)
    close(sparse.transform(csr_array(W[:7])), dense.embedding_[:7])
    close(dense.transform(W[:7].toarray()), dense.embedding_[:7])
    with pytest.warns(DisconnectedGraphWarning, match="of each are 0"):  # no affinity at all
        same_bits(sparse.transform(csr_array((1, 300))), np.zeros((1, 2)))
    W = W.copy()
    lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(W)
    W.data[0] = 1  # the caller's matrix can still be written


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_affinities_are_checked(form):
    W = 1 - np.eye(6)
    model = lowd.LaplacianEigenmaps(1, affinity="precomputed")
    lopsided = W.copy()
    lopsided[1, 2] = 3
    with pytest.raises(DataError, match="symmetric"):
        model.fit(form(lopsided))
    negative = W.copy()
    negative[1, 2] = negative[2, 1] = -1
    with pytest.raises(DataError, match=r"row 1, column 2|row 2, column 1"):
        model.fit(form(negative))
    with pytest.raises(DataError, match="square"):
        model.fit(form(W[:4]))
    holes = W.copy()
    holes[3, 4] = holes[4, 3] = np.nan
    with pytest.raises(DataError, match=r"row 3, column 4|row 4, column 3"):
        model.fit(form(holes))
    alone = W.copy()
    alone[:, 5] = alone[5] = 0
    with pytest.raises(DataError, match=r"2 connected components.*row 5"):
        model.fit(form(alone))
    fitted = of_weights(form(TRIANGLES), 1)
    with pytest.raises(DataError, match="row 0, column 1"):
        fitted.transform(form(np.array([[1.0, -1, 0, 0, 0, 0]])))


def test_refusals():
    X = rows_like(30)
    for params, sentence in (
        ({"affinity": "binary", "sigma": 1.0}, "sigma"),
        ({"affinity": "binary", "n_neighbors": None}, "n_neighbors or radius"),
        ({"radius": 1.0, "n_neighbors": 4}, "n_neighbors"),
        ({"affinity": "precomputed", "sigma": 1.0}, "sigma"),
        ({"scale": "commute", "normalization": "symmetric"}, "commute"),
    ):
        given = 1 - np.eye(30) if params.get("affinity") == "precomputed" else X
        with pytest.raises(ParameterError, match=sentence):
            lowd.LaplacianEigenmaps(2, **params).fit(given)


def test_components_that_only_long_edges_connect():
    """Six neighbors leave clusters apart, the kernel does not."""
    D = np.abs(np.subtract.outer(x := np.r_[np.arange(9.0), np.arange(9.0) + 30, 70], x))
    label = rank_by_size(components_within(D, 22.5))
    np.testing.assert_array_equal(label, [0] * 18 + [1])
    np.testing.assert_array_equal(rank_by_size(components_within(D, 40)), 0)
    np.testing.assert_array_equal(rank_by_size(components_within(D, 2)), [0] * 9 + [1] * 9 + [2])


def test_nearest_neighbor_affinities_are_those_of_scikit_learn():
    """Half where only one of two rows has the other; scikit-learn counts the row itself."""
    X, Q = rows_like(80, 3), rows_like(5, 3, seed=1)
    how = {"affinity": "nearest_neighbors"}
    model = lowd.LaplacianEigenmaps(2, n_neighbors=9, **how).fit(X)
    peer = SpectralEmbedding(2, affinity="nearest_neighbors", n_neighbors=10).fit(X)
    expected = peer.affinity_matrix_.toarray()
    np.fill_diagonal(expected, 0)
    np.testing.assert_array_equal(model.affinity_.toarray(), expected)
    for mine, theirs in zip(model.embedding_.T, peer.embedding_.T, strict=True):
        assert abs(np.corrcoef(mine, theirs)[0, 1]) > 1 - 1e-9
    D = cdist(Q, X)
    outward = np.sort(D, axis=1)[:, 8:9] >= D
    W = (outward.astype(float) + (model.neighbor_radii_ >= D)) / 2
    mean = (W @ model.embedding_) / W.sum(1)[:, None] / (1 - model.eigenvalues_[1:])
    np.testing.assert_allclose(model.transform(Q), mean, rtol=1e-9, atol=1e-12)


def test_a_callable_affinity_is_its_matrix():
    X, Q = rows_like(60, 3), rows_like(5, 3, seed=1)
    model = lowd.LaplacianEigenmaps(2, affinity=rbf_kernel).fit(X)
    given = lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(rbf_kernel(X))
    np.testing.assert_allclose(model.embedding_, given.embedding_, atol=1e-12)
    np.testing.assert_allclose(model.transform(Q), given.transform(rbf_kernel(Q, X)), atol=1e-12)
    close(model.transform(Q)[2:3], model.transform(Q[2:3]))
    pairs = lowd.LaplacianEigenmaps(2, affinity=lambda a, b: np.exp(-((a - b) ** 2).sum() / 3))
    np.testing.assert_allclose(pairs.fit(X).transform(Q), model.transform(Q), atol=1e-9)
    with pytest.raises(lowd.errors.DataError, match=r"affinity=.*gave -.* an edge weight is 0"):
        lowd.LaplacianEigenmaps(2, affinity=lambda A, B: -rbf_kernel(A, B)).fit(X)
    with pytest.raises(lowd.errors.ParameterError, match=r"sigma=1.0.*weighs all pairs"):
        lowd.LaplacianEigenmaps(2, affinity=rbf_kernel, sigma=1.0).fit(X)


def test_a_callable_may_take_all_rows_at_once_as_in_scikit_learn():
    X, Q = rows_like(40, 3), rows_like(5, 3, seed=1)

    def weigh(A):
        return rbf_kernel(A, gamma=0.3)

    model = lowd.LaplacianEigenmaps(2, affinity=weigh).fit(X)
    given = lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(weigh(X))
    np.testing.assert_allclose(model.embedding_, given.embedding_, atol=1e-12)
    wanted = given.transform(rbf_kernel(Q, X, gamma=0.3))
    np.testing.assert_allclose(model.transform(Q), wanted, atol=1e-9)
    close(model.transform(Q)[2:3], model.transform(Q[2:3]))
    with pytest.raises(DataError, match=r"affinity=.*lambda.* gave numbers of shape \(40,\)"):
        lowd.LaplacianEigenmaps(2, affinity=lambda A: A.sum(1)).fit(X)


def test_rbf_is_scikit_learns_name_of_the_heat_kernel():
    X = rows_like(60, 3)
    same_bits(
        lowd.LaplacianEigenmaps(2, affinity="rbf").fit(X).embedding_,
        lowd.LaplacianEigenmaps(2).fit(X).embedding_,
    )


@pytest.mark.parametrize("method", ["Isomap", "LaplacianEigenmaps", "LTSA"])
def test_an_infinite_radius_is_stored(method, tmp_path):
    X, Q = rows_like(60, 3), rows_like(5, 3, seed=1)
    model = getattr(lowd, method)(2, radius=np.inf).fit(X)
    lowd.save(model, tmp_path / "model.lowd")
    same_bits(lowd.load(tmp_path / "model.lowd").transform(Q), model.transform(Q))


def test_the_unit_of_affinities_does_not_matter():
    """Nor are axes taken for equal because all eigenvalues are small."""
    W = lowd.LaplacianEigenmaps(2).fit(roll(300)[0]).affinity_
    expected = of_weights(W, normalization="none")
    for unit in (1e-9, 1e9):
        found = of_weights(W * unit, normalization="none")
        close(found.embedding_, expected.embedding_)
        assert found.degenerate_axes_ == expected.degenerate_axes_ == ()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_landmarks_of_given_affinities(form):
    """The same rows are fitted, and the others are mapped by their weights to these."""
    X = roll(200)[0]
    W = rbf_kernel(X, gamma=0.05)
    model = lowd.LaplacianEigenmaps(2, affinity="precomputed", n_landmarks=120).fit(form(W))
    some = model.landmarks_
    assert len(set(some.tolist())) == 120
    part = lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(W[np.ix_(some, some)])
    close(model.embedding_, part.transform(W[:, some]))
    close(model.transform(form(W[:9])), model.embedding_[:9])
