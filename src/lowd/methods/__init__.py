"""The one list of methods. The package, the store, the command line and the tests read it."""

from __future__ import annotations

from ..errors import ParameterError

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
    "UMAP": "umap",
}


# Other names that people know a method by.
_SYNONYMS = {"SpectralEmbedding": "LaplacianEigenmaps", "MetricMDS": "MDS", "PCoA": "ClassicalMDS"}


def find_class_name(word: str) -> str:
    """The class name for "pca", "t-SNE", "kernel_pca", "lle" or "LocallyLinearEmbedding".

    >>> find_class_name("t-sne"), find_class_name("Kernel PCA")
    ('TSNE', 'KernelPCA')
    """
    name = _SPELLINGS.get(simplify_name(word))
    if name is None:
        raise ParameterError(
            f"there is no method {word!r}; there are "
            f"{', '.join(module.replace('_', '-') for module in METHODS.values())}."
        )
    return name


def simplify_name(word: str) -> str:
    """A name without case, hyphens and spaces."""
    return "".join(letter for letter in word.lower() if letter.isalnum())


_SPELLINGS = {simplify_name(module): name for name, module in METHODS.items()}
_SPELLINGS |= {simplify_name(name): name for name in METHODS}
_SPELLINGS |= {simplify_name(other): name for other, name in _SYNONYMS.items()}
