"""Cases of PCA, classical MDS, kernel PCA, random projections, single rows and startup."""

from __future__ import annotations

from typing import Any

from cases import Case, Floor, Startup, Target, Tool, lowd

SKLEARN = "sklearn.decomposition:"
PROJECT = "sklearn.random_projection:"


def sklearn_pca(k: int, *solvers: str) -> dict[str, Tool]:
    return {
        f"scikit-learn {solver}": Tool(
            SKLEARN + "PCA", {"n_components": k, "svd_solver": solver, "random_state": 0}
        )
        for solver in solvers
    }


def intelex_pca(k: int, *solvers: str) -> dict[str, Tool]:
    return {
        f"scikit-learn-intelex {solver}": Tool(
            "sklearnex.decomposition:PCA", {"n_components": k, "svd_solver": solver}
        )
        for solver in solvers
    }


def kernel_pca(kernel: str, k: int) -> dict[str, Tool]:
    return lowd("KernelPCA", k, kernel=kernel) | {
        f"scikit-learn {solver}": Tool(
            SKLEARN + "KernelPCA",
            {"n_components": k, "kernel": kernel, "eigen_solver": solver, "random_state": 0},
        )
        for solver in ("arpack", "randomized")
    }


def tapkee(method: str, k: int, *solvers: str) -> dict[str, Tool]:
    return {
        f"Tapkee {solver}": Tool(
            "peers:Tapkee", {"n_components": k, "method": method, "eigen_method": solver}, "tapkee"
        )
        for solver in solvers
    }


def other_pca(k: int) -> dict[str, Tool]:
    return {
        "faiss PCAMatrix": Tool("peers:FaissPCA", {"n_components": k}, "faiss"),
        "TorchDR PCA": Tool("peers:TorchPCA", {"n_components": k}, "torchdr"),
    }


def torch_pca(k: int) -> dict[str, Tool]:
    return {
        "TorchDR ExactIncrementalPCA": Tool(
            "peers:TorchCovariancePCA", {"n_components": k}, "torchdr"
        )
    }


def covariance_pca(k: int) -> dict[str, Tool]:
    """Every tool that can form the covariance matrix of few columns."""
    return (
        lowd("PCA", k)
        | sklearn_pca(k, "auto", "covariance_eigh", "randomized")
        | intelex_pca(k, "auto", "covariance_eigh")
        | tapkee("pca", k, "arpack", "randomized")
        | other_pca(k)
        | torch_pca(k)
    )


def projection(name: str, k: int, **params: Any) -> Tool:
    return Tool(PROJECT + name, {"n_components": k, "random_state": 0, **params})


def row(method: str, ours: dict[str, Tool], peers: dict[str, Tool]) -> Case:
    task = f"{method}: transform of one row, 5000×784 fitted"
    return Case(task, "images", 5200, 0, "batch_difference", ours | peers, job="row")


def covariance(n: int, d: int) -> Floor:
    return Floor(n * d * d, 4 * n * d)


def gram(n: int, d: int) -> Floor:
    return Floor(n * n * d, 4 * n * d)


def one_read(n: int, d: int) -> Floor:
    return Floor(0, 4 * n * d)


def landmarks(n: int, d: int) -> Floor:
    return Floor(2 * n * d * 1000 + n * 1000**2, 4 * n * (d + 1000))


def dense_projection(n: int, d: int) -> Floor:
    return Floor(2 * n * d * 300, 4 * n * (d + 300))


def read_and_write(n: int, d: int) -> Floor:
    return Floor(0, 4 * n * (d + 300))


GAUSSIAN = {"scikit-learn Gaussian": projection("GaussianRandomProjection", 300)}
SEEDED = {"random_state": 0}
FIRST = (
    "; import numpy as np; PCA(2).fit_transform(np.random.default_rng(0).random((1000, 20), 'f'))"
)

LINEAR_CASES: dict[str, Case | Startup] = {
    "pca-50": Case(
        "PCA, 70000×784, 50 components",
        "images",
        70_000,
        50,
        "principal_subspace",
        covariance_pca(50),
        targets=(Target("scikit-learn auto", 1.2, errors={"angle": 1e-2}),),
        floor=covariance,
        scales=True,
    ),
    "pca-2": Case(
        "PCA, 70000×784, 2 components",
        "images",
        70_000,
        2,
        "principal_subspace",
        covariance_pca(2),
        targets=(Target("scikit-learn ", 3),),
        floor=one_read,
    ),
    "pca-offset": Case(
        "PCA, 20000×50, mean 1000, standard deviation 1, 5 components",
        "offset",
        20_000,
        5,
        "principal_axes",
        covariance_pca(5),
        targets=(Target(errors={"sine": 1e-2}),),
        floor=covariance,
    ),
    "pca-tall": Case(
        "PCA, 1000000×50, 10 components",
        "tall",
        1_000_000,
        10,
        "principal_subspace",
        covariance_pca(10),
        floor=covariance,
    ),
    "pca-wide": Case(
        "PCA, 500×50000, 50 components",
        "wide",
        500,
        50,
        "principal_subspace",
        lowd("PCA", 50)
        | sklearn_pca(50, "auto", "full", "arpack")
        | intelex_pca(50, "auto")
        | other_pca(50),
        floor=gram,
    ),
    "pca-sparse": Case(
        "PCA, 11314×100000 sparse word counts, 50 components",
        "words",
        11_314,
        50,
        "principal_subspace",
        lowd("PCA", 50) | sklearn_pca(50, "arpack"),
    ),
    "mds-x": Case(
        "ClassicalMDS, 5000×784 rows",
        "images",
        5000,
        2,
        "classical_mds",
        lowd("ClassicalMDS", 2)
        | {"scikit-learn ClassicalMDS": Tool("sklearn.manifold:ClassicalMDS", {"n_components": 2})}
        | {"scikit-learn PCA (same answer)": Tool(SKLEARN + "PCA", {"n_components": 2})}
        | tapkee("mds", 2, "arpack", "randomized"),
        targets=(Target("scikit-learn ClassicalMDS", 500),),
        floor=one_read,
    ),
    "mds-d": Case(
        "ClassicalMDS, 5000×5000 distances",
        "distances",
        5000,
        2,
        "classical_mds",
        lowd("ClassicalMDS", 2, metric="precomputed")
        | {
            "scikit-learn ClassicalMDS": Tool(
                "sklearn.manifold:ClassicalMDS", {"n_components": 2, "metric": "precomputed"}
            )
        },
        targets=(Target("scikit-learn ClassicalMDS", 100),),
        floor=one_read,
    ),
    "kpca-rbf": Case(
        "KernelPCA rbf, 10000×784, 2 components",
        "images",
        10_000,
        2,
        "rbf",
        kernel_pca("rbf", 2)
        | {"TorchDR KernelPCA": Tool("peers:TorchKernelPCA", {"n_components": 2}, "torchdr")},
        targets=(Target("scikit-learn ", 2.5),),
        floor=gram,
        scales=True,
    ),
    "kpca-landmarks": Case(
        "KernelPCA rbf, 70000×784, 1000 landmarks, 2 components",
        "images",
        70_000,
        2,
        "kernel_trace",
        lowd("KernelPCA", 2, kernel="rbf", n_landmarks=1000)
        | {
            "scikit-learn Nystroem + PCA": Tool(
                "peers:NystroemPCA", {"n_components": 2, "n_landmarks": 1000}, "sklearn"
            ),
            "scikit-learn KernelPCA": Tool(
                SKLEARN + "KernelPCA",
                {"n_components": 2, "kernel": "rbf", "eigen_solver": "arpack"},
            ),
        },
        targets=(Target(seconds=3, bytes=2e9),),
        floor=landmarks,
    ),
    "kpca-poly": Case(
        "KernelPCA poly, 5000×784, 2 components",
        "images",
        5000,
        2,
        "poly",
        kernel_pca("poly", 2),
        floor=gram,
    ),
    "kpca-cosine": Case(
        "KernelPCA cosine, 5000×784, 2 components",
        "images",
        5000,
        2,
        "cosine",
        kernel_pca("cosine", 2),
        floor=gram,
    ),
    "kpca-linear": Case(
        "KernelPCA linear, 5000×784, 2 components",
        "images",
        5000,
        2,
        "linear",
        kernel_pca("linear", 2) | tapkee("kpca", 2, "arpack", "randomized"),
        floor=one_read,
    ),
    "project-gaussian": Case(
        "Gaussian projection, 70000×784 to 300",
        "images",
        70_000,
        300,
        "distance_ratios",
        lowd("GaussianRandomProjection", 300, **SEEDED)
        | GAUSSIAN
        | {"faiss RandomRotation": Tool("peers:FaissRotation", {"n_components": 300}, "faiss")}
        | {
            "Tapkee random_projection": Tool(
                "peers:Tapkee", {"n_components": 300, "method": "random_projection"}, "tapkee"
            )
        },
        targets=(Target("scikit-learn Gaussian", 1),),
        floor=dense_projection,
        scales=True,
    ),
    "project-hadamard": Case(
        "Hadamard projection, 70000×784 to 300",
        "images",
        70_000,
        300,
        "distance_ratios",
        lowd("HadamardRandomProjection", 300, **SEEDED) | GAUSSIAN,
        targets=(Target("scikit-learn Gaussian", 8),),
        floor=read_and_write,
        scales=True,
    ),
    "project-sparse": Case(
        "Sparse projection, 70000×784 to 300",
        "images",
        70_000,
        300,
        "distance_ratios",
        lowd("SparseRandomProjection", 300, **SEEDED)
        | {
            "scikit-learn Sparse": projection("SparseRandomProjection", 300, dense_output=True),
        },
        floor=read_and_write,
    ),
    "row-pca": row(
        "PCA",
        lowd("PCA", 50),
        sklearn_pca(50, "auto")
        | intelex_pca(50, "auto")
        | {"faiss PCAMatrix": Tool("peers:FaissPCA", {"n_components": 50}, "faiss")},
    ),
    "row-mds": row("ClassicalMDS", lowd("ClassicalMDS", 2), {}),
    "row-mds-manhattan": row(
        "ClassicalMDS manhattan", lowd("ClassicalMDS", 2, metric="manhattan"), {}
    ),
    "row-kpca": row(
        "KernelPCA rbf",
        lowd("KernelPCA", 2, kernel="rbf"),
        {
            "scikit-learn arpack": Tool(
                SKLEARN + "KernelPCA",
                {"n_components": 2, "kernel": "rbf", "eigen_solver": "arpack"},
            )
        },
    ),
    "row-gaussian": row(
        "Gaussian projection", lowd("GaussianRandomProjection", 300, **SEEDED), GAUSSIAN
    ),
    "row-hadamard": row(
        "Hadamard projection", lowd("HadamardRandomProjection", 300, **SEEDED), GAUSSIAN
    ),
    "row-sparse": row(
        "Sparse projection",
        lowd("SparseRandomProjection", 300, **SEEDED),
        {"scikit-learn Sparse": projection("SparseRandomProjection", 300, dense_output=True)},
    ),
    "import": Startup(
        "import",
        {
            "lowd": ("lowd", "import lowd"),
            "scikit-learn": ("sklearn", "import sklearn"),
            "scikit-learn-intelex": ("sklearnex", "import sklearnex"),
            "Tapkee": ("tapkee", "import tapkee"),
            "faiss": ("faiss", "import faiss"),
            "TorchDR": ("torchdr", "import torchdr"),
        },
        targets=(Target("scikit-learn", 5), Target(seconds=0.15)),
    ),
    "import-class": Startup(
        "import of the PCA class",
        {
            "lowd": ("lowd", "from lowd import PCA"),
            "scikit-learn": ("sklearn", "from sklearn.decomposition import PCA"),
            "scikit-learn-intelex": ("sklearnex", "from sklearnex.decomposition import PCA"),
            "TorchDR": ("torchdr", "from torchdr import PCA"),
        },
    ),
    "first-result": Startup(
        "import and PCA(2) of 1000×20, from a fresh interpreter",
        {
            "lowd": ("lowd", "from lowd import PCA" + FIRST),
            "scikit-learn": ("sklearn", "from sklearn.decomposition import PCA" + FIRST),
            "scikit-learn-intelex": (
                "sklearnex",
                "from sklearnex.decomposition import PCA" + FIRST,
            ),
            "TorchDR": ("torchdr", "from torchdr import PCA" + FIRST),
        },
    ),
}
