"""Synthetic manifolds (Swiss roll, S curve, ...) and clusters with known coordinates.

Row i is a function of the seed and of i alone: a larger sample begins with the smaller one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import random
from ..errors import ParameterError
from .sample import Dataset

Floats = NDArray[np.float64]
# Rows drawn at a time where some are rejected; this is part of the data's definition.
BLOCK_ROWS = 1024


def swiss_roll(n: int = 1000, *, noise: float = 0.0, seed: int = 0) -> Dataset:
    """Swiss roll, a rolled-up sheet; the truth is the length along the roll and the height.

    >>> from lowd import datasets
    >>> roll = datasets.swiss_roll(500)
    >>> roll.X.shape, roll.truth.shape
    ((500, 3), (500, 2))
    """
    u, v = _draw_square(n, "swiss roll", seed)
    return _make_roll("swiss_roll", 1.5 * np.pi * (1 + 2 * u), 21 * v, noise, seed)


def roll_with_hole(n: int = 1000, *, noise: float = 0.0, seed: int = 0) -> Dataset:
    """Swiss roll with a rectangular hole in its middle."""

    def outside(u: Floats, v: Floats) -> NDArray[np.bool_]:
        return (np.abs(u - 0.5) >= 1 / 6) | (np.abs(v - 0.5) >= 0.2)

    u, v = _draw_square(n, "roll with hole", seed, outside)
    return _make_roll("roll_with_hole", 1.5 * np.pi * (1 + 2 * u), 21 * v, noise, seed)


def s_curve(n: int = 1000, *, noise: float = 0.0, seed: int = 0) -> Dataset:
    """S curve, a sheet bent by two arcs of radius 1; the truth is the length and the height."""
    u, v = _draw_square(n, "s curve", seed)
    t, height = 3 * np.pi * (u - 0.5), 2 * v
    X = np.column_stack([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)])
    return Dataset("s_curve", _add_noise(X, noise, seed), np.column_stack([t, height]), t)


def severed_sphere(n: int = 1000, *, noise: float = 0.0, seed: int = 0) -> Dataset:
    """Severed sphere, without poles and a slice; the truth is longitude and latitude in radians.

    No embedding in a plane preserves all of its distances: it tests what a method gives up.
    """

    def off_the_poles(_: Floats, v: Floats) -> NDArray[np.bool_]:
        return np.abs(v - 0.5) < 3 / 8

    u, v = _draw_square(n, "severed sphere", seed, off_the_poles)
    longitude, latitude = u * (2 * np.pi - 0.55), np.pi * (v - 0.5)
    circle = np.cos(latitude)
    X = np.column_stack([circle * np.cos(longitude), circle * np.sin(longitude), np.sin(latitude)])
    truth = np.column_stack([longitude, latitude])
    return Dataset("severed_sphere", _add_noise(X, noise, seed), truth, longitude)


def clusters(
    n: int = 1000,
    *,
    n_clusters: int = 5,
    n_features: int = 20,
    spread: float = 1.0,
    separation: float = 8.0,
    noise: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """Gaussian clusters in a random plane of the space; the truth is the position in the plane.

    Centers are drawn from a normal distribution of deviation `separation`, rows around them with
    deviation `spread`; row i belongs to cluster i modulo `n_clusters`.

    >>> from lowd import datasets
    >>> sample = datasets.clusters(90, n_clusters=3)
    >>> sample.X.shape, sample.labels[:4].tolist()
    ((90, 20), [0, 1, 2, 0])
    """
    if n_features < 2 or n_clusters < 1:
        raise ParameterError(
            f"clusters(n_clusters={n_clusters}, n_features={n_features}): at least 1 cluster and "
            "2 features are needed."
        )
    labels = np.arange(_check_size(n)) % n_clusters
    centers = separation * random.normals(seed, "cluster centers", (n_clusters, 2))
    truth = centers[labels] + spread * random.normals(seed, "cluster rows", (n, 2))
    axes, triangle = np.linalg.qr(random.normals(seed, "cluster plane", (n_features, 2)))
    X = truth @ (axes * np.sign(np.diag(triangle))).T
    return Dataset("clusters", _add_noise(X, noise, seed), truth, labels.astype(float), labels)


def _draw_square(
    n: int,
    stream: str,
    seed: int,
    keep: Callable[[Floats, Floats], NDArray[np.bool_]] | None = None,
) -> tuple[Floats, Floats]:
    """Draw n points of the unit square that `keep` accepts."""
    kept: list[Floats] = []
    start = found = 0
    while found < _check_size(n):
        index = np.arange(start, start + BLOCK_ROWS)
        points = np.stack([random.uniforms(seed, f"{stream} {axis}", index) for axis in "uv"])
        kept.append(points if keep is None else points[:, keep(*points)])
        start, found = start + BLOCK_ROWS, found + kept[-1].shape[1]
    u, v = np.hstack(kept)[:, :n]
    return u, v


def _make_roll(name: str, t: Floats, height: Floats, noise: float, seed: int) -> Dataset:
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    along = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2  # arc length of the spiral r = t
    return Dataset(name, _add_noise(X, noise, seed), np.column_stack([along, height]), along)


def _add_noise(X: Floats, noise: float, seed: int) -> Floats:
    return X + noise * random.normals(seed, "noise", X.shape) if noise else X


def _check_size(n: int) -> int:
    if n < 1:
        raise ParameterError(f"n={n}: a data set needs at least 1 row.")
    return n
