"""Every error and warning the library raises on purpose, in one screen."""

from __future__ import annotations

import sys
import warnings


class LowdError(Exception):
    """Base of all errors raised on purpose."""


class ParameterError(LowdError, ValueError):
    """A parameter is outside its declared domain, or does not fit the data."""


class DataError(LowdError, ValueError):
    """The data cannot be used as they are."""


class ColumnTypeError(DataError, TypeError):
    """A column holds something that is not a number."""


class FileFormatError(DataError):
    """A file is damaged, or does not hold what its name or the reader says."""


class MissingFileError(LowdError, FileNotFoundError):
    """A file or folder is not there; the message says what would be needed."""


class ExistingFileError(LowdError, FileExistsError):
    """A file is there already and was not overwritten."""


class MissingPackageError(LowdError, ImportError):
    """An optional package is not installed; the message has the pip command."""


class StoreError(LowdError, ValueError):
    """A file is not a stored model, or not one that this version can read."""


class UnsupportedError(LowdError, TypeError):
    """A combination that is understood and deliberately not offered."""


class NotEnoughMemoryError(LowdError, MemoryError):
    """The plan needs more memory than there is; the message lists plans that fit."""


class BackendUnavailableError(LowdError, ImportError):
    """The requested backend exists but its package is not installed."""


class Cancelled(LowdError, RuntimeError):  # noqa: N818 - it is not a failure
    """A listener asked the work to stop; the model is as it was before."""


class LowdWarning(UserWarning):
    """Base of all warnings: the result is usable, but look at it."""


class RankWarning(LowdWarning):
    """More components were asked for than the data have; the surplus is zero."""


class IndefiniteWarning(LowdWarning):
    """Distances or a kernel are not Euclidean: negative eigenvalues were dropped."""


class MetricWarning(LowdWarning):
    """The given matrix hardly holds distances."""


class KernelWarning(LowdWarning):
    """A kernel is so narrow that rows resemble nobody but themselves."""


class ScaleWarning(LowdWarning):
    """One column owns nearly all of the variance."""


class ConvergenceWarning(LowdWarning):
    """A solver stopped before it reached its tolerance."""


class RestartWarning(LowdWarning):
    """partial_fit begins anew, because the earlier fit kept nothing to continue from."""


class DisconnectedGraphWarning(LowdWarning):
    """The neighbor graph is in pieces, which were joined by their shortest edges."""


class ShortcutWarning(LowdWarning):
    """Ties of the neighbor graph cut across, from one part of a bent sheet to another."""


class LocalizedAxisWarning(LowdWarning):
    """An axis of the map is about a few rows only."""


class ApproximationWarning(LowdWarning):
    """The data are large: the answer comes from landmarks or approximate neighbors."""


class LongWorkWarning(LowdWarning):
    """The work grows faster than the data, and will take minutes or hours."""


class DimensionWarning(LowdWarning):
    """The output has as many dimensions as the input, or more."""


def warn(message: str, category: type[LowdWarning]) -> None:
    """Warn at the line of the user's call, not somewhere inside the library."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


_INSIDE = ("lowd", "sklearn", "contextlib", "functools")
