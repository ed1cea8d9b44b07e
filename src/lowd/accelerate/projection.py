"""SparseRandomProjection: the same draw, multiplied by lowd's kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ..backends import resolve
from ..maps.linear import SparseLinearMap
from .originals import FLOATS, validate
from .refusal import require


def transform_sparsely(model: Any, X: Any) -> Any:
    """`sklearn.random_projection.SparseRandomProjection.transform` of dense rows.

    Sparse rows give a sparse result there, and dense matrices (density=1, Gaussian projections) are
    products of BLAS, which lowd does not do sooner.
    """
    require(not issparse(X), "sparse input")
    require(hasattr(model, "components_"), "not fitted")
    require(issparse(model.components_), "a dense matrix")
    X = validate(model, X, dtype=FLOATS, reset=False)
    C = csr_array(model.components_).astype(X.dtype)
    return np.asarray(SparseLinearMap(C)(X, resolve("auto", None)))
