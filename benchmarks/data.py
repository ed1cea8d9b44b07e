"""Data sets, generated once and stored as files, so that every tool reads the same bytes."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

FOLDER = Path(__file__).parent / ".data"
DEBIAN = "/usr/share/datasets/fashion-mnist"
ADVICE = (
    "Fashion-MNIST is not here: apt-get install dataset-fashion-mnist, or set LOWD_FASHION to "
    "the folder with its four files."
)


@cache
def source() -> tuple[str, Path | None]:
    """The images to use and their folder: Fashion-MNIST, else MNIST, else synthetic ones."""
    for name, folder in (
        ("Fashion-MNIST", os.environ.get("LOWD_FASHION", DEBIAN)),
        ("MNIST", os.environ.get("LOWD_DATA", "")),
    ):
        if folder and (Path(folder) / "train-images-idx3-ubyte.gz").exists():
            return name, Path(folder)
    return "synthetic images", None


def images(rows: int) -> Any:
    """The first rows of 70,000 images of 28 x 28 pixels in [0, 1]."""
    folder = source()[1]
    if folder is None:
        rng = np.random.default_rng(0)
        parts = rng.normal(size=(70_000, 60)) * 0.93 ** np.arange(60)
        return np.clip(parts @ rng.normal(size=(60, 784)) / 8 + 0.3, 0, 1)[:rows]
    files = [folder / f"{part}-images-idx3-ubyte.gz" for part in ("train", "t10k")]
    bytes_of = (gzip.decompress(path.read_bytes()) for path in files)
    pixels = [np.frombuffer(raw, np.uint8, offset=16) for raw in bytes_of]
    return np.concatenate(pixels).reshape(-1, 784)[:rows] / np.float32(255)


def distances(rows: int) -> Any:
    """Euclidean distances between images, exact before they are rounded to float32."""
    from scipy.spatial.distance import pdist, squareform

    return squareform(pdist(load("images", rows).astype(np.float64)))


def tall(rows: int) -> Any:
    """Fifty columns; the standard deviation falls by a tenth from component to component."""
    return _cloud(rows, 50, 0.9)


def offset(rows: int) -> Any:
    """Mean 1000 and standard deviation 1: half of float32's digits are the mean."""
    return 1000 + _cloud(rows, 50, 0.8)


def wide(rows: int) -> Any:
    """A hundred factors and noise in 50,000 columns."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(rows, 100)) * 0.97 ** np.arange(100)
    return factors @ rng.normal(size=(100, 50_000)) + rng.normal(size=(rows, 50_000))


def roll(rows: int) -> Any:
    """A Swiss roll: a strip of width 21 along a spiral."""
    t, height = _strip(rows)
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)])


def unrolled(rows: int) -> Any:
    """The true coordinates of the Swiss roll: length along the spiral, and height."""
    t, height = _strip(rows)
    return np.column_stack([(t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2, height])


def _strip(rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return 1.5 * np.pi * (1 + 2 * rng.random(rows)), 21 * rng.random(rows)


def components(rows: int) -> Any:
    """The first 50 principal components of the images."""
    X = images(70_000).astype(np.float64)
    mean = X.mean(0)
    scatter = X.T @ X - len(X) * np.outer(mean, mean)
    return (X[:rows] - mean) @ np.linalg.eigh(scatter)[1][:, :-51:-1]


def mnist_components(rows: int) -> Any:
    """The first 50 principal components of MNIST (mnist.npz in the folder LOWD_DATA)."""
    X = _mnist()["X"] / np.float32(255)
    mean = X.mean(0, dtype=np.float64)
    scatter = np.float64(X.T @ X) - len(X) * np.outer(mean, mean)
    return (X[:rows] - mean) @ np.linalg.eigh(scatter)[1][:, :-51:-1]


def _mnist() -> Any:
    path = Path(os.environ.get("LOWD_DATA", "")) / "mnist.npz"
    if not path.is_file():
        raise FileNotFoundError("Set LOWD_DATA to the folder with mnist.npz.")
    return np.load(path, allow_pickle=False)


def clusters(rows: int) -> Any:
    """A thousand curved clusters of five dimensions in fifty, of different sizes, overlapping."""
    rng = np.random.default_rng(0)
    label = np.minimum(rng.geometric(0.003, rows) - 1, 999)
    centers = rng.normal(size=(1000, 50)) * 1.2
    frames = rng.normal(size=(1000, 10, 50)) / np.sqrt(10)
    inner = rng.normal(size=(rows, 5))
    inner = np.hstack([inner, inner**2 / 2])
    out = np.empty((rows, 50), np.float32)
    for begin in range(0, rows, 10_000):
        part = slice(begin, begin + 10_000)
        curved = np.einsum("nk,nkd->nd", inner[part], frames[label[part]])
        out[part] = centers[label[part]] + curved + rng.normal(size=curved.shape) * 0.1
    return out


def labels(rows: int) -> Any:
    """Classes of the images; None where they are synthetic."""
    folder = source()[1]
    if folder is None:
        return None
    files = [folder / f"{part}-labels-idx1-ubyte.gz" for part in ("train", "t10k")]
    parts = [
        np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=8) for path in files
    ]
    return np.concatenate(parts)[:rows]


def labels_of(X: Any) -> Any:
    """Classes of the rows of a data set of 50 components, whichever of the two it is."""
    n = len(X)
    if np.array_equal(X[:5], load("components", n)[:5]):
        return labels(n)
    return _mnist()["y"][:n]


def words(rows: int) -> Any:
    """Weighted word counts like those of 20 newsgroups: Zipf's law, 20 topics, about 100 a row."""
    rng = np.random.default_rng(0)
    vocabulary = 100_000
    lengths = rng.lognormal(4.8, 0.8, rows).astype(int) + 5
    row = np.repeat(np.arange(rows), lengths)
    topic = np.repeat(rng.integers(20, size=rows), lengths)
    cumulative = np.cumsum(1 / np.arange(10, vocabulary + 10) ** 1.1)
    column = np.searchsorted(cumulative, rng.random(len(row)) * cumulative[-1])
    special = rng.random(len(row)) < 0.3
    column = (column + special * topic * 4999) % vocabulary
    counts = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(rows, vocabulary))
    found = np.bincount(counts.indices, minlength=vocabulary)
    counts.data = (1 + np.log(counts.data)) * np.log((1 + rows) / (1 + found))[counts.indices]
    lengths = np.sqrt(counts.multiply(counts).sum(1))
    return sparse.csr_array(counts.multiply(1 / lengths[:, None]))


def _cloud(rows: int, columns: int, decay: float) -> Any:
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(columns, columns)))[0]
    return (rng.normal(size=(rows, columns)) * decay ** np.arange(columns)) @ rotation


FROM_IMAGES = ("images", "distances", "components")
SETS: dict[str, Callable[[int], Any]] = {
    make.__name__: make
    for make in (
        images,
        distances,
        tall,
        offset,
        wide,
        words,
        roll,
        components,
        mnist_components,
        clusters,
    )
}


def load(name: str, rows: int) -> Any:
    """The data set as float32, from its file."""
    path = file(name, rows)
    return sparse.load_npz(path) if path.suffix == ".npz" else np.load(path)


def file(name: str, rows: int) -> Path:
    """Path of the data set; it is generated if it does not exist."""
    stem = f"{source()[0].split()[0]}-{name}" if name in FROM_IMAGES else name
    path = FOLDER / f"{stem}-{rows}{'.npz' if name == 'words' else '.npy'}"
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        X = SETS[name](rows).astype(np.float32)
        draft = path.with_stem(f"draft-{path.stem}")
        sparse.save_npz(draft, X) if sparse.issparse(X) else np.save(draft, X)
        draft.rename(path)
    return path
