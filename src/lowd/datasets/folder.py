"""Real data sets: those of scikit-learn, and those of a data folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..errors import DataError, MissingFileError, ParameterError
from .sample import Column, Dataset

Arrays: TypeAlias = dict[str, Column]
_BUNDLED = {
    "digits": "1797 handwritten digits, 8 × 8 pixels",
    "iris": "150 iris flowers, 4 measures, 3 species",
    "wine": "178 wines, 13 measures, 3 growers",
}


@dataclass(frozen=True)
class _DatasetFile:
    file: str
    summary: str  # one line
    contents: str  # arrays that the file must hold
    source: str  # where to get the data
    build: Callable[[str, Arrays], Dataset]


def list_datasets() -> dict[str, str]:
    """Name -> summary of every data set that `load` knows."""
    return _BUNDLED | {name: entry.summary for name, entry in _FILES.items()}


def load(name: str, data: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by name.

    Those that are not part of scikit-learn are read from the folder `data`, or the one that the
    environment variable LOWD_DATA names; when the file is not there, the error says how to get it.

    >>> from lowd import datasets
    >>> datasets.load("digits")
    Dataset('digits', 1797 × 64 float64, rows)
    """
    if name in _BUNDLED:
        return _load_bundled(name)
    if name not in _FILES:
        raise ParameterError(f"load({name!r}): expected one of {', '.join(list_datasets())}.")
    entry = _FILES[name]
    path = _find_file(entry, name, data)
    with np.load(path, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    try:
        return entry.build(name, arrays)
    except (KeyError, IndexError) as error:
        raise DataError(
            f"{path}: {error} is missing; {entry.file} must hold {entry.contents}."
        ) from None


def _find_file(entry: _DatasetFile, name: str, data: str | os.PathLike[str] | None) -> Path:
    folder = os.environ.get("LOWD_DATA", "") if data is None else os.fspath(data)
    if folder and (Path(folder) / entry.file).is_file():
        return Path(folder) / entry.file
    where = f"is not in {folder!r}" if folder else "was not found: no data folder is set"
    raise MissingFileError(
        f"the data set {name!r} ({entry.summary}) {where}. To use it, get it from {entry.source}, "
        f"store it as {entry.file} with {entry.contents} (numpy.savez), and name its folder by "
        "data=... or the environment variable LOWD_DATA."
    )


def _load_bundled(name: str) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    extra = {"image_shape": np.array([8, 8])} if name == "digits" else {}
    names = np.array([str(label) for label in bunch.target_names])
    return Dataset(name, bunch.data, None, bunch.target, names[bunch.target], "rows", extra)


def _build_classes(name: str, arrays: Arrays) -> Dataset:
    """Read rows with one class each, by name if the file has names."""
    X, y, names = arrays["X"], arrays["y"], arrays.get("label_names")
    labels = y if names is None else names[y]
    return Dataset(name, X, None, y, labels, "rows", _keep_others(arrays, "X", "y", "label_names"))


def _build_poses(name: str, arrays: Arrays) -> Dataset:
    X, truth = arrays["X"], arrays["y"]
    return Dataset(name, X, truth, truth[:, 1], None, "rows", _keep_others(arrays, "X", "y"))


def _build_frames(name: str, arrays: Arrays) -> Dataset:
    X = arrays["X"]
    return Dataset(name, X, None, np.arange(len(X)), None, "rows", _keep_others(arrays, "X"))


def _build_genotypes(name: str, arrays: Arrays) -> Dataset:
    """Read allele counts; the truth is each population's latitude and longitude, if known."""
    X, y, names = arrays["X"], arrays["y"], arrays["label_names"]
    truth = arrays["pop_latlon"][y] if "pop_latlon" in arrays else None
    return Dataset(name, X, truth, y, names[y], "genotypes", _keep_others(arrays, "X"))


def _build_words(name: str, arrays: Arrays) -> Dataset:
    rank = np.arange(len(arrays["X"]))
    return Dataset(name, arrays["X"], None, rank, None, "rows", {"words": arrays["words"]})


def _build_matrix(name: str, arrays: Arrays) -> Dataset:
    """Read a square matrix of distances or similarities, with row names as labels."""
    similar = f"{name}_S" in arrays
    X = arrays[f"{name}_S" if similar else f"{name}_D"]
    kind = "similarities" if similar else "distances"
    return Dataset(name, X, None, None, arrays[f"{name}_names"], kind)


def _keep_others(arrays: Arrays, *used: str) -> Arrays:
    return {key: array for key, array in arrays.items() if key not in used}


_SMACOF = "the R packages datasets and smacof"
_FILES = {
    "mnist": _DatasetFile(
        "mnist.npz",
        "70000 handwritten digits, 28 × 28 pixels",
        "X (70000 × 784, uint8), y and n_train",
        "sklearn.datasets.fetch_openml('mnist_784')",
        _build_classes,
    ),
    "isomap_faces": _DatasetFile(
        "isomap_faces_32x32.npz",
        "698 rendered faces, 32 × 32 pixels, with lighting and two angles",
        "X (698 × 1024) and y (698 × 3: lighting, left-right, up-down)",
        "the data page of the authors of Isomap (face_data.mat)",
        _build_poses,
    ),
    "frey_faces": _DatasetFile(
        "frey_faces.npz",
        "1965 frames of one face, 28 × 20 pixels",
        "X (1965 × 560) and image_shape",
        "the data page of Sam Roweis (frey_rawface.mat)",
        _build_frames,
    ),
    "olivetti_faces": _DatasetFile(
        "olivetti_faces.npz",
        "400 faces of 40 people, 64 × 64 pixels (AT&T Laboratories Cambridge)",
        "X (400 × 4096), y and image_shape",
        "sklearn.datasets.fetch_olivetti_faces()",
        _build_classes,
    ),
    "genotypes_europe": _DatasetFile(
        "genotypes_hgdp_europe.npz",
        "156 Europeans × 66147 SNPs, 8 populations",
        "X (allele counts, -1 missing), y, label_names and pop_latlon",
        "the Human Genome Diversity Project",
        _build_genotypes,
    ),
    "genotypes_world": _DatasetFile(
        "genotypes_1000g_phase1.npz",
        "1092 people × 14079 SNPs, 14 populations",
        "X (allele counts), y and label_names",
        "the 1000 Genomes Project, phase 1",
        _build_genotypes,
    ),
    "pbmc3k": _DatasetFile(
        "pbmc3k_pca50.npz",
        "2638 blood cells × 50 principal components, 8 cell types",
        "X (2638 × 50), y and label_names",
        "scanpy.datasets.pbmc3k_processed()",
        _build_classes,
    ),
    "glove": _DatasetFile(
        "glove6b_100d_top20k.npz",
        "20000 word vectors of 100 dimensions, most frequent words first",
        "X (20000 × 100) and words",
        "the GloVe project (glove.6B.100d.txt)",
        _build_words,
    ),
} | {
    name: _DatasetFile(
        "mds_dissimilarities.npz",
        summary,
        f"{name}_{'S' if name in ('ekman', 'wish') else 'D'} and {name}_names",
        _SMACOF,
        _build_matrix,
    )
    for name, summary in {
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
