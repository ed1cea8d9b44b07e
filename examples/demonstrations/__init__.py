"""Classic demonstrations of dimension reduction: figures, and numbers next to published ones."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

from lowd.errors import ExistingFileError, ParameterError
from lowd.plot.canvas import hide_figures

from .result import Demonstration as Demonstration
from .result import Number as Number

__all__ = ["DEMOS", "Demonstration", "Number", "run"]

#: What each demonstration shows, by the name that `run` takes.
DEMOS = {
    "swiss-roll": "the Swiss roll by every method, side by side",
    "digits": "handwritten digits by t-SNE, LLE, Isomap and PCA",
    "face-pose": "Isomap finds light and two angles of a rendered face",
    "face-expression": "LLE orders the expressions of a face in a film",
    "eigenfaces": "the mean face, its principal components, and reconstructed faces",
    "genes-geography": "two principal components of genes follow the map of Europe, roughly",
    "city-distances": "classical MDS recovers the map of cities from their distances",
    "colors": "non-metric MDS of judged similarities finds the color circle",
    "words": "neighborhoods of word vectors, and an embedding of chosen words",
    "pca-steps": "the six steps of PCA",
    "pca-failures": "three ways in which PCA fails",
}

# Files in the data folder; without mnist.npz, digits have one figure less.
NEEDS = {
    "face-pose": "isomap_faces_32x32.npz",
    "face-expression": "frey_faces.npz",
    "eigenfaces": "olivetti_faces.npz",
    "genes-geography": "genotypes_hgdp_europe.npz",
    "words": "glove6b_100d_top20k.npz",
}


def run(
    name: str,
    out: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
) -> Demonstration:
    """Run a demonstration of `DEMOS`; its figures go to the folder `out`.

    Figures that exist already are only replaced if `force` is true.

    Some read data sets from the folder `data`, or the one that LOWD_DATA names; without them the
    error says how to get the file.

    >>> import tempfile
    >>> import demonstrations
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = demonstrations.run("colors", folder)
    >>> result.numbers[0].what, result.numbers[0].here
    ('lights next to their neighbors in the spectrum', 14)
    """
    if name not in DEMOS:
        raise ParameterError(f"demonstration {name!r}: expected one of {', '.join(DEMOS)}.")
    folder = Path(out)
    existing = sorted(folder.glob(f"{name}*.png"))
    if existing and not force:
        raise ExistingFileError(
            f"{existing[0]} already exists; name another folder, or set force=True."
        )
    if folder.exists() and not folder.is_dir():
        raise ExistingFileError(f"{folder} is a file; name a folder for the figures.")
    demo = import_module(f".{name.replace('-', '_')}", __name__)
    with hide_figures():
        result: Demonstration = demo.show(folder, None if data is None else Path(data))
    return result
