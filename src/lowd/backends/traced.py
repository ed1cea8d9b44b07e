"""A backend that times its operations: all heavy work goes through one, so this is a profiler."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .protocol import Backend


@dataclass
class Traced:
    """A wrapper of a backend; `calls` lists (operation, seconds) in order."""

    inner: Backend
    calls: list[tuple[str, float]] = field(default_factory=list)

    def __getattr__(self, operation: str) -> Callable[..., object]:
        run = getattr(self.inner, operation)
        if not callable(run):  # the number of threads
            return run  # type: ignore[no-any-return]

        def timed(*args: object, **named: object) -> object:
            start = time.perf_counter()
            try:
                return run(*args, **named)
            finally:
                self.calls.append((operation, time.perf_counter() - start))

        return timed
