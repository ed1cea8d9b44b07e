"""The methods, one file for each family."""

from __future__ import annotations

METHODS = {
    "PCA": "pca",
    "GaussianRandomProjection": "random_projection",
    "SparseRandomProjection": "random_projection",
    "HadamardRandomProjection": "random_projection",
    "ClassicalMDS": "classical_mds",
    "MDS": "mds",
    "NonMetricMDS": "mds",
    "KernelPCA": "kernel_pca",
    "LaplacianEigenmaps": "spectral",
    "DiffusionMaps": "spectral",
    "Isomap": "isomap",
    "LocallyLinearEmbedding": "lle",
    "ModifiedLLE": "lle",
    "HessianLLE": "lle",
    "LTSA": "lle",
    "SNE": "tsne",
    "TSNE": "tsne",
    "UMAP": "umap",
}
