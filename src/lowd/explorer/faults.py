"""Errors in the form that the page shows: a code, a message and a remedy."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import (
    Cancelled,
    DataError,
    LowdError,
    MissingPackageError,
    NotEnoughMemoryError,
    ParameterError,
    TooManyRowsError,
    UnsupportedError,
)


class Fault(NamedTuple):
    """What went wrong, and how to remedy it."""

    code: str
    message: str
    remedy: str = ""


class RequestError(LowdError):
    """A request that cannot be answered; `status` is the HTTP status."""

    def __init__(self, status: int, code: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.status, self.fault = status, Fault(code, message, remedy)


# The first class that matches counts.
_STATUS: tuple[tuple[type[BaseException], int, str, str], ...] = (
    (NotEnoughMemoryError, 413, "too_large", "Take fewer rows."),
    (MemoryError, 413, "too_large", "Take fewer rows."),
    (TooManyRowsError, 413, "too_large", "Split it, or map it with `lowd transform`."),
    (Cancelled, 409, "cancelled", ""),
    (ParameterError, 422, "bad_request", "Change the value and try again."),
    (UnsupportedError, 422, "bad_request", "Choose another method or other parameters."),
    (MissingPackageError, 409, "unavailable", "Install the package and start again."),
    (DataError, 422, "bad_request", "Change the data and try again."),
    (LowdError, 422, "failed", ""),
)


def describe_error(error: BaseException) -> tuple[int, Fault]:
    """The HTTP status and the fault for any error."""
    if isinstance(error, RequestError):
        return error.status, error.fault
    text = " ".join(str(error).split())
    for kind, status, code, remedy in _STATUS:
        if isinstance(error, kind):
            return status, Fault(code, text, remedy)
    message = f"unexpected {type(error).__name__}: {text}"
    return 500, Fault("failed", message, "The terminal shows where; please report it.")
