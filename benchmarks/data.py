"""Data sets, made once and kept as files, so that every tool reads the same bytes.

The images are MNIST (`mnist.npz`: X, 70000 x 784 bytes, and y) of the folder LOWD_DATA, by default
../shared/data beside the project. Where that is absent, drawn clusters of the same shape stand in,
and the results say so.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "benchmarks"
SHARED = ROOT.parent / "shared" / "data"
N_CLASSES = 10


def mnist() -> Path | None:
    path = Path(os.environ.get("LOWD_DATA") or SHARED) / "mnist.npz"
    return path if path.is_file() else None


def images(rows: int) -> Any:
    """The first images, pixels in [0, 1]."""
    path = mnist()
    if path is None:
        return draw_images(rows)[0]
    with np.load(path, allow_pickle=False) as file:
        return file["X"][:rows].reshape(-1, 784) / np.float32(255)


def labels(rows: int) -> Any:
    """The classes of the images."""
    path = mnist()
    if path is None:
        return draw_images(rows)[1]
    with np.load(path, allow_pickle=False) as file:
        return file["y"][:rows].astype(int)


def draw_images(rows: int) -> tuple[Any, Any]:
    """Ten curved clusters of five dimensions in 784, with noise; and their classes."""
    rng = np.random.default_rng(0)
    known = rng.integers(N_CLASSES, size=rows)
    X = 0.05 * rng.standard_normal((rows, 784), np.float32)
    for label in range(N_CLASSES):
        own = known == label
        inner = rng.standard_normal((own.sum(), 5), np.float32)
        frame = rng.standard_normal((10, 784), np.float32) / 10
        center = 0.5 + 0.15 * rng.standard_normal(784, np.float32)
        X[own] += center + np.hstack([inner, inner**2 / 2]) @ frame
    return X, known


def components(rows: int) -> Any:
    """The first 50 principal components of the images."""
    X = images(rows).astype(np.float64)
    X -= X.mean(0)
    return X @ np.linalg.eigh(X.T @ X)[1][:, :-51:-1]


def clusters(rows: int) -> Any:
    """A thousand curved clusters of five dimensions in fifty, of different sizes, overlapping."""
    rng = np.random.default_rng(0)
    label = np.minimum(rng.geometric(0.003, rows) - 1, 999)
    centers = rng.normal(size=(1000, 50)) * 1.2
    frames = rng.normal(size=(1000, 10, 50)) / np.sqrt(10)
    inner = rng.normal(size=(rows, 5))
    inner = np.hstack([inner, inner**2 / 2])
    X = centers[label] + 0.1 * rng.normal(size=(rows, 50))
    for begin in range(0, rows, 10_000):
        part = slice(begin, begin + 10_000)
        X[part] += np.einsum("nk,nkd->nd", inner[part], frames[label[part]])
    return X


def roll(rows: int) -> Any:
    """A Swiss roll: a strip of width 21 along a spiral."""
    t, height = _draw_strip(rows)
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)])


def unrolled(rows: int) -> Any:
    """The true coordinates of the Swiss roll: length along the spiral, and height."""
    t, height = _draw_strip(rows)
    return np.column_stack([(t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2, height])


def _draw_strip(rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return 1.5 * np.pi * (1 + 2 * rng.random(rows)), 21 * rng.random(rows)


def words(rows: int) -> Any:
    """Weighted counts of 100,000 words: Zipf's law, 20 topics, about 100 words in a row."""
    rng = np.random.default_rng(0)
    vocabulary = 100_000
    lengths = rng.lognormal(4.8, 0.8, rows).astype(int) + 5
    row = np.repeat(np.arange(rows), lengths)
    topic = np.repeat(rng.integers(20, size=rows), lengths)
    cumulative = np.cumsum(1 / np.arange(10, vocabulary + 10) ** 1.1)
    column = np.searchsorted(cumulative, rng.random(len(row)) * cumulative[-1])
    column = (column + (rng.random(len(row)) < 0.3) * topic * 4999) % vocabulary
    counts = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(rows, vocabulary))
    found = np.bincount(counts.indices, minlength=vocabulary)
    counts.data = (1 + np.log(counts.data)) * np.log((1 + rows) / (1 + found))[counts.indices]
    norms = np.sqrt(counts.multiply(counts).sum(1))
    return sparse.csr_array(counts.multiply(1 / norms[:, None]))


def wine(rows: int) -> Any:
    """The 13 measurements of scikit-learn's wine, columns scaled; `write_wine` writes the file."""
    from sklearn.datasets import load_wine

    X = load_wine().data[:rows]
    return (X - X.mean(0)) / X.std(0)


def write_wine() -> Path:
    """A CSV file of the wine with the class in its last column, as in scikit-learn's frame."""
    from sklearn.datasets import load_wine

    CACHE.mkdir(parents=True, exist_ok=True)
    found, path = load_wine(), CACHE / "wine.csv"
    table = np.column_stack([found.data, found.target])
    names = ",".join([*found.feature_names, "target"])
    np.savetxt(path, table, fmt="%.10g", delimiter=",", header=names, comments="")
    return path


OF_IMAGES = ("images", "components")
SETS: dict[str, Callable[[int], Any]] = {
    make.__name__: make for make in (images, components, clusters, roll, words, wine)
}


def describe(name: str) -> str:
    """What a data set is made of, for the results."""
    if name in OF_IMAGES:
        return "MNIST" if mnist() else "drawn images (mnist.npz is not there)"
    return "wine" if name == "wine" else "drawn"


def load(name: str, rows: int) -> Any:
    """The data set as float32, from its file, which is made if it does not exist."""
    source = "mnist" if name in OF_IMAGES and mnist() else "drawn"
    path = CACHE / f"{source}-{name}-{rows}{'.npz' if name == 'words' else '.npy'}"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        X = SETS[name](rows).astype(np.float32)
        draft = path.with_stem(f"draft-{os.getpid()}-{path.stem}")
        sparse.save_npz(draft, X) if sparse.issparse(X) else np.save(draft, X)
        draft.rename(path)
    return sparse.load_npz(path) if path.suffix == ".npz" else np.load(path)
