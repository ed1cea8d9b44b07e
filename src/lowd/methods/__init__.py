"""The one list of methods. The package, the store, the command line and the tests read it."""

METHODS = {
    "PCA": "pca",
    "GaussianRandomProjection": "gaussian_random_projection",
    "SparseRandomProjection": "sparse_random_projection",
    "HadamardRandomProjection": "hadamard_random_projection",
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
