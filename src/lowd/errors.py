"""Exceptions and warnings of the library."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path


class LowdError(Exception):
    """Base class of all errors that the library raises."""


class ParameterError(LowdError, ValueError):
    """A parameter is outside its declared domain or does not fit the data.

    `parameter` is its name, so that a command line can show its own spelling of it.
    """

    def __init__(self, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


class UnknownParameterError(LowdError, TypeError):
    """A method has no parameter of that name; the message says what it does instead."""


class DataError(LowdError, ValueError):
    """The data cannot be used as they are."""


class ColumnTypeError(DataError, TypeError):
    """A column holds something that is not a number."""


class MissingColumnError(DataError):
    """A file lacks columns; `names` lists the missing ones, and `hint` says what is there."""

    def __init__(self, message: str, names: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message)
        self.names, self.hint = names, hint


class TooManyRowsError(DataError):
    """A file of new points has more rows than a page takes."""


class FileFormatError(DataError):
    """A file is damaged, or does not have the format that its name or the caller says."""


class MissingFileError(LowdError, FileNotFoundError):
    """A file or folder does not exist; the message says what is needed."""


class ExistingFileError(LowdError, FileExistsError):
    """A file already exists and was not overwritten."""


class MissingPackageError(LowdError, ImportError):
    """An optional package is not installed; the message has the pip command."""


class StoreError(LowdError, ValueError):
    """A file is not a stored model, or not one that this version can read."""


class UnsupportedError(LowdError, TypeError):
    """A combination of parameters or data that is not supported."""


class NotEnoughMemoryError(LowdError, MemoryError):
    """A fit needs more memory than is free; the message says what would help."""


class BackendUnavailableError(LowdError, ImportError):
    """The requested backend exists but its package is not installed."""


class ClusterError(LowdError, RuntimeError):
    """A dask cluster or its workers are lost; the message says how to continue."""


class Cancelled(LowdError, RuntimeError):  # noqa: N818 - it is not a failure
    """A progress callback cancelled the computation; the model is as it was before."""


class LowdWarning(UserWarning):
    """Base class of all warnings: the result is usable, but should be checked."""


class RankWarning(LowdWarning):
    """`n_components` exceeds the rank of the data; the surplus components are zero."""


class IndefiniteWarning(LowdWarning):
    """Distances are not Euclidean, or a kernel is indefinite: negative eigenvalues were dropped."""


class MetricWarning(LowdWarning):
    """A precomputed matrix does not look like distances."""


class KernelWarning(LowdWarning):
    """A kernel is so narrow that its matrix is nearly the identity."""


class ScaleWarning(LowdWarning):
    """One feature has nearly all of the variance."""


class ConvergenceWarning(LowdWarning):
    """A solver stopped at its maximum number of iterations, before it converged."""


class RestartWarning(LowdWarning):
    """`partial_fit` starts from scratch: the earlier fit kept nothing to continue from."""


class DisconnectedGraphWarning(LowdWarning):
    """The neighbor graph has several connected components, joined by their shortest edges."""


class ShortcutWarning(LowdWarning):
    """Edges of the neighbor graph that look like short circuits of a curved manifold."""


class LocalizedAxisWarning(LowdWarning):
    """An axis of the embedding separates only a few samples from the others."""


class ApproximationWarning(LowdWarning):
    """Large data: the result is computed from landmarks or approximate neighbors."""


class LongWorkWarning(LowdWarning):
    """The cost grows faster than the data: the fit will take minutes or hours."""


class ClusterWarning(LowdWarning):
    """A dask cluster has no worker or does not answer; the computation waits for it."""


class DimensionWarning(LowdWarning):
    """`n_components` is at least the number of features."""


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise an error that names the folder of a file to be written if it does not exist."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise MissingFileError(f"the folder {folder} does not exist; create it first.")


# Frames of these packages lie between the user's call and the warning.
_LIBRARY_PACKAGES = ("lowd", "sklearn", "contextlib", "functools")
_collected: ContextVar[list[LowdWarning] | None] = ContextVar("collected", default=None)


@contextmanager
def collect_warnings() -> Iterator[list[LowdWarning]]:
    """Collect the library's warnings within the block instead of issuing them."""
    collected: list[LowdWarning] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def warn(message: str, category: type[LowdWarning]) -> None:
    """Issue a warning at the line of the user's call, not inside the library."""
    collected = _collected.get()
    if collected is not None:
        collected.append(category(message))
        return
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _LIBRARY_PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
