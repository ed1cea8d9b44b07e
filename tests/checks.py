"""scikit-learn's estimator checks, without those that would only skip."""

from __future__ import annotations

import os

from sklearn.utils.estimator_checks import estimator_checks_generator

# One check is skipped unless SciPy is set to the array API.
SKIPPED = set() if os.environ.get("SCIPY_ARRAY_API") else {"check_array_api_input"}


def failing_checks(model, left_out=()):
    """Names of the checks that the model fails, with what they raise."""
    failed, count = {}, 0
    for estimator, check in estimator_checks_generator(model):
        name = check.func.__name__
        if name in SKIPPED or name in left_out:
            continue
        count += 1
        try:
            check(estimator)
        except Exception as error:
            failed[name] = repr(error)
    assert count > 30  # scikit-learn 1.6 has 40 of them, and later versions more
    return failed
