"""What a method declares of itself: parameters without effect, contradictions, landmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..errors import ApproximationWarning, ParameterError, warn
from .parameters import check_landmarks, refuse_unused

if TYPE_CHECKING:
    from .estimator import Reducer


#: Of a model's parameters.
Condition: TypeAlias = Callable[["Reducer"], bool]


def always(model: Reducer) -> bool:  # noqa: ARG001 - a condition's signature
    """The condition that holds for every model."""
    return True


def when(**values: object) -> Condition:
    """The condition that all these parameters have these values (a tuple: one of them)."""

    def holds(model: Reducer) -> bool:
        for name, value in values.items():
            allowed = value if isinstance(value, tuple) else (value,)
            if getattr(model, name) not in allowed:
                return False
        return True

    return holds


def unless(**values: object) -> Condition:
    """The condition that not all these parameters have these values."""
    holds = when(**values)
    return lambda model: not holds(model)


def when_callable(name: str) -> Condition:
    """The condition that a parameter is a callable."""
    return lambda model: callable(getattr(model, name))


def unless_callable(name: str) -> Condition:
    """The condition that a parameter is no callable."""
    return lambda model: not callable(getattr(model, name))


def when_array(name: str) -> Condition:
    """The condition that a parameter holds an array."""
    return lambda model: isinstance(getattr(model, name), np.ndarray)


@dataclass(frozen=True)
class Ignored:
    """Parameters that would do nothing under a condition; setting one is then an error.

    The reason may name parameters of the model: "kernel={model.kernel!r} has none".
    """

    names: tuple[str, ...]
    why: str
    when: Condition = always

    def check(self, model: Reducer) -> None:
        if self.when(model):
            refuse_unused(model, self.names, self.why.format(model=model))


#: Of every method that has both.
RADIUS_IS_SET = Ignored(
    ("n_neighbors",),
    "radius is set",
    lambda model: model.radius is not None and model.n_neighbors is not None,
)


@dataclass(frozen=True)
class Conflict:
    """Parameters that contradict each other, and what to do instead."""

    message: str
    when: Condition

    def check(self, model: Reducer) -> None:
        if self.when(model):
            raise ParameterError(self.message)


def check_declarations(model: Reducer) -> None:
    """Raise an error if a parameter of the model would do nothing, or contradicts another."""
    for ignored in model.ignored:
        ignored.check(model)
    for conflict in model.conflicts:
        conflict.check(model)


@dataclass(frozen=True)
class LandmarkPolicy:
    """How many landmarks a method takes unasked, and how many a smaller variant would take.

    Beyond `automatic_above` rows (None: never) landmarks are taken with a warning. The variant
    that an error about memory names has `at_least` landmarks, or `per_component` of them for each
    component, and other values of parameters that do not go with landmarks.
    """

    at_least: int
    per_component: int = 0
    automatic_above: int | None = None
    automatic_value: str | None = None  # of n_landmarks, which leaves the choice to the method
    resets: Mapping[str, Any] = field(default_factory=dict)
    fills: Mapping[str, Any] = field(default_factory=dict)  # for parameters that are None
    possible: Condition = always

    def count(self, model: Reducer, n: int) -> int | None:
        """Landmarks of a fit of n rows; None fits all of them."""
        if self._is_automatic(model):
            above = self.automatic_above
            return None if above is None or n <= above else self._enough(model)
        asked: int = model.n_landmarks
        return asked

    def choose(self, model: Reducer, n: int) -> int | None:
        """The same, checked against the sizes; a warning says if landmarks are taken unasked."""
        m = self.count(model, n)
        if m is not None:
            check_landmarks(m, model.n_components, n)
            self._warn_if_automatic(model, n, m)
        return m

    def _warn_if_automatic(self, model: Reducer, n: int, m: int) -> None:
        if self._is_automatic(model):
            warn(
                f"{type(model).__name__} of more than {self.automatic_above} rows (here {n}) is "
                f"computed from {m} landmarks; n_landmarks={m} says so without a warning.",
                ApproximationWarning,
            )

    def variant(self, model: Reducer, n: int) -> tuple[str, Reducer] | None:
        """The same method with landmarks, and what to write for it; None where that is none."""
        m = self._enough(model)
        if self.count(model, n) is not None or m >= n or not self.possible(model):
            return None
        params = model.get_params(deep=False)
        changes = {"n_landmarks": m}
        changes |= {name: value for name, value in self.resets.items() if params[name] != value}
        changes |= {name: value for name, value in self.fills.items() if params[name] is None}
        words = ", ".join(f"{name}={value!r}" for name, value in changes.items())
        return words, type(model)(**{**params, **changes})

    def _enough(self, model: Reducer) -> int:
        return max(self.at_least, self.per_component * (model.n_components or 0))

    def _is_automatic(self, model: Reducer) -> bool:
        return bool(model.n_landmarks == self.automatic_value)
