"""Plans that outlive a call: the index of a map's rows is made once, not for every new row."""

from __future__ import annotations

from typing import Any, cast
from weakref import WeakKeyDictionary

from .protocol import Backend, Float64, Index, Rows

MOST = 4  # plans of one map: its rows, in as many types or numbers of threads

# They belong to the map and go with it. A copy on disk or in another process begins without.
_plans: WeakKeyDictionary[Any, dict[Any, tuple[Rows, Index]]] = WeakKeyDictionary()


class Planned:
    """A backend that keeps the plans made for one map; all else is the backend's.

    Two threads may make the same plan; the later one stays.
    """

    def __init__(self, inner: Backend, owner: Any) -> None:
        self._inner = inner
        self._owner = owner

    def __getattr__(self, operation: str) -> Any:
        return getattr(self._inner, operation)

    def index(
        self, X: Rows, measure: str, params: tuple[float, ...], center: Float64 | None
    ) -> Index:
        kept = _plans.setdefault(self._owner, {})
        key = id(X), type(self._inner), getattr(self._inner, "threads", 1), measure, params
        rows, found = kept.get(key, (None, None))
        if found is None or rows is not X:  # X is kept beside its plan, so no other has its id
            found = self._inner.index(X, measure, params, center)
            if len(kept) >= MOST:
                kept.clear()
            kept[key] = X, found
        return found


def planned(ops: Backend, owner: Any) -> Backend:
    """The same backend with the plans that were made for this map before."""
    return cast(Backend, Planned(ops, owner))
