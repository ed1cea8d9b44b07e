"""Memory: known beforehand, compared with what there is, refused with plans that fit."""

from __future__ import annotations

import ast
import re
import tracemalloc

import numpy as np
import pytest
from lowd.core import memory
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone

import lowd
from case_data import rbf_kernel, rows_like
from cases import fit, fit_transform
from lowd.errors import NotEnoughMemoryError, ParameterError
from lowd.methods import METHODS

RBF = {"kernel": "rbf", "gamma": 0.1}
MANHATTAN = {"metric": "manhattan"}
BACK = {"fit_inverse_transform": True}
# Sizes at which the large arrays dominate.
LARGE = {
    "PCA by covariance": (lowd.PCA(5), 30_000, 120),
    "PCA by products": (lowd.PCA(2), 6_000, 300),
    "PCA by Gram matrix": (lowd.PCA(60), 400, 3_000),
    "PCA by SVD": (lowd.PCA(), 400, 100),
    "PCA, every axis": (lowd.PCA(), 3_000, 300),
    "PCA, scaled": (lowd.PCA(2, scale=True), 6_000, 300),
    "Gaussian": (lowd.GaussianRandomProjection(70), 4_000, 1_000),
    "Sparse": (lowd.SparseRandomProjection(70), 4_000, 1_000),
    "Hadamard": (lowd.HadamardRandomProjection(70), 4_000, 1_000),
    "MDS": (lowd.ClassicalMDS(2), 6_000, 200),
    "MDS manhattan": (lowd.ClassicalMDS(2, **MANHATTAN), 1_500, 30),
    "MDS manhattan, dense": (lowd.ClassicalMDS(2, **MANHATTAN), 900, 30),
    "MDS precomputed": (lowd.ClassicalMDS(2, metric="precomputed"), 1_500, 1_500),
    "MDS lingoes": (lowd.ClassicalMDS(2, **MANHATTAN, correction="lingoes"), 700, 30),
    "MDS cailliez": (lowd.ClassicalMDS(2, **MANHATTAN, correction="cailliez"), 300, 30),
    "MDS landmarks": (lowd.ClassicalMDS(2, **MANHATTAN, n_landmarks=200), 5_000, 30),
    "SMACOF": (lowd.MDS(2), 1_500, 30),
    "SMACOF, dense": (lowd.MDS(2, **MANHATTAN), 900, 30),
    "SMACOF, weighted": (lowd.MDS(2, weights="sammon"), 1_500, 30),
    "SMACOF landmarks": (lowd.MDS(2, n_landmarks=390), 5_000, 30),
    "NonMetricMDS": (lowd.NonMetricMDS(2), 1_200, 30),
    "KernelPCA": (lowd.KernelPCA(2, **RBF), 1_500, 30),
    "KernelPCA, dense": (lowd.KernelPCA(2, **RBF), 900, 30),
    "KernelPCA, every axis": (lowd.KernelPCA(**RBF), 700, 30),
    "KernelPCA linear": (lowd.KernelPCA(2), 5_000, 100),
    "KernelPCA landmarks": (lowd.KernelPCA(2, **RBF, n_landmarks=300), 5_000, 30),
    "KernelPCA landmarks ridge": (lowd.KernelPCA(2, **RBF, n_landmarks=300, **BACK), 2_000, 30),
    "KernelPCA ridge": (lowd.KernelPCA(2, **RBF, **BACK), 1_200, 30),
    "KernelPCA fixed point": (lowd.KernelPCA(2, **RBF, **BACK, preimage="fixed_point"), 700, 30),
    "KernelPCA median": (lowd.KernelPCA(2, kernel="rbf", gamma="median"), 1_500, 30),
    "KernelPCA precomputed": (lowd.KernelPCA(2, kernel="precomputed"), 1_500, 1_500),
    "Eigenmaps": (lowd.LaplacianEigenmaps(2), 5_000, 10),
    "Eigenmaps of all pairs": (lowd.LaplacianEigenmaps(2, n_neighbors=None), 1_500, 10),
    "Eigenmaps landmarks": (lowd.LaplacianEigenmaps(2, n_landmarks=390), 20_000, 10),
    "Diffusion": (lowd.DiffusionMaps(2), 1_500, 10),
    "Diffusion, dense": (lowd.DiffusionMaps(2), 900, 10),
    "Diffusion by neighbors": (lowd.DiffusionMaps(2, n_neighbors=30), 4_000, 10),
    "Isomap": (lowd.Isomap(2, n_neighbors=8), 2_500, 10),
    "Isomap, dense": (lowd.Isomap(2, n_neighbors=8), 900, 10),
    "Isomap radius": (lowd.Isomap(2, radius=2.0), 800, 10),
    "Isomap landmarks": (lowd.Isomap(2, n_neighbors=8, n_landmarks=200), 8_000, 10),
    "Isomap regression": (lowd.Isomap(2, n_neighbors=8, map="regression"), 900, 10),
    "LLE": (lowd.LocallyLinearEmbedding(2, n_neighbors=10), 3_000, 10),
    "LLE, dense": (lowd.LocallyLinearEmbedding(2, n_neighbors=10), 240, 10),
    "LLE landmarks": (lowd.LocallyLinearEmbedding(2, n_landmarks=300), 20_000, 10),
    "ModifiedLLE": (lowd.ModifiedLLE(2), 3_000, 10),
    "HessianLLE": (lowd.HessianLLE(2), 3_000, 10),
    "LTSA": (lowd.LTSA(2), 3_000, 10),
    "TSNE": (lowd.TSNE(max_iter=20), 5_000, 10),
    "SNE": (lowd.SNE(max_iter=10), 2_000, 10),
    "UMAP": (lowd.UMAP(n_epochs=20), 5_000, 10),
    "UMAP in space": (lowd.UMAP(3, n_epochs=20, dens_lambda=2.0), 5_000, 10),
    "UMAP landmarks": (lowd.UMAP(n_epochs=5, n_landmarks=300), 20_000, 10),
}


def _with_types(table, of_float32):
    """Every name in float64, and in float32 one of each kind of array that halves."""
    pairs = [(name, np.float64) for name in table] + [(name, np.float32) for name in of_float32]
    ids = [f"{name}-{np.dtype(dtype)}" for name, dtype in pairs]
    return pytest.mark.parametrize(("name", "dtype"), pairs, ids=ids)


def _input(name, dtype):
    model, n, d = LARGE[name]
    X = rows_like(n, 10 if "precomputed" in name else d)
    if "precomputed" in name:
        X = cdist(X, X) if name.startswith("MDS") else rbf_kernel(X, X)
    return clone(model), np.ascontiguousarray(X, dtype)


@_with_types(
    LARGE,
    (
        *("PCA by covariance", "PCA by SVD", "Gaussian", "Hadamard", "MDS precomputed"),
        *("SMACOF, dense", "NonMetricMDS", "KernelPCA, dense", "Eigenmaps", "Diffusion"),
        *("Isomap, dense", "LLE", "TSNE", "UMAP"),
    ),
)
def test_the_estimate_bounds_what_is_allocated(name, dtype):
    """From above, and not by more than a factor that would refuse honest work."""
    pytest.importorskip("lowd._native", reason="estimates are those of the native backend")
    model, X = _input(name, dtype)
    fit(clone(model), X[:60, :60] if "precomputed" in name else X[:400])  # imports, caches
    tracemalloc.start()
    try:
        fit_transform(model, X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    plan = model.estimate(*X.shape, dtype)
    slack = 2**20
    assert peak <= plan.bytes + slack
    unseen = plan.parts.get("factor", 0)  # SuperLU's own
    assert plan.bytes - unseen <= 6 * peak + slack


COSINE = {"metric": "cosine"}
GIVEN = {"metric": "precomputed"}
# Sparse rows: model, samples, features, entries of a row. Graphs: features are the samples.
SPARSE = {
    "PCA by products, wide": (lowd.PCA(2), 1_200, 2**16, 20),
    "PCA by products, tall": (lowd.PCA(4), 20_000, 500, 20),
    "PCA by products, few entries": (lowd.PCA(2), 20_000, 15_000, 3),
    "PCA by covariance": (lowd.PCA(60), 5_000, 150, 20),
    "PCA by Gram matrix": (lowd.PCA(60), 150, 5_000, 50),
    "PCA, scaled": (lowd.PCA(2, scale=True), 1_200, 2**16, 20),
    "Gaussian": (lowd.GaussianRandomProjection(70), 3_000, 2**14, 20),
    "Sparse": (lowd.SparseRandomProjection(70), 3_000, 2**16, 20),
    "Hadamard": (lowd.HadamardRandomProjection(70), 300, 2**15, 20),
    "MDS": (lowd.ClassicalMDS(2), 1_200, 2**16, 20),
    "MDS cosine": (lowd.ClassicalMDS(2, **COSINE), 1_200, 2**16, 20),
    "MDS landmarks": (lowd.ClassicalMDS(2, **COSINE, n_landmarks=200), 3_000, 2**15, 20),
    "SMACOF": (lowd.MDS(2, max_iter=5), 1_200, 2**16, 20),
    "SMACOF landmarks": (lowd.MDS(2, max_iter=5, n_landmarks=300), 3_000, 2**16, 20),
    "NonMetricMDS": (lowd.NonMetricMDS(2, max_iter=5), 900, 2**16, 20),
    "KernelPCA": (lowd.KernelPCA(2, **RBF), 1_200, 2**16, 20),
    "KernelPCA linear": (lowd.KernelPCA(2), 1_200, 2**16, 20),
    "KernelPCA landmarks": (lowd.KernelPCA(2, **RBF, n_landmarks=200), 3_000, 2**15, 20),
    "KernelPCA ridge": (lowd.KernelPCA(2, **RBF, **BACK), 800, 2_000, 20),
    "Eigenmaps": (lowd.LaplacianEigenmaps(2), 600, 2**16, 20),
    "Eigenmaps landmarks": (lowd.LaplacianEigenmaps(2, n_landmarks=300), 3_000, 2**15, 20),
    "Eigenmaps affinity": (lowd.LaplacianEigenmaps(affinity="precomputed"), 8_000, 8_000, 10),
    "Diffusion": (lowd.DiffusionMaps(2), 1_200, 2**16, 20),
    "Neighbors": (lowd.NeighborsTransformer(), 4_000, 300, 5),
    "Isomap": (lowd.Isomap(2), 700, 2**16, 20),
    "Isomap landmarks": (lowd.Isomap(2, n_landmarks=200), 1_200, 2**15, 20),
    "Isomap graph": (lowd.Isomap(2, **GIVEN, n_neighbors=10), 1_000, 1_000, 10),
    "TSNE": (lowd.TSNE(max_iter=10), 1_500, 2**17, 20),
    "TSNE, many entries": (lowd.TSNE(max_iter=10), 1_200, 300, 60),
    "TSNE graph": (lowd.TSNE(**GIVEN, perplexity=10, max_iter=10), 5_000, 5_000, 40),
    "TSNE affinity": (lowd.TSNE(affinity="precomputed", max_iter=10), 5_000, 5_000, 40),
    "SNE": (lowd.SNE(max_iter=5), 1_200, 2**16, 20),
    "UMAP": (lowd.UMAP(n_epochs=10), 1_500, 2**17, 20),
    "UMAP graph": (lowd.UMAP(**GIVEN, n_epochs=10), 5_000, 5_000, 40),
}


def _documents(n, d, per_row, dtype):
    """Rows of some words each, of which every fiftieth row has its own."""
    rng = np.random.default_rng(0)
    topic = rng.integers(0, n // 50 + 2, n)[:, None] * 97
    words = (topic + rng.zipf(1.4, (n, per_row)) * 2654435761) % d
    counts = csr_array(
        (rng.random(n * per_row) + 0.1, (np.repeat(np.arange(n), per_row), words.ravel())), (n, d)
    )
    return counts.astype(dtype)


def _sparse_input(name, dtype):
    model, n, d, per_row = SPARSE[name]
    if d != n:
        return clone(model), _documents(n, d, per_row, dtype)
    near = lowd.neighbors(rows_like(n, 5), per_row)
    starts = np.arange(0, n * per_row + 1, per_row)
    G = csr_array((near.distances.ravel(), near.indices.ravel(), starts), shape=(n, n))
    if "affinity" in name:
        G.data = np.exp(-((G.data / G.data.mean()) ** 2))
        G = csr_array(G.maximum(G.T))
    return clone(model), G.astype(dtype)


@pytest.mark.filterwarnings("ignore::lowd.errors.ConvergenceWarning")  # few steps
@_with_types(SPARSE, ("PCA by products, tall", "Gaussian", "MDS", "KernelPCA", "TSNE graph"))
def test_the_estimate_of_sparse_rows_counts_their_entries(name, dtype):
    pytest.importorskip("lowd._native", reason="estimates are those of the native backend")
    model, X = _sparse_input(name, dtype)
    tracemalloc.start()
    try:
        fit_transform(model, X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    plan = model.estimate(*X.shape, dtype, n_entries=X.nnz)
    slack = 2**20
    assert peak <= plan.bytes + slack
    assert plan.bytes - plan.parts.get("factor", 0) <= 5 * peak + slack


@pytest.mark.filterwarnings("ignore::lowd.errors.ConvergenceWarning")  # few steps
@pytest.mark.parametrize("name", ["TSNE", "Isomap", "Eigenmaps", "KernelPCA", "SMACOF landmarks"])
def test_hashed_documents_are_not_refused(monkeypatch, name):
    """3000 of them in a million columns; as dense rows they would need 70 GiB."""
    monkeypatch.setattr(memory, "available", lambda: 2**30)
    assert SPARSE[name][0].estimate(3_000, 2**20, n_entries=58_000).bytes < 2**30
    fit(clone(SPARSE[name][0]), _documents(400, 2**20, 20, np.float64))


def test_a_sparse_affinity_is_not_refused_as_if_it_were_dense():
    model = lowd.LaplacianEigenmaps(affinity="precomputed")
    assert model.estimate(70_000, 70_000, n_entries=1_000_000).bytes < 2**30
    assert model.estimate(70_000, 70_000).bytes > 2**36


def test_one_estimate_by_name_class_or_model():
    by_name = lowd.estimate("ClassicalMDS", 5000, 50)
    assert by_name == lowd.estimate(lowd.ClassicalMDS, 5000, 50)
    assert by_name == lowd.estimate(lowd.ClassicalMDS(), 5000, 50)
    assert by_name == lowd.ClassicalMDS().estimate(5000, 50)
    assert int(by_name) == by_name.bytes == sum(by_name.parts.values())
    assert memory.readable(by_name.bytes) in str(by_name)


@pytest.mark.parametrize("method", METHODS)
def test_estimates_need_no_memory_and_grow(method):
    """A billion rows are estimated in an instant; more rows never need less."""
    tracemalloc.start()
    sizes = [lowd.estimate(method, n, 10_000).bytes for n in (10_000, 10**6, 10**9)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22
    assert sizes == sorted(sizes)
    assert all(isinstance(size, int) and size > 0 for size in sizes)
    assert (
        lowd.estimate(method, 5_000, 9_000, "float32").bytes
        <= lowd.estimate(method, 5_000, 9_000).bytes
    )


def test_estimates_of_nothing_or_nobody():
    with pytest.raises(ParameterError, match="n_samples=0"):
        lowd.estimate("PCA", 0, 5)
    with pytest.raises(ParameterError, match="n_features=-1"):
        lowd.estimate("PCA", 5, -1)
    with pytest.raises(ParameterError, match="'PHATE'"):
        lowd.estimate("PHATE", 5, 5)
    with pytest.raises(ParameterError, match="whiten"):
        lowd.PCA(whiten="yes").estimate(5, 5)


def _advised(model, X, advice):
    """Do as one option of the message says."""
    if advice.startswith("X.astype"):
        return clone(model), X.astype(np.float32)
    params = {name: ast.literal_eval(text) for name, text in re.findall(r"(\w+)=([\w']+)", advice)}
    assert params, advice
    return clone(model).set_params(**params), X


def _refusal(monkeypatch, name, share):
    """Fit with that share of the memory needed: model, data, free bytes, message."""
    model, X = _input(name, np.float64)
    X = np.vstack([X, X[:1500] + 0.5])  # so that fewer landmarks than rows are a saving
    plan = model.estimate(*X.shape)
    free = int(share * plan.bytes)
    monkeypatch.setattr(memory, "available", lambda: free)
    with pytest.raises(NotEnoughMemoryError) as refusal:
        model.fit(X)
    sentence = str(refusal.value)
    assert issubclass(NotEnoughMemoryError, MemoryError)
    assert type(model).__name__ in sentence
    assert memory.readable(plan.bytes) in sentence
    assert memory.readable(free) in sentence
    assert all(part in sentence for part, size in plan.parts.items() if size)
    assert not hasattr(model, "map_")
    return model, X, free, sentence


MODELS = [
    *("MDS manhattan", "MDS lingoes", "KernelPCA", "KernelPCA, every axis", "KernelPCA ridge"),
    "Isomap",
]


@pytest.mark.parametrize(
    ("name", "share"),
    [*((name, 0.95) for name in MODELS), ("MDS manhattan", 0.7), ("KernelPCA ridge", 0.7)],
)
def test_a_refusal_lists_what_fits_and_it_does(monkeypatch, name, share):
    model, X, free, sentence = _refusal(monkeypatch, name, share)
    options = sentence.split("These fit: ")[1].rstrip(".").split("; ")
    assert options
    for option in options:
        advice, size = re.fullmatch(r"(.*) \((.*)\)", option).groups()
        smaller, rows = _advised(model, X, advice)
        need = smaller.estimate(*rows.shape, rows.dtype).bytes
        assert memory.readable(need) == size
        assert need <= free
        fit(smaller, rows)


@pytest.mark.parametrize(
    ("name", "share"), [*((name, 0.3) for name in MODELS), ("MDS manhattan", 0.02)]
)
def test_where_nothing_fits_fewer_rows_are_advised(monkeypatch, name, share):
    sentence = _refusal(monkeypatch, name, share)[-1]
    assert "These fit: " not in sentence
    assert "fewer rows" in sentence


@pytest.mark.parametrize("free", [None, 2**40], ids=["unknown", "much"])
def test_enough_memory_is_no_matter(monkeypatch, free):
    monkeypatch.setattr(memory, "available", lambda: free)
    lowd.PCA(2).fit(rows_like(30))


def test_what_there_is_is_the_least_of_machine_and_container(monkeypatch, tmp_path):
    root = tmp_path / "sys/fs/cgroup"
    (root / "memory").mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    monkeypatch.setattr(memory, "Path", lambda path: tmp_path / path.lstrip("/"))
    assert memory.available() is None
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    4000 kB\n")
    assert memory.available() == 4000 * 1024
    (root / "memory/memory.limit_in_bytes").write_text("3000000\n")
    (root / "memory/memory.usage_in_bytes").write_text("1000000\n")
    assert memory.available() == 2_000_000
    (root / "memory.max").write_text("max\n")
    (root / "memory.current").write_text("1000\n")
    assert memory.available() == 2_000_000
    (root / "memory.max").write_text("1500\n")
    assert memory.available() == 500
    (root / "memory.current").write_text("1700\n")
    assert memory.available() == 0


def test_this_machine_has_memory():
    free = memory.available()
    assert free is None or free > 2**20


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (1023, "1.02e+03 B"), (1536, "1.5 KiB"), (2**30, "1 GiB"), (5 * 2**40, "5 TiB")],
)
def test_bytes_in_words(size, words):
    assert memory.readable(size) == words
