"""scikit-learn's callback protocol, where the installed version has it (1.9 and newer)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .errors import Cancelled
from .progress import Listener

F = TypeVar("F", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as Support
    from sklearn.callback import with_callbacks
except ImportError:  # pragma: no cover - older scikit-learn

    class Support:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: F) -> F:
        return method


__all__ = ["Support", "listener", "with_callbacks"]


def listener(model: Support) -> Listener | None:
    """Tells the model's callbacks of each step of a fit; None if it has none.

    Each report is one finished subtask of the task "fit". A callback that asks to stop
    cancels the fit: a direct solver has no half-way result worth keeping.
    """
    if not getattr(model, "_skl_callbacks", None):
        return None
    root = model._init_callback_context(task_name="fit", max_subtasks=None)
    root.call_on_fit_task_begin(estimator=model)

    def report(stage: str, done: int, total: int) -> None:  # noqa: ARG001 - a listener's signature
        task = root.subcontext(task_name=stage)
        task.call_on_fit_task_begin(estimator=model)
        if task.call_on_fit_task_end(estimator=model):
            raise Cancelled(f"a callback stopped {type(model).__name__} at {stage!r}.")

    return report


def report_end(model: object) -> None:
    """The task "fit" is over."""
    if (root := getattr(model, "_callback_fit_ctx", None)) is not None:
        root.call_on_fit_task_end(estimator=model)
