"""Try lowd, else the original: the only module that decides and records it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter
from typing import Any

from ..errors import LowdError, LowdWarning, collect_warnings
from .calls import LOWD, ORIGINAL, RECORDER, Call
from .originals import return_arrays
from .refusal import Refused, require

# While an original runs, whatever it calls runs as the original too.
_inside_original: ContextVar[bool] = ContextVar("inside_original", default=False)


def dispatch(
    name: str,
    X: object,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    harmless: tuple[type[LowdWarning], ...] = (),
) -> Any:
    """Return the result of `ours`, or of `theirs` where lowd refuses, warns or fails.

    A warning of lowd says that the data are special (disconnected, rank deficient, ...), where the
    two libraries differ; only those named `harmless` are passed over.
    """
    if _inside_original.get():
        return theirs()
    shape = tuple(getattr(X, "shape", ()))
    start = perf_counter()
    try:
        with collect_warnings() as collected, return_arrays():
            result = ours()
        for warning in collected:
            require(isinstance(warning, harmless), f"{type(warning).__name__}: {warning}")
    except Refused as refusal:
        reason = str(refusal)
    except Exception as error:  # whatever the error is, the original reports it in its own words
        reason = f"{type(error).__name__}: {error}"
        if not isinstance(error, LowdError | ValueError | TypeError):
            reason = f"unexpected {reason}"
    else:
        RECORDER.record(Call(name, shape, LOWD, perf_counter() - start))
        return result
    start = perf_counter()
    token = _inside_original.set(True)
    try:
        return theirs()
    finally:
        _inside_original.reset(token)
        RECORDER.record(Call(name, shape, ORIGINAL, perf_counter() - start, reason))
