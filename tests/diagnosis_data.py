"""Data that tests of the diagnosis share: a cloud without faults, and changes of it."""

from __future__ import annotations

from functools import cache

import numpy as np

import lowd

CLOUD = np.random.default_rng(0).normal(size=(120, 4))


def changed(X=CLOUD, **columns):
    """A copy of some data with columns replaced: c2=values."""
    X = X.copy()
    for name, values in columns.items():
        X[:, int(name[1:])] = values
    return X


def with_nan():
    X = CLOUD.copy()
    X[7, 2] = np.nan
    X[9, 1] = np.inf
    return X


def two_clouds():
    return np.vstack([CLOUD, CLOUD[:60] + 100])


@cache
def clean():
    """The diagnosis of the cloud, computed once."""
    return lowd.diagnose(CLOUD)
