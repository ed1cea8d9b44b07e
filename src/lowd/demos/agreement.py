"""How well a map agrees with what is known of its points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..methods.neighbors import NeighborsTransformer

Floats = NDArray[np.float64]
EARTH = 6371.0  # mean radius, km


def explained(truth: Any, Y: Any) -> Floats:
    """R² of each column of `truth` by linear regression on the places."""
    wanted = np.atleast_2d(np.asarray(truth, np.float64).T).T
    return _r2(wanted, _design(Y) @ np.linalg.lstsq(_design(Y), wanted, rcond=None)[0])


def predicted(truth: Any, Y: Any, new_truth: Any, new_Y: Any) -> Floats:
    """R² on new points of the regression that was fitted to the old ones."""
    line = np.linalg.lstsq(_design(Y), np.asarray(truth, np.float64), rcond=None)[0]
    return _r2(np.asarray(new_truth, np.float64), _design(new_Y) @ line)


def _design(Y: Any) -> Floats:
    return np.column_stack([np.ones(len(Y)), np.asarray(Y, np.float64)])


def _r2(truth: Floats, guess: Floats) -> Floats:
    missed = ((truth - guess) ** 2).sum(0) / ((truth - truth.mean(0)) ** 2).sum(0)
    return np.asarray(1 - missed)


def recognized(old: Any, old_labels: Any, new: Any, new_labels: Any) -> float:
    """Share of the new rows whose nearest old one has their label."""
    near = NeighborsTransformer(n_neighbors=1).fit(old).transform(new)
    first = near.indices[near.indptr[:-1]]  # rows are sorted by distance
    return float((old_labels[first] == new_labels).mean())


class Turn(NamedTuple):
    """A shift, a rotation or mirror image, and one factor for all directions (Procrustes)."""

    origin: Floats
    rotation: Floats
    factor: float
    target: Floats

    def __call__(self, Y: Any) -> Floats:
        return np.asarray(self.factor * (Y - self.origin) @ self.rotation + self.target)


def onto(Y: Any, target: Any) -> Turn:
    """The turn that brings the places closest to the target."""
    Y, target = np.asarray(Y, np.float64), np.asarray(target, np.float64)
    centered, aim = Y - Y.mean(0), target - target.mean(0)
    U, sizes, Vt = np.linalg.svd(centered.T @ aim)
    factor = float(sizes.sum() / (centered**2).sum())
    return Turn(Y.mean(0), U @ Vt, factor, target.mean(0))


def miss(Y: Any, target: Any) -> float:
    """Root mean square distance from the target, in its units."""
    return float(np.sqrt(((np.asarray(Y) - target) ** 2).sum(1).mean()))


def flat(latlon: Any, center: tuple[float, float] | None = None) -> Floats:
    """Kilometers east and north of a center, distances from which are true.

    >>> flat([[0.0, 0.0], [0.0, 90.0]], center=(0.0, 0.0)).round(0) + 0.0
    array([[    0.,     0.],
           [10008.,     0.]])
    """
    places = np.radians(np.atleast_2d(np.asarray(latlon, np.float64)))
    lat, lon = places.T
    lat0, lon0 = np.radians(center) if center else places.mean(0)
    east = np.cos(lat) * np.sin(lon - lon0)
    north = np.cos(lat0) * np.sin(lat) - np.sin(lat0) * np.cos(lat) * np.cos(lon - lon0)
    up = np.sin(lat0) * np.sin(lat) + np.cos(lat0) * np.cos(lat) * np.cos(lon - lon0)
    angle = np.arctan2(np.hypot(east, north), up)
    stretch = EARTH / np.sinc(angle / np.pi)  # angle / sin(angle)
    return np.asarray(np.column_stack([east, north]) * stretch[:, None])
