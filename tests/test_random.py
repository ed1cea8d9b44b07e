"""Random numbers: a function of seed, stream and index, with their distributions."""

from __future__ import annotations

import numpy as np

from lowd import random

GOLDEN = [17415529875020841096, 9413927063630378255, 13708898759569327309]


def test_random_numbers_are_a_function_of_seed_stream_and_index():
    index = np.arange(1000)
    whole = random.uniforms(7, "a", index)
    np.testing.assert_array_equal(random.uniforms(7, "a", index[500:510]), whole[500:510])
    assert not (whole == random.uniforms(7, "b", index)).any()
    assert not (whole == random.uniforms(8, "a", index)).any()
    # These never change: what an earlier version drew from a seed is drawn again.
    assert random.bits(0, "rows", np.arange(3)).tolist() == GOLDEN


def test_random_numbers_have_their_laws():
    from scipy import stats

    n = 100_000
    assert stats.kstest(random.uniforms(1, "u", np.arange(n)), "uniform").pvalue > 1e-3
    assert stats.kstest(random.normals(1, "n", (n,)), "norm").pvalue > 1e-3
    assert abs(random.signs(1, "s", n).mean()) < 4 / np.sqrt(n)
    assert abs(np.corrcoef(random.normals(1, "n", (2, n)))[0, 1]) < 4 / np.sqrt(n)
    counts = np.zeros(10)
    for seed in range(4000):
        counts[random.subset(seed, "k", 10, 3)] += 1
    assert stats.chisquare(counts).pvalue > 1e-3
    for k in (1, 5, 10):
        chosen = random.subset(3, "k", 10, k)
        assert len(set(chosen.tolist())) == k
        assert (np.diff(chosen) > 0).all()
