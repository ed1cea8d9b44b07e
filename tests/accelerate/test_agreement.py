"""What lowd serves agrees with scikit-learn; what it does not is scikit-learn's, bit for bit."""

from __future__ import annotations

import contextlib
import pickle
import warnings

import numpy as np
import pytest
import sklearn.decomposition as decomposition
import sklearn.manifold as manifold
import sklearn.neighbors as neighbors
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel

from lowd.accelerate import table
from lowd.accelerate.originals import SKLEARN_VERSION

# scikit-learn 1.8 has ClassicalMDS, by which MDS may begin, and other names of MDS's parameters.
HAS_CLASSICAL_MDS = hasattr(manifold, "ClassicalMDS")
IS_METRIC = "metric_mds" if HAS_CLASSICAL_MDS else "metric"
START = {"init": "random"} if HAS_CLASSICAL_MDS else {}


def _factors(n=150, d=12):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 4)) * [9, 5, 3, 2] @ rng.normal(size=(4, d)) + rng.normal(
        size=(n, d)
    )


ROLL = make_swiss_roll(300, random_state=0)[0]
# scikit-learn counts the row itself, and takes edges of one direction by half.
GRAPH = neighbors.kneighbors_graph(ROLL, 10, include_self=True)
DATA = {
    "factors": _factors(),
    "wide": _factors(40, 90),
    "float32": _factors().astype(np.float32),
    "sparse": csr_matrix(np.where(np.abs(_factors()) > 2, _factors(), 0)),
    "roll": ROLL,
    "noisy roll": np.hstack([ROLL, np.random.default_rng(0).normal(size=(300, 15))]),
    "distances": pairwise_distances(ROLL),
    "kernel": rbf_kernel(_factors(), gamma=1e-3),
    "graph": 0.5 * (GRAPH + GRAPH.T),
}

#: Class, parameters and data that lowd serves with the answer of scikit-learn.
SERVED = [
    *[
        ("PCA", {"n_components": k, "svd_solver": solver, "random_state": 0}, "factors")
        for k, solver in (
            (None, "auto"),
            (3, "auto"),
            (0.9, "full"),
            ("mle", "full"),
            (3, "covariance_eigh"),
            (3, "arpack"),
            (3, "randomized"),
        )
    ],
    ("PCA", {"n_components": 4, "whiten": True}, "factors"),
    ("PCA", {"n_components": 4, "svd_solver": "full"}, "wide"),
    ("PCA", {"n_components": 3}, "float32"),
    ("PCA", {"n_components": 3, "svd_solver": "arpack"}, "sparse"),
    ("IncrementalPCA", {"n_components": 4, "batch_size": 50}, "factors"),
    ("TruncatedSVD", {"n_components": 3, "algorithm": "arpack"}, "factors"),
    ("TruncatedSVD", {"n_components": 3, "random_state": 0}, "sparse"),
    *[
        ("KernelPCA", {"n_components": 3, "gamma": 1e-3, **params}, "factors")
        for params in (
            {"kernel": "linear"},
            {"kernel": "rbf", "eigen_solver": "dense"},
            {"kernel": "poly", "degree": 2, "coef0": 0.5},
            {"kernel": "cosine"},
            {"kernel": "rbf", "fit_inverse_transform": True, "alpha": 0.1},
        )
    ],
    ("KernelPCA", {"n_components": 3, "kernel": "precomputed"}, "kernel"),
    ("KernelPCA", {"n_components": 2, "kernel": "rbf", "gamma": 1e-3}, "sparse"),
    *[
        ("ClassicalMDS", {"n_components": 2, **params}, data)
        for params, data in (
            ({}, "factors"),
            ({"metric": "cityblock"}, "factors"),
            ({"metric": "precomputed"}, "distances"),
        )
        if HAS_CLASSICAL_MDS
    ],
    *[
        ("Isomap", {"n_neighbors": 8, **params}, "roll")
        for params in (
            {},
            {"eigen_solver": "arpack", "path_method": "D", "neighbors_algorithm": "ball_tree"},
            {"p": 1},
            {"metric": "manhattan", "n_components": 3},
            {"metric": "chebyshev"},
            {"n_neighbors": None, "radius": 6.0},
            {"n_jobs": 2},
        )
    ],
    ("Isomap", {"n_neighbors": 8, "metric": "precomputed"}, "distances"),
    ("LocallyLinearEmbedding", {"n_neighbors": 9, "eigen_solver": "dense"}, "roll"),
    ("LocallyLinearEmbedding", {"n_neighbors": 9, "reg": 0.01, "eigen_solver": "dense"}, "roll"),
    *[
        (
            "LocallyLinearEmbedding",
            {"n_neighbors": 12, "method": method, "eigen_solver": "dense", **more},
            data,
        )
        for method in ("ltsa", "hessian", "modified")
        for more, data in (({}, "roll"), ({"n_components": 1}, "noisy roll"))
    ],
    ("SpectralEmbedding", {"n_neighbors": 10}, "roll"),
    ("SpectralEmbedding", {"affinity": "rbf", "gamma": 0.1}, "roll"),
    ("SpectralEmbedding", {"affinity": "precomputed", "n_components": 3}, "graph"),
]
#: What the original does, and why.
LEFT = [
    ("PCA", {"n_components": 0}, "factors", "n_components outside"),
    ("TruncatedSVD", {"random_state": 0}, "integers", "not floats"),
    ("KernelPCA", {"kernel": lambda a, b: float(a @ b)}, "factors", "kernel='callable'"),
    ("Isomap", {"metric": "canberra"}, "factors", "metric='canberra'"),
    ("Isomap", {"metric_params": {"w": [1.0] * 12}}, "factors", "metric_params"),
    ("Isomap", {}, "duplicates", "duplicate rows"),
    (
        "LocallyLinearEmbedding",
        {"n_neighbors": 6, "method": "ltsa", "eigen_solver": "dense"},
        "factors",
        "nobody's neighbor",
    ),
    ("TSNE", {"n_components": 3, "max_iter": 250}, "factors", "n_components > 2"),
    ("TSNE", {"max_iter": 300}, "factors", "max_iter < 500"),
    ("TSNE", {"max_iter": 500, "min_grad_norm": 1e-3}, "factors", "stopping rule"),
    *[
        ("MDS", {"n_init": 1, "random_state": 0, **START, **params}, data, reason)
        for params, data, reason in (
            ({"max_iter": 10}, "factors", "max_iter < 20"),
            ({IS_METRIC: False}, "duplicates", "missing"),
        )
        if SKLEARN_VERSION >= (1, 7)
    ],
    *[
        ("MDS", {"random_state": 0, "n_init": 1}, "factors", "another stopping rule")
        for _ in range(SKLEARN_VERSION < (1, 7))
    ],
]


def _classes(name):
    module = decomposition if hasattr(decomposition, name) else manifold
    proxy = getattr(module, name)
    return proxy, getattr(proxy, "original", proxy)


def _data(name):
    X = DATA["factors"]
    others = {
        "integers": lambda: X.astype(int),
        "duplicates": lambda: np.repeat(X[:40], 2, axis=0),
    }
    return DATA[name] if name in DATA else others[name]()


def _fit_original(cls, params, X):
    """A fit by scikit-learn alone, also of what a class calls."""
    table.unbind()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = cls(**params)
            return model, model.fit_transform(X)
    finally:
        table.bind()


def _name(case):
    shown = {name: value for name, value in case[1].items() if not callable(value)}
    return f"{case[0]}-{case[2]}-{shown}"


@pytest.mark.parametrize("case", SERVED, ids=_name)
def test_served_by_lowd_with_the_answer_of_scikit_learn(case, accelerated):
    name, params, data = case
    proxy, original = _classes(name)
    X = _data(data)
    model = proxy(**params)
    Y = model.fit_transform(X)
    assert accelerated.profile(reset=True).by_original == 0
    plain, expected = _fit_original(original, params, X)
    signs = np.sign((Y * expected).sum(0))  # ARPACK's are not determined
    if name in ("PCA", "TruncatedSVD", "KernelPCA", "IncrementalPCA", "ClassicalMDS"):
        assert (signs == 1).all()
    tolerance = 2e-4 if Y.dtype == np.float32 else 1e-6
    if name == "IncrementalPCA":
        tolerance = 0.05  # scikit-learn's is approximate, lowd's is not
    scale = np.abs(expected).max()
    np.testing.assert_allclose(Y * signs, expected, atol=tolerance * scale)
    if hasattr(original, "transform") and data not in ("distances", "kernel"):
        Q = X[:9] * 1.01
        got, wanted = model.transform(Q), plain.transform(Q)
        np.testing.assert_allclose(got * signs, wanted, atol=tolerance * scale)
    if params.get("fit_inverse_transform"):
        back = plain.inverse_transform(expected)
        np.testing.assert_allclose(model.inverse_transform(Y), back, atol=1e-6 * np.abs(back).max())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", LEFT, ids=_name)
def test_left_to_scikit_learn_with_a_reason(case, accelerated):
    name, params, data, reason = case
    proxy, original = _classes(name)
    X = _data(data)
    Y = proxy(**params).fit_transform(X)
    made = accelerated.profile(reset=True)
    assert made.by_lowd == 0
    assert reason in made.calls[-1].reason
    np.testing.assert_array_equal(Y, _fit_original(original, params, X)[1])


@pytest.mark.parametrize(
    "params",
    [
        {"max_iter": "default"},
        {"init": "random", "learning_rate": 100.0},
        {"method": "exact"},
        {"early_exaggeration": 6.0, "perplexity": 10, "metric": "cosine"},
    ],
    ids=str,
)
def test_tsne_minimizes_as_well(params, accelerated):
    X = load_digits().data[:300]
    params = {"max_iter": 500, "random_state": 0, **params}
    params = {name: value for name, value in params.items() if value != "default"}
    model = manifold.TSNE(**params).fit(X)
    assert accelerated.profile().by_original == 0
    plain = _fit_original(manifold.TSNE.original, params, X)[0]
    # "exact" takes probabilities of all pairs; lowd those of 3 * perplexity neighbors.
    margin = 1.1 if params.get("method") == "exact" else 1.02
    assert model.kl_divergence_ < margin * plain.kl_divergence_
    assert model.embedding_.dtype == plain.embedding_.dtype
    assert model.learning_rate_ == plain.learning_rate_


MDS_STARTS = [START, {"init": "classical_mds"}] if HAS_CLASSICAL_MDS else [START]


@pytest.mark.parametrize("metric", [True, False])
@pytest.mark.parametrize("start", MDS_STARTS if SKLEARN_VERSION >= (1, 7) else [], ids=str)
def test_mds_minimizes_as_well(metric, start, accelerated):
    X = DATA["factors"][:80]
    is_random = start == START
    params = {IS_METRIC: metric, "random_state": 0, "n_init": 1 + (metric and is_random), **start}
    model = manifold.MDS(**params).fit(X)
    assert accelerated.profile(reset=True).by_original == 0
    plain = _fit_original(manifold.MDS, params, X)[0]
    assert model.stress_ < 1.01 * plain.stress_
    assert model.dissimilarity_matrix_.shape == (80, 80)
    if metric and not is_random:
        scale = np.abs(plain.embedding_).max()
        np.testing.assert_allclose(model.embedding_, plain.embedding_, atol=0.05 * scale)


def test_partial_fit_is_exact(accelerated):
    X = DATA["factors"]
    model = decomposition.IncrementalPCA(3)
    for start in range(0, 150, 50):
        model.partial_fit(X[start : start + 50])
    assert accelerated.profile().by_lowd == 3
    whole = decomposition.PCA.original(3, svd_solver="full").fit(X)
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-8)
    np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_)
    np.testing.assert_allclose(model.var_, X.var(0))
    assert model.n_samples_seen_ == 150
    # A batch that lowd leaves alone goes on from the attributes, by scikit-learn.
    model.partial_fit(X[:5])
    assert accelerated.profile().calls[-1].ran == "original" or model.n_samples_seen_ == 155
    assert model.n_samples_seen_ == 155


@pytest.mark.parametrize("params", [{}, {"norm_laplacian": False}, {"drop_first": False}], ids=str)
def test_spectral_embedding(params, accelerated):
    given = {"n_components": 3, "random_state": 0, **params}
    Y = manifold.spectral_embedding(DATA["graph"], **given)
    assert accelerated.profile().by_original == 0
    table.unbind()
    expected = manifold.spectral_embedding(DATA["graph"], **given)
    np.testing.assert_allclose(Y, expected, atol=1e-8)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_trustworthiness(metric, accelerated):
    X = DATA["factors"]
    got = manifold.trustworthiness(X, X[:, :2], n_neighbors=7, metric=metric)
    assert accelerated.profile().by_original == 0
    table.unbind()
    assert got == manifold.trustworthiness(X, X[:, :2], n_neighbors=7, metric=metric)


@pytest.mark.parametrize(
    ("mode", "include_self"), [("connectivity", True), ("distance", True), ("distance", False)]
)
def test_neighbor_graphs(mode, include_self, accelerated):
    X, given = DATA["factors"], {"mode": mode, "include_self": include_self}
    got = neighbors.kneighbors_graph(X, 6, **given)
    step = neighbors.KNeighborsTransformer(n_neighbors=6, mode=mode).fit(X)
    moved = step.transform(X[:20] + 0.1)
    assert accelerated.profile().by_original == 0
    table.unbind()
    for ours, theirs in (
        (got, neighbors.kneighbors_graph(X, 6, **given)),
        (moved, type(step).original.transform(step, X[:20] + 0.1)),
    ):
        np.testing.assert_array_equal(ours.indices, theirs.indices)
        np.testing.assert_allclose(ours.data, theirs.data, atol=1e-9)
        assert type(ours) is type(theirs)


@pytest.mark.parametrize("method", ["standard", "ltsa", "hessian", "modified"])
def test_locally_linear_embedding(method, accelerated):
    given = {"n_neighbors": 12, "n_components": 2, "method": method, "eigen_solver": "dense"}
    Y, error = manifold.locally_linear_embedding(ROLL, **given)
    assert accelerated.profile().by_original == 0
    table.unbind()
    expected, expected_error = manifold.locally_linear_embedding(ROLL, **given)
    np.testing.assert_allclose(np.abs((Y * expected).sum(0)), 1, atol=1e-8)  # of length 1 both
    assert error == pytest.approx(expected_error, rel=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrong", [{"n_neighbors": 5}, {"n_neighbors": 9, "hessian_tol": 0.0}])
def test_hessian_eigenmaps_that_scikit_learn_does_otherwise(wrong, accelerated):
    """Too few neighbors are an error there, and no tolerance divides by rounding errors."""
    with contextlib.suppress(ValueError):
        manifold.LocallyLinearEmbedding(method="hessian", eigen_solver="dense", **wrong).fit(ROLL)
    (call,) = accelerated.profile().calls
    assert (call.ran, "hessian" in call.reason) == ("original", True)


# Before 1.9 the default of n_init is about to change, which scikit-learn warns of.
N_INIT = [{"n_init": 1}] * (SKLEARN_VERSION >= (1, 7)) + [{}] * (SKLEARN_VERSION >= (1, 9))


@pytest.mark.parametrize("how", N_INIT, ids=str)
def test_smacof_returns_what_it_returns(how, accelerated):
    D = DATA["distances"][:60, :60]
    Y, stress, n_iter = manifold.smacof(D, random_state=0, return_n_iter=True, **how)
    assert accelerated.profile().by_original == 0
    assert (Y.shape, n_iter > 1) == ((60, 2), True)
    assert stress == pytest.approx(((pairwise_distances(Y) - D) ** 2).sum() / 2)
    relative = manifold.smacof(D, random_state=0, normalized_stress=True, **how)[1]
    assert relative == pytest.approx(np.sqrt(stress / ((pairwise_distances(Y) ** 2).sum() / 2)))


DIGITS = load_digits(n_class=4).data  # whole numbers, of whose distances many are equal


@pytest.mark.filterwarnings("ignore:.*connected components")
@pytest.mark.parametrize(
    ("cls", "params"),
    [
        (manifold.Isomap, {"n_neighbors": 10}),
        (manifold.LocallyLinearEmbedding, {"n_neighbors": 12, "eigen_solver": "dense"}),
    ],
    ids=str,
)
def test_equal_distances_are_neighbors_as_in_scikit_learn(cls, params, accelerated):
    plain, expected = _fit_original(cls, params, DIGITS)
    model = getattr(manifold, cls.__name__)(**params)
    Y = model.fit_transform(DIGITS)
    scale, signs = np.abs(expected).max(), np.sign((Y * expected).sum(0))
    np.testing.assert_allclose(Y * signs, expected, atol=1e-6 * scale)
    if cls is manifold.Isomap:
        new = DIGITS[:60] + 0.5
        moved = model.transform(new)
        assert accelerated.profile().by_original == 0
        np.testing.assert_allclose(moved * signs, plain.transform(new), atol=1e-6 * scale)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_allclose(again.transform(new), moved, atol=1e-6 * scale)


def test_graphs_of_equal_distances_are_those_of_scikit_learn(accelerated):
    step = neighbors.KNeighborsTransformer(n_neighbors=5).fit(DIGITS)
    flat = np.round(DIGITS[:, [20, 30]])
    found = (
        neighbors.kneighbors_graph(DIGITS, 5),
        step.transform(DIGITS[:50] + 0.5),
        manifold.trustworthiness(DIGITS, flat),
        manifold.trustworthiness(DIGITS + 0.1 * np.sin(DIGITS), flat),
    )
    assert accelerated.profile().by_lowd == 0
    table.unbind()
    expected = (
        neighbors.kneighbors_graph(DIGITS, 5),
        type(step).original.transform(step, DIGITS[:50] + 0.5),
        manifold.trustworthiness(DIGITS, flat),
        manifold.trustworthiness(DIGITS + 0.1 * np.sin(DIGITS), flat),
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert not abs(ours - theirs).sum()


def _of_doubled_rows(random_state):
    """A fit that lowd refuses, but only after it has drawn a start."""
    X = np.vstack([DIGITS[:60], DIGITS[:5]])
    given = {"metric_mds": False, "n_init": 1, "init": "random", "random_state": random_state}
    return manifold.MDS(max_iter=30, **given).fit_transform(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(SKLEARN_VERSION < (1, 8), reason="metric_mds and init are new there")
def test_the_original_draws_what_it_would_have_drawn(accelerated):
    """After a refusal a generator is where it was before."""

    def run():
        generator = np.random.RandomState(0)
        np.random.seed(3)  # noqa: NPY002 - which is what scripts do
        one, other = _of_doubled_rows(generator), _of_doubled_rows(None)
        return one, other, generator.random_sample(), np.random.random_sample()  # noqa: NPY002

    table.unbind()
    expected = run()
    table.bind()
    for ours, theirs in zip(run(), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert [call.reason for call in accelerated.profile().calls] == [
        "0 is a missing dissimilarity there"
    ] * 2
