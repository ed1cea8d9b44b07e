"""Laplacian eigenmaps, against dense eigenvectors, scikit-learn and random walks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist
from sklearn.manifold import SpectralEmbedding

import lowd
from case_data import rows_like
from cases import close, same_bits
from lowd.errors import DisconnectedGraphWarning
from lowd.methods.spectral import _kernel_weights, extend
from lowd.spaces.extension import alone
from manifolds import roll

# Of few rows, an axis is easily about a few; where that is the subject it is asked for.
pytestmark = pytest.mark.filterwarnings("ignore::lowd.errors.LocalizedAxisWarning")

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


@pytest.mark.parametrize(
    ("graph", "normalization", "self_loops"),
    [
        *(({"n_neighbors": 6}, normalization, False) for normalization in NORMALIZATIONS),
        *(({"radius": 2.2}, normalization, True) for normalization in NORMALIZATIONS),
        ({"n_neighbors": None}, "random_walk", False),
        ({"n_neighbors": None}, "symmetric", True),
    ],
)
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
    exact = _kernel_weights(model, model.sigma_, False)(X)
    W = exact.W.tolil()
    W.setdiag(0)
    blind = exact._replace(near=None, W=csr_array(W))
    placed, degrees = extend(model, X, lambda Q: blind, normalization, False)  # noqa: ARG005
    close(placed, model.embedding_)
    close(degrees, model.degrees_)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("rule", ["nystroem", "harmonic"])
def test_the_extension_nearly_meets_training_rows(normalization, rule):
    X = roll(600)[0]
    model = lowd.LaplacianEigenmaps(2, normalization=normalization, map=rule).fit(X)
    with alone():
        moved = model.transform(X + 1e-6)
    # The row it was moved off is one more neighbor, which "symmetric" feels through the degree.
    bound = 0.08 if normalization == "symmetric" else 0.04
    assert np.abs(moved - model.embedding_).max() < bound * np.abs(model.embedding_).max()
