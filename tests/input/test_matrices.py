"""Extremes of square matrices, and entries that are not finite."""

from __future__ import annotations

import numpy as np
import pytest

from lowd.input.validation import first_nonfinite, symmetry_of


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("bad", "entry"), [(np.nan, (0, 0)), (np.inf, (40, 17)), (-np.inf, (99, 32))]
)
def test_the_first_bad_entry_is_found(kind, bad, entry):
    X = np.random.default_rng(0).normal(size=(100, 33)).astype(kind)
    assert first_nonfinite(X) is None
    X[entry] = X[99, 32] = bad
    assert first_nonfinite(X) == entry


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 33, 130, 259])
def test_symmetry(kind, n):
    A = np.random.default_rng(n).normal(size=(n, n)).astype(kind)
    found, gap = symmetry_of(A, side=64), np.abs(A - A.T)
    assert found.asymmetry == gap.max() == gap[found.asymmetry_at]
    assert found.largest == np.abs(A).max()
    assert found.smallest == A.min() == A[found.smallest_at]
    assert found.diagonal == np.abs(np.diagonal(A)).max() == abs(A[(found.diagonal_at,) * 2])
    assert symmetry_of((A + A.T) / 2, side=64).asymmetry == 0
