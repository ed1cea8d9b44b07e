"""Data of the cases: rows, counts, tables, words, distances and kernels, and metrics of a user."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist


def manhattan_distance(a, b, scale=1.0):
    """A metric on rows, written by a user."""
    return scale * float(np.abs(np.asarray(a, float) - np.asarray(b, float)).sum())


def edit_distance(a, b):
    """Levenshtein's distance between two words."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (letter != other))
    return float(row[-1])


def rbf_kernel(A, B, gamma=0.1):
    """A kernel of whole matrices, written by a user."""
    return np.exp(-gamma * cdist(A, B, "sqeuclidean"))


def shared_letters(a, b):
    """A kernel of two words."""
    return float(sum(a.count(letter) * b.count(letter) for letter in set(a)))


def rows_like(n, d=7, seed=0, dtype=np.float64):
    """Correlated columns around a mean, with well separated leading variances."""
    rng = np.random.default_rng(seed)
    mirror = np.random.default_rng(99).normal(size=d)
    mirror /= np.linalg.norm(mirror)
    Z = rng.normal(size=(n, d)) * np.maximum(1.4 ** -np.arange(d), 0.02)
    return (Z - 2 * np.outer(Z @ mirror, mirror) + 2).astype(dtype)


@cache
def make_data(source, dtype):
    """Training and held-out input of one kind."""
    X, Q = rows_like(60, seed=1), rows_like(23, seed=2)
    if source == "counts":
        rng = np.random.default_rng(3)
        pair = rng.integers(0, 3, (60, 12)), rng.integers(0, 3, (23, 12))
        X, Q = (np.ascontiguousarray(A, dtype) for A in pair)
    elif source == "words":
        return _words(60, 4), _words(23, 5)
    else:
        X, Q = (input_of(source, A, X, dtype) for A in (X, Q))
    if source != "table":
        X.setflags(write=False)
        Q.setflags(write=False)
    return X, Q


def input_of(source, Q, X, dtype):
    """Rows Q as input of a model that is fitted to the rows X."""
    if source == "table":
        return _table(Q)
    if source == "distances":
        Q = cdist(Q, X, "cityblock")
    elif source == "kernel":
        Q = rbf_kernel(Q, X)
    return np.array(Q, dtype, order="C")


def _table(X):
    sizes = pd.Categorical.from_codes(
        np.digitize(X[:, 2], [1.5, 2.5]), ["small", "medium", "large"], ordered=True
    )
    return pd.DataFrame(
        {
            "length": X[:, 0],
            "width": np.where(X[:, 1] > 3.2, np.nan, X[:, 1]),
            "color": np.array(["red", "green", "blue"])[np.digitize(X[:, 3], [1.7, 2.3])],
            "size": sizes,
            "round": X[:, 4] > 2,
        }
    )


def _words(n, seed):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abcde"), rng.integers(2, 9))) for _ in range(n)]
