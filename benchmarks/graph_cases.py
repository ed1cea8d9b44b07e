"""Cases of the methods on neighbor graphs."""

from __future__ import annotations

from typing import Any

from cases import Case, Target, Tool, lowd

MANIFOLD = "sklearn.manifold:"


def manifold(name: str, k: int, **params: Any) -> Tool:
    return Tool(MANIFOLD + name, {"n_components": k, **params})


def tapkee(method: str, k: int, neighbors: int, **params: Any) -> dict[str, Tool]:
    """Its exact solver; its randomized one is less accurate and no faster here."""
    options = {"n_components": k, "method": method, "num_neighbors": neighbors, **params}
    return {"Tapkee": Tool("peers:Tapkee", {**options, "eigen_method": "arpack"}, "tapkee")}


def spectral(**params: Any) -> dict[str, Tool]:
    options = {"n_neighbors": 15, "affinity": "nearest_neighbors", "random_state": 0, **params}
    return {"scikit-learn SpectralEmbedding": manifold("SpectralEmbedding", 2, **options)}


def lle_family(name: str, variant: str, times: float, peers: dict[str, Tool]) -> Case:
    """A method of the LLE family on a Swiss roll."""
    theirs = manifold(
        "LocallyLinearEmbedding", 2, n_neighbors=12, method=variant, eigen_solver="arpack"
    )
    return Case(
        f"{name}, 20000-point Swiss roll, 12 neighbors",
        "roll",
        20_000,
        2,
        "swiss_roll",
        lowd(name, 2, n_neighbors=12) | {"scikit-learn arpack": theirs} | peers,
        targets=(Target("scikit-learn", times),),
    )


GRAPH_CASES: dict[str, Case] = {
    "isomap-roll": Case(
        "Isomap, 10000-point Swiss roll, 10 neighbors",
        "roll",
        10_000,
        2,
        "swiss_roll",
        lowd("Isomap", 2, n_neighbors=10)
        | {"scikit-learn": manifold("Isomap", 2, n_neighbors=10, n_jobs=2)},
        targets=(Target("scikit-learn", 10), Target(bytes=0.302e9)),
    ),
    # Tapkee requires a strongly connected graph and doubles k until it is, from 10 neighbors to 20.
    # More neighbors are more accurate: here all tools have 20.
    "isomap-roll-20": Case(
        "Isomap, 10000-point Swiss roll, 20 neighbors",
        "roll",
        10_000,
        2,
        "swiss_roll",
        lowd("Isomap", 2, n_neighbors=20)
        | {"scikit-learn": manifold("Isomap", 2, n_neighbors=20, n_jobs=2)}
        | tapkee("isomap", 2, 20),
        targets=(Target("scikit-learn", 10),),
    ),
    "isomap-landmarks": Case(
        "Isomap, 70000×784, 15 neighbors, 1000 landmarks",
        "images",
        70_000,
        2,
        "class_errors",
        lowd("Isomap", 2, n_neighbors=15, n_landmarks=1000),
        targets=(Target(seconds=20, bytes=3e9),),
    ),
    "lle": lle_family("LocallyLinearEmbedding", "standard", 2.5, tapkee("lle", 2, 12)),
    "modified-lle": lle_family("ModifiedLLE", "modified", 10, {}),
    "hessian-lle": lle_family("HessianLLE", "hessian", 10, tapkee("hlle", 2, 12)),
    "ltsa": lle_family("LTSA", "ltsa", 10, tapkee("ltsa", 2, 12)),
    "laplacian": Case(
        "Laplacian eigenmaps, 20000×50 of images, 15 neighbors",
        "components",
        20_000,
        2,
        "class_errors",
        lowd("LaplacianEigenmaps", 2, n_neighbors=15, affinity="binary")
        | spectral(n_jobs=2)
        | tapkee("laplacian_eigenmaps", 2, 15),
        targets=(Target("scikit-learn", 10),),
    ),
    "laplacian-70k": Case(
        "Laplacian eigenmaps, 70000×50 of images, 15 neighbors",
        "components",
        70_000,
        2,
        "class_errors",
        lowd("LaplacianEigenmaps", 2, n_neighbors=15),
        targets=(Target(bytes=8e9),),
    ),
    "laplacian-million": Case(
        "Laplacian eigenmaps, 1000000×50 in clusters, 15 neighbors",
        "clusters",
        1_000_000,
        2,
        "non_finite",
        lowd("LaplacianEigenmaps", 2, n_neighbors=15),
        targets=(Target(bytes=8e9),),
    ),
    "diffusion": Case(
        "Diffusion maps, 5000×50 of images, dense kernel",
        "components",
        5000,
        2,
        "class_errors",
        lowd("DiffusionMaps", 2) | tapkee("diffusion_map", 2, 15),
    ),
}
