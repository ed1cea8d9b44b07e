"""The list of what is replaced, and by what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import DimensionWarning, ScaleWarning
from . import (
    geodesic,
    kernel,
    linear,
    local,
    manifold_umap,
    neighbors,
    projection,
    spectral,
    stress,
    tsne,
)
from .proxy import ClassRule, FunctionRule, make_class, make_function


@dataclass(frozen=True)
class Replacement:
    """A name in a module, and how lowd serves it."""

    module: str
    name: str
    rule: ClassRule | FunctionRule

    def make_proxy(self, original: Any) -> Any:
        """Make the stand-in for the original."""
        if isinstance(self.rule, ClassRule):
            return make_class(original, self.module, self.rule)
        return make_function(original, self.module, self.rule)


DECOMPOSITION, MANIFOLD = "sklearn.decomposition", "sklearn.manifold"
NEIGHBORS, PROJECTION = "sklearn.neighbors", "sklearn.random_projection"
# scikit-learn does not warn of variance in one column, or of as many components as columns.
QUIET = (ScaleWarning, DimensionWarning)

PCA = ClassRule(linear.learn_pca, harmless=QUIET)
INCREMENTAL_PCA = ClassRule(linear.learn_incremental_pca, linear.learn_batch, harmless=QUIET)
TRUNCATED_SVD = ClassRule(linear.learn_truncated_svd, harmless=QUIET)
KERNEL_PCA = ClassRule(
    kernel.learn_kernel_pca,
    methods={"transform": kernel.transform_kernel_pca},
    harmless=kernel.KERNEL_WARNINGS,
)
CLASSICAL_MDS = ClassRule(kernel.learn_classical_mds, harmless=kernel.SCALING_WARNINGS)
ISOMAP = ClassRule(
    geodesic.learn_isomap,
    methods={"transform": geodesic.transform_isomap},
    harmless=geodesic.GEODESIC_WARNINGS,
)
TSNE = ClassRule(tsne.learn_tsne, harmless=tsne.TSNE_WARNINGS)
GRAPH = ClassRule(methods={"transform": neighbors.transform_to_graph})
UMAP = ClassRule(
    manifold_umap.learn_umap,
    methods={"transform": manifold_umap.transform_umap},
    harmless=manifold_umap.UMAP_WARNINGS,
    leaves_targets=True,
)
GAUSSIAN_PROJECTION = ClassRule(
    projection.learn_gaussian, methods={"transform": projection.transform_gaussian}
)
SPARSE_PROJECTION = ClassRule(methods={"transform": projection.transform_sparsely})
SMACOF = FunctionRule(stress.serve_smacof, stress.STRESS_WARNINGS)
SPECTRAL_CLASS = ClassRule(spectral.learn_spectral_embedding, harmless=spectral.SPECTRAL_WARNINGS)
SPECTRAL = FunctionRule(spectral.serve_spectral_embedding, spectral.SPECTRAL_WARNINGS)
LOCALLY_LINEAR = FunctionRule(local.serve_locally_linear_embedding, local.LOCAL_WARNINGS)
TRUSTWORTHINESS = FunctionRule(neighbors.serve_trustworthiness)
KNEIGHBORS = FunctionRule(neighbors.serve_kneighbors_graph)

REPLACEMENTS = (
    Replacement(DECOMPOSITION, "PCA", PCA),
    Replacement(DECOMPOSITION, "IncrementalPCA", INCREMENTAL_PCA),
    Replacement(DECOMPOSITION, "TruncatedSVD", TRUNCATED_SVD),
    Replacement(DECOMPOSITION, "KernelPCA", KERNEL_PCA),
    Replacement(MANIFOLD, "ClassicalMDS", CLASSICAL_MDS),
    Replacement(MANIFOLD, "Isomap", ISOMAP),
    Replacement(MANIFOLD, "TSNE", TSNE),
    Replacement(MANIFOLD, "trustworthiness", TRUSTWORTHINESS),
    Replacement(NEIGHBORS, "KNeighborsTransformer", GRAPH),
    Replacement(NEIGHBORS, "kneighbors_graph", KNEIGHBORS),
    Replacement(PROJECTION, "GaussianRandomProjection", GAUSSIAN_PROJECTION),
    Replacement(PROJECTION, "SparseRandomProjection", SPARSE_PROJECTION),
    Replacement(MANIFOLD, "SpectralEmbedding", SPECTRAL_CLASS),
    Replacement(MANIFOLD, "spectral_embedding", SPECTRAL),
    Replacement("umap", "UMAP", UMAP),
    # MDS and LocallyLinearEmbedding are thin wrappers of a function, which is what is replaced.
    Replacement(MANIFOLD, "smacof", SMACOF),
    Replacement(f"{MANIFOLD}._mds", "smacof", SMACOF),
    Replacement(f"{MANIFOLD}._locally_linear", "_locally_linear_embedding", LOCALLY_LINEAR),
)
