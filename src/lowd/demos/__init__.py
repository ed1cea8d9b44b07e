"""The classic demonstrations: pictures, and numbers beside those that others found."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

from ..errors import ExistingFileError, ParameterError
from .result import Demonstration as Demonstration
from .result import Number as Number

DEMOS = {
    "swiss-roll": "a rolled sheet by every method, side by side",
    "digits": "handwritten digits by t-SNE, LLE, Isomap and PCA",
    "face-pose": "Isomap finds light and two angles of a rendered face",
    "face-expression": "LLE orders the expressions of a face in a film",
    "eigenfaces": "the mean face, its axes, and faces rebuilt from few of them",
    "genes-geography": "two axes of genetic variants draw the map of Europe",
    "city-distances": "the map of cities from their distances alone",
    "colors": "judgments of similarity contain the color circle",
    "words": "neighborhoods of word vectors, and a map of chosen words",
    "pca-steps": "the six steps of PCA",
    "pca-failures": "three ways in which PCA fails",
}

# Files of the data folder; without mnist.npz, digits have one picture less.
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
    """Run a demonstration of `DEMOS`; its pictures go to the folder `out`.

    Pictures that are there already are only replaced if `force` is true.

    Some read data sets from the folder `data`, or the one that LOWD_DATA names; without them the
    error says how to get the file.

    >>> import tempfile
    >>> from lowd import demos
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shown = demos.run("colors", folder)
    >>> shown.numbers[0].what, shown.numbers[0].here
    ('lights next to their neighbors in the spectrum', 14)
    """
    if name not in DEMOS:
        raise ParameterError(f"demonstration {name!r}: expected one of {', '.join(DEMOS)}.")
    folder = Path(out)
    there = sorted(folder.glob(f"{name}*.png"))
    if there and not force:
        raise ExistingFileError(
            f"{there[0]} is there already; name another folder, or set force=True (--force)."
        )
    if folder.exists() and not folder.is_dir():
        raise ExistingFileError(f"{folder} is a file; name a folder for the pictures.")
    demo = import_module(f".{name.replace('-', '_')}", __name__)
    shown: Demonstration = demo.show(folder, None if data is None else Path(data))
    return shown
