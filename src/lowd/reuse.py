"""What was computed of the same rows is not computed again, within a block of code.

A command diagnoses rows, tries methods on them, fits one and evaluates its map: each step asks for
neighbors of these rows and for products of their columns. Results are known by the contents of the
arrays, so that steps need not know of each other, and all bits stay the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from .backend import current

T = TypeVar("T")


class Results:
    """The latest results, by what was asked and of which arrays."""

    def __init__(self, n_neighbors: int, most: int = 12) -> None:
        self.n_neighbors, self._most = n_neighbors, most
        self._found: dict[object, Any] = {}

    def get(self, key: object) -> Any:
        if key in self._found:  # which is then the latest one
            self._found[key] = self._found.pop(key)
        return self._found.get(key)

    def put(self, key: object, result: Any) -> None:
        self._found[key] = result
        if len(self._found) > self._most:
            del self._found[next(iter(self._found))]


_results: ContextVar[Results | None] = ContextVar("lowd_results", default=None)


@contextmanager
def once(n_neighbors: int = 0) -> Iterator[None]:
    """Within the block, the same is computed of the same rows once.

    A search for neighbors finds as many as `n_neighbors`, for later steps that need more than the
    first one does.

    >>> import lowd, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(99, 5))
    >>> with once(n_neighbors=15):
    ...     model = lowd.Isomap(2).fit(X)
    ...     evaluation = lowd.evaluate(X, model)
    """
    token = _results.set(_results.get() or Results(n_neighbors))
    try:
        yield
    finally:
        _results.reset(token)


def known_results() -> Results | None:
    """What is known within a block; None outside."""
    return _results.get()


def compute_once(asked: object, arrays: tuple[Any, ...], compute: Callable[[], T]) -> T:
    """What was asked of these arrays, of other kinds of rows anew; nobody may write into it."""
    results = _results.get()
    if results is None or not all(isinstance(one, np.ndarray | None) for one in arrays):
        return compute()
    key = asked, *map(fingerprint, arrays)
    found: T | None = results.get(key)
    if found is None:
        found = compute()
        results.put(key, found)
    return found


def fingerprint(array: Any) -> object:
    """The contents of an array, or None, and what computes here: others round differently."""
    if array is None:
        return None
    content, backend = np.ascontiguousarray(array), current()
    digest = hashlib.blake2b(content.data, digest_size=16).digest()
    return content.shape, content.dtype.str, digest, backend and backend.name
