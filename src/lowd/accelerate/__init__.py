"""Run existing scikit-learn code on lowd without changing it.

`python -m lowd.accelerate script.py`, `%load_ext lowd.accelerate` in a notebook, or `install()`
before the script imports scikit-learn's classes. They are then subclasses of scikit-learn's that
fit by lowd where it computes the same faster, and by the original everywhere else; `profile()`
shows which.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .calls import RECORDER, Gain
from .calls import Call as Call
from .calls import Profile as Profile
from .table import bind, is_bound, unbind

__all__ = ["Call", "Profile", "accelerated", "install", "profile", "uninstall"]


def install(*, always: bool = False) -> None:
    """Replace the classes and functions of scikit-learn that lowd serves.

    Where scikit-learn is known to be faster (small data mostly) it goes on to compute, unless
    `always` is set, for comparisons. Names that were imported before stay as they were:
    `from sklearn.decomposition import PCA` comes after.

    >>> import lowd.accelerate
    >>> lowd.accelerate.install()
    >>> from sklearn.decomposition import PCA
    >>> PCA(1, svd_solver="full").fit([[0.0, 0.0], [4.0, 3.0], [8.0, 6.0]]).components_.round(2)
    array([[0.8, 0.6]])
    >>> lowd.accelerate.profile().calls[-1].reason
    'the original is faster on small data'
    >>> lowd.accelerate.uninstall()
    """
    Gain.always = always
    bind()


def uninstall() -> None:
    """Put scikit-learn's classes and functions back; fitted models continue to work."""
    unbind()


@contextmanager
def accelerated() -> Iterator[None]:
    """Accelerate what is imported, or named by its module, within the context.

    >>> import lowd.accelerate, sklearn.decomposition as decomposition
    >>> with lowd.accelerate.accelerated():
    ...     model = decomposition.PCA(1)
    >>> model.fit([[0.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    PCA(n_components=1)
    """
    was_bound = is_bound()
    bind()
    try:
        yield
    finally:
        if not was_bound:
            unbind()


def profile(*, reset: bool = False) -> Profile:
    """Report what ran where, for how long, and why the original ran; `reset` starts a new count.

    >>> import lowd.accelerate
    >>> before = lowd.accelerate.profile(reset=True)
    >>> lowd.accelerate.profile()
    no accelerated call so far
    """
    made = RECORDER.profile()
    if reset:
        RECORDER.clear()
    return made


def load_ipython_extension(ipython: Any) -> None:  # noqa: ARG001 - IPython's signature
    """`%load_ext lowd.accelerate`."""
    install()


def unload_ipython_extension(ipython: Any) -> None:  # noqa: ARG001
    """`%unload_ext lowd.accelerate`."""
    uninstall()
