"""Earlier names of options of `lowd.plot`, which are still accepted."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def accept_aliases(**new_of_old: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take options by their earlier names.

    >>> @accept_aliases(old_name="parameter")
    ... def double(*, parameter):
    ...     return 2 * parameter
    >>> double(old_name=4)
    8
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in new_of_old.keys() & kwargs.keys():
                kwargs[new_of_old[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
