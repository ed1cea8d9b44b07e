"""Laplacian eigenmaps, against dense eigenvectors, scikit-learn and random walks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
from scipy.sparse import csr_array, issparse
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from sklearn.manifold import SpectralEmbedding
from sklearn.metrics.pairwise import rbf_kernel

import lowd
from cases import close, rows_like, same_bits
from lowd.errors import (
    DataError,
    DisconnectedGraphWarning,
    LocalizedAxisWarning,
    ParameterError,
    RankWarning,
)
from lowd.graph.components import rank_by_size
from lowd.relations.affinity_graph import label_components_within
from manifolds import lattice, roll, roll_with_hole

# Of few rows, an axis is easily about a few; where that is the subject it is asked for.
pytestmark = pytest.mark.filterwarnings("ignore::lowd.errors.LocalizedAxisWarning")
isolated = pytest.mark.filterwarnings("ignore::lowd.errors.DisconnectedGraphWarning")

PATH = np.array([[0.0, 0, 1], [0, 0, 1], [1, 1, 0]])  # 1 - 3 - 2
TRIANGLES = np.zeros((6, 6))
for i, j in ((0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)):
    TRIANGLES[i, j] = TRIANGLES[j, i] = 1
NORMALIZATIONS = ("random_walk", "symmetric", "none")


def of_weights(W, k=2, **params):
    return lowd.LaplacianEigenmaps(k, affinity="precomputed", scale="unit", **params).fit(W)


def laplacian(W):
    return np.diag(W.sum(1)) - W


def up_to_sign(actual, expected, tolerance=1e-9):
    flips = np.sign((actual * expected).sum(0))
    np.testing.assert_allclose(actual * flips, expected, rtol=0, atol=tolerance)


# -- numbers -----------------------------------------------------------------------------------


def test_path():
    """A path of three nodes, by hand."""
    plain = of_weights(PATH, normalization="none")
    close(plain.eigenvalues_, [0, 1, 3])
    up_to_sign(plain.embedding_[:, :1], np.array([[1], [-1], [0]]) / np.sqrt(2))
    up_to_sign(plain.embedding_[:, 1:], np.array([[-1], [-1], [2]]) / np.sqrt(6))
    close(of_weights(PATH).eigenvalues_, [0, 1, 2])
    close(plain.degrees_, [1, 1, 2])
    assert plain.fiedler_value_ == pytest.approx(1)
    v = np.array([1.0, 2, 4])
    assert v @ laplacian(PATH) @ v == pytest.approx(13)
    times = of_weights(PATH, normalization="none").set_params(scale="commute").fit(PATH)
    close(cdist(times.embedding_, times.embedding_) ** 2, [[0, 8, 4], [8, 0, 4], [4, 4, 0]])


def test_two_triangles():
    """Two triangles joined by an edge, by hand."""
    plain = of_weights(TRIANGLES, 5, normalization="none")
    root = np.sqrt(17)
    close(plain.eigenvalues_, [0, (5 - root) / 2, 3, 3, 3, (5 + root) / 2])
    assert plain.fiedler_value_ == pytest.approx(0.438447, abs=1e-6)
    half = np.array([0.464705, 0.464705, 0.260956])
    up_to_sign(plain.embedding_[:, :1], np.r_[half, -half[::-1]][:, None], 1e-6)
    same_bits(plain.fiedler_vector_, plain.embedding_[:, 0])
    walk = of_weights(TRIANGLES, 1)
    assert walk.fiedler_value_ == pytest.approx(0.204666, abs=1e-6)
    half = np.array([0.314762, 0.314762, 0.185920])
    up_to_sign(walk.embedding_, np.r_[half, -half[::-1]][:, None], 1e-6)
    new = np.array([[1.0, 1, 0, 0, 0, 0]])
    for model, coordinate in (
        (of_weights(TRIANGLES, 1, normalization="none"), 0.595183),
        (walk, 0.395761),
        (of_weights(TRIANGLES, 1, normalization="none", map="harmonic"), 0.464705),
        (of_weights(TRIANGLES, 1, map="harmonic"), 0.314762),
    ):
        side = np.sign(model.embedding_[0, 0])
        assert side * model.transform(new)[0, 0] == pytest.approx(coordinate, abs=1e-6)


@pytest.mark.parametrize("normalization", ["random_walk", "none"])
def test_commute_times(normalization):
    """All axes, and hitting times of the walk by brute force."""
    model = of_weights(TRIANGLES, 5, normalization=normalization)
    model.set_params(scale="commute").fit(TRIANGLES)
    C = cdist(model.embedding_, model.embedding_) ** 2
    assert C[0, 1] == pytest.approx(9.333333, abs=1e-6)
    assert C[2, 3] == pytest.approx(14)
    assert C[0, 5] == pytest.approx(32.666667, abs=1e-6)
    P = TRIANGLES / TRIANGLES.sum(1, keepdims=True)
    hitting = np.zeros((6, 6))
    for j in range(6):
        others = np.arange(6) != j
        hitting[others, j] = np.linalg.solve(np.eye(5) - P[np.ix_(others, others)], np.ones(5))
    close(C, hitting + hitting.T)
    pseudo = np.linalg.pinv(laplacian(TRIANGLES))
    d = np.diag(pseudo)
    close(C, TRIANGLES.sum() * (d[:, None] + d - 2 * pseudo))


def test_kernel_pca_of_the_pseudo_inverse():
    """Kernel PCA of the pseudo-inverse of L has the same axes, scaled."""
    X = rows_like(40)
    model = lowd.LaplacianEigenmaps(3, normalization="none", scale="unit", n_neighbors=8).fit(X)
    L = laplacian(model.affinity_.toarray())
    kernel = lowd.KernelPCA(3, kernel="precomputed").fit(np.linalg.pinv(L))
    close(kernel.eigenvalues_, 1 / model.eigenvalues_[1:])
    up_to_sign(model.embedding_ / np.sqrt(model.eigenvalues_[1:]), kernel.embedding_)


# -- definitions -------------------------------------------------------------------------------


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("graph", [{"n_neighbors": 6}, {"radius": 2.2}, {"n_neighbors": None}])
@pytest.mark.parametrize("self_loops", [False, True])
def test_dense_eigenvectors(graph, normalization, self_loops):
    """The graph by definition, its generalized eigenvectors by LAPACK."""
    X = rows_like(50, 4)
    params = {"normalization": normalization, "self_loops": self_loops, "scale": "unit", **graph}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        model = lowd.LaplacianEigenmaps(3, **params).fit(X)
    D = cdist(X, X)
    far = np.sort(D, 1)
    if graph.get("radius"):
        joined = D <= 2.2
        sigma = np.median([D[i, joined[i]].max() for i in range(50) if joined[i].sum() > 1])
    elif graph["n_neighbors"]:
        joined = (far[:, 6, None] >= D) | (far[:, 6] >= D)
        sigma = np.median(far[:, 6])
        close(model.neighbor_radii_, far[:, 6])
    else:
        joined = np.ones((50, 50), bool)
        sigma = np.median(far[:, 3])
    assert model.sigma_ == pytest.approx(sigma)
    W = np.where(joined, np.exp(-(D**2) / (2 * sigma**2)), 0)
    if model.n_graph_components_ > 1:
        assert graph.get("radius")
        longest = max(W[W > 0].min(), np.exp(-4.5))
        for a, b in model.bridges_:
            W[a, b] = W[b, a] = longest
    np.fill_diagonal(W, float(self_loops))
    if issparse(getattr(model, "affinity_", None)):
        close(model.affinity_.toarray(), W)
    degrees = W.sum(1)
    close(model.degrees_, degrees)
    B = np.eye(50) if normalization == "none" else np.diag(degrees)
    values, U = scipy.linalg.eigh(laplacian(W), B)
    close(model.eigenvalues_, np.maximum(values[:4], 0))
    expected = U[:, 1:4]
    if normalization == "symmetric":
        expected = np.sqrt(degrees)[:, None] * expected
    up_to_sign(model.embedding_, expected, 1e-7)
    close(model.transform(X), model.embedding_)


@pytest.mark.parametrize("weights", ["heat", "binary"])
def test_scikit_learn_on_the_same_graph(weights):
    X = rows_like(300, 5)
    model = lowd.LaplacianEigenmaps(3, affinity=weights, scale="unit").fit(X)
    W = model.affinity_.toarray()
    theirs = SpectralEmbedding(3, affinity="precomputed", eigen_tol=1e-10).fit_transform(W)
    up_to_sign(model.embedding_, theirs, 1e-6)
    assert lowd.SpectralEmbedding is lowd.LaplacianEigenmaps


def test_scales():
    """Standard deviation 1 whatever n is; the others as defined."""
    for n in (200, 800):
        X = roll(n, seed=n)[0]
        model = lowd.LaplacianEigenmaps(2).fit(X)
        close(model.embedding_.std(0), np.ones(2))
        unit = lowd.LaplacianEigenmaps(2, scale="unit").fit(X)
        u = unit.embedding_
        close((u * unit.degrees_[:, None]).T @ u, np.eye(2))
        assert np.abs(unit.degrees_ @ u).max() < 1e-9  # orthogonal to the constant
        commute = lowd.LaplacianEigenmaps(2, scale="commute").fit(X)
        volume = unit.affinity_.sum()
        close(commute.embedding_, u * np.sqrt(volume / unit.eigenvalues_[1:]))


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_the_map_is_the_eigenvector_equation(normalization):
    """Without being recognized, a training row is where its own row of the graph puts it."""
    X = roll(400)[0]
    model = lowd.LaplacianEigenmaps(2, normalization=normalization, n_neighbors=8).fit(X)
    exact = model.map_.relation.toward(X, _ops())
    blind = exact._replace(nearest=None, weights=_without_zero_distance(exact.weights))

    class Blind:
        def toward(self, Q, ops):  # noqa: ARG002
            return blind

    import dataclasses

    bare = dataclasses.replace(model.map_, relation=Blind())
    close(bare(X, _ops()), model.embedding_)


def _ops():
    from lowd.backends import resolve

    return resolve("reference", 1)


def _without_zero_distance(W):
    W = W.tolil()
    W.setdiag(0)
    return csr_array(W)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("rule", ["nystroem", "harmonic"])
def test_the_extension_nearly_meets_training_rows(normalization, rule):
    X = roll(600)[0]
    model = lowd.LaplacianEigenmaps(2, normalization=normalization, map=rule).fit(X)
    moved = model.map_(X + 1e-6, _ops(), remember=False)
    # The row it was moved off is one more neighbor, which "symmetric" feels through the degree.
    bound = 0.08 if normalization == "symmetric" else 0.04
    assert np.abs(moved - model.embedding_).max() < bound * np.abs(model.embedding_).max()


# -- pictures ----------------------------------------------------------------------------------


def test_the_fiedler_vector_separates_two_clusters(rng):
    """The first axis parts two clusters by its sign."""
    X = rng.normal(size=(80, 3)) + np.repeat([[0.0, 0, 0], [7, 0, 0]], 40, axis=0)
    model = lowd.LaplacianEigenmaps(1, n_neighbors=None, sigma=1.5).fit(X)
    side = model.embedding_[:, 0] > 0
    assert set(side[:40]) != set(side[40:])
    assert len(set(side[:40])) == len(set(side[40:])) == 1
    assert model.fiedler_value_ < 0.05
    new = 0.5 * rng.normal(size=(40, 3)) + np.repeat([[0.0, 0, 0], [7, 0, 0]], 20, axis=0)
    positive = model.transform(new)[:, 0] > 0
    assert (positive == np.repeat([side[0], side[-1]], 20)).all()


@pytest.mark.parametrize("make", [roll, roll_with_hole])
def test_a_roll_is_followed(make):
    """The first axis is a function of the length along the roll, for held-out rows too."""
    X, t = make(1500)
    Q, s = make(300, seed=7)
    model = lowd.LaplacianEigenmaps(2).fit(X)
    assert abs(_spearman(model.embedding_[:, 0], t[:, 0])) > 0.995
    assert abs(_spearman(model.transform(Q)[:, 0], s[:, 0])) > 0.995


def _spearman(a, b):
    return np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1]


def test_two_far_rolls():
    """Joined with a warning that says sizes, or refused; and each still has its shape."""
    X = np.r_[roll(300)[0], roll(200, seed=3)[0] + 500]
    model = lowd.LaplacianEigenmaps(3)
    with pytest.warns(DisconnectedGraphWarning, match="300, 200"):
        Y = model.fit_transform(X)
    assert Y.shape == (500, 3)
    assert model.n_graph_components_ == 2
    assert np.bincount(model.graph_components_).tolist() == [300, 200]
    (a, b), weights = model.bridges_[0], model.affinity_.copy()
    strength = weights[a, b]
    weights[a, b] = weights[b, a] = 1  # all others are ordinary
    assert weights[b, a] == 1
    assert strength == pytest.approx(max(weights.data.min(), np.exp(-4.5)))
    for rows in (slice(0, 300), slice(300, 500)):
        assert (Y[rows].std(0) > 1e-4).all()
    close(model.transform(X), Y)  # the ends of the bridge included
    with pytest.raises(DataError, match=r"2 connected components.*300, 200"):
        lowd.LaplacianEigenmaps(3, on_disconnected="error").fit(X)


def test_a_kernel_without_neighbors():
    X = np.r_[rows_like(30), rows_like(20, seed=4) + 300]
    model = lowd.LaplacianEigenmaps(2, n_neighbors=None)
    with pytest.warns(DisconnectedGraphWarning, match="sigma"):
        Y = model.fit_transform(X)
    assert model.n_graph_components_ == 2
    close(model.transform(X), Y)
    with pytest.raises(DataError, match="raise sigma"):
        lowd.LaplacianEigenmaps(2, n_neighbors=None, on_disconnected="error").fit(X)


def test_duplicates_count_and_coincide():
    """Every row twelve times, in any order, is the embedding of the distinct rows."""
    X = roll(200)[0]
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(200), 12))
    once = lowd.LaplacianEigenmaps(2).fit(X)
    model = lowd.LaplacianEigenmaps(2).fit(X[rows])
    assert model.n_distinct_ == 200
    close(model.embedding_, once.embedding_[rows])
    Y = {}
    for row, y in zip(rows, model.embedding_, strict=True):
        same_bits(Y.setdefault(row, y), y)
    Q = roll(50, seed=9)[0]
    close(model.transform(Q), once.transform(Q))


@pytest.mark.parametrize("normalization", ["random_walk", "none"])
def test_multiplicities_weigh(normalization):
    """Some rows several times: the problem with masses, solved densely, row by row."""
    X = rows_like(40)
    rows = np.repeat(np.arange(40), np.arange(40) % 3 + 1)
    params = {"normalization": normalization, "scale": "unit", "n_neighbors": 6, "sigma": 1.5}
    model = lowd.LaplacianEigenmaps(3, **params).fit(X[rows])
    w = lowd.LaplacianEigenmaps(3, **params).fit(X).affinity_.toarray()
    W = w[np.ix_(rows, rows)]
    B = np.eye(len(W)) if normalization == "none" else np.diag(W.sum(1))
    values, U = scipy.linalg.eigh(laplacian(W), B)
    same = [j for j in range(1, len(W)) if np.ptp(U[rows == 2, j]) < 1e-8]
    same = [j for j in same if all(np.ptp(U[rows == r, j]) < 1e-8 for r in range(40))][:3]
    close(model.eigenvalues_[1:], values[same])
    up_to_sign(model.embedding_, U[:, same], 1e-7)


def test_order_of_rows_on_a_lattice():
    """Ties are all neighbors, so permuting rows permutes the embedding."""
    X = lattice(12, 7)[3:]  # without symmetry, which would leave signs open
    order = np.random.default_rng(1).permutation(len(X))
    for k in (3, 5, 8):
        one = lowd.LaplacianEigenmaps(2, n_neighbors=k).fit(X)
        two = lowd.LaplacianEigenmaps(2, n_neighbors=k).fit(X[order])
        close(two.embedding_, one.embedding_[order])
        assert not one.affinity_.diagonal().any()  # itself is at distance 0, but no neighbor
        Q = lattice(11, 6) + 0.5
        close(two.transform(Q), one.transform(Q))


def test_three_rows_that_hang_by_a_thread():
    """The warning names the axis and the rows; without them there is none."""
    X = roll(400)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        W = lowd.LaplacianEigenmaps(2).fit(X).affinity_.toarray()
    hanging = np.zeros((403, 403))
    hanging[:400, :400] = W
    hanging[400:, 400:] = 1 - np.eye(3)
    hanging[10, 400] = hanging[400, 10] = 1e-4
    with pytest.warns(LocalizedAxisWarning, match=r"axis 0 .*400, 401, 402"):
        lowd.LaplacianEigenmaps(2, affinity="precomputed").fit(hanging)


@isolated
def test_constant_data():
    X = np.full((30, 4), 3.0)
    for params in ({}, {"n_neighbors": None}, {"radius": 1.0}):
        with pytest.warns(RankWarning, match="1 distinct"):
            model = lowd.LaplacianEigenmaps(2, **params).fit(X)
        assert not model.embedding_.any()
        assert not model.transform(rows_like(5, 4)).any()


def test_few_rows():
    X = rows_like(6, 3)
    with pytest.raises(ParameterError, match="use n_neighbors=5 or less"):
        lowd.LaplacianEigenmaps(2, n_neighbors=6).fit(X)
    model = lowd.LaplacianEigenmaps(5, n_neighbors=5).fit(X)
    assert np.isfinite(model.embedding_).all()
    with pytest.raises(ParameterError, match="exceeds 5"):
        lowd.LaplacianEigenmaps(6, n_neighbors=5).fit(X)
    with pytest.raises(ParameterError, match=r"only 3 of the 12 rows.*n_neighbors=2"):
        lowd.LaplacianEigenmaps(1, n_neighbors=3).fit(np.repeat(X[:3], 4, axis=0))
    with pytest.warns(RankWarning, match="3 distinct rows have 2 axes"):
        Y = lowd.LaplacianEigenmaps(3, n_neighbors=2).fit_transform(np.repeat(X[:3], 4, axis=0))
    assert Y[:, :2].any(0).all()
    assert not Y[:, 2].any()


@isolated
def test_far_rows_are_finite():
    X = roll(300)[0]
    far = X[:5] * np.array([1e2, 1e5, 1e20, 1e60, 1e130])[:, None]
    for normalization in NORMALIZATIONS:
        for params in ({}, {"radius": 6.0}, {"n_neighbors": None}, {"affinity": "binary"}):
            model = lowd.LaplacianEigenmaps(2, normalization=normalization, **params).fit(X)
            Y = model.transform(far)
            assert np.isfinite(Y).all()


@pytest.mark.parametrize("offset", [0, 1000])
def test_many_rows_in_float32(offset):
    """Beyond 1,000 rows float32 stays float32: the graph and the embedding are those of float64."""
    X, Q = (roll(n, seed=n)[0].astype(np.float32) + np.float32(offset) for n in (1500, 200))
    model = lowd.LaplacianEigenmaps(2).fit(X)
    wide = lowd.LaplacianEigenmaps(2).fit(X.astype(np.float64))
    assert model.embedding_.dtype == np.float32
    assert abs(model.affinity_ - wide.affinity_).max() < 1e-6
    close(model.embedding_, wide.embedding_, np.float32)
    same_bits(model.transform(X), model.embedding_)
    close(model.transform(Q), wide.transform(Q.astype(np.float64)), np.float32, 10)


def test_a_far_row_belongs_to_its_nearest():
    """Weights that underflow are compared with each other, not with 0."""
    X = roll(300)[0]
    model = lowd.LaplacianEigenmaps(2).fit(X)
    q = X[:1] + np.array([[0.0, 0.0, 1e5]])
    nearest = np.argmin(cdist(q, X))
    expected = model.embedding_[nearest] / (1 - model.eigenvalues_[1:])
    np.testing.assert_allclose(model.transform(q)[0], expected, rtol=1e-3)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_the_largest_entry_is_positive(normalization):
    for seed in range(4):
        Y = lowd.LaplacianEigenmaps(4, normalization=normalization).fit_transform(
            rows_like(80, seed=seed)
        )
        assert (Y[np.abs(Y).argmax(0), np.arange(4)] > 0).all()


def test_a_row_without_neighbors_goes_to_the_nearest():
    X = roll(300)[0]
    model = lowd.LaplacianEigenmaps(2, radius=6.0).fit(X)
    q = np.array([[0.0, 500.0, 0.0]])
    nearest = np.argmin(cdist(q, X))
    with pytest.warns(DisconnectedGraphWarning, match="1 of the new rows"):
        same_bits(model.transform(q)[0], model.embedding_[nearest])


def test_landmarks():
    """All rows as landmarks are no landmarks; some give nearly the same map."""
    X, t = roll(1000)
    exact = lowd.LaplacianEigenmaps(2).fit(X)
    everyone = lowd.LaplacianEigenmaps(2, n_landmarks=1000).fit(X)
    # In another order of the rows, so equal up to the angle that the eigensolver leaves.
    np.testing.assert_allclose(everyone.embedding_, exact.embedding_, atol=1e-5)
    model = lowd.LaplacianEigenmaps(2, n_landmarks=700).fit(X)
    assert len(model.landmarks_) == 700
    assert model.embedding_.shape == (1000, 2)
    close(model.transform(X), model.embedding_)
    assert abs(_spearman(model.embedding_[:, 0], t[:, 0])) > 0.98
    assert procrustes(exact.embedding_, model.embedding_)[2] < 0.05


# -- given affinities --------------------------------------------------------------------------


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
    label = rank_by_size(label_components_within(D, 22.5))
    np.testing.assert_array_equal(label, [0] * 18 + [1])
    np.testing.assert_array_equal(rank_by_size(label_components_within(D, 40)), 0)
    np.testing.assert_array_equal(
        rank_by_size(label_components_within(D, 2)), [0] * 9 + [1] * 9 + [2]
    )


def test_nearest_neighbor_affinities_are_those_of_scikit_learn(backend):
    """Half where only one of two rows has the other; scikit-learn counts the row itself."""
    X, Q = rows_like(80, 3), rows_like(5, 3, seed=1)
    how = {"affinity": "nearest_neighbors", "backend": backend}
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


def test_a_callable_affinity_is_its_matrix(backend):
    X, Q = rows_like(60, 3), rows_like(5, 3, seed=1)
    model = lowd.LaplacianEigenmaps(2, affinity=rbf_kernel, backend=backend).fit(X)
    given = lowd.LaplacianEigenmaps(2, affinity="precomputed", backend=backend).fit(rbf_kernel(X))
    np.testing.assert_allclose(model.embedding_, given.embedding_, atol=1e-12)
    np.testing.assert_allclose(model.transform(Q), given.transform(rbf_kernel(Q, X)), atol=1e-12)
    close(model.transform(Q)[2:3], model.transform(Q[2:3]))
    pairs = lowd.LaplacianEigenmaps(2, affinity=lambda a, b: np.exp(-((a - b) ** 2).sum() / 3))
    np.testing.assert_allclose(pairs.fit(X).transform(Q), model.transform(Q), atol=1e-9)
    with pytest.raises(lowd.errors.DataError, match=r"affinity=.*gave -.* an edge weight is 0"):
        lowd.LaplacianEigenmaps(2, affinity=lambda A, B: -rbf_kernel(A, B)).fit(X)
    with pytest.raises(lowd.errors.ParameterError, match=r"sigma=1.0.*weighs all pairs"):
        lowd.LaplacianEigenmaps(2, affinity=rbf_kernel, sigma=1.0).fit(X)


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
