"""Random projections: scikit-learn's draw, multiplied by lowd's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ..linalg.principal import project
from ..methods.random_projection import project_sparsely
from .originals import FLOATS, count_projected, invert_components, validate
from .proxy import Learned
from .refusal import require, require_gain

# Entries from which lowd is faster, in general and for many columns (decision 038).
MIN_PROJECTED_ENTRIES = 2**21
MIN_WIDE_ENTRIES = 2**19
MIN_WIDE_FEATURES = 500


def learn_gaussian(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.random_projection.GaussianRandomProjection.fit_transform` of dense rows."""
    require(embed, "a fit only draws, and the draw is the original's")
    require(not issparse(X), "sparse input")
    X = validate(model, X, dtype=FLOATS)
    n, d = X.shape
    _require_entries(n, d)
    k = count_projected(model, n)
    require(0 < k <= d, "n_components outside 1 ... n_features")
    C = model._make_random_matrix(k, d).astype(X.dtype, copy=False)
    # scikit-learn names the features after the parameter, "auto" or not.
    learned = {"n_components_": k, "components_": C, "_n_features_out": model.n_components}
    if model.compute_inverse_components:
        learned["inverse_components_"] = invert_components(C)
    return Learned(learned, _project(X, C))


def transform_gaussian(model: Any, X: Any) -> Any:
    """`sklearn.random_projection.GaussianRandomProjection.transform`, by the same product."""
    require(not issparse(X), "sparse input")
    require(hasattr(model, "components_"), "not fitted")
    X = validate(model, X, dtype=FLOATS, reset=False)
    _require_entries(*X.shape)
    return _project(X, model.components_)


def transform_sparsely(model: Any, X: Any) -> Any:
    """`sklearn.random_projection.SparseRandomProjection.transform` of dense rows.

    Sparse rows give a sparse result there, and dense matrices (density=1) are products of BLAS.
    """
    require(not issparse(X), "sparse input")
    require(hasattr(model, "components_"), "not fitted")
    require(issparse(model.components_), "a dense matrix")
    X = validate(model, X, dtype=FLOATS, reset=False)
    C = csr_array(model.components_).astype(X.dtype)
    return project_sparsely(np.ascontiguousarray(X), C)


def _require_entries(n: int, d: int) -> None:
    require_gain(n * d >= (MIN_WIDE_ENTRIES if d >= MIN_WIDE_FEATURES else MIN_PROJECTED_ENTRIES))


def _project(X: Any, C: Any) -> Any:
    return project(X, None, C.T)
