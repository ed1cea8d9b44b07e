"""Cases of the k-nearest-neighbor search: exact, and approximate on a million samples."""

from __future__ import annotations

from typing import Any

from cases import Case, Floor, Target, Tool

FAISS, DESCENT, HNSW = "faiss IndexFlatL2", "pynndescent", "hnswlib"
FASTER_THAN_DESCENT = (Target(DESCENT, 1.5), Target(DESCENT, 10, cold=True))


def tool(name: str, k: int, needs: str, **params: Any) -> Tool:
    compiles = needs == "pynndescent"
    return Tool(f"peers:{name}", {"n_neighbors": k, **params}, needs, compiles)


def half_of_all_pairs(n: int, d: int) -> Floor:
    """Every pair once, without pruning; lowd prunes most."""
    return Floor(n * n * d, 4 * n * d)


def search(data: str, columns: int, k: int, *targets: Target) -> Case:
    return Case(
        f"neighbors, 70000×{columns}, k = {k}",
        data,
        70_000,
        k,
        "missed_neighbors",
        {
            "lowd": tool("LowdNeighbors", k, "lowd"),
            FAISS: tool("FaissNeighbors", k, "faiss"),
            DESCENT: tool("DescentNeighbors", k, "pynndescent"),
            HNSW: tool("HnswNeighbors", k, "hnswlib"),
            "scikit-learn brute": tool("SklearnNeighbors", k, "sklearn", algorithm="brute"),
        },
        targets=targets,
        floor=half_of_all_pairs,
    )


NEIGHBOR_CASES: dict[str, Case] = {
    "neighbors-50-15": search("components", 50, 15, Target(FAISS, 6), *FASTER_THAN_DESCENT),
    "neighbors-50-90": search("components", 50, 90, Target(FAISS, 4.5)),
    "neighbors-784-15": search("images", 784, 15, Target(FAISS, 10)),
    "neighbors-784-90": search("images", 784, 90, Target(FAISS, 7)),
    "neighbors-million": Case(
        "neighbors, 1 million × 50 in clusters, k = 15",
        "clusters",
        1_000_000,
        15,
        "missed_neighbors",
        {
            "lowd": tool("LowdNeighbors", 15, "lowd"),
            DESCENT: tool("DescentNeighbors", 15, "pynndescent"),
            HNSW: tool("HnswNeighbors", 15, "hnswlib"),
        },
        targets=(Target(DESCENT, 1.5), Target(errors={"1 - recall": 0.01})),
    ),
    "neighbors-roll": Case(
        "neighbors, 100000-point Swiss roll, k = 12",
        "roll",
        100_000,
        12,
        "missed_neighbors",
        {
            "lowd": tool("LowdNeighbors", 12, "lowd"),
            "scikit-learn kd_tree": tool("SklearnNeighbors", 12, "sklearn", algorithm="kd_tree"),
            DESCENT: tool("DescentNeighbors", 12, "pynndescent"),
        },
    ),
}
