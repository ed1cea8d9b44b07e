"""Cases of t-SNE. Times include the neighbor search and the initialization."""

from __future__ import annotations

from cases import Case, Target, Tool, lowd

ITERATIONS = 750


def open_tsne(k: int) -> dict[str, Tool]:
    params = {"n_components": k, "n_iterations": ITERATIONS}
    return {"openTSNE": Tool("peers:OpenTSNE", params, "openTSNE")}


def tsne(rows: int, targets: tuple[Target, ...]) -> Case:
    """t-SNE in two dimensions, perplexity 30, the same number of iterations for every tool."""
    return Case(
        f"t-SNE, {rows}×50, perplexity 30, {ITERATIONS} iterations",
        "components",
        rows,
        2,
        "kl_divergence",
        lowd("TSNE", 2, max_iter=ITERATIONS)
        | open_tsne(2)
        | {
            "scikit-learn-intelex": Tool(
                "sklearnex.manifold:TSNE", {"n_components": 2, "max_iter": ITERATIONS}, "sklearnex"
            ),
        },
        targets=targets,
    )


# Late exaggeration keeps the clusters of so many points compact, and then 250 + 250 iterations are
# enough: see docs/methods/tsne.md.
MILLION = {"exaggeration": 2.0, "max_iter": 500}

EMBEDDING_CASES: dict[str, Case] = {
    "tsne-10k": tsne(10_000, (Target("scikit-learn-intelex", 4), Target("openTSNE", 20))),
    "tsne-70k": tsne(70_000, (Target("scikit-learn-intelex", 5), Target("openTSNE", 11))),
    "tsne-space": Case(
        f"t-SNE in three dimensions, 10000×50, perplexity 30, {ITERATIONS} iterations",
        "components",
        10_000,
        3,
        "kl_divergence",
        lowd("TSNE", 3, max_iter=ITERATIONS)
        | open_tsne(3)
        | {
            "scikit-learn": Tool(
                "sklearn.manifold:TSNE", {"n_components": 3, "max_iter": ITERATIONS, "n_jobs": 2}
            ),
        },
        targets=(Target("openTSNE", 10), Target("scikit-learn", 10)),
    ),
    "tsne-transform": Case(
        "t-SNE, 63000×50: transform of 7000 new points",
        "components",
        70_000,
        2,
        "held_out",
        lowd("TSNE", 2, max_iter=ITERATIONS) | open_tsne(2),
        targets=(Target("openTSNE", 5),),
        job="new",
    ),
    "tsne-million": Case(
        "t-SNE, 1000000×50",
        "clusters",
        1_000_000,
        2,
        "self_reported",
        lowd("TSNE", 2, **MILLION),
        targets=(Target(bytes=8e9),),
    ),
}
