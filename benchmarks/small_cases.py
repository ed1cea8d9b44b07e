"""Cases of small data, where fixed costs dominate."""

from __future__ import annotations

from dataclasses import replace

from cases import Case, Tool, lowd
from embedding_cases import tsne
from graph_cases import GRAPH_CASES, lle_family, manifold, spectral
from linear_cases import intelex_pca, kernel_pca, other_pca, projection, sklearn_pca, tapkee
from mds_cases import smacof

N = 1000
DISTANCES = {"n_components": 2, "metric": "precomputed"}


def small_roll(name: str, variant: str) -> Case:
    """A method of the LLE family on a small Swiss roll."""
    task = f"{name}, {N}-point Swiss roll, 12 neighbors"
    return replace(lle_family(name, variant, 0, {}), task=task, rows=N, targets=())


SKLEARN_TSNE = Tool("sklearn.manifold:TSNE", {"n_components": 2, "max_iter": 750, "n_jobs": 2})
TSNE = tsne(N, ())
LAPLACIAN = GRAPH_CASES["laplacian"]

SMALL_CASES: dict[str, Case] = {
    "small-pca": Case(
        f"PCA, {N}×50 of images, 2 components",
        "components",
        N,
        2,
        "principal_subspace",
        lowd("PCA", 2)
        | sklearn_pca(2, "auto", "randomized")
        | intelex_pca(2, "auto")
        | tapkee("pca", 2, "arpack")
        | other_pca(2),
    ),
    "small-pca-wide": Case(
        f"PCA, {N}×784 images, 10 components",
        "images",
        N,
        10,
        "principal_subspace",
        lowd("PCA", 10) | sklearn_pca(10, "auto", "randomized", "arpack") | intelex_pca(10, "auto"),
    ),
    "small-gaussian": Case(
        f"Gaussian random projection, {N}×784 → 50",
        "images",
        N,
        50,
        "distance_ratios",
        lowd("GaussianRandomProjection", 50, random_state=0)
        | {"scikit-learn Gaussian": projection("GaussianRandomProjection", 50)},
    ),
    "small-mds-d": Case(
        f"ClassicalMDS, {N}×{N} distances",
        "distances",
        N,
        2,
        "classical_mds",
        lowd("ClassicalMDS", 2, metric="precomputed")
        | {"scikit-learn ClassicalMDS": Tool("sklearn.manifold:ClassicalMDS", DISTANCES)},
    ),
    "small-kpca": Case(
        f"KernelPCA rbf, {N}×784, 2 components",
        "images",
        N,
        2,
        "rbf",
        kernel_pca("rbf", 2),
    ),
    "small-isomap": Case(
        f"Isomap, {N}-point Swiss roll, 10 neighbors",
        "roll",
        N,
        2,
        "swiss_roll",
        lowd("Isomap", 2, n_neighbors=10) | {"scikit-learn": manifold("Isomap", 2, n_neighbors=10)},
    ),
    "small-lle": small_roll("LocallyLinearEmbedding", "standard"),
    "small-modified-lle": small_roll("ModifiedLLE", "modified"),
    "small-hessian-lle": small_roll("HessianLLE", "hessian"),
    "small-ltsa": small_roll("LTSA", "ltsa"),
    "small-laplacian": replace(
        LAPLACIAN,
        task=f"Laplacian eigenmaps, {N}×50 of images, 15 neighbors",
        rows=N,
        tools={**LAPLACIAN.tools, **spectral()},  # a second job is slower here
        targets=(),
    ),
    "small-diffusion": replace(
        GRAPH_CASES["diffusion"], task=f"Diffusion maps, {N}×50 of images, dense kernel", rows=N
    ),
    "small-smacof": Case(
        "MDS, 300×50 of images", "components", 300, 2, "stress", lowd("MDS", 2) | smacof()
    ),
    "small-nonmetric-mds": Case(
        "NonMetricMDS, 300×50 of images",
        "components",
        300,
        2,
        "nonmetric_stress",
        lowd("NonMetricMDS", 2) | smacof(metric_mds=False),
    ),
    "small-tsne": replace(TSNE, tools={**TSNE.tools, "scikit-learn": SKLEARN_TSNE}),
}
