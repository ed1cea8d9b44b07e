"""Exit codes of the command line, and the exit code and message of each error."""

from __future__ import annotations

from enum import IntEnum

from ..errors import (
    BackendUnavailableError,
    Cancelled,
    DataError,
    LowdError,
    MissingPackageError,
    NotEnoughMemoryError,
    ParameterError,
    StoreError,
    UnsupportedError,
)


class ExitCode(IntEnum):
    """Exit codes of `lowd` (see docs/command-line.md)."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DATA = 3
    MEMORY = 4
    EXISTS = 5
    MISSING_PACKAGE = 6
    INTERRUPTED = 130
    BROKEN_PIPE = 141  # like the exit code of a shell for `yes | head`


# The first class that matches counts, so special classes stand above general ones.
_CODES: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (BrokenPipeError, ExitCode.BROKEN_PIPE),
    (Cancelled, ExitCode.INTERRUPTED),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (MemoryError, ExitCode.MEMORY),
    (NotEnoughMemoryError, ExitCode.MEMORY),
    (FileExistsError, ExitCode.EXISTS),
    (BackendUnavailableError, ExitCode.MISSING_PACKAGE),
    (MissingPackageError, ExitCode.MISSING_PACKAGE),
    (DataError, ExitCode.DATA),
    (StoreError, ExitCode.DATA),
    (ParameterError, ExitCode.USAGE),
    (UnsupportedError, ExitCode.USAGE),
    (OSError, ExitCode.DATA),
    (LowdError, ExitCode.FAILED),
)


def get_exit_code(error: BaseException) -> ExitCode:
    """The exit code of an error; FAILED for an unexpected one."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.FAILED)


def format_error(error: BaseException) -> str:
    """The message for the user: the library's own unchanged, others with their class."""
    if isinstance(error, KeyboardInterrupt | Cancelled):
        return "stopped; nothing was written."
    if isinstance(error, LowdError) or (isinstance(error, OSError) and not error.strerror):
        return " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror.lower()}."
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({error}); use fewer rows or columns."
    return (
        f"unexpected {type(error).__name__}: {' '.join(str(error).split())} "
        "(--verbose shows the traceback; please report it)."
    )
