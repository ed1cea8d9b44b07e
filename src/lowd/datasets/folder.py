"""Known data sets: those that scikit-learn brings along, and those of the data folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, MissingFileError, ParameterError
from .sample import Dataset

Arrays = dict[str, NDArray[Any]]
_BUNDLED = {
    "digits": "1797 handwritten digits, 8 × 8 pixels",
    "iris": "150 iris flowers, 4 measures, 3 species",
    "wine": "178 wines, 13 measures, 3 growers",
}


@dataclass(frozen=True)
class _Known:
    file: str
    what: str  # one line for a list
    holds: str  # the arrays that the file must hold
    source: str  # where the data can be had
    build: Callable[[str, Arrays], Dataset]


def known() -> dict[str, str]:
    """Name -> what it is, of every set that `load` knows."""
    return _BUNDLED | {name: entry.what for name, entry in _KNOWN.items()}


def load(name: str, data: str | os.PathLike[str] | None = None) -> Dataset:
    """A known data set.

    Those that are not part of scikit-learn are read from the folder `data`, or the one that the
    environment variable LOWD_DATA names; when the file is not there, the error says how to get it.

    >>> from lowd import datasets
    >>> datasets.load("digits")
    Dataset('digits', 1797 × 64 float64, rows)
    """
    if name in _BUNDLED:
        return _bundled(name)
    if name not in _KNOWN:
        raise ParameterError(f"load({name!r}): expected one of {', '.join(known())}.")
    entry = _KNOWN[name]
    path = _found(entry, name, data)
    with np.load(path, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    try:
        return entry.build(name, arrays)
    except (KeyError, IndexError) as error:
        raise DataError(
            f"{path}: {error} is missing; {entry.file} must hold {entry.holds}."
        ) from None


def _found(entry: _Known, name: str, data: str | os.PathLike[str] | None) -> Path:
    folder = os.environ.get("LOWD_DATA", "") if data is None else os.fspath(data)
    if folder and (Path(folder) / entry.file).is_file():
        return Path(folder) / entry.file
    where = f"is not in {folder!r}" if folder else "was not found: no data folder is set"
    raise MissingFileError(
        f"the data set {name!r} ({entry.what}) {where}. To use it, get it from {entry.source}, "
        f"store it as {entry.file} with {entry.holds} (numpy.savez), and name its folder by "
        "data=... or the environment variable LOWD_DATA."
    )


def _bundled(name: str) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    extra = {"image_shape": np.array([8, 8])} if name == "digits" else {}
    names = np.array([str(label) for label in bunch.target_names])
    return Dataset(name, bunch.data, None, bunch.target, names[bunch.target], "rows", extra)


def _classes(name: str, arrays: Arrays) -> Dataset:
    """Rows with one class each, called by its name where names are given."""
    X, y, names = arrays["X"], arrays["y"], arrays.get("label_names")
    labels = y if names is None else names[y]
    return Dataset(name, X, None, y, labels, "rows", _rest(arrays, "X", "y", "label_names"))


def _pose(name: str, arrays: Arrays) -> Dataset:
    X, truth = arrays["X"], arrays["y"]
    return Dataset(name, X, truth, truth[:, 1], None, "rows", _rest(arrays, "X", "y"))


def _film(name: str, arrays: Arrays) -> Dataset:
    X = arrays["X"]
    return Dataset(name, X, None, np.arange(len(X)), None, "rows", _rest(arrays, "X"))


def _genotypes(name: str, arrays: Arrays) -> Dataset:
    """Allele counts; the truth is where each population lives, if that is known."""
    X, y, names = arrays["X"], arrays["y"], arrays["label_names"]
    truth = arrays["pop_latlon"][y] if "pop_latlon" in arrays else None
    return Dataset(name, X, truth, y, names[y], "genotypes", _rest(arrays, "X"))


def _words(name: str, arrays: Arrays) -> Dataset:
    rank = np.arange(len(arrays["X"]))
    return Dataset(name, arrays["X"], None, rank, None, "rows", {"words": arrays["words"]})


def _matrix(name: str, arrays: Arrays) -> Dataset:
    """A square matrix of distances or similarities, with the names of its rows as labels."""
    similar = f"{name}_S" in arrays
    X = arrays[f"{name}_S" if similar else f"{name}_D"]
    kind = "similarities" if similar else "distances"
    return Dataset(name, X, None, None, arrays[f"{name}_names"], kind)


def _rest(arrays: Arrays, *used: str) -> Arrays:
    return {key: array for key, array in arrays.items() if key not in used}


_SMACOF = "the R packages datasets and smacof"
_KNOWN = {
    "mnist": _Known(
        "mnist.npz",
        "70000 handwritten digits, 28 × 28 pixels",
        "X (70000 × 784, uint8), y and n_train",
        "sklearn.datasets.fetch_openml('mnist_784')",
        _classes,
    ),
    "isomap_faces": _Known(
        "isomap_faces_32x32.npz",
        "698 rendered faces, 32 × 32 pixels, with lighting and two angles",
        "X (698 × 1024) and y (698 × 3: lighting, left-right, up-down)",
        "the data page of the authors of Isomap (face_data.mat)",
        _pose,
    ),
    "frey_faces": _Known(
        "frey_faces.npz",
        "1965 frames of one face, 28 × 20 pixels",
        "X (1965 × 560) and image_shape",
        "the data page of Sam Roweis (frey_rawface.mat)",
        _film,
    ),
    "olivetti_faces": _Known(
        "olivetti_faces.npz",
        "400 faces of 40 people, 64 × 64 pixels (AT&T Laboratories Cambridge)",
        "X (400 × 4096), y and image_shape",
        "sklearn.datasets.fetch_olivetti_faces()",
        _classes,
    ),
    "genotypes_europe": _Known(
        "genotypes_hgdp_europe.npz",
        "156 Europeans × 66147 SNPs, 8 populations",
        "X (allele counts, -1 missing), y, label_names and pop_latlon",
        "the Human Genome Diversity Project",
        _genotypes,
    ),
    "genotypes_world": _Known(
        "genotypes_1000g_phase1.npz",
        "1092 people × 14079 SNPs, 14 populations",
        "X (allele counts), y and label_names",
        "the 1000 Genomes Project, phase 1",
        _genotypes,
    ),
    "pbmc3k": _Known(
        "pbmc3k_pca50.npz",
        "2638 blood cells × 50 principal components, 8 cell types",
        "X (2638 × 50), y and label_names",
        "scanpy.datasets.pbmc3k_processed()",
        _classes,
    ),
    "glove": _Known(
        "glove6b_100d_top20k.npz",
        "20000 word vectors of 100 dimensions, most frequent words first",
        "X (20000 × 100) and words",
        "the GloVe project (glove.6B.100d.txt)",
        _words,
    ),
} | {
    name: _Known(
        "mds_dissimilarities.npz",
        what,
        f"{name}_{'S' if name in ('ekman', 'wish') else 'D'} and {name}_names",
        _SMACOF,
        _matrix,
    )
    for name, what in {
        "eurodist": "road distances between 21 European cities",
        "UScitiesD": "air distances between 10 American cities",
        "ekman": "similarities of 14 colors",
        "wish": "similarities of 12 countries",
        "morse": "dissimilarities of 36 Morse codes",
        "guerry": "distances between 86 French departments",
        "stardist": "distances between 120 stars",
        "kinship": "dissimilarities of 15 words for relatives",
        "faceexp": "dissimilarities of 13 facial expressions",
        "trading": "dissimilarities of 20 trading countries",
    }.items()
}
