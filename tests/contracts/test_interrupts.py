"""Exceptions of listeners and Ctrl-C end native work; a daemon thread in it does not abort."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import lowd


class _StopError(Exception):
    pass


def _long_kernel(poll):
    """Half a second of Manhattan distances in one call of the native core."""
    native = pytest.importorskip("lowd._native", reason="the native core is not built")
    X = np.random.default_rng(0).random((4000, 1500), np.float32)
    out = np.empty((len(X), len(X)), np.float32)
    native.pairwise(X, X, "manhattan", (), None, True, out, 1, poll)


def test_a_native_kernel_reports_while_it_runs():
    reports = []
    _long_kernel(lambda *step: reports.append(step))
    assert reports
    assert reports == sorted(reports)
    assert all(0 <= done <= total for done, total in reports)  # 0: before the first block is done


def test_an_exception_ends_a_native_kernel():
    calls = []

    def poll(done, total):
        calls.append(done / total)
        raise _StopError

    with pytest.raises(_StopError):
        _long_kernel(poll)
    assert len(calls) == 1
    assert calls[0] < 0.9


# Half a minute of fractional powers in the native core. As soon as some of it is done, a thread
# sends SIGINT; what was done when the interrupt arrived is a share of the work, not a time.
_INTERRUPTED = """
    import os, signal, threading, time
    import numpy as np
    import lowd
    from lowd import _native, progress

    X = np.random.default_rng(0).random((6000, 600), np.float32)
    model = lowd.ClassicalMDS(2, metric="minkowski", metric_params={"p": 2.5})
    out = np.full((len(X), len(X)), np.nan, np.float32)
    steps = []

    def fit():
        with progress.listening(lambda stage, done, total: steps.append(done / total)):
            model.fit(X)

    def compute_distances():
        _native.pairwise(X, X, "minkowski", (2.5,), None, True, out, 2, None)

    def share():
        return {"fit": lambda: max(steps, default=0), "compute_distances": written}[WORK]()

    def written():
        return 1 - np.isnan(out[:: 60, :: 60]).mean()

    def interrupt():
        while share() == 0:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        globals()[WORK]()
    except KeyboardInterrupt:
        print("interrupted", share(), hasattr(model, "n_components_"), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
@pytest.mark.parametrize("work", ["fit", "compute_distances"])
def test_ctrl_c_ends_native_work(work):
    """Long before it is done; also if nobody listens to its progress."""
    pytest.importorskip("lowd._native")
    script = f"WORK = {work!r}\n" + textwrap.dedent(_INTERRUPTED)
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300
    )
    assert run.stdout.startswith("interrupted"), run.stderr
    _, share, fitted = run.stdout.split()
    assert 0 < float(share) < 0.5
    assert fitted == "False"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a timer's signal")
@pytest.mark.parametrize(
    "model",
    [
        lowd.KernelPCA(None, kernel="rbf"),
        lowd.LaplacianEigenmaps(400, n_neighbors=10),
        lowd.ClassicalMDS(metric="manhattan", correction="lingoes"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_ctrl_c_ends_a_fit_after_the_call_of_lapack(model):
    """The model stays unfitted, and the threads of BLAS are as they were."""
    X, threads = np.random.default_rng(0).random((1500, 5)), threadpool_info()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not hasattr(model, "n_components_")
    assert threadpool_info() == threads


def test_a_daemon_thread_in_a_listener_does_not_abort_the_process():
    """Python ends such a thread by unwinding it, through frames that catch every exception."""
    script = """
import threading, time
import numpy as np, lowd
called = threading.Event()
def listen(*_):
    called.set()
    while True:
        time.sleep(0)  # and asks for the GIL again
def work():
    with lowd.progress.listening(listen):
        lowd.neighbors(np.random.default_rng(0).normal(size=(60_000, 30)), 5)
threading.Thread(target=work, daemon=True).start()
assert called.wait(60)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
