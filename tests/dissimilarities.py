"""Scaling of given dissimilarities, those of real studies among them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import lowd


def given(kind, D, k=2, **params):
    return getattr(lowd, kind)(k, metric="precomputed", **params).fit(np.asarray(D, float))


def shared(name):
    """Dissimilarities of a real study; these files are not part of the library."""
    root = os.environ.get("LOWD_DATA", Path(__file__).parents[1] / "../shared/data")
    path = Path(root) / "mds_dissimilarities.npz"
    if not path.exists():
        pytest.skip(f"{path.name} is not here (set LOWD_DATA to its folder)")
    with np.load(path) as file:
        if name + "_S" in file:
            D = 1 - file[name + "_S"]
            np.fill_diagonal(D, 0)
            return D, file[name + "_names"]
        return file[name + "_D"], file[name + "_names"]


def turned_onto(Y, Z):
    """Y moved, turned and scaled onto Z."""
    Y, Z = Y - Y.mean(0), Z - Z.mean(0)
    U, sizes, Vt = np.linalg.svd(Y.T @ Z)
    return (Y @ U @ Vt) * sizes.sum() / (Y**2).sum(), Z
