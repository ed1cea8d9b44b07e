"""Plans that outlive a call: the neighbor index of a map is built once, not at every transform."""

from __future__ import annotations

from typing import Any, cast
from weakref import WeakKeyDictionary

from .protocol import Backend, Float64, Index, Rows

MAX_PLANS = 4  # of one map: its rows in a few dtypes or numbers of threads

# Plans belong to a map and are freed with it; a copy on disk or in another process has none.
_plans: WeakKeyDictionary[object, dict[tuple[object, ...], tuple[Rows, Index]]]
_plans = WeakKeyDictionary()


class Planned:
    """A backend that caches the neighbor indexes of one map and forwards everything else.

    Two threads may build the same plan; the later one stays.
    """

    def __init__(self, inner: Backend, owner: object) -> None:
        self._inner = inner
        self._owner = owner

    def __getattr__(self, operation: str) -> Any:
        return getattr(self._inner, operation)

    def index(
        self, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> Index:
        kept = _plans.setdefault(self._owner, {})
        key = id(X), type(self._inner), self._inner.threads, measure, params
        rows, found = kept.get(key, (None, None))
        if found is None or rows is not X:  # X is kept with its plan, so no other array has its id
            found = self._inner.index(X, measure, params, center)
            if len(kept) >= MAX_PLANS:
                kept.clear()
            kept[key] = X, found
        return found


def with_plans(ops: Backend, owner: object) -> Backend:
    """The same backend with the plans that were made for this map before."""
    return cast(Backend, Planned(ops, owner))
