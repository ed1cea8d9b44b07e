"""dask: tasks on the threads of this process or on a cluster, whose loss is noticed.

The only file that imports dask and distributed.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np

from .. import progress
from ..backends.protocol import DType, Rows
from ..errors import ClusterError, ClusterWarning, LowdError, MissingPackageError, warn
from ..threads import sharing_among_tasks
from .block_reader import BlockReader, BlockResult

DaskArray: TypeAlias = Any  # dask has no types
Dask: TypeAlias = Any  # the package
Delayed: TypeAlias = Any  # a task of dask
Client: TypeAlias = Any  # of a cluster
Future: TypeAlias = Any  # a result on a cluster

CONNECT_SECONDS = 20  # for the first answer of a scheduler; one that runs answers within one
POLL_SECONDS = 0.01  # between looks at what is done
SILENT_SECONDS = 10.0  # nothing is done for so long: are the scheduler and its workers there?
MAX_SILENT_SECONDS = 120.0  # without a worker, or an answer: workers of a queue may start late
NOISY_LOGGERS = ("distributed.client", "distributed.core", "distributed.batched")


def import_dask() -> Dask:
    try:
        import dask
        import dask._task_spec
        import dask.array
    except ImportError:
        raise MissingPackageError("rows in blocks need dask: pip install 'lowd[dask]'.") from None
    return dask


def is_of(X: object, part: str) -> bool:
    """Whether X is of a part of dask, which need not be imported for that."""
    return type(X).__module__.startswith(f"dask.{part}")


# -- tasks ------------------------------------------------------------------------------------


def make_task(function: Callable[..., Any]) -> Callable[..., Delayed]:
    """The function as one whose calls are tasks."""
    task: Callable[..., Delayed] = import_dask().delayed(function, pure=False)
    return task


def share(value: object) -> Delayed:
    """A value as a task of its own, so that a model travels once to each worker."""
    return import_dask().delayed(value, traverse=False, pure=False)


def make_array(readers: Sequence[BlockReader], n_features: int, dtype: DType) -> DaskArray:
    """An array whose blocks are read by functions, each with its length where that is known."""
    dask = import_dask()
    name = f"lowd-rows-{uuid4().hex}"
    tasks = {
        (name, number, 0): dask._task_spec.Task((name, number, 0), _read_block, reader, number)
        for number, reader in enumerate(readers)
    }
    lengths = tuple(np.nan if reader.n_rows is None else reader.n_rows for reader in readers)
    # Not by from_delayed and concatenate, which leaves empty blocks out, and then the numbers
    # of blocks would not be those of the user.
    return dask.array.Array(tasks, name, (lengths, (n_features,)), dtype)


def _read_block(reader: BlockReader, number: int) -> Rows:
    return reader.read_block(number)


def keep(tasks: list[Delayed], stage: str) -> list[Delayed]:
    """Tasks whose results several computations of this process need: computed now, once.

    A cluster computes what is asked of it together, and needs no such help.
    """
    dask = import_dask()
    if _find_client(dask) is not None:
        return tasks
    with _report_tasks(tasks, stage), sharing_among_tasks(len(tasks)):
        kept: tuple[Delayed, ...] = dask.persist(*tasks, optimize_graph=False)
    return list(kept)


def compute(leaves: list[Delayed], root: Delayed, stage: str) -> BlockResult:
    """Compute `root`; every one of its `leaves` that is done is reported as progress."""
    dask = import_dask()
    client = _find_client(dask)
    if client is None:
        with _report_tasks(leaves, stage), sharing_among_tasks(len(leaves)):
            # The names of leaves are watched: they must not be fused into others.
            (found,) = dask.compute(root, optimize_graph=False)
        return found
    with _explain_lost_cluster(client):
        *futures, last = client.compute([*leaves, root], optimize_graph=False)
        try:
            for _ in _await(client, futures, stage):
                pass
            for _, found in _await(client, [last], None):
                return found.result()
        finally:  # what nobody waits for any longer is not computed
            last.release()
    raise AssertionError("a task has no result")


def iterate(leaves: list[Delayed], stage: str) -> Iterator[tuple[int, BlockResult]]:
    """(number, result) of each task; on a cluster as they come, else one after the other."""
    dask = import_dask()
    client = _find_client(dask)
    if client is None:
        for number, leaf in enumerate(leaves):
            (found,) = dask.compute(leaf, optimize_graph=False)
            progress.report(stage, number + 1, len(leaves))
            yield number, found
        return
    with _explain_lost_cluster(client):
        futures = client.compute(leaves, optimize_graph=False)
        for number, future in _await(client, futures, stage):
            found = future.result()
            future.release()
            yield number, found


@contextmanager
def _report_tasks(leaves: list[Delayed], stage: str) -> Iterator[None]:
    from dask.callbacks import Callback

    keys, total, done = {leaf.key for leaf in leaves}, len(leaves), 0

    def report(key: object, *_: object) -> None:
        nonlocal done
        if key in keys:
            done += 1
            progress.report(stage, done, total)

    with Callback(posttask=report):
        yield


# -- clusters ---------------------------------------------------------------------------------


def _find_client(dask: Dask) -> Client | None:
    """The client of a cluster, where dask computes on one."""
    owner = getattr(dask.base.get_scheduler(), "__self__", None)
    return owner if type(owner).__module__.startswith("distributed") else None


def _await(
    client: Client, futures: list[Future], stage: str | None
) -> Iterator[tuple[int, Future]]:
    """(number, future) of each as it is done; the list is emptied, so that none is held."""
    from distributed import as_completed

    watch = _Watch(client)
    numbers = {future.key: number for number, future in enumerate(futures)}
    total, done = len(futures), 0
    waiting = as_completed(futures)
    futures.clear()  # a result that is used lies nowhere any longer
    try:
        while done < total:
            batch = list(waiting.next_batch(block=False))
            if not batch:
                watch.check()
                time.sleep(POLL_SECONDS)
                continue
            watch.record_answer()
            batch.reverse()
            while batch:
                future = batch.pop()
                if future.status != "finished":  # an error of the task, or of the cluster
                    future.result()
                done += 1
                if stage is not None:
                    progress.report(stage, done, total)
                yield numbers[future.key], future
                del future
    finally:
        waiting.clear()


class _Watch:
    """Whether the scheduler and its workers are there, while nothing is done."""

    def __init__(self, client: Client) -> None:
        self.client, self.warned = client, False
        self.record_answer()

    def record_answer(self) -> None:
        """A task is done, or the scheduler has answered."""
        self.answered = self.asked = time.monotonic()

    def check(self) -> None:
        """Raise an error if the cluster is lost, warn if it has no worker."""
        _require_connection(self.client)
        now = time.monotonic()
        if now - self.asked < SILENT_SECONDS:
            return
        self.asked = now
        try:
            n_workers = len(
                self.client.sync(self.client.scheduler.ncores, callback_timeout=SILENT_SECONDS)
            )
        except TimeoutError:
            what = "its scheduler does not answer"
        else:
            if n_workers:
                self.record_answer()
                return
            what = "it has no worker; start some: dask worker ADDRESS-OF-THE-SCHEDULER"
        if now - self.answered > MAX_SILENT_SECONDS:
            raise ClusterError(f"the cluster computes nothing: {what}.")
        if not self.warned:
            self.warned = True
            warn(f"waiting for the cluster: {what}.", ClusterWarning)


def _require_connection(client: Client) -> None:
    if client.status != "running":
        raise ClusterError(
            "the connection to the scheduler of the cluster was lost; start it again, and run the "
            "same again: files that are complete are kept."
        )


@contextmanager
def _explain_lost_cluster(client: Client) -> Iterator[None]:
    """Errors of the cluster itself, with what to do."""
    from concurrent.futures import CancelledError as Cancelled

    from distributed import CancelledError, KilledWorker

    _require_connection(client)
    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"a task ended {error.allowed_failures + 1} workers, one after the other, most likely "
            "by their memory limit; use smaller blocks, or workers with more memory."
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
def connect(address: str | None) -> Iterator[None]:
    """Compute on the cluster of a scheduler: its address, or the file that it has written."""
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
            client = Client(_find_address(address), timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(
                f"there is no scheduler at {address} ({error}); start one: dask scheduler."
            ) from error
        with client:
            yield


def _find_address(text: str) -> str:
    """The address that is given, or that of a scheduler file.

    distributed itself waits for a file that is not there, for ever.
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
            f"{text} is no scheduler file ({type(error).__name__}); name the one that `dask "
            "scheduler --scheduler-file` has written."
        ) from None


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    """Without tracebacks of distributed for what our errors say."""
    loggers = [logging.getLogger(name) for name in NOISY_LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
