"""Neighbor embedding: what is measured, with which tools. Times include neighbors and start."""

from __future__ import annotations

from cases import Bar, Case, Tool, lowd

STEPS = 750


def embedded(rows: int, faster: tuple[Bar, ...]) -> Case:
    """t-SNE in the plane, perplexity 30, as many steps for everyone."""
    return Case(
        f"t-SNE, {rows}×50, perplexity 30, {STEPS} steps",
        "components",
        rows,
        2,
        "divergence",
        lowd("TSNE", 2, max_iter=STEPS)
        | {
            "openTSNE": Tool("peers:OpenTSNE", {"n_components": 2, "steps": STEPS}, "openTSNE"),
            "scikit-learn-intelex": Tool(
                "sklearnex.manifold:TSNE", {"n_components": 2, "max_iter": STEPS}, "sklearnex"
            ),
        },
        bars=faster,
    )


# Late exaggeration keeps the clusters of so many points compact, and 250 + 250 steps are enough
# then: see the page of the method.
MILLION = {"exaggeration": 2.0, "max_iter": 500}

EMBEDDING_CASES: dict[str, Case] = {
    "tsne-10k": embedded(10_000, (Bar("scikit-learn-intelex", 4), Bar("openTSNE", 20))),
    "tsne-70k": embedded(70_000, (Bar("scikit-learn-intelex", 5), Bar("openTSNE", 11))),
    "tsne-space": Case(
        f"t-SNE in space, 10000×50, perplexity 30, {STEPS} steps",
        "components",
        10_000,
        3,
        "divergence",
        lowd("TSNE", 3, max_iter=STEPS)
        | {
            "openTSNE": Tool("peers:OpenTSNE", {"n_components": 3, "steps": STEPS}, "openTSNE"),
            "scikit-learn": Tool(
                "sklearn.manifold:TSNE", {"n_components": 3, "max_iter": STEPS, "n_jobs": 2}
            ),
        },
        bars=(Bar("openTSNE", 10), Bar("scikit-learn", 10)),
    ),
    "tsne-transform": Case(
        "t-SNE, 63000×50: places of 7000 new rows",
        "components",
        70_000,
        2,
        "held_out",
        lowd("TSNE", 2, max_iter=STEPS)
        | {"openTSNE": Tool("peers:OpenTSNE", {"n_components": 2, "steps": STEPS}, "openTSNE")},
        bars=(Bar("openTSNE", 5),),
        job="new",
    ),
    "tsne-million": Case(
        "t-SNE, 1000000×50",
        "clusters",
        1_000_000,
        2,
        "told",
        lowd("TSNE", 2, **MILLION),
        bars=(Bar(bytes=8e9),),
    ),
}
