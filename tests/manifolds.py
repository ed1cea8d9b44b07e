"""Curved data with known coordinates, for tests of methods that follow a manifold."""

from __future__ import annotations

import numpy as np


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


def lattice(width, height):
    """Points of a grid, which has ties everywhere."""
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    return np.column_stack([x.ravel(), y.ravel()]).astype(np.float64)


def _rolled(t, height):
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    along = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2  # arc length of the spiral
    return X, np.column_stack([along, height])
