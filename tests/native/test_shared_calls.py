"""Python threads that meet in the core: they take turns, and none waits for ever."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations_with_replacement

import numpy as np
import pytest
from sklearn.base import clone

import lowd
from cases import same_bits
from lowd import _native

N = 3000


class Enough(Exception):  # noqa: N818 - nothing went wrong
    """Raised by a progress callback."""


def _circle():
    """Each point and the next one, as a CSR matrix of equal entries."""
    others = np.stack([(np.arange(N) + step) % N for step in (1, N - 1)], 1).astype(np.int32)
    return np.arange(0, 2 * N + 1, 2), others.ravel(), np.full(2 * N, 0.5 / N)


def _descent(repulsion):
    plan = _native.Descent(*_circle(), 2, "student", repulsion)
    return plan, lambda poll: plan.advance(10**6, 1.0, 0.5, 1.0, 1, poll)


def _layout(exact):
    plan = _native.Layout(*_circle(), 2, (1.6, 0.9, 0.02), exact, 0, None, 0.1, 1)
    strengths = np.ones(10**6)
    return plan, lambda poll: plan.advance(strengths, strengths, None, 1, poll)


PLANS = {
    "descent, exact": lambda: _descent("exact"),
    "descent, float32": lambda: _descent("float32"),
    "descent, grid": lambda: _descent("grid"),
    "layout, exact": lambda: _layout(True),
    "layout, float32": lambda: _layout(False),
}


def _call_meanwhile(long_call, *short_calls):
    """Call each of the short ones in a thread of its own while the long one reports progress.

    Returns whether each was still waiting then.
    """
    calls = [threading.Thread(target=call) for call in short_calls]
    waiting = []

    def poll(_done, _total):
        for call in calls:
            call.start()
        for call in calls:
            call.join(0.2)
        waiting.extend(call.is_alive() for call in calls)
        raise Enough

    with pytest.raises(Enough):
        long_call(poll)
    for call in calls:
        call.join()
    return waiting


@pytest.mark.parametrize("name", PLANS)
def test_methods_of_a_descent_take_turns(name):
    plan, advance = PLANS[name]()
    Y, out = np.random.default_rng(0).normal(size=(N, 2)), np.zeros((N, 2))
    plan.start(Y)
    calls = (lambda: plan.start(Y)), (lambda: plan.embedding(out))
    assert _call_meanwhile(advance, *calls) == [True, True]
    assert np.abs(out).max() > 0
    plan.start(Y)
    plan.embedding(out)
    np.testing.assert_allclose(out, Y, rtol=1e-4, atol=1e-4)


def test_methods_of_neighbor_lists_take_turns():
    n, d, k = 20_000, 24, 10
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    index = _native.neighbor_index(X, X, np.zeros(d), 1.0, 2e-7, 1)
    lists = index.candidate_lists(True, 1.0, 1.0, k, 1)
    ids, distances = np.zeros((n, k), np.int32), np.zeros((n, k))
    groups = np.arange(index.groups, dtype=np.int32)[:, None]
    calls = (
        lambda: lists.copy_to(ids, distances, 1),
        lambda: lists.unpruned_fraction(1),
        lambda: lists.nn_descent(groups, 1, 1),
    )
    waiting = _call_meanwhile(lambda poll: lists.join(None, 1, poll), *calls)
    assert waiting == [True, True, True]


def test_a_progress_callback_cannot_call_what_reports_to_it():
    """It would wait for itself."""
    plan, advance = _descent("exact")
    plan.start(np.random.default_rng(0).normal(size=(N, 2)))
    out = np.zeros((N, 2))
    with pytest.raises(RuntimeError, match="progress callback"):
        advance(lambda _done, _total: plan.embedding(out))
    plan.embedding(out)  # the next turn is free


def test_a_fit_ends_while_another_one_holds_the_threads():
    X = np.random.default_rng(0).normal(size=(N, 20))
    expected = lowd.PCA(2).fit_transform(X)
    plan = _native.Descent(*_circle(), 2, "student", "exact")
    plan.start(X[:, :2].copy())
    found = []

    def poll(_done, _total):
        with ThreadPoolExecutor(1) as beside:
            found.append(beside.submit(lowd.PCA(2).fit_transform, X).result())
        raise Enough

    with pytest.raises(Enough):
        plan.advance(10**6, 1.0, 0.5, 1.0, 4, poll)
    same_bits(found[0], expected)


def test_fits_of_two_methods_at_once_have_the_bits_of_each_alone():
    X = np.random.default_rng(0).normal(size=(1200, 4))
    models = [
        lowd.TSNE(2, max_iter=60, random_state=0, n_jobs=2),
        lowd.Isomap(2, n_neighbors=12, n_jobs=2),
        lowd.PCA(3, n_jobs=2),
    ]
    alone = [clone(model).fit_transform(X) for model in models]
    for first, second in combinations_with_replacement(range(3), 2):
        start = threading.Barrier(2)

        def fit(model, start=start):
            start.wait()
            return clone(model).fit_transform(X)

        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(fit, (models[first], models[second])))
        same_bits(together[0], alone[first])
        same_bits(together[1], alone[second])


_OUT_OF_MEMORY = """
    import resource
    import numpy as np
    from lowd import _native

    rows = np.broadcast_to(np.arange(1.0 * (1 << 20)), (4, 1 << 20))
    out, own = np.zeros(rows.shape, np.int32), np.full(4, -1)
    _native.rank_rows(rows[:, :9], own, out[:, :9], 4)  # the threads are there
    page_count = int(open("/proc/self/statm").read().split()[0])
    used = page_count * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (12 << 20), resource.RLIM_INFINITY))
    try:
        _native.rank_rows(rows, own, out, 4)  # 16 MB for each thread
    except MemoryError:
        print("MemoryError")
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    _native.rank_rows(rows, own, out, 4)
    print((out == np.arange(1, rows.shape[1] + 1)).all())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits its own memory as Linux does")
def test_a_thread_without_memory_is_a_memory_error():
    script = [sys.executable, "-c", textwrap.dedent(_OUT_OF_MEMORY)]
    run = subprocess.run(script, capture_output=True, text=True)
    assert run.stdout.split() == ["MemoryError", "True"], run.stderr
