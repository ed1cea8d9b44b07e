"""Rows and sums by several threads are those of one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lowd import threads
from lowd.input import sample


@pytest.mark.parametrize("shape", [(999, 17), (200, 128), (4000, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(shape, dtype, monkeypatch):
    monkeypatch.setattr(sample, "GATHERED_BYTES", 64)
    rng = np.random.default_rng(0)
    X, order = rng.normal(size=shape).astype(dtype), rng.permutation(shape[0])
    means = sample.average_columns(X)
    assert_allclose(means, X.mean(0, dtype=np.float64), rtol=1e-12)
    for count in (1, 3, 8):
        with threads.granting(count):
            assert_array_equal(sample.gather_rows(X, order), X[order])
            assert_array_equal(sample.average_columns(X), means)


def test_an_error_in_a_part_is_raised():
    def fail(part):
        raise ValueError(part)

    with threads.granting(2), pytest.raises(ValueError, match="slice"):
        threads.run_parts(fail, 10)
