"""What is measured: the rows of the table, with their data, tools, settings and measures.

A row's `task` holds the arguments that mean the same for all of its tools. What a tool is given
beyond them, in `changed`, is not its default, and the table says so. Every tool that has `n_jobs`
gets all cores. Measures are those of quality.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NEW_ROWS = 1000  # that `transform` embeds, after a fit of all others


@dataclass(frozen=True)
class Tool:
    """`job` is a class of jobs.py, or "module:Class" of an estimator; `module` must be there."""

    job: str
    module: str
    task: Mapping[str, Any]
    changed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    title: str
    data: str
    rows: int
    measures: tuple[str, ...]
    tools: Mapping[str, Tool]
    new_rows: int = 0  # of the rows; the others are fitted before, untimed
    same_answer: bool = True  # else the tools are not compared
    note: str = ""


def estimator(path: str, task: Mapping[str, Any], **changed: Any) -> Tool:
    return Tool(path, path.split(".")[0].split(":")[0], task, changed)


def search(job: str, module: str, k: int, **changed: Any) -> Tool:
    return Tool(job, module, {"n_neighbors": k}, changed)


def pca(k: int) -> Row:
    task = {"n_components": k}
    return Row(
        f"PCA of 70,000 × 784, {k} components",
        "images",
        70_000,
        ("angle",),
        {
            "lowd": estimator("lowd:PCA", task),
            "scikit-learn": estimator("sklearn.decomposition:PCA", task),
            "scikit-learn-intelex": estimator("sklearnex.decomposition:PCA", task),
            "faiss": Tool("FaissPCA", "faiss", task, {"max_points_per_d": "all rows"}),
        },
    )


def tsne(rows: int) -> Row:
    return Row(
        f"t-SNE of {rows:,} × 50, perplexity 30, 750 iterations",
        "components",
        rows,
        ("KL", "neighbors kept"),
        {
            "lowd": estimator("lowd:TSNE", PLANE),
            "openTSNE": Tool("OpenTSNE", "openTSNE", PLANE),
            "scikit-learn-intelex": estimator("sklearnex.manifold:TSNE", PLANE, max_iter=750),
        },
    )


def neighbors(title: str, data: str, rows: int) -> Row:
    """k = 15; hnswlib finds in an untimed search the least `ef` whose recall is .99."""
    return Row(
        f"nearest neighbors of {title}, k = 15",
        data,
        rows,
        ("recall",),
        {
            "lowd": search("LowdNeighbors", "lowd", 15),
            "pynndescent": search("Pynndescent", "pynndescent", 15),
            "hnswlib": search("Hnswlib", "hnswlib", 15, ef="least for recall .99"),
        }
        | ({"faiss": search("FaissFlat", "faiss", 15)} if rows <= 70_000 else {}),
    )


def lle(name: str, rows: int, variant: str) -> Row:
    task = {"n_components": 2, "n_neighbors": 12}
    changed = {} if variant == "standard" else {"method": variant}
    tools = {
        "lowd": estimator(f"lowd:{name}", task),
        "scikit-learn": estimator("sklearn.manifold:LocallyLinearEmbedding", task, **changed),
    }
    if variant == "ltsa":
        tools["Tapkee"] = Tool("Tapkee", "tapkee", task, {"method": "ltsa"})
    title = f"{name} of a Swiss roll of {rows:,} points, 12 neighbors"
    return Row(title, "roll", rows, ("affine error",), tools)


def transform(method: str, peer: str, tool: Tool) -> Row:
    ours = estimator(f"lowd:{method}", PLANE)
    return Row(
        f"`transform` of {NEW_ROWS:,} rows by {'t-SNE' if method == 'TSNE' else method} "
        "of 20,000 × 50",
        "components",
        20_000 + NEW_ROWS,
        ("neighbors of new rows kept",),
        {"lowd": ours, peer: tool},
        NEW_ROWS,
    )


PLANE = {"n_components": 2}
SPECTRAL = {"affinity": "nearest_neighbors", "n_neighbors": 16}
SMACOF = {"n_init": 1, "init": "classical_mds"}  # lowd's defaults

HEADLINE = {
    "tsne": tsne(70_000),
    "umap": Row(
        "UMAP of 70,000 × 50",
        "components",
        70_000,
        ("neighbors kept", "triplets kept"),
        {
            "lowd": estimator("lowd:UMAP", PLANE),
            "umap-learn": estimator("umap:UMAP", PLANE),
        },
        note="umap-learn without a seed, which alone runs on all cores",
    ),
    "neighbors": neighbors("70,000 × 784", "images", 70_000),
    "pca-2": pca(2),
    "pca-50": pca(50),
    "isomap": Row(
        "Isomap of a Swiss roll of 10,000 points, 10 neighbors",
        "roll",
        10_000,
        ("similarity error",),
        {
            "lowd": estimator("lowd:Isomap", {"n_components": 2, "n_neighbors": 10}),
            "scikit-learn": estimator(
                "sklearn.manifold:Isomap", {"n_components": 2, "n_neighbors": 10}
            ),
        },
    ),
    "laplacian": Row(
        "Laplacian eigenmaps of 20,000 × 50, 15 neighbors",
        "components",
        20_000,
        ("class accuracy", "neighbors kept"),
        {
            "lowd": estimator(
                "lowd:LaplacianEigenmaps", PLANE | {"n_neighbors": 15}, affinity="binary"
            ),
            "scikit-learn": estimator("sklearn.manifold:SpectralEmbedding", PLANE, **SPECTRAL),
            "scikit-learn and pyamg": Tool(
                "sklearn.manifold:SpectralEmbedding",
                "pyamg",
                PLANE,
                SPECTRAL | {"eigen_solver": "amg"},
            ),
        },
        note="scikit-learn counts a row as its own neighbor",
    ),
    "ltsa": lle("LTSA", 20_000, "ltsa"),
    "mds": Row(
        "metric MDS of 2,000 × 50",
        "components",
        2_000,
        ("stress",),
        {
            "lowd": estimator("lowd:MDS", PLANE),
            "scikit-learn": estimator("sklearn.manifold:MDS", PLANE, **SMACOF),
        },
    ),
    "kernel-pca": Row(
        "kernel PCA (rbf) of 2,000 × 784, 2 components",
        "images",
        2_000,
        ("kernel angle",),
        {
            "lowd": estimator("lowd:KernelPCA", {"n_components": 2, "kernel": "rbf"}),
            "scikit-learn": estimator(
                "sklearn.decomposition:KernelPCA", {"n_components": 2, "kernel": "rbf"}
            ),
        },
    ),
    "transform": transform("TSNE", "openTSNE", Tool("OpenTSNE", "openTSNE", PLANE)),
    "map": Row(
        "from a CSV file of 178 wines to a picture, in a new process",
        "wine",
        178,
        ("neighbors kept",),
        {
            "lowd": Tool("LowdMap", "lowd", {}),
            "scikit-learn": Tool("MapScript", "sklearn", {}),
        },
        note="`lowd map` diagnoses, scales, chooses Isomap, fits, measures the quality and draws; "
        "the script of a user of scikit-learn ([map_wine.py](map_wine.py)) knows that Isomap suits "
        "and does the rest; memory is the peak of the process",
    ),
}

OTHERS = {
    "methods": Row(
        "other methods: 10,000 × 50 to two dimensions",
        "components",
        10_000,
        ("neighbors kept", "triplets kept", "class accuracy"),
        {
            "lowd, t-SNE": estimator("lowd:TSNE", PLANE),
            "lowd, UMAP": estimator("lowd:UMAP", PLANE),
            "PaCMAP": estimator("pacmap:PaCMAP", PLANE),
            "TriMap": estimator("trimap:TRIMAP", {"n_dims": 2}),
            "PHATE": estimator("phate:PHATE", PLANE, verbose=0),
        },
        same_answer=False,
        note="different methods, which aim at different things: none of them is ahead",
    ),
    "tsne-10k": tsne(10_000),
    "umap-transform": transform("UMAP", "umap-learn", estimator("umap:UMAP", PLANE)),
    "neighbors-50": neighbors("70,000 × 50", "components", 70_000),
    "neighbors-200k": neighbors("200,000 × 50 in clusters", "clusters", 200_000),
    "lle": lle("LocallyLinearEmbedding", 20_000, "standard"),
    "modified-lle": lle("ModifiedLLE", 5_000, "modified"),
    "nonmetric-mds": Row(
        "non-metric MDS of 1,000 × 50",
        "components",
        1_000,
        ("nonmetric stress",),
        {
            "lowd": estimator("lowd:NonMetricMDS", PLANE),
            "scikit-learn": estimator("sklearn.manifold:MDS", PLANE, metric_mds=False, **SMACOF),
        },
    ),
    "diffusion": Row(
        "diffusion maps of 5,000 × 50, 64 neighbors",
        "components",
        5_000,
        ("class accuracy", "neighbors kept"),
        {
            "lowd": estimator("lowd:DiffusionMaps", {**PLANE, "n_neighbors": 64}),
            "pydiffmap": Tool("Pydiffmap", "pydiffmap", {**PLANE, "n_neighbors": 64}, {"alpha": 1}),
        },
        note="each tool chooses its own bandwidth",
    ),
    "kernel-pca-10k": Row(
        "kernel PCA (rbf) of 10,000 × 784, 2 components",
        "images",
        10_000,
        ("kernel angle",),
        {
            "lowd": estimator("lowd:KernelPCA", {"n_components": 2, "kernel": "rbf"}),
            "scikit-learn": estimator(
                "sklearn.decomposition:KernelPCA", {"n_components": 2, "kernel": "rbf"}
            ),
        },
    ),
    "classical-mds": Row(
        "classical MDS of 5,000 × 784 rows, beside PCA, which has the same answer",
        "images",
        5_000,
        ("angle",),
        {
            "lowd": estimator("lowd:ClassicalMDS", PLANE),
            "scikit-learn PCA": estimator("sklearn.decomposition:PCA", PLANE),
        },
    ),
    "pca-words": Row(
        "PCA of 10,000 × 100,000 sparse counts, 50 components",
        "words",
        10_000,
        ("angle",),
        {
            "lowd": estimator("lowd:PCA", {"n_components": 50}),
            "scikit-learn": estimator("sklearn.decomposition:PCA", {"n_components": 50}),
        },
    ),
    "pca-small": Row(
        "PCA of 1,000 × 50, 2 components",
        "components",
        1_000,
        ("angle",),
        {
            "lowd": estimator("lowd:PCA", PLANE),
            "scikit-learn": estimator("sklearn.decomposition:PCA", PLANE),
            "faiss": Tool("FaissPCA", "faiss", PLANE, {"max_points_per_d": "all rows"}),
        },
    ),
    "pca-rows": Row(
        "PCA: `transform` of 1,000 rows, one at a time",
        "images",
        5_000 + NEW_ROWS,
        ("angle",),
        {
            "lowd": Tool("OneByOne", "lowd", {"path": "lowd:PCA", "n_components": 50}),
            "scikit-learn": Tool(
                "OneByOne", "sklearn", {"path": "sklearn.decomposition:PCA", "n_components": 50}
            ),
            "faiss": Tool("OneByOne", "faiss", {"path": "jobs:FaissPCA", "n_components": 50}),
        },
        new_rows=NEW_ROWS,
    ),
    "projection": Row(
        "Gaussian random projection of 70,000 × 784 to 300",
        "images",
        70_000,
        ("distortion",),
        {
            "lowd": estimator("lowd:GaussianRandomProjection", {"n_components": 300}),
            "scikit-learn": estimator(
                "sklearn.random_projection:GaussianRandomProjection", {"n_components": 300}
            ),
            "faiss": Tool("FaissRotation", "faiss", {"n_components": 300}),
        },
    ),
}

ROWS: dict[str, Row] = HEADLINE | OTHERS
