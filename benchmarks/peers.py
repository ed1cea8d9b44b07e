"""Peers that are not scikit-learn estimators, behind fit, transform and fit_transform."""

from __future__ import annotations

from typing import Any

import numpy as np


class Tapkee:
    """Takes float64, one sample per column; the conversion is part of its time."""

    def __init__(self, n_components: int, **options: Any) -> None:
        self.options = {"target_dimension": n_components, **options}

    def fit_transform(self, X: Any) -> Any:
        import tapkee

        if self.options["method"] == "random_projection":  # orthonormal directions, as in faiss
            self.scale_ = np.sqrt(X.shape[1] / self.options["target_dimension"])
        return tapkee.embed(X.astype(np.float64).T, **self.options)


class OpenTSNE:
    """Exact neighbors, as for all tools; interpolation (FFT) from 10,000 samples on, Barnes-Hut for
    fewer, where it is faster, and in three dimensions."""

    def __init__(self, n_components: int, n_iterations: int) -> None:
        self.options = {"n_components": n_components, "n_iter": n_iterations - 250}

    def fit_transform(self, X: Any) -> Any:
        from openTSNE import TSNE

        forces = "fft" if self.options["n_components"] < 3 and len(X) >= 10_000 else "bh"
        model = TSNE(**self.options, neighbors="exact", negative_gradient_method=forces, n_jobs=2)
        self.embedding = model.fit(X)
        return np.asarray(self.embedding)

    def transform(self, X: Any) -> Any:
        return np.asarray(self.embedding.transform(X))


class UMAPLearn:
    """Without a seed it runs on all cores; its first call compiles."""

    def __init__(self, seed: int | None = None, **options: Any) -> None:
        self.options = {"random_state": seed, **options}

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        from umap import UMAP

        self.model = UMAP(**self.options)
        return self.model.fit_transform(X, y)

    def fit(self, X: Any) -> UMAPLearn:
        self.fit_transform(X)
        return self

    def transform(self, X: Any) -> Any:
        return self.model.transform(X)


class ScranpyUMAP:
    """The C++ library umappp with its approximate neighbors, on both cores; columns are samples."""

    def fit_transform(self, X: Any) -> Any:
        from scranpy import run_umap

        columns = np.ascontiguousarray(X.T, np.float64)
        return run_umap(columns, num_threads=2, parallel_optimization=True)


class FastUMAP:
    """Rust kernels; exact neighbors, above 16,384 rows those of faiss if it is there."""

    def fit_transform(self, X: Any) -> Any:
        from fastumap import umap_project

        return umap_project(X)


class FaissPCA:
    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def fit(self, X: Any) -> FaissPCA:
        import faiss

        self.matrix = faiss.PCAMatrix(X.shape[1], self.n_components)
        self.matrix.max_points_per_d = len(X)  # else it learns from a sample
        self.matrix.train(X)
        return self

    def transform(self, X: Any) -> Any:
        return self.matrix.apply(X)

    def fit_transform(self, X: Any) -> Any:
        return self.fit(X).transform(X)

    @property
    def components_(self) -> Any:
        import faiss

        rows = faiss.vector_to_array(self.matrix.A).reshape(-1, self.matrix.d_in)
        return rows[: self.n_components]


class FaissRotation:
    """Orthonormal directions: distances shrink by √(k/d), which `scale_` undoes."""

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def fit(self, X: Any) -> FaissRotation:
        import faiss

        self.matrix = faiss.RandomRotationMatrix(X.shape[1], self.n_components)
        self.matrix.init(0)
        self.scale_ = np.sqrt(X.shape[1] / self.n_components)
        return self

    def transform(self, X: Any) -> Any:
        return self.matrix.apply(X)

    def fit_transform(self, X: Any) -> Any:
        return self.fit(X).transform(X)


class TorchPCA:
    """The full SVD, without the search for duplicates that TorchDR does by default."""

    def __init__(self, n_components: int) -> None:
        from torchdr import PCA

        self.model = PCA(n_components, device="cpu", process_duplicates=False)

    def fit_transform(self, X: Any) -> Any:
        return self.model.fit_transform(X)

    @property
    def components_(self) -> Any:
        return self.model.components_.numpy()


class TorchCovariancePCA:
    """Two passes over batches, which TorchDR recommends for few columns."""

    def __init__(self, n_components: int) -> None:
        from torchdr import ExactIncrementalPCA

        self.model = ExactIncrementalPCA(n_components, device="cpu", process_duplicates=False)

    def fit_transform(self, X: Any) -> Any:
        import torch

        rows = torch.from_numpy(X)
        batches = rows.split(8192)
        self.model.compute_mean(batches)
        self.model.fit(batches)
        return self.model.transform(rows).numpy()

    @property
    def components_(self) -> Any:
        return self.model.components_.numpy()


class TorchKernelPCA:
    """The rbf kernel with gamma = 1 / n_features."""

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def fit_transform(self, X: Any) -> Any:
        from torchdr import KernelPCA, NormalizedGaussianAffinity

        rbf = NormalizedGaussianAffinity(
            sigma=X.shape[1], normalization_dim=None, zero_diag=False, device="cpu"
        )
        model = KernelPCA(rbf, self.n_components, device="cpu", process_duplicates=False)
        return model.fit_transform(X)


class NystroemPCA:
    """scikit-learn's landmark kernel features, then its PCA: kernel PCA in linear memory."""

    def __init__(self, n_components: int, n_landmarks: int) -> None:
        from sklearn.decomposition import PCA
        from sklearn.kernel_approximation import Nystroem

        self.features = Nystroem(kernel="rbf", n_components=n_landmarks, random_state=0)
        self.axes = PCA(n_components, random_state=0)

    def fit_transform(self, X: Any) -> Any:
        return self.axes.fit_transform(self.features.fit_transform(X))

    @property
    def component_indices_(self) -> Any:
        return self.features.component_indices_


class NeighborSearch:
    """Indices of the nearest other rows; the row itself, which peers count as first, is removed."""

    def __init__(self, n_neighbors: int, **options: Any) -> None:
        self.n_neighbors, self.options = n_neighbors, options

    def fit_transform(self, X: Any) -> Any:
        found = np.asarray(self.search(X, self.n_neighbors + 1))
        other = found != np.arange(len(X))[:, None]
        other[other.all(1), -1] = False
        return found[other].reshape(len(X), -1)

    def search(self, X: Any, k: int) -> Any:
        raise NotImplementedError


class LowdNeighbors(NeighborSearch):
    def fit_transform(self, X: Any) -> Any:
        import lowd

        return lowd.neighbors(X, self.n_neighbors).indices


class LowdDiagnosis:
    def fit_transform(self, X: Any) -> Any:
        import lowd

        found = lowd.diagnose(X)
        return np.array([found.intrinsic_dimension["two_nn"].value])


class FaissNeighbors(NeighborSearch):
    def search(self, X: Any, k: int) -> Any:
        import faiss

        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        return index.search(X, k)[1]


class DescentNeighbors(NeighborSearch):
    def search(self, X: Any, k: int) -> Any:
        from pynndescent import NNDescent

        return NNDescent(X, n_neighbors=k, random_state=0, n_jobs=-1).neighbor_graph[0]


class HnswNeighbors(NeighborSearch):
    """M = 16, ef_construction = 200, and an ef for a recall of about 0.99."""

    def search(self, X: Any, k: int) -> Any:
        import hnswlib

        index = hnswlib.Index("l2", X.shape[1])
        index.init_index(len(X), ef_construction=200, M=16, random_seed=0)
        index.add_items(X)
        index.set_ef(max(50, 2 * k))
        return index.knn_query(X, k)[0].astype(np.int64)


class SklearnNeighbors(NeighborSearch):
    def search(self, X: Any, k: int) -> Any:
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(n_neighbors=k, n_jobs=-1, **self.options).fit(X).kneighbors(X)[1]
