"""Number of threads for `n_jobs`, and limits on the threads of BLAS."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from threadpoolctl import LibController, ThreadpoolController

from .errors import ParameterError

UNLIMITED_CPUS = 2**31  # More than any machine has.
INTERRUPT_POLL_SECONDS = 0.1  # Interval between two checks for Ctrl-C.

T = TypeVar("T")


def count(n_jobs: int | None) -> int:
    """Number of threads for `n_jobs`: None is the default, -1 all CPUs, -2 all but one.

    The default is `LOWD_NUM_THREADS` if set, else `OMP_NUM_THREADS` (which joblib sets in its
    workers, so that workers times threads do not exceed the machine), else every CPU that the
    process and its container may use. No request goes beyond those CPUs.
    """
    cpus = available()
    default = _read_environment() or cpus
    if n_jobs is None:
        n_threads = min(default, cpus)
    elif n_jobs < 0:
        n_threads = min(default, cpus) + 1 + n_jobs
    else:
        n_threads = min(n_jobs, cpus)
    if _tasks_at_once > 1 and threading.current_thread() is not threading.main_thread():
        n_threads //= _tasks_at_once
    return max(1, n_threads)


_tasks_at_once = 1  # tasks that run in threads of their own


@contextmanager
def sharing_among_tasks(n_tasks: int) -> Iterator[None]:
    """Divide the CPUs among tasks that run concurrently in threads other than the main one.

    If each used all CPUs, they would take half as long again: PCA of 8 GB 13.1 s instead of 9.3.
    """
    global _tasks_at_once
    before, _tasks_at_once = _tasks_at_once, min(n_tasks, available())
    try:
        yield
    finally:
        _tasks_at_once = before


def _read_environment() -> int | None:
    for name in ("LOWD_NUM_THREADS", "OMP_NUM_THREADS"):
        # OMP_NUM_THREADS may list one number per nesting level; lowd uses the first.
        text = os.environ.get(name, "").split(",")[0].strip()
        if not text:
            continue
        if text.isdigit() and int(text) > 0:
            return int(text)
        if name == "LOWD_NUM_THREADS":
            raise ParameterError(f"LOWD_NUM_THREADS={text!r}: expected a whole number >= 1.")
    return None


def available() -> int:
    """Number of CPUs this process may use: its affinity, within its container's quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, _read_container_quota()))


@cache
def _read_container_quota() -> int:
    """The cgroup's CPU quota (version 2, then 1), rounded up; a large number if none."""
    try:
        v2 = Path("/sys/fs/cgroup/cpu.max")
        if v2.exists():
            quota, period = v2.read_text().split()
        else:
            v1 = Path("/sys/fs/cgroup/cpu")
            quota = (v1 / "cpu.cfs_quota_us").read_text().strip()
            period = (v1 / "cpu.cfs_period_us").read_text().strip()
        return UNLIMITED_CPUS if quota in ("max", "-1") else math.ceil(int(quota) / int(period))
    except (OSError, ValueError):
        return UNLIMITED_CPUS


# The number granted to the present fit.
_granted: ContextVar[int] = ContextVar("granted", default=1)


@contextmanager
def granting(n_threads: int) -> Iterator[None]:
    """Let `run_parts` use this many threads within the block."""
    token = _granted.set(n_threads)
    try:
        yield
    finally:
        _granted.reset(token)


def run_parts(call: Callable[[slice], object], n: int, *, least: int = 1) -> None:
    """Call `call(part)` concurrently for slices that make up range(n), each of `least` or more.

    This serves NumPy's functions that release the interpreter while they copy or add.
    """
    parts = max(1, min(_granted.get(), n // least))
    ends = [n * i // parts for i in range(parts + 1)]
    slices = [slice(*pair) for pair in pairwise(ends)]
    if parts == 1:
        call(slices[0])
        return
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(call, slices))


_lock = threading.Lock()
_limiting_threads = 0  # Python threads that want BLAS to have one thread
_counts_before: list[tuple[LibController, int]] = []
_depth = threading.local()  # blocks that this thread is in


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread within the block, as a whole fit is.

    Threads of BLAS spin for a while after a call and take the CPUs from ours; and with one
    thread the bits do not depend on how many it has. The limit belongs to the whole process: a
    fit that set it for a part of its work only would change the bits of another one beside it.
    The first block that is entered sets it and the last that is left restores it.
    """
    outermost = not getattr(_depth, "blocks", 0)
    _depth.blocks = getattr(_depth, "blocks", 0) + 1
    if outermost:
        _limit()
    try:
        yield
    finally:
        _depth.blocks -= 1
        if not _depth.blocks:
            _release()


def _limit() -> None:
    global _limiting_threads, _counts_before
    with _lock:
        if not _limiting_threads:
            _counts_before = [(library, library.num_threads) for library in find_blas()]
            _set_counts([(library, 1) for library, count in _counts_before if count != 1])
        _limiting_threads += 1


def _release() -> None:
    global _limiting_threads
    with _lock:
        _limiting_threads -= 1
        if not _limiting_threads:
            _set_counts([(library, count) for library, count in _counts_before if count != 1])


def run_interruptibly(call: Callable[[], T]) -> T:
    """Run a call that takes long and cannot be stopped (LAPACK), so that Ctrl-C is raised at once.

    Python reacts to signals in the main thread between two of its instructions: the call runs in
    another thread meanwhile. After Ctrl-C it goes on there to its end, and its result is dropped.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    returned: list[T] = []
    raised: list[BaseException] = []
    finished = threading.Event()

    def run() -> None:
        try:
            returned.append(call())
        except BaseException as error:  # raised again below
            raised.append(error)
        finally:
            finished.set()

    threading.Thread(target=run, name="lowd decomposition", daemon=True).start()
    while not finished.wait(INTERRUPT_POLL_SECONDS):  # on Windows a wait must end
        pass
    if raised:
        raise raised[0]
    return returned[0]


def _set_counts(wanted: list[tuple[LibController, int]]) -> None:
    for library, count in wanted:
        # Newer versions of threadpoolctl let one Python thread set OpenBLAS's limit and ignore all
        # others while that one lives; ours are counted by `_limiting_threads` instead.
        setter = getattr(library, "_real_set_num_threads", library.set_num_threads)
        setter(count)


@cache
def find_blas() -> tuple[LibController, ...]:
    """All BLAS libraries of the process; finding them takes 10 ms."""
    found = ThreadpoolController().lib_controllers
    return tuple(library for library in found if library.user_api == "blas")
