"""Cases of UMAP with its defaults. Times include the neighbor search and the initialization.

umap-learn is compared twice: without a seed it runs on all cores, with one on a single core.
embedding-atlas (0.26) calls umap-learn from Python; its own implementation runs in browsers only.
"""

from __future__ import annotations

from cases import Case, Target, Tool, lowd


def peers() -> dict[str, Tool]:
    return {
        "umap-learn, all cores": Tool("peers:UMAPLearn", {}, "umap", compiles=True),
        "umap-learn, seeded": Tool("peers:UMAPLearn", {"seed": 0}, "umap", compiles=True),
        "scranpy": Tool("peers:ScranpyUMAP", {}, "scranpy"),
        "fastumap": Tool("peers:FastUMAP", {}, "fastumap"),
    }


def umap(name: str, data: str, rows: int, targets: tuple[Target, ...]) -> Case:
    """UMAP in two dimensions; quality as of `evaluators.embedding_quality`."""
    tools = lowd("UMAP", 2) | peers()
    return Case(f"UMAP, {name} {rows}×50", data, rows, 2, "embedding_quality", tools, targets)


LEARN, SEEDED = "umap-learn, all cores", "umap-learn, seeded"

UMAP_CASES: dict[str, Case] = {
    "umap-10k": umap(
        "images", "components", 10_000, (Target(LEARN, 15), Target(LEARN, 30, cold=True))
    ),
    "umap-70k": umap("images", "components", 70_000, (Target(LEARN, 10), Target(SEEDED, 15))),
    "umap-mnist": umap("MNIST", "mnist_components", 70_000, (Target(LEARN, 8),)),
    "umap-transform": Case(
        "UMAP, 63000×50: transform of 7000 new points",
        "components",
        70_000,
        2,
        "held_out",
        lowd("UMAP", 2) | {LEARN: peers()[LEARN]},
        targets=(Target(LEARN, 10),),
        job="new",
    ),
    "umap-row": Case(
        "UMAP: transform of one row, 5000×50 fitted",
        "components",
        5200,
        2,
        "batch_difference",
        lowd("UMAP", 2) | {LEARN: peers()[LEARN]},
        job="row",
    ),
    "umap-million": Case(
        "UMAP, 1000000×50",
        "clusters",
        1_000_000,
        2,
        "self_reported",
        lowd("UMAP", 2) | {LEARN: peers()[LEARN]},
        targets=(Target(seconds=60, bytes=5e9),),
    ),
}
