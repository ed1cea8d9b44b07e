"""Agreement of an embedding with ground truth: R², nearest-neighbor accuracy, Procrustes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowd.neighbor_graph import NeighborsTransformer

Floats = NDArray[np.float64]
EARTH_RADIUS_KM = 6371.0  # mean radius


def compute_r2(truth: ArrayLike, Y: ArrayLike) -> Floats:
    """R² of each column of `truth` by linear regression on the embedding."""
    wanted = np.atleast_2d(np.asarray(truth, np.float64).T).T
    return _r2(wanted, _design(Y) @ np.linalg.lstsq(_design(Y), wanted, rcond=None)[0])


def compute_new_r2(
    truth: ArrayLike, Y: ArrayLike, new_truth: ArrayLike, new_Y: ArrayLike
) -> Floats:
    """R² on new points, of the regression that was fitted to the training points."""
    line = np.linalg.lstsq(_design(Y), np.asarray(truth, np.float64), rcond=None)[0]
    return _r2(np.asarray(new_truth, np.float64), _design(new_Y) @ line)


def _design(Y: ArrayLike) -> Floats:
    rows = np.asarray(Y, np.float64)
    return np.column_stack([np.ones(len(rows)), rows])


def _r2(truth: Floats, guess: Floats) -> Floats:
    missed = ((truth - guess) ** 2).sum(0) / ((truth - truth.mean(0)) ** 2).sum(0)
    return np.asarray(1 - missed)


def compute_nearest_accuracy(
    X: ArrayLike, labels: NDArray[Any], Q: ArrayLike, Q_labels: NDArray[Any]
) -> float:
    """Accuracy of the nearest-neighbor classifier of `X` on the new rows `Q`."""
    near = NeighborsTransformer(n_neighbors=1).fit(X).transform(Q)
    first = near.indices[near.indptr[:-1]]  # rows are sorted by distance
    return float((labels[first] == Q_labels).mean())


class Procrustes(NamedTuple):
    """Procrustes transform: translation, rotation or reflection, and scaling."""

    origin: Floats
    rotation: Floats
    factor: float
    target: Floats

    def __call__(self, Y: ArrayLike) -> Floats:
        return np.asarray(self.factor * (np.asarray(Y) - self.origin) @ self.rotation + self.target)


def fit_procrustes(Y: ArrayLike, target: ArrayLike) -> Procrustes:
    """The Procrustes transform that brings an embedding closest to the target."""
    source, goal = np.asarray(Y, np.float64), np.asarray(target, np.float64)
    A, B = source - source.mean(0), goal - goal.mean(0)
    U, s, Vt = np.linalg.svd(A.T @ B)
    return Procrustes(source.mean(0), U @ Vt, float(s.sum() / (A**2).sum()), goal.mean(0))


def compute_rmse(Y: ArrayLike, target: ArrayLike) -> float:
    """Root mean square distance from the target, in its units."""
    return float(np.sqrt(((np.asarray(Y) - np.asarray(target)) ** 2).sum(1).mean()))


def project_to_plane(latlon: ArrayLike, center: tuple[float, float] | None = None) -> Floats:
    """Azimuthal equidistant projection: kilometers east and north of a center.

    >>> project_to_plane([[0.0, 0.0], [0.0, 90.0]], center=(0.0, 0.0)).round(0) + 0.0
    array([[    0.,     0.],
           [10008.,     0.]])
    """
    radians = np.radians(np.atleast_2d(np.asarray(latlon, np.float64)))
    lat, lon = radians.T
    lat0, lon0 = np.radians(center) if center else radians.mean(0)
    east = np.cos(lat) * np.sin(lon - lon0)
    north = np.cos(lat0) * np.sin(lat) - np.sin(lat0) * np.cos(lat) * np.cos(lon - lon0)
    up = np.sin(lat0) * np.sin(lat) + np.cos(lat0) * np.cos(lat) * np.cos(lon - lon0)
    angle = np.arctan2(np.hypot(east, north), up)
    stretch = EARTH_RADIUS_KM / np.sinc(angle / np.pi)  # angle / sin(angle)
    return np.asarray(np.column_stack([east, north]) * stretch[:, None])
