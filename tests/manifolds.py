"""Curved data with known coordinates, for tests of methods that follow a manifold."""

from __future__ import annotations

import numpy as np
from scipy.spatial import procrustes


def roll(n, seed=0):
    """A Swiss roll of n rows, and each row's length along the roll and its height."""
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    height = 21 * rng.random(n)
    return _rolled(t, height)


def roll_with_hole(n, seed=0):
    """The same with a rectangle missing in the middle."""
    rng = np.random.default_rng(seed)
    t, height = 1.5 * np.pi * (1 + 2 * rng.random(3 * n)), 21 * rng.random(3 * n)
    hole = (np.abs(t - 3 * np.pi) < 0.5 * np.pi) & (np.abs(height - 10.5) < 4)
    return _rolled(t[~hole][:n], height[~hole][:n])


def s_curve(n, seed=0):
    """A sheet bent like an S, and each row's angle and height."""
    rng = np.random.default_rng(seed)
    t = 3 * np.pi * (rng.random(n) - 0.5)
    height = 2 * rng.random(n)
    X = np.column_stack([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)])
    return X, np.column_stack([t, height])


def lattice(width, height):
    """Points of a grid, which has ties everywhere."""
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    return np.column_stack([x.ravel(), y.ravel()]).astype(np.float64)


def _rolled(t, height):
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    along = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2  # arc length of the spiral
    return X, np.column_stack([along, height])


def affine_error(Y, truth, new=None, new_truth=None):
    """What the best affine map from Y leaves of the truth, over the truth's deviation."""
    A = np.column_stack([Y, np.ones(len(Y))])
    C = np.linalg.lstsq(A, truth)[0]
    if new is None:
        new, new_truth = Y, truth
    left = np.column_stack([new, np.ones(len(new))]) @ C - new_truth
    return float(np.sqrt((left**2).mean(0) / truth.var(0)).max())


def same_space(Y, Z):
    """Sine of the largest angle between the columns' spaces."""
    Q, R = np.linalg.qr(Y)[0], np.linalg.qr(Z)[0]
    return np.linalg.norm(Q - R @ (R.T @ Q), 2)


def disparity(truth, Y):
    """Procrustes: share of the truth's spread that no motion and scaling of Y can match."""
    return procrustes(truth, Y)[2]
