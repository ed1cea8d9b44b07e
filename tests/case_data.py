"""Data of the cases, few rows and real sizes, of every kind of input; and metrics of a user."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse
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


def duplicates(n):
    """Pairs of equal rows of n real rows: one in twenty returns once, one many times."""
    few, many = n // 20, n // 100
    copies = np.concatenate([np.arange(n - few, n), np.arange(n // 2, n // 2 + many)])
    firsts = np.concatenate([np.arange(few), np.full(many, n // 2)])
    return firsts, copies


def real_rows(shape, n, n_new, dtype=np.float64):
    """Rows as users have them, with ties and duplicates, and new ones.

    New ones are of the same kind, besides four copies of training rows and four that are farther
    out.
    """
    X = SHAPES[shape](np.random.default_rng(11), n + n_new - 8)
    X, Q = X[:n].copy(), X[n:]
    firsts, copies = duplicates(n)
    X[copies] = X[firsts]
    Q = np.vstack([Q, X[[3, n // 2, n - 1, n // 3]], 3 * X[[5, 7, 11, 13]]])
    return X.astype(dtype), Q.astype(dtype)


def _clusters(rng, n):
    """Four clusters of different densities within a broad cloud; two columns have ties."""
    centers = 1.5 * np.random.default_rng(77).normal(size=(5, 6))
    centers[4] = 0
    group = rng.choice(5, n, p=[0.15, 0.15, 0.2, 0.1, 0.4])
    widths = np.array([0.15, 0.3, 0.6, 1.0, 2.0])[group, None] * 1.25 ** -np.arange(6)
    X = centers[group] + rng.normal(size=(n, 6)) * widths
    X[:, 4] = np.round(X[:, 4])
    X[:, 5] = np.round(4 * X[:, 5]) / 4
    return X


def _sheet(rng, n):
    """A bent sheet, denser at one end, some of whose rows lie on a grid."""
    u, v = rng.random(n) ** 1.5, rng.random(n)
    u, v = (np.where(rng.random(n) < 0.3, np.round(40 * part) / 40, part) for part in (u, v))
    t = 1.5 * np.pi * (1 + 1.2 * u)
    return np.column_stack([t * np.cos(t), 15 * v, t * np.sin(t)])


def _cube(rng, n):
    """Four dimensions, bent into six, without a surface in them; one column has ties."""
    X = rng.random((n, 4)) * [1.0, 0.85, 0.7, 0.55]
    X[:, 3] = np.round(16 * X[:, 3]) / 16
    return np.column_stack([X, X[:, 0] ** 2, X[:, 1] * X[:, 2]])


def _helix(rng, n):
    """A long curve, whose graph has eigenvalues close to 0."""
    t = 60 * rng.random(n)
    away = 2 + np.cos(8 * t / 3)
    return np.column_stack([away * np.cos(t / 10), away * np.sin(t / 10), np.sin(8 * t / 3)])


def _factors(rng, n, d=800):
    """Twelve factors in many columns, and noise."""
    loadings = np.random.default_rng(5).normal(size=(12, d))
    Z = rng.normal(size=(n, 12)) * 1.3 ** -np.arange(12)
    return Z @ loadings + 0.1 * rng.normal(size=(n, d)) + 1


def _flat(rng, n):
    """A column that the others nearly give: an axis a millionth as long as the first."""
    X = rng.normal(size=(n, 7)) * 1.3 ** -np.arange(7)
    return np.column_stack([X, X.sum(1) + 1e-6 * rng.normal(size=n)])


def _words_of_texts(rng, n):
    """Counts of words: a few in every row, of 300."""
    share = np.random.default_rng(6).dirichlet(0.05 * np.ones(300), size=4)
    return np.stack([rng.multinomial(25, share[topic]) for topic in rng.integers(0, 4, n)]) * 1.0


SHAPES = {
    "clusters": _clusters,
    "sheet": _sheet,
    "cube": _cube,
    "helix": _helix,
    "factors": _factors,
    "many columns": lambda rng, n: _factors(rng, n, 2000),
    "flat": _flat,
    "texts": _words_of_texts,
}


@cache
def make_data(source, dtype, shape="cloud", n=60, n_new=23):
    """Training and held-out input of one kind."""
    if source == "words":
        return _words(n, 4), _words(n_new, 5)
    if shape != "cloud":
        X, Q = real_rows(shape, n, n_new)
    elif source == "counts":
        rng = np.random.default_rng(3)
        X, Q = rng.integers(0, 3, (n, 12)), rng.integers(0, 3, (n_new, 12))
    else:
        X, Q = rows_like(n, seed=1), rows_like(n_new, seed=2)
    return tuple(_frozen(input_of(source, A, X, dtype)) for A in (X, Q))


def _frozen(A):
    if not isinstance(A, pd.DataFrame):
        for part in (A.data, A.indices, A.indptr) if issparse(A) else (A,):
            part.setflags(write=False)
    return A


def input_of(source, Q, X, dtype):
    """Rows Q as input of a model that is fitted to the rows X."""
    if source == "table":
        return _table(Q)
    if source == "distances":
        Q = cdist(Q, X, "cityblock")
    elif source == "kernel":
        Q = rbf_kernel(Q, X)
    elif source == "sparse":
        return csr_array(np.asarray(Q, dtype))
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
