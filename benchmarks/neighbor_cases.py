"""The nearest neighbors of every row: exact ones, and nearly exact ones of a million rows."""

from __future__ import annotations

from typing import Any

from cases import Bar, Case, Floor, Tool

FAISS, DESCENT, HNSW = "faiss IndexFlatL2", "pynndescent", "hnswlib"
SWIFT = (Bar(DESCENT, 1.5), Bar(DESCENT, 10, cold=True))


def tool(name: str, k: int, needs: str, **params: Any) -> Tool:
    compiles = needs == "pynndescent"
    return Tool(f"peers:{name}", {"n_neighbors": k, **params}, needs, compiles)


def half_of_all_pairs(n: int, d: int) -> Floor:
    """Every pair once, without leaving any out; lowd leaves out most."""
    return Floor(n * n * d, 4 * n * d)


def searched(data: str, columns: int, k: int, *bars: Bar) -> Case:
    return Case(
        f"neighbors, 70000×{columns}, k = {k}",
        data,
        70_000,
        k,
        "neighbors",
        {
            "lowd": tool("LowdNeighbors", k, "lowd"),
            FAISS: tool("FaissNeighbors", k, "faiss"),
            DESCENT: tool("DescentNeighbors", k, "pynndescent"),
            HNSW: tool("HnswNeighbors", k, "hnswlib"),
            "scikit-learn brute": tool("SklearnNeighbors", k, "sklearn", algorithm="brute"),
        },
        bars=bars,
        floor=half_of_all_pairs,
    )


NEIGHBOR_CASES: dict[str, Case] = {
    "neighbors-50-15": searched("components", 50, 15, Bar(FAISS, 6), *SWIFT),
    "neighbors-50-90": searched("components", 50, 90, Bar(FAISS, 4.5)),
    "neighbors-784-15": searched("images", 784, 15, Bar(FAISS, 10)),
    "neighbors-784-90": searched("images", 784, 90, Bar(FAISS, 7)),
    "neighbors-million": Case(
        "neighbors, 1 million × 50 in clusters, k = 15",
        "clusters",
        1_000_000,
        15,
        "neighbors",
        {
            "lowd": tool("LowdNeighbors", 15, "lowd"),
            DESCENT: tool("DescentNeighbors", 15, "pynndescent"),
            HNSW: tool("HnswNeighbors", 15, "hnswlib"),
        },
        bars=(Bar(DESCENT, 1.5), Bar(errors={"missed": 0.01})),
    ),
    "neighbors-roll": Case(
        "neighbors, 100000-point Swiss roll, k = 12",
        "roll",
        100_000,
        12,
        "neighbors",
        {
            "lowd": tool("LowdNeighbors", 12, "lowd"),
            "scikit-learn kd_tree": tool("SklearnNeighbors", 12, "sklearn", algorithm="kd_tree"),
            DESCENT: tool("DescentNeighbors", 12, "pynndescent"),
        },
    ),
}
