"""Classes and functions that stand in for the originals: lowd first, else the original."""

from __future__ import annotations

import copyreg
import functools
import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from ..errors import LowdError, LowdWarning, collect_warnings
from .calls import LOWD, ORIGINAL, RECORDER, Call, Refused, require
from .originals import read_arguments, return_arrays

# Attributes of a proxy that the original lacks; a pickle leaves them out.
LAZY = "_lowd_lazy"
MODEL_ATTRIBUTE = "_lowd_model"


@dataclass
class Learned:
    """The result of a fit by lowd: the original's attributes, and what `fit_transform` returns.

    `lazy` are attributes that are large or slow and computed at their first access; `model` is
    lowd's, for methods that go on to use it.
    """

    attributes: dict[str, Any]
    embedding: Any = None
    lazy: dict[str, Callable[[], Any]] = field(default_factory=dict)
    model: Any = None


@dataclass(frozen=True)
class ClassRule:
    """How lowd serves a class.

    `learn(model, X, embed, **given)` fits, `learn_batch(model, X, **given)` is `partial_fit`;
    `methods` serve others by name, each as `serve(model, *args, **kwargs)`. All of them raise
    Refused for what the original should do.
    """

    learn: Callable[..., Learned] | None = None
    learn_batch: Callable[..., Learned] | None = None
    methods: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    harmless: tuple[type[LowdWarning], ...] = ()
    leaves_targets: bool = False  # a fit with y is left to the original; other classes ignore it


@dataclass(frozen=True)
class FunctionRule:
    """How lowd serves a function: by one that raises Refused for what the original should do."""

    serve: Callable[..., Any]
    harmless: tuple[type[LowdWarning], ...] = ()


class ProxyMeta(ABCMeta):
    """Makes instances of the original count as instances of the proxy, as a script expects."""

    original: type

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if "original" in cls.__dict__:
            return cls.original in subclass.__mro__
        return super().__subclasscheck__(subclass)


class Proxy:
    """What every proxy adds to the original's methods: lazy attributes, plain pickles."""

    original: type

    def __getattr__(self, name: str) -> Any:
        compute = self.__dict__.get(LAZY, {}).get(name)
        if compute is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = compute()
        self.__dict__[name] = value
        del self.__dict__[LAZY][name]
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """What a user writes into a fitted model counts, and lowd's does not know of it.

        An array, or whatever else holds several numbers, may have been changed in its place.
        """
        held = self.__dict__.get(name)
        plain = np.isscalar(held) and np.isscalar(value)
        if name.endswith("_") and not (plain and held == value):
            self.__dict__.pop(MODEL_ATTRIBUTE, None)
            self.__dict__.get(LAZY, {}).pop(name, None)
        super().__setattr__(name, value)

    def __getstate__(self) -> Any:
        for name in list(self.__dict__.get(LAZY, {})):
            getattr(self, name, None)
        base: Any = super()
        state = dict(base.__getstate__())
        state.pop(LAZY, None)
        state.pop(MODEL_ATTRIBUTE, None)
        return state

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle as the class that bears the name, so that a pickle never needs lowd."""
        cls = type(self)
        bound = getattr(sys.modules.get(cls.__module__), cls.__name__, None)
        if "original" in cls.__dict__ and bound is not cls:
            made = (cls.original, object, None)
            return copyreg._reconstructor, made, self.__getstate__()  # type: ignore[attr-defined]
        return super().__reduce_ex__(protocol)


def make_class(original: type, module: str, rule: ClassRule) -> type:
    """Make the subclass of the original that tries lowd first."""
    label = f"{original.__name__}."
    fits = {
        "fit": rule.learn and partial(rule.learn, embed=False),
        "fit_transform": rule.learn and partial(rule.learn, embed=True),
        "partial_fit": rule.learn_batch,
    }
    served: dict[str, Any] = {
        name: _serve_fit(getattr(original, name), label + name, learn, rule)
        for name, learn in fits.items()
        if learn is not None
    }
    served |= {
        name: _serve_method(getattr(original, name), label + name, serve, rule.harmless)
        for name, serve in rule.methods.items()
    }
    namespace = {
        "__module__": module,
        "__qualname__": original.__qualname__,
        "__doc__": original.__doc__,
        "original": original,
        **served,
    }
    return ProxyMeta(original.__name__, (Proxy, original), namespace)


def make_function(
    original: Callable[..., Any], module: str, rule: FunctionRule
) -> Callable[..., Any]:
    """Make the function that tries lowd first."""

    @functools.wraps(original)
    def proxy(*args: Any, **kwargs: Any) -> Any:
        def ours() -> Any:
            # The defaults are the original's, which releases change.
            return rule.serve(**read_arguments(original, *args, **kwargs))

        X, label = args[0] if args else None, original.__name__.lstrip("_")
        given = kwargs.get("random_state")
        return dispatch(label, X, ours, lambda: original(*args, **kwargs), rule.harmless, given)

    proxy.__module__ = module
    return proxy


def _serve_fit(
    method: Callable[..., Any],
    label: str,
    learn: Callable[..., Learned],
    rule: ClassRule,
) -> Callable[..., Any]:
    further = list(inspect.signature(method).parameters)[3:]  # after self, X and y

    @functools.wraps(method)
    def fit(self: Any, X: Any, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(further, args, strict=False)), **kwargs}

        def ours() -> Learned:
            _require_own_class(self)
            require(y is None or not rule.leaves_targets, "fitted to targets")
            return learn(self, X, **given)

        def theirs() -> Any:
            self.__dict__.pop(LAZY, None)
            self.__dict__.pop(MODEL_ATTRIBUTE, None)
            return method(self, X, y, **given)

        drawn_from = getattr(self, "random_state", None)
        result = dispatch(label, X, ours, theirs, rule.harmless, drawn_from)
        if not isinstance(result, Learned):
            return result
        for name in result.lazy:
            self.__dict__.pop(name, None)
        self.__dict__.update(result.attributes)
        self.__dict__[LAZY] = result.lazy
        self.__dict__[MODEL_ATTRIBUTE] = result.model
        return self if result.embedding is None else result.embedding

    return fit


def _serve_method(
    method: Callable[..., Any],
    label: str,
    serve: Callable[..., Any],
    harmless: tuple[type[LowdWarning], ...],
) -> Callable[..., Any]:
    @functools.wraps(method)
    def serve_or_delegate(self: Any, *args: Any, **kwargs: Any) -> Any:
        def ours() -> Any:
            _require_own_class(self)
            return serve(self, *args, **kwargs)

        X = args[0] if args else None
        return dispatch(label, X, ours, lambda: method(self, *args, **kwargs), harmless)

    return serve_or_delegate


def _require_own_class(model: Any) -> None:
    require("original" in type(model).__dict__, "a subclass may override parts of the method")


# -- lowd first, else the original ----------------------------------------------------------------

# While an original runs, whatever it calls runs as the original too.
_inside_original: ContextVar[bool] = ContextVar("inside_original", default=False)


def dispatch(
    name: str,
    X: object,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    harmless: tuple[type[LowdWarning], ...] = (),
    random_state: Any = None,
) -> Any:
    """Return the result of `ours`, or of `theirs` where lowd refuses, warns or fails.

    A warning of lowd says that the data are special (disconnected, rank deficient, ...), where the
    two libraries differ; only those named `harmless` are passed over. The original draws the same
    numbers as if lowd had not tried.
    """
    if _inside_original.get():
        return theirs()
    shape = tuple(getattr(X, "shape", ()))
    generators = _list_generators(random_state)
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
    for generator, state in generators:
        generator.set_state(state)
    start = perf_counter()
    token = _inside_original.set(True)
    try:
        return theirs()
    finally:
        _inside_original.reset(token)
        RECORDER.record(Call(name, shape, ORIGINAL, perf_counter() - start, reason))


def _list_generators(random_state: Any) -> list[tuple[np.random.RandomState, Any]]:
    """What random numbers may be drawn from, NumPy's global generator and a given one, as now."""
    generators = [np.random.mtrand._rand]
    if isinstance(random_state, np.random.RandomState):
        generators.append(random_state)
    return [(one, one.get_state()) for one in generators]
