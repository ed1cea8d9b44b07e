"""Rows, shapes and measures by which native kernels are compared with plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from case_data import rows_like
from kernels import MEASURES

TYPES = [np.float64, np.float32]
typed = pytest.mark.parametrize("kind", TYPES, ids=["float64", "float32"])
# One entry, one column, parts of every block, whole blocks and one row more, several blocks.
SHAPES = [(1, 1), (7, 1), (5, 31), (64, 64), (65, 33), (259, 300)]
shaped_and_typed = pytest.mark.parametrize(
    ("shape", "kind"),
    [(shape, np.float64) for shape in SHAPES] + [(shape, np.float32) for shape in SHAPES[2:]],
    ids=lambda given: str(given) if isinstance(given, tuple) else np.dtype(given).name,
)
EPS = {t: float(np.finfo(t).eps) for t in TYPES}
PARAMS = {
    "dot": (0.5,),
    "poly": (0.1, 1.0, 3.0),
    "sigmoid": (0.1, 0.5),
    "sqeuclidean": (2.0,),
    "euclidean": (0.5,),
    "rbf": (0.3,),
    "rbfm1": (0.3,),
    "laplacian": (0.3,),
    "minkowski": (3.0,),
}
VARIANTS = [(measure, PARAMS.get(measure, ())) for measure in MEASURES] + [
    ("poly", (0.2, 30.0, 2.5)),
    ("minkowski", (1.0,)),
    ("minkowski", (1.5,)),
    ("minkowski", (2.0,)),
    ("rbf", (1e-12,)),
    ("rbf", (1e4,)),
    ("rbfm1", (1e-12,)),
]
measured = pytest.mark.parametrize(("measure", "params"), VARIANTS, ids=str)


def data(n, d, kind, seed=0):
    return np.ascontiguousarray(rows_like(n, d, seed, kind))


def sparse(shape, density, kind, rng):
    A = random_array(shape, density=density, rng=rng, dtype=np.float64)
    return csr_array(A.astype(kind))


def near(actual, expected, kind, factor=20.0):
    """Equal up to rounding of the type, relative to the largest entry."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    size = np.abs(expected).max(initial=0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=factor * EPS[kind] * size + 1e-300)
