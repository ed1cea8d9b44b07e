"""Small data, where fixed costs decide: what is measured, with which tools."""

from __future__ import annotations

from dataclasses import replace

from cases import (
    Case,
    Tool,
    intelex_pca,
    kernel_pca,
    lowd,
    other_pca,
    projection,
    sklearn_pca,
    tapkee,
)
from embedding_cases import embedded
from graph_cases import GRAPH_CASES, local, manifold, spectral
from scaling_cases import smacof

N = 1000
DISTANCES = {"n_components": 2, "metric": "precomputed"}


def unrolled(name: str, arm: str) -> Case:
    """A method of the LLE family on a small Swiss roll."""
    work = f"{name}, {N}-point Swiss roll, 12 neighbors"
    return replace(local(name, arm, 0, {}), work=work, rows=N, bars=())


SKLEARN_TSNE = Tool("sklearn.manifold:TSNE", {"n_components": 2, "max_iter": 750, "n_jobs": 2})
TSNE = embedded(N, ())
LAPLACIAN = GRAPH_CASES["laplacian"]

SMALL_CASES: dict[str, Case] = {
    "small-pca": Case(
        f"PCA, {N}×50 of images, 2 components",
        "components",
        N,
        2,
        "principal",
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
        "principal",
        lowd("PCA", 10) | sklearn_pca(10, "auto", "randomized", "arpack") | intelex_pca(10, "auto"),
    ),
    "small-gaussian": Case(
        f"Gaussian random projection, {N}×784 → 50",
        "images",
        N,
        50,
        "ratios",
        lowd("GaussianRandomProjection", 50, random_state=0)
        | {"scikit-learn Gaussian": projection("GaussianRandomProjection", 50)},
    ),
    "small-mds-d": Case(
        f"ClassicalMDS, {N}×{N} distances",
        "distances",
        N,
        2,
        "scaled",
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
        "unrolled",
        lowd("Isomap", 2, n_neighbors=10) | {"scikit-learn": manifold("Isomap", 2, n_neighbors=10)},
    ),
    "small-lle": unrolled("LocallyLinearEmbedding", "standard"),
    "small-modified-lle": unrolled("ModifiedLLE", "modified"),
    "small-hessian-lle": unrolled("HessianLLE", "hessian"),
    "small-ltsa": unrolled("LTSA", "ltsa"),
    "small-laplacian": replace(
        LAPLACIAN,
        work=f"Laplacian eigenmaps, {N}×50 of images, 15 neighbors",
        rows=N,
        tools={**LAPLACIAN.tools, **spectral()},  # a second job takes it longer here
        bars=(),
    ),
    "small-diffusion": replace(
        GRAPH_CASES["diffusion"], work=f"Diffusion maps, {N}×50 of images, dense kernel", rows=N
    ),
    "small-smacof": Case(
        "MDS, 300×50 of images", "components", 300, 2, "stress", lowd("MDS", 2) | smacof()
    ),
    "small-nonmetric-mds": Case(
        "NonMetricMDS, 300×50 of images",
        "components",
        300,
        2,
        "order",
        lowd("NonMetricMDS", 2) | smacof(metric_mds=False),
    ),
    "small-tsne": replace(TSNE, tools={**TSNE.tools, "scikit-learn": SKLEARN_TSNE}),
}
