"""What a method would need, before it is run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.memory import Plan
from ..errors import ParameterError
from ..methods import METHODS
from ..store import class_of


def estimate(method: Any, n_samples: int, n_features: int, dtype: Any = np.float64) -> Plan:
    """The memory that fitting `method` (a name, class or model) would allocate beside its input.

    >>> import lowd
    >>> lowd.estimate("PCA", 70_000, 784, "float32").bytes < 2**30
    True
    """
    if isinstance(method, str):
        if method not in METHODS:
            raise ParameterError(f"method={method!r}: expected one of {list(METHODS)}.")
        method = class_of(method)
    model = method() if isinstance(method, type) else method
    plan: Plan = model.estimate(n_samples, n_features, dtype)
    return plan
