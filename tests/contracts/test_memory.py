"""Memory: what grows with the square of the rows is known beforehand, and refused if too large."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone

import lowd
from case_data import rbf_kernel, rows_like
from cases import fit, fit_transform
from lowd import backend
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
    "UMAP in space": (lowd.UMAP(n_components=3, n_epochs=20, dens_lambda=2.0), 5_000, 10),
    "UMAP landmarks": (lowd.UMAP(n_epochs=5, n_landmarks=300), 20_000, 10),
}


def _input(name, dtype):
    model, n, d = LARGE[name]
    X = rows_like(n, 10 if "precomputed" in name else d)
    if "precomputed" in name:
        X = cdist(X, X) if name.startswith("MDS") else rbf_kernel(X, X)
    return clone(model), np.ascontiguousarray(X, dtype)


def _peak(model, X):
    """Bytes that a fit holds at its worst moment."""
    tracemalloc.start()
    try:
        fit_transform(model, X)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _check_plan(plan, peak, n, numbers=700):
    """The large arrays are those of the plan; what grows with the rows is left to the allowance."""
    allowance = 2**22 + 8 * n * numbers
    assert peak <= 2 * plan.bytes + allowance
    assert plan.bytes <= 4 * peak + allowance


@pytest.mark.parametrize("name", LARGE)
def test_the_estimate_knows_the_large_arrays(name):
    model, X = _input(name, np.float64)
    fit(clone(model), X[:60, :60] if "precomputed" in name else X[:400])  # imports, caches
    plan = model.estimate(*X.shape)
    _check_plan(plan, _peak(model, X), len(X))


@pytest.mark.parametrize("name", ["MDS manhattan", "KernelPCA", "Isomap", "SMACOF"])
def test_float32_halves_the_large_arrays(name):
    model, X = _input(name, np.float32)
    plan = model.estimate(*X.shape, np.float32)
    assert plan.bytes < 0.6 * model.estimate(*X.shape).bytes
    _check_plan(plan, _peak(model, X), len(X))


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


WIDE = [name for name, (_, _, d, _) in SPARSE.items() if d >= 2**14]


@pytest.mark.filterwarnings("ignore::lowd.errors.ConvergenceWarning")  # few steps
@pytest.mark.parametrize("name", WIDE)
def test_sparse_rows_are_never_made_dense(name):
    model, X = _sparse_input(name, np.float64)
    dense, some_rows_at_a_time = 8 * X.shape[0] * X.shape[1], 2**27
    assert _peak(model, X) < max(dense / 2, some_rows_at_a_time)


@pytest.mark.filterwarnings("ignore::lowd.errors.ConvergenceWarning")  # few steps
@pytest.mark.parametrize("name", ["TSNE", "Isomap", "Eigenmaps", "KernelPCA", "SMACOF landmarks"])
def test_hashed_documents_are_not_refused(monkeypatch, name):
    """3000 of them in a million columns; as dense rows they would need 70 GiB."""
    monkeypatch.setattr(backend, "free_memory", lambda: 2**30)
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
    assert backend.readable(by_name.bytes) in str(by_name)


@pytest.mark.parametrize("method", METHODS)
def test_estimates_need_no_memory_and_grow(method):
    """A billion rows are estimated in an instant; more rows do not need less."""
    tracemalloc.start()
    sizes = [lowd.estimate(method, n, 10_000).bytes for n in (10**5, 10**6, 10**9)]
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


MODELS = [
    "MDS manhattan",
    "KernelPCA",
    "KernelPCA ridge",
    "SMACOF, weighted",
    "NonMetricMDS",
    "Isomap",
]


@pytest.mark.parametrize("name", MODELS)
def test_a_refusal_names_the_arrays_the_memory_and_a_remedy(monkeypatch, name):
    """Before anything is computed; and the remedy helps."""
    model, X = _input(name, np.float64)
    X = np.vstack([X, X[:1500] + 0.5])
    free = int(0.9 * model.estimate(*X.shape).bytes)
    monkeypatch.setattr(backend, "free_memory", lambda: free)
    with pytest.raises(NotEnoughMemoryError) as refusal:
        model.fit(X)
    sentence = str(refusal.value)
    assert issubclass(NotEnoughMemoryError, MemoryError)
    assert backend.readable(free) in sentence
    assert "n_landmarks=1000" in sentence
    large = {part: size for part, size in model._plan(*X.shape, 8).items() if size}
    assert all(
        part in sentence and backend.readable(size) in sentence for part, size in large.items()
    )
    assert not hasattr(model, "n_features_in_")
    smaller = clone(model).set_params(n_landmarks=100)
    assert smaller.estimate(*X.shape).bytes < free / 3


@pytest.mark.parametrize("free", [None, 2**40], ids=["unknown", "much"])
def test_enough_memory_is_no_matter(monkeypatch, free):
    monkeypatch.setattr(backend, "free_memory", lambda: free)
    lowd.PCA(2).fit(rows_like(30))


def test_what_there_is_is_the_least_of_machine_and_container(monkeypatch, tmp_path):
    root = tmp_path / "sys/fs/cgroup"
    (root / "memory").mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    monkeypatch.setattr(backend, "Path", lambda path: tmp_path / path.lstrip("/"))
    assert backend.free_memory() is None
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    4000 kB\n")
    assert backend.free_memory() == 4000 * 1024
    (root / "memory/memory.limit_in_bytes").write_text("3000000\n")
    (root / "memory/memory.usage_in_bytes").write_text("1000000\n")
    assert backend.free_memory() == 2_000_000
    (root / "memory.max").write_text("max\n")
    (root / "memory.current").write_text("1000\n")
    assert backend.free_memory() == 2_000_000
    (root / "memory.max").write_text("1500\n")
    assert backend.free_memory() == 500
    (root / "memory.current").write_text("1700\n")
    assert backend.free_memory() == 0


def test_this_machine_has_memory():
    free = backend.free_memory()
    assert free is None or free > 2**20


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (1023, "1.02e+03 B"), (1536, "1.5 KiB"), (2**30, "1 GiB"), (5 * 2**40, "5 TiB")],
)
def test_bytes_in_words(size, words):
    assert backend.readable(size) == words
