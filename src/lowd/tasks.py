"""Tasks of Dask: on the threads of this process, or on a cluster whose loss is noticed.

No other module imports dask or distributed.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from numpy.typing import DTypeLike

from . import progress
from .errors import ClusterError, ClusterWarning, LowdError, MissingPackageError, warn
from .threads import sharing_among_tasks

# Tasks within a task are computed at once, where they arise: workers could all wait for each other.
_in_task: ContextVar[bool] = ContextVar("lowd_in_task", default=False)


@contextmanager
def running() -> Iterator[None]:
    """The settings that hold within a task."""
    token = _in_task.set(True)
    try:
        yield
    finally:
        _in_task.reset(token)


def import_dask() -> Any:
    try:
        import dask
        import dask._task_spec
        import dask.array
    except ImportError:
        raise MissingPackageError("rows in blocks need dask: pip install 'lowd[dask]'.") from None
    return dask


def make_task(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function whose calls are tasks."""
    task: Callable[..., Any] = import_dask().delayed(function, pure=False)
    return task


def share(value: object) -> Any:
    """Wrap a value as a task of its own, in which Dask does not look for others."""
    return import_dask().delayed(value, traverse=False, pure=False)


def make_array(
    function: Callable[..., Any],
    blocks: Sequence[Any],
    lengths: Sequence[float],
    width: int,
    dtype: DTypeLike,
) -> Any:
    """Make an array whose blocks are the results of `function(block, number)`."""
    dask, name = import_dask(), f"lowd-rows-{uuid4().hex}"
    task = dask._task_spec.Task
    tasks = {
        (name, number, 0): task((name, number, 0), function, block, number)
        for number, block in enumerate(blocks)
    }
    # from_delayed and concatenate would leave empty blocks out, so that the numbers of blocks would
    # not be those of the user.
    return dask.array.Array(tasks, name, (tuple(lengths), (width,)), dtype)


def is_of(X: object, part: str) -> bool:
    """Whether X belongs to a part of Dask, which is not imported for that."""
    return type(X).__module__.startswith(f"dask.{part}")


def reduce(stage: str, leaves: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Merge the results of tasks in pairs, then in pairs of pairs."""
    dask, join = import_dask(), make_task(merge)
    level = leaves
    while len(level) > 1:
        pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(level) // 2 * 2 :]
    if _in_task.get():
        return dask.compute(level[0], scheduler="synchronous", optimize_graph=False)[0]
    client = _find_client(dask)
    if client is None:
        with _reporting_tasks(stage, leaves), sharing_among_tasks(len(leaves)):
            # The names of leaves are watched, so they are not fused into others.
            return dask.compute(level[0], optimize_graph=False)[0]
    with _explaining_lost_cluster(client):
        *futures, last = client.compute([*leaves, level[0]], optimize_graph=False)
        try:
            for _ in _await(client, futures, stage):
                pass
            for _, found in _await(client, [last], None):
                return found.result()
        finally:  # Dask cancels work that nobody waits for any longer
            last.release()
    raise AssertionError("a task has no result")


def iterate(stage: str, leaves: list[Any], n_at_once: int = 1) -> Iterator[tuple[int, Any]]:
    """Yield (number, result) of each task: on a cluster as they finish, otherwise a few at a time.

    A task that is alone runs in this thread, so that it hears Ctrl-C and reports its progress.
    """
    dask, nested = import_dask(), _in_task.get()
    client = None if nested else _find_client(dask)
    if client is None:
        alone = nested or (n_at_once == 1 and dask.base.get_scheduler() is None)
        how = {"scheduler": "synchronous"} if alone else {}
        for begin in range(0, len(leaves), n_at_once):
            some = leaves[begin : begin + n_at_once]
            with sharing_among_tasks(len(some)):
                found = dask.compute(*some, optimize_graph=False, **how)
            for number, one in enumerate(found, begin):
                if not nested:
                    progress.report(stage, number + 1, len(leaves))
                yield number, one
        return
    with _explaining_lost_cluster(client):
        futures = client.compute(leaves, optimize_graph=False)
        for number, future in _await(client, futures, stage):
            one = future.result()
            future.release()
            yield number, one


@contextmanager
def _reporting_tasks(stage: str, leaves: list[Any]) -> Iterator[None]:
    from dask.callbacks import Callback

    keys, total, done = {leaf.key for leaf in leaves}, len(leaves), 0

    def report(key: object, *_: object) -> None:
        nonlocal done
        if key in keys:
            done += 1
            progress.report(stage, done, total)

    with Callback(posttask=report):
        yield


def _find_client(dask: Any) -> Any:
    """The client of a cluster if Dask computes on one."""
    owner = getattr(dask.base.get_scheduler(), "__self__", None)
    return owner if type(owner).__module__.startswith("distributed") else None


def _await(client: Any, futures: list[Any], stage: str | None) -> Iterator[tuple[int, Any]]:
    """(number, future) of each as it is done; the list is emptied, so that none is held."""
    from distributed import as_completed

    watch = Watch(client)
    numbers = {future.key: number for number, future in enumerate(futures)}
    total, done = len(futures), 0
    waiting = as_completed(futures)
    futures.clear()  # frees results that have been used
    try:
        while done < total:
            batch = list(waiting.next_batch(block=False))
            if not batch:
                watch.check()
                time.sleep(0.01)
                continue
            watch.record_answer()
            batch.reverse()
            while batch:
                future = batch.pop()
                if future.status != "finished":  # an error of the task or of the cluster
                    future.result()
                done += 1
                if stage is not None:
                    progress.report(stage, done, total)
                yield numbers[future.key], future
                del future
    finally:
        waiting.clear()


class Watch:
    """Watches whether the scheduler and its workers are alive while no result arrives."""

    silent = 10.0  # seconds without a result, after which the scheduler is asked for its workers
    patience = 120.0  # seconds without a worker or an answer; the workers of a queue may start late

    def __init__(self, client: Any) -> None:
        self.client, self.warned = client, False
        self.record_answer()

    def record_answer(self) -> None:
        """Note that a task is done or that the scheduler has answered."""
        self.answered = self.asked = time.monotonic()

    def check(self) -> None:
        """Raise an error if the cluster is lost; warn if it has no worker."""
        _require_connection(self.client)
        now = time.monotonic()
        if now - self.asked < self.silent:
            return
        self.asked = now
        try:
            ask = self.client.scheduler.ncores
            n_workers = len(self.client.sync(ask, callback_timeout=self.silent))
        except TimeoutError:
            what = "its scheduler does not answer"
        else:
            if n_workers:
                self.record_answer()
                return
            what = "it has no worker; start some: dask worker ADDRESS-OF-THE-SCHEDULER"
        if now - self.answered > self.patience:
            raise ClusterError(f"the cluster computes nothing: {what}.")
        if not self.warned:
            self.warned = True
            warn(f"waiting for the cluster: {what}.", ClusterWarning)


def _require_connection(client: Any) -> None:
    if client.status != "running":
        raise ClusterError(
            "the connection to the scheduler of the cluster was lost; start it again, and run the "
            "same again: files that are complete are kept."
        )


@contextmanager
def _explaining_lost_cluster(client: Any) -> Iterator[None]:
    """Translate errors of the cluster itself into ours, with a remedy."""
    from concurrent.futures import CancelledError as Cancelled

    from distributed import CancelledError, KilledWorker

    _require_connection(client)
    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"a task killed {error.allowed_failures + 1} workers in a row, most likely because "
            "they ran out of memory; use smaller blocks, or workers with more memory."
        ) from error
    except (CancelledError, Cancelled, OSError, TimeoutError) as error:
        if isinstance(error, LowdError):
            raise
        _require_connection(client)
        raise ClusterError(
            f"the cluster has cancelled what was computed ({error}); run the same again: files "
            "that are complete are kept."
        ) from error


@contextmanager
def connect(address: str | None, timeout: float = 20) -> Iterator[None]:
    """Compute on the cluster of a scheduler, given by its address or the file that it wrote.

    A running scheduler answers within a second.
    """
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackageError(
            "a cluster needs distributed: pip install 'lowd[dask]'."
        ) from None
    with _quiet_loggers():
        try:
            client = Client(_find_address(address), timeout=timeout)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(
                f"there is no scheduler at {address} ({error}); start one: dask scheduler."
            ) from error
        with client:
            yield


def _find_address(text: str) -> str:
    """Return the given address, or that of a scheduler file.

    distributed itself would wait forever for a file that does not exist.
    """
    if "://" in text:
        return text
    if not os.path.exists(text):
        host, _, port = text.rpartition(":")
        if host and port.isdigit():
            return f"tcp://{text}"
        raise ClusterError(
            f"there is no scheduler file {text}; name the file that `dask scheduler "
            "--scheduler-file` has written, or an address such as tcp://127.0.0.1:8786."
        )
    try:
        with open(text, encoding="utf-8") as file:
            return str(json.load(file)["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"{text} is not a scheduler file ({type(error).__name__}); name the one that `dask "
            "scheduler --scheduler-file` has written."
        ) from None


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    """Suppress the tracebacks that distributed logs for errors which are reported anyway."""
    names = "distributed.client", "distributed.core", "distributed.batched"
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
