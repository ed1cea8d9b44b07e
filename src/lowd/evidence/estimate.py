"""Memory of a fit, estimated before it is run."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import DTypeLike

from ..backend import Plan
from ..methods import find_class_name
from ..reducer import Reducer
from ..store import class_of


def estimate(
    method: str | type[Reducer] | Reducer,
    n_samples: int,
    n_features: int,
    dtype: DTypeLike = np.float64,
    *,
    n_entries: int | None = None,
) -> Plan:
    """Estimate the memory that a fit of `method` (a name, class or model) needs beside its input.

    Parameters
    ----------
    method : str, class or Reducer
    n_samples, n_features : int
    dtype : dtype, default=float64
    n_entries : int or None, default=None
        Entries that a sparse X stores; without it X is dense.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import lowd
    >>> lowd.estimate("PCA", 70_000, 784, "float32").bytes < 2**30
    True
    >>> lowd.estimate("TSNE", 3_000, 2**20, n_entries=58_000).bytes < 2**30
    True
    """
    model: Reducer
    if isinstance(method, str):
        model = class_of(find_class_name(method))()
    else:
        model = method() if isinstance(method, type) else cast(Reducer, method)
    return model.estimate(n_samples, n_features, dtype, n_entries=n_entries)
