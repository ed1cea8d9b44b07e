"""Word vectors: what stands near what, and a map of chosen words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets, plot
from ..methods.mds import MDS
from ..methods.neighbors import NeighborsTransformer, neighbors
from .drawing import kept, panels
from .result import Demonstration, Number

GROUPS = {
    "animals": "dog cat horse cow sheep goat lion tiger wolf rabbit frog snake",
    "places": "france germany italy spain poland sweden norway greece japan china india brazil",
    "numbers": "one two three five seven ten twelve twenty hundred thousand million billion",
    "music": "piano violin guitar flute trumpet drums orchestra opera jazz song",
    "body": "head arm leg hand foot knee shoulder heart lung brain",
    "food": "bread butter cheese milk rice soup sugar salt meat wine",
}


def show(out: Path, data: Path | None = None) -> Demonstration:
    glove = datasets.load("glove", data)
    words = glove.extra["words"]
    near = NeighborsTransformer(n_neighbors=10, metric="cosine").fit(glove.X)
    chosen = [word for group in GROUPS.values() for word in group.split()]
    group = np.repeat(list(GROUPS), [len(group.split()) for group in GROUPS.values()])
    rows = glove.X[[_row(words, word) for word in chosen]]
    Y = MDS(2, metric="cosine").fit_transform(rows)
    figure, (ax,) = panels(1, 1, 9, 7.5)
    title = f"{len(chosen)} words by the angle between their vectors (MDS, cosine)"
    plot.scatter(Y, labels=group, text=chosen, title=title, ax=ax)
    king, man, woman = (glove.X[_row(words, word)] for word in ("king", "man", "woman"))
    riddle = nearest(near, words, king - man + woman, ("king", "man", "woman"), 1)
    frog = nearest(near, words, glove.X[_row(words, "frog")], ("frog",), 3)
    return Demonstration(
        "words",
        "Words: 20,000 vectors of 100 numbers",
        "Words that are used alike stand together: each theme has its own part of the map, and "
        "inside it the closest kin are neighbors.",
        (
            Number(
                "nearest to frog",
                ", ".join(frog),
                "toad, snake, frogs",
                "all of GloVe; toad is not among the 20,000",
            ),
            Number("king - man + woman", riddle[0], "queen", "the GloVe project"),
            Number("nearest word of the same theme: all 100 numbers", same(rows, group, "cosine")),
            Number("  the map", same(Y, group, "euclidean")),
        ),
        (kept(figure, out, "words"),),
    )


def nearest(
    near: NeighborsTransformer, words: Any, vector: Any, without: tuple[str, ...], count: int
) -> list[str]:
    """The nearest words, but for those of the question."""
    found = words[near.transform(vector[None]).indices]
    return [str(word) for word in found if word not in without][:count]


def same(rows: Any, group: Any, metric: str) -> float:
    """Share of the words whose nearest other word is of their theme."""
    first = neighbors(rows, 1, metric=metric).indices[:, 0]
    return float((group[first] == group).mean())


def _row(words: Any, word: str) -> int:
    return int(np.flatnonzero(words == word)[0])
