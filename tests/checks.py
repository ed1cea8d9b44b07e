"""scikit-learn's estimator checks, without those that would only skip."""

from __future__ import annotations

import os

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

# One check is skipped unless SciPy is set to the array API.
SKIPPED = set() if os.environ.get("SCIPY_ARRAY_API") else {"check_array_api_input"}


def estimator_checks(models, left_out=()):
    """Parameters (estimator, check) of a test, for every model and every check not left out."""
    for model in models:
        for estimator, check in estimator_checks_generator(model):
            name = check.func.__name__
            if name not in SKIPPED and name not in left_out:
                of = " ".join(repr(estimator).split())
                yield pytest.param(estimator, check, id=f"{of}-{name}")
