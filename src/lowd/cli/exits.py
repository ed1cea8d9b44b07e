"""Exit codes, and which error leads to which."""

from __future__ import annotations

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

OK, FAILED, USAGE, DATA, MEMORY, EXISTS, MISSING, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130
CUT = 141  # nobody reads standard output any more; shells give the same for `yes | head`

# The first class that fits counts: special ones stand above general ones.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (BrokenPipeError, CUT),
    (Cancelled, INTERRUPTED),
    (KeyboardInterrupt, INTERRUPTED),
    (MemoryError, MEMORY),
    (NotEnoughMemoryError, MEMORY),
    (FileExistsError, EXISTS),
    (BackendUnavailableError, MISSING),
    (MissingPackageError, MISSING),
    (DataError, DATA),
    (StoreError, DATA),
    (ParameterError, USAGE),
    (UnsupportedError, USAGE),
    (OSError, DATA),
    (LowdError, FAILED),
)


def code_of(error: BaseException) -> int:
    """The exit code for an error; 1 for one that nobody foresaw."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def sentence_of(error: BaseException) -> str:
    """What the user reads: the library's own sentences as they are, others with their class."""
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
        "(--verbose shows where; please report it)."
    )
