"""Words that people type into the search, and the pages that answer them.

Sphinx finds the words of a page but does not know which page is about them: "t-SNE" is on sixty.
Entries of the index are ranked first, so the site's index says which one it is.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes

# Page, or section of a page -> what it is the answer to.
WORDS: dict[str, tuple[str, ...]] = {
    "methods/pca": ("principal component analysis", "singular value decomposition", "whitening"),
    "methods/classical_mds": ("principal coordinates analysis", "PCoA", "Torgerson scaling"),
    "methods/mds": ("multidimensional scaling", "SMACOF", "Sammon mapping", "stress"),
    "methods/nonmetric_mds": ("non-metric multidimensional scaling", "ordinal MDS", "Kruskal"),
    "methods/kernel_pca": ("kernel principal component analysis", "pre-image", "kernel trick"),
    "methods/isomap": ("isometric mapping", "geodesic distances", "shortest paths"),
    "methods/locally_linear_embedding": ("locally linear embedding", "LLE", "barycentric weights"),
    "methods/modified_lle": ("modified locally linear embedding", "MLLE", "modified LLE"),
    "methods/hessian_lle": ("Hessian locally linear embedding", "Hessian eigenmaps", "HLLE"),
    "methods/ltsa": ("local tangent space alignment",),
    "methods/laplacian_eigenmaps": ("Laplacian eigenmaps", "spectral embedding", "graph Laplacian"),
    "methods/diffusion_maps": ("diffusion maps", "random walk", "diffusion distance"),
    "methods/sne": ("stochastic neighbor embedding", "crowding problem"),
    "methods/tsne": (
        "TSNE", "t-SNE", "t-distributed stochastic neighbor embedding", "perplexity",
        "early exaggeration", "FIt-SNE",
    ),
    "methods/tsne#new-points": ("map new points with t-SNE", "t-SNE transform", "t-SNE new data"),
    "methods/umap": ("UMAP", "uniform manifold approximation and projection", "densMAP"),
    "methods/umap#new-points": ("map new points with UMAP", "UMAP transform"),
    "methods/umap#targets-supervised-and-semi-supervised": ("supervised UMAP",),
    "methods/gaussian_random_projection": ("random projection", "Johnson–Lindenstrauss lemma"),
    "methods/sparse_random_projection": ("sparse random projection",),
    "methods/hadamard_random_projection": ("Hadamard transform", "SRHT"),
    "methods/neighbors": ("nearest neighbors", "neighbor graph", "precomputed neighbors"),
    "how-it-works/map": ("new points", "out-of-sample extension", "inverse transform"),
    "how-it-works/confidence": ("confidence", "novelty", "calibration"),
    "how-it-works/evidence": (
        "quality measures", "trustworthiness", "continuity", "neighbor recall", "Shepard diagram",
    ),
    "how-it-works/dask": (
        "Dask", "Dask cluster", "larger than memory", "out of core", "distributed",
    ),
    "how-it-works/graphs": ("connected components", "bridges", "short circuits", "duplicates"),
    "how-it-works/forces": ("forces", "repulsive forces", "Barnes–Hut", "particle mesh"),
    "how-it-works/backends": ("backend", "native", "overridable function"),
    "how-it-works/gpu": ("GPU", "CUDA", "torch"),
    "how-it-works/determinism": ("random seed", "reproducibility", "threads"),
    "how-it-works/distances": ("metric", "Gower's distance", "precomputed distances"),
    "how-it-works/memory": ("memory", "out of memory"),
    "how-it-works/progress": ("progress bar", "cancel"),
    "how-it-works/saving": ("save a model", "pickle", "load a model"),
    "command-line": ("command line", "shell"),
    "explorer": ("explorer", "interactive plot"),
    "dimension": ("number of components", "intrinsic dimension", "scree plot"),
    "diagnose": ("outliers", "missing values"),
    "compare": ("choose parameters", "grid search"),
    "pipeline": ("preprocessing", "scale columns"),
    "files": ("AnnData", "CSV", "Parquet"),
    "which-method": ("which method", "choose a method"),
    "start": ("install", "getting started"),
}  # fmt: skip


def add_entries(app: Any, doctree: nodes.document) -> None:
    """Put the index entries of the page and of its sections before its text."""
    page = app.env.docname
    entries = []
    for target, words in WORDS.items():
        name, _, anchor = target.partition("#")
        if name == page:
            entries += [("single", word, anchor, "main", None) for word in words]
    if entries:
        doctree.insert(0, addnodes.index(entries=entries))


def find_unknown(_: Any, env: Any) -> None:
    """A page that was renamed must not lose its words in silence."""
    for target in WORDS:
        if target.partition("#")[0] not in env.all_docs:
            raise LookupError(f"docs/_site/search_words.py names {target}, which is no page.")


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", add_entries)
    app.connect("env-check-consistency", find_unknown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
