"""Word vectors: nearest neighbors, and an embedding of chosen words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lowd import datasets, plot
from lowd.methods.mds import MDS
from lowd.neighbor_graph import NeighborsTransformer, neighbors
from lowd.parameters import Metric

from .drawing import make_panels, save_figure
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
    rows = glove.X[[_find_row(words, word) for word in chosen]]
    Y = MDS(2, metric="cosine").fit_transform(rows)
    figure, (ax,) = make_panels(1, 1, 9, 7.5)
    title = f"{len(chosen)} words by the angle between their vectors (MDS, cosine)"
    plot.scatter(Y, labels=group, text=chosen, title=title, ax=ax)
    king, man, woman = (glove.X[_find_row(words, word)] for word in ("king", "man", "woman"))
    riddle = find_nearest_words(near, words, king - man + woman, ("king", "man", "woman"), 1)
    frog = find_nearest_words(near, words, glove.X[_find_row(words, "frog")], ("frog",), 3)
    return Demonstration(
        "words",
        "Words: 20,000 vectors of 100 numbers",
        "Words that are used alike are close: each theme has its own region of the embedding, and "
        "within it similar words are neighbors.",
        (
            Number(
                "nearest to frog",
                ", ".join(frog),
                "toad, snake, frogs",
                "all of GloVe; toad is not among the 20,000",
            ),
            Number("king - man + woman", riddle[0], "queen", "the GloVe project"),
            Number(
                "nearest word of the same theme: all 100 dimensions",
                compute_theme_accuracy(rows, group, "cosine"),
            ),
            Number("  the embedding", compute_theme_accuracy(Y, group, "euclidean")),
        ),
        (save_figure(figure, out, "words"),),
    )


def find_nearest_words(
    near: NeighborsTransformer,
    words: NDArray[np.str_],
    vector: NDArray[np.float64],
    without: tuple[str, ...],
    count: int,
) -> list[str]:
    """The nearest words, without those of the query."""
    found = words[near.transform(vector[None]).indices]
    return [str(word) for word in found if word not in without][:count]


def compute_theme_accuracy(
    rows: NDArray[np.float64], group: NDArray[np.str_], metric: Metric
) -> float:
    """Share of the words whose nearest neighbor is of the same theme."""
    first = neighbors(rows, 1, metric=metric).indices[:, 0]
    return float((group[first] == group).mean())


def _find_row(words: NDArray[np.str_], word: str) -> int:
    return int(np.flatnonzero(words == word)[0])
