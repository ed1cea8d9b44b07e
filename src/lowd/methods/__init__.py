"""The one list of methods. The package, the store, the command line and the tests read it."""

METHODS = {
    "PCA": "pca",
    "GaussianRandomProjection": "random_projection",
    "SparseRandomProjection": "random_projection",
    "HadamardRandomProjection": "random_projection",
    "ClassicalMDS": "classical_mds",
    "MDS": "mds",
    "NonMetricMDS": "nonmetric_mds",
    "KernelPCA": "kernel_pca",
    "LaplacianEigenmaps": "laplacian_eigenmaps",
    "DiffusionMaps": "diffusion_maps",
    "Isomap": "isomap",
    "LocallyLinearEmbedding": "lle",
    "ModifiedLLE": "modified_lle",
    "HessianLLE": "hessian_lle",
    "LTSA": "ltsa",
    "SNE": "sne",
    "TSNE": "tsne",
}
